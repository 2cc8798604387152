"""Quantities are the exact numbers that Kubernetes makes of them."""

from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from injector.pods.quantity import format_quantity, parse_quantity

LARGEST = 2**63 - 1


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("0", 0),
        ("-0", 0),
        ("1", 1),
        ("+1", 1),
        ("-2", -2),
        ("250m", "0.25"),
        ("1500m", "1.5"),
        ("100u", "0.0001"),
        ("1n", "1e-9"),
        (".5", "0.5"),
        ("5.", 5),
        ("1k", 1000),
        ("1Ki", 1024),
        ("1.5Gi", 3 * 2**29),
        ("2M", 2_000_000),
        ("1E", 10**18),
        ("1Ei", 2**60),
        ("1e3", 1000),
        ("1E3", 1000),
        ("12e-1", "1.2"),
        (" 5 ", 5),
        (3, 3),
        (0.25, "0.25"),
        (1e3, 1000),
        ("0.1n", "1e-9"),  # rounded away from zero
        ("-0.1n", "-1e-9"),
        ("1.0000000001", "1.000000001"),
        ("1e-30", "1e-9"),
        ("100E", LARGEST),
        ("1e9999", LARGEST),
        ("-1e9999", -LARGEST),
        ("9" * 64, LARGEST),
    ],
)
def test_parse(written, value):
    assert parse_quantity(written) == Decimal(value)


@pytest.mark.parametrize(
    "written",
    [
        "",
        "m",
        "1 Gi",
        "1KI",
        "1gi",
        "1mi",
        "1e",
        "1e+",
        "1e99999",
        "1m5",
        "0x10",
        "1_000",
        "١",
        "1,5",
        "--1",
        ".",
        "1\n2",
        "9" * 65,
        10**70,
        10**4000,
        -(10**4000),
        float("nan"),
        float("inf"),
        1e300,
        True,
        False,
        None,
        [],
        {},
        b"1",
    ],
)
def test_what_is_no_quantity(written, golden):
    with pytest.raises(ValueError) as caught:
        parse_quantity(written)
    golden(caught.value)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("0", "0"),
        ("0.25", "250m"),
        ("1.5", "1500m"),
        ("1024", "1Ki"),
        ("1Gi", "1Gi"),
        ("1000", "1000"),
        ("100u", "100u"),
        ("1n", "1n"),
        ("-0.5", "-500m"),
        ("-2Mi", "-2Mi"),
        ("3e9", "3000000000"),
        ("1.5Gi", "1536Mi"),
        ("100E", str(LARGEST)),
    ],
)
def test_format(written, shown):
    assert format_quantity(parse_quantity(written)) == shown


@given(st.decimals(min_value=-(2**62), max_value=2**62, places=9))
def test_format_is_read_back_as_the_same(value):
    assert parse_quantity(format_quantity(value)) == value


@given(st.text(max_size=80) | st.integers() | st.floats())
def test_anything_is_a_number_or_a_value_error(written):
    try:
        found = parse_quantity(written)
    except ValueError:
        return
    assert abs(found) <= LARGEST
