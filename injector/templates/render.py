"""Rendering: a template and what it sees become an overlay, or the config files that go with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from types import TracebackType
from typing import Any, NoReturn

import msgspec
import yaml
from jinja2 import UndefinedError

from injector.errors import InjectionError, Place, TemplateError
from injector.pods.context import Cluster, Namespace, Object, Workload
from injector.pods.remembered import Remembered
from injector.pods.shape import OverlayError, check_overlay
from injector.reasons import Reason
from injector.templates.dump import dump
from injector.templates.environment import VerdictError
from injector.templates.faults import FaultError
from injector.templates.holes import Run, current, document
from injector.templates.program import Root
from injector.templates.reads import read
from injector.templates.structure import Structure
from injector.templates.tagging import Tagged
from injector.templates.template import OVERLAY, Template
from injector.templates.yaml_words import explained


class Context(msgspec.Struct, frozen=True):
    """What a template sees.

    `params` by their names in templates; `object` the pod; `containers` the app's; `ports` the TCP ports that those
    declare, in order; `native` whether sidecars are native here; `configmap` the name of the generated ConfigMap.
    """

    params: dict[str, Any]
    object: Object
    namespace: Namespace
    workload: Workload
    containers: Sequence[Object] = ()
    ports: Sequence[int] = ()
    cluster: Cluster = Cluster()
    native: bool = True
    configmap: str = ""


@dataclass(frozen=True, slots=True)
class Rendered:
    """An overlay, which nobody changes, and what the template warned of."""

    overlay: Object
    warnings: tuple[str, ...] = ()


class RenderError(InjectionError):
    """A template failed to render: TEMPLATE_FAILED, `template/file:line:column: why`. `message` is the why.

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
        undefined: bool = False,
        params: tuple[str, ...] = (),
    ) -> None:
        super().__init__(Reason.TEMPLATE_FAILED, f"{template.name}/{place}: {message}")
        self.message = message
        self.place = place
        self.rule = rule
        self.undefined = undefined
        self.params = params
        self.template = template

    def saying(self, more: str) -> RenderError:
        """The same error, its message with more behind it."""
        return RenderError(
            self.template,
            f"{self.message} ({more})",
            self.place,
            rule=self.rule,
            undefined=self.undefined,
            params=self.params,
        )

    def as_template_error(self) -> TemplateError:
        """The same as a mistake of the template, for its author."""
        return TemplateError(self.template.name, self.message, self.place, rule=self.rule, origin=self.template.origin)


def render_overlay(template: Template, context: Context) -> Rendered:
    """The partial pod that a template renders, and its warnings.

    Raises InjectionError: DENIED and NOT_SERVED as the template says, TEMPLATE_FAILED (RenderError).
    """
    root = template.program.roots[OVERLAY]
    rendered: Rendered = _remembered(template, root, context, _overlay)
    return rendered


def render_files(template: Template, context: Context) -> dict[str, str]:
    """The text of each config file by its name. Raises InjectionError as `render_overlay` does."""
    return {spec.name: _file(template, context, spec.template) for spec in template.files.values()}


def check_source(template: Template, context: Context, source: str) -> None:
    """Render one source and throw it away. Raises InjectionError as `render_overlay` does."""
    if source == OVERLAY:
        render_overlay(template, context)
    else:
        _file(template, context, source)


def variables_of(root: Root, context: Context) -> dict[str, Any]:
    """What a root sees of a context: the names that it reads."""
    variables = {name: _VARIABLES[name](context) for name in root.names}
    if "object" in variables:
        variables["pod"] = variables["object"]
    return variables


def _file(template: Template, context: Context, source: str) -> str:
    root = template.program.roots[source]
    text: str = _remembered(template, root, context, _document if root.document else _text)
    return text


# ------------------------------------------------------------------------------------------------ one render


@dataclass(slots=True)
class _Job:
    template: Template
    root: Root
    variables: dict[str, Any]
    run: Run = field(default_factory=Run)

    def text(self) -> str:
        compiled = self.root.template
        return document(compiled.root_render_func(compiled.new_context(dict(self.variables))), self.run)


def _overlay(job: _Job) -> tuple[Rendered, int]:
    value = _filled(job, replace=True)
    if value is None:
        value = {}
    if not isinstance(value, dict):
        raise FaultError(
            f"the overlay is a {type(value).__name__}; it has to be a partial pod, with `spec:` or `metadata:`"
        )
    check_overlay(value)
    return Rendered(value, tuple(job.run.warnings)), 4 * job.run.size


def _document(job: _Job) -> tuple[str, int]:
    value = _filled(job, replace=False)
    if job.root.source.endswith(".json.j2"):
        text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"
    else:
        text = dump(value)
    return text, len(text)


def _text(job: _Job) -> tuple[str, int]:
    text = job.text()
    return text, len(text)


def _filled(job: _Job, *, replace: bool) -> Any:
    text = job.text()
    structures = job.root.structures
    structure = structures.get(text)
    if structure is None:
        structure = Structure(text, replace=replace)
        structures.put(text, structure, 15 * len(text))
    return structure.fill(job.run.values)


def _remembered(template: Template, root: Root, context: Context, make: Callable[[_Job], tuple[Any, int]]) -> Any:
    variables = variables_of(root, context)
    key = _key(root, variables)
    if key is not None:
        known = root.renders.get(key)
        if known is not None:
            return known
    job = _Job(template, root, variables)
    token = current.set(job.run)
    try:
        result, size = make(job)
    except VerdictError as verdict:
        file, offset = _frame(verdict.__traceback__)
        place = template.program.place(file, offset)
        where = f"{template.name}/{file}:{place.line}" if file else template.name
        raise InjectionError(verdict.reason, f"{verdict} ({where})", code=verdict.code) from None
    except Exception as error:  # whatever a template does, it is the template's fault and never the caller's
        _failed(job, error)
    finally:
        current.reset(token)
    if key is not None:
        root.renders.put(key, result, size)
    return result


def _key(root: Root, variables: dict[str, Any]) -> bytes | None:
    """A digest of everything that the root reads; None where that cannot be encoded."""
    try:
        values = [
            _all_params(variables["params"]) if path == _PARAMS else read(variables[path[0]], path)
            for path in root.reads
        ]
        encoded = msgspec.msgpack.encode(values)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None
    return encoded if len(encoded) <= 64 else blake2b(encoded, digest_size=32).digest()


#: All parameters as a part of a key, by the very dict: pods that set none share one, and so do a template's files.
_ENCODED: Remembered[bytes] = Remembered()
_PARAMS = ("params",)


def _all_params(params: dict[str, Any]) -> bytes:
    return _ENCODED.get(params) or _ENCODED.put(params, msgspec.msgpack.encode(params))


_VARIABLES: dict[str, Callable[[Context], Any]] = {
    "params": lambda c: c.params,
    "object": lambda c: c.object,
    "namespace": lambda c: {
        "name": c.namespace.name,
        "labels": c.namespace.labels,
        "annotations": c.namespace.annotations,
    },
    "workload": lambda c: {"kind": c.workload.kind, "name": c.workload.name},
    "containers": lambda c: list(c.containers),
    "ports": lambda c: list(c.ports),
    "files": lambda c: {"configmap": c.configmap},
    "cluster": lambda c: {"version": "{}.{}".format(*c.cluster.version), "domain": c.cluster.domain},
    "native": lambda c: c.native,
}

# ---------------------------------------------------------------------------------------------------- errors


def _failed(job: _Job, error: Exception) -> NoReturn:
    """Turn any error into one with its place."""
    program, word, rule = job.template.program, "", "value"
    found: tuple[str, int | None] | None
    if isinstance(error, yaml.YAMLError):
        rule = "yaml"
        message, found = _yaml(job, error)
    elif isinstance(error, FaultError) and error.offset is not None:
        at, hole = error.offset, error.hole
        found = _author(job, lambda tagged: at if hole is None else tagged.hole(hole, at))
        message = str(error)
    elif isinstance(error, OverlayError):
        found = _author(job, lambda tagged: tagged.offset_of(error.path, key=True))
        message, rule = str(error), "overlay"
    else:
        found = _frame(error.__traceback__)
        message = _words(error)
        if isinstance(error, UndefinedError):
            named = _NAMED.search(message)
            word, rule = named[1] if named else "", "name"
    file, offset = found or (job.root.source, None)
    place = program.place(file or job.root.source, offset, word)
    undefined = isinstance(error, UndefinedError)
    params = program.parameters_at(file or job.root.source, offset) if rule == "value" else ()
    raise RenderError(job.template, message[:300], place, rule=rule, undefined=undefined, params=params) from None


_NAMED = re.compile(r"named '([^']+)'")


def _yaml(job: _Job, error: yaml.YAMLError) -> tuple[str, tuple[str, int] | None]:
    """What libyaml means, with the author's file and offset."""
    program = job.template.program
    try:
        tagged = program.tagged(job.root, job.variables)
    except Exception:  # the first error is the one to tell
        return explained(error, "").message.replace("{line}", "above"), None
    words = explained(error, tagged.text)
    message = words.message
    if words.other is not None:
        file, offset = tagged.source(words.other) or (job.root.source, None)
        message = message.replace("{line}", str(program.place(file, offset).line))
    return message, None if words.offset is None else tagged.source(words.offset)


def _words(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "macros or includes call each other without end"
    if isinstance(error, MemoryError):
        return "the template takes too much memory"
    if isinstance(error, FaultError | UndefinedError):
        return str(error)
    if isinstance(error, ZeroDivisionError):
        return "a division by zero"
    return f"{type(error).__name__}: {error}" if not isinstance(error, TypeError | ValueError) else str(error)


def _author(job: _Job, where: Callable[[Tagged], int]) -> tuple[str, int] | None:
    """The author's file and offset for a place in the rendered text."""
    try:
        tagged = job.template.program.tagged(job.root, job.variables)
        return tagged.source(where(tagged))
    except Exception:  # the first error is the one to tell
        return None


def _frame(traceback: TracebackType | None) -> tuple[str, int | None]:
    """The innermost file and offset of the template in a traceback."""
    place: tuple[str, int | None] = ("", None)
    while traceback is not None:
        compiled = traceback.tb_frame.f_globals.get("__jinja_template__")
        if compiled is not None:
            place = (compiled.name, compiled.get_corresponding_lineno(traceback.tb_lineno) - 1)
        traceback = traceback.tb_next
    return place
