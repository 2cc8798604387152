"""Budgets of counted work: what one review may cost, and one render of a template.

Work is counted, not timed: the same pod gets the same answer on a busy machine. A unit is a microsecond or less: an
element of a list or a map that is looked at, a step of a template. A result from the cache costs as much as when it
was computed, so the cost of a pod does not depend on the pods before it.

If the author of a pod chooses how long something takes, such as the length of a list, the code charges for it: once for
a list, not for each of its elements. If code by mistake does two such things in a loop, a pod that exploits this uses
up its own budget.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextvars import ContextVar, Token

from injector.errors import InjectionError
from injector.reasons import Reason

#: Maps up to this size are not charged for: most are the fields of something.
SMALL = 32


class Budget(ABC):
    """Units of work: those that were given, and those that are left."""

    __slots__ = ("given", "left")

    def __init__(self, units: int) -> None:
        self.given = self.left = units

    @property
    def spent(self) -> int:
        """Units that were charged."""
        return self.given - self.left

    def charge(self, units: int) -> None:
        """Take units off. Raises what `exhausted` does when they are used up."""
        self.left -= units
        if self.left < 0:
            self.exhausted()

    @abstractmethod
    def exhausted(self) -> None:
        """Raise what stands for a budget that is used up."""


class ReviewBudget(Budget):
    """What one review may cost; 0 units stand for no bound. What is done within `with budget:` is charged to it."""

    __slots__ = ("_token",)

    def exhausted(self) -> None:
        """Raise InjectionError with Reason.TOO_COSTLY."""
        if self.given:
            raise InjectionError(
                Reason.TOO_COSTLY,
                f"the review takes more than {self.given} units of work",
                help="make the object or the template smaller, or raise the setting reviewWork",
                fields={"most": self.given},
            )

    def __enter__(self) -> ReviewBudget:
        self._token: Token[ReviewBudget | None] = _current.set(self)
        return self

    def __exit__(self, *error: object) -> None:
        _current.reset(self._token)


_current: ContextVar[ReviewBudget | None] = ContextVar("_current", default=None)


def charge(units: int) -> None:
    """Charge the review that goes on in this thread or task, if any.

    Raises InjectionError with Reason.TOO_COSTLY when that is too much.
    """
    budget = _current.get()
    if budget is not None:
        budget.left -= units
        if budget.left < 0:
            budget.exhausted()


def charge_later(units: int) -> None:
    """Like `charge`, for work that already failed with another error: it does not raise, the next charge does."""
    budget = _current.get()
    if budget is not None:
        budget.left -= units


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
        """This fault, at an offset unless it has one."""
        if self.offset is None:
            self.offset, self.hole = offset, hole
        return self


class LimitError(FaultError):
    """A render, or something else that is done with a template, that takes too much time, memory or room."""


#: Of a render, and of anything else that is done with a template.
TOO_LARGE = "the template takes too much memory"
