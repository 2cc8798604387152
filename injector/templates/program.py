"""A template's sources, checked and compiled: each file that is rendered becomes a `Root`."""

from __future__ import annotations

import marshal
import re
from collections.abc import Callable, Iterable, Mapping, Set
from copy import copy
from dataclasses import dataclass, field, replace
from types import CodeType
from typing import Any, NoReturn

from jinja2 import BaseLoader, Template as JinjaTemplate, TemplateSyntaxError, nodes
from jinja2.environment import Environment as JinjaEnvironment

from injector.caches import Memo
from injector.diagnostics import Place
from injector.errors import TemplateError
from injector.names import cut, hint, respelling
from injector.templates import syntax
from injector.templates.dependencies import (
    ASSIGNABLE,
    CONTAINER,
    NAMES,
    REVIEW_NAMES,
    Facts,
    NamePath,
    NamePaths,
    normal_paths,
    shortest_paths,
)
from injector.templates.environment import FUNCTIONS, Environment
from injector.templates.expression_errors import (
    ForbiddenError,
    UnknownNameError,
    deepest,
    explain_jinja,
    not_declared,
    undefined,
)
from injector.templates.quoted_places import BARE, END, START
from injector.templates.source_map import Tagged, Tags, begin_with_first, expression_at, normal, place_at, word_at
from injector.templates.structure import CLOSE, OPEN, TAG, Structure
from injector.templates.yaml_errors import TAB, dash_before, joined_lines, tab_in

_RESERVED = re.compile(f"[{OPEN}{CLOSE}{TAG}{START}{END}{BARE}]")
_DOCUMENTS = (".yaml.j2", ".yml.j2", ".json.j2")
#: Of a root that reads more parameters than these, all parameters are the key: faster, and they rarely differ.
_PARAMS_ONE_BY_ONE = 3
#: Ways through a template whose own reads are their key; that of all others is everything that it may read.
_WAYS = 8
_NO_LOOP = "in place of the loop write a filter, such as first, last, select, map, sum or join"
_STRUCTURES = 2 * 1024 * 1024
_RENDERS = 2 * 1024 * 1024


def is_document(source: str) -> bool:
    """Whether a source renders YAML or JSON, by its name; everything else is a text file."""
    return source.endswith(_DOCUMENTS)


def is_config_source(source: str) -> bool:
    """Whether a source is rendered for a program by its name; by convention the name of a file of macros is `_x.j2`."""
    return source != "overlay.yaml.j2" and not source.startswith("_")


@dataclass(frozen=True, slots=True)
class Root:
    """A file that is rendered, with all that it includes.

    `reads` are the paths into the template's names that decide what comes out: nothing else can. `key` are those under
    which it is remembered. `syntax` is that of a text file, "" where it is not known.
    """

    source: str
    document: bool
    syntax: str
    template: JinjaTemplate
    reads: NamePaths
    key: NamePaths
    names: tuple[str, ...]
    structures: Memo[Structure] = field(default_factory=lambda: Memo(_STRUCTURES))
    #: What came out, by the values of what that render read, and what else can be told from it.
    renders: Memo[Any] = field(default_factory=lambda: Memo(_RENDERS))
    #: What renders were seen to read, each a part of `key`: a few, as a template has few ways through it.
    ways: list[NamePaths] = field(default_factory=list)
    #: What the texts of a document hold, each as the one item of a tuple; None where nobody asks for it.
    values: Memo[tuple[Any]] | None = None

    def way(self, paths_read: Set[NamePath]) -> tuple[int, NamePaths]:
        """The number of a render's way through the template, found by what it read, and all paths that matter on it."""
        way = shortest_paths({path for path in self.key if path[0] == "params"} | paths_read, frozenset(self.names))
        if way not in self.ways:
            if len(self.ways) >= _WAYS:
                way = self.key
            if way not in self.ways:
                self.ways.append(way)
        return self.ways.index(way), way


class Program:
    """All roots of a template."""

    def __init__(
        self,
        name: str,
        sources: Mapping[str, str],
        roots: Mapping[str, str],
        parameters: Iterable[str],
        origin: str,
    ) -> None:
        """Check and compile. `roots` are the sources that are rendered, with their syntax (see `Root`).

        `parameters` are their names in templates. Raises TemplateError with its place.
        """
        self._begin(name, origin, {file: normal(text) for file, text in sources.items()}, frozenset(parameters))
        for file, text in self._sources.items():
            reserved = _RESERVED.search(text)
            if reserved:
                self._refuse(
                    file,
                    ForbiddenError(
                        "the characters U+FDD0 to U+FDD2 are for the injector's own use", reserved.start() + 1
                    ),
                )
        self.roots = {source: self._root(source, of_text) for source, of_text in roots.items()}

    def _begin(self, name: str, origin: str, sources: dict[str, str], parameters: frozenset[str]) -> None:
        self._name, self._origin, self._sources, self._parameters = name, origin, sources, parameters
        self._environments: dict[bool, tuple[Environment, _Loader]] = {}
        self._tagging: dict[bool, tuple[Environment, Tags]] = {}

    def __getstate__(self) -> Any:
        """What was checked and compiled; the code is that of this version of Python alone."""
        code = {
            document: {file: marshal.dumps(code) for file, code in loader.code.items()}
            for document, (_, loader) in self._environments.items()
        }
        roots = [(r.source, r.document, r.syntax, r.reads, r.key, r.names) for r in self.roots.values()]
        return (self._name, self._origin, self._sources, self._parameters), code, roots

    def __setstate__(self, state: Any) -> None:
        begun, code, roots = state
        self._begin(*begun)
        for document, files in code.items():
            _, loader = self._environment(document)
            loader.code |= {file: marshal.loads(dump) for file, dump in files.items()}  # noqa: S302  our own dump
        self.roots = {
            source: Root(source, document, of_text, self._environment(document)[0].get_template(source), *remembered)
            for source, document, of_text, *remembered in roots
        }

    def remembering(self, size: int) -> Program:
        """This program for a tool that renders one template again and again: it remembers `size` bytes of each kind.

        A root is rendered anew only where something differs that it reads.
        """
        program = copy(self)
        program.roots = {
            source: replace(root, key=root.reads, structures=Memo(size), renders=Memo(size), ways=[], values=Memo(size))
            for source, root in self.roots.items()
        }
        return program

    @property
    def names(self) -> frozenset[str]:
        """The names, such as `object`, that the template reads and does not give a value itself."""
        return frozenset(name for root in self.roots.values() for name in root.names)

    @property
    def review_names(self) -> tuple[str, ...]:
        """Those of them that are of the review itself, such as `user`; sorted."""
        return tuple(sorted(REVIEW_NAMES & self.names))

    def may_read(self, *path: str) -> bool:
        """Whether something at this path into the names decides what comes out: `may_read("request", "userInfo")`."""
        reads = (read for root in self.roots.values() for read in root.reads)
        return any(read[: len(path)] == path[: len(read)] for read in reads)

    def tagged(self, root: Root, variables: Mapping[str, Any]) -> Tagged:
        """The root rendered once more, so that it is known where each character came from. Raises what that raises."""
        if root.document not in self._tagging:
            tags = Tags()

            def parse(environment: Environment, loader: _Loader, source: str) -> nodes.Template:
                tree = self._parse(environment, loader, source)
                tags.tag(tree, source, self._sources[source])
                return tree

            environment = Environment(document=root.document)
            environment.loader = _Loader(parse)
            self._tagging[root.document] = environment, tags
        environment, tags = self._tagging[root.document]
        return Tagged(environment.get_template(root.source), tags, variables, root.syntax)

    def place(self, file: str, offset: int | None, word: str = "") -> Place:
        """The place of an offset in a file, or of a word in the expression there; of the file where it is None."""
        if offset is None or file not in self._sources:
            return Place(file)
        text = self._sources[file]
        return place_at(file, text, word_at(text, offset, word) if word else offset)

    def joined_lines(self, file: str, offset: int, message: str) -> tuple[str, tuple[str, int]]:
        """A mistake of YAML there, or what is wrong, and where, if tags join lines there; see `yaml_errors`."""
        text = self._sources[file]
        joined = joined_lines(text, offset) or (dash_before(text, offset) + message, offset)
        return joined[0], (file, joined[1])

    def expression(self, file: str, offset: int | None) -> str:
        """The text of the expression that begins at an offset of a file."""
        return "" if offset is None else expression_at(self._sources.get(file, ""), offset)

    def parameters_at(self, file: str, offset: int | None) -> tuple[str, ...]:
        """The parameters, by their names in templates, in the expression that begins at an offset of a file."""
        names = re.findall(r"\bparams\.(\w+)", self.expression(file, offset))
        return tuple(name for name in dict.fromkeys(names) if name in self._parameters)

    # ------------------------------------------------------------------------------------------- compiling

    def _root(self, source: str, of_text: str) -> Root:
        document = is_document(source)
        environment, loader = self._environment(document)
        self._compile(environment, source)
        used = self._reachable(environment, loader, source)
        if document and (tab := tab_in(self._sources[source])) is not None:
            self._refuse(source, ForbiddenError(TAB, tab + 1, rule="yaml"))
        shared = set().union(*(loader.facts[f].assigned for f in used))
        beyond_loops = set().union(*(loader.facts[f].beyond_loops for f in used))
        reads: set[NamePath] = set()
        for file in used:
            facts = loader.facts[file]
            # a file that others include sees what those have set
            self._check_names(file, loader, shared if file != source else facts.lasting, beyond_loops)
            if facts.warns and source != "overlay.yaml.j2":
                self._refuse(file, ForbiddenError("warn() is for overlay.yaml.j2 only", facts.warns))
            each = facts.names.get(CONTAINER)
            if each is not None and CONTAINER not in shared and source != "overlay.yaml.j2":
                self._refuse(file, ForbiddenError(f"{CONTAINER} is for overlay.yaml.j2 only", each))
            reads.update(normal_paths(facts.reads))
        # of the names of a review, one that the template gives a value is its own
        read = shortest_paths(reads, NAMES - (ASSIGNABLE & shared))
        names = tuple(sorted({path[0] for path in read}))
        many = sum(path[0] == "params" for path in read) > _PARAMS_ONE_BY_ONE
        key = shortest_paths({*read, ("params",)}, frozenset(names)) if many else read
        return Root(source, document, of_text, environment.get_template(source), read, key, names)

    def _environment(self, document: bool) -> tuple[Environment, _Loader]:
        if document not in self._environments:
            environment, loader = Environment(document=document), _Loader(self._parse)
            environment.loader = loader
            self._environments[document] = environment, loader
        return self._environments[document]

    def _check_names(self, file: str, loader: _Loader, visible: Set[str], beyond_loops: Set[str]) -> None:
        """Refuse names, parameters and macros that a file uses and that are not there."""
        facts = loader.facts[file]
        missing = loader.undeclared[file] - NAMES - visible - FUNCTIONS.keys()
        for code, name in sorted((facts.names.get(name, 0), name) for name in missing):
            if name in facts.assigned and name in facts.outside:
                text = (
                    f"`{name}` has a value only inside the loop or macro that sets it, not here; move this "
                    "expression into that loop or macro"
                )
                self._refuse(file, UnknownNameError(text, facts.outside[name], word=name))
            names = NAMES | set(FUNCTIONS) | facts.assigned
            line, expression = self.place(file, code - 1).text, self.expression(file, code - 1)
            self._refuse(file, undefined(name, code, line, expression, names, self._parameters))
        for name in sorted((loader.undeclared[file] & facts.assigned & facts.outside.keys()) - beyond_loops):
            text = f"`{name}` is set within a loop, and has no value after it; {_NO_LOOP}"
            self._refuse(file, UnknownNameError(text, facts.outside[name], word=name))
        for parameter, code in facts.params.items():
            if parameter not in self._parameters:
                text = not_declared(parameter, self.expression(file, code - 1), self._parameters)
                fields = respelling(parameter, self._parameters)
                self._refuse(file, UnknownNameError(text, code, word=parameter, fields=fields))
        for (imported, name), code in facts.imports.items():
            lasting = loader.facts[imported].lasting
            if name not in lasting:
                text = f"{imported} has no macro `{name}`{hint(name, lasting, 'it has')}"
                self._refuse(file, UnknownNameError(text, code, word=name, fields=respelling(name, lasting)))

    def _reachable(self, environment: Environment, loader: _Loader, source: str) -> list[str]:
        reachable = [source]
        for file in reachable:
            self._compile(environment, file)
            reachable += [f for f in loader.facts[file].includes if f not in reachable]
        return reachable

    def _compile(self, environment: Environment, source: str) -> None:
        try:
            environment.get_template(source)
        except TemplateSyntaxError as error:
            file = error.name or source
            self._refuse(file, explain_jinja(error.message or "", self._sources[file], error.lineno - 1))
        except ForbiddenError as error:
            self._refuse(source, error)
        except (RecursionError, SyntaxError):  # of Python's own parser, which compiles what Jinja made
            self._refuse(
                source,
                ForbiddenError(
                    "expressions or blocks are nested too deep", deepest(self._sources[source]) + 1, rule="limit"
                ),
            )

    def _parse(self, environment: Environment, loader: _Loader, source: str) -> nodes.Template:
        tree = environment.parse(self._sources[source], source)
        begin_with_first(tree)
        files = frozenset(f for f in self._sources if f.endswith(".j2"))
        loader.facts[source] = syntax.restrict_tree(tree, document=environment.document, files=files)
        return tree

    def _refuse(self, file: str, error: ForbiddenError) -> NoReturn:
        place = self.place(file, error.code - 1 if error.code else None, error.word)
        raise TemplateError(
            self._name,
            cut(error.message) + ("" if error.rule == "yaml" else in_comment(place)),
            place,
            rule=error.rule,
            origin=self._origin,
            help=error.help,
            fields=error.fields,
            mistake=error.mistake,
        ) from None


def in_comment(place: Place) -> str:
    """What to add to a message about a hole in a comment of YAML's, or of most other files."""
    commented = re.match(r"\s*#(?!\})", place.text)
    return "; {{ }} in a # comment is rendered as well, {{ }} in {# ... #} is not" if commented else ""


class _Loader(BaseLoader):
    """Hands Jinja compiled files, from trees that have been checked."""

    def __init__(self, parse: Callable[[Environment, _Loader, str], nodes.Template]) -> None:
        self._parse = parse
        self.code: dict[str, CodeType] = {}
        self.facts: dict[str, Facts] = {}
        self.undeclared: dict[str, set[str]] = {}

    def load(self, environment: JinjaEnvironment, name: str, globals: Any = None) -> JinjaTemplate:  # noqa: A002
        """The compiled file of a name."""
        if not isinstance(environment, Environment):
            raise TypeError("this loader serves the injector's own environment")
        if name not in self.code:
            tree = self._parse(environment, self, name)
            self.code[name], self.undeclared[name] = environment.compiled(tree, name)
        return JinjaTemplate.from_code(environment, self.code[name], globals or {})
