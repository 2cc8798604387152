"""A rendered source as rules see it: its value at once, and the places of what is in it when somebody asks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from injector.diagnostics import Path, Place
from injector.pods.context import Object
from injector.pods.overlay import bare_value, plain, plain_mapping
from injector.templates.program import is_document
from injector.templates.render import Context, file_value, render_files, render_overlay
from injector.templates.template import OVERLAY, Template
from injector.templates.trace import Trace, trace


class RenderedSource:
    """What `trace()` gives, without its price where only the value is asked for: most renderings have no findings."""

    def __init__(
        self, template: Template, context: Context, name: str = "", values: dict[str, Any] | None = None
    ) -> None:
        """`name` is a config file's, none is the overlay. Raises InjectionError as a render does.

        `values` are those of this file's texts that are known: most renderings have a text in common.
        """
        self._template = template
        self._context = context
        self.source = template.files[name].template if name else OVERLAY
        self._name = name
        self._items: dict[str, tuple[tuple[Path, Object], ...]] = {}
        self._text = render_files(template, context)[name] if name else ""
        self._overlay = None if name else render_overlay(template, context)
        if values is not None and is_document(self.source):
            if self._text not in values:  # while the renderer has what it has just made
                values[self._text] = file_value(template, context, name)
            self.value = values[self._text]

    @cached_property
    def value(self) -> Any:
        """The overlay with its `Replace` values; the value of a YAML or JSON file; the text of another file."""
        if self._overlay is not None:
            return self._overlay.overlay
        if not is_document(self.source):
            return self._text
        return file_value(self._template, self._context, self._name)

    def items(self, list_: str) -> tuple[tuple[Path, Object], ...]:
        """Path and value, without tags, of each item of a list of the overlay's pod, as `containers`."""
        if list_ not in self._items:
            self._items[list_] = tuple(self._plain_items(list_))
        return self._items[list_]

    def _plain_items(self, list_: str) -> Iterator[tuple[Path, Object]]:
        items = bare_value(plain_mapping(plain_mapping(self.value).get("spec")).get(list_))
        for index, item in enumerate(items if isinstance(items, list) else []):
            value = plain(item)
            if isinstance(value, dict):
                yield ("spec", list_, index), value

    @property
    def text(self) -> str:
        """A config file as the container sees it."""
        return self._text

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the overlay warned of."""
        return () if self._overlay is None else self._overlay.warnings

    def place(self, path: tuple[str | int, ...], key: bool = False) -> Place:
        """The author's place of a value, or of its key; of its nearest parent where there is none."""
        return self._trace.place(path, key)

    def place_of(self, offset: int) -> Place:
        """The author's place of a character of a text file, by its offset in the rendered text."""
        return self._trace.place_of(offset)

    @cached_property
    def _trace(self) -> Trace:
        return trace(self._template, self._context, self.source)
