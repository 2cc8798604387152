"""What errors of Jinja's parser mean to a person, and where to look."""

from __future__ import annotations

import re

from injector.library_messages import TOKENS, jinja_message
from injector.names import hint, nearest
from injector.templates import expression_habits, other_languages

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
    "do": "a filter, such as map, select or list: lists and mappings cannot be changed",
    **dict.fromkeys(("break", "continue"), "{% for item in list if condition %}, which takes only some items"),
    **dict.fromkeys(("switch", "case", "when"), '{% if params.x == "a" %} ... {% elif params.x == "b" %}'),
    **dict.fromkeys(("let", "var", "local", "const", "assign", "capture"), "{% set name = value %}"),
    **dict.fromkeys(("print", "echo", "=", "return"), "{{ value }}"),
    **dict.fromkeys(("while", "each", "loop"), "{% for item in list %}"),
    **dict.fromkeys(("fi", "endunless"), "{% endif %}"),
    **dict.fromkeys(("done", "endforeach", "endwhile", "endeach"), "{% endfor %}"),
    "unless": "{% if not ... %}",
    "then": "{% if ... %} without it",
    "comment": "{# ... #}",
    "endcomment": "{# ... #}",
    "verbatim": "{% raw %}",
    "endverbatim": "{% endraw %}",
    **{name: f'{{{{ {name}("...") }}}}' for name in ("warn", "fail", "deny")},
}
#: What cannot stand in an expression, by its first character, with what people mean by it.
_CHARACTERS = {
    "?": "write `a if x else b`",
    "&": "write `and`",
    "!": "write `not`",
    "$": "names have no $ here",
    "`": "strings are quoted with \" or '",
    "@": "names have no @ here",
    "#": "a comment is {# ... #}",
    "\\": "write quotes without \\ before them",
    **dict.fromkeys("\u201c\u201d\u2018\u2019", "strings are quoted with plain \" or '"),
}
_TAG = re.compile(r"\{%[-+]?\s*(\w+)\s*([^%]*)")


def explain_jinja(words: str, text: str, offset: int, *, for_program: bool = False) -> tuple[str, int]:
    """What is wrong with a file and where, from the parser's words and the offset where it gave up.

    `for_program` says that the file is rendered for a program, which may read templates of its own.
    """
    message, at = _explained(words, text, offset)
    if for_program and other_languages.instead(_line(text, at)) is not None:
        message = other_languages.left_alone(message, text)
    return message, at


def _line(text: str, offset: int) -> str:
    return text[text.rfind("\n", 0, offset) + 1 :].partition("\n")[0]


def _explained(words: str, text: str, offset: int) -> tuple[str, int]:
    kind, values = jinja_message(words)
    if kind == "open-block":
        return _unclosed(text, offset)
    if kind == "open-comment" and (shell := other_languages.hash_braces(text, offset)):
        return shell, offset
    begin = max(text.rfind("{{", 0, offset), text.rfind("{%", 0, offset))
    if begin >= 0 and kind != "unknown-tag" and (said := expression_habits.choice(text, begin, offset)):
        return said
    go = other_languages.instead(_line(text, offset))
    if go is not None:
        return other_languages.first_block(text, text.rfind("\n", 0, offset)) or (go, offset)
    tag = _TAG.match(text, begin) if begin >= 0 and kind == "wrong-token" else None
    if tag and tag[1] in ("if", "elif") and (go := other_languages.go_comparison(tag[2])):
        return go, begin
    if begin >= 0 and kind != "unknown-tag" and (said := expression_habits.habit(kind, values, text, begin, offset)):
        return said
    open_string = kind == "wrong-character" and text[offset] in "\"'"
    if (open_string or kind == "early-end") and begin >= 0:
        closing = "}}" if text[begin + 1] == "{" else "%}"
        if closing not in text[offset:].partition("\n")[0]:
            return f"the {text[begin : begin + 2]} that begins here is not closed with {closing}", begin
    if open_string:
        return "the string that begins here does not end", offset
    if kind == "unknown-tag":
        called = text.startswith("(", offset + len(values[0]))
        said = other_languages.opening(values[0], values[1], text, offset)
        return said or (_unknown_tag(values[0], values[1], called=called), offset)
    if kind == "wrong-token":
        return _expected(values[0], values[1], text, offset)
    if kind == "wrong-bracket":
        return f"{values[0]} is missing before this", offset
    if kind in ("wrong-character", "unexpected"):
        found = text[offset] if kind == "wrong-character" else values[0]
        if found == "}":
            end = "a tag ends with %}" if text.startswith("{%", begin) else "{{ is closed with }}"
            return f"unexpected '}}'; {end}", offset
        advice = _CHARACTERS.get(found)
        return f"unexpected '{found}'" + (f"; {advice}" if advice else ""), offset
    return _PLAIN.get(kind) or words[:200], offset


#: What is said of a kind of mistake wherever it is.
_PLAIN = {
    "open-comment": "the comment that begins here does not end; #} is missing",
    "open-raw": "{% raw %} begins here and does not end; {% endraw %} is missing",
    "no-expression": "a value is missing here",
    "no-name": "a name is missing after the dot",
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
    if got == "string" and text[offset - 1 : offset] in ("f", "F"):
        return 'f"..." is Python; join with ~, as in {{ params.a ~ ":" ~ params.b }}', offset - 1
    if got == "=":
        return "a single = sets a value; write == to compare", offset
    if closing in ("}}", "%}"):
        return f"{closing} or an operator is expected here, not {shown}; join strings with ~", offset
    return f"{closing} is expected here, not {shown}", offset


def _unknown_tag(name: str, inner: str, *, called: bool) -> str:
    """What is wrong with a tag; `inner` is the block that is open there, "" for none; if `called`, a ( follows it."""
    if name.startswith("end") and name != "end":
        if inner:
            return f"{{% {name} %}} does not close the block that is open here, {{% {inner} %}}"
        return f"{{% {name} %}} closes nothing; no such block is open here"
    if name in ("else", "elif"):
        return f"{{% {name} %}} is not inside an {{% if %}}"
    if name in _FOREIGN:
        return f"there is no tag `{name}` here; write {_FOREIGN[name]}"
    if called:
        return f"there is no tag `{name}` here; to call a macro write {{{{ {name}(...) }}}}"
    known = [*TAGS, "endif", "endfor", "endmacro", "elif", "else"]
    return f"there is no tag `{name}` here{hint(name, known) if nearest(name, known) else hint(name, TAGS)}"


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
    go = other_languages.end_of(blanked, name, at)
    if go is not None:
        return go
    rest = ", or, if it only calls a macro, write {{ name() }}" if name == "call" else ""
    return f"{{% {name} %}} begins here and does not end; {{% end{name} %}} is missing{rest}", at
