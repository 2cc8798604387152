"""What a `required` namespace guarantees: the final pod holds what its templates ask for, its sidecars nothing else.

The guard compares the pod with what the templates ask for by themselves, not with a merge into the pod: a merge lets
the pod's author win, and a receipt can be forged.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from injector.diagnostics import Diagnostic
from injector.names import shown_value
from injector.pods.context import Object
from injector.pods.defaults import TOKEN_PATH, is_token_mount, is_token_volume, mismatches
from injector.pods.fields import CONTAINER, CONTAINER_LISTS, POD, SPEC, Field
from injector.pods.keyed_pointers import escape, step_of, steps_of
from injector.pods.merge_differences import SHOWN, difference_at, is_below, may_be_secret

#: Fields of a sidecar that only say where it runs; the injector itself puts it into one list or the other.
_PLACING = frozenset({"restartPolicy"})


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
    actual: Object,
    expected: Object,
    overridable: Mapping[str, Collection[str]],
    *,
    app: Collection[str],
    replaced: Collection[str] = (),
) -> tuple[Diagnostic, ...]:
    """What the pod lacks of its sidecars, or changes or adds in them; empty when all is well.

    `actual` is the pod as it is to run; `expected` the overlays merged into `skeleton(actual, app)`; `overridable`
    gives, by container name, the fields that the pod may set; `app` names the app's containers; `replaced` are all
    `Merged.replaced` of those merges.

    - A sidecar is there, by name in either list, and equal but for overridable fields, defaults (see `defaults`) and
      the service account token's mount. Native where it is expected to be: it keeps running.
    - A volume is there with the same source; in app containers variables, mounts and ports are there and equal.
    - What a `!replace` insists on holds. Every other field is there; its value may be the pod's own.
    """
    found = list(_everything(actual, expected, overridable, app))
    insisted = frozenset(replaced)
    differences = []
    for pointer, have, wanted, strict in found:
        other_shape = type(wanted) in (dict, list) and type(have) is not type(wanted)
        if strict or have is None or other_shape or is_below(pointer, insisted):
            differences.append(_difference(pointer, have, wanted))
    return tuple(dict.fromkeys(differences))


#: Keyed pointer, actual value (None: absent), expected value (None: must not be there), whether the values must agree.
_Found = tuple[str, Any, Any, bool]


def _everything(
    actual: Object, expected: Object, overridable: Mapping[str, Collection[str]], app: Collection[str]
) -> Iterator[_Found]:
    actual_spec, expected_spec = actual.get("spec"), expected.get("spec")
    have_spec: Object = actual_spec if type(actual_spec) is dict else {}
    want_spec: Object = expected_spec if type(expected_spec) is dict else {}
    for pointer, have, wanted in mismatches(
        actual.get("metadata") or {}, expected.get("metadata") or {}, POD.fields["metadata"], "/metadata", exact=False
    ):
        yield pointer, have, wanted, False
    named = {field: _by_name(have_spec, field) for field in (*CONTAINER_LISTS, "volumes")}
    for field in CONTAINER_LISTS:
        for container in _items(want_spec, field):
            name = str(container.get("name"))
            here = f"/spec/{field}/{escape(name)}"
            if name in app:
                yield from _patched(named[field].get(name), container, here)
            else:
                yield from _sidecar(named, field, container, here, overridable.get(name, ()))
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


def _sidecar(
    named: Mapping[str, Mapping[str, Object]], field: str, wanted: Object, here: str, overridable: Collection[str]
) -> Iterator[_Found]:
    name = str(wanted.get("name"))
    places = (field, *(other for other in ("initContainers", "containers") if other != field))
    place = next((place for place in places if name in named[place]), None)
    if place is None:
        yield here, None, wanted, True
        return
    have, in_init = named[place][name], place == "initContainers"
    runs_on = have.get("restartPolicy") == "Always" if in_init else True
    should_run_on = field == "containers" or wanted.get("restartPolicy") == "Always"
    if runs_on != should_run_on:
        yield f"{here}/restartPolicy", have.get("restartPolicy"), wanted.get("restartPolicy"), True
    leave = _PLACING.union(overridable)
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


def _patched(have: Object | None, wanted: Object, here: str) -> Iterator[_Found]:
    """What `"*"` brings to a container of the app."""
    for name, value in wanted.items():
        if name == "name":
            continue
        mine = have.get(name) if have is not None else None
        pointer, field = f"{here}/{escape(name)}", CONTAINER.fields[name]
        if field.aligned:
            by_step: dict[str, list[Any]] = {}
            for item in mine if type(mine) is list else ():
                by_step.setdefault(step_of(item, field), []).append(item)
            for item, step in zip(value, steps_of(value, field), strict=True):
                yield from _element(by_step.get(step, ()), item, field, f"{pointer}/{escape(step)}")
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


def _items(spec: Object, field: str) -> list[Object]:
    items = spec.get(field)
    return [item for item in items if type(item) is dict] if type(items) is list else []


def _by_name(spec: Object, field: str) -> dict[str, Object]:
    """The items of a list by their names; of two of a name the first."""
    found: dict[str, Object] = {}
    for item in _items(spec, field):
        if type(name := item.get("name")) is str:
            found.setdefault(name, item)
    return found


def _difference(pointer: str, have: Any, wanted: Any) -> Diagnostic:
    if may_be_secret(pointer):
        return difference_at(pointer, "it is missing" if have is None else "it is not what the template has")
    if have is None:
        said = f"it is missing; the template has {shown_value(wanted, SHOWN)}"
    elif wanted is None:
        said = f"the pod has {shown_value(have, SHOWN)}; the template has nothing"
    else:
        said = f"the pod has {shown_value(have, SHOWN)}; the template has {shown_value(wanted, SHOWN)}"
    return difference_at(pointer, said, value=have, template=wanted)
