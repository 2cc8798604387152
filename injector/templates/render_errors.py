"""What went wrong in a render, in an author's words, and where in the author's files."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

import yaml
from jinja2 import UndefinedError

from injector.diagnostics import Path, Place
from injector.errors import TOO_LARGE, FaultError, InjectionError, LimitError, TemplateError
from injector.library_messages import undefined_message
from injector.pods.shape import OverlayError
from injector.reasons import Reason
from injector.templates.environment import MissingValueError
from injector.templates.kubernetes_yaml import TooMuchError
from injector.templates.missing_values import missing
from injector.templates.program import Root, in_comment
from injector.templates.python_errors import explain_python
from injector.templates.quoting import LITERALS, UnknownSyntaxError
from injector.templates.source_map import Tagged
from injector.templates.template import Template
from injector.templates.yaml_errors import explain_yaml


class RenderError(InjectionError):
    """A template failed to render: TEMPLATE_FAILED, with the place in its files.

    `rule` is the kind of mistake, see `injector.errors.TemplateError`.
    `undefined` says that it used something that is not there. `params` are the parameters, by their names in
    templates, of the expression that failed.
    """

    def __init__(
        self,
        template: Template,
        message: str,
        place: Place,
        *,
        rule: str,
        path: Path = (),
        undefined: bool = False,
        params: tuple[str, ...] = (),
        mistake: tuple[Any, ...] = (),
    ) -> None:
        located = replace(place, origin=template.name)
        super().__init__(Reason.TEMPLATE_FAILED, message, path=path, place=located, mistake=mistake)
        self.place = place
        self.rule = rule
        self.undefined = undefined
        self.params = params
        self.template = template

    def saying(self, message: str, *, whole: bool = True) -> RenderError:
        """This error with another message. Without `whole` it has no path and no mistake: both may hold values."""
        return RenderError(
            self.template,
            message,
            self.place,
            rule=self.rule,
            path=self.diagnostic.path if whole else (),
            undefined=self.undefined,
            params=self.params,
            mistake=self.diagnostic.mistake if whole else (),
        )

    def as_template_error(self) -> TemplateError:
        """This error as a mistake of the template, for its author."""
        place = replace(self.place, origin=self.template.origin)
        return TemplateError.of(self.template.name, replace(self.diagnostic, code=self.rule, place=place))


@dataclass(frozen=True, slots=True)
class _Render:
    template: Template
    root: Root
    variables: dict[str, Any]


def failure(template: Template, root: Root, variables: dict[str, Any], error: Exception) -> RenderError:
    """Any error of a render of `root` as one with its place."""
    job = _Render(template, root, variables)
    program, word, rule = template.program, "", _rule(error)
    path: Path = ()
    at: tuple[str, int | None] | None
    if isinstance(error, yaml.YAMLError):
        message, at = _yaml(job, error)
    elif isinstance(error, FaultError) and error.offset is not None:
        message, at = str(error), _author(job, _place_of_fault(error.offset, error.hole))
    elif isinstance(error, OverlayError):
        message, at, path = str(error), _author(job, lambda tagged: tagged.offset_of(error.path, key=True)), error.path
    else:
        message, at, word = _in_expression(job, error)
    file, offset = at or ("", None)
    file = file or root.source
    place = program.place(file, offset, word)
    params = program.parameters_at(file, offset) if rule == "value" else ()
    message = message[:300] + ("" if rule == "yaml" else in_comment(place))
    undefined = isinstance(error, UndefinedError)
    mistake = error.mistake if isinstance(error, OverlayError) else ()
    return RenderError(
        template, message, place, rule=rule, path=path, undefined=undefined, params=params, mistake=mistake
    )


def _rule(error: Exception) -> str:
    """The kind of a mistake, see `injector.errors.TemplateError`."""
    if isinstance(error, TooMuchError | LimitError | RecursionError | MemoryError):
        return "limit"
    if isinstance(error, yaml.YAMLError):
        return "yaml"
    if isinstance(error, OverlayError):
        return "overlay"
    return "name" if isinstance(error, UndefinedError) else "value"


def _place_of_fault(offset: int, hole: int | None) -> Callable[[Tagged], int]:
    return lambda tagged: offset if hole is None else tagged.hole(hole, offset)


def _in_expression(job: _Render, error: Exception) -> tuple[str, tuple[str, int | None], str]:
    """The message of an error in an expression of the template, its file and offset, and the word that it is about."""
    at = (_repeated if isinstance(error, RecursionError) else frame)(error.__traceback__)
    if isinstance(error, FaultError) and error.source is not None and not at[0]:
        at = error.source
    message = error.of(job.root.source) if isinstance(error, UnknownSyntaxError) else _words(error)
    expression = job.template.program.expression(*at)
    if isinstance(error, UndefinedError):
        word = error.name if isinstance(error, MissingValueError) else ""
        advice = _not_yet(expression, word) or _missing(job, expression, error) or _after_import(job, at[0], expression)
        return advice or message, at, word
    if isinstance(error, FaultError) and not isinstance(error, LimitError) and (mapped := _MAPPED.search(expression)):
        message = f"`{mapped[1]}` cannot be used with map; {_of_a_list(mapped[1], job.root.syntax)}"
    elif isinstance(error, TypeError):
        message = _of_version(expression, message)
    return message, at, ""


#: A quoting filter for each item of a list.
_MAPPED = re.compile(r"\bmap\(\s*[\"'](\w*quote)[\"']")


def _of_a_list(quoting: str, syntax: str) -> str:
    """How to quote each item of a list in a file of this syntax."""
    if quoting == "json_quote" or (quoting == "quote" and syntax in LITERALS):
        return f"write {{{{ LIST | {quoting} }}}}, which quotes the items and writes the [ ] around them"
    return f"write {{% for item in LIST %}}, and {{{{ item | {quoting} }}}} in the loop"


#: What a pod gets only after it was injected, by the last name of a path, and where its containers can have it from.
_LATER = {
    "name": ("metadata.name", "a pod of a Deployment or a similar workload has no name yet at injection"),
    "uid": ("metadata.uid", "a pod has no uid yet at injection"),
    "nodeName": ("spec.nodeName", "a pod has no node yet at injection"),
    "podIP": ("status.podIP", "a pod has no address yet at injection"),
    "hostIP": ("status.hostIP", "a pod has no node yet at injection"),
}


def _not_yet(expression: str, word: str) -> str:
    """What to say about a value that a pod does not have yet; empty for any other."""
    path, explanation = _LATER.get(word) or ("", "")
    if not path or not re.search(rf"\b(?:pod|object)\.{re.escape(path)}\b", expression):
        return ""
    field = f"valueFrom: {{fieldRef: {{fieldPath: {path}}}}}"
    return f"{explanation}; let a container read it from an environment variable, with {field}"


def _of_version(expression: str, message: str) -> str:
    """The message, with what to do where the version of Kubernetes is compared as a number."""
    if not re.search(r"\bcluster\.version\s*[<>]|[<>]=?\s*cluster\.version\b", expression):
        return message
    return 'cluster.version is a string such as "1.33"; write (cluster.version.split(".")[1] | int) >= 30'


def _missing(job: _Render, expression: str, error: UndefinedError) -> str:
    if not isinstance(error, MissingValueError) or not error.name:
        return ""
    return missing(expression, error.name, error.owner, job.template)


def _after_import(job: _Render, file: str, expression: str) -> str:
    """What to say about a variable that is set behind the import of the file that reads it; empty for any other."""
    name = (re.match(r"\s*(\w*)", expression) or [""])[1]
    text = job.template.sources.get(job.root.source, "")
    imported = re.search(rf"\{{%-?\s*(?:from|import)\s+[\"']{re.escape(file)}[\"'][^\n]*", text)
    if not imported or not name or not re.search(rf"\{{%-?\s*set\s+{re.escape(name)}\b", text[imported.end() :]):
        return ""
    return (
        f"`{name}` has no value here: macros only see variables that are set before the import of their file; move {{% "
        f"set {name} = ... %}} above the import, or pass it to the macro as an argument"
    )


def _yaml(job: _Render, error: yaml.YAMLError) -> tuple[str, tuple[str, int] | None]:
    """What libyaml means, with the author's file and offset."""
    program = job.template.program
    try:
        tagged = program.tagged(job.root, job.variables)
    except Exception:  # the first error is the one to tell
        return explain_yaml(error, "", lambda _: "above")[0], None

    def line_of(offset: int) -> str:
        return str(program.place(*(tagged.source(offset) or (job.root.source, None))).line)

    message, offset = explain_yaml(error, tagged.text, line_of)
    at = None if offset is None else tagged.source(offset)
    if at and (joined := program.joined_lines(*at)):
        return joined
    return (program.dash_before(*at) if at else "") + message, at


def _words(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "macros or includes call each other without end"
    if isinstance(error, MemoryError):
        return TOO_LARGE
    # the missing else of Jinja's own is of a class of its own
    if isinstance(error, UndefinedError) and undefined_message(str(error)).kind == "no-else":
        return "nothing is written here: the `if` within {{ }} is false and has no else; write {{ a if b else c }}"
    if isinstance(error, FaultError | UndefinedError):
        return str(error)
    if isinstance(error, ZeroDivisionError):
        return "a division by zero"
    return explain_python(error)


def _author(job: _Render, offset_in: Callable[[Tagged], int]) -> tuple[str, int] | None:
    """The author's file and offset for a place in the rendered text."""
    try:
        tagged = job.template.program.tagged(job.root, job.variables)
        return tagged.source(offset_in(tagged))
    except Exception:  # the first error is the one to tell
        return None


def frame(traceback: TracebackType | None) -> tuple[str, int | None]:
    """The innermost file and offset of the template in a traceback."""
    return next(reversed(_frames(traceback)), ("", None))


def _repeated(traceback: TracebackType | None) -> tuple[str, int | None]:
    """The first file and offset that come again in a traceback: where a recursion goes round."""
    frames = _frames(traceback)
    return next((frame for at, frame in enumerate(frames) if frame in frames[:at]), ("", None))


def _frames(traceback: TracebackType | None) -> list[tuple[str, int | None]]:
    """The files and offsets of the template in a traceback, the innermost last."""
    frames: list[tuple[str, int | None]] = []
    while traceback is not None:
        compiled = traceback.tb_frame.f_globals.get("__jinja_template__")
        if compiled is not None:
            code = compiled.get_corresponding_lineno(traceback.tb_lineno)
            frames.append((compiled.name, code - 1 if code else None))  # 0: what only a test runner adds
        traceback = traceback.tb_next
    return frames
