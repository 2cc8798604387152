"""What a template reads of a review."""

from __future__ import annotations

from injector.templates.template import Template


def names_read(template: Template) -> frozenset[str]:
    """The names that a template reads and does not give a value itself."""
    return frozenset(name for root in template.program.roots.values() for name in root.names)
