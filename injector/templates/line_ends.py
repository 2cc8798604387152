"""Tags that take the end of a line away, so that two lines of a template are one line of what it renders."""

from __future__ import annotations

import re
from collections.abc import Iterator

#: A tag or a comment of the template.
_TAG = re.compile(r"\{%(?:[^%{\n]|%(?!\})|\{(?!%))*%\}|\{#[^#\n]*#\}")
#: A hole that renders nothing.
_SAYS = re.compile(r"\{\{-?\s*(?:deny|fail|warn)\((?:[^{}\n]|\}(?!\})|\{(?!\{))*\}\}")
#: Tags whose line end is within what they define.
_ENDS_A_DEFINITION = re.compile(r"\{%-?\s*(?:endmacro|endset|raw|endraw|macro)\b")
_FOR, _ENDFOR = re.compile(r"\{%-?\s*for\b"), re.compile(r"\{%-?\s*endfor\b")
_DASH = re.compile(r"\{[{%#]-|-[}%#]\}")
#: How many lines above a mistake of YAML a dash may have made it.
_DASH_LINES = 3


def lost_line_ends(text: str, *, document: bool) -> Iterator[tuple[int, str, str]]:
    """Each tag that joins a line with the next or the one before: its offset, what is wrong, and what to write.

    In YAML and JSON a dash takes the next line's indentation as well. A tag or comment at the end of a line takes the
    line end by itself, as Jinja's `trim_blocks` has it.
    """
    offset, before, raw = 0, "", False
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        stripped = line.strip()
        tags = [] if raw else list(_TAG.finditer(line))
        if tags and stripped.startswith("{%-") and document and _holds_text(before):
            message = "the dash in {%- removes the line break before it, so this line is joined to the line above"
            yield offset + tags[0].start(), message, "write {%"
        if tags and stripped.endswith("-%}") and document and following[:1] == " ":
            message = "the dash in -%} removes the indentation of the next line"
            yield offset + tags[-1].start(), message, "write %}"
        last = tags[-1] if tags and line.rstrip("\n").endswith(tags[-1][0]) else None
        if last and following.strip() and _holds_text(line) and not _ENDS_A_DEFINITION.match(last[0]):
            message = (
                f"{last[0][:40]} at the end of a line removes the line break, so the next line is joined to this line"
            )
            comment = last[0].startswith("{#") and document
            instead = "write the comment as # ... in place of {# ... #}" if comment else "put it on a line of its own"
            yield offset + last.start(), message, instead
        raw = "{% raw" in line or (raw and "{% endraw" not in line)
        before, offset = line, offset + len(line)


def joined_lines(text: str, offset: int) -> tuple[str, int] | None:
    """What is wrong, and where, if tags make one line of several in a YAML text that fails at an offset; else None."""
    start = text.rfind("\n", 0, offset) + 1
    line = text[start:].partition("\n")[0]
    loop = _FOR.search(line)
    end = line.find("%}", loop.end()) + 2 if loop else 0
    if end > 1 and line[end:].lstrip().startswith("- ") and _ENDFOR.search(line, end):
        message = (
            "this loop writes all its items into one line; put {% for ... %} and {% endfor %} on lines of their own"
        )
        return message, start + len(line) - len(line.lstrip())
    above = text.rfind("\n", 0, max(start - 1, 0)) + 1
    for at, reason, to_do in lost_line_ends(text[above : start + len(line)], document=True):
        if above + at < start and not _DASH.search(text, above + at, start):
            return f"{reason}; {to_do}", above + at
    return None


def dash_before(text: str, offset: int) -> str:
    """What to say before a mistake of YAML at an offset: the last dash in or shortly above its line, which takes blanks
    and line ends away from what YAML reads. Empty where there is none.
    """
    end = text.find("\n", offset)
    dashes = list(_DASH.finditer(text, 0, len(text) if end < 0 else end))
    line = text.count("\n", 0, offset) + 1
    if not dashes or (at := text.count("\n", 0, dashes[-1].start()) + 1) < line - _DASH_LINES:
        return ""
    dash = dashes[-1][0]
    side = "before" if dash.startswith("{") else "after"
    plain = dash.replace("-", "")
    removed = f"the dash in {dash} on line {at} removes the line break {side} it"
    return f"{removed}; write {plain} to keep it. If the dash is right, the mistake is another one: "


def _holds_text(line: str) -> bool:
    """Whether a line renders more than blanks."""
    return bool(_SAYS.sub("", _TAG.sub("", line)).strip())
