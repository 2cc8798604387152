"""What is recorded, and what differs from it: in words, by aspect, for whoever has to say why."""

from __future__ import annotations

import gc
import hashlib
import itertools
import json
import lzma
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from tests.baseline.case import TOLD, Answer, Case
from tests.baseline.parts import PARTS

FILE = Path(__file__).parent / "recorded.json.xz"
#: Of one part: case to aspect to value.
Record = dict[str, Answer]
#: Aspects in the order in which they explain one another: another input makes another output.
_ORDER = ("case", "input", "exit", "reason", "effect", "code", "findings")
_NEW = "it is new"
#: Differences that a test names one by one.
_NAMED = 25


class Difference(NamedTuple):
    """An aspect of a case that is not as it was recorded; None for what is not there."""

    part: str
    case: str
    aspect: str
    before: Any
    now: Any

    @property
    def change(self) -> str:
        """What it was and what it is, as far as that was recorded."""
        if self.aspect == "case":
            return _NEW if self.before is None else "it is gone"
        if isinstance(self.before, list) and isinstance(self.now, list):
            before, now = Counter(self.before), Counter(self.now)
            gone, new = (before - now).elements(), (now - before).elements()
            changes = [*(f"no longer {text}" for text in gone), *(f"now {text}" for text in new)]
            return "; ".join(changes) or "another order"
        if str(self.before).startswith("#") and str(self.now).startswith("#"):
            return "other bytes"
        return f"was {_words(self.before)}, now {_words(self.now)}"


def _words(value: Any) -> str:
    return "nothing" if value in (None, [], 0) else "there" if str(value).startswith("#") else str(value)


# ------------------------------------------------------------------------------------------------- recording


def recorded() -> dict[str, Record]:
    """All that was recorded, by part."""
    parts: dict[str, Record] = json.loads(lzma.decompress(FILE.read_bytes()))
    return parts


def present(part: str, asked: Callable[[str], bool] = lambda key: True) -> Record:
    """What comes out now for all cases of a part, or for those whose key is `asked` about."""
    with closing(PARTS[part]()) as cases, _without_collector():
        found = [(case.key, _digested(case.ask())) for case in cases if asked(case.key)]
    record = dict(found)
    assert len(record) == len(found), f"two cases of {part} have one key"
    return record


def look(part: str, key: str) -> tuple[Case, Answer]:
    """One case as it is now, with all bytes and words. Raises KeyError."""
    with closing(PARTS[part]()) as cases:
        for case in cases:
            if case.key == key:
                return case, case.ask()
    raise KeyError(key)


@contextmanager
def _without_collector() -> Iterator[None]:
    """A third of the time goes into looking for garbage, of which there is hardly any."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _digested(answer: Answer) -> Answer:
    """What is recorded of an answer."""
    return {aspect: _short(value) for aspect, value in answer.items() if aspect != TOLD and value not in (b"", [])}


def _short(value: Any) -> Any:
    return f"#{hashlib.blake2b(value, digest_size=4).hexdigest()}" if isinstance(value, bytes) else value


def update() -> list[Difference]:
    """Record everything anew; what differs from what was recorded."""
    before = recorded() if FILE.exists() else {}
    with ProcessPoolExecutor(2) as pool:
        now = dict(zip(PARTS, pool.map(present, PARTS), strict=True))
    text = json.dumps(now, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    FILE.write_bytes(lzma.compress(text.encode(), preset=9))
    return [found for part in now for found in differences(part, before.get(part, {}), now[part], new=True)]


# ------------------------------------------------------------------------------------------------- comparing


def differences(part: str, before: Record, now: Record, *, new: bool = False) -> list[Difference]:
    """What differs. Cases that were not recorded yet differ from nothing, but where `new` ones are asked for."""
    found = []
    for key in before if not new else dict.fromkeys((*before, *now)):
        was, is_now = before.get(key), now.get(key)
        if was is None or is_now is None:
            found.append(Difference(part, key, "case", was, is_now))
            continue
        found += [
            Difference(part, key, aspect, was.get(aspect), is_now.get(aspect))
            for aspect in dict.fromkeys((*was, *is_now))
            if was.get(aspect) != is_now.get(aspect)
        ]
    return sorted(found, key=_rank)


def _rank(difference: Difference) -> tuple[int, str, str]:
    aspect = difference.aspect
    return _ORDER.index(aspect) if aspect in _ORDER else len(_ORDER), aspect, difference.part


def grouped(found: Iterable[Difference]) -> str:
    """All differences by aspect, part and change, with the cases of each: for the text of a commit."""
    lines: list[str] = []
    for aspect, of_aspect in itertools.groupby(sorted(found, key=_rank), attrgetter("aspect")):
        lines.append(f"{aspect}:")
        for part, of_part in itertools.groupby(of_aspect, attrgetter("part")):
            for change, same in itertools.groupby(sorted(of_part, key=attrgetter("change")), attrgetter("change")):
                keys = [one.case for one in same]
                named = "" if change == _NEW else f": {', '.join(keys)}"
                line = f"- {part}: {change}: {len(keys)}{named}"
                lines.append(textwrap.fill(line, 100, subsequent_indent="  ", break_on_hyphens=False))
    return "\n".join(lines)


def told(found: Sequence[Difference]) -> str:
    """The first differences one by one, how many there are of each aspect, and how to see a case whole."""
    counts = Counter(one.aspect for one in found)
    lines = [f"{one.part} / {one.case}: {one.aspect}: {one.change}" for one in found[:_NAMED]]
    if len(found) > _NAMED:
        lines.append("...")
    aspects = ", ".join(f"{number} of {aspect}" for aspect, number in counts.items())
    return "\n".join(
        [
            f"{len(found)} differences from what was recorded: {aspects}",
            *lines,
            f"See one whole: python -m tests.baseline '{found[0].part}' '{found[0].case}'",
            f"In a work tree of the commit that recorded it (git log -1 {FILE.name}) that shows what came out then.",
        ]
    )
