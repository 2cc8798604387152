"""Where two sides disagree: a short sentence and both values for each place."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from injector.diagnostics import Diagnostic
from injector.errors import InjectionError
from injector.names import shown_value
from injector.pods.context import Object
from injector.pods.defaults import mismatches
from injector.pods.fields import Field
from injector.pods.fitting import volume_source
from injector.pods.keyed_pointers import in_pod, item_fault, path_of
from injector.reasons import Reason

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


class Differences:
    """Collects where the pod's value stays although the template has another.

    `claimed` are keyed pointers of parts that an earlier injection added: nothing inside them is worth reporting. Nor
    is what lies in `silent` ones, parts that a template only has a default for.
    """

    __slots__ = ("claimed", "found", "silent")

    def __init__(self, claimed: Collection[str]) -> None:
        self.claimed = frozenset(claimed)
        self.silent: set[str] = set()
        self.found: list[Diagnostic] = []

    def compare(self, have: Any, expected: Any, field: Field, place: str) -> None:
        """Report what of `expected` the pod's value, which stays, does not hold."""
        if field.type == "Volume" and (mine := volume_source(have)) != (theirs := volume_source(expected)):
            self.report(place, f"the pod's {mine} stays; the template has {theirs}", value=mine, template=theirs)
            return
        for pointer, actual, expected_value in mismatches(have, expected, field, place, exact=False):
            if may_be_secret(pointer):
                self.report(pointer, "the pod's value stays; the template has another value")
                continue
            mine = "nothing" if actual is None else shown_value(actual, SHOWN)
            theirs = shown_value(expected_value, SHOWN)
            message = f"the pod has {mine}, which stays; the template has {'another' if mine == theirs else theirs}"
            self.report(pointer, message, value=actual, template=expected_value)

    def report(self, pointer: str, message: str, **fields: Any) -> None:
        """Add a difference, unless that place is claimed or silent, or of a directive such as `$patch`."""
        directive = pointer.rpartition("/")[2].startswith("$")  # which no pod has
        if not directive and not self.is_claimed(pointer) and not is_below(pointer, self.silent):
            self.found.append(difference_at(pointer, message, **fields))

    def leave(self, defaults: Collection[str], pod: Object, app: Collection[str]) -> None:
        """Say nothing where these keyed pointers into an overlay lead in the pod."""
        self.silent.update(in_pod(defaults, pod, app))

    def is_claimed(self, pointer: str) -> bool:
        """Whether an earlier injection added this part or one around it."""
        return is_below(pointer, self.claimed)


def no_key(item: object, field: Field, pointer: str) -> InjectionError:
    """The error about an item of an overlay that the merge key of its list does not name."""
    message, fields = f"an item of the overlay {item_fault(item, field)}", {"missing_keys": field.keys}
    path, mistake = path_of(pointer), ("item", item)
    return InjectionError(Reason.TEMPLATE_FAILED, message, path=path, fields=fields, mistake=mistake)
