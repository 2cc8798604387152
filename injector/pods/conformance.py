"""What a `required` namespace guarantees: the final pod holds what its templates ask for, its sidecars nothing else.

The guard compares the pod with what the templates ask for by themselves, not with a merge into the pod: a merge lets
the pod's author win, and a receipt can be forged. Order is compared where Kubernetes gives it a meaning: variables
refer to those before them, and of two sources of variables the later one counts.
https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from injector.budget import charge
from injector.diagnostics import Diagnostic
from injector.names import shown_value
from injector.pods.context import Object, mapping, mapping_at, mappings_at, sequence, without
from injector.pods.differences import (
    SHOWN,
    TOKEN_PATH,
    ResourceDefaults,
    difference_at,
    is_below,
    is_token_mount,
    is_token_volume,
    may_be_secret,
    mismatches,
)
from injector.pods.env_order import reordered_variables
from injector.pods.fields import CONTAINER, CONTAINER_LISTS, POD, SPEC, Field
from injector.pods.keyed_pointers import PointerIndex, escape, in_pod, mount_path, step_of, steps_of
from injector.pods.overlay import Item, with_items
from injector.pods.receipt import Receipt

_CONTAINERS = ("/spec/containers/", "/spec/initContainers/")


class Permitted(NamedTuple):
    """What a pod of a `required` namespace may hold beyond what its templates make.

    `overridable` gives, by container name, the fields that the pod may set. `app` names the app's containers. `private`
    gives, by volume name, the containers that alone mount it. `resources` are what LimitRanges fill in; None allows any
    amounts. With `resized` these may also replace the amounts that a template sets. `defaults` are keyed pointers at
    which the pod has to have a value, and may have any.
    """

    app: Collection[str]
    overridable: Mapping[str, Collection[str]] = {}
    private: Mapping[str, Collection[str]] = {}
    resources: ResourceDefaults | None = None
    resized: bool = False
    defaults: Collection[str] = ()


def parts_of_containers(receipt: Receipt) -> list[str]:
    """The keyed pointers of the containers, and parts of containers, by which a pod is known that has an injection:
    these are as they were when it was created. Empty for an injection that brings none.
    """
    return [part for part in (*receipt.added, *receipt.guaranteed) if part.startswith(_CONTAINERS)]


def lacks_parts(pod: Object, parts: Iterable[str]) -> bool:
    """Whether a pod lacks one of these."""
    places = PointerIndex(pod)
    return any(all(places.at(place) is None for place in in_pod([part], pod, ())) for part in parts)


def skeleton(pod: Object, app: Collection[str]) -> Object:
    """A pod with no more than what templates build upon: the app containers' names, `spec.os` and `spec.resources`.

    Merge all overlays into it, in order, to get the `expected` pod of `protected_differences`.
    """
    spec = mapping_at(pod, "spec")
    bare = {field: spec[field] for field in ("os", "resources") if field in spec}
    for field in CONTAINER_LISTS:
        names = [{"name": c["name"]} for c in _items(spec, field) if type(c.get("name")) is str and c["name"] in app]
        if names:
            bare[field] = names
    return {"spec": bare}


def protected_differences(
    actual: Object,
    expected: Object,
    permitted: Permitted,
    *,
    replaced: Collection[str],
    appended: Mapping[str, Sequence[Item]] = MappingProxyType({}),
) -> tuple[Diagnostic, ...]:
    """What the pod lacks of its sidecars, or changes or adds in them; empty when all is well.

    `actual` is the pod as it is to run; `expected` the overlays merged into `skeleton(actual, app)`; `replaced` are all
    `Merged.replaced` of those merges, and `appended` all `Merged.appended`.

    - A sidecar is there and equal but for overridable fields, defaults (see `defaults`), what LimitRanges fill in and
      the service account token's mount. Native where it is expected to be, or else a plain container that the pod
      restarts whenever it ends; a native one will do for a plain one.
    - A volume is there with the same source; in app containers variables, mounts and ports are there and equal. No
      other container mounts a private volume, except where the template says so.
    - No variable before one of the template's changes what that one refers to.
    - The value of each `!replace` is there, and each item of an `!append`. Every other field is there; its value may be
      the pod's own.
    """
    insisted = frozenset(replaced)
    differences = []
    for finding in _everything(actual, expected, permitted):
        if isinstance(finding, Diagnostic):
            differences.append(finding)
            continue
        pointer, have, expected_value, strict = finding
        items = appended.get(pointer, ())
        is_default = is_below(pointer if have is not None else pointer.rpartition("/")[0], permitted.defaults)
        if _holds(have, None if is_default else expected_value, items) if items else is_default:
            continue
        other_shape = type(expected_value) in (dict, list) and type(have) is not type(expected_value)
        if strict or items or have is None or other_shape or is_below(pointer, insisted):
            differences.append(_difference(pointer, have, expected_value))
    return tuple(dict.fromkeys(differences))


def _holds(have: Any, expected: str | None, items: Sequence[Item]) -> bool:
    """Whether a text has all items. What else the templates put there, but for a default (None), stands before them."""
    if type(have) is not str or expected in (with_items("", items), None):
        return type(have) is str and all(item.is_in(have) for item in items)
    return have.startswith(f"{expected}{items[-1].separator}")


#: Keyed pointer, actual value (None: absent), expected value (None: must not be there), whether the values must agree.
_Found = tuple[str, Any, Any, bool]
_Findings = Iterator[_Found | Diagnostic]


def _everything(actual: Object, expected: Object, permitted: Permitted) -> _Findings:
    have_spec, want_spec = mapping_at(actual, "spec"), mapping_at(expected, "spec")
    for difference in mismatches(
        actual.get("metadata") or {}, expected.get("metadata") or {}, POD.fields["metadata"], "/metadata", exact=False
    ):
        yield *difference, False
    parts = {field: _by_name(have_spec, field) for field in (*CONTAINER_LISTS, "volumes")}
    restarted = have_spec.get("restartPolicy", "Always") == "Always"
    for field in CONTAINER_LISTS:
        for container in _items(want_spec, field):
            name = str(container.get("name"))
            container_pointer = f"/spec/{field}/{escape(name)}"
            if name in permitted.app:
                yield from _patched(parts[field].get(name), container, container_pointer)
            else:
                yield from _sidecar(parts, field, container, container_pointer, permitted, restarted=restarted)
    yield from _fields(have_spec, want_spec)
    if permitted.private:
        yield from _intruders(have_spec, want_spec, permitted)


def _fields(have_spec: Object, want_spec: Object) -> _Findings:
    """The differences outside of containers."""
    for field, expected in want_spec.items():
        if field in CONTAINER_LISTS:
            continue
        exact = field == "volumes"
        differing = mismatches(have_spec.get(field), expected, SPEC.fields[field], f"/spec/{field}", exact=exact)
        for pointer, have, expected_value in differing:
            if not exact or expected_value is not None or pointer.count("/") > 3:  # other volumes are the pod's own
                yield pointer, have, expected_value, exact


def _sidecar(
    parts: Mapping[str, Mapping[str, Object]],
    field: str,
    expected: Object,
    pointer: str,
    permitted: Permitted,
    restarted: bool,
) -> _Findings:
    name = str(expected.get("name"))
    overridable = permitted.overridable.get(name, ())
    place = next((place for place in (field, "initContainers", "containers") if name in parts[place]), None)
    if place is None:
        yield pointer, None, expected, True
        return
    have = parts[place][name]
    kind = _kind(have, in_init=place == "initContainers")
    expected_kind = _kind(expected, in_init=field == "initContainers")
    lasts = kind == _NATIVE or (kind == _PLAIN and restarted)
    if kind != expected_kind and not (lasts and expected_kind in (_NATIVE, _PLAIN)):
        yield difference_at(
            f"/spec/{place}/{escape(name)}",
            f"the container is {kind}; the template has {expected_kind}",
            value=kind,
            template=expected_kind,
        )
    leave = {"restartPolicy", *overridable}
    if "resources" not in leave:
        yield from _extra_amounts(have, expected, pointer, permitted)
        if permitted.resized:
            have, expected = _without_amounts(have), _without_amounts(expected)
    if "env" not in leave:
        yield from reordered_variables(_items(have, "env"), _items(expected, "env"), pointer)
    if "envFrom" not in leave:
        yield from _reordered_sources(have, expected, pointer)
    mine = without(have, leave)
    theirs = without(expected, leave)
    for difference in mismatches(mine, theirs, CONTAINER, pointer, exact=True):
        yield *difference, True
    yield from _own_tokens(have, expected, parts["volumes"], pointer)
    yield from _unset(have, expected, overridable, pointer)


def _unset(have: Object, expected: Object, overridable: Collection[str], pointer: str) -> _Findings:
    """Fields that a pod may set as it likes, but has to set."""
    for name in expected.keys() & set(overridable):
        if have.get(name) is None and not CONTAINER.fields[name].means_nothing(expected[name]):
            yield f"{pointer}/{escape(name)}", None, expected[name], True


def _extra_amounts(have: Object, expected: Object, pointer: str, permitted: Permitted) -> _Findings:
    """Requests and limits that neither the template nor a LimitRange sets."""
    if permitted.resources is None:
        return
    for side, resource in permitted.resources.strangers(have.get("resources"), expected.get("resources")):
        yield f"{pointer}/resources/{side}/{escape(resource)}", have["resources"][side][resource], None, True


def _own_tokens(have: Object, expected: Object, volumes: Mapping[str, Object], pointer: str) -> _Findings:
    """Mounts at the place of the ServiceAccount plugin's, which are let through, with a token of the author's own."""
    expected_mounts = [mount for mount in _items(expected, "volumeMounts") if mount.get("mountPath") == TOKEN_PATH]
    for mount in _items(have, "volumeMounts"):
        if is_token_mount(mount) and mount not in expected_mounts and not is_token_volume(volumes.get(mount["name"])):
            yield f"{pointer}/volumeMounts/{escape(TOKEN_PATH)}", mount, None, True


_NATIVE, _PLAIN = "a native sidecar", "a plain container"


def _kind(container: Object, in_init: bool) -> str:
    """What Kubernetes takes a container for, by its list and its restart policy."""
    policy = container.get("restartPolicy")
    if in_init:
        return _NATIVE if policy == "Always" else "an init container"
    return f"{_PLAIN} with restartPolicy {shown_value(policy, SHOWN)}" if policy not in (None, "Always") else _PLAIN


def _without_amounts(container: Object) -> Object:
    resources = container.get("resources")
    if type(resources) is not dict:
        return container
    return {**container, "resources": without(resources, ("limits", "requests"))}


def _reordered_sources(have: Object, expected: Object, pointer: str) -> Iterator[Diagnostic]:
    """The first of the template's sources of variables that stands in the pod before one which it should follow."""
    field = CONTAINER.fields["envFrom"]
    last = {step_of(source, field): position for position, source in enumerate(_items(have, "envFrom"))}
    furthest = -1
    for source in _items(expected, "envFrom"):
        position = last.get(step_of(source, field), furthest)  # one that is missing is named elsewhere
        if position < furthest:
            yield difference_at(f"{pointer}/envFrom", "the entries of envFrom are not in the template's order")
            return
        furthest = position


def _intruders(have_spec: Object, want_spec: Object, permitted: Permitted) -> _Findings:
    """Mounts of a template's private volumes in containers that are not its own, and do not have them from it."""
    for field in CONTAINER_LISTS:
        expected = {str(container.get("name")): container for container in _items(want_spec, field)}
        for container in _items(have_spec, field):
            name = str(container.get("name"))
            for mounts, key in (("volumeMounts", "mountPath"), ("volumeDevices", "devicePath")):
                theirs = None
                for mount in _items(container, mounts):
                    volume, path = mount.get("name"), mount.get(key)
                    if type(volume) is not str or name in permitted.private.get(volume, (name,)):
                        continue
                    if theirs is None:  # in an app's container: what `"*"` gives it, compared elsewhere
                        ours = _items(expected.get(name, {}), mounts) if name in permitted.app else []
                        theirs = {(item.get("name"), mount_path(item.get(key))) for item in ours}
                    if type(path) is not str or (volume, mount_path(path)) not in theirs:
                        yield f"/spec/{field}/{escape(name)}/{mounts}/{escape(path)}", mount, None, True


def _patched(have: Object | None, expected: Object, container_pointer: str) -> _Findings:
    """What `"*"` brings to a container of the app."""
    if have is not None:
        yield from reordered_variables(_items(have, "env"), _items(expected, "env"), container_pointer)
        yield from _reordered_sources(have, expected, container_pointer)
    for name, value in expected.items():
        if name == "name":
            continue
        mine = mapping(have).get(name)
        pointer, field = f"{container_pointer}/{escape(name)}", CONTAINER.fields[name]
        if field.aligned:
            by_step: dict[str, list[Any]] = {}
            items, steps = sequence(mine), steps_of(value, field)
            charge(len(items))
            for item in items:
                by_step.setdefault(step_of(item, field), []).append(item)
            for item, step in zip(value, steps, strict=True):
                yield from _element(by_step.get(step, ()), item, field, f"{pointer}/{escape(step)}")
            if name == "volumeMounts":
                yield from _covering(by_step, steps, pointer)
        else:
            for difference in mismatches(mine, value, field, pointer, exact=False):
                yield *difference, False


def _element(same_key: Sequence[Any], expected: Any, field: Field, pointer: str) -> _Findings:
    """One variable, mount or port; all that have its key must agree: of two variables of a name the last one counts."""
    if not same_key:
        yield pointer, None, expected, True
    for item in same_key:
        for difference in mismatches(item, expected, field.element, pointer, exact=True):
            yield *difference, True


def _covering(have: Mapping[str, Sequence[Any]], expected: Sequence[str], pointer: str) -> _Findings:
    """The pod's own mounts inside the template's: they hide a part of what the template mounts."""
    ours = set(expected)
    deepest = max((path.count("/") for path in ours), default=0)
    for path, mounts in have.items():
        steps = path.split("/", deepest + 1)
        inside = path not in ours and any("/".join(steps[:end]) in ours for end in range(2, len(steps)))
        if inside and not all(map(is_token_mount, mounts)):
            yield f"{pointer}/{escape(path)}", mounts[-1], None, True


def _items(spec: Object, field: str) -> list[Object]:
    items = mappings_at(spec, field)
    charge(len(items))
    return items


def _by_name(spec: Object, field: str) -> dict[str, Object]:
    """The items of a list by their names; of two of a name the first."""
    by_name: dict[str, Object] = {}
    for item in _items(spec, field):
        if type(name := item.get("name")) is str:
            by_name.setdefault(name, item)
    return by_name


def _difference(pointer: str, have: Any, expected: Any) -> Diagnostic:
    if may_be_secret(pointer):
        return difference_at(pointer, "it is missing" if have is None else "it differs from the template's value")
    mine, theirs = ("nothing" if value is None else shown_value(value, SHOWN) for value in (have, expected))
    return difference_at(pointer, f"the pod has {mine}; the template has {theirs}", value=have, template=expected)
