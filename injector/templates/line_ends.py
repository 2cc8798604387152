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
_LOOP = re.compile(r"\{%-?\s*for\b.*%\}\s*- .*\{%-?\s*endfor\b")
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
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        tags = [] if raw else list(_TAG.finditer(line))
        if tags and document:
            yield from _dashes(line, before, following, offset + tags[0].start(), offset + tags[-1].start())
        if tags and line.rstrip("\n").endswith(tags[-1][0]):
            yield from _at_the_end(line, following, tags[-1][0], offset + tags[-1].start(), document=document)
        raw = "{% raw" in line or (raw and "{% endraw" not in line)
        before, offset = line, offset + len(line)


def _dashes(line: str, before: str, following: str, first: int, last: int) -> Iterator[tuple[int, str, str]]:
    """The dashes of a line's first and last tag, which stand at these offsets."""
    stripped = line.strip()
    if stripped.startswith("{%-") and _holds_text(before):
        message = "the dash in {%- removes the line break before it, so this line is joined to the line above"
        yield first, message, "write {%"
    if stripped.endswith("-%}") and following[:1] == " ":
        yield last, "the dash in -%} removes the indentation of the next line", "write %}"


def _at_the_end(line: str, following: str, tag: str, at: int, *, document: bool) -> Iterator[tuple[int, str, str]]:
    """The tag or comment with which a line ends."""
    if following.strip() and _holds_text(line) and not _ENDS_A_DEFINITION.match(tag):
        message = f"{tag[:40]} at the end of a line removes the line break, so the next line is joined to this line"
        instead = "put it on a line of its own"
        if tag.startswith("{#") and document:
            instead = "write the comment as # ... in place of {# ... #}"
        yield at, message, instead


def joined_lines(text: str, offset: int) -> tuple[str, int] | None:
    """What is wrong, and where, if tags make one line of several in a YAML text that fails at an offset; else None."""
    start = text.rfind("\n", 0, offset) + 1
    line = text[start:].partition("\n")[0]
    if _LOOP.search(line):
        message = "this loop writes all its items into one line; put {% for %} and {% endfor %} on lines of their own"
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
    lines = (text[:offset] + text[offset:].partition("\n")[0]).split("\n")
    dashes = _DASH.findall("\n".join(lines[-_DASH_LINES - 1 :]))
    if not dashes:
        return ""
    plain = dashes[-1].replace("-", "")
    return f"{dashes[-1]} removes a line break; write {plain} to keep it. If the dash is right, this is wrong: "


def _holds_text(line: str) -> bool:
    """Whether a line renders more than blanks."""
    return bool(_SAYS.sub("", _TAG.sub("", line)).strip())
