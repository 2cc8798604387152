"""Tags that take the end of a line away, so that two lines of a template are one line of what it renders."""

from __future__ import annotations

import re
from collections.abc import Iterator

#: A tag or a comment of the template.
_TAG = re.compile(r"\{%(?:[^%\n]|%(?!\}))*%\}|\{#[^#\n]*#\}")
#: A hole that renders nothing.
_SAYS = re.compile(r"\{\{-?\s*(?:deny|fail|warn)\((?:[^}\n]|\}(?!\}))*\}\}")
#: Tags whose line end is within what they define.
_ENDS_A_DEFINITION = re.compile(r"\{%-?\s*(?:endmacro|endset|raw|endraw|macro)\b")


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
            words = "the dash of {%- takes away the line end before it, so this line goes on with the line above"
            yield offset + tags[0].start(), words, "write {%"
        if tags and stripped.endswith("-%}") and document and following[:1] == " ":
            words = "the dash of -%} takes away the indentation of the next line"
            yield offset + tags[-1].start(), words, "write %}"
        last = tags[-1] if tags and line.rstrip("\n").endswith(tags[-1][0]) else None
        if last and following.strip() and _holds_text(line) and not _ENDS_A_DEFINITION.match(last[0]):
            words = f"{last[0][:40]} at the end of a line takes away the line end, so the next line goes on here"
            comment = last[0].startswith("{#") and document
            yield offset + last.start(), words, "begin it with # instead" if comment else "put it on a line of its own"
        raw = "{% raw" in line or (raw and "{% endraw" not in line)
        before, offset = line, offset + len(line)


def _holds_text(line: str) -> bool:
    """Whether a line renders more than blanks."""
    return bool(_SAYS.sub("", _TAG.sub("", line)).strip())
