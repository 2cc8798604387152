"""Everything, of the longest parts in `make soak`, and what holds of the baseline itself."""

import re

import pytest

from tests.baseline.case import TOLD
from tests.baseline.check import check, check_share
from tests.baseline.generated import PODS
from tests.baseline.parts import PARTS
from tests.baseline.record import FILE, Difference, differences, grouped, look, recorded, told

#: Of each an eighth is in `make test`; of the generated pods in files of their own.
OF_AUTHORS = ("broken/rules", "broken/templates")
LONG = [name for name in PARTS if name.startswith("pods/") or name in OF_AUTHORS]


@pytest.mark.parametrize(
    "part", [pytest.param(name, marks=pytest.mark.soak(minutes=10)) if name in LONG else name for name in PARTS]
)
def test_part(part: str) -> None:
    check(part)


@pytest.mark.parametrize("part", OF_AUTHORS)
def test_an_eighth(part: str) -> None:
    check_share(part)


def test_every_part_is_recorded_and_the_file_is_small() -> None:
    parts = recorded()
    assert set(parts) == set(PARTS), "make baseline"
    assert all(sum(key.isdigit() for key in cases) == PODS for name, cases in parts.items() if name.startswith("pods/"))
    assert FILE.stat().st_size < 600_000


def test_no_words_are_recorded() -> None:
    values = {str(v) for cases in recorded().values() for answer in cases.values() for v in answer.values()}
    assert not [value for value in values if re.search(r"[a-z]+ [a-z]+ [a-z]+ [a-z]+", value)]


def test_a_difference_is_told_with_what_it_was() -> None:
    before = {"1": {"reason": "injected", "patch": "#1", "files": "#2", "findings": ["a", "b"]}, "2": {"exit": 0}}
    now = {"1": {"reason": "conflict", "patch": "#3", "findings": ["b", "c"]}, "3": {"exit": 0}}
    found = differences("x", before, now)
    assert [f"{one.case} {one.aspect}: {one.change}" for one in found] == [
        "2 case: it is gone",
        "1 reason: was injected, now conflict",
        "1 findings: no longer a; now c",
        "1 files: was there, now nothing",
        "1 patch: other bytes",
    ]
    assert differences("x", before, {**before, "3": {"exit": 0}}) == []
    assert "x / 1: patch: other bytes" in told(found)
    many = [Difference("x", str(number), "patch", "#1", "#2") for number in range(1000)]
    assert len(told(many)) < 3000 and "1000 of patch" in told(many)
    assert grouped(many[:3]) == "patch:\n- x: other bytes: 3: 0, 1, 2"


def test_a_case_can_be_looked_at() -> None:
    case, answer = look("pods/nginx", "0")
    assert case.given[0]["kind"] == "Pod"
    assert answer[TOLD]
