"""What `injector inject` says of a manifest is what the webhook does to its pod, or to that of its controller."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from injector.inject import uninject
from injector.pods.workloads import pod_template
from injector.settings import Settings
from tests import command
from tests.cluster.api import Object
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.injection import gallery
from tests.cluster.injection.installation import PREFIX, RECEIPT, STATUS, TEMPLATES, notes, refusal
from tests.cluster.objects import config_map, wait_until_in_force, webhook, webhook_configuration
from tests.cluster.processes import eventually
from tests.cluster.server import PROJECT, InjectorServer

#: Kinds whose controller runs here and makes pods at once.
_KINDS = ("CronJob", "DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet")
#: What `/advise` is asked about.
_ADVISED = [
    {"apiGroups": [group], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": resources}
    for group, resources in (
        ("", ["replicationcontrollers"]),
        ("apps", ["daemonsets", "deployments", "replicasets", "statefulsets"]),
        ("batch", ["cronjobs", "jobs"]),
    )
]
_ROOT = PROJECT / "tests" / "corpus" / "manifests"


def _workload(file: Path) -> Object | None:
    documents = [*yaml.safe_load_all(file.read_text())]
    found = documents[0] if len(documents) == 1 and isinstance(documents[0], dict) else {}
    return found if found.get("kind") in _KINDS else None


_FILES = [file for file in sorted((_ROOT / "kinds").glob("*.yaml")) if _workload(file)]


def _verdict(annotations: dict[str, str]) -> tuple[str, str, list[str]]:
    """The mark, the reason of a failure, and the parts that were added.

    In a pod imagePullPolicy is replaced and not added: the API server has filled it in before.
    """
    reason = annotations.get(f"{PREFIX}/reason", "").partition(":")[0]
    added = json.loads(annotations[RECEIPT])["added"] if RECEIPT in annotations else []
    return annotations.get(STATUS, ""), reason, sorted(part for part in added if "imagePullPolicy" not in part)


@pytest.fixture(scope="module")
def advised(control_plane: ControlPlane, injector: InjectorServer) -> Iterator[dict[str, str]]:
    """The label of namespaces in which `/advise` is asked about workloads."""
    label = {"advised": "manifests"}
    entry = webhook(
        "advice.manifests.test", injector.client_config("/advise"), rules=_ADVISED, sideEffects="None",
        namespaceSelector={"matchLabels": label},
    )  # fmt: skip
    made = control_plane.api.create(webhook_configuration("advice-of-manifests", entry, validating=True))
    wait_until_in_force(control_plane, made["kind"])
    yield label
    control_plane.api.delete(made["kind"], made["metadata"]["name"])
    wait_until_in_force(control_plane, made["kind"])


@pytest.fixture(scope="module")
def published(control_plane: ControlPlane, injector: InjectorServer) -> Iterator[tuple[str, ...]]:
    """The options by which a command finds the injector's settings and templates in the cluster."""
    home, api = "injector-published", control_plane.api
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": home}})
    settings = {"settings.yaml": injector.settings_file.read_text()}
    api.create(config_map("settings", settings, labels={"app.kubernetes.io/name": "sidecar-injector"}), home)
    for name, files in gallery.ALL.items():
        api.create(config_map(name, files, labels={f"{PREFIX}/template": "true"}), home)
    yield "--from-cluster", "--kubeconfig", str(control_plane.kubeconfig), "--injector-namespace", home
    api.delete("Namespace", home)


def _foretold(file: Path, *options: object) -> tuple[tuple[str, str, list[str]], list[str]]:
    """What `inject` makes of a manifest, and what `explain` warns of."""
    [said] = json.loads(command.run("explain", file, *options, "--output", "json").out)
    done = command.run("inject", file, *options, "--output", "json")
    [line, *_] = json.loads(done.err)["objects"]
    if line["outcome"] != "injected":
        assert said["reason"] == line["reason"]
        return (line["outcome"], line["reason"], []), said["warnings"]
    workload: dict[str, Any] = next(yaml.safe_load_all(done.out))
    template = pod_template(workload)
    assert template is not None and said["reason"] == "injected"
    return _verdict(notes(template)), said["warnings"]


def _warned(control_plane: ControlPlane, made: Object, namespace: str) -> list[str]:
    """The warnings that came with a pod, by a dry run of the pod as its controller sent it."""
    bare = uninject(made, Settings())
    metadata = {key: bare["metadata"].get(key, {}) for key in ("annotations", "labels", "ownerReferences")}
    spec = {key: value for key, value in bare["spec"].items() if key != "nodeName"}
    again = {"apiVersion": "v1", "kind": "Pod", "metadata": {**metadata, "generateName": "again-"}, "spec": spec}
    control_plane.api.create(again, namespace, dry_run=True)
    return control_plane.api.warnings


def _beginnings(warnings: list[str]) -> list[str]:
    """Warnings as far as they go over the wire: at most 120 characters, the last of them a sign for more."""
    return [warning[:100] for warning in warnings]


@pytest.mark.parametrize(
    ("file", "template"),
    [
        pytest.param(file, template, id=f"{file.stem}-{template}", marks=[pytest.mark.soak(minutes=2)] * (turn % 2))
        for number, file in enumerate(_FILES)
        for turn, template in enumerate(("proxy", "keeper"), number)
    ],
)
def test_what_is_foretold_is_done(
    control_plane: ControlPlane,
    injector: InjectorServer,
    namespace: NamespaceFactory,
    advised: dict[str, str],
    published: tuple[str, ...],
    file: Path,
    template: str,
    tmp_path: Path,
) -> None:
    api = control_plane.api
    ns = namespace(labels={"injection": "enabled", **advised}, annotations={TEMPLATES: template})
    workload = _workload(file)
    assert workload is not None
    workload["metadata"].pop("namespace", None)
    workload["metadata"].pop("ownerReferences", None)
    api.create(workload, ns)
    advice = api.warnings
    if workload["kind"] == "CronJob":  # as `kubectl create job --from` does, and its controller at its time
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "now"}}
        api.create({**job, "spec": workload["spec"]["jobTemplate"]["spec"]}, ns)
    [made, *_] = eventually("its pod", lambda: api.list("Pod", ns))
    foretold, warnings = _foretold(
        file, "--templates-dir", injector.templates_dir, "--templates", template, "--namespace", ns
    )
    assert _verdict(notes(made)) == foretold
    created = tmp_path / "created.yaml"
    created.write_text(yaml.safe_dump(workload))
    assert _foretold(created, *published, "--namespace", ns) == (foretold, warnings)  # by the cluster alone
    assert _beginnings(_warned(control_plane, made, ns)) == _beginnings(warnings)
    assert _beginnings(advice) == _beginnings(warnings)


def _run(made: Object) -> Object:
    """What a container of the app runs with: its variables and mounts in their order, and the pod's volumes."""
    [app] = [one for one in made["spec"]["containers"] if one["name"] == "web"]
    mounts = [one for one in app.get("volumeMounts", []) if not one["mountPath"].startswith("/var/run/secrets/")]
    volumes = [(one["name"], *one.keys() - {"name"}) for one in made["spec"].get("volumes", [])]
    own = [volume for volume in volumes if not volume[0].startswith("kube-api-access-")]
    return {"env": app.get("env"), "mounts": mounts, "volumes": own}


@pytest.mark.parametrize("label", ["enabled", "required"])
@pytest.mark.parametrize("file", sorted((_ROOT / "run-time").glob("*.yaml")), ids=lambda file: file.stem)
def test_what_counts_at_run_time_is_foretold(
    control_plane: ControlPlane, injector: InjectorServer, namespace: NamespaceFactory, file: Path, label: str
) -> None:
    ns = namespace(labels={"injection": label}, annotations={TEMPLATES: "ship"})
    options = ("--templates-dir", injector.templates_dir, "--templates", "ship", "--namespace", ns)
    done = command.run("inject", file, *options, "--namespace-label", f"injection={label}", "--output", "json")
    [line] = json.loads(done.err)["objects"]
    pod = yaml.safe_load(file.read_text())
    if label == "required" and line["outcome"] != "injected":
        assert line["reason"] in refusal(control_plane, pod, ns)
        return
    made = control_plane.api.create(pod, ns)
    if line["outcome"] != "injected":
        assert (notes(made)[STATUS], _verdict(notes(made))[1]) == ("failed", line["reason"])
        return
    foretold = yaml.safe_load(done.out)
    assert _verdict(notes(made)) == _verdict(notes(foretold))
    assert _run(made) == _run(foretold)
