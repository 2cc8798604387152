"""The life of an injected pod: in what order its containers start and end, what it answers then, what goes wrong."""

from __future__ import annotations

import threading

import pytest

from tests.cluster.api import Object
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.objects import deployment, wait_until_available
from tests.cluster.processes import eventually
from tests.node.calls import ENABLED, PORT, Answer, Try, app, call, statuses, wait_until_ready
from tests.node.installation import Installation

SIDECAR = "envoy-sidecar"


@pytest.fixture
def start(injector: Installation, namespace: NamespaceFactory) -> Try:
    """Makes a pod with templates and parameters in a namespace of its own, and waits until it is Ready."""
    return Try(injector, namespace)


def times(pod: Object, state: str, moment: str) -> dict[str, str]:
    """When each container came to a state, such as running and startedAt; those that were not in it are left out."""
    return {name: one["state"][state][moment] for name, one in statuses(pod).items() if state in one["state"]}


def delete_under_way(start: Try, web: Object) -> tuple[Answer, dict[str, str]]:
    """Delete a pod while it answers a request of 4 s: the answer, and when each container ended."""
    space, name = web["metadata"]["namespace"], web["metadata"]["name"]
    start.api.patch("Pod", name, {"metadata": {"finalizers": ["test.example/last-look"]}}, space)  # it stays to be seen
    answers: list[Answer] = []
    asking = threading.Thread(target=lambda: answers.append(call(web["status"]["podIP"], "/sleep?for=4s", timeout=30)))
    asking.start()
    eventually("the request is under way", lambda: asking.is_alive())
    threading.Event().wait(0.7)
    start.node.kubectl("delete", "pod", "-n", space, name, "--wait=false")

    def all_ended() -> dict[str, str] | None:
        ended = times(start.api.get("Pod", name, space), "terminated", "finishedAt")
        return ended if ended.keys() == statuses(web).keys() else None

    ended = eventually("its containers have ended", all_ended, 300)
    start.api.patch("Pod", name, {"metadata": {"finalizers": None}}, space)
    asking.join()
    return answers[0], ended


def test_sidecar_then_redirect_then_app(start: Try) -> None:
    """order at the start: Envoy, the redirect, the app"""
    web = start("envoy")
    ended, started = times(web, "terminated", "finishedAt"), times(web, "running", "startedAt")
    assert list(ended) == ["envoy-redirect"]
    assert started[SIDECAR] <= ended["envoy-redirect"] <= started["app"]
    log = start.log(web, "app")
    assert "serves on 8080" in log


def test_a_request_under_way_is_answered_and_the_sidecar_ends_last(start: Try) -> None:
    """order at the end: the app answers a request that is still open; Envoy ends after the app"""
    web = start("envoy")
    answer, ended = delete_under_way(start, web)
    assert (answer.code, answer.text) == (200, "slept 4s\n"), answer
    assert ended["app"] <= ended[SIDECAR]


def test_the_same_with_plain_containers(start: Try) -> None:
    """`nativeSidecars: never`: the redirect is set up first; the app answers a request that is still open;
    Envoy ends last
    """
    start.space = start.make_space(ENABLED)
    with start.injector.settings(nativeSidecars="never"):
        start.make("envoy", "web", terminationGracePeriodSeconds=20)
    web = wait_until_ready(start.api, start.space, "web")
    assert SIDECAR in [c["name"] for c in web["spec"]["containers"]]
    assert times(web, "terminated", "finishedAt")["envoy-redirect"] <= min(times(web, "running", "startedAt").values())
    answer, ended = delete_under_way(start, web)
    assert (answer.code, answer.text) == (200, "slept 4s\n"), answer
    assert ended["app"] <= ended[SIDECAR]


def test_the_sidecar_is_killed(start: Try) -> None:
    """Envoy killed: only Envoy restarts, and carries requests again"""
    web = start("envoy")
    before = statuses(web)
    start.node.kill_container(before[SIDECAR]["containerID"])
    now = again(start, web, before)
    assert now["app"]["containerID"] == before["app"]["containerID"] and now["app"]["restartCount"] == 0
    eventually("it answers", lambda: call(web["status"]["podIP"]).code == 200)


def test_out_of_memory(start: Try) -> None:
    """a sidecar above its memory limit: only it is killed and restarts"""
    helper = {
        "name": "helper",
        "image": "registry.example/app:1",
        "args": '["grow"]',
        "memory-request": "16Mi",
        "memory-limit": "32Mi",
    }
    web = start("container", helper)
    eventually("it was out of memory", lambda: was_killed(start, web, "helper") == "OOMKilled", 300)
    now = statuses(start.api.get("Pod", "web", start.space))
    assert now["app"]["restartCount"] == 0 and now["app"]["ready"]


def was_killed(start: Try, web: Object, container: str) -> str:
    one = statuses(start.api.get("Pod", web["metadata"]["name"], start.space))[container]
    states = (one["state"], one["lastState"])
    return next((state["terminated"]["reason"] for state in states if "terminated" in state), "")


def test_the_image_is_patched_in_the_running_pod(start: Try) -> None:
    """another image for Envoy in the running pod: only Envoy restarts"""
    web = start("envoy")
    before = statuses(web)
    index, spec = next((i, c) for i, c in enumerate(web["spec"]["initContainers"]) if c["name"] == SIDECAR)
    start.node.ctr("images", "tag", "--force", f"docker.io/{spec['image']}", f"docker.io/{spec['image']}-again")
    path = f"/spec/initContainers/{index}/image"
    change = [{"op": "replace", "path": path, "value": f"{spec['image']}-again"}]
    start.api.patch("Pod", "web", change, start.space, "json")
    now = again(start, web, before)
    assert now["app"]["containerID"] == before["app"]["containerID"]
    eventually("it answers", lambda: call(web["status"]["podIP"]).code == 200)


def again(start: Try, web: Object, before: dict[str, Object]) -> dict[str, Object]:
    """The containers' status when the sidecar is another one, and ready."""

    def other() -> dict[str, Object] | None:
        now = statuses(start.api.get("Pod", web["metadata"]["name"], start.space))
        changed = now[SIDECAR].get("containerID") != before[SIDECAR]["containerID"]
        return now if changed and now[SIDECAR]["ready"] else None

    return eventually("the sidecar is ready again", other, 300)


@pytest.mark.parametrize(("name", "of"), [("app", "containers"), (SIDECAR, "initContainers")])
def test_resized_in_place(start: Try, name: str, of: str) -> None:
    """{name} resized in place: no container restarts, requests are answered meanwhile"""
    few = {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"cpu": "200m", "memory": "64Mi"}}
    web = start("envoy", container={"resources": few})
    before = statuses(web)
    more = {"requests": {"cpu": "120m", "memory": "160Mi"}, "limits": {"cpu": "2", "memory": "1Gi"}}
    body = {"spec": {of: [{"name": name, "resources": more}]}}
    url = f"/api/v1/namespaces/{start.space}/pods/web/resize"
    start.api.call("PATCH", url, body, "application/strategic-merge-patch+json")
    answers = []

    def resized() -> bool:
        answers.append(call(web["status"]["podIP"]).code)
        now = statuses(start.api.get("Pod", "web", start.space))[name]
        return bool(now.get("resources", {}).get("limits", {}).get("memory") == "1Gi")

    eventually("it has more", resized, 300)
    now = statuses(start.api.get("Pod", "web", start.space))
    assert {n: s["restartCount"] for n, s in now.items()} == {n: s["restartCount"] for n, s in before.items()}
    assert set(answers) == {200}


def test_kubectl_exec_logs_port_forward_and_debug(start: Try) -> None:
    """kubectl exec, logs, port-forward and debug work"""
    web = start("envoy")
    kubectl = start.node.kubectl
    asked = kubectl("exec", "-n", start.space, "web", "--", "/app", "get", "http://localhost:8080/exec").stdout
    assert "app web /exec" in asked
    assert "serves on" in kubectl("logs", "-n", start.space, "web").stdout, "the app's, without naming it"
    debug = ("debug", "-n", start.space, "web", "--image=registry.example/app:1", "--container=debugger")
    kubectl(*debug, "--", "/app", "get", "http://localhost:8080/debug")

    def debugged() -> bool:
        status = start.api.get("Pod", "web", start.space)["status"]
        return any("terminated" in one["state"] for one in status.get("ephemeralContainerStatuses", []))

    eventually("the ephemeral container has ended", debugged, 300)
    assert "app web /debug" in start.log(web, "debugger")
    forwarded = start.node.forwarded(start.space, "web", PORT)
    with forwarded as port:
        eventually("the forwarded port answers", lambda: call("127.0.0.1", "/forwarded", port).code == 200)


TLS_PORT = 8443
PROBES: dict[str, Object] = {
    "http": {"httpGet": {"path": "/", "port": PORT}},
    "https": {"httpGet": {"path": "/", "port": TLS_PORT, "scheme": "HTTPS"}},
    "tcp": {"tcpSocket": {"port": PORT}},
    "grpc": {"grpc": {"port": PORT}},
    "exec": {"exec": {"command": ["/app", "get", "http://localhost:8080/"]}},
}


@pytest.mark.parametrize("form", PROBES)
def test_probes_through_the_redirect(start: Try, form: str) -> None:
    """probes by httpGet (HTTP and HTTPS), tcpSocket, grpc and exec, with the redirect: they succeed only if the
    app listens
    """
    probe = {**PROBES[form], "periodSeconds": 1, "failureThreshold": 3}
    every = {"readinessProbe": probe, "livenessProbe": probe, "startupProbe": probe}
    web = start("envoy", container={**every, "env": [{"name": "TLS_PORT", "value": str(TLS_PORT)}]})
    assert statuses(web)["app"]["restartCount"] == 0
    deaf = start.make("envoy", "deaf", {"readinessProbe": probe, "env": [{"name": "PORT", "value": "9999"}]})

    def refused() -> bool:
        said = start.api.list("Event", start.space, fieldSelector="involvedObject.name=deaf,reason=Unhealthy")
        return any("Readiness" in event["message"] for event in said)

    eventually("the probe fails where the app does not listen", refused, 300)
    assert not statuses(start.api.get("Pod", deaf["metadata"]["name"], start.space))["app"]["ready"]


def test_kubelet_is_killed_and_started(start: Try) -> None:
    """kubelet killed and started again: pods do not restart, and a new pod starts"""
    web = start("envoy")
    start.node.kill_kubelet()
    assert call(web["status"]["podIP"]).code == 200
    start.node.start_kubelet()
    start("envoy", name="later", space=start.space)
    now = start.api.get("Pod", "web", start.space)
    assert {one["restartCount"] for one in statuses(now).values()} == {0}
    assert call(web["status"]["podIP"]).code == 200


def test_drained_with_a_disruption_budget(start: Try) -> None:
    """a node drained: evictions wait for the PodDisruptionBudget, and all pods start again"""
    space = start.make_space(ENABLED)
    start.api.create(deployment("drained", 2, containers=[app()], nodeName=None), space)
    wait_until_available(start.api, "drained", space)
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "drained"}}},
    }
    start.api.create(budget, space)
    eventually(
        "the budget is counted",
        lambda: start.api.get("PodDisruptionBudget", "web", space).get("status", {}).get("currentHealthy") == 2,
    )
    drain = ("drain", "node-0", "--pod-selector=app=drained", "--delete-emptydir-data")
    refused = start.node.kubectl(*drain, "--timeout=6s", check=False)
    assert refused.returncode and "disruption budget" in refused.stderr
    start.api.patch("PodDisruptionBudget", "web", {"spec": {"minAvailable": 0}}, space)
    start.node.kubectl(*drain, "--timeout=60s")
    start.node.kubectl("uncordon", "node-0")
    for one in wait_until_available(start.api, "drained", space):
        wait_until_ready(start.api, space, one["metadata"]["name"])
