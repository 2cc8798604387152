"""From inputs to templates: the whole way, to be read as a table of contents, and what the templates are called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from injector.authoring.importing.find import Config, find
from injector.authoring.importing.folder import Imported, folder_of
from injector.authoring.importing.inherit import read_whole
from injector.authoring.importing.mounted_files import deliver, unused
from injector.authoring.importing.sidecar import Sidecar
from injector.authoring.importing.source import RULE
from injector.authoring.lint.pod_schema import SchemasMissingError
from injector.diagnostics import Diagnostic, Place
from injector.spelling import legal_name, shortened, template_name


def template_names(sidecars: Sequence[Sidecar], problems: list[Diagnostic]) -> list[str]:
    """A name for each, all different. Where there is none, that is among the problems, and the name is "".

    A config that calls itself something is asked for by that name, so it decides.
    """
    stems = [legal_name(s.config.name) for s in sidecars]
    taken: dict[str, Config] = {}
    names = []
    for sidecar, stem in zip(sidecars, stems, strict=True):
        config = sidecar.config
        if sidecar.name:
            name = template_name(sidecar.name)
            name = name if name == legal_name(name) else ""
        else:
            shared = [other for other, s in zip(sidecars, stems, strict=True) if s == stem and not other.name]
            name = stem if len(shared) == 1 else _apart(stem, sidecar, shared)
        if not name:
            message = "no template can be called after this config; give it a name with --name"
            problems.append(config.source.problem((*config.steps, "name"), message))
        elif name in taken:
            other = taken[name].source.place(taken[name].steps)
            message = f"the config at {other} would be template {shortened(name)[1:-1]} as well; rename one of the two"
            problems.append(config.source.problem((*config.steps, "name"), message))
        taken.setdefault(name, config)
        names.append(name)
    return names


def _apart(stem: str, sidecar: Sidecar, shared: Sequence[Sidecar]) -> str:
    """A name among configs of one stem: with their ConfigMaps', or else with a number."""
    config_map = sidecar.config.config_map
    if config_map and sum(s.config.config_map == config_map for s in shared) == 1:
        return legal_name(f"{config_map}-{stem}")
    number = next(i for i, s in enumerate(shared, 1) if s is sidecar)
    return legal_name(stem if number == 1 else f"{stem}-{number}") if stem else ""


_NO_SCHEMAS = Diagnostic(
    RULE,
    "error",
    "it needs Kubernetes' own schemas, to say what is wrong with a config (the package kubernetes-validate): "
    "pip install 'sidecar-injector[lint]'",
)


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The templates, all or none: none where something is an error. The problems are in the order of the inputs."""

    templates: tuple[Imported, ...]
    problems: tuple[Diagnostic, ...]


def import_configs(inputs: Iterable[tuple[str, bytes]], name: str = "") -> ImportResult:
    """Templates of all sidecar configs in some inputs, each a name as a person would call it and its bytes.

    `name` is that of the one template; with more than one config it is an error. Reads nothing but what configs
    inherit from, and writes nothing.
    """
    found = find(inputs)
    problems = found.problems
    sidecars: list[Sidecar] = []
    for config in found.configs:
        try:
            sidecar = read_whole(config, problems)
        except SchemasMissingError:
            return ImportResult((), (_NO_SCHEMAS,))
        if sidecar is not None and sidecar.empty:
            message = "nothing in this config is for pods; no template is made of it"
            problems.append(config.source.problem(config.steps, message, severity="warning"))
        elif sidecar is not None:
            sidecars.append(sidecar)
    if name and len(sidecars) > 1:
        problems.append(
            Diagnostic(
                RULE, "error", f"there are {len(sidecars)} configs, and one name for them", place=Place("--name")
            )
        )
        names = [name] * len(sidecars)
    else:
        names = [name] if name and sidecars else template_names(sidecars, problems)
        problems += [
            _not_found(sidecar, name) for sidecar in sidecars if name and template_name(sidecar.name or name) != name
        ]
    templates = []
    for sidecar, called in zip(sidecars, names, strict=True):
        if called and not _refused(problems):
            made = folder_of(called, sidecar, deliver(sidecar, found.files, problems), problems)
            templates += [made] if made is not None else []
    if not _refused(problems):
        problems += unused(found.files, sidecars)
        if not templates:
            problems.append(Diagnostic(RULE, "error", "no sidecar config was found"))
    return ImportResult(() if _refused(problems) else tuple(templates), _in_order(problems))


def _not_found(sidecar: Sidecar, name: str) -> Diagnostic:
    config = sidecar.config
    message = f"pods that ask for {shortened(sidecar.name)} do not find it as {name}; leave --name out, or change them"
    return config.source.problem((*config.steps, "name"), message, severity="warning")


def _in_order(problems: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Problems, each once, file by file and line by line."""
    once = list({(p.place, p.severity, *p.fields.values()): p for p in reversed([*problems])}.values())[::-1]
    files = list(dict.fromkeys(problem.place.file for problem in once))
    return tuple(sorted(once, key=lambda p: (files.index(p.place.file), p.place.line, p.place.column)))


def _refused(problems: Iterable[Diagnostic]) -> bool:
    return any(problem.severity == "error" for problem in problems)
