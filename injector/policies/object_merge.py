"""Filling in: an overlay and an object of any kind become the object with what it lacks.

Pods have a merge of their own, which knows by which key the items of each list differ. Of other kinds nothing is known:
maps are filled in, and a list, as any other value, belongs whole to one side. What the object's author wrote stays.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from injector.diagnostics import Diagnostic
from injector.errors import InjectionError
from injector.pods.context import Object
from injector.pods.differences import Differences
from injector.pods.keyed_pointers import escape, path_of
from injector.pods.overlay import Overlay, Replace, holds_replace, plain
from injector.pods.patch import same
from injector.reasons import Reason


def merge_object(
    obj: Object, overlay: Overlay, defaults: Collection[str] = ()
) -> tuple[Object, tuple[Diagnostic, ...]]:
    """An object with everything of the overlay that it lacks, and each place where the template disagrees.

    The same object where it lacks nothing. `Replace` overwrites; `Replace` of None removes.
    A null of the object counts as lacking, as it does for Kubernetes. Messages contain no values: they may be secret.
    `defaults` are pointers to places where the object may have another value, and no difference is reported. Raises
    InjectionError with Reason.CONFLICT where the object has another shape than the overlay.
    """
    differences = Differences(())
    differences.silent.update(defaults)
    return _mapping(obj, overlay, "", differences), tuple(differences.found)


def _mapping(have: Object, overlay: Overlay, at: str, differences: Differences) -> Object:
    result = have
    for field, value in overlay.items():
        mine = have.get(field)
        new = _value(mine, value, f"{at}/{escape(field)}", differences)
        if new is mine or (new is None and field not in have):
            continue
        result = dict(have) if result is have else result
        if new is None:
            del result[field]
        else:
            result[field] = new
    return result


def _value(have: Any, overlay: Any, pointer: str, differences: Differences) -> Any:
    if type(overlay) is Replace:
        new = plain(overlay)
        return have if same(new, have) else new
    if have is None:
        if type(overlay) is dict and holds_replace(overlay):  # nothing to take away: no empty mapping in its place
            return _mapping({}, overlay, pointer, differences) or have
        return plain(overlay)
    if type(overlay) is dict:
        if type(have) is not dict:
            raise InjectionError(
                Reason.CONFLICT,
                "the template has a mapping here, and the object has another type",
                path=path_of(pointer),
            )
        return _mapping(have, overlay, pointer, differences)
    if not same(have, plain(overlay)):
        differences.report(pointer, "the object's value stays; the template has another value")
    return have
