"""What an injection is told besides the pod: its namespace, the request, the cluster; and how objects are read."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

#: A JSON object, such as one of Kubernetes' or a part of it. Treated as immutable everywhere: functions return new ones
#: that share parts.
Object = dict[str, Any]
#: A JSON list, likewise.
Items = list[Any]
_NOTHING: Object = {}


def mapping(value: object) -> dict[Any, Any]:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else _NOTHING


def mapping_at(owner: Mapping[str, Any], field: str) -> dict[Any, Any]:
    """The mapping in a field; an empty one where there is none."""
    value = owner.get(field)
    return value if isinstance(value, dict) else _NOTHING


def sequence(value: object) -> Items:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def mappings(value: object) -> list[Object]:
    """The mappings in a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def mappings_at(owner: Mapping[str, Any], field: str) -> list[Object]:
    """The mappings of the list in a field."""
    return mappings(owner.get(field))


def as_list(value: Any) -> Items:
    """The value if it is a list, else a list of it."""
    return value if isinstance(value, list) else [value]


def filled(fields: Object) -> Object:
    """The fields that say something."""
    return {key: value for key, value in fields.items() if value}


def without(fields: Object, names: Collection[Any]) -> Object:
    """The fields that have other names than these."""
    return {key: value for key, value in fields.items() if key not in names}


def string_field(value: object) -> str:
    """The value if it is a string, else ""."""
    return value if isinstance(value, str) else ""


def list_items(value: object) -> Items | None:
    """The items of a `List`, `PodList`, ... (a kind of that ending, with `items`); None for what is no list.

    As for kubectl, one that says neither its kind nor its apiVersion has those of the list:
    https://github.com/kubernetes/apimachinery/blob/master/pkg/apis/meta/v1/unstructured/helpers.go
    """
    owner = mapping(value)
    kind, items = string_field(owner.get("kind")), owner.get("items")
    if not kind.endswith("List") or not isinstance(items, list):
        return None
    own = {"kind": kind.removesuffix("List"), "apiVersion": owner.get("apiVersion")}
    if not own["kind"]:
        return items
    bare = [isinstance(item, dict) and own.keys().isdisjoint(filled(item)) for item in items]
    return [{**item, **own} if inherits else item for item, inherits in zip(items, bare, strict=True)]


def objects_of(value: object) -> Iterator[Object]:
    """The objects of a document's value: itself, or each item of a List, of Lists within Lists as well."""
    if (items := list_items(value)) is not None:
        for item in items:
            yield from objects_of(item)
    elif isinstance(value, dict):
        yield value


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace as far as injection cares.

    `quotas` are its ResourceQuota objects and `limit_ranges` its LimitRange objects, whole, as plain dicts;
    empty where they are not known. `limit_ranges_known`: that these are all that it has. `team_templates` are the
    names and resource versions of its ConfigMaps that are templates, oldest first.
    """

    name: str
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    quotas: tuple[Object, ...] = ()
    limit_ranges: tuple[Object, ...] = ()
    limit_ranges_known: bool = False
    team_templates: tuple[tuple[str, str], ...] = ()


#: The oldest Kubernetes that the injector works with: the first whose matchConditions are stable.
OLDEST = (1, 30)


@dataclass(frozen=True, slots=True)
class Cluster:
    """The cluster that the pod is for: API server version as (major, minor) and DNS domain."""

    version: tuple[int, int] = (1, 36)
    domain: str = "cluster.local"


class Request(msgspec.Struct, frozen=True):
    """What is being asked: as in an AdmissionReview's request, with the values of a plain pod creation as default."""

    operation: str = "CREATE"
    resource: str = "pods"
    group: str = ""
    sub_resource: str = ""
    dry_run: bool = False
    version: str = "v1"

    @property
    def whole_resource(self) -> str:
        """The resource with what of it is asked about: `pods`, or `pods/ephemeralcontainers`."""
        return f"{self.resource}/{self.sub_resource}" if self.sub_resource else self.resource


class Workload(msgspec.Struct, frozen=True):
    """The workload that a pod belongs to, as its author knows it: `Deployment web`, not its ReplicaSet.

    `owner` is the ownerReference of the pod's controller (what a generated ConfigMap is owned by), or None.
    """

    kind: str
    name: str
    owner: Object | None = None
    #: Whether the pods will say so too. Of a manifest it may not be known what will own the pods that come of it.
    settled: bool = True
