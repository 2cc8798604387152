"""`python -m tests.baseline PART CASE` shows a case as it is now; `--update` records anew and prints what differs."""

from __future__ import annotations

import sys

import yaml

from tests.baseline.parts import PARTS
from tests.baseline.record import FILE, grouped, look, update


def _show(part: str, key: str) -> None:
    case, answer = look(part, key)
    for value in (case.given, {aspect: _text(value) for aspect, value in answer.items()}):
        print(yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=120), end="---\n")


def _text(value: object) -> object:
    if isinstance(value, tuple):
        return list(value)
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _main(arguments: list[str]) -> str | None:
    if arguments == ["--update"]:
        found = update()
        print(grouped(found) or "Nothing differs.")
        print(f"{FILE.stat().st_size:,} bytes in {FILE.name}", file=sys.stderr)
        return None
    if len(arguments) != 2 or arguments[0] not in PARTS:
        return f"usage: python -m tests.baseline (--update | PART CASE)\nparts: {', '.join(PARTS)}"
    try:
        _show(*arguments)
    except KeyError:
        return f"{arguments[0]} has no case {arguments[1]}"
    return None


sys.exit(_main(sys.argv[1:]))
