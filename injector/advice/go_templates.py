"""Holes of Helm's and Go's templates, and what to write in their place: translated, not looked up."""

from __future__ import annotations

import re

from injector.advice import words
from injector.templates.program import is_config_source

_HOLE = re.compile(r"\{\{-?\s*(?P<hole>.*?)\s*-?\}\}|\{%[-+]?\s*(?P<tag>\w+\s+)?(?P<inner>.*?)\s*[-+]?%\}")
#: The parts of a stage of a pipeline.
_WORD = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|`[^`]*`|\((?:[^()]|\([^()]*\))*\)|[^\s()]+")
_PIPE = re.compile(r"\|(?=(?:[^\"]*\"[^\"]*\")*[^\"]*\Z)")
_VARIABLE = re.compile(r"\$(\w+)\s*:?=\s*(.+)")
#: A loop: its two names and what it is over.
_RANGE = re.compile(r"(?:(?:\$(\w+)\s*,\s*)?\$(\w+)\s*:?=\s*)?\(?([.$][\w.]*)\s*\)?")
_KEYS = ("k", "key", "name")
_PATH = re.compile(r"[.$][\w.]*")
#: What Go's templates call the pod and what is around it, by the first names of a path in small letters.
_PLACES = (
    (("release", "namespace"), "namespace.name"),
    (("release", "name"), "workload.name"),
    (("chart", "name"), "workload.name"),
    (("capabilities", "kubeversion"), "cluster.version"),
    (("values",), "params"),
    (("spec",), "pod.spec"),
    (("objectmeta",), "pod.metadata"),
)
#: A hole of Helm's, which no other program reads.
_HELM = re.compile(r"\.(?:Values|Release|Chart|Capabilities|Template|Files)\b")


def go_help(line: str, file: str, column: int = 0) -> str:
    """What to write for the hole or tag of a Go template on a line, the one at a column if there are several."""
    holes = [hole for hole in _HOLE.finditer(line) if _is_go(hole)]
    hole = next((part for part in holes if part.end() > column), next(reversed(holes), None))
    if hole is None:
        return ""
    written = f"{{% {hole['tag'] or ''}{translated(hole['inner'])} %}}" if hole["hole"] is None else _hole(hole["hole"])
    if not is_config_source(file) or _HELM.search(line):
        return f"write {written}"
    raw = "{% raw %} before it and {% endraw %} after it"
    return f"write {written}; or, to pass this text unchanged to the program that reads the file, write {raw}"


#: How a tag begins that holds a path of Go's, or a comparison as a function.
_CONDITION = re.compile(r"(?:not )?\(*[.$]|(?:not\s+)?\(?(?:and|or|eq|ne|lt|le|gt|ge)\s")
#: How a hole begins with a path, a comment or a block of Go's.
_BEGIN = re.compile(r"[.$]|/\*|(?:if|else|end|range|with|define|block|template|include)\Z")


def _is_go(hole: re.Match[str]) -> bool:
    if hole["hole"] is None:
        return _CONDITION.match(hole["inner"]) is not None
    first, _, rest = hole["hole"].partition(" ")
    is_call = first.isidentifier() and bool(rest) and (rest.lstrip()[0] in '"`.$(' or first in words.MEANINGS)
    return _BEGIN.match(first) is not None or (is_call and first != "not")


def _hole(hole: str) -> str:
    """What to write for what stands within the braces of a hole."""
    first, _, rest = hole.partition(" ")
    rest = rest.strip()
    if first.startswith("/*"):
        return "{# ... #}"
    if first == "if":
        return f"{{% if {translated(rest)} %}} ... {{% endif %}}"
    if first == "else":
        return f"{{% elif {translated(rest[3:])} %}}" if rest.startswith("if ") else "{% else %}"
    if first == "range":
        return _loop(rest)
    if first == "with":
        return f"{{% with x = {translated(rest)} %}} ... {{% endwith %}}, with {{{{ x }}}} in it"
    if first in ("define", "block"):
        return "{% macro name() %} ... {% endmacro %}"
    if first == "end":
        return words.TAGS["end"]
    if variable := _VARIABLE.fullmatch(hole):
        return f"{{% set {variable[1]} = {translated(variable[2])} %}}"
    meaning = words.MEANINGS.get(first)
    if meaning and not meaning.expression:
        return meaning.note.removeprefix("write ")
    if first in ("fail", "deny", "warn"):
        return f"{{{{ {first}({rest}) }}}}"
    notes = [words.MEANINGS[name].note for name in re.findall(r"[A-Za-z]\w*", hole) if name in words.MEANINGS]
    return "; ".join(dict.fromkeys((f"{{{{ {translated(hole)} }}}}", *filter(None, notes))))


def translated(pipeline: str) -> str:
    """A pipeline of Go's, such as `.Values.port | default 80`, as an expression of ours."""
    value = ""
    for stage in _PIPE.split(pipeline):
        first, *rest = _WORD.findall(stage) or [""]
        operands = list(map(_operand, rest))
        if value:
            operands = [value, *operands]
        elif operands:
            operands = words.subject_first(first, operands, prefix=True)
        value = (words.expression(first, operands) or operands[0]) if operands else _operand(first)
    return value


def _operand(text: str) -> str:
    if text.startswith("("):
        inner = translated(text[1:-1])
        return f"({inner})" if " " in inner else inner
    return of_go(text) if _PATH.fullmatch(text) else text


def of_go(path: str) -> str:
    """A path of Go's, such as `.Values.logLevel`, as it is written here."""
    steps = [step for step in path.strip("$").split(".") if step]
    lower = tuple(step.lower() for step in steps)
    begin, root = next((place for place in _PLACES if lower[: len(place[0])] == place[0]), ((), "params"))
    rest = [step[:1].lower() + step[1:] for step in steps[len(begin) :]]
    if root == "params" and rest:
        rest[0] = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", rest[0]).lower()
    return ".".join((root, *rest)) if rest or root != "params" else "params.x"


def _loop(over: str) -> str:
    loop = _RANGE.fullmatch(over)
    if loop is None:
        return "{% for item in list %} ... {% endfor %}"
    first, item, path = loop[1], loop[2] or "item", of_go(loop[3])
    if first in _KEYS:
        return f"{{% for {first}, {item} in {path}.items() %}} ... {{% endfor %}}, with {{{{ {item} }}}} in it"
    count = f", and {{{{ loop.index0 }}}} for ${first}" if first and first != "_" else ""
    return f"{{% for {item} in {path} %}} ... {{% endfor %}}, with {{{{ {item} }}}} in it{count}"


#: A value of a call, and what ends it.
_VALUE = re.compile(r"\s*((?:\"[^\"]*\"|'[^']*'|\([^()]*\)|\[[^\[\]]*\]|[^,()\[\]\"'])*)([,)]?)")


def values_of_call(text: str) -> list[str]:
    """The values of a call, of which `text` is what follows the bracket."""
    values, end = [], ","
    while end == ",":
        value = _VALUE.match(text)
        values.append(value[1].strip() if value else "")
        end, text = (value[2], text[value.end() :]) if value else ("", "")
    return [value for value in values if value]
