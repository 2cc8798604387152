"""Rendering: a template and what it sees become an overlay, or the config files that go with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from hashlib import blake2b
from typing import Any, NamedTuple, TypeVar, cast

import msgspec

from injector.budget import FaultError, LimitError, charge, charge_later
from injector.caches import Memo
from injector.diagnostics import Path, Place
from injector.errors import InjectionError
from injector.names import kind_of
from injector.pods.context import Object, mapping_at, sequence
from injector.pods.fields import ANY, CONTAINER_LISTS, POD
from injector.pods.keyed_pointers import escape, pointer_to
from injector.pods.overlay import EVERY_CONTAINER, Append, Default, name_of, take_defaults
from injector.pods.shape import OverlayError, check_appended, check_object_overlay, check_overlay
from injector.templates.dependencies import ABSENT, CONTAINER, NamePath, NamePaths, parted, read
from injector.templates.environment import TemplateVerdictError
from injector.templates.holes import Run, current, document
from injector.templates.program import Root
from injector.templates.quoted_places import checked
from injector.templates.render_errors import RenderError as RenderError, failure, frame
from injector.templates.structure import OUTPUT, Structure
from injector.templates.template import OVERLAY, Template
from injector.templates.variables import Context, Part, app_containers, joined_overlays, variables_of
from injector.templates.yaml_writer import YamlDocument, dump

_S = TypeVar("_S", bound=Structure)


class Rendered(NamedTuple):
    """An overlay, which nobody changes, what the template warned of, and the names of the containers it defines.

    `defaults` are keyed pointers into the overlay at which `!default` stands, `default_paths` the same as paths. One
    that is not `tagged` holds no `!replace` and no `!append`.
    """

    overlay: Object
    warnings: tuple[str, ...]
    containers: tuple[str, ...]
    defaults: frozenset[str] = frozenset()
    default_paths: tuple[Path, ...] = ()
    tagged: bool = True


def render_overlay(template: Template, context: Context) -> Rendered:
    """The partial pod that a template renders, and its warnings.

    Raises InjectionError: DENIED and NOT_SERVED as the template says, TEMPLATE_FAILED (RenderError).
    """
    root = template.program.roots[OVERLAY]
    each = CONTAINER in root.names and context.container is None
    containers = list(app_containers(context)) if each else []
    if len(containers) < 2:
        return cast(Rendered, _remembered(template, root, context, _overlay))
    overlays = [
        _remembered(template, root, msgspec.structs.replace(context, container=container), _overlay)
        for _, container in containers
    ]
    parts = [
        Part(at, container["name"], r.overlay, r.default_paths)
        for (at, container), r in zip(containers, overlays, strict=True)
    ]
    try:
        overlay, paths = joined_overlays(parts)
    except OverlayError as error:
        raise failure(template, root, variables_of(root, context), error) from None
    return Rendered(
        overlay,
        tuple(dict.fromkeys(warning for rendered in overlays for warning in rendered.warnings)),
        overlays[0].containers,
        frozenset(pointer_to(overlay, path) for path in paths),
        paths,
    )


def render_files(template: Template, context: Context) -> dict[str, str]:
    """The text of each config file by its name. Raises InjectionError as `render_overlay` does."""
    return {spec.name: _file(template, context, spec.template) for spec in template.files.values()}


def file_value(template: Template, context: Context, name: str) -> Any:
    """What the YAML or JSON text of a config file holds, which `render_files` has rendered before."""
    source = template.files[name].template
    root = template.program.roots[source]
    remembered = None if root.values is None else root.values.get(_file(template, context, source))
    if remembered is not None:
        return remembered[0]
    job = _Job(template, root, variables_of(root, context), Run(syntax=root.syntax))
    token = current.set(job.run)
    try:
        return _structure(job, _document_class(root)).fill(job.run.values)
    finally:
        current.reset(token)


def check_source(template: Template, context: Context, source: str) -> None:
    """Render one source and throw it away. Raises InjectionError as `render_overlay` does."""
    if source == OVERLAY:
        render_overlay(template, context)
    else:
        _file(template, context, source)


def _file(template: Template, context: Context, source: str) -> str:
    root = template.program.roots[source]
    text: str = _remembered(template, root, context, _document if root.document else _text)
    return text


class Trace:
    """What a source renders, and where in the author's files each value comes from; `warnings` are the template's."""

    def __init__(self, template: Template, context: Context, source: str = OVERLAY) -> None:
        """Render `source` once more, slowly. Raises InjectionError as `render_overlay` does."""
        check_source(template, context, source)
        self._program = template.program
        self._source = source
        root = self._program.roots[source]
        self._tagged = self._program.tagged(root, variables_of(root, context))
        self.warnings = tuple(self._tagged.run.warnings)

    @cached_property
    def value(self) -> Any:
        """The overlay (with `Replace` objects within) or the value of a YAML or JSON file; of a text file the text."""
        if not self._program.roots[self._source].document:
            return self._tagged.text
        value = Structure(self._tagged.text, replace=self._source == OVERLAY).fill(self._tagged.run.values)
        return {} if self._source == OVERLAY and value is None else take_defaults(value)[0]

    def holes(self) -> Iterator[tuple[str, int, str]]:
        """File, offset and value of each hole, as YAML has it on a line; of one in a loop as often as it is filled."""
        return self._tagged.holes()

    def place(self, path: Path, key: bool = False) -> Place:
        """The place of the value that a path of keys and list indices leads to, or of its key.

        Of the nearest parent where there is no such value; for a text file of its beginning.
        """
        return self.place_of(self._tagged.offset_of(path, key=key) if self._program.roots[self._source].document else 0)

    def place_of(self, offset: int) -> Place:
        """The place of a character of the rendered text: for a text file, that of `value[offset]`."""
        file, source_offset = self._tagged.source(offset) or (self._source, 0)
        return self._program.place(file, source_offset)


# ------------------------------------------------------------------------------------------------ one render


#: How the text of an overlay, and of a JSON file, becomes a structure.
_PATCH, _DATA = partial(Structure, replace=True), partial(Structure, replace=False)


class _Job(msgspec.Struct):
    template: Template
    root: Root
    variables: Object
    run: Run
    structure: Structure | None = None

    def kept(self, result: Any, way: Sequence[NamePath]) -> _Kept:
        """What to remember of the render, for those who read the same."""
        run = self.run
        later = [(number, path) for number, path in run.later.items() if path not in way]
        if self.structure is None or not later:
            return _Kept(result, run.spent, run.size)
        size = run.size - sum(len(run.values[number]) for number, _ in later)
        structure = self.structure.filled(run.values, frozenset(number for number, _ in later))
        return _Kept(result, run.spent, size, structure, tuple(run.values), later)

    def text(self) -> str:
        compiled = self.root.template
        pieces = compiled.root_render_func(compiled.new_context(dict(self.variables)))
        try:
            return document(pieces, self.run)
        except LimitError as fault:
            frame = getattr(pieces, "gi_frame", None)
            if frame is not None:  # between two pieces: where it would go on
                fault.source = self.root.source, compiled.get_corresponding_lineno(frame.f_lineno) - 1
            raise


class _Kept(NamedTuple):
    """The result of a render, and the work that it took; for an overlay with strings to fill in later, also how."""

    result: Any
    spent: int
    size: int
    structure: Structure | None = None
    values: tuple[Any, ...] = ()
    later: Sequence[tuple[int, NamePath]] = ()

    def of(self, template: Template, variables: Object) -> tuple[Any, int]:
        """The result for another pod's values, and the work. Raises what a render would raise, without the place."""
        if self.structure is None:
            return self.result, self.spent + (self.size >> 2)
        values, size = list(self.values), self.size
        for number, path in self.later:
            values[number] = value = read(variables[path[0]], path)
            size += len(value)
        if all(values[number] == self.values[number] for number, _ in self.later):
            return self.result, self.spent + (size >> 2)
        if size > OUTPUT:
            raise LimitError("")
        return _rendered(template, self.structure, values, self.result.warnings), self.spent + (size >> 2)


def _overlay(job: _Job) -> tuple[Rendered, int]:
    run = job.run
    structure = job.structure = _structure(job, _PATCH)
    return _rendered(job.template, structure, run.values, tuple(run.warnings)), 4 * run.size


def _rendered(template: Template, structure: Structure, values: Sequence[Any], warnings: tuple[str, ...]) -> Rendered:
    value = structure.fill(values)
    paths: tuple[Path, ...] = ()
    if Default in structure.tags:
        value, paths = take_defaults(value)
    only_pods = template.applies_to.only_pods
    if value is None:
        value = {}
    if not isinstance(value, dict):
        kind = "a partial pod" if only_pods else "a partial object"
        raise OverlayError(f"the overlay is {kind_of(value)}; it has to be {kind}, with `spec:` or `metadata:`", ())
    if Append in structure.tags:
        check_appended(value, POD if only_pods else ANY)
    (check_overlay if only_pods else check_object_overlay)(value)
    for path in paths:
        if path in _WHOLE:
            raise OverlayError("`!default` cannot be used here; it is for single elements and fields", path)
    pointers = (
        pointer_to(value, path) if only_pods else "".join(f"/{escape(step)}" for step in path) for path in paths
    )
    return Rendered(value, warnings, _containers(value), frozenset(pointers), paths, bool(structure.tags - {Default}))


#: Where `!default` cannot stand: here the pod always has something.
_WHOLE = ((), ("metadata",), ("spec",), *(("spec", name) for name in CONTAINER_LISTS))


def _containers(overlay: Object) -> tuple[str, ...]:
    spec = mapping_at(overlay, "spec")
    names = (name_of(item) for field in ("containers", "initContainers") for item in sequence(spec.get(field)))
    return tuple(name for name in names if name is not None and name != EVERY_CONTAINER)


def _document(job: _Job) -> tuple[str, int]:
    structure = _structure(job, _document_class(job.root))
    if isinstance(structure, YamlDocument):
        text = structure.text(job.run.values)
        return text, len(text)
    value = structure.fill(job.run.values)
    if job.root.source.endswith(".json.j2"):
        text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"
    else:
        text = dump(value)
    if job.root.values is not None:
        job.root.values.put(text, (value,), 4 * len(text))
    return text, len(text)


def _document_class(root: Root) -> Callable[[str], Structure]:
    # where the values are asked for too, they are filled in once, and the text is written from them
    return YamlDocument if root.values is None and not root.source.endswith(".json.j2") else _DATA


def _text(job: _Job) -> tuple[str, int]:
    text = checked(job.text(), job.root.syntax)
    return text, len(text)


def _structure(job: _Job, parse: Callable[[str], _S]) -> _S:
    """The structure of what the root renders, parsed once for each text; a root has one way to parse."""
    text, structures = job.text(), cast("Memo[_S]", job.root.structures)
    structure = structures.get(text)
    if structure is None:
        structure = parse(text)
        structures.put(text, structure, 15 * len(text))
    return structure


def _remembered(template: Template, root: Root, context: Context, make: Callable[[_Job], tuple[Any, int]]) -> Any:
    charge(1)
    variables = variables_of(root, context)
    for number, way in enumerate(root.ways):
        key = _key(number, way, variables)
        remembered = None if key is None else root.renders.get(key)
        if remembered is not None:
            try:
                result, work = remembered.of(template, variables)
            except (FaultError, LimitError, OverlayError):
                break  # rendered, it says where
            charge(work)
            return result
    job = _Job(template, root, variables, Run(syntax=root.syntax))
    token = current.set(job.run)
    try:
        result, size = make(job)
    except TemplateVerdictError as verdict:
        file, offset = frame(verdict.__traceback__)
        place = template.program.place(file, offset)
        origin = f"{template.name}/{file}:{place.line}" if file else template.name
        raise InjectionError(verdict.reason, f"{verdict} ({origin})", code=verdict.code) from None
    except Exception as error:  # whatever a template does, it is the template's fault and never the caller's
        spent = job.run.spent
        failed = failure(job.template, job.root, job.variables, error)  # a nearest spelling in it is charged for too
        charge_later(spent)
        raise failed from None
    finally:
        current.reset(token)
    if make is not _overlay:
        job.run.seen.update(job.run.later.values())
    number, way = root.way(job.run.seen)
    key = _key(number, way, variables)
    if key is not None:
        root.renders.put(key, job.kept(result, way), size)
    charge(job.run.spent + (job.run.size >> 2))
    return result


def _key(number: int, way: NamePaths, variables: Object) -> bytes | None:
    """A digest of everything that is read on a way through a root; None where that cannot be encoded."""
    names, paths = parted(way)
    try:
        encoded = msgspec.msgpack.encode(
            [
                *(variables["params"].get(name, ABSENT) for name in names),
                *(read(variables[path[0]], path) for path in paths),
                number,
            ]
        )
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None
    return encoded if len(encoded) <= 64 else blake2b(encoded, digest_size=32).digest()
