"""Where in the author's files each value of a rendered overlay or config file comes from: for authors' tools."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from injector.diagnostics import Place
from injector.pods.overlay import take_defaults
from injector.templates.render import check_source
from injector.templates.structure import Structure
from injector.templates.template import OVERLAY, Template
from injector.templates.variables import Context, variables_of


class Trace:
    """What a source renders, and the places of it. `warnings` are what the template warned of."""

    def __init__(self, template: Template, context: Context, source: str = OVERLAY) -> None:
        """Render `source` once more, slowly. Raises InjectionError as `render_overlay` does."""
        check_source(template, context, source)
        self._program = template.program
        self._source = source
        root = self._program.roots[source]
        self._tagged = self._program.tagged(root, variables_of(root, context))
        self.warnings = tuple(self._tagged.run.warnings)

    @cached_property
    def value(self) -> Any:
        """The overlay (with `Replace` objects within) or the value of a YAML or JSON file; of a text file the text."""
        if not self._program.roots[self._source].document:
            return self._tagged.text
        value = Structure(self._tagged.text, replace=self._source == OVERLAY).fill(self._tagged.run.values)
        return {} if self._source == OVERLAY and value is None else take_defaults(value)[0]

    def place(self, path: Sequence[str | int], key: bool = False) -> Place:
        """The place of the value that a path of keys and list indices leads to, or of its key.

        Of the nearest parent where there is no such value; for a text file of its beginning.
        """
        return self.place_of(self._tagged.offset_of(path, key=key) if self._program.roots[self._source].document else 0)

    def place_of(self, offset: int) -> Place:
        """The place of a character of the rendered text: for a text file, that of `value[offset]`."""
        file, source_offset = self._tagged.source(offset) or (self._source, 0)
        return self._program.place(file, source_offset)


def trace(template: Template, context: Context, source: str = OVERLAY) -> Trace:
    """What a source of a template renders for a pod, with places. Raises InjectionError as `render_overlay` does."""
    return Trace(template, context, source)
