"""Where sidecars go: native or not, and in which order."""

from __future__ import annotations

import itertools

import pytest

from injector.caches import OverlayCaches
from injector.errors import InjectionError
from injector.pods.merge import merge
from injector.pods.overlay import Replace
from injector.pods.sidecars import Placement, place
from injector.reasons import Reason
from tests.unit.pods.pod_cases import app_pod


def overlay(setup, sidecar):
    return {"spec": {"initContainers": [{"name": setup}], "containers": [{"name": sidecar, "image": "i"}]}}


def both(pod, native):
    first = merge(pod, overlay("setup-1", "side-1"), app=("app",), placement=Placement(native=native))
    second = merge(first.pod, overlay("setup-2", "side-2"), app=("app",), placement=first.placement)
    return second.pod["spec"]


def order(spec):
    return [c["name"] for c in spec.get("initContainers", [])], [c["name"] for c in spec["containers"]]


def test_native_sidecars_come_after_all_setup_and_before_the_pods_own():
    spec = both(app_pod(initContainers=[{"name": "own"}]), native=True)
    assert order(spec) == (["setup-1", "setup-2", "side-1", "side-2", "own"], ["app"])
    assert [c.get("restartPolicy") for c in spec["initContainers"]] == [None, None, "Always", "Always", None]


def test_without_native_sidecars_setup_comes_last():
    spec = both(app_pod(initContainers=[{"name": "own"}]), native=False)
    assert order(spec) == (["own", "setup-1", "setup-2"], ["app", "side-1", "side-2"])
    assert all("restartPolicy" not in c for c in spec["containers"])


@pytest.mark.parametrize("native", [True, False])
def test_a_pod_without_init_containers_gets_the_same_order(native):
    setup = ["setup-1", "setup-2"]
    sides = ["side-1", "side-2"]
    assert order(both(app_pod(), native)) == ((setup + sides, ["app"]) if native else (setup, ["app", *sides]))


def test_what_is_there_never_moves():
    spec = both(app_pod(initContainers=[{"name": "x"}, {"name": "side-1"}, {"name": "setup-2"}]), native=True)
    assert order(spec)[0] == ["x", "setup-1", "side-1", "side-2", "setup-2"]


def test_a_container_of_the_sidecars_name_is_the_sidecar_in_whatever_list_it_is():
    pod = app_pod()
    pod["spec"]["containers"].append({"name": "side-1", "image": "mine"})
    spec = both(pod, native=True)
    assert order(spec) == (["setup-1", "setup-2", "side-2"], ["app", "side-1"])
    assert spec["containers"][1] == {"name": "side-1", "image": "mine"}
    spec = both(app_pod(initContainers=[{"name": "side-1", "image": "mine"}]), native=False)
    assert order(spec) == (["setup-1", "setup-2", "side-1"], ["app", "side-2"])


def test_a_container_with_another_restart_policy_is_no_sidecar():
    wanted = {"spec": {"containers": [{"name": "once", "restartPolicy": "Never"}]}}
    placed, _ = place(app_pod(), wanted, Placement(native=True), OverlayCaches())
    assert placed is wanted


def test_a_replaced_container_becomes_native_too():
    wanted = {"spec": {"containers": [Replace({"name": "side", "image": "i"})]}}
    result = merge(app_pod(), wanted, app=("app",), placement=Placement(native=True))
    assert result.pod["spec"]["initContainers"] == [{"name": "side", "image": "i", "restartPolicy": "Always"}]


def test_setup_may_not_have_the_name_of_a_running_container():
    with pytest.raises(InjectionError) as caught:
        both({"spec": {"containers": [{"name": "app"}, {"name": "setup-1"}]}}, native=True)
    assert caught.value.reason is Reason.CONFLICT
    assert "setup-1" in str(caught.value)


def test_every_container_stays_in_its_list():
    wanted = {
        "spec": {"containers": [{"name": "*", "env": []}], "initContainers": [{"name": "*", "env": [{"name": "A"}]}]}
    }
    pod = app_pod(initContainers=[{"name": "own"}, {"name": "other"}])
    result = merge(pod, wanted, app=("app", "own"), placement=Placement(native=True)).pod["spec"]
    assert result["initContainers"] == [{"name": "own", "env": [{"name": "A"}]}, {"name": "other"}]
    assert result["containers"] is pod["spec"]["containers"]


REDIRECTS = {"redirect": "proxy", "redirect-6": "proxy"}
PROXY = {
    "spec": {
        "initContainers": [{"name": "redirect"}, {"name": "redirect-6"}],
        "containers": [{"name": "proxy", "image": "i"}],
    }
}


@pytest.mark.parametrize("own", [[], [{"name": "own"}]])
@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("turns", [list(turns) for turns in itertools.permutations(range(3))])
def test_nothing_stands_between_a_redirect_and_its_proxy(turns, native, own):
    overlays = [PROXY, overlay("setup-1", "side-1"), overlay("setup-2", "side-2")]
    placement = Placement.of(native, [REDIRECTS])
    pod = app_pod(initContainers=own) if own else app_pod()
    for turn in turns:
        merged = merge(pod, overlays[turn], app=("app",), placement=placement)
        pod, placement = merged.pod, merged.placement
    names = order(pod["spec"])[0]
    setup = [f"setup-{turn}" for turn in turns if turn]
    redirects = list(REDIRECTS)
    own_names = [one["name"] for one in own]
    if native:
        sidecars = [name for turn in turns for name in ([f"side-{turn}"] if turn else ["proxy", *redirects])]
        assert names == [*setup, *sidecars, *own_names]
    else:
        assert names == [*own_names, *setup, *redirects]


@pytest.mark.parametrize(("native", "before", "after"), [
    (True, ["proxy", "redirect", "redirect-6", "late"], ["proxy", "redirect", "redirect-6", "late"]),
    (True, ["redirect", "proxy", "redirect-6"], ["redirect", "proxy", "redirect-6"]),
    (False, ["redirect", "late", "redirect-6", "later"], ["late", "later", "redirect", "redirect-6"]),
])  # fmt: skip
def test_a_redirect_to_a_plain_container_moves_behind_what_came_later(native, before, after):
    pod = app_pod(initContainers=[{"name": name} for name in before])
    if not native:
        pod["spec"]["containers"].append({"name": "proxy", "image": "i"})
    placement = Placement.of(native, [REDIRECTS])
    claimed = [f"/spec/initContainers/{name}" for name in REDIRECTS]
    again = merge(pod, PROXY, app=("app",), placement=placement, claimed=claimed).pod
    assert order(again["spec"])[0] == after
    assert merge(again, PROXY, app=("app",), placement=placement, claimed=claimed).pod["spec"] == again["spec"]
    own = merge(pod, PROXY, app=("app",), placement=placement).pod
    assert order(own["spec"])[0] == before, "what the pod's author wrote stays where it is"


def test_a_redirect_to_a_sidecar_that_the_pod_has_as_a_plain_container_comes_last():
    pod = app_pod(initContainers=[{"name": "own"}])
    pod["spec"]["containers"].append({"name": "proxy", "image": "mine"})
    merged = merge(pod, PROXY, app=("app",), placement=Placement.of(True, [REDIRECTS]))
    assert order(merged.pod["spec"])[0] == ["own", "redirect", "redirect-6"]
