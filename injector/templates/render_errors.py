"""What went wrong in a render, in an author's words, and where in the author's files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any

import yaml
from jinja2 import UndefinedError

from injector.budget import TOO_LARGE, FaultError, LimitError
from injector.diagnostics import Path, Place
from injector.errors import InjectionError, TemplateError
from injector.library_messages import undefined_message
from injector.names import WANTED, hint, kind_of, nearest
from injector.pods.context import Object
from injector.pods.fields import POD, fields_of
from injector.pods.shape import OverlayError
from injector.reasons import Reason
from injector.templates.environment import MissingValueError
from injector.templates.expression_errors import dotted_key, explain_python
from injector.templates.kubernetes_yaml import TooMuchError
from injector.templates.program import Program, Root, in_comment
from injector.templates.sandbox_operations import DICT_METHODS, LIST_METHODS, STRING_METHODS
from injector.templates.template import Parameter, Template
from injector.templates.yaml_errors import explain_yaml

#: A file of the template and an offset in it; None for an offset that is not known.
FileOffset = tuple[str, int | None]


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
        path: Path,
        undefined: bool,
        params: tuple[str, ...],
        mistake: tuple[Any, ...],
    ) -> None:
        super().__init__(
            Reason.TEMPLATE_FAILED, message, path=path, place=replace(place, origin=template.name), mistake=mistake
        )
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
        return TemplateError.of(
            self.template.name,
            replace(self.diagnostic, code=self.rule, place=replace(self.place, origin=self.template.origin)),
        )


def failure(template: Template, root: Root, variables: Object, error: Exception) -> RenderError:
    """Any error of a render of `root` as one with its place."""
    program, word, rule = template.program, "", _rule(error)
    at: FileOffset | None
    if isinstance(error, yaml.YAMLError | OverlayError) or (isinstance(error, FaultError) and error.offset is not None):
        message, at = _in_text(program, root, variables, error)
    else:
        message, at, word = _in_expression(template, error)
    file, offset = at or ("", None)
    file = file or root.source
    place = program.place(file, offset, word)
    params = program.parameters_at(file, offset) if rule == "value" else ()
    whole = program.expression(file, offset).strip("{-+ \n")
    if rule == "value" and "name" in _FIXED.get(whole, ()):
        message = f"`{whole}` is a mapping; write {whole}.name"
    message = message[:300] + ("" if rule == "yaml" else in_comment(place))
    path, mistake = (error.path, error.mistake) if isinstance(error, OverlayError) else ((), ())
    return RenderError(
        template,
        message,
        place,
        rule=rule,
        path=path,
        undefined=isinstance(error, UndefinedError),
        params=params,
        mistake=mistake,
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


def _in_text(
    program: Program, root: Root, variables: Object, error: yaml.YAMLError | OverlayError | FaultError
) -> tuple[str, FileOffset | None]:
    """The message of an error in what a root renders, with the author's file and offset."""
    message = " ".join(str(error).split())
    try:
        tagged = program.tagged(root, variables)
    except Exception:  # the first error is the one to tell
        return message, None
    if isinstance(error, OverlayError):
        return message, tagged.source(tagged.offset_of(error.path, key=True))
    if isinstance(error, FaultError):
        offset = error.offset or 0
        return message, tagged.source(offset if error.hole is None else tagged.hole(error.hole, offset))

    def line_of(offset: int) -> str:
        return str(program.place(*(tagged.source(offset) or (root.source, None))).line)

    message, at = explain_yaml(error, tagged.text, line_of)
    source = None if at is None else tagged.source(at)
    return program.joined_lines(*source, message) if source else (message, None)


def _in_expression(template: Template, error: Exception) -> tuple[str, FileOffset, str]:
    """The message of an error in an expression of the template, its file and offset, and the word that it is about."""
    at = (_repeated if isinstance(error, RecursionError) else frame)(error.__traceback__)
    if isinstance(error, FaultError) and error.source is not None and not at[0]:
        at = error.source
    message, word = _words(error), ""
    if isinstance(error, MissingValueError) and (word := error.name):
        expression = template.program.expression(*at)
        message = dotted_key(expression, word) or _missing(expression, word, error.owner, template) or message
    return message, at, word


#: What a pod gets only after it was injected, by the last name of a path.
_LATER = {
    "name": "metadata.name",
    "uid": "metadata.uid",
    "nodeName": "spec.nodeName",
    "podIP": "status.podIP",
    "hostIP": "status.hostIP",
}
#: The values that always have the same names in them.
_FIXED = {
    "files": ("configmap",),
    "namespace": ("name", "labels", "annotations"),
    "workload": ("kind", "name"),
    "app": ("resources", "largest", "qos_class"),
    **dict.fromkeys(("app.resources", "app.largest"), ("requests", "limits")),
    "cluster": ("version", "domain"),
    "loop": ("index", "index0", "first", "last", "length", "previtem", "nextitem"),
}
_METHODS: dict[type, frozenset[str]] = {dict: DICT_METHODS, list: LIST_METHODS, str: STRING_METHODS}


def _missing(expression: str, name: str, owner: Any, template: Template) -> str:
    """What to say of `name`, which `owner` does not have; "" where there is no more to say than that.

    `expression` is the text of the expression that asks for it, in a file of the template.
    """
    path, base = _path(expression, name)
    root, _, variable = base.partition(".")
    if name in _METHODS.get(type(owner), ()):
        return f"`{name}` is a method here; write {base}.{name}()"
    # a template may use such a name for a value of its own
    if base in _FIXED and (not isinstance(owner, dict) or owner.keys() >= set(_FIXED[base])):
        return f"`{base}` has no `{name}`{hint(name, _FIXED[base])}"
    if not base or (isinstance(owner, dict) and nearest(name, [key for key in owner if isinstance(key, str)])):
        return ""
    parameter = next((one for one in template.parameters.values() if one.variable == variable), None)
    if root == "params" and parameter:
        return of_parameter(parameter, base, name, path)
    if isinstance(owner, list) and name.lstrip("-").isdecimal():
        return ""
    if not isinstance(owner, dict):
        return (
            f"`{base}` is {kind_of(owner)}, and has nothing named `{name}`{_IN_PLACE.get(type(owner), '').format(base)}"
        )
    return _in_pod(path, base, name) if template.applies_to.only_pods and root in ("pod", "object") else ""


#: What to do with a value of a type that has nothing named.
_IN_PLACE: dict[type, str] = {list: "; write {0}[0], or a loop over its items", str: "; write {{{{ {0} }}}}"}


def of_parameter(parameter: Parameter, base: str, name: str, path: str) -> str:
    """What to say of `name`, which is asked of a parameter that stands there as `base`; `path` is all of it."""
    if parameter.type == "object":
        properties = parameter.schema.get("properties")
        known = hint(name, map(str, properties), "its schema has") if isinstance(properties, Mapping) else ""
        return f"the parameter `{parameter.name}` has no key `{name}` here{known}; write {path} | default(...)"
    if parameter.type == "array" and name.lstrip("-").isdecimal():
        return ""
    is_a = f"the parameter `{parameter.name}` is {WANTED[parameter.type]} (type: {parameter.type} in template.yaml)"
    to_do = f"{base}[0], or {{% for item in {base} %}}" if parameter.type == "array" else f"{{{{ {base} }}}}"
    return f"{is_a}, and has nothing named `{name}`; write {to_do}"


def _in_pod(path: str, base: str, name: str) -> str:
    """What to say of a field that a pod does not have, or only after it was injected."""
    later = _LATER.get(name, "")
    if later and path.endswith(f".{later}"):
        field = f"valueFrom: {{fieldRef: {{fieldPath: {later}}}}}"
        return (
            f"a pod has no {later} yet at injection; let a container read it from an environment variable, with {field}"
        )
    return of_pod(base, name) or (
        f"this pod has no `{path}`; write {path} | default(...), or put it within {{% if {path} is defined %}}"
    )


def of_pod(base: str, name: str) -> str:
    """What to say of `name` if it stands for another field below `base`, a path into a pod; "" if it does not."""
    fields = POD.at(re.findall(r"\w+", base)[1:]).fields.notations
    for part, kind in (("metadata", "ObjectMeta"), ("spec", "PodSpec")) if "." not in base else ():
        if name in fields_of(kind):
            return f"{base} has only metadata and spec; write {base}.{part}.{name}"
    near_field = None if name in fields else nearest(name, fields)
    return f"a pod has no field {name} here; did you mean {near_field}?" if near_field else ""


def _path(expression: str, name: str) -> tuple[str, str]:
    """The path to `name` in an expression, as it stands there to its end, and the part before the name."""
    step = rf"(?:\.{re.escape(name)}\b|\[(?:['\"]{re.escape(name)}['\"]|{re.escape(name)})\])"
    match = re.search(rf"([A-Za-z_][\w.\[\]\"'/-]*?)({step}(?:\.\w+(?!\w*\()|\[[^\[\]]*\])*)", expression)
    return (match[0], match[1]) if match else ("", "")


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


def frame(traceback: TracebackType | None) -> FileOffset:
    """The innermost file and offset of the template in a traceback."""
    return next(reversed(_frames(traceback)), ("", None))


def _repeated(traceback: TracebackType | None) -> FileOffset:
    """The first file and offset that come again in a traceback: where a recursion goes round."""
    frames = _frames(traceback)
    return next((frame for at, frame in enumerate(frames) if frame in frames[:at]), ("", None))


def _frames(traceback: TracebackType | None) -> list[FileOffset]:
    """The files and offsets of the template in a traceback, the innermost last."""
    frames = []
    while traceback is not None:
        compiled = traceback.tb_frame.f_globals.get("__jinja_template__")
        if compiled is not None:
            code = compiled.get_corresponding_lineno(traceback.tb_lineno)
            frames.append((compiled.name, code - 1 if code else None))  # 0: what only a test runner adds
        traceback = traceback.tb_next
    return frames
