"""A rendered source as rules see it: its value at once, and the places of what is in it when somebody asks."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

import yaml

from injector.diagnostics import Place
from injector.templates.kubernetes_yaml import load_manifest
from injector.templates.program import is_document
from injector.templates.render import Context, render_files, render_overlay
from injector.templates.template import OVERLAY, Template
from injector.templates.trace import Trace, trace


class RenderedSource:
    """What `trace()` gives, without its price where only the value is asked for: most renderings have no findings."""

    def __init__(self, template: Template, context: Context, name: str = "") -> None:
        """`name` is a config file's, none is the overlay. Raises InjectionError as a render does."""
        self._template = template
        self._context = context
        self.source = template.files[name].template if name else OVERLAY
        self._name = name
        self._text = render_files(template, context)[name] if name else ""
        self._overlay = None if name else render_overlay(template, context)

    @cached_property
    def value(self) -> Any:
        """The overlay with its `Replace` values; the value of a YAML or JSON file; the text of another file."""
        if self._overlay is not None:
            return self._overlay.overlay
        if not is_document(self.source):
            return self._text
        try:
            return _value(self._text)
        except yaml.YAMLError:  # not what was rendered, but what its text is read as: the trace has the former
            return self._trace.value

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


@lru_cache(maxsize=128)
def _value(text: str) -> Any:
    """The value of a YAML or JSON text. A template's files are much the same for most of its renderings."""
    return load_manifest(text)
