"""Parameters of the command line that change nothing: those of templates that no pod gets, and those without effect."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from injector.injection import Applied, Injection
from injector.reasons import Reason

#: Injects the same pod with other parameters of the command line.
_Again = Callable[[Mapping[str, Mapping[str, Any]]], Injection]


class IdleParameters:
    """Which values of `--param` changed something for any of the pods."""

    def __init__(self, overrides: Mapping[str, Mapping[str, Any]]) -> None:
        self._overrides = overrides
        #: Whether a value changed what its template renders, by template and parameter.
        self._effects: dict[tuple[str, str], bool] = {}

    def note(self, result: Injection, again: _Again) -> None:
        """Note what the values did for a pod that was injected with them; `again` injects it without one."""
        if result.reason is not Reason.INJECTED:
            return
        for applied in result.applied:
            template = applied.template.name
            for name in self._overrides.get(template, {}):
                if not self._effects.get((template, name)):
                    self._effects[template, name] = _matters(applied, again(_without(self._overrides, template, name)))

    def warnings(self, used: set[str]) -> Iterator[str]:
        """A sentence for each value that changed nothing; `used` are the templates that the pods got."""
        for template in sorted(self._overrides.keys() - used):
            name = next(iter(self._overrides[template]))
            yield f"--param {template}.{name} has no effect: no pod here gets {template}"
        for (template, name), effect in self._effects.items():
            if not effect:
                yield (
                    f"--param {template}.{name} has no effect together with the current values of the other "
                    f"parameters of {template}; for its description: injector docs {template}"
                )


def _without(overrides: Mapping[str, Mapping[str, Any]], template: str, name: str) -> dict[str, Mapping[str, Any]]:
    return {**overrides, template: {key: value for key, value in overrides[template].items() if key != name}}


def _matters(applied: Applied, without: Injection) -> bool:
    """Whether a template renders something else without a value, or the value is the one that it has anyway."""
    other = next((one for one in without.applied if one.template.name == applied.template.name), None)
    if other is None or other.parameters.values == applied.parameters.values:
        return True
    return (other.overlay, other.files) != (applied.overlay, applied.files)
