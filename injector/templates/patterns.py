"""Regular expressions of schemas, by RE2: whatever the pattern, the time grows with the text and no faster.

A pod's author chooses the text, so a pattern that some text makes slow would let one pod stop the server. RE2's dialect
is JSON Schema's (ECMA-262) in what both have: `$` is the very end, `\\d` and `\\w` are ASCII. It has no look-around and
no references to groups. https://github.com/google/re2/wiki/Syntax
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import re2

#: Characters that a text may have where a pattern is tried.
LONGEST = 2048
#: Characters that a pattern may have itself: RE2 takes its time for a very long one.
_LONGEST_PATTERN = 4096

#: Characters of a mistake.
_SHOWN = 80
_TOO_OFTEN = "a repetition of more than 1000, or of the larger number first"
_FAR_TOO_OFTEN = re.compile(r"(?<!\\)\{[0-9]*,?[0-9]{5}")
#: What RE2 says of what others have and it has not, in the words of those who write patterns.
_WORDS = {
    "invalid perl operator": "there is no look-ahead and no look-behind; use `allOf` and `not`",
    "invalid escape sequence": "an escape that there is not, or a reference to a group",
    "invalid repetition size": _TOO_OFTEN,
    "pattern too large - compile failed": "it is too large",
}

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False  # they would go to standard error


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> Any:
    """A pattern of JSON Schema, to `search` with.

    Raises ValueError for one that RE2 does not have: with why, and the rule `limit` where another dialect has it.
    """
    if len(pattern) > _LONGEST_PATTERN:
        raise ValueError(f"is not available: it has more than {_LONGEST_PATTERN} characters", "limit")
    if _FAR_TOO_OFTEN.search(pattern):  # RE2 takes this for characters
        raise ValueError(f"is not available: {_TOO_OFTEN}", "limit")
    try:
        return re2.compile(pattern, _OPTIONS)
    except UnicodeEncodeError:
        raise ValueError("is not available: half of a surrogate pair", "limit") from None
    except re2.error as error:
        said = error.args[0].decode(errors="replace")
        words = _WORDS.get(said.partition(":")[0])
        if words is None:
            raise ValueError(f"is no regular expression: {said[:_SHOWN]}") from None
        raise ValueError(f"is not available: {words}", "limit") from None


def found(pattern: str, text: str) -> bool:
    """Whether a pattern is in a text of at most `LONGEST` characters. Raises ValueError as `compiled` does."""
    try:
        return compiled(pattern).search(text) is not None
    except UnicodeEncodeError:
        return False  # half of a surrogate pair is no character
