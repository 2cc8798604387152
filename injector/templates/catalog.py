"""The catalog: the templates of a snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from injector.pods.context import Namespace
from injector.pods.selectors import matches
from injector.templates.template import Template


class Catalog:
    """Templates by name. Immutable."""

    __slots__ = ("_selecting", "_templates", "injected_names")

    def __init__(self, templates: Iterable[Template] = ()) -> None:
        self._templates: dict[str, Template] = {t.name: t for t in sorted(templates, key=lambda t: t.name)}
        injected = [t for t in self._templates.values() if not t.why_not_injected]
        #: The names of those that pods can be given by injection, sorted.
        self.injected_names = tuple(t.name for t in injected)
        # so that a pod costs nothing for the templates that select none
        self._selecting = tuple(t for t in injected if t.selector is not None)

    def get(self, name: str) -> Template | None:
        """The template of a name, or None."""
        return self._templates.get(name)

    def matching(self, labels: Mapping[str, str], namespace: Namespace) -> tuple[Template, ...]:
        """The templates whose selector a pod's labels fulfil, of those that its namespace may use, by name."""
        return tuple(
            t
            for t in self._selecting
            if matches(t.selector, labels) and (t.namespaces is None or matches(t.namespaces, namespace.labels))
        )

    def found(self, names: Iterable[str]) -> tuple[Template, ...]:
        """The templates of these names that there are, each once, in the order of the names."""
        return tuple(self._templates[name] for name in dict.fromkeys(names) if name in self._templates)

    def missing(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of these names that no template has, each once."""
        return tuple(name for name in dict.fromkeys(names) if name not in self._templates)

    @property
    def names(self) -> tuple[str, ...]:
        """Every template's name, sorted."""
        return tuple(self._templates)

    def __iter__(self) -> Iterator[Template]:
        return iter(self._templates.values())

    def __len__(self) -> int:
        return len(self._templates)
