"""The variables of a container: in which order they stand, and which may come by its `envFrom`.

`$(NAME)` in a value refers to a variable that stands before it, and `env` hides what comes by `envFrom`.

Source: Kubernetes documentation, "Define Dependent Environment Variables".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from injector.diagnostics import Diagnostic
from injector.names import shown_value
from injector.pods.context import Object, mapping
from injector.pods.differences import SHOWN, difference_at
from injector.pods.keyed_pointers import escape
from injector.pods.overlay import Append, Overlay, name_of

#: What `$(NAME)` in a variable's value stands for; `$$` is a dollar sign.
_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))")


class Cycle(NamedTuple):
    """A new variable (its step) that would have to stand before one of the pod's variables and after another one."""

    step: str
    before: str
    after: str


def variables_in(variable: Any) -> list[str]:
    """The names of the variables that a variable's value refers to, each once, in order."""
    value = variable.get("value") if type(variable) is dict else None
    if type(value) is not str or "$(" not in value:
        return []
    end = value.rfind(")") + 1  # nothing is searched behind it: that keeps the search linear
    return list(dict.fromkeys(name for name in _REFERENCE.findall(value[:end]) if name))


def with_new_variables(
    have: Sequence[Any], new: Mapping[str, Any], follows: Mapping[str, int | None]
) -> tuple[list[Any], list[Cycle]]:
    """The pod's variables, which keep their order, with new ones (by their steps) put among them.

    A new variable goes to the end, but before the pod's variables that refer to it, and before the one at the index
    that `follows` gives for it. It also stays behind those that it refers to; one that cannot goes to the end, and is
    a cycle. The new ones keep their order.
    """
    end = len(have)
    first_user, last_at, own_names = _own(have)
    latest = {}
    by_name: dict[str, int] = {}  # how late a variable of this name may stand for the new ones behind it
    for step, variable in reversed(list(new.items())):
        name = _name(variable)
        successor = follows.get(step)
        limits = (first_user.get(name, end), by_name.get(name, end), end if successor is None else successor)
        latest[step] = min(limits)
        for reference in variables_in(variable):
            by_name[reference] = min(by_name.get(reference, end), latest[step])
    cycles = []
    before: dict[int, list[Any]] = {}
    placed: dict[str, int] = {}
    for step, variable in new.items():
        behind = {
            reference: max(last_at.get(reference, -1) + 1, placed.get(reference, 0))
            for reference in variables_in(variable)
        }
        after = max(behind, key=behind.__getitem__, default="")
        at = latest[step]
        if after and at < behind[after]:
            cycles.append(Cycle(step, own_names[at], after))
            at = end
        placed[_name(variable)] = at
        before.setdefault(at, []).append(variable)
    result = [item for index, old in enumerate(have) for item in (*before.get(index, ()), old)]
    return result + before.get(end, []), cycles


def without_hiding(have: Object, overlay: Overlay) -> tuple[Overlay, list[str]]:
    """A container's overlay without what it would append to variables that may come by the container's `envFrom`, and
    the names of these.
    """
    own, kept, hiding = {_name(variable) for variable in have.get("env") or ()}, [], []
    for variable in overlay.get("env") or ():
        name = name_of(variable) or ""
        appends = type(variable) is dict and type(variable.get("value")) is Append
        if appends and name not in own and any(may_bring(source, name) for source in have["envFrom"]):
            hiding.append(name)
        else:
            kept.append(variable)
    return {**overlay, "env": kept} if hiding else overlay, hiding


def may_bring(source: Any, name: str) -> bool:
    """Whether an entry of `envFrom` may bring a variable of this name, whatever its ConfigMap or Secret holds."""
    return name.startswith(str(mapping(source).get("prefix") or ""))


def _own(have: Sequence[Any]) -> tuple[dict[str, int], dict[str, int], list[str]]:
    """Where a name is first referred to, where it is last defined, and the name at each place."""
    first_user: dict[str, int] = {}
    last_at = {}
    names = [_name(variable) for variable in have]
    for index, variable in enumerate(have):
        for name in variables_in(variable):
            first_user.setdefault(name, index)
        last_at[names[index]] = index
    return first_user, last_at, names


def reordered_variables(have: Sequence[Any], template_variables: Sequence[Any], pointer: str) -> Iterator[Diagnostic]:
    """Variables of the template that refer to another variable than in the template, because of the variables before
    them.

    What ConfigMaps, Secrets and Services bring is not known, and so not compared.
    """
    expected = {}
    before = set()
    for variable in template_variables:
        if name := _name(variable):
            if names := variables_in(variable):
                expected[name] = {reference: reference in before for reference in names}
            before.add(name)
    if not expected:
        return
    before = set()
    for variable in have:
        name = _name(variable)
        for reference, defined in expected.get(name, {}).items():
            if (reference in before) != defined:
                position = "after" if defined else "before"
                yield difference_at(
                    f"{pointer}/env/{escape(name)}",
                    f"variable {shown_value(reference, SHOWN)} comes {position} {shown_value(name, SHOWN)}, unlike in "
                    f"the template; {shown_value(name, SHOWN)} refers to it by $(), so the order matters",
                    variable=reference,
                )
        before.add(name)


def _name(variable: Any) -> str:
    name = variable.get("name") if type(variable) is dict else None
    return name if type(name) is str else ""
