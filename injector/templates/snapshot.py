"""The snapshot: settings and a catalog of templates as one immutable whole. It is built completely, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Final, Protocol

import msgspec

from injector.caches import IdentityCache, OverlayCaches
from injector.diagnostics import Diagnostic, Path, Place, Severity
from injector.errors import InjectorError, SettingsError, TemplateError
from injector.names import nearest, shortened, suggestion
from injector.pods.context import Cluster, Namespace
from injector.pods.fields import NEWEST
from injector.pods.selectors import SelectorError, check_selector, matches
from injector.settings import Settings
from injector.templates.load import load_template, relevant_sources
from injector.templates.parameter_schema import declared_parameter, similar_names
from injector.templates.parameter_values import value_of
from injector.templates.parameters import Resolved, only
from injector.templates.template import Template
from injector.templates.versions import version_problems

_SETTINGS, _NOWHERE = Place(origin="settings"), Place()
#: The texts of a template's files, by name.
Files = Mapping[str, str]
#: The code of what Kubernetes makes of a template's overlay: it drops a field, or refuses a value's type.
SCHEMA: Final = "schema"


class Trial(Protocol):
    """Tries the sources of templates by name, with where they came from: the errors of those that fail, by name. What
    there is to say of the others is added to `warnings`.
    """

    def __call__(
        self, sources: Mapping[str, Files], origins: Mapping[str, str], warnings: list[Diagnostic] | None = None, /
    ) -> Mapping[str, TemplateError]:
        """Try them."""


class Catalog:
    """Templates by name. Immutable.

    The next version of a template has no name of its own here: it stands in for a template that there is not, as when a
    version is tried alone. `refused` are the templates of a team that cannot be used, and why.
    """

    def __init__(self, templates: Iterable[Template] = (), refused: Mapping[str, TemplateError] | None = None) -> None:
        self.refused = refused or {}
        self._all = sorted(templates, key=lambda t: t.own_name)
        self._next = {t.name: t for t in self._all if t.stage is not None}
        named = self._next | {t.name: t for t in self._all if t.stage is None}
        self._templates = {name: named[name] for name in sorted(named)}
        injected = [t for t in self._templates.values() if not t.why_not_injected]
        #: The names of those that pods can be given by injection, sorted.
        self.injected_names = tuple(t.name for t in injected)
        # so that a pod costs nothing for the templates that select none
        self._selecting = tuple(t for t in injected if t.selector is not None)

    def get(self, name: str) -> Template | None:
        """The template of a name, or None."""
        return self._templates.get(name)

    def next_version(self, name: str) -> Template | None:
        """The next version of the template of a name; None where there is none, or it stands in for that template."""
        version = self._next.get(name)
        return None if version is self._templates.get(name) else version

    def matching(self, labels: Mapping[str, str], namespace: Namespace) -> tuple[Template, ...]:
        """The templates whose selector a pod's labels fulfil, of those that its namespace may use, by name."""
        return tuple(
            t
            for t in self._selecting
            if matches(t.selector, labels) and (t.namespaces is None or matches(t.namespaces, namespace.labels))
        )

    def found(self, names: Iterable[str]) -> tuple[Template, ...]:
        """The templates of these names that there are, each once, in the order of the names."""
        return tuple(self._templates[name] for name in dict.fromkeys(names) if name in self._templates)

    def missing(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of these names that no template has, each once."""
        return tuple(name for name in dict.fromkeys(names) if name not in self._templates)

    @property
    def names(self) -> tuple[str, ...]:
        """Every template's name, sorted."""
        return tuple(self._templates)

    def __iter__(self) -> Iterator[Template]:
        """Every template and every next version, by the names of their folders."""
        return iter(self._all)


class SnapshotError(InjectorError):
    """A snapshot does not build; `errors` are all the reasons, each a TemplateError or a SettingsError.

    `warnings` are those that the snapshot would have.
    """

    def __init__(self, errors: Iterable[InjectorError], warnings: Iterable[Diagnostic] = ()) -> None:
        self.errors = tuple(errors)
        self.warnings = tuple(warnings)
        super().__init__("\n".join(str(error) for error in self.errors))


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Settings, templates and cluster. `generation` names their content: the same on every replica.

    `previous` is the snapshot before, without its own; `warnings` are about settings that name what does not exist.
    """

    settings: Settings
    catalog: Catalog
    cluster: Cluster
    generation: str
    previous: Snapshot | None = None
    warnings: tuple[Diagnostic, ...] = ()
    caches: OverlayCaches = field(default_factory=OverlayCaches, compare=False, repr=False)
    #: The parameters of pods that set none, by template.
    defaults: IdentityCache[Resolved] = field(default_factory=IdentityCache, compare=False, repr=False)


def build_snapshot(
    settings: Settings,
    sources: Mapping[str, Files],
    cluster: Cluster,
    previous: Snapshot | None = None,
    *,
    origins: Mapping[str, str] | None = None,
    loaded: Iterable[Template] = (),
    trial: Trial | None = None,
    load: Callable[[str, Files, str], Template] = load_template,
) -> Snapshot:
    """A snapshot of settings and the sources of templates by name, and of where these came from, for people.

    Templates that are `loaded`, or in the previous snapshot, with the same content are taken over. `trial` tries the
    others before `load` compiles them. Raises SnapshotError with everything that is wrong.
    """
    origins = origins or {}
    before = previous.catalog if previous is not None else ()
    old = {t.own_name: t for t in (*loaded, *before)}
    fresh = {name: files for name, files in sorted(sources.items()) if not _is_same(old.get(name), files)}
    templates = [old[name] for name in sources if name not in fresh]
    earlier = () if previous is None else previous.warnings
    carried = [warning for warning in earlier if is_of_template(warning, sources.keys() - fresh.keys())]
    failed = _tried(trial, fresh, origins, cluster, carried) if trial else {}
    errors: list[InjectorError] = [one for error in failed.values() for one in error.all]
    for name in [name for name in fresh if name not in failed]:
        try:
            templates.append(load(name, fresh[name], origins.get(name, "")))
        except TemplateError as error:
            errors += error.all
    catalog = Catalog(templates)
    problems, warnings = _check_settings(settings, catalog, sources)
    warnings += carried
    errors += _split(version_problems(catalog), warnings)
    errors += [SettingsError.of("settings", problem) for problem in problems]
    if errors:
        raise SnapshotError(errors, warnings)
    generation = _generation(settings, catalog)
    if previous is not None and previous.generation == generation:
        # nothing but the cluster can differ, and the snapshot before stays the one before
        return replace(previous, cluster=cluster)
    before_this = replace(previous, previous=None) if previous is not None else None
    return Snapshot(settings, catalog, cluster, generation, before_this, tuple(warnings))


def _tried(
    trial: Trial, fresh: Mapping[str, Files], origins: Mapping[str, str], cluster: Cluster, warnings: list[Diagnostic]
) -> dict[str, TemplateError]:
    """The errors of templates that fail; a Kubernetes that is newer than those known may have what others drop."""
    failed = dict(trial(fresh, origins, warnings)) if fresh else {}
    unknown = [name for name, error in failed.items() if all(one.rule == SCHEMA for one in error.all)]
    for name in unknown if cluster.version > NEWEST else ():
        warnings += (replace(one.diagnostic, severity="warning") for one in failed.pop(name).all)
    return failed


def is_of_template(warning: Diagnostic, names: Collection[str]) -> bool:
    """Whether a warning is what a trial says of one of these templates."""
    return warning.code == SCHEMA and warning.fields["template"] in names


def _split(problems: Iterable[Diagnostic], warnings: list[Diagnostic]) -> Iterator[TemplateError]:
    """The errors among problems of templates; the others are added to `warnings`."""
    for problem in problems:
        if problem.severity == "error":
            yield TemplateError.of(problem.fields["template"], problem)
        else:
            warnings.append(problem)


def _is_same(template: Template | None, files: Files) -> bool:
    return template is not None and template.sources == relevant_sources(files)


def _generation(settings: Settings, catalog: Catalog) -> str:
    content = sha256(msgspec.json.encode(settings, order="deterministic"))
    for template in catalog:
        content.update(f"\n{template.own_name} {template.digest}{template.stage or ''}".encode())
    return content.hexdigest()[:12]


def _check_settings(
    settings: Settings, catalog: Catalog, sources: Mapping[str, object]
) -> tuple[list[Diagnostic], list[Diagnostic]]:
    """What the settings say about templates: bad values are errors, templates that do not exist (yet) are warnings."""
    problems = list(_selector_mistakes(settings))
    named: list[tuple[Path, Iterable[str]]] = [(("templates",), settings.templates)]
    named += [(("paths", path, "templates"), at.templates) for path, at in settings.paths.items()]
    named += [(("parameters", name), (name,)) for name in settings.parameters]
    names_there = {*catalog.names, *(sources.keys() - {t.own_name for t in catalog if t.stage is not None})}
    unknown = [(path, name) for path, names in named for name in names if name not in names_there]
    warnings = [_unknown("template", name, path, catalog.names, "warning") for path, name in unknown]
    for name, values in settings.parameters.items():
        template, version = catalog.get(name), catalog.next_version(name)
        if template is None:
            continue
        declared = {**(version.parameters if version else {}), **template.parameters}
        for key, value in values.items():
            path = ("parameters", name, key)
            parameter = declared_parameter(declared, key)
            if parameter is None:
                problems.append(_unknown("parameter", key, path, similar_names(declared, key), "error"))
                continue
            if "settings" not in parameter.setters:
                message, fields = f"it is ignored: {only(parameter)} may set it", {"allowed": parameter.setters}
                warnings.append(Diagnostic("parameter-not-settable", "warning", message, "", path, _SETTINGS, fields))
            one = parameter.member if parameter.member and key != parameter.name else parameter
            try:
                value_of(one, value)
            except ValueError as error:
                message, fields = f"{shortened(value)}: {error}", {"value": value}
                problems.append(
                    Diagnostic(
                        "bad-parameter",
                        "error",
                        message,
                        "",
                        path,
                        _NOWHERE,
                        fields,
                        () if one.secret else ("value", one, value, "setting "),
                    )
                )
    return problems, warnings


def _unknown(noun: str, name: str, path: Path, names: Iterable[str], severity: Severity) -> Diagnostic:
    """A name in the settings that is not a template's or no parameter's."""
    return Diagnostic(
        f"unknown-{noun}",
        severity,
        f"there is no {noun} {shortened(name)}",
        suggestion(name, names),
        path,
        _SETTINGS,
        {"value": name, "nearest": nearest(name, names)},
    )


def _selector_mistakes(settings: Settings) -> Iterator[Diagnostic]:
    """A selector with a misspelt field would select every pod."""
    for path, selector in (
        (("neverSelector",), settings.never_selector),
        (("alwaysSelector",), settings.always_selector),
        (("exemptSelector",), settings.exempt_selector),
        (("teamTemplates", "namespaces"), settings.team_templates.namespaces),
    ):
        if selector is not None:
            try:
                check_selector(selector, of_namespaces=len(path) > 1)
            except SelectorError as error:
                yield replace(error.diagnostic, path=(*path, *error.diagnostic.path))
