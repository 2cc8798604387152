"""Regular expressions of schemas, by RE2: whatever the pattern, the time grows with the text and no faster.

A pod's author chooses the text, so a pattern that some text makes slow would let one pod stop the server. RE2's dialect
is JSON Schema's (ECMA-262) in what both have: `$` is the very end, `\\d` and `\\w` are ASCII. It has no look-around and
no references to groups. https://github.com/google/re2/wiki/Syntax
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import re2

#: Characters that a text may have where a pattern is tried.
LONGEST = 2048

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False  # they would go to standard error


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> Any:
    """A pattern of JSON Schema, to `search` with. Raises ValueError, saying why, for one that RE2 does not have."""
    try:
        return re2.compile(pattern, _OPTIONS)
    except (re2.error, UnicodeEncodeError) as error:
        why = error.args[0] if isinstance(error, re2.error) else "half of a surrogate pair"
        words = why.decode(errors="replace") if isinstance(why, bytes) else str(why)
        raise ValueError(f"is not available: {_WORDS.get(words.partition(':')[0], words)}") from None


def found(pattern: str, text: str) -> bool:
    """Whether a pattern is in a text of at most `LONGEST` characters. Raises ValueError as `compiled` does."""
    try:
        return compiled(pattern).search(text) is not None
    except UnicodeEncodeError:
        return False  # half of a surrogate pair is no character


#: What RE2 says, in the words of those who write patterns.
_WORDS = {
    "invalid perl operator": "there is no look-ahead and no look-behind; use `allOf` and `not`",
    "invalid escape sequence": "an escape that there is not, or a reference to a group",
}
