"""The whole way from inputs to templates, step by step, and the names of the templates.

A config may inherit from another file: it gets the other's parts, those of the same name replaced by its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from injector.authoring.importing.folder import Imported, folder_of
from injector.authoring.importing.sidecar import Sidecar, read_sidecar
from injector.authoring.importing.sidecar_overlay import deliver, unused
from injector.authoring.importing.source import LIMIT, LISTS, RULE, Config, Teller, find_configs
from injector.authoring.lint.pod_schema import INSTALL_SCHEMAS, SchemasMissingError
from injector.diagnostics import Diagnostic, Place
from injector.names import legal_name, shortened, template_name
from injector.pods.context import Object
from injector.pods.fields import OBJECT
from injector.pods.keyed_pointers import step_of

#: What to do where no config is found.
_NEW = "a config has containers or volumes at its top; to start a template of your own, run injector new NAME"


def template_names(sidecars: Sequence[Sidecar], problems: list[Diagnostic]) -> list[str]:
    """A name for each, all different. Where there is none, that is among the problems, and the name is "".

    Pods ask for a config with a `name` by that name, so the template gets it too.
    """
    first_by_name: dict[str, Config] = {}
    names = []
    for sidecar in sidecars:
        config, stem = sidecar.config, legal_name(sidecar.config.name)
        if sidecar.name:
            name = template_name(sidecar.name)
            name = name if name == legal_name(name) else ""
        else:
            shared = [s for s in sidecars if not s.name and legal_name(s.config.name) == stem]
            name = stem if len(shared) == 1 else _apart(stem, sidecar, shared)
        if not name:
            message = "this config gives no valid template name; set one with --name"
            problems.append(config.source.problem((*config.steps, "name"), message))
        elif name in first_by_name:
            first = first_by_name[name].source.place(first_by_name[name].steps)
            message = f"the config at {first} would also become template {shortened(name)[1:-1]}; rename one of the two"
            problems.append(config.source.problem((*config.steps, "name"), message))
        first_by_name.setdefault(name, config)
        names.append(name)
    return names


def _apart(stem: str, sidecar: Sidecar, shared: Sequence[Sidecar]) -> str:
    """A name for one of several configs with the same stem: with its ConfigMap's name in front, or a number behind."""
    config_map = sidecar.config.config_map
    if config_map and sum(s.config.config_map == config_map for s in shared) == 1:
        return legal_name(f"{config_map}-{stem}")
    number = next(i for i, s in enumerate(shared, 1) if s is sidecar)
    return legal_name(stem if number == 1 else f"{stem}-{number}") if stem else ""


_NO_SCHEMAS = Diagnostic(
    RULE,
    "error",
    f"injector import checks configs with Kubernetes' own schemas, which are not installed; run {INSTALL_SCHEMAS}",
)


class ImportResult(NamedTuple):
    """The templates, all or none: none where something is an error. The problems are in the order of the inputs."""

    templates: tuple[Imported, ...]
    problems: tuple[Diagnostic, ...]


def import_configs(inputs: Iterable[tuple[str, bytes]], name: str = "") -> ImportResult:
    """Templates of all sidecar configs in some inputs. Each input is a name as a person would call it, and its bytes.

    `name` is that of the one template; with more than one config it is an error. Reads nothing but what configs
    inherit from, and writes nothing.
    """
    configs = find_configs(inputs)
    problems = configs.problems
    try:
        sidecars = _sidecars(configs.configs, problems)
    except SchemasMissingError:
        return ImportResult((), (_NO_SCHEMAS,))
    if not name:
        names = template_names(sidecars, problems)
    else:
        names = [name] * len(sidecars)
        problems += _name_problems(sidecars, name)
    templates = []
    for sidecar, template in zip(sidecars, names, strict=True):
        if not _refused(problems):
            imported = folder_of(template, sidecar, deliver(sidecar, configs.files, problems), problems)
            if imported is not None:
                templates.append(imported)
    if not _refused(problems):
        problems += unused(configs.files, sidecars)
        if not templates:
            problems.append(Diagnostic(RULE, "error", "no sidecar config was found", _NEW))
    return ImportResult(() if _refused(problems) else tuple(templates), _in_order(problems))


def _sidecars(configs: Iterable[Config], problems: list[Diagnostic]) -> list[Sidecar]:
    """The sidecars of configs that add something to pods. Raises SchemasMissingError."""
    sidecars = []
    for sidecar in filter(None, (read_whole(config, problems) for config in configs)):
        if sidecar.empty:
            config = sidecar.config
            message = "this config adds nothing to pods, so no template is made from it"
            problems.append(config.source.problem(config.steps, message, severity="warning"))
        else:
            sidecars.append(sidecar)
    return sidecars


def _name_problems(sidecars: Sequence[Sidecar], name: str) -> Iterator[Diagnostic]:
    """What is wrong with one name for all: there is more than one config, or pods ask for it by another name."""
    if len(sidecars) > 1:
        yield Diagnostic(RULE, "error", f"there are {len(sidecars)} configs; leave --name out", place=Place("--name"))
        return
    for sidecar in sidecars:
        if template_name(sidecar.name or name) != name:
            effect = f"pods that ask for {shortened(sidecar.name)} do not get this template"
            yield sidecar.config.source.problem(
                (*sidecar.config.steps, "name"),
                f"with --name {name}, {effect}; leave --name out, or change the name in the pods",
                severity="warning",
            )


def _in_order(problems: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Problems, each once, file by file and line by line."""
    once = list({(p.place, p.severity, *p.fields.values()): p for p in reversed([*problems])}.values())[::-1]
    files = list(dict.fromkeys(problem.place.file for problem in once))
    return tuple(sorted(once, key=lambda p: (files.index(p.place.file), p.place.line, p.place.column)))


def _refused(problems: Iterable[Diagnostic]) -> bool:
    return any(problem.severity == "error" for problem in problems)


#: How many files may inherit from each other in a row.
_DEEPEST = 10


def read_whole(config: Config, problems: list[Diagnostic], before: tuple[Path, ...] = ()) -> Sidecar | None:
    """The sidecar of a config with all that it inherits; None where that cannot be said, and the problems say why."""
    sidecar = read_sidecar(config, problems)
    if sidecar is None or not sidecar.inherits:
        return sidecar
    teller = Teller(config, problems)
    if config.folder is None:
        teller.warn(
            ("inherits",),
            "`inherits` works only in local config files. It is ignored here; your old injector ignores it as well",
        )
        return sidecar
    base = _base(config.folder / sidecar.inherits, teller, problems, before)
    return None if base is None else _merged(base, sidecar)


def _base(path: Path, teller: Teller, problems: list[Diagnostic], before: tuple[Path, ...]) -> Sidecar | None:
    """The sidecar of the file that another inherits from."""
    name = os.path.normpath(path)
    try:
        real = path.resolve()
        if real in before or len(before) >= _DEEPEST:
            teller.tell(
                ("inherits",), f"{shortened(name)} inherits from itself, or the chain of `inherits` is too long"
            )
            return None
        with path.open("rb") as file:
            data = file.read(LIMIT + 1)
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        teller.tell(("inherits",), f"{shortened(name)} cannot be read: {reason}; name a file beside this one")
        return None
    configs = find_configs([(name, data)])
    problems += configs.problems
    if len(configs.configs) != 1:
        teller.tell(
            ("inherits",),
            f"{shortened(name)} has {len(configs.configs)} sidecar configs; `inherits` needs a file with exactly one",
        )
        return None
    return read_whole(configs.configs[0], problems, (*before, real))


def _merged(base: Sidecar, own: Sidecar) -> Sidecar:
    spec = {**base.spec, **own.spec}
    for name in LISTS:
        if name in base.spec and name in own.spec:
            spec[name] = _joined(base.spec[name], own.spec[name], name)
    return Sidecar(
        own.config,
        own.name,
        "",
        spec,
        {key: {**base.metadata.get(key, {}), **own.metadata.get(key, {})} for key in {**base.metadata, **own.metadata}},
        _joined(base.env, own.env, "env"),
        _joined(base.mounts, own.mounts, "volumeMounts"),
        own.service_account or base.service_account,
    )


def _joined(base: list[Object], own: list[Object], name: str) -> list[Object]:
    """The base's elements in their order; own elements replace those with the same name, the others are added."""
    joined: dict[str, Object] = {}
    for item in (*base, *own):
        # mounts are told apart by their volume
        key = str(item.get("name")) if name == "volumeMounts" else step_of(item, OBJECT.fields[name])
        hosts = [*joined.get(key, {}).get("hostnames", ()), *item.get("hostnames", ())]
        joined[key] = item
        if name == "hostAliases":
            joined[key] = {**item, "hostnames": list(dict.fromkeys(hosts))}
    return list(joined.values())
