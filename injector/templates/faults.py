"""What goes wrong inside a render, before it is known which file and line it was."""

from __future__ import annotations


class FaultError(Exception):
    """A render that cannot go on. `offset` is where in the rendered text, if that is known."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.offset: int | None = None

    def at(self, offset: int) -> FaultError:
        """The same fault, at an offset."""
        if self.offset is None:
            self.offset = offset
        return self
