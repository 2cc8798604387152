"""What a `required` namespace guarantees: the final pod holds what its templates ask for, its sidecars nothing else.

The guard compares the pod with what the templates ask for by themselves, not with a merge into the pod: a merge lets
the pod's author win, and a receipt can be forged. Order is compared where Kubernetes gives it a meaning: variables
refer to those before them, and of two sources of variables the later one counts.
https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from injector.budget import charge
from injector.diagnostics import Diagnostic
from injector.names import shown_value
from injector.pods.context import Object
from injector.pods.defaults import TOKEN_PATH, ResourceDefaults, is_token_mount, is_token_volume, mismatches
from injector.pods.env_order import reordered_variables
from injector.pods.fields import CONTAINER, CONTAINER_LISTS, POD, SPEC, Field
from injector.pods.keyed_pointers import escape, mount_path, step_of, steps_of
from injector.pods.merge_differences import SHOWN, difference_at, is_below, may_be_secret


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


def skeleton(pod: Object, app: Collection[str]) -> Object:
    """A pod with no more than what templates build upon: the app containers' names, `spec.os` and `spec.resources`.

    Merge all overlays into it, in order, to get the `expected` pod of `protected_differences`.
    """
    spec = pod.get("spec")
    spec = spec if type(spec) is dict else {}
    bare: Object = {field: spec[field] for field in ("os", "resources") if field in spec}
    for field in CONTAINER_LISTS:
        names = [{"name": c["name"]} for c in _items(spec, field) if type(c.get("name")) is str and c["name"] in app]
        if names:
            bare[field] = names
    return {"spec": bare}


def protected_differences(
    actual: Object, expected: Object, permitted: Permitted, *, replaced: Collection[str] = ()
) -> tuple[Diagnostic, ...]:
    """What the pod lacks of its sidecars, or changes or adds in them; empty when all is well.

    `actual` is the pod as it is to run; `expected` the overlays merged into `skeleton(actual, app)`; `replaced` are all
    `Merged.replaced` of those merges.

    - A sidecar is there and equal but for overridable fields, defaults (see `defaults`), what LimitRanges fill in and
      the service account token's mount. Native where it is expected to be, or else a plain container that the pod
      restarts whenever it ends; a native one will do for a plain one.
    - A volume is there with the same source; in app containers variables, mounts and ports are there and equal. No
      other container mounts a private volume, except where the template says so.
    - No variable before one of the template's changes what that one refers to.
    - The value of each `!replace` is there. Every other field is there; its value may be the pod's own.
    """
    insisted = frozenset(replaced)
    differences = []
    for found in _everything(actual, expected, permitted):
        if isinstance(found, Diagnostic):
            differences.append(found)
            continue
        pointer, have, wanted, strict = found
        if is_below(pointer if have is not None else pointer.rpartition("/")[0], permitted.defaults):
            continue
        other_shape = type(wanted) in (dict, list) and type(have) is not type(wanted)
        if strict or have is None or other_shape or is_below(pointer, insisted):
            differences.append(_difference(pointer, have, wanted))
    return tuple(dict.fromkeys(differences))


#: Keyed pointer, actual value (None: absent), expected value (None: must not be there), whether the values must agree.
_Found = tuple[str, Any, Any, bool]


def _everything(actual: Object, expected: Object, permitted: Permitted) -> Iterator[_Found | Diagnostic]:
    actual_spec, expected_spec = actual.get("spec"), expected.get("spec")
    have_spec: Object = actual_spec if type(actual_spec) is dict else {}
    want_spec: Object = expected_spec if type(expected_spec) is dict else {}
    for pointer, have, wanted in mismatches(
        actual.get("metadata") or {}, expected.get("metadata") or {}, POD.fields["metadata"], "/metadata", exact=False
    ):
        yield pointer, have, wanted, False
    named = {field: _by_name(have_spec, field) for field in (*CONTAINER_LISTS, "volumes")}
    restarted = have_spec.get("restartPolicy", "Always") == "Always"
    for field in CONTAINER_LISTS:
        for container in _items(want_spec, field):
            name = str(container.get("name"))
            here = f"/spec/{field}/{escape(name)}"
            if name in permitted.app:
                yield from _patched(named[field].get(name), container, here)
            else:
                yield from _sidecar(named, field, container, here, permitted, restarted=restarted)
    for field, wanted in want_spec.items():
        if field in CONTAINER_LISTS:
            continue
        found = mismatches(have_spec.get(field), wanted, SPEC.fields[field], f"/spec/{field}", exact=field == "volumes")
        for pointer, have, value in found:
            if field == "volumes":
                if value is not None or pointer.count("/") > 3:  # other volumes are the pod's own
                    yield pointer, have, value, True
            else:
                yield pointer, have, value, False
    if permitted.private:
        yield from _intruders(have_spec, want_spec, permitted)


def _sidecar(
    named: Mapping[str, Mapping[str, Object]],
    field: str,
    wanted: Object,
    here: str,
    permitted: Permitted,
    *,
    restarted: bool,
) -> Iterator[_Found | Diagnostic]:
    name = str(wanted.get("name"))
    overridable = permitted.overridable.get(name, ())
    places = (field, *(other for other in ("initContainers", "containers") if other != field))
    place = next((place for place in places if name in named[place]), None)
    if place is None:
        yield here, None, wanted, True
        return
    have = named[place][name]
    kind = _kind(have, in_init=place == "initContainers")
    asked_kind = _kind(wanted, in_init=field == "initContainers")
    kept = kind == _NATIVE or (kind == _PLAIN and restarted)
    if kind != asked_kind and not (kept and asked_kind in (_NATIVE, _PLAIN)):
        message = f"the container is {kind}; the template has {asked_kind}"
        yield difference_at(f"/spec/{place}/{escape(name)}", message, value=kind, template=asked_kind)
    leave = {"restartPolicy", *overridable}
    if "resources" not in leave and permitted.resources is not None:
        for side, resource in permitted.resources.strangers(have.get("resources"), wanted.get("resources")):
            amount = have["resources"][side][resource]
            yield f"{here}/resources/{side}/{escape(resource)}", amount, None, True
    if "resources" not in leave and permitted.resized:
        have, wanted = _without_amounts(have), _without_amounts(wanted)
    if "env" not in leave:
        yield from reordered_variables(_items(have, "env"), _items(wanted, "env"), here)
    if "envFrom" not in leave:
        yield from _reordered_sources(have, wanted, here)
    mine = {key: value for key, value in have.items() if key not in leave}
    theirs = {key: value for key, value in wanted.items() if key not in leave}
    for pointer, value, asked in mismatches(mine, theirs, CONTAINER, here, exact=True):
        yield pointer, value, asked, True
    expected = [mount for mount in _items(wanted, "volumeMounts") if mount.get("mountPath") == TOKEN_PATH]
    for mount in _items(have, "volumeMounts"):
        # Such a mount is let through as the ServiceAccount plugin's, but not with a token of the author's own.
        if not is_token_mount(mount) or mount in expected:
            continue
        if not is_token_volume(named["volumes"].get(mount["name"])):
            yield f"{here}/volumeMounts/{escape(TOKEN_PATH)}", mount, None, True
    for unset in wanted.keys() & set(overridable):  # set as it likes, but set
        if have.get(unset) is None and not CONTAINER.fields[unset].means_nothing(wanted[unset]):
            yield f"{here}/{escape(unset)}", None, wanted[unset], True


_NATIVE, _PLAIN = "a native sidecar", "a plain container"


def _kind(container: Object, *, in_init: bool) -> str:
    """What Kubernetes takes a container for, by its list and its restart policy."""
    policy = container.get("restartPolicy")
    if in_init:
        return _NATIVE if policy == "Always" else "an init container"
    return f"{_PLAIN} with restartPolicy {shown_value(policy, SHOWN)}" if policy not in (None, "Always") else _PLAIN


def _without_amounts(container: Object) -> Object:
    resources = container.get("resources")
    if type(resources) is not dict:
        return container
    return {**container, "resources": {k: v for k, v in resources.items() if k not in ("limits", "requests")}}


def _reordered_sources(have: Object, wanted: Object, here: str) -> Iterator[Diagnostic]:
    """The first of the template's sources of variables that stands in the pod before one which it should follow."""
    field = CONTAINER.fields["envFrom"]
    last = {step_of(source, field): position for position, source in enumerate(_items(have, "envFrom"))}
    furthest = -1
    for source in _items(wanted, "envFrom"):
        position = last.get(step_of(source, field), furthest)  # one that is missing is named elsewhere
        if position < furthest:
            message = "the entries of envFrom are not in the template's order"
            yield difference_at(f"{here}/envFrom", message)
            return
        furthest = position


def _intruders(have_spec: Object, want_spec: Object, permitted: Permitted) -> Iterator[_Found]:
    """Mounts of a template's private volumes in containers that are not its own, and do not have them from it."""
    for field in CONTAINER_LISTS:
        given = {str(container.get("name")): container for container in _items(want_spec, field)}
        for container in _items(have_spec, field):
            name = str(container.get("name"))
            for mounts, key in (("volumeMounts", "mountPath"), ("volumeDevices", "devicePath")):
                theirs = None
                for mount in _items(container, mounts):
                    volume, path = mount.get("name"), mount.get(key)
                    if type(volume) is not str or name in permitted.private.get(volume, (name,)):
                        continue
                    if theirs is None:  # in an app's container: what `"*"` gives it, compared elsewhere
                        ours = _items(given.get(name, {}), mounts) if name in permitted.app else []
                        theirs = {(item.get("name"), mount_path(item.get(key))) for item in ours}
                    if type(path) is not str or (volume, mount_path(path)) not in theirs:
                        yield f"/spec/{field}/{escape(name)}/{mounts}/{escape(path)}", mount, None, True


def _patched(have: Object | None, wanted: Object, here: str) -> Iterator[_Found | Diagnostic]:
    """What `"*"` brings to a container of the app."""
    if have is not None:
        yield from reordered_variables(_items(have, "env"), _items(wanted, "env"), here)
        yield from _reordered_sources(have, wanted, here)
    for name, value in wanted.items():
        if name == "name":
            continue
        mine = have.get(name) if have is not None else None
        pointer, field = f"{here}/{escape(name)}", CONTAINER.fields[name]
        if field.aligned:
            by_step: dict[str, list[Any]] = {}
            items = mine if type(mine) is list else []
            charge(len(items))
            for item in items:
                by_step.setdefault(step_of(item, field), []).append(item)
            for item, step in zip(value, steps_of(value, field), strict=True):
                yield from _element(by_step.get(step, ()), item, field, f"{pointer}/{escape(step)}")
            if name == "volumeMounts":
                yield from _covering(by_step, steps_of(value, field), pointer)
        else:
            for place, actual, asked in mismatches(mine, value, field, pointer, exact=False):
                yield place, actual, asked, False


def _element(same_key: Sequence[Any], wanted: Any, field: Field, here: str) -> Iterator[_Found]:
    """One variable, mount or port; all that have its key must agree: of two variables of a name the last one counts."""
    if not same_key:
        yield here, None, wanted, True
    for item in same_key:
        for place, actual, asked in mismatches(item, wanted, field.element, here, exact=True):
            yield place, actual, asked, True


def _covering(have: Mapping[str, Sequence[Any]], wanted: Sequence[str], here: str) -> Iterator[_Found]:
    """The pod's own mounts inside the template's: they hide a part of what the template mounts."""
    ours = set(wanted)
    deepest = max((path.count("/") for path in ours), default=0)
    for path, mounts in have.items():
        steps = path.split("/", deepest + 1)
        inside = path not in ours and any("/".join(steps[:end]) in ours for end in range(2, len(steps)))
        if inside and not all(map(is_token_mount, mounts)):
            yield f"{here}/{escape(path)}", mounts[-1], None, True


def _items(spec: Object, field: str) -> list[Object]:
    items = spec.get(field)
    if type(items) is not list:
        return []
    charge(len(items))
    return [item for item in items if type(item) is dict]


def _by_name(spec: Object, field: str) -> dict[str, Object]:
    """The items of a list by their names; of two of a name the first."""
    found: dict[str, Object] = {}
    for item in _items(spec, field):
        if type(name := item.get("name")) is str:
            found.setdefault(name, item)
    return found


def _difference(pointer: str, have: Any, wanted: Any) -> Diagnostic:
    if may_be_secret(pointer):
        return difference_at(pointer, "it is missing" if have is None else "it differs from the template's value")
    if have is None:
        said = f"it is missing; the template has {shown_value(wanted, SHOWN)}"
    elif wanted is None:
        said = f"the pod has {shown_value(have, SHOWN)}; the template has nothing"
    else:
        said = f"the pod has {shown_value(have, SHOWN)}; the template has {shown_value(wanted, SHOWN)}"
    return difference_at(pointer, said, value=have, template=wanted)
