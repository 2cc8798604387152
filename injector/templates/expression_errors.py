"""What a template may not hold, and what errors of Jinja's parser and of Python mean to a person, with their place."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from jinja2 import nodes

from injector.library_messages import TOKENS, jinja_message, python_message
from injector.names import KINDS, hint, nearest, respelling, suggestion
from injector.templates.dependencies import NAMES, REVIEW_NAMES, chain
from injector.templates.sandbox_operations import METHODS
from injector.templates.source_map import first_offset, line_start

_NO_ATTRIBUTES = "is not available; to count or collect use a filter: length, sum, map or join"
#: Nodes of Jinja's syntax tree that templates may not hold, with what is said about them.
REFUSED = {
    "FilterBlock": "{% filter %} is not available; write {{ value | filter }}",
    "Block": "{% block %} is not available; use a macro or {% include %}",
    "Extends": "{% extends %} is not available; use a macro or {% include %}",
    "ScopedEvalContextModifier": "{% autoescape %} is not available",
    "NSRef": f"{{% set a.b = ... %}} {_NO_ATTRIBUTES}",
    "Pow": "** is not available; write x * x",
    "Scope": "{% autoescape %} is not available",
}
#: Functions of Jinja's whose name is a value here.
CALLED = {"namespace": f"namespace() {_NO_ATTRIBUTES}"}
#: Names that Jinja keeps for itself.
RESERVED = frozenset(("self", "super", "varargs", "kwargs"))


#: What is wrong in a text, and its offset.
Fault = tuple[str, int]


@dataclass(eq=False)
class ForbiddenError(Exception):
    """Something that authors may not write. `word` is what to point at in the expression that begins at `code`.

    `help`, `mistake` and `fields` are those of its Diagnostic.
    """

    message: str
    code: int
    rule: str = "syntax"
    word: str = ""
    help: str = ""
    mistake: tuple[Any, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class UnknownNameError(ForbiddenError):
    """A name that there is not."""

    rule: str = "name"


def unknown_method(name: str, target: nodes.Getattr) -> ForbiddenError:
    """The error about a call of a method that there is not."""
    code = first_offset(target)
    if chain(target.node) == ("params",) and name != "has_key":  # of mappings in older Pythons
        return ForbiddenError(f"params.{name} is a value; write it without ()", code, word=name)
    return _misspelt(f"no method {name}() here", code, name, METHODS, mistake=("attached", name), word=name)


def unknown_name(kind: str, node: nodes.Filter | nodes.Test, known: Collection[str]) -> ForbiddenError:
    """The error about a filter or a test (`kind`) that there is not; `known` are those that there are."""
    if isinstance(node.node, nodes.Call) and node.node.node == nodes.Name("include", "load"):
        message, mistake = "there is no function include() here", ("call", "include")
        return UnknownNameError(message, first_offset(node), mistake=mistake)
    message, mistake = f"no {kind} named {node.name} here", ("attached", node.name)
    names = list(filter(str.isidentifier, known))
    return _misspelt(message, node.lineno, node.name, names, mistake=mistake, word=node.name)


def _misspelt(
    message: str, code: int, name: str, names: Collection[str], introduction: str = "there are", **more: Any
) -> UnknownNameError:
    """The error about a name that is none of some `names`, with the nearest of them."""
    to_do = suggestion(name, names, introduction)
    return UnknownNameError(message, code, help=to_do, fields=respelling(name, names), **more)


#: The tags that templates may use.
_TAGS = (
    "if", "elif", "else", "endif", "for", "endfor", "set", "macro", "endmacro", "call", "with", "include", "import",
    "from", "raw",
)  # fmt: skip
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
#: A hole in which another hole or a tag begins.
_BEGINS_TWICE = re.compile(r"\{\{[-+]?\s*(?:\{(?=[{%])|(?=%))")
#: What the parser wants in a tag whose own form is wrong: then its place is that of the tag.
_FORMS = {
    "with": "=",
    "include": "end of statement block",
    "macro": "(",
    "import": "as",
    "else": "end of statement block",
}
#: What is said of a kind of mistake wherever it is, and of a token that the parser does not want.
_PLAIN = {
    "open-comment": "the comment that begins here does not end; #} is missing",
    "open-raw": "{% raw %} begins here and does not end; {% endraw %} is missing",
    "no-expression": "a value is missing here",
    "no-name": "a name is missing after the dot",
}
_SYMBOLS = {
    "=": "a single = sets a value; write == to compare",
    "name |": "|| is not available; write `or`",
}


def is_go(line: str) -> bool:
    """Whether a line looks like one of a Go template, such as those of Helm charts."""
    return _GO.search(line) is not None


def explain_jinja(words: str, text: str, offset: int) -> ForbiddenError:
    """What is wrong with a file and where, from the parser's words and the offset where it gave up."""
    kind, values = jinja_message(words)
    begin = max(text.rfind("{{", 0, offset), text.rfind("{%", 0, offset))
    if kind == "wrong-character":
        values = (text[offset],)
    at, near = _place_of_go(kind, values, text, begin, offset), ""
    message = _LOOKS_LIKE_GO
    if at is None:
        message, at = _explained(kind, values, words, text, begin, offset)
        if kind == "unknown-tag" and not values[0].startswith(("end", "el")):
            near = suggestion(values[0], _TAGS)
    if twice := _BEGINS_TWICE.search(text, line_start(text, offset), offset + 1):
        message, at, near = "within {{ }} no other {{ or {% can begin", twice.end(), "write one pair of braces"
    return ForbiddenError(message, at + 1, help=near, mistake=("syntax", kind, *values))


def _place_of_go(kind: str, values: tuple[str, ...], text: str, begin: int, offset: int) -> int | None:
    """The place of a Go template's block, which Jinja may have read as a value, or of another hole; None for none."""
    start = line_start(text, offset)
    if kind == "unknown-tag" and values[0].startswith("end") and not values[1]:
        return max((block.start() for block in _GO_BLOCK.finditer(text, 0, offset)), default=None)
    if kind in ("open-block", "open-comment") or not is_go(text[start:].partition("\n")[0]):
        return None
    if block := _GO_BLOCK.search(text, 0, start):
        return block.start()
    return begin if text.startswith("{%", begin) and kind == "wrong-token" else offset


def _explained(kind: str, values: tuple[str, ...], words: str, text: str, begin: int, offset: int) -> Fault:
    opened = text[begin : begin + 2] if begin >= 0 else ""
    closing = {"{%": "%}"}.get(opened, "}}")
    open_string = kind == "wrong-character" and values[0] in "\"'"
    if opened and (open_string or kind == "early-end") and closing not in text[offset:].partition("\n")[0]:
        return f"the {opened} that begins here is not closed with {closing}", begin
    if open_string:
        return "the string that begins here does not end", offset
    match kind:
        case "open-block":
            return _unclosed(text, offset)
        case "unknown-tag":
            return _unknown_tag(values[0], values[1]), offset
        case "wrong-token":
            return _expected(values[0], values[1], text, begin, offset)
        case "wrong-bracket":
            return f"{values[0]} is missing before this", offset
        case "wrong-character" | "unexpected":
            end = f"; {opened} is closed with {closing}" if values[0] == "}" else ""
            return f"unexpected '{values[0]}'{end}", offset
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


def _expected(wanted: str, symbol: str, text: str, begin: int, offset: int) -> Fault:
    closing = {**TOKENS, "name": "a name"}.get(wanted, f"`{wanted}`")
    unexpected = TOKENS.get(symbol, f"`{symbol}`")
    is_end = closing in ("}}", "%}")
    if is_end and begin >= 0 and (symbol == "end of template" or "\n" in text[begin:offset]):
        return f"the {text[begin : begin + 2]} that begins here is not closed with {closing}", begin
    if symbol == "string" and text[offset - 1 : offset] in ("f", "F"):
        return 'f"..." is Python; join with ~, as in {{ params.a ~ ":" ~ params.b }}', offset - 1
    tag = _TAG.match(text, max(begin, 0))
    if tag and (
        symbol in ("then", "do")
        or _FORMS.get(tag[1]) == wanted
        or (tag[1] == "set" and not re.match(r"[\w, ]+=", tag[2]))
    ):
        return f"{closing} is expected in this tag, not {unexpected}", begin
    if message := _SYMBOLS.get(symbol) or _SYMBOLS.get(f"{wanted} {symbol}"):
        return message, offset
    end = " or an operator is expected here, not {}; join strings with ~" if is_end else " is expected here, not {}"
    return closing + end.format(unexpected), offset


def _unknown_tag(name: str, inner: str) -> str:
    """What is wrong with a tag; `inner` is the block that is open there, "" for none."""
    if name.startswith("end") and name != "end":
        block = f"the block that is open here is {{% {inner} %}}" if inner else "no such block is open here"
        return f"{{% {name} %}} closes nothing; {block}"
    if name in ("else", "elif"):
        return f"{{% {name} %}} is not inside an {{% if %}}"
    return f"there is no tag `{name}` here"


def _unclosed(text: str, offset: int) -> Fault:
    """The innermost block that is open at the file's end; tags within comments and raw blocks do not count."""
    open_tags = []
    blanked = re.sub(r"\{#.*?#\}|\{%-?\s*raw.*?endraw\s*-?%\}", lambda m: " " * len(m[0]), text, flags=re.DOTALL)
    for tag in _TAG.finditer(blanked):
        name = tag[1]
        if name in ("if", "for", "macro", "call", "with") or (name == "set" and "=" not in tag[2]):
            open_tags.append((name, tag.start()))
        elif name.startswith("end") and open_tags:
            open_tags.pop()
    if not open_tags:
        return "the file ends within a block", offset
    name, at = open_tags[-1]
    if end := _GO_END.search(blanked, at):
        return _LOOKS_LIKE_GO, end.start()
    return f"{{% {name} %}} begins here and does not end; {{% end{name} %}} is missing", at


def not_declared(name: str, expression: str, parameters: Set[str]) -> str:
    """What is wrong with `params.name`, with which an expression begins or in which it stands."""
    if dashed := re.search(rf"\bparams\.({re.escape(name)}(?:-[a-z]\w*)+)", expression):
        return _subtracted(dashed[1])
    rest = hint(name, parameters, "template.yaml declares")
    return f"params.{name} is not a parameter of this template{rest}"


def _subtracted(name: str) -> str:
    return f"params.{name} is read as a subtraction; write params.{name.replace('-', '_')} for the parameter `{name}`"


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
        message = f"there is no function {short}() here"
        return _misspelt(message, code, name, known - NAMES, "the functions and macros are", mistake=("call", name))
    if key := dotted_key(line, name):
        return UnknownNameError(key, code)
    if re.search(rf"\{{\{{-?\s*{name}\b" + ("" if name in _GO_WORDS else r"\s+[.$]\w"), line):
        return ForbiddenError(_LOOKS_LIKE_GO, code, mistake=("name", name))
    if dashed := re.search(rf"params\.([\w-]+-{re.escape(name)}(?:-\w+)*)", line):
        return UnknownNameError(_subtracted(dashed[1]), code)
    message, mistake = f"`{short}` is not defined", ("name", name)
    if name in parameters:
        fields = {"replace": (name, f"params.{name}")}
        return UnknownNameError(message, code, help=f"did you mean params.{name}?", fields=fields)
    if spelling := nearest(name, known):
        to_do = f"did you mean {spelling}?"
    else:
        declare = f"declare a parameter `{short.replace('_', '-').lower()}` in template.yaml"
        to_do = f"{declare} and write params.{short.lower()}; besides params, you can use: {_AVAILABLE}"
    return UnknownNameError(message, code, help=to_do, mistake=mistake, fields={"value": name, "nearest": spelling})


_KINDS = {
    **KINDS,
    "MissingValue": "a missing value",
    "replaced": "replace",  # a filter of another name in Python
}
#: What is said of a kind of error of Python's; `{0}` and so on stand for its values, types in words.
_SENTENCES = {
    "uneven-items": (
        "there are more or fewer variables after `for` than values in an item; to loop over a mapping write `x.items()`"
    ),
    "one-value": (
        "several variables are named here, as in `for a, b in ...`, but there is only one value for them: {0}"
    ),
    "no-order": ("{0} and {1} cannot be compared with < or >; write a number without quotes, or convert with `| int`"),
    "no-whole-number": "a whole number is needed here, and this is {0}",
    "no-iteration": "a list is needed here, and this is {0}",
    "no-length": "{0} has no length; only strings, lists and mappings have one",
    "no-items": "{0} has no items",
    "missing-argument": "{0}(): the argument {1} is missing",
    "too-many-arguments": "{0}: too many arguments",
    "unknown-argument": "{0}: there is no argument named {1}",
    "missing-in-call": "the argument {0} is missing",
    "too-many-in-call": "too many arguments",
    "unknown-in-call": "there is no argument named {0}",
    "no-hash": "{0} cannot be used as a key",
    "no-container": "{0} has no items to search with `in`; write == to compare, or put a list after `in`",
    "no-text-in": "{0} cannot be within a string; put a list after `in`, as in `x in [8080, 8081]`",
    "no-number": "a number is needed here, and this is {0}",
    "no-string": "a string is needed here, and this is {0}",
}


def explain_python(error: Exception) -> str:
    """What is wrong with an expression in which Python raised an error."""
    kind, values = python_message(str(error))
    if kind:
        return _SENTENCES[kind].format(*(_KINDS.get(value, value.lstrip("_")) for value in values if value))
    return str(error) if isinstance(error, TypeError | ValueError) else f"{type(error).__name__}: {error}"
