"""The nearest spelling of a name."""

from __future__ import annotations

import pytest

from injector.names import nearest


@pytest.mark.parametrize(
    ("name", "known", "found"),
    [
        ("appPort", ["app-port", "port"], "app-port"),
        ("old", ["object", "oldObject", "pod"], "oldObject"),
        ("oldobject", ["object", "oldObject", "pod"], "oldObject"),
        ("port", ["ports", "port-range"], "ports"),
        ("prot", ["port", "protocol"], "port"),
        ("cpu", ["cpu-limit", "cpu-request"], None),
        ("po", ["pod", "port"], "pod"),
        ("image", ["imagePullSecrets", "containers"], None),
        ("entirely", ["pod", "port"], None),
        ("x", [], None),
    ],
)
def test_the_nearest_spelling(name: str, known: list[str], found: str | None) -> None:
    assert nearest(name, known) == found
