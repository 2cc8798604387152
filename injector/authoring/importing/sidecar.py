"""A sidecar config, read: what of it goes into pods, checked, and a problem for whatever does not.

What those injectors refuse is an error. What they, or the API server, drop without a word is left out with a warning.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from injector.advice.field_names import clear_help
from injector.authoring.cases.document import nested_values
from injector.authoring.importing.source import (
    CONFIG_FIELDS,
    EVERYWHERE,
    LISTS,
    METADATA,
    MISTAKEN,
    ORDER,
    OTHERS,
    SWITCHES,
    Config,
    Teller,
)
from injector.authoring.lint.pod_schema import UNKNOWN_FIELD, schema_errors, versions
from injector.authoring.lint.rules.merge_rules import OF_PODS
from injector.diagnostics import Diagnostic, Path
from injector.names import KINDS, WANTED, hint, nearest, shortened
from injector.pods.context import Object
from injector.pods.fields import OBJECT, POD
from injector.pods.keyed_pointers import step_of
from injector.pods.overlay import EVERY_CONTAINER
from injector.templates.parameter_keywords import FORMATS

#: Characters that a template marks its holes with: Unicode's noncharacters are never text.
_RESERVED = re.compile("[\ufdd0-\ufdd5]")
_FIELD_TYPES: dict[str, type] = {
    **dict.fromkeys((*LISTS, *EVERYWHERE), list),
    **dict.fromkeys(METADATA, dict),
    **dict.fromkeys(SWITCHES, bool),
    **dict.fromkeys(OTHERS, str),
}


class Sidecar(NamedTuple):
    """What a config gives to pods. `name` is what it calls itself, "" for a config of the form without names.

    `spec` and `metadata` are parts of a pod. `env` and `mounts` go to every container, also of the config itself.
    """

    config: Config
    name: str
    inherits: str
    spec: Object
    metadata: Object
    env: list[Object]
    mounts: list[Object]
    service_account: str

    @property
    def containers(self) -> list[Object]:
        """Its containers, set-up first."""
        return [*self.spec.get("initContainers", ()), *self.spec.get("containers", ())]

    @property
    def empty(self) -> bool:
        """Whether pods get nothing by it."""
        return not (self.spec or self.metadata or self.env or self.mounts or self.service_account)


def read_sidecar(config: Config, problems: list[Diagnostic]) -> Sidecar | None:
    """The sidecar of a config; None, with what is wrong among the problems, where that cannot be said.

    Raises SchemasMissingError where Kubernetes' schemas are not installed.
    """
    teller = Teller(config, problems)
    if not isinstance(config.value, dict):
        teller.tell((), "a sidecar config is a mapping with `containers:`, `volumes:` and the like")
        return None
    config_fields = _without_nulls(config.value, (), teller)
    for at, value in nested_values(config_fields):
        for text in (*at[-1:], value):  # the key, and what stands behind it
            if isinstance(text, str) and (reserved := _RESERVED.search(text)):
                teller.tell(at, f"the character U+{ord(reserved[0]):04X} is not allowed in a template; remove it")
    fields = {key: value for key, value in config_fields.items() if _is_taken(key, value, teller)}
    if not teller.refused:
        fields = _checked(fields, teller)
    if not teller.refused:
        fields = {
            key: _without_duplicates(key, value, (key,), teller) if isinstance(value, list) else value
            for key, value in fields.items()
        }
        _check_pod(fields, teller)
    if teller.refused:
        return None
    apart = (*EVERYWHERE, *METADATA, *OTHERS)
    spec = {key: value for key, value in fields.items() if key not in apart and value not in ([], False)}
    return Sidecar(
        config,
        fields.get("name", ""),
        fields.get("inherits", ""),
        spec,
        {key: fields[key] for key in METADATA if fields.get(key)},
        fields.get("env", []),
        fields.get("volumeMounts", []),
        fields.get("serviceAccountName", ""),
    )


def _without_nulls(value: Any, steps: Path, teller: Teller) -> Any:
    """The value without fields that are null, as Kubernetes reads it. An item of a list must not be null."""
    if isinstance(value, dict):
        return {k: _without_nulls(v, (*steps, k), teller) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        for number, item in enumerate(value):
            if item is None:
                teller.tell((*steps, number), "this item of the list is empty; take it out")
        return [_without_nulls(v, (*steps, i), teller) for i, v in enumerate(value) if v is not None]
    return value


def _is_taken(key: str, value: Any, teller: Teller) -> bool:
    """Whether a field of the config is used; if not, a problem says why."""
    type_ = _FIELD_TYPES.get(key)
    if type_ is not None:
        if type(value) is type_:
            return True
        kind = WANTED["boolean"] if type_ is bool else KINDS[type_.__name__]
        teller.tell((key,), f"{key} is {shortened(value)}; it has to be {kind}")
        return False
    help_, taken = "", False
    alone = schema_errors({"metadata": {}, "spec": {"containers": [], key: value}}, max(versions()))
    if key in ORDER:
        message = (
            f"{key} is left out, because the order is fixed: native sidecars start before the app, and plain "
            "ones come after the app's containers"
        )
    elif key in OF_PODS:
        message = (
            f"{key} becomes spec.{key}, but in a cluster the API server has already set this field, and that "
            "value is kept"
        )
        help_, taken = "write `!replace` before its value in overlay.yaml.j2, or take it out", True
    elif all(error.path != ("spec", key) or error.code != UNKNOWN_FIELD for error in alone):
        message = f"{key} becomes spec.{key} of every pod; some injectors with such configs ignore this field"
        help_, taken = "take it out of overlay.yaml.j2 if your injector ignored it", True
    else:
        more = hint(MISTAKEN.get(key, key), CONFIG_FIELDS)
        message = f"there is no field {shortened(key)[1:-1]} in a sidecar config, so it is left out{more}"
    teller.warn((key,), message, help=help_)
    return taken


def _checked(fields: Object, teller: Teller) -> Object:
    """The fields without what Kubernetes drops; a value of a wrong type is told as an error."""
    copied = copy.deepcopy(fields)
    for error, steps in _errors(fields):
        if error.code != UNKNOWN_FIELD:
            teller.tell(steps, error.message, help=error.help, about=str(error.fields["about"]))
            continue
        name = str(error.path[-1])
        teller.warn(
            steps,
            f"there is no field `{name}` here; Kubernetes drops it, so the import leaves it out",
            help=clear_help(name, POD.at(error.path[:-1])),
        )
        owner: Any = copied
        for step in steps[:-1]:
            owner = owner[step]
        owner.pop(steps[-1], None)
    for name in METADATA:
        for key, value in fields.get(name, {}).items():
            if not isinstance(value, str):
                teller.tell(
                    (name, key), f"{name}[{key}] is {shortened(value)}; it has to be a string: put it in quotes"
                )
    return copied


def _errors(fields: Object) -> Iterator[tuple[Diagnostic, Path]]:
    """What Kubernetes' schema has against the fields, with the place in the config."""
    newest = max(versions())
    apart = (*EVERYWHERE, *METADATA, "name", "inherits")
    spec = {"containers": [], **{key: value for key, value in fields.items() if key not in apart}}
    yield from ((error, error.path[1:]) for error in schema_errors({"metadata": {}, "spec": spec}, newest))
    every: Object = {"name": "every", **{key: fields[key] for key in EVERYWHERE if key in fields}}
    errors = schema_errors({"metadata": {}, "spec": {"containers": [every]}}, newest)
    yield from ((error, error.path[3:]) for error in errors)


def _without_duplicates(name: str, items: list[Any], steps: Path, teller: Teller) -> list[Any]:
    """A list, and the lists within its items, with each key once.

    Where Kubernetes gives two of one key a meaning, that is kept: of variables the last counts, host aliases of one
    address are joined. Any other is told as an error.
    """
    inner = [_within(item, (*steps, number), teller) for number, item in enumerate(items)]
    field = OBJECT.fields[name]
    if not field.keys:
        return inner
    positions: dict[str, int] = {}
    by_key: dict[str, Any] = {}
    for number, item in enumerate(inner):
        key = step_of(item, field)
        if key not in by_key:
            by_key[key] = item
        elif name == "env":
            teller.warn((*steps, positions[key], "name"), f"variable `{key}` is defined twice; the last value is used")
            by_key.pop(key)
            by_key[key] = item
        elif name == "hostAliases":
            hosts = [*by_key[key].get("hostnames", ()), *item.get("hostnames", ())]
            by_key[key] = {**by_key[key], "hostnames": list(dict.fromkeys(hosts))}
        elif name != "imagePullSecrets":
            teller.tell((*steps, number), f"{name}: {key} is defined twice; keep one of the two")
        positions[key] = number
    return list(by_key.values())


def _within(value: Any, steps: Path, teller: Teller) -> Any:
    if not isinstance(value, dict):
        return value
    return {
        key: _without_duplicates(key, item, (*steps, key), teller)
        if isinstance(item, list)
        else _within(item, (*steps, key), teller)
        for key, item in value.items()
    }


def _check_pod(fields: Object, teller: Teller) -> None:
    """Check what an injection would not refuse: a container called `*` would stand for all containers of the app, the
    kubelet cannot read an image such as a chart's `{{ }}`, and pods have to bring volumes that the config lacks.
    """
    mounts: list[tuple[Path, Object]] = [
        (("volumeMounts", number), mount) for number, mount in enumerate(fields.get("volumeMounts", []))
    ]
    form = FORMATS["image"]
    for kind in ("initContainers", "containers"):
        for number, container in enumerate(fields.get(kind, [])):
            steps, image = (kind, number), container.get("image")
            if container.get("name") == EVERY_CONTAINER:
                teller.tell((*steps, "name"), f"a container cannot be called {EVERY_CONTAINER}")
            if image and not form.allows(image):
                teller.tell(
                    (*steps, "image"),
                    f"image {shortened(image, 80)} is not an image reference",
                    help=f"write {form.words}",
                )
            mounts += [((*steps, "volumeMounts", n), m) for n, m in enumerate(container.get("volumeMounts", []))]
    volumes = {volume.get("name") for volume in fields.get("volumes", [])}
    for at, mount in mounts if not (teller.inherits and "inherits" in fields) else ():  # the base may have it
        name = mount.get("name")
        if name not in volumes:
            near = nearest(str(name), volumes)
            volumes.add(name)
            more = f"; did you mean {near}?" if near else ""
            teller.warn((*at, "name"), f"no volume {shortened(name)} in the config, so each pod must define it{more}")
