"""Slips of the pen in an overlay that keep it from being merged: what they are and where, in its author's words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from injector.advice.shapes import item_help, shape_help
from injector.authoring.lint.subject import Finding, RenderedSource
from injector.diagnostics import Path
from injector.names import nearest
from injector.pods.fields import POD, Field
from injector.pods.keyed_pointers import has_key, item_fault
from injector.pods.overlay import bare_value, plain


def slips(overlay: RenderedSource) -> list[Finding]:
    """Where the overlay has another value in place of a list, and items of lists without their merge keys."""
    return [*_no_lists(overlay), *_nameless(overlay)]


def _no_lists(overlay: RenderedSource) -> Iterator[Finding]:
    """Mappings and single values where Kubernetes has a list."""
    for path, field, value in _merged(overlay.value, (), POD):
        if value is not None and not isinstance(value, list):
            kind = "a mapping" if isinstance(value, dict) else "one value"
            yield Finding(
                f"{field.name} is {kind}; it has to be a list",
                overlay.place(path, key=True),
                shape_help(plain(value), field) or "begin each item with `- `",
            )


def _nameless(overlay: RenderedSource) -> Iterator[Finding]:
    """Items without what they are merged by."""
    for path, field, value in _merged(overlay.value, (), POD):
        items = plain(value) if field.keys else None
        for index, item in enumerate(items if isinstance(items, list) else ()):
            if not has_key(item, field):
                keys = item if isinstance(item, dict) else ()
                near = [key for key in keys if isinstance(key, str) and nearest(key, field.keys, cutoff=0.8)]
                yield Finding(
                    f"an item of {field.name} {item_fault(item, field)}",
                    overlay.place((*path, index, *near[:1])),
                    item_help(item, field),
                )


def _merged(value: Any, path: Path, field: Field) -> Iterator[tuple[Path, Field, Any]]:
    """Path, field and value of what Kubernetes merges as lists, at any depth of a pod."""
    bare = bare_value(value)
    if isinstance(bare, dict):
        for key, part in bare.items():
            below = field.fields[key]
            if path[:1] == ("spec",) and below.aligned:
                yield (*path, key), below, bare_value(part)
            yield from _merged(part, (*path, key), below)
    elif isinstance(bare, list):
        for index, part in enumerate(bare):
            yield from _merged(part, (*path, index), field.element)
