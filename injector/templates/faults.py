"""What goes wrong inside a render, before it is known which file and line it was."""

from __future__ import annotations


class FaultError(Exception):
    """A render that cannot go on. `offset` is where in the rendered text and `hole` in which hole, where known."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.offset: int | None = None
        self.hole: int | None = None

    def at(self, offset: int, hole: int | None = None) -> FaultError:
        """The same fault, at an offset."""
        if self.offset is None:
            self.offset, self.hole = offset, hole
        return self
