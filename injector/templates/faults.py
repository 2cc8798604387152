"""What goes wrong inside a render, before it is known which file and line it was."""

from __future__ import annotations


class FaultError(Exception):
    """A render that cannot go on. `line` is the 0-based line in the rendered text, where that is known."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.line: int | None = None

    def at(self, line: int) -> FaultError:
        """The same fault, on a line."""
        if self.line is None:
            self.line = line
        return self
