"""The budget of a review is ten times what the costliest pod of the corpus takes, and says the same each time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from injector.budget import ReviewBudget
from injector.errors import InjectorError
from injector.inject import guard, inject
from injector.pods.context import Object
from injector.pods.workloads import pod_template
from injector.settings import Settings
from injector.templates.snapshot import Snapshot
from tests.corpus.commands import objects
from tests.corpus.manifests import MANIFESTS, VARIANTS
from tests.unit.support import ENABLED, REQUIRED, snapshot

_VERSIONS = ((1, 30), (1, 36))


def _pods() -> Iterator[tuple[str, Object]]:
    """Every pod of the corpus that can be read, as it comes over the wire."""
    for name, manifest in MANIFESTS.items():
        try:
            found = [pod_template(obj) for obj in objects(manifest.data) if isinstance(obj, dict)]
            yield from ((name, json.loads(json.dumps(pod))) for pod in found if pod is not None)
        except (InjectorError, ValueError, TypeError):
            continue  # broken on purpose


_all = cache(lambda: list(_pods()))


def _variants() -> Iterator[tuple[Snapshot, dict[str, dict[str, str]]]]:
    for options in VARIANTS.values():
        given = dict(zip(options[::2], options[1::2], strict=True))
        template, _, parameter = given.get("--param", "").partition(".")
        name, _, value = parameter.partition("=")
        for version in _VERSIONS:
            yield snapshot(given["--templates"], version=version), {template: {name: value}} if template else {}


def _spent(pod: Object, with_: Snapshot, overrides: dict[str, Any]) -> list[int]:
    """What a pod takes under `enabled`, under `required`, and at the guard and again with what it got there."""
    budgets = [ReviewBudget(0) for _ in range(4)]
    inject(pod, ENABLED, with_, overrides=overrides, budget=budgets[0])
    injected = inject(pod, REQUIRED, with_, overrides=overrides, budget=budgets[1])
    if injected.allowed:
        stored = json.loads(json.dumps(injected.object))
        guard(stored, REQUIRED, with_, budget=budgets[2])
        inject(stored, REQUIRED, with_, overrides=overrides, budget=budgets[3])
    return [budget.spent for budget in budgets]


def test_the_default_is_ten_times_what_the_costliest_pod_takes() -> None:
    assert len(_all()) > 180
    costs = [(max(_spent(pod, *variant)), name) for variant in _variants() for name, pod in _all()]
    costliest, name = max(costs)
    assert 10 * costliest <= Settings().review_work <= 12 * costliest, f"{name} takes {costliest} units"


@pytest.mark.parametrize("name", ["large/variables-2000.yaml", "large/containers-100.yaml"])
def test_the_same_pod_takes_the_same_each_time(name: str) -> None:
    """Whatever has been asked before: what is remembered costs what it cost when it was made."""
    pod = next(pod for known, pod in _all() if known == name)
    for with_, overrides in _variants():
        assert _spent(pod, with_, overrides) == _spent(pod, with_, overrides)
