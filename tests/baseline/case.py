"""A case of the baseline: what goes in, and what asks the injector about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Object = dict[str, Any]
#: Aspect to value: a text, a number, a list of texts. Of bytes a digest is recorded. `TOLD` is never recorded.
Answer = dict[str, Any]
#: What is said in words, for a person who looks at one case.
TOLD = "told"


class Case(NamedTuple):
    """A case by its key within its part."""

    key: str
    given: Any
    ask: Callable[[], Answer]
