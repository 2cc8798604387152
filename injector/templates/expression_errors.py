"""What errors of Jinja's parser, and of Python in an expression, mean to a person, and where to look."""

from __future__ import annotations

import re

from injector.library_messages import TOKENS, jinja_message, python_message
from injector.names import KINDS, hint, nearest
from injector.templates import foreign_habits

#: The tags that templates may use.
TAGS = ("if", "for", "set", "macro", "call", "with", "include", "import", "from", "raw")
#: Tags of other languages, with ours.
_FOREIGN = {
    "end": "{% endif %}, {% endfor %} or {% endmacro %}",
    "range": "{% for ... in ... %}",
    "elseif": "{% elif ... %}",
    "elsif": "{% elif ... %}",
    "define": "{% macro name() %}",
    "template": '{% include "_file.j2" %}',
    "foreach": "{% for ... in ... %}",
    "assign": "{% set name = ... %}",
    "do": "{% set x = ... %}: lists and mappings do not change",
    **{name: f'{{{{ {name}("...") }}}}' for name in ("warn", "fail", "deny")},
}
#: What cannot stand in an expression, by its first character, with what people mean by it.
_CHARACTERS = {
    "?": "write `a if x else b`",
    "&": "write `and`",
    "!": "write `not`",
    "$": "names have no $ here",
    "`": "strings stand in \" or '",
    **dict.fromkeys("\u201c\u201d\u2018\u2019", "strings stand in plain \" or '"),
}
_TAG = re.compile(r"\{%[-+]?\s*(\w+)\s*([^%]*)")

#: The name of a filter right before what is not expected: `| default "x"`.
_FILTER = re.compile(r"\|\s*(\w+)\s+\Z")
_DASH = re.compile(r"\{[{%#]-|-[}%#]\}")
#: How many lines above a mistake of YAML a dash may have made it.
_DASH_LINES = 3


def dash_before(text: str, offset: int) -> str:
    """What to say before a mistake of YAML at an offset: the last dash in or shortly above its line, which takes blanks
    and line ends away from what YAML reads. Empty where there is none.
    """
    end = text.find("\n", offset)
    found = list(_DASH.finditer(text, 0, len(text) if end < 0 else end))
    line = text.count("\n", 0, offset) + 1
    if not found or (at := text.count("\n", 0, found[-1].start()) + 1) < line - _DASH_LINES:
        return ""
    dash = found[-1][0]
    side = "before" if dash.startswith("{") else "behind"
    plain = dash.replace("-", "")
    return f"write {plain} in line {at}: the dash of {dash} takes away the line end {side} it, and so "


def explain_jinja(words: str, text: str, offset: int) -> tuple[str, int]:
    """What is wrong with a file and where, of the parser's words and the offset where it gave up."""
    line = text[text.rfind("\n", 0, offset) + 1 :].partition("\n")[0]
    kind, values = jinja_message(words)
    if kind == "open-block":
        return _unclosed(text, offset)
    go = foreign_habits.instead(line)
    if go is not None:
        return foreign_habits.first_block(text, text.rfind("\n", 0, offset)) or (go, offset)
    begin = max(text.rfind("{{", 0, offset), text.rfind("{%", 0, offset))
    open_string = kind == "wrong-character" and text[offset] in "\"'"
    if (open_string or kind == "early-end") and begin >= 0:
        closing = "}}" if text[begin + 1] == "{" else "%}"
        if closing not in text[offset:].partition("\n")[0]:
            return f"the {text[begin : begin + 2]} that begins here is not closed with {closing}", begin
    if open_string:
        return "the string that begins here does not end", offset
    if kind == "unknown-tag":
        return foreign_habits.opening(values[0], values[1], text, offset) or (
            _unknown_tag(values[0], values[1]),
            offset,
        )
    if kind == "wrong-token":
        return _expected(values[0], values[1], text, offset)
    if kind == "wrong-bracket":
        return f"{values[0]} is missing before this", offset
    if kind in ("wrong-character", "unexpected"):
        found = text[offset] if kind == "wrong-character" else values[0]
        if found == "}":
            end = "a tag ends with %}" if text.startswith("{%", begin) else "a hole ends with }}"
            return f"unexpected '}}'; {end}", offset
        advice = _CHARACTERS.get(found)
        return f"unexpected '{found}'" + (f"; {advice}" if advice else ""), offset
    return _PLAIN.get(kind) or words[:200], offset


#: What is said of a kind of mistake wherever it is.
_PLAIN = {
    "open-comment": "the comment that begins here does not end; #} is missing",
    "open-raw": "{% raw %} begins here and does not end; {% endraw %} is missing",
    "no-expression": "a value is missing here",
    "no-name": "a name is missing behind the dot",
}


def deepest(text: str) -> int:
    """The offset of the tag or bracket that lies deepest within others."""
    depth, found = 0, (0, 0)
    for match in re.finditer(r"\{%-?\s*(end)?(\w+)|[(\[]|[)\]]", text):
        closes = bool(match[1]) or match[0] in ")]"
        opens = match[0] in "([" or match[2] in ("if", "for", "macro", "call", "with")
        depth += -1 if closes else opens
        found = max(found, (depth, match.start()), key=lambda one: one[0])
    return found[1]


def _expected(wanted: str, got: str, text: str, offset: int) -> tuple[str, int]:
    begin = max(text.rfind("{{", 0, offset), text.rfind("{%", 0, offset))
    closing = TOKENS.get(wanted, "a name" if wanted == "name" else f"`{wanted}`")
    shown = TOKENS.get(got, f"`{got}`")
    if wanted == "name" and got == "|":
        return "|| is not available; write `or`", offset
    if closing in ("}}", "%}") and (got == "end of template" or "\n" in text[max(begin, 0) : offset]) and begin >= 0:
        return f"the {text[begin : begin + 2]} that begins here is not closed with {closing}", begin
    tag = _TAG.match(text, begin) if begin >= 0 else None
    if got == "string" and text[offset - 1 : offset] in ("f", "F"):
        return 'f"..." is Python; join with ~, as in {{ params.a ~ ":" ~ params.b }}', offset - 1
    if got == "=" and tag and tag[1] == "for":
        return "a loop is written {% for item in list %}", offset
    if got == "=":
        return "one = sets a value; write == to compare", offset
    if tag and tag[1] == "set" and "=" not in tag[2]:
        return "a variable is set by {% set name = value %}", begin
    if closing == "%}" and tag and tag[1] == "else" and got == "if":
        return "write {% elif ... %}", begin
    if tag and tag[1] in ("if", "elif") and (go := foreign_habits.go_comparison(tag[2])):
        return go, begin
    filter_ = _FILTER.search(text, max(begin, 0), offset)
    if closing in ("}}", "%}") and filter_ and got != "end of template":
        given = text[offset:].partition("\n")[0].partition(closing)[0].strip()
        return f"a filter has its values in brackets: write {filter_[1]}({given[:40]})", offset
    if closing in ("}}", "%}"):
        return f"{closing} or an operator is expected here, not {shown}; join strings with ~", offset
    return f"{closing} is expected here, not {shown}", offset


def _unknown_tag(name: str, inner: str) -> str:
    """What is wrong with a tag; `inner` is the block that is open there, "" for none."""
    if name.startswith("end") and name != "end":
        if inner:
            return f"{{% {name} %}} does not close the block that is open here, {{% {inner} %}}"
        return f"{{% {name} %}} closes nothing; no such block is open here"
    if name in ("else", "elif"):
        return f"{{% {name} %}} stands outside of an {{% if %}}"
    if name in _FOREIGN:
        return f"no tag {name} here; write {_FOREIGN[name]}"
    known = [*TAGS, "endif", "endfor", "endmacro", "elif", "else"]
    return f"no tag {name} here{hint(name, known) if nearest(name, known) else hint(name, TAGS)}"


def _unclosed(text: str, offset: int) -> tuple[str, int]:
    """The innermost block that is open at the file's end; tags within comments and raw blocks do not count."""
    open_tags: list[tuple[str, int]] = []
    blanked = re.sub(r"\{#.*?#\}|\{%-?\s*raw.*?endraw\s*-?%\}", lambda m: " " * len(m[0]), text, flags=re.DOTALL)
    for found in _TAG.finditer(blanked):
        name, rest = found[1], found[2]
        if name in ("if", "for", "macro", "call", "with") or (name == "set" and "=" not in rest):
            open_tags.append((name, found.start()))
        elif name.startswith("end") and open_tags:
            open_tags.pop()
    if not open_tags:
        return "the file ends within a block", offset
    name, at = open_tags[-1]
    go = foreign_habits.end_of(blanked, name, at)
    if go is not None:
        return go
    return f"{{% {name} %}} begins here and does not end; {{% end{name} %}} is missing", at


_KINDS = {
    **KINDS,
    "MissingValue": "something that is not there",
    "replaced": "replace",  # a filter of another name in Python
}
#: What is said of a kind of error of Python's; `{0}` and so on stand for its values, types in words.
_SENTENCES = {
    "uneven-items": "the items do not have as many values as there are names for them; over a mapping loop with "
    "`x.items()`",
    "one-value": "there are several names here, and only one value: {0}",
    "no-order": "{0} and {1} cannot be compared with < or >",
    "no-whole-number": "a whole number is needed here, and this is {0}",
    "no-iteration": "a list is needed here, and this is {0}",
    "no-length": "{0} has no length",
    "no-items": "{0} has no items",
    "missing-argument": "{0}(): the argument {1} is missing",
    "too-many-arguments": "{0}: these are too many arguments",
    "unknown-argument": "{0}: no argument {1}",
    "missing-in-call": "the argument {0} is missing",
    "too-many-in-call": "these are too many arguments",
    "unknown-in-call": "no argument {0}",
    "no-hash": "{0} cannot be used as a key",
    "no-container": "{0} has no items among which to look",
    "no-number": "a number is needed here, and this is {0}",
    "no-string": "a string is needed here, and this is {0}",
}


def explain_python(error: Exception) -> str:
    """What is wrong with an expression in which Python raised an error."""
    kind, values = python_message(error)
    if kind:
        return _SENTENCES[kind].format(*(_KINDS.get(value, value.lstrip("_")) for value in values if value))
    return str(error) if isinstance(error, TypeError | ValueError) else f"{type(error).__name__}: {error}"
