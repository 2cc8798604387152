"""What libyaml's errors mean to a person, and where to look: also for tabs in branches that no render takes, and for
tags that take the end of a line away, so that two lines of a template are one line of what it renders.

libyaml says what it did not find, at the place where it gave up: often a line or more behind the mistake.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import yaml

from injector.library_messages import yaml_message
from injector.templates.expression_errors import Fault, is_go
from injector.templates.kubernetes_yaml import index
from injector.templates.source_map import line_start
from injector.templates.structure import OPEN

_TAB = re.compile(r"^ *\t", re.MULTILINE)
#: A hole that is alone on its line, a comment, a tag, and any other hole.
_HOLE_OR_TAG = re.compile(
    r"^[ \t]*\{\{(?:(?!\}\}).)*\}\}[ \t]*$|\{#.*?#\}|\{%.*?%\}|(?P<hole>\{\{.*?\}\})", re.MULTILINE | re.DOTALL
)
#: A key whose value follows without a blank.
_RUN_TOGETHER = re.compile(r"([A-Za-z][\w.-]*):(?!//|:)\S")
#: The end of a line on which a text of several lines begins.
TEXT_BEGINS = re.compile(r"(?:^|[\s-])[|>][-+1-9]*\s*(?:#.*)?$")
#: Within brackets, a comment of another language, and one that hides a bracket, as its value begins with #.
_COMMENT = re.compile(
    r"(?:^|[,{\[])[ \t]*(?=//|/\*|<!--)|[{,\[][^\n#{}\[\]]{0,200}:[ \t]+(?=#[^\s#][^\n]*[}\]])", re.MULTILINE
)
#: How a file begins that is a program.
_PROGRAM = re.compile(r"(?:\s|//[^\n]*\n)*(?=local\s+\w+\s*=|function\s*\()")
#: The line of an offset, for people.
LineOf = Callable[[int], str]
#: Tags that join lines: the offset of each, what is wrong, and what to write.
Joins = Iterator[tuple[int, str, str]]
#: What is said of a tab that indents.
TAB = "tabs cannot be used here; YAML is indented with spaces only"
_NO_KEY = "this line is no `key: value`, `- item` or # comment; is a colon, a space or a text's indentation missing?"
_NEEDS_QUOTES = "a value that holds `: ` needs quotes"
#: How a text in quotes holds the quote itself.
_QUOTES = {"'": "''", '"': r"\""}
#: Kinds of mistakes whose place is where the value begins.
_AT_THE_START = ("open-quote", "no-anchor")
#: By kind; `{line}` is that of what was begun, `{character}` the one at the place.
_SENTENCES = {
    "open-quote": "the quote that begins here does not end",
    "open-bracket": "a comma or the {0} of the bracket that opens on line {line} is missing here",
    "no-dash": "this line is among the items of the list that begins on line {line}; indent it further if it belongs "
    "to an item, less if the list has ended",
    "no-token": "a value cannot begin with {character}; put it in quotes",
    "no-anchor": "a value that begins with * or & needs quotes",
    "tab": TAB,
    "no-document": "this line does not belong to the lines above it; check its indentation",
    "second-document": "--- begins a second document, and there can be only one; move its content into the first "
    "document. If it is a ConfigMap, write its data as `files:` in template.yaml",
    "unknown-alias": "* begins an alias, and this file has no such anchor above it; a text that begins with * needs "
    "quotes",
    "no-value": "a value is missing here",
    "no-list": "a list cannot begin here; put its first `-` on a line of its own",
    "unknown-escape": "a backslash in double quotes begins an escape; for a plain backslash use single quotes",
    "no-question": "a ? cannot begin a value; put the text in quotes",
}

#: A tag or a comment of the template.
_TAG_OR_COMMENT = re.compile(r"\{%(?:[^%{\n]|%(?!\})|\{(?!%))*%\}|\{#[^#\n]*#\}")
#: A hole that renders nothing.
_SAYS = re.compile(r"\{\{-?\s*(?:deny|fail|warn)\((?:[^{}\n]|\}(?!\})|\{(?!\{))*\}\}")
#: Tags whose line end is within what they define.
_ENDS_A_DEFINITION = re.compile(r"\{%-?\s*(?:endmacro|endset|raw|endraw|macro)\b")
_LOOP = re.compile(r"\{%-?\s*for\b.*%\}\s*- .*\{%-?\s*endfor\b")
_DASH = re.compile(r"\{[{%#]-|-[}%#]\}")
#: How many lines above a mistake of YAML a dash may have made it.
_DASH_LINES = 3


def yaml_mistake(error: yaml.YAMLError, text: str, first: int = 1) -> tuple[str, int | None]:
    """What is wrong with a YAML text, in one sentence, and the offset of it; `first` is the number of its first line.

    What looks like the template of a Helm chart is told to be one: it can hardly be YAML.
    """
    for hole in re.finditer(r"\{\{[^\n]*", text):
        if is_go(hole[0]):
            message = "this is the template of a Helm chart, not a manifest; render the chart first: helm template"
            return message, hole.start()
    return explain_yaml(error, text, lambda offset: str(first + text.count("\n", 0, offset)))


def explain_yaml(error: yaml.YAMLError, text: str, line_of: LineOf) -> tuple[str, int | None]:
    """What is wrong with a YAML text, in one sentence, and the offset of it. `line_of` names another offset's line."""
    if isinstance(error, yaml.reader.ReaderError):
        offset = len(text.encode("utf-8", "surrogatepass")[: int(error.position)].decode("utf-8", "ignore"))
        return f"U+{ord(text[offset:][:1] or ' '):04X} is not allowed in YAML, not even in quotes", offset
    if program := _PROGRAM.match(text):
        return "this is a program, not YAML; write YAML, from `spec:` on", program.end()
    kind, values = yaml_message(error)
    marks = (getattr(error, name, None) for name in ("problem_mark", "context_mark"))
    at, start = (None if mark is None else index(text, mark) for mark in marks)
    if at is None or kind not in (*_SENTENCES, "no-colon", "no-key", "no-mapping"):
        return " ".join(str(getattr(error, "problem", None) or error).split())[:200], start if at is None else at
    looked_at = (start if kind in _AT_THE_START else None) or at
    return _misplaced_quote(text, looked_at, line_of) or _of_kind(kind, values, text, at, start, line_of)


def _misplaced_quote(text: str, at: int, line_of: LineOf) -> Fault | None:
    """What is wrong if a text in quotes ends at an offset, or before it and has several lines; None if none does."""
    try:
        for token in yaml.scan(text, Loader=yaml.CSafeLoader):
            begin, end = index(text, token.start_mark), index(text, token.end_mark)
            mark, within = text[begin : begin + 1], _QUOTES.get(text[begin : begin + 1])
            if within and not text[end:at].strip() and "\n" in text[begin:end]:
                return (
                    f"the quote that begins here ends only on line {line_of(end)}; is its closing quote missing?",
                    begin,
                )
            if within and end == at:
                message = "the text in quotes ends before this point"
                return f"{message}; is a {mark} missing, or {within} for a {mark} in the text?", end
            if end >= at:
                break
    except yaml.YAMLError:
        pass
    return None


def _of_kind(kind: str, values: tuple[str, ...], text: str, at: int, start: int | None, line_of: LineOf) -> Fault:
    """What is wrong by the kind of a mistake."""
    if kind == "no-key":
        return _no_key(text, at, start, line_of), at
    if kind == "no-mapping":
        return _no_mapping(text, at)
    begin = at if start is None else start
    if kind == "no-colon":
        return _no_colon(text, begin)
    return _plain(kind, values, text, at, begin, line_of(begin))


def _plain(kind: str, values: tuple[str, ...], text: str, at: int, begin: int, line: str) -> Fault:
    """What is wrong where a sentence says it; `line` is that of what was begun."""
    above = text.rfind("\n", 0, max(text.rfind("\n", 0, at), 0)) + 1
    if kind in ("open-bracket", "no-value") and (comment := _COMMENT.search(text, min(begin, above), at + 2)):
        return (
            "this is no comment, or hides more than it should; a comment is # at the end of a line, or {# ... #}, and "
            "a value that begins with # needs quotes"
        ), comment.end()
    character = text[at : at + 1]
    if kind == "open-bracket" and character == ":":  # a key began before
        at = max(text.rfind(mark, 0, at) for mark in "\n \t,{[") + 1
    if kind == "open-bracket" and character == ":" and text[:at].rstrip().endswith(":"):
        return _NEEDS_QUOTES, at
    sentence = TAB if kind == "no-token" and character == "\t" else _SENTENCES[kind]
    return sentence.format(*values, line=line, character=character), begin if kind in _AT_THE_START else at


def _no_colon(text: str, begin: int) -> Fault:
    """What is wrong with a line that is no YAML; of a here-document of a shell, the first that is not indented."""
    word = text[begin:].partition("\n")[0].strip()
    here = re.search(rf"^( *).*<<-?[ \t]*[\"']?{re.escape(word)}\b.*\n", text[:begin], re.MULTILINE) if word else None
    if here:
        less = re.compile(rf"^(?! {{{len(here[1])}}})(?=.*\S)", re.MULTILINE).search(text, here.end())
        message = (
            f"the lines of this here-document are not indented enough; let each begin in column {len(here[1]) + 1}"
        )
        return message, less.start() if less else begin
    if word.startswith(OPEN):
        return (
            "a {{ }} alone on its line gives only a value; write a key before it, or, for each key of a mapping, "
            "{% for key, value in x.items() %} and `{{ key }}: {{ value }}`"
        ), begin
    if run_together := _RUN_TOGETHER.match(word):
        return f"a space is missing after the colon of {run_together[1]}:", begin
    return _NO_KEY, begin


def _no_key(text: str, at: int, start: int | None, line_of: LineOf) -> str:
    line = line_start(text, at)
    if text[line:at].strip(" -"):
        return "the value ended before this point; put the whole value in quotes, or put what follows on a new line"
    if start is None:
        return "this line's indentation does not match any line above it"
    if text[at] in "]}":
        return f"{text[at]} closes nothing here"
    columns = at - line + 1, start - text.rfind("\n", 0, start)
    opening = f"the mapping that begins on line {line_of(start)}"
    if columns[0] != columns[1]:
        return (
            f"wrong indentation: this line begins in column {columns[0]}, but the keys of {opening} are in column "
            f"{columns[1]}"
        )
    if text.startswith("- ", at):
        return f"a list item is among the keys of {opening}; indent it like the items before it"
    return _NO_KEY


def _no_mapping(text: str, at: int) -> Fault:
    """What is wrong with a colon where no key can be, by the line above."""
    line = line_start(text, at)
    if re.search(r":[ \t]", text[line:at]):
        return _NEEDS_QUOTES, at
    start = line_start(text, max(line - 1, 0))
    above = text[start:line]
    column = len(above) - len(above.lstrip(" "))
    if ":" not in above:
        message = "the line above continues on this line; is a colon missing at the end of the line above?"
    elif (run_together := _RUN_TOGETHER.match(above.lstrip(" -"))) and not re.search(r":[ \t]", above):
        return f"a space is missing after the colon of {run_together[1]}:", text.index(run_together[0], start)
    elif re.match(r" *-[A-Za-z]", above):
        return "a space is missing after the - of this item", start + column
    elif re.search(rf"^ {{{column}}}- [^\n]*\n\Z", text[:start], re.MULTILINE) and above[column] != "-":
        message = f"this line is at the same indentation as the - of its list item; indent it to column {column + 3}"
        return message, start + column
    else:
        message = "this key is indented further than the line above it, which has a value of its own already"
    return message, line + len(text[line:at]) - len(text[line:at].lstrip(" -"))


def tab_in(text: str) -> int | None:
    """The offset of the first tab that indents a line of a YAML file, whatever its tags do; None where there is none.

    All branches are read one after the other, token by token, so that a tab in a block scalar, in quotes or in brackets
    is no mistake. The result is None for a text that is not YAML for another reason.
    """
    if not _TAB.search(text):
        return None
    blanked = _HOLE_OR_TAG.sub(_blanked, text)
    try:
        # a line of blanks would say how far a block scalar is indented
        for _ in yaml.scan(re.sub(r"^[ \t]+$", "", blanked, flags=re.MULTILINE), Loader=yaml.CSafeLoader):
            pass
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        if mark is not None and yaml_message(error).kind in ("tab", "no-token"):
            lines = text.split("\n")
            line = lines[mark.line]
            if line[mark.column : mark.column + 1] == "\t" and not line[: mark.column].strip(" \t"):
                return sum(len(before) + 1 for before in lines[: mark.line]) + int(mark.column)
    except yaml.YAMLError:
        pass
    return None


def _blanked(match: re.Match[str]) -> str:
    """A word for a hole within a line; blanks for a tag, a comment, and a hole alone on its line: it may be lines."""
    return re.sub(r"[^\n]", "x" if match["hole"] else " ", match[0])


def lost_line_ends(text: str, *, document: bool) -> Joins:
    """Each tag that joins a line with the next or the one before: its offset, what is wrong, and what to write.

    In YAML and JSON a dash takes the next line's indentation as well. A tag or comment at the end of a line takes the
    line end by itself, as Jinja's `trim_blocks` has it.
    """
    offset, before, raw = 0, "", False
    lines = text.splitlines(keepends=True)
    for line, following in zip(lines, [*lines[1:], ""], strict=False):  # an empty text has no line
        tags = [] if raw else list(_TAG_OR_COMMENT.finditer(line))
        if tags and document:
            yield from _dashes(line, before, following, offset + tags[0].start(), offset + tags[-1].start())
        if tags and line.rstrip("\n").endswith(tags[-1][0]):
            yield from _at_the_end(line, following, tags[-1][0], offset + tags[-1].start(), document=document)
        raw = "{% raw" in line or (raw and "{% endraw" not in line)
        before, offset = line, offset + len(line)


def _dashes(line: str, before: str, following: str, first: int, last: int) -> Joins:
    """The dashes of a line's first and last tag, which stand at these offsets."""
    stripped = line.strip()
    if stripped.startswith("{%-") and _holds_text(before):
        message = "the dash in {%- removes the line break before it, so this line is joined to the line above"
        yield first, message, "write {%"
    if stripped.endswith("-%}") and following[:1] == " ":
        yield last, "the dash in -%} removes the indentation of the next line", "write %}"


def _at_the_end(line: str, following: str, tag: str, at: int, document: bool) -> Joins:
    """The tag or comment with which a line ends."""
    if following.strip() and _holds_text(line) and not _ENDS_A_DEFINITION.match(tag):
        message = f"{tag[:40]} at the end of a line removes the line break, so the next line is joined to this line"
        instead = "put it on a line of its own"
        if tag.startswith("{#") and document:
            instead = "write the comment as # ... in place of {# ... #}"
        yield at, message, instead


def joined_lines(text: str, offset: int) -> Fault | None:
    """What is wrong, and where, if tags make one line of several in a YAML text that fails at an offset; else None."""
    start = line_start(text, offset)
    line = text[start:].partition("\n")[0]
    if _LOOP.search(line):
        message = "this loop writes all its items into one line; put {% for %} and {% endfor %} on lines of their own"
        return message, start + len(line) - len(line.lstrip())
    above = line_start(text, max(start - 1, 0))
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
    return bool(_SAYS.sub("", _TAG_OR_COMMENT.sub("", line)).strip())
