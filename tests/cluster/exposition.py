"""Numbers out of what a server answers at /metrics."""

from __future__ import annotations

from collections.abc import Mapping


def values_of(exposition: str, name: str, labels: Mapping[str, str]) -> list[float]:
    """The values of the metric of that name, of each series with these labels."""
    found = []
    for line in exposition.splitlines():
        series, _, value = line.rpartition(" ")
        if series.partition("{")[0] == name and all(f'{key}="{labels[key]}"' in series for key in labels):
            found.append(float(value))
    return found
