"""Where two pods differ: the differences that mean nothing, and a short sentence about each of the others.

A pod that was injected comes back, on reinvocation and at the validating guard, with defaults filled in, zero values
gone and quantities rewritten. Sources: `fields.RULES`, and the LimitRanger and ServiceAccount admission plugins.

The ServiceAccount plugin mounts the token into every container, the LimitRanger fills in requests and limits. Both run
again after a webhook changed the pod, but not after the webhook's second call.
https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec

from injector.budget import SMALL, charge
from injector.diagnostics import Diagnostic
from injector.errors import InjectionError
from injector.names import shown_value
from injector.pods.context import Items, Object, mapping, mapping_at
from injector.pods.fields import CONTAINER_LISTS, Field
from injector.pods.keyed_pointers import escape, item_fault, mount_path, path_of, step_of, steps_of
from injector.pods.quantity import parse_quantity
from injector.reasons import Reason

#: Where the ServiceAccount admission plugin mounts the token in every container.
TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105

#: What the ServiceAccount plugin projects into its volume, and what OpenShift puts behind it.
_SOURCES = [
    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
    {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
    {
        "downwardAPI": {
            "items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]
        }
    },
]
_OF_OPENSHIFT = {
    "configMap": {"name": "openshift-service-ca.crt", "items": [{"key": "service-ca.crt", "path": "service-ca.crt"}]}
}


Mismatches = Iterator[tuple[str, Any, Any]]


def mismatches(actual: Any, expected: Any, field: Field, pointer: str, exact: bool) -> Mismatches:
    """Where `actual` does not say what `expected` says: (keyed pointer, actual value, wanted value); absent is None.

    `field` is the place that both stand at. With `exact` what `actual` says beyond `expected` counts too, unless it is
    a default that Kubernetes fills in.
    """
    if actual is expected:
        return
    kind = type(expected)
    if kind is dict and type(actual) is dict:
        yield from _in_map(actual, expected, field, pointer, exact)
    elif kind is list and type(actual) is list:
        yield from _in_list(actual, expected, field, pointer, exact)
    elif not _equal(actual, expected, field):
        yield pointer, actual, expected


def says_the_same(actual: Any, expected: Any, field: Field) -> bool:
    """Whether two values at a place say the same, no more and no less."""
    return next(mismatches(actual, expected, field, "", exact=True), None) is None


def _in_map(actual: Object, expected: Object, field: Field, pointer: str, exact: bool) -> Mismatches:
    if len(actual) + len(expected) > SMALL:
        charge(len(actual) + len(expected))
    for key, value in expected.items():
        have = actual.get(key)
        if have is value:
            continue
        below = field.fields[key]
        if have is not None:
            yield from mismatches(have, value, below, f"{pointer}/{escape(key)}", exact)
        elif not below.means_nothing(value) and not below.is_default(value):
            yield f"{pointer}/{escape(key)}", None, value
    if exact:
        for key, have in actual.items():
            if expected.get(key) is None and not may_be_filled_in(field.fields[key], have, actual):
                yield f"{pointer}/{escape(key)}", have, None


def _in_list(actual: Items, expected: Items, field: Field, pointer: str, exact: bool) -> Mismatches:
    if not field.aligned:
        charge(len(expected))
        pairs = zip(actual, expected, strict=False)
        if len(actual) != len(expected) or not all(says_the_same(a, b, field.element) for a, b in pairs):
            yield pointer, actual, expected
        return
    have_at = dict(zip(steps_of(actual, field), actual, strict=True))
    want_at = dict(zip(steps_of(expected, field), expected, strict=True))
    for step, value in want_at.items():
        element_pointer = f"{pointer}/{escape(step)}"
        if step in have_at:
            yield from mismatches(have_at[step], value, field.element, element_pointer, exact)
        else:
            yield element_pointer, None, value
    if exact:
        for step, have in have_at.items():
            if step not in want_at and not (field.name == "volumeMounts" and is_token_mount(have)):
                yield f"{pointer}/{escape(step)}", have, None


def may_be_filled_in(field: Field, value: Any, beside: Object) -> bool:
    """Whether Kubernetes itself may have put this value into a field that nobody set.

    `beside` is the object that holds it: with the node's network a container port becomes its host port.
    """
    if field.filled_in or field.means_nothing(value) or value == {} or field.is_default(value):
        return True
    if field.name == "resources":
        return type(value) is dict and "claims" not in value
    if field.name == "volumeMounts":
        return type(value) is list and all(is_token_mount(mount) for mount in value)
    return field.address == "ContainerPort.hostPort" and value == beside.get("containerPort")


def united(have: Items, values: Items, field: Field) -> Items:
    """A list that grows, with those of the values that none in it says; the same list if there are none."""
    alike: dict[str, Items] = {}  # what says the same is the same without what Kubernetes fills in
    for old in have:
        alike.setdefault(step_of(without_fillings(old, field.element), field), []).append(old)
    new = []
    for value in values:
        same = alike.get(step_of(without_fillings(value, field.element), field), ())
        if not any(says_the_same(old, value, field.element) for old in same):
            new.append(value)
    if not new:
        return have
    # of two sources for one variable the last wins, and that must be the pod's
    return new + have if field.name == "envFrom" else have + new


def without_fillings(value: Any, field: Field, within: Callable[[Any, Field], Any] | None = None) -> Any:
    """A value without what Kubernetes itself may have put into it or written in another way, quantities among that.

    The result is the same for a part as it was sent and as it comes back. `field` is the place that it stands at.
    `within` does the same for what it holds.
    """
    within = within or without_fillings
    kind = type(value)
    if (kind is dict or kind is list) and len(value) > SMALL:
        charge(len(value))
    if kind is dict:
        return {
            key: within(item, below)
            for key, item in value.items()
            if not (below := field.fields[key]).holds_quantities and not may_be_filled_in(below, item, value)
        }
    if kind is list:
        return [
            within(item, field.element) for item in value if not (field.name == "volumeMounts" and is_token_mount(item))
        ]
    return value


def is_token_mount(mount: Any) -> bool:
    """Whether this is the service account token's mount as the ServiceAccount plugin adds it to every container."""
    return (
        type(mount) is dict
        and mount.get("mountPath") == TOKEN_PATH
        and str(mount.get("name")).startswith("kube-api-access-")
        and not mount.keys() - {"name", "mountPath", "readOnly"}
    )


def is_token_volume(volume: Any) -> bool:
    """Whether a volume is the one that the ServiceAccount plugin makes: its sources, to the word.

    The plugin takes each volume whose name has its prefix for its own, even if an author wrote the volume.
    https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/#bound-service-account-token-volume
    """
    projected = mapping_at(mapping(volume), "projected")
    return (
        mapping(volume).keys() == {"name", "projected"}
        and not projected.keys() - {"sources", "defaultMode"}
        and projected.get("defaultMode", 0o644) == 0o644
        and projected.get("sources") in (_SOURCES, [*_SOURCES, _OF_OPENSHIFT])
    )


class ResourceDefaults(NamedTuple):
    """The amounts that a namespace's LimitRanges fill in, by resource: each possible one, as any may act first."""

    requests: dict[str, set[Decimal]]
    limits: dict[str, set[Decimal]]

    def strangers(self, have: Any, expected: Any) -> Iterator[tuple[str, str]]:
        """The parts of a container's `resources` that neither the template nor a LimitRange sets: field and resource.

        If nobody sets a request and there is a limit, the request is the limit.
        """
        have, expected = mapping(have), mapping(expected)
        limits = mapping_at(have, "limits")
        for kind, filled in (("limits", self.limits), ("requests", self.requests)):
            template_amounts = mapping_at(expected, kind)
            for resource, amount in mapping_at(have, kind).items():
                if template_amounts.get(resource) is not None:
                    continue
                limit = limits.get(resource) if kind == "requests" else None
                if not _is_one_of(amount, filled.get(resource, ()), limit):
                    yield kind, resource


def _is_one_of(amount: Any, amounts: Collection[Decimal], limit: Any) -> bool:
    try:
        quantity = parse_quantity(amount)
        return quantity in amounts or (limit is not None and quantity == parse_quantity(limit))
    except ValueError:
        return False


def _equal(actual: Any, expected: Any, field: Field) -> bool:
    equal = type(actual) is type(expected) and actual == expected
    if equal or (field.means_nothing(expected) and field.means_nothing(actual)):
        return True
    if field.name in ("mountPath", "subPath"):
        return bool(mount_path(actual) == mount_path(expected))
    if field.holds_quantities:
        try:
            return parse_quantity(actual) == parse_quantity(expected)
        except ValueError:
            return False
    return False


def with_plugins_additions(fresh: Object, before: Object) -> Object:
    """A pod that was made afresh, its containers with what the plug-ins had added to those of the same name before."""
    old = {c.get("name"): c for field in CONTAINER_LISTS for c in before["spec"].get(field) or []}
    spec = fresh["spec"]
    lists = {
        field: [_with(c, old[c["name"]]) if c["name"] in old else c for c in spec[field]]
        for field in CONTAINER_LISTS
        if spec.get(field)
    }
    return {**fresh, "spec": {**spec, **lists}}


def _with(container: Object, old: Object) -> Object:
    mounts = container.get("volumeMounts") or []
    token = list(filter(is_token_mount, old.get("volumeMounts") or []))
    changed: Object = {}
    if token and not any(mount.get("mountPath") == TOKEN_PATH for mount in mounts):
        changed["volumeMounts"] = [*mounts, *token]
    resources, filled = container.get("resources") or {}, old.get("resources") or {}
    both = {
        kind: {**(filled.get(kind) or {}), **(resources.get(kind) or {})}
        for kind in ("limits", "requests")
        if filled.get(kind)
    }
    if any(both[kind] != resources.get(kind) for kind in both):
        changed["resources"] = {**resources, **both}
    return {**container, **changed} if changed else container


# ------------------------------------------------------------ what is said of a difference

#: How much of a value a difference shows.
SHOWN = 24


def difference_at(pointer: str, message: str, **fields: Any) -> Diagnostic:
    """A difference at a keyed pointer; `fields` are the values there, unless they may be secret."""
    return Diagnostic("difference", "warning", message, path=path_of(pointer), fields=fields)


def may_be_secret(pointer: str) -> bool:
    """Whether the value there is one that no warning and no log line may repeat: a variable's may be a password."""
    return "/env/" in pointer


def is_below(pointer: str, parts: Collection[str]) -> bool:
    """Whether a keyed pointer is one of these parts or lies inside one."""
    while parts and pointer:
        if pointer in parts:
            return True
        pointer = pointer.rpartition("/")[0]
    return False


class Differences(msgspec.Struct):
    """Collects where the pod's value stays although the template has another.

    `claimed` are keyed pointers of parts that an earlier injection added: nothing inside them is worth reporting. Nor
    is what lies in `silent` ones, parts that a template only has a default for.
    """

    claimed: Collection[str]
    silent: set[str] = set()
    found: list[Diagnostic] = []

    def compare(self, have: Any, expected: Any, field: Field, place: str) -> None:
        """Report what of `expected` the pod's value, which stays, does not hold."""
        if field.type == "Volume" and (mine := volume_source(have)) != (theirs := volume_source(expected)):
            self.report(place, f"the pod's {mine} stays; the template has {theirs}", value=mine, template=theirs)
            return
        for pointer, actual, expected_value in mismatches(have, expected, field, place, exact=False):
            if may_be_secret(pointer):
                self.report(pointer, "the pod's value stays; the template has another value")
                continue
            mine, theirs = shown_value(actual, SHOWN), shown_value(expected_value, SHOWN)
            stays = f"the pod's {mine.removeprefix('a ')} stays"
            if actual is None:
                stays = "the pod keeps it unset"
            self.report(
                pointer,
                f"{stays}; the template has {'another' if mine == theirs else theirs}",
                value=actual,
                template=expected_value,
            )

    def report(self, pointer: str, message: str, **fields: Any) -> None:
        """Add a difference, unless that place is claimed or silent, or of a directive such as `$patch`."""
        directive = pointer.rpartition("/")[2].startswith("$")  # which no pod has
        if not directive and not is_below(pointer, self.claimed) and not is_below(pointer, self.silent):
            self.found.append(difference_at(pointer, message, **fields))


def volume_source(volume: Object) -> str:
    """The kind of a volume's source; Kubernetes makes an empty folder of one without any."""
    return next((kind for kind, value in volume.items() if kind != "name" and value is not None), "emptyDir")


def expect(have: Any, kind: type, pointer: str) -> None:
    """Raises InjectionError where the pod has another shape than an object or a list, whichever Kubernetes has."""
    if type(have) is not kind:
        need = "an object" if kind is dict else "a list"
        message = f"the pod has {shown_value(have, SHOWN)} where Kubernetes expects {need}"
        raise InjectionError(Reason.INVALID_POD, message, path=path_of(pointer))


def no_key(item: object, field: Field, pointer: str) -> InjectionError:
    """The error about an item of an overlay that the merge key of its list does not name."""
    return InjectionError(
        Reason.TEMPLATE_FAILED,
        f"an item of the overlay {item_fault(item, field)}",
        path=path_of(pointer),
        fields={"missing_keys": field.keys},
        mistake=("item", item),
    )
