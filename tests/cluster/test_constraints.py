"""The constraints foretell a real API server: what they refuse it refuses, what they let pass it takes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from injector.errors import InjectionError
from injector.pods.constraints import check_constraints
from injector.pods.context import Namespace, Object
from tests.cluster.api import ApiError
from tests.cluster.controlplane import ControlPlane
from tests.cluster.processes import eventually
from tests.unit.pods.constraint_cases import CASES, Case


@pytest.fixture(scope="module")
def control_plane(gated_control_plane: ControlPlane) -> ControlPlane:
    """One that has the fields which are behind gates before Kubernetes 1.37."""
    return gated_control_plane


@pytest.fixture(scope="module")
def shop(control_plane: ControlPlane) -> Iterator[Callable[[Case], str]]:
    """The name of a namespace as the case wants it; cases that want the same share one."""
    made: dict[str, str] = {}

    def namespace(case: Case) -> str:
        wanted = json.dumps([case.labels(), case.quota, case.limits])
        if wanted not in made:
            name = f"constraints-{len(made)}"
            metadata = {"name": name, "labels": case.labels()}
            control_plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
            control_plane.wait_for_default_account(name)
            for obj in (*case.quotas(), *case.limit_ranges()):
                control_plane.api.create({key: value for key, value in obj.items() if key != "status"}, name)
            if case.quota:
                _wait_until_quotas_hold(control_plane, name)
            made[wanted] = name
        return made[wanted]

    yield namespace
    for name in made.values():
        control_plane.api.delete("Namespace", name)


def _wait_until_quotas_hold(control_plane: ControlPlane, name: str) -> None:
    """Wait until admission itself knows the namespace's quotas, which is later than their status is there.

    It learns of quotas in the order of their changes: once it holds to one that is made last, it knows them all.
    """
    api = control_plane.api
    eventually("the quota is counted", lambda: api.get("ResourceQuota", "compute", name)["status"].get("used"))
    last = {"metadata": {"name": "last"}, "spec": {"hard": {"count/secrets": "0"}}}
    api.create({"apiVersion": "v1", "kind": "ResourceQuota", **last}, name)
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "one"}}
    eventually("admission knows the quota", lambda: "exceeded quota" in (_refusal(control_plane, secret, name) or ""))


def _refusal(control_plane: ControlPlane, obj: Object, namespace: str) -> str | None:
    """What the API server says about the object; None if it takes it."""
    try:
        control_plane.api.create(obj, namespace, dry_run=True)
    except ApiError as error:
        return str(error)
    return None


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_api_server_agrees(case: Case, control_plane: ControlPlane, shop: Callable[[Case], str]) -> None:
    name = shop(case)
    api = control_plane.api
    assert _refusal(control_plane, case.before(), name) is None, "without the sidecar"
    said = _refusal(control_plane, case.after(), name)
    refused = case.reason is not None and not case.server_takes_it
    assert (said is not None) is refused, said
    # The same with quotas and limit ranges as the API server holds them: with its own defaults and counts.
    namespace = Namespace(
        name,
        api.get("Namespace", name)["metadata"]["labels"],
        quotas=tuple(api.list("ResourceQuota", name)),
        limit_ranges=tuple(api.list("LimitRange", name)),
    )
    if case.reason is None:
        check_constraints(case.after(), case.before(), namespace)
    else:
        with pytest.raises(InjectionError) as caught:
            check_constraints(case.after(), case.before(), namespace)
        assert caught.value.reason is case.reason
