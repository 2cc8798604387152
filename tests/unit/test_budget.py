"""The budget of a review: beyond it there is a reason, by the table; and it counts the same whatever came before."""

from __future__ import annotations

import pytest

from injector.budget import ReviewBudget, charge
from injector.errors import InjectionError
from injector.inject import guard, inject
from injector.pods.context import Cluster, Object, Request
from injector.policies.admit import admit
from injector.policies.request import ObjectRequest
from injector.reasons import Effect, Reason
from injector.settings import PathTemplates, Settings, parse_settings
from injector.templates.snapshot import Snapshot, build_snapshot
from tests.messages import Golden
from tests.unit.support import ENABLED, REQUIRED, web

#: Of the pod that costs too much, and what a review may take here.
CONTAINERS, WORK = 4_000, 4_000
SOURCES = {
    "side": {
        "template.yaml": "description: A container.\nparameters: {name: {type: string, default: a, description: A.}}\n",
        "overlay.yaml.j2": "spec: {containers: [{name: side, image: side, args: ['{{ params.name }}']}]}",
    },
}


def snapshot(work: int = WORK) -> Snapshot:
    return build_snapshot(Settings(templates=("side",), review_work=work), SOURCES, Cluster())


def _large() -> Object:
    return web({}, initContainers=[{"name": f"c{n}", "image": "c"} for n in range(CONTAINERS)])


def test_a_pod_beyond_it_starts_without_its_sidecar_and_is_marked(golden: Golden) -> None:
    found = inject(_large(), ENABLED, snapshot())
    assert (found.reason, found.effect, found.decision.required) == (Reason.TOO_COSTLY, Effect.MARK, False)
    assert found.object["metadata"]["annotations"]["sidecar.injector/status"] == "failed"
    assert sorted(operation["path"] for operation in found.patch) == [
        "/metadata/annotations/sidecar.injector~1reason",
        "/metadata/annotations/sidecar.injector~1status",
        "/metadata/labels/sidecar.injector~1status",
    ]
    golden(found.warning_lines[0])
    assert found.diagnostic is not None and found.diagnostic.fields == {"most": WORK}


@pytest.mark.parametrize("core", [inject, guard])
def test_where_a_sidecar_is_required_it_is_refused(core, golden: Golden) -> None:
    found = core(_large(), REQUIRED, snapshot())
    assert (found.reason, found.effect, found.patch) == (Reason.TOO_COSTLY, Effect.REFUSE, ())
    golden(found.message)


@pytest.mark.parametrize(("policy", "effect"), [("Fail", Effect.REFUSE), ("Ignore", Effect.SKIP)])
def test_at_a_path_its_failure_policy_decides(policy, effect) -> None:
    asked = ObjectRequest(Request(), _large(), {}, {})
    at = PathTemplates(templates=("side",), failure_policy=policy)
    found = admit(asked, ENABLED, at, snapshot(10))
    assert (found.reason, found.effect) == (Reason.TOO_COSTLY, effect)


def test_a_template_that_fails_is_paid_for_too() -> None:
    """At a path that ignores failures the others are asked all the same, until nothing is left."""
    overlay = "{% for c in pod.spec.initContainers %}{% endfor %}{{ pod.spec.volumes | length }}"
    sources = {name: {"template.yaml": "description: Fails.\n", "overlay.yaml.j2": overlay} for name in ("one", "two")}
    known = build_snapshot(Settings(review_work=WORK), sources, Cluster())
    found = admit(ObjectRequest(Request(), _large(), {}, {}), ENABLED, PathTemplates(templates=("one", "two")), known)
    assert [failure.code for failure in found.failures] == ["template-failed", "too-costly"]
    found = admit(
        ObjectRequest(Request(), web({}, initContainers=[]), {}, {}),
        ENABLED,
        PathTemplates(templates=("one", "two")),
        known,
    )
    assert [failure.code for failure in found.failures] == ["template-failed", "template-failed"]


def test_the_setting_raises_it_and_switches_it_off() -> None:
    for work in (0, 100 * WORK):
        assert inject(_large(), ENABLED, snapshot(work)).reason is Reason.INJECTED
    assert inject(web(), ENABLED, snapshot(10)).reason is Reason.TOO_COSTLY
    assert parse_settings({"reviewWork": 7}).review_work == 7


def test_the_caller_s_counts_before_the_settings() -> None:
    assert inject(web(), ENABLED, snapshot(), budget=ReviewBudget(10)).reason is Reason.TOO_COSTLY
    budget = ReviewBudget(0)
    assert inject(_large(), ENABLED, snapshot(), budget=budget).reason is Reason.INJECTED
    assert budget.spent > WORK


def test_one_that_fits_exactly_is_enough() -> None:
    budget = ReviewBudget(0)
    inject(web(), ENABLED, snapshot(), budget=budget)
    assert inject(web(), ENABLED, snapshot(), budget=ReviewBudget(budget.spent)).reason is Reason.INJECTED
    short = ReviewBudget(budget.spent - 1)
    assert inject(web(), ENABLED, snapshot(), budget=short).reason is Reason.TOO_COSTLY


def test_it_does_not_count_what_was_asked_before() -> None:
    """What is remembered of another pod costs what it cost there."""
    known, spent = snapshot(), []
    for _ in range(3):
        budgets = ReviewBudget(0), ReviewBudget(0)
        injected = inject(web({"side.sidecar.injector/name": "b"}), REQUIRED, known, budget=budgets[0])
        guard(injected.object, REQUIRED, known, budget=budgets[1])
        spent.append([budget.spent for budget in budgets])
    assert spent[0] == spent[1] == spent[2] and min(spent[0]) > 0


def test_outside_of_a_review_nothing_is_charged() -> None:
    charge(10**12)
    with pytest.raises(InjectionError) as caught, ReviewBudget(5):
        charge(6)
    assert caught.value.reason is Reason.TOO_COSTLY
    charge(10**12)
