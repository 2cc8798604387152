"""A config that inherits from another file: the other's parts, those of the same name replaced by its own."""

from __future__ import annotations

import os
from pathlib import Path

from injector.authoring.importing.config_fields import LISTS
from injector.authoring.importing.find import Config, find
from injector.authoring.importing.sidecar import Sidecar, read_sidecar
from injector.authoring.importing.source import LIMIT
from injector.authoring.importing.teller import Teller
from injector.diagnostics import Diagnostic
from injector.pods.fields import OBJECT
from injector.pods.merge_keys import step_of
from injector.spelling import shortened

#: How many files may inherit from each other in a row.
_DEEPEST = 10


def read_whole(config: Config, problems: list[Diagnostic], before: tuple[Path, ...] = ()) -> Sidecar | None:
    """The sidecar of a config with all that it inherits; None where that cannot be said, and the problems say why."""
    sidecar = read_sidecar(config, problems)
    if sidecar is None or not sidecar.inherits:
        return sidecar
    told = Teller(config, problems)
    if config.folder is None:
        message = "inherits is followed in files only, so it is left out; that injector does the same"
        told.warn(("inherits",), message)
        return sidecar
    base = _base(config.folder / sidecar.inherits, told, problems, before)
    return None if base is None else _merged(base, sidecar)


def _base(path: Path, told: Teller, problems: list[Diagnostic], before: tuple[Path, ...]) -> Sidecar | None:
    """The sidecar of the file that another inherits from."""
    name = os.path.normpath(path)
    try:
        real = path.resolve()
        if real in before or len(before) >= _DEEPEST:
            told.tell(("inherits",), f"{shortened(name)} inherits from itself, or from too many in a row")
            return None
        with path.open("rb") as file:
            data = file.read(LIMIT + 1)
    except (OSError, ValueError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or error
        told.tell(("inherits",), f"{shortened(name)} cannot be read: {why}; name a file beside this one")
        return None
    found = find([(name, data)])
    problems += found.problems
    if len(found.configs) != 1:
        told.tell(("inherits",), f"{shortened(name)} has {len(found.configs)} sidecar configs; it takes one")
        return None
    return read_whole(found.configs[0], problems, (*before, real))


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
        _joined(base.mounts, own.mounts, "name"),
        own.service_account or base.service_account,
    )


def _joined(base: list[dict[str, object]], own: list[dict[str, object]], name: str) -> list[dict[str, object]]:
    """The base's elements in their order, those that the own ones name replaced, and the others behind."""
    if name == "name":  # mounts: they are told apart by their volume
        found = {str(item.get("name")): item for item in base}
        return list({**found, **{str(item.get("name")): item for item in own}}.values())
    if name == "hostAliases":
        joined: dict[str, dict[str, object]] = {}
        for item in (*base, *own):
            hosts = [*joined.get(str(item.get("ip")), {}).get("hostnames", ()), *item.get("hostnames", ())]  # type: ignore[misc]
            joined[str(item.get("ip"))] = {**item, "hostnames": list(dict.fromkeys(hosts))}
        return list(joined.values())
    return list({step_of(item, OBJECT.fields[name]): item for item in (*base, *own)}.values())
