"""What `injector inject` says of a manifest is what the webhook does to its pod, or to that of its controller."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import command
from tests.cluster.api import Object
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.injection.installation import PREFIX, RECEIPT, STATUS, TEMPLATES, notes, refusal
from tests.cluster.processes import eventually
from tests.cluster.server import PROJECT, InjectorServer

#: Kinds whose controller runs here and makes pods at once.
_KINDS = ("DaemonSet", "Deployment", "Job", "ReplicaSet", "StatefulSet")
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


def _foretold(file: Path, namespace: str, template: str, folder: Path) -> tuple[str, str, list[str]]:
    options = ("--templates-dir", folder, "--templates", template, "--namespace", namespace, "--output", "json")
    done = command.run("inject", file, *options)
    [line, *_] = json.loads(done.err)["objects"]
    if line["outcome"] != "injected":
        return line["outcome"], line["reason"], []
    workload: dict[str, Any] = next(yaml.safe_load_all(done.out))
    return _verdict(notes(workload["spec"]["template"]))


@pytest.mark.parametrize("template", ["proxy", "keeper"])
@pytest.mark.parametrize("file", _FILES, ids=lambda file: file.stem)
def test_what_is_foretold_is_done(
    control_plane: ControlPlane, injector: InjectorServer, namespace: NamespaceFactory, file: Path, template: str
) -> None:
    api, ns = control_plane.api, namespace(labels={"injection": "enabled"}, annotations={TEMPLATES: template})
    workload = _workload(file)
    assert workload is not None
    workload["metadata"].pop("namespace", None)
    workload["metadata"].pop("ownerReferences", None)
    api.create(workload, ns)
    pods = eventually("its pod", lambda: api.list("Pod", ns))
    assert _verdict(notes(pods[0])) == _foretold(file, ns, template, injector.templates_dir)


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
