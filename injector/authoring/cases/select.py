"""Choosing cases by name: words with `and`, `or`, `not` and parentheses, as test runners know them."""

from __future__ import annotations

import re
from collections.abc import Callable

#: Whether a case is chosen, by what people call it.
Choice = Callable[[str], bool]

_TOKEN = re.compile(r"\s*(?:(\()|(\))|\"([^\"]*)\"|'([^']*)'|([^\s()\"']+))")


def chosen_by(expression: str) -> Choice:
    """The choice that an expression makes: `sidecar and not (redirect or "host network")`.

    A word is a part of the name, in capitals or not; one in quotes may hold blanks. Raises ValueError saying what is
    wrong.
    """
    parser = _Parser(expression)
    choice = parser.either()
    if parser.next() is not None:
        raise ValueError(f"{parser.next()} stands where `and` or `or` has to")
    return choice


class _Parser:
    def __init__(self, expression: str) -> None:
        self._tokens: list[tuple[str, bool]] = []
        at, end = 0, len(expression.rstrip())
        while at < end:
            found = _TOKEN.match(expression, at)
            if found is None:
                raise ValueError(f"a quote in {expression[at:].strip()} is not closed")
            quoted = next((text for text in found.group(3, 4) if text is not None), None)
            self._tokens.append((quoted, True) if quoted is not None else (found[0].strip(), False))
            at = found.end()
        if not self._tokens:
            raise ValueError("it is empty")

    def next(self) -> str | None:
        """The next token, None at the end."""
        return self._tokens[0][0] if self._tokens else None

    def either(self) -> Choice:
        """`a or b`."""
        left = self._both()
        while self._take("or"):
            left = _either(left, self._both())
        return left

    def _both(self) -> Choice:
        left = self._one()
        while self._take("and"):
            left = _both(left, self._one())
        return left

    def _one(self) -> Choice:
        if self._take("not"):
            inner = self._one()
            return lambda name: not inner(name)
        if self._take("("):
            inner = self.either()
            if not self._take(")"):
                raise ValueError("a ( is not closed")
            return inner
        if not self._tokens:
            raise ValueError("it ends where a word has to stand")
        word, quoted = self._tokens.pop(0)
        if not quoted and word in ("and", "or", ")"):
            raise ValueError(f"{word} stands where a word has to")
        return lambda name: word.lower() in name.lower()

    def _take(self, token: str) -> bool:
        if self._tokens and self._tokens[0] == (token, False):
            self._tokens.pop(0)
            return True
        return False


def _either(left: Choice, right: Choice) -> Choice:
    return lambda name: left(name) or right(name)


def _both(left: Choice, right: Choice) -> Choice:
    return lambda name: left(name) and right(name)
