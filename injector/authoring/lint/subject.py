"""What a rule looks at: a template, and what it renders for sample pods, at paths, and for parameters at edges."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from jinja2 import TemplateSyntaxError, nodes

from injector.diagnostics import Diagnostic, Path, Place, Severity
from injector.injection import Injection
from injector.pods.context import Object, filled, sequence
from injector.pods.overlay import EVERY_CONTAINER, Overlay, bare_value, name_of, plain, plain_mapping
from injector.policies.request import ObjectRequest
from injector.reasons import Reason
from injector.templates.environment import Environment
from injector.templates.manifest import manifest_place
from injector.templates.program import is_document
from injector.templates.render import Trace, file_value, render_overlay
from injector.templates.source_map import normal
from injector.templates.template import OVERLAY, Parameter, Template
from injector.templates.variables import Context, for_one

#: How many failures are enough for an author to start with.
_ENOUGH = 50
#: The lists of an overlay that hold containers, in the order they are written.
_LISTS = ("initContainers", "containers")


class Finding(Diagnostic):
    """One thing that a rule found: what is wrong, where, and what to do. The engine gives it the rule's name.

    `path` leads into the overlay. `sample` is what it was found with, for people, and `given` are the parameters of
    that which differ from their defaults. `about` tells it from other findings of the rule at the same place; what has
    the same `about` there, with other values or in another container, is one finding. A `note` stays one, and any other
    finding has its rule's severity.
    """

    def __init__(
        self,
        message: str,
        place: Place,
        help: str = "",  # noqa: A002
        path: Path = (),
        *,
        sample: str = "",
        given: Mapping[str, Any] | None = None,
        severity: Severity = "warning",
        **fields: Any,
    ) -> None:
        if sample:
            help = "; ".join(filter(None, (help, f"found with this sample: {sample}")))  # noqa: A001
        super().__init__("", severity, message, help, path, place, {**fields, **filled({"given": given})})


#: What a rule yields.
Findings = Iterator[Finding]
#: Path, message and help of each of some mistakes in an overlay, or in a part of it.
OverlayMistakes = Iterator[tuple[Path, str, str]]
#: Path and value, without tags, of each of some parts of an overlay.
OverlayParts = Iterator[tuple[Path, Object]]


class RenderedSource:
    """Like `Trace`, but traces places only when somebody asks for one: most renderings have no findings."""

    def __init__(self, template: Template, context: Context, name: str = "", text: str = "") -> None:
        """`name` and `text` are those of a config file; without them it is the overlay.

        Raises InjectionError as a render does.
        """
        self._template = template
        #: Of an overlay that is rendered for each of the app's containers, that for the first, which has its places.
        self._context = context = for_one(context)
        self.source = template.files[name].template if name else OVERLAY
        self._name = name
        self._items: dict[str, tuple[tuple[Path, Object], ...]] = {}
        self.text = text  #: a config file as the container sees it
        self.rendered = None if name else render_overlay(template, context)  #: the overlay, as the renderer made it
        self.warnings = () if self.rendered is None else self.rendered.warnings  #: what the overlay warned of
        if self.rendered is not None:
            self.value = self.rendered.overlay

    @cached_property
    def value(self) -> Any:
        """The overlay with its `Replace` values; the value of a YAML or JSON file; the text of another file."""
        return file_value(self._template, self._context, self._name) if is_document(self.source) else self.text

    @cached_property
    def plain(self) -> Any:
        """The value without its tags."""
        return plain(self.value)

    def items(self, list_: str) -> tuple[tuple[Path, Object], ...]:
        """Path and value, without tags, of each item of a list of the overlay's pod, as `containers`."""
        if list_ not in self._items:
            values = enumerate(map(plain, sequence(bare_value(self.spec.get(list_)))))
            self._items[list_] = tuple((("spec", list_, n), value) for n, value in values if isinstance(value, dict))
        return self._items[list_]

    @property
    def metadata(self) -> Overlay:
        """What the overlay says of the pod's metadata, with tags."""
        return plain_mapping(plain_mapping(self.value).get("metadata"))

    @property
    def spec(self) -> Overlay:
        """What the overlay says of the pod's spec, with tags."""
        return plain_mapping(plain_mapping(self.value).get("spec"))

    def every_container(self) -> OverlayParts:
        """Each container of the overlay, `"*"` too; set-up first."""
        for list_ in _LISTS:
            for path, value in self.items(list_):
                name = name_of(value)
                yield path, value if name is None else {**value, "name": name}

    def sidecars(self) -> OverlayParts:
        """Each container that runs beside the app: those under `containers` but `"*"`."""
        every = self.every_container()
        return (part for part in every if part[0][1] == "containers" and part[1].get("name") != EVERY_CONTAINER)

    def place(self, path: tuple[str | int, ...], key: bool = False) -> Place:
        """The author's place of a value, or of its key; of its nearest parent where there is none."""
        return self._trace.place(path, key)

    def place_of(self, offset: int) -> Place:
        """The author's place of a character of a text file, by its offset in the rendered text."""
        return self._trace.place_of(offset)

    @cached_property
    def _trace(self) -> Trace:
        return Trace(self._template, self._context, self.source)


def until_enough(results: Iterable[Any]) -> tuple[list[Any], list[RenderFailure]]:
    """What is rendered, and the failures: up to as many as are enough, or one that nobody should wait for again.

    None among the results is an answer too, and says nothing.
    """
    renderings: list[Any] = []
    failures: list[RenderFailure] = []
    for result in filter(None, results):
        if not isinstance(result, RenderFailure):
            renderings.append(result)
            continue
        failures.append(result)
        if len(failures) == _ENOUGH or result.hopeless:
            break
    return renderings, failures


@dataclass(frozen=True)
class Rendering:
    """What a template renders for one pod and one set of parameters."""

    title: str  #: for people: `a Deployment with port 8080, app-port = 65535`
    context: Context  #: what the template saw
    given: Mapping[str, Any]  #: parameters, by name, that differ from their defaults
    overlay: RenderedSource  #: of overlay.yaml.j2; `.value`, `.place(path, key=False)`, `.warnings`
    files: Mapping[str, RenderedSource]  #: config files by the name that the container sees
    pod: Object  #: the pod before
    injection: Injection  #: what inject() made of it: `.applied`; or `.effect` and `.reason` where it is not injected
    after: Object  #: the pod after, also where a constraint refuses it
    free: bool = False  #: whether what is given may be wrong beside other parameters, and the template right
    invented: bool = False  #: whether what is given says nothing of what people give: its schema takes anything
    #: What set parameters of somebody's own pod, by their names in templates; nothing for a sample pod.
    origins: Mapping[str, str] = field(default_factory=dict)

    def every_container(self) -> OverlayParts:
        """Each container of the overlay, `"*"` too; set-up first."""
        return self.overlay.every_container()

    def containers(self) -> OverlayParts:
        """Each container of the overlay but `"*"`; set-up first."""
        return (part for part in self.every_container() if part[1].get("name") != EVERY_CONTAINER)

    def everywhere(self) -> OverlayParts:
        """Each `"*"`: what every container of the app gets."""
        return (part for part in self.every_container() if part[1].get("name") == EVERY_CONTAINER)

    def sidecars(self) -> OverlayParts:
        """Each container that runs beside the app: those under `containers` but `"*"`."""
        return self.overlay.sidecars()

    def volumes(self) -> OverlayParts:
        """Each volume of the overlay."""
        return iter(self.overlay.items("volumes"))

    def finding(self, message: str, path: Path, help: str = "", *, key: bool = False, **fields: Any) -> Finding:  # noqa: A002
        """What is wrong with what a path of the overlay leads to, or with its key."""
        return self.finding_at(message, self.overlay.place(path, key), help, **fields)

    def finding_at(self, message: str, place: Place, help: str = "", path: Path = (), **fields: Any) -> Finding:  # noqa: A002
        """What is wrong at a place of the template; where parameters differ from their defaults, it names them."""
        return Finding(message, place, help, path, sample=self.title if self.given else "", given=self.given, **fields)


class ObjectRendering(NamedTuple):
    """What a template makes of an object of any kind, at a path. `overlay` is None where it refuses the object."""

    title: str  #: for people: `UPDATE of services, limit = 3`, or the case that it is from
    asked: ObjectRequest
    given: Mapping[str, Any]  #: parameters, by name, that differ from their defaults
    injection: Injection  #: what admit() made of it
    overlay: RenderedSource | None
    context: Context | None  #: what the template saw; None where it refuses the object

    @property
    def acts(self) -> bool:
        """Whether the template has anything to say of the object, or to add to it."""
        return self.overlay is None or bool(self.overlay.value or self.overlay.warnings)


class RenderFailure(NamedTuple):
    """A pod or an object, and parameters, for which nothing is rendered, although the template did not call fail() or
    deny().
    """

    title: str
    given: Mapping[str, Any]
    reason: Reason
    diagnostic: Diagnostic  #: what is wrong, and where in the template's files
    parameter: str = ""  #: the parameter that it is about
    broken: str = ""  #: the kind of mistake, where it is one for an ordinary pod and the defaults too
    free: bool = False  #: as in a Rendering
    hopeless: bool = False  #: it took too much time or memory: nobody should wait for that again
    overlay: RenderedSource | None = None  #: the overlay, where that was rendered and could not be merged

    @property
    def place(self) -> Place:
        """Where in the template's files."""
        return self.diagnostic.place


class ParsedFile(NamedTuple):
    """A file of a template that is rendered: its text, with `\n` for line ends, and its syntax tree."""

    name: str
    text: str
    tree: nodes.Template

    @property
    def document(self) -> bool:
        """Whether it renders YAML or JSON."""
        return is_document(self.name)


@lru_cache(maxsize=32)  # several rules ask
def syntax_tree(text: str) -> nodes.Template:
    """The syntax tree of a file's text, whatever it renders; nobody changes it. Raises TemplateSyntaxError."""
    return Environment(document=False).parse(text)


@dataclass(frozen=True)
class Subject:
    """A template as a rule sees it.

    `renderings` begin with the defaults for each sample pod; there are none of a template that is for a path alone.
    """

    path: str  #: the folder as people gave it
    template: Template
    sources: Mapping[str, str]  #: texts by file name, README.md too
    rules: Collection[str]  #: the names of all rules
    kubernetes: tuple[int, int]  #: the API server's version
    renderings: tuple[Rendering, ...]
    failures: tuple[RenderFailure, ...] = ()
    objects: tuple[ObjectRendering, ...] = ()  #: what it makes at a path, where it is for more than pods on CREATE
    not_served: str = ""  #: why, where the template says fail() for every pod and parameter that was tried

    @cached_property
    def parsed(self) -> tuple[ParsedFile, ...]:
        """The files that are rendered; those that nothing includes may not be valid, and are left out."""
        files = []
        for name, source in self.template.sources.items():
            text = normal(source)
            try:
                tree = syntax_tree(text) if name.endswith(".j2") else None
            except TemplateSyntaxError:
                continue
            if tree is not None:
                files.append(ParsedFile(name, text, tree))
        return tuple(files)

    @property
    def usual(self) -> Iterator[Rendering]:
        """The renderings with the parameters as they are when nobody gives any."""
        return (rendering for rendering in self.renderings if rendering.given == self.renderings[0].given)

    @cached_property
    def overlays(self) -> Collection[Rendering]:
        """The first rendering with each overlay, for a rule that looks at nothing else: many share theirs."""
        first: dict[int, Rendering] = {}
        for rendering in self.renderings:
            first.setdefault(id(rendering.overlay), rendering)
        return first.values()

    @property
    def parameters(self) -> Collection[Parameter]:
        """The template's parameters."""
        return self.template.parameters.values()

    def variables(self) -> Mapping[str, Parameter]:
        """The parameters by their names in templates."""
        return {parameter.variable: parameter for parameter in self.parameters}

    def line_place(self, file: str, line: int, column: int = 0) -> Place:
        """The place of a 1-based line of a file, with its text; line 0 is the file as a whole."""
        lines = self.sources.get(file, "").split("\n")
        return Place(file, line, column, lines[line - 1].rstrip("\r") if 0 < line <= len(lines) else "")

    def manifest(self, path: Path, key: bool = True) -> Place:
        """The place of a key (or of its value) in template.yaml, such as ("parameters", "app-port", "default").

        Of its nearest parent where it is not there.
        """
        return manifest_place(self.template, path, key=key)

    def search(self, file: str, text: str, first: int = 1) -> Place:
        """The place at which a text stands in a file, from line `first` on; the file as a whole where it does not."""
        for number, line in enumerate(self.sources.get(file, "").split("\n"), 1):
            column = line.find(text)
            if column >= 0 and number >= first:
                return self.line_place(file, number, column + 1)
        return Place(file)

    def finding(self, message: str, file: str, offset: int, help: str = "", **fields: Any) -> Finding:  # noqa: A002
        """What is wrong at an offset of a file that is rendered."""
        return Finding(message, self.template.program.place(file, offset), help, **fields)
