"""Arithmetic on quantities: that of Python's Fraction on what Kubernetes reads, written as Kubernetes writes it.

`quantities.jsonl` is what Kubernetes' own resource.Quantity says, by the program quantities.go.
"""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from math import ceil
from pathlib import Path

import pytest
from hypothesis import example, given, strategies as st
from kubernetes.utils.quantity import parse_quantity as their_parse_quantity

from injector.pods.quantity import add_quantities, extreme_quantity, parse_quantity, quantity_in, scale_quantity

TABLE = [json.loads(line) for line in (Path(__file__).parent / "quantities.jsonl").read_text().splitlines()]
LARGEST = 2**63 - 1
#: Without a digit: Kubernetes takes these for 0, against its own documentation.
NO_DIGITS = {"m", "Ki", "+", "-"}
#: Blanks around a text, which Kubernetes takes off where it reads an object.
BLANKS = {" 1", "1\n"}
ROWS = [row for row in TABLE if len(row) > 1 and row[0] not in NO_DIGITS]
SUFFIXES = ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E-6", "e+2"]

numbers = st.from_regex(r"[+-]?([0-9]{1,12}(\.[0-9]{0,12})?|\.[0-9]{1,12})", fullmatch=True)
quantities = st.builds("{}{}".format, numbers, st.sampled_from(SUFFIXES))
percentages = st.from_regex(r"[0-9]{1,4}(\.[0-9]{1,4})?%", fullmatch=True)


def value_of(text: object) -> Fraction:
    return Fraction(parse_quantity(text))


def capped(value: Fraction) -> Fraction:
    return max(Fraction(-LARGEST), min(value, Fraction(LARGEST)))


def test_what_is_a_quantity_is_one_for_kubernetes() -> None:
    refused = {row[0] for row in TABLE if len(row) == 1}
    assert len(refused) > 20 and len(ROWS) > 200
    for text in refused - BLANKS | NO_DIGITS:
        with pytest.raises(ValueError, match="quantity"):
            parse_quantity(text)
    assert {parse_quantity(text) for text in BLANKS} == {1}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_value_and_canonical_form_are_those_of_kubernetes(row: list[str]) -> None:
    text, value, canonical, thousandths, whole, _ = row
    if abs(Decimal(value)) > LARGEST:  # documented as the largest, which Kubernetes applies to binary suffixes only
        assert parse_quantity(text) == LARGEST
        return
    assert parse_quantity(text) == Decimal(value)
    assert add_quantities([text]) == extreme_quantity([text], largest=True) == canonical
    to_whole = text.endswith("i") or abs(Decimal(value)) >= 1024
    scaled = scale_quantity(text, 1)
    assert value_of(scaled) == capped(value_of(whole if to_whole else thousandths))
    assert scaled in (whole if to_whole else thousandths, canonical, add_quantities([scaled]))


def test_the_sum_of_two_is_that_of_kubernetes() -> None:
    compared = 0
    for (before, *_), (text, *_, total) in pairwise(ROWS):
        if abs(value_of(before)) < LARGEST and abs(value_of(text)) < LARGEST:
            assert add_quantities([before, text]) == total
            compared += 1
    assert compared > 150


@given(st.lists(quantities, min_size=1, max_size=8))
def test_a_sum_is_that_of_the_fractions(texts: list[str]) -> None:
    assert value_of(add_quantities(texts)) == capped(sum(map(value_of, texts), Fraction(0)))
    assert value_of(extreme_quantity(texts, largest=True)) == max(map(value_of, texts))
    assert value_of(extreme_quantity(texts, largest=False)) == min(map(value_of, texts))


@given(quantities, percentages | st.integers(0, 10**6) | st.floats(0, 1e9))
@example("1", 0.1)
@example("100m", "33.3333%")
@example("1Gi", 0.1)
@example("1Gi", 1e-300)
def test_a_product_is_that_of_the_fractions_rounded_away_from_zero(text: str, factor: object) -> None:
    shortest = str(factor).rstrip("%")
    exact = value_of(text) * Fraction(shortest) / (1 if shortest == str(factor) else 100)
    step = Fraction(1) if text.endswith("i") or abs(exact) >= 1024 else Fraction(1, 1000)
    rounded = step * ceil(abs(exact) / step)
    scaled = scale_quantity(text, factor)
    assert value_of(scaled) == capped(rounded if exact > 0 else -rounded)
    assert scaled == add_quantities([scaled])


@given(quantities, st.sampled_from(["1", "1m", "1Mi", "1k", "3"]))
def test_units_are_counted_up(text: str, unit: str) -> None:
    assert quantity_in(text, unit) == ceil(value_of(text) / value_of(unit))


@given(st.from_regex(r"-?[1-9][0-9]{0,9}(\.[0-9]{0,5}[1-9])?(n|u|m|k|M|G|Ki|Mi|Gi)?", fullmatch=True))
@example("8600000000Gi")
def test_the_client_of_kubernetes_reads_the_same(text: str) -> None:
    theirs = max(-Decimal(LARGEST), min(their_parse_quantity(text), Decimal(LARGEST)))  # it knows no largest one
    ours = parse_quantity(text)
    assert theirs == ours or abs(ours - theirs) < Decimal("1e-9")
    assert abs(their_parse_quantity(add_quantities([text])) - theirs) < Decimal("1e-9")


@given(
    st.text(max_size=80) | st.integers() | st.floats() | st.none() | st.booleans(), st.text(max_size=50) | st.floats()
)
@example("1e999999999", "1")
@example("9" * 10_000, "9" * 10_000)
@example("1", "9" * 10_000 + "%")
@example("١", "١%")
@example("1", "1e5")
@example("1", "-1")
@example(10**4000, 10**4000)
def test_anything_is_a_quantity_or_a_value_error(value: object, factor: object) -> None:
    for result in (
        lambda: add_quantities([value, "1"]),
        lambda: extreme_quantity([value, "1"], largest=True),
        lambda: scale_quantity(value, factor),
        lambda: scale_quantity("1Gi", factor),
        lambda: str(quantity_in(value, "1Mi")),
        lambda: str(quantity_in("1", value)),
    ):
        try:
            text = result()
        except ValueError as error:
            assert len(str(error)) < 200
        else:
            assert len(text) < 40 and add_quantities([text])


@pytest.mark.parametrize("factor", [-1, -0.1, True, None, "", "10 %", "1/3", "%", "0x1", "1e3", [], float("inf")])
def test_what_is_no_factor(factor: object) -> None:
    with pytest.raises(ValueError, match="number"):
        scale_quantity("1", factor)


@pytest.mark.parametrize("unit", ["0", "-1Mi", "x", None])
def test_what_is_no_unit(unit: object) -> None:
    with pytest.raises(ValueError, match=r"unit|quantity"):
        quantity_in("1", unit)
