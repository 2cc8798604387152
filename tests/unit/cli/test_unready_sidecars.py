"""What `explain` answers about a pod that an injected container keeps from running: states as a kubelet writes them."""

import json

import pytest
import yaml

from tests.unit.cli.manifests import POD

LATE = "Envoy is not ready after 120 s: GET /ready on port 15021 does not answer 200\n"
NO_SHELL = (
    'rpc error: code = Unknown desc = failed to exec in container: failed to start exec "c657": OCI runtime exec '
    'failed: exec failed: unable to start container process: exec: "bash": executable file not found in $PATH: unknown'
)
REFUSED = 'Get "http://10.0.0.7:80/": dial tcp 10.0.0.7:80: connect: connection refused'
BACK_OFF = "back-off 40s restarting failed container=envoy-sidecar pod=alone_default(617f30ff)"
RUNNING = {"running": {"startedAt": "2026-11-20T10:00:00Z"}}


def waiting(reason, message=""):
    return {"waiting": {"reason": reason, "message": message} if message else {"reason": reason}}


def ended(code, reason="Error", **more):
    return {"terminated": {"exitCode": code, "reason": reason, "startedAt": "2026-11-20T10:00:00Z", **more}}


def hook_failed(error, output=""):
    """`COMMAND` stands for what the hook runs."""
    pod = 'Container "envoy-sidecar" in Pod "alone_default(617f30ff-da04-42c3-9251-2ca26b918e4c)"'
    message = f"Exec lifecycle hook ([COMMAND]) for {pod} failed - error: {error}, message: {json.dumps(output)}"
    return waiting("PostStartHookError", message)


def exited(code, errors="", output=""):
    return hook_failed(f"command 'COMMAND' exited with {code}: {errors}", f"{output}{errors}")


#: The state of Envoy's container, its last state, how often it has restarted.
STATES = {
    "never ready": (exited(1, LATE), ended(0, "Completed"), 0),
    "killed in its hook": (exited(137), ended(3), 0),
    "no shell": (hook_failed(NO_SHELL), ended(137), 1),
    "a hook that prints": (exited(2, output="nobody listens\n"), ended(137), 0),
    "a hook by HTTP": (hook_failed(REFUSED), ended(137), 0),
    "out of memory": (waiting("CrashLoopBackOff", BACK_OFF), ended(137, "OOMKilled"), 3),
    "last words": (ended(1, message="cannot read\nenvoy.yaml"), {}, 0),
    "no image": (waiting("ErrImagePull", "rpc error: code = NotFound desc = docker.io/x:1: not found"), {}, 0),
    "no ConfigMap": (waiting("CreateContainerConfigError", 'configmap "envoy" not found'), {}, 0),
    "the hook runs": (waiting("PodInitializing"), {}, 0),
    "nothing known": ({}, {}, 0),
    "no probe has succeeded": (RUNNING, {}, 0),
    "again no probe has succeeded": (RUNNING, ended(2), 5),
}


def status_of(name, state, last=None, restarts=0, *, ready=False):
    more = {"ready": ready, "started": ready, "restartCount": restarts, "image": "x", "imageID": ""}
    return {"name": name, "state": state, "lastState": last or {}, **more}


INIT = waiting("PodInitializing")
READY = status_of("envoy-sidecar", RUNNING, ready=True)


@pytest.fixture
def explained(run):
    """Explain a pod with Envoy whose containers have these statuses, with `--output FORM` and more arguments."""
    pod = yaml.safe_load(run("inject", "--templates", "envoy", "-", stdin=POD).out)
    hooks = [c["lifecycle"]["postStart"]["exec"] for c in pod["spec"]["initContainers"] if "lifecycle" in c]

    def call(init, containers=(), phase="Pending", *args):
        statuses = {"initContainerStatuses": init, "containerStatuses": list(containers)}
        text = json.dumps({**pod, "status": {"phase": phase, **statuses}})
        return run(
            "explain", *args, "-", stdin=text.replace("COMMAND", json.dumps(" ".join(hooks[0]["command"]))[1:-1])
        )

    return call


@pytest.mark.parametrize("what", STATES)
def test_an_injected_container_that_is_not_ready(explained, what, golden):
    state, last, restarts = STATES[what]
    init = [status_of("envoy-sidecar", state, last, restarts), status_of("envoy-redirect", INIT)]
    done = explained(init, [status_of("web", INIT)])
    golden(done.out.partition("Sidecars that are not ready:")[2].partition("\n\n")[0])
    data = json.loads(explained(init, [status_of("web", INIT)], "Pending", "--output", "json").out)[0]
    [problem] = data["unready"]
    has_failed = bool(last) or "terminated" in state or "message" in state.get("waiting", {})
    assert (done.code, problem["severity"]) == ((1, "error") if has_failed else (0, "warning"))
    assert (problem["code"], problem["container"]) == ("sidecar-not-ready", "envoy-sidecar")
    assert (problem["state"], problem["restarts"]) == (next(iter(state), "waiting"), restarts)
    assert explained(init, (), "Pending", "--strict").code == 1


@pytest.mark.parametrize(
    ("init", "containers", "phase", "told"),
    [
        ([READY, status_of("envoy-redirect", ended(0, "Completed"))], [status_of("web", ended(1))], "Running", []),
        ([READY, status_of("envoy-redirect", ended(1))], [status_of("web", INIT)], "Pending", ["envoy-redirect"]),
        ([status_of("envoy-sidecar", ended(0, "Completed"))], [status_of("web", INIT)], "Pending", ["envoy-sidecar"]),
        ([status_of("envoy-sidecar", ended(137))], [status_of("web", ended(1))], "Failed", []),
        ([READY, status_of("envoy-redirect", ended(1))], [], "Failed", ["envoy-redirect"]),
        ([status_of("init", RUNNING), status_of("envoy-sidecar", INIT)], [], "Pending", []),
        ([], [], "Pending", []),
    ],
    ids=[
        "only the app",
        "the redirect",
        "ended well in its hook",
        "over",
        "failed before it began",
        "an init container of the app",
        "no node",
    ],
)
def test_only_what_keeps_the_pod_from_running_is_told(explained, init, containers, phase, told):
    data = json.loads(explained(init, containers, phase, "--output", "json").out)[0]
    assert [problem["container"] for problem in data.get("unready", ())] == told
    assert ("Sidecars that" in explained(init, containers, phase).out) is bool(told)


def test_a_sidecar_that_the_pod_customises(run):
    own = "  initContainers:\n  - {name: envoy-sidecar, restartPolicy: Always, resources: {limits: {memory: 1Gi}}}\n"
    pod = yaml.safe_load(run("inject", "--templates", "envoy", "-", stdin=POD + own).out)
    pod["status"] = {"initContainerStatuses": [status_of("envoy-sidecar", ended(1))]}
    [data] = json.loads(run("explain", "--output", "json", "-", stdin=json.dumps(pod)).out)
    assert [problem["container"] for problem in data["unready"]] == ["envoy-sidecar"]
