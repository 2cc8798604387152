"""What to write for an expression or a tag that a template may not hold, from the line that it stands on; holes of
Helm's and Go's templates are translated, not looked up.
"""

from __future__ import annotations

import re

from injector.advice import words
from injector.diagnostics import Diagnostic
from injector.names import to_write
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


#: A hole or a tag on one line: the tag's word and what stands within.
_WITHIN = re.compile(r"\{\{-?\s*(?P<hole>.*?)\s*-?\}\}|\{%[-+]?\s*(?P<tag>\w+)\s*(?P<inner>.*?)\s*[-+]?%\}")
#: What cannot stand in an expression, by its first character, with what people mean by it.
_CHARACTERS = words.by_word(
    {
        "?": "write `a if x else b`",
        "&": "write `and`",
        "!": "write `not`",
        "$": "names have no $ here",
        "`": "strings are quoted with \" or '",
        "@": "names have no @ here",
        "#": "a comment is {# ... #}",
        "\\": "write quotes without \\ before them",
        "\u201c \u201d \u2018 \u2019": "strings are quoted with plain \" or '",
    }
)
#: How tags are written, by the tag and what the parser wants in it ("" for anything).
_TAGS = {
    ("for", "in"): "a loop is written {% for item in list %}",
    ("with", "="): "`with` gives a name to a value: write {% with name = value %}, and {{ name }} after it",
    ("include", "end of statement block"): "`include` takes only the name of a file; that file can use params and what "
    "{% set %} sets, and its lines keep their own indentation",
    ("macro", "("): "a macro has parentheses: write {% macro name() %}",
    ("import", "as"): 'write {% import "_file.j2" as name %}, and {{ name.macro() }} to use it',
    ("else", "end of statement block"): "write {% elif ... %}",
}
#: The name of a filter, and a value behind it without brackets: `| default "x"`.
_FILTER = re.compile(r"\|\s*(\w+)\s*:?\s*\Z")
_SET = re.compile(r"(\w+)\s*:?=?\s*(.*)")
#: The left side and the right side of an operator that is a word.
_LEFT, _RIGHT = re.compile(r"([\w.\[\]\"']+)\s*\Z"), re.compile(r"\s*([\w.\[\]]+|\"[^\"]*\"|'[^']*')")
#: A value in front of a filter or a method.
_LAST_VALUE = re.compile(
    r"((?:[A-Za-z_]\w*|[\])])(?:[\w.]|\[[^\[\]]*\])*|\"[^\"]*\"|'[^']*')\s*(?:\||\.|\bis(?:\s+not)?)\s*\Z"
)


def syntax_help(diagnostic: Diagnostic, kind: str = "", *values: str) -> str:
    """What to write where Jinja's parser gave up; `kind` and `values` are its words, see `library_messages`."""
    line, at = diagnostic.place.text, max(diagnostic.place.column - 1, 0)
    if kind == "open-comment":
        shell = re.match(r"\$\{#[^}\s]*\}", line[max(at - 1, 0) :])
        return f"for the shell write {{% raw %}}{shell[0]}{{% endraw %}}" if shell else ""
    if go := go_help(line, diagnostic.place.file, at):
        return go
    if kind == "unknown-tag":
        return to_write(words.TAGS.get(values[0]))
    if kind in ("wrong-character", "unexpected"):
        return _CHARACTERS.get(line[at : at + 1] if kind == "wrong-character" else values[0], "")
    return _of_token(line, at, *values) if kind == "wrong-token" else ""


def _of_token(line: str, at: int, wanted: str, symbol: str) -> str:
    """What to write where a token stands that the parser does not want."""
    within = next((part for part in _WITHIN.finditer(line) if part.end() > at), None)
    tag, inner = (within["tag"] or "", within["inner"] or "") if within else ("", "")
    if tag == "set" and (wanted == "=" or "=" not in inner or ":=" in inner):
        variable = _SET.match(inner)
        name, value = variable.groups() if variable else ("name", "value")
        return f"a variable is set by {{% set {name} = {value or 'value'} %}}"
    if text := _TAGS.get((tag, wanted)):
        return text
    if wanted.startswith("end of") and (filter_ := _FILTER.search(line, 0, at)):
        argument = re.split(r"-?[%}]\}|\|", line[at:])[0].strip(" :-")
        return f"a filter has its arguments in parentheses: write {filter_[1]}({argument[:40]})"
    if symbol in ("then", "do"):
        return f"leave `{symbol}` out, and write {{% {'endfor' if tag == 'for' else 'endif'} %}} at the end"
    return _of_symbol(line[:at], line[at:], wanted, symbol)


def _of_symbol(before: str, behind: str, wanted: str, symbol: str) -> str:
    """What to write for a word that is no operator here, or has no meaning in front of what follows."""
    if wanted == "name" and re.search(r"\bis\s+(?:not\s+)?\Z", before):
        return "`is` is for tests such as `is defined`; write == or != to compare"
    if symbol == "for":
        return "there is no loop inside brackets; write {% for item in list %}, or a filter such as map or select"
    left, right = _LEFT.search(before), _RIGHT.match(behind, len(symbol))
    return words.help_with(symbol, [left[1], right[1]]) if symbol in words.MEANINGS and left and right else ""


def name_help(diagnostic: Diagnostic, name: str) -> str:
    """What to write for a name that nothing defines."""
    line, at = diagnostic.place.text, max(diagnostic.place.column - 1, 0)
    expression = line[at:]
    if go := re.search(rf"\{{\{{-?\s*{re.escape(name)}\b(?!\s*\()", line) and go_help(line, diagnostic.place.file, at):
        return go
    if name in words.HOLDERS:
        field = re.match(r"\w+\.(?:parameters\.)?(\w+)\b(?!\()", expression)
        variable = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", field[1]).lower() if field else "x"
        return f"write params.{variable}, and declare the parameter `{variable.replace('_', '-')}` in template.yaml"
    return words.help_with_value(name)


def call_help(diagnostic: Diagnostic, name: str) -> str:
    """What to write for a call of a function that there is not."""
    _, bracket, rest = diagnostic.place.text[max(diagnostic.place.column - 1, 0) :].partition("(")
    operands = words.subject_first(name, values_of_call(rest) if bracket else [])
    if name == "include" and operands:
        to_do = "and begin each line of that file with the indentation that it needs here"
        return f"write {{% include {operands[0]} %}}, {to_do}"
    return words.help_with(name, operands) or words.help_with_value(name)


def attached_help(diagnostic: Diagnostic, name: str) -> str:
    """What to write for a filter, a test or a method that there is not: these stand behind their value."""
    line, at = diagnostic.place.text, max(diagnostic.place.column - 1, 0)
    start = re.compile(rf"\b{re.escape(name)}\b").search(line, at)
    value = _LAST_VALUE.search(line[: start.start()]) if start else None
    rest = line[start.end() :] if start else ""
    return words.help_with(
        name, [value[1] if value else "params.x", *values_of_call(rest[1:] if rest[:1] == "(" else "")]
    )
