"""What goes wrong inside a render, before it is known which file and line it was."""

from __future__ import annotations


class FaultError(Exception):
    """A render that cannot go on, and, where known, its place.

    `offset` in the rendered text and `hole` in it; or `source`, the author's file and offset.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.offset: int | None = None
        self.hole: int | None = None
        self.source: tuple[str, int] | None = None

    def at(self, offset: int, hole: int | None = None) -> FaultError:
        """The same fault, at an offset."""
        if self.offset is None:
            self.offset, self.hole = offset, hole
        return self


class LimitError(FaultError):
    """A render, or something else that is done with a template, that takes too much time, memory or room."""


#: Of a render, and of anything else that is done with a template.
TOO_LARGE = "the template takes too much memory"
