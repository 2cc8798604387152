"""What the templates of some configs are called: as the configs call themselves, or as their files or keys are."""

from __future__ import annotations

from collections.abc import Sequence

from injector.authoring.importing.find import Config
from injector.authoring.importing.sidecar import Sidecar
from injector.templates.problem import Problem
from injector.templates.spelling import legal_name, shortened, template_name


def names_of(sidecars: Sequence[Sidecar], problems: list[Problem]) -> list[str]:
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
