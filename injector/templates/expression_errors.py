"""What errors of Jinja's parser, and names that nothing defines, mean to a person, and where to look."""

from __future__ import annotations

import re
from collections.abc import Set

from injector.library_messages import TOKENS, jinja_message
from injector.names import hint, nearest, suggestion
from injector.templates.dependencies import NAMES, REVIEW_NAMES
from injector.templates.forbidden import ForbiddenError

#: The tags that templates may use.
_TAGS = ("if", "for", "set", "macro", "call", "with", "include", "import", "from", "raw")
_TAG = re.compile(r"\{%[-+]?\s*(\w+)\s*([^%]*)")
#: Words that begin a hole of a Go template and no hole of ours.
_GO_WORDS = frozenset(
    (
        "if", "else", "end", "range", "with", "define", "block", "template", "include", "toYaml", "quote", "tpl",
        "Values", "Release", "Chart", "Capabilities", "Files", "Template",
    )
)  # fmt: skip
#: A hole or a tag of a Go template: a word of those, a path, or a function with its values behind it.
_GO = re.compile(
    rf"\{{\{{-?\s*(?:[.$]|/\*|(?:{'|'.join(sorted(_GO_WORDS))})\b(?!\s*\()|(?!not\b)[A-Za-z]\w*\s+[\"`.$(])"
    r"|\{%-?\s*(?:(?:if|elif)\s+)?(?:not\s+)?\(?(?:[.$]|(?:and|or|eq|ne|lt|le|gt|ge)\s)"
)
_GO_BLOCK = re.compile(r"\{\{-?\s*(?:if|range|with|define|block)\s[^\n]*")
_GO_END = re.compile(r"\{\{-?\s*end\s*-?\}\}")
_LOOKS_LIKE_GO = "this looks like a Go template"
#: What the parser wants in a tag whose own form is wrong: then its place is that of the tag.
_FORMS = {
    "with": "=",
    "include": "end of statement block",
    "macro": "(",
    "import": "as",
    "else": "end of statement block",
}
#: What is said of a kind of mistake wherever it is.
_PLAIN = {
    "open-comment": "the comment that begins here does not end; #} is missing",
    "open-raw": "{% raw %} begins here and does not end; {% endraw %} is missing",
    "no-expression": "a value is missing here",
    "no-name": "a name is missing after the dot",
}


def is_go(line: str) -> bool:
    """Whether a line looks like one of a Go template, such as those of Helm charts."""
    return _GO.search(line) is not None


def explain_jinja(words: str, text: str, offset: int) -> ForbiddenError:
    """What is wrong with a file and where, from the parser's words and the offset where it gave up."""
    kind, values = jinja_message(words)
    begin = max(text.rfind("{{", 0, offset), text.rfind("{%", 0, offset))
    of_go = _place_of_go(kind, values, text, begin, offset)
    message, at = of_go or _explained(kind, values, words, text, begin, offset)
    near = _near_tag(values[0]) if kind == "unknown-tag" and of_go is None else ""
    return ForbiddenError(message, at + 1, help=near, mistake=("syntax", kind, *values))


def _place_of_go(kind: str, values: tuple[str, ...], text: str, begin: int, offset: int) -> tuple[str, int] | None:
    """The place of a Go template's block, which Jinja may have read as a value, or of another hole; None for none."""
    start = text.rfind("\n", 0, offset) + 1
    block: re.Match[str] | None = None
    if kind == "unknown-tag" and values[0].startswith("end") and not values[1]:
        block = max(_GO_BLOCK.finditer(text, 0, offset), key=re.Match.start, default=None)
    elif kind not in ("open-block", "open-comment") and is_go(text[start:].partition("\n")[0]):
        block = _GO_BLOCK.search(text, 0, start)
        if block is None:
            return _LOOKS_LIKE_GO, begin if text.startswith("{%", begin) and kind == "wrong-token" else offset
    return (_LOOKS_LIKE_GO, block.start()) if block else None


def _explained(kind: str, values: tuple[str, ...], words: str, text: str, begin: int, offset: int) -> tuple[str, int]:
    if kind == "open-block":
        return _unclosed(text, offset)
    open_string = kind == "wrong-character" and text[offset] in "\"'"
    if (open_string or kind == "early-end") and begin >= 0:
        closing = "}}" if text[begin + 1] == "{" else "%}"
        if closing not in text[offset:].partition("\n")[0]:
            return f"the {text[begin : begin + 2]} that begins here is not closed with {closing}", begin
    if open_string:
        return "the string that begins here does not end", offset
    if kind == "unknown-tag":
        return _unknown_tag(values[0], values[1], called=text.startswith("(", offset + len(values[0]))), offset
    if kind == "wrong-token":
        return _expected(values[0], values[1], text, begin, offset)
    if kind == "wrong-bracket":
        return f"{values[0]} is missing before this", offset
    if kind in ("wrong-character", "unexpected"):
        character = text[offset] if kind == "wrong-character" else values[0]
        if character == "}":
            end = "a tag ends with %}" if text.startswith("{%", begin) else "{{ is closed with }}"
            return f"unexpected '}}'; {end}", offset
        return f"unexpected '{character}'", offset
    return _PLAIN.get(kind) or words[:200], offset


def deepest(text: str) -> int:
    """The offset of the tag or bracket that lies deepest within others."""
    depth, deepest_yet = 0, (0, 0)
    for match in re.finditer(r"\{%-?\s*(end)?(\w+)|[(\[]|[)\]]", text):
        closes = bool(match[1]) or match[0] in ")]"
        opens = match[0] in "([" or match[2] in ("if", "for", "macro", "call", "with")
        depth += -1 if closes else opens
        deepest_yet = max(deepest_yet, (depth, match.start()), key=lambda level: level[0])
    return deepest_yet[1]


def _expected(wanted: str, symbol: str, text: str, begin: int, offset: int) -> tuple[str, int]:
    closing = TOKENS.get(wanted, "a name" if wanted == "name" else f"`{wanted}`")
    found_there = TOKENS.get(symbol, f"`{symbol}`")
    if wanted == "name" and symbol == "|":
        return "|| is not available; write `or`", offset
    is_end = closing in ("}}", "%}")
    if is_end and (symbol == "end of template" or "\n" in text[max(begin, 0) : offset]) and begin >= 0:
        return f"the {text[begin : begin + 2]} that begins here is not closed with {closing}", begin
    if symbol == "string" and text[offset - 1 : offset] in ("f", "F"):
        return 'f"..." is Python; join with ~, as in {{ params.a ~ ":" ~ params.b }}', offset - 1
    tag = _TAG.match(text, begin) if begin >= 0 else None
    if tag and tag[1] in ("if", "elif", "for") and symbol in ("then", "do"):
        return f"{closing} is expected here, not {found_there}", begin
    if tag and (_FORMS.get(tag[1]) == wanted or (tag[1] == "set" and not re.match(r"[\w, ]+=", tag[2]))):
        return f"{closing} is expected in this tag, not {found_there}", begin
    if symbol == "=":
        return "a single = sets a value; write == to compare", offset
    if is_end:
        return f"{closing} or an operator is expected here, not {found_there}; join strings with ~", offset
    return f"{closing} is expected here, not {found_there}", offset


def _unknown_tag(name: str, inner: str, *, called: bool) -> str:
    """What is wrong with a tag; `inner` is the block that is open there, "" for none; if `called`, a ( follows it."""
    if name.startswith("end") and name != "end":
        if inner:
            return f"{{% {name} %}} does not close the block that is open here, {{% {inner} %}}"
        return f"{{% {name} %}} closes nothing; no such block is open here"
    if name in ("else", "elif"):
        return f"{{% {name} %}} is not inside an {{% if %}}"
    return f"there is no tag `{name}` here" + (f"; to call a macro write {{{{ {name}(...) }}}}" if called else "")


def _near_tag(name: str) -> str:
    if name in ("else", "elif") or (name.startswith("end") and name != "end"):
        return ""
    tags = [*_TAGS, "endif", "endfor", "endmacro", "elif", "else"]
    return suggestion(name, tags if nearest(name, tags) else _TAGS)


def _unclosed(text: str, offset: int) -> tuple[str, int]:
    """The innermost block that is open at the file's end; tags within comments and raw blocks do not count."""
    open_tags: list[tuple[str, int]] = []
    blanked = re.sub(r"\{#.*?#\}|\{%-?\s*raw.*?endraw\s*-?%\}", lambda m: " " * len(m[0]), text, flags=re.DOTALL)
    for tag in _TAG.finditer(blanked):
        name, rest = tag[1], tag[2]
        if name in ("if", "for", "macro", "call", "with") or (name == "set" and "=" not in rest):
            open_tags.append((name, tag.start()))
        elif name.startswith("end") and open_tags:
            open_tags.pop()
    if not open_tags:
        return "the file ends within a block", offset
    name, at = open_tags[-1]
    if end := _GO_END.search(blanked, at):
        return _LOOKS_LIKE_GO, end.start()
    rest = ", or, if it only calls a macro, write {{ name() }}" if name == "call" else ""
    return f"{{% {name} %}} begins here and does not end; {{% end{name} %}} is missing{rest}", at


def not_declared(name: str, expression: str, parameters: Set[str]) -> str:
    """What is wrong with `params.name`, with which an expression begins or in which it stands."""
    if dashed := re.search(rf"\bparams\.({re.escape(name)}(?:-[a-z]\w*)+)", expression):
        return _subtracted(dashed[1], parameters)
    rest = hint(name, parameters, "template.yaml declares")
    return f"params.{name} is not a parameter of this template{rest}"


def _subtracted(name: str, parameters: Set[str]) -> str:
    variable = name.replace("-", "_")
    rest = "" if variable in parameters else f", and declare the parameter `{name}` in template.yaml"
    return f"params.{name} is read as a subtraction; write params.{variable}{rest}"


#: A label or annotation by a key that no name can be, as other languages would have it.
_DOTTED_KEY = re.compile(
    r"(?<![\w.])((?:[A-Za-z_]\w*\.)+(?:labels|annotations|matchLabels|nodeSelector))\.([A-Za-z0-9][\w.-]*(?:/[\w.-]*\w)?)(?![\w(])"
)


def dotted_key(text: str, name: str) -> str:
    """What to say of a label by a key with dots, dashes or a slash, of which `name` is a part; "" for nothing."""
    for label in _DOTTED_KEY.finditer(text):
        key = label[2].rstrip(".-")
        if name in re.split(r"[./-]", key) and re.search(r"[./-]", key):
            return f'this key has dots, dashes or a slash, so put it in brackets: write {label[1]}["{key}"]'
    return ""


_AVAILABLE = ", ".join(sorted(NAMES - REVIEW_NAMES - {"params"}))


def undefined(
    name: str, code: int, line: str, expression: str, known: Set[str], parameters: Set[str]
) -> ForbiddenError:
    """What is wrong with a name at an offset + 1.

    `line` is the line that it stands in, and `expression` begins with it. `known` are all names that are defined,
    `parameters` the template's.
    """
    short = name[:60]
    if re.match(rf"{re.escape(name)}\s*\(", expression):
        near = suggestion(name, known - NAMES, "the functions and macros are")
        message = f"there is no function {short}() here"
        return ForbiddenError(message, code, rule="name", help=near, mistake=("call", name))
    if key := dotted_key(line, name):
        return ForbiddenError(key, code, rule="name")
    go_hole = rf"\{{\{{-?\s*{name}\b" + ("" if name in _GO_WORDS else r"\s+[.$]\w")
    if re.search(go_hole, line):
        return ForbiddenError(_LOOKS_LIKE_GO, code, mistake=("name", name))
    if dashed := re.search(rf"params\.([\w-]+-{re.escape(name)}(?:-\w+)*)", line):
        return ForbiddenError(_subtracted(dashed[1], parameters), code, rule="name")
    spelling = nearest(name, known)
    declare = f"declare a parameter `{short.replace('_', '-').lower()}` in template.yaml"
    to_do = f"{declare} and write params.{short.lower()}; besides params, you can use: {_AVAILABLE}"
    if name in parameters:
        to_do = f"did you mean params.{name}?"
    elif spelling:
        to_do = f"did you mean {spelling}?"
    mistake = () if name in parameters else ("name", name)
    return ForbiddenError(f"`{short}` is not defined", code, rule="name", help=to_do, mistake=mistake)
