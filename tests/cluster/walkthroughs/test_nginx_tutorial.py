"""docs/coming-from/nginx-tutorial/, typed: the sidecar of that very file, for pods that ask for it."""

from __future__ import annotations

import pytest
import yaml

from injector.settings import parse_settings
from tests.cluster.controlplane import ControlPlane
from tests.cluster.walkthroughs.conftest import Open
from tests.cluster.walkthroughs.walkthrough import PAGES
from tests.deploy.helm import Helm, one

pytestmark = pytest.mark.programs

PREFIX = "sidecar-injector-webhook.morven.me"


def test_from_the_first_command_to_the_last(control_plane: ControlPlane, opened: Open) -> None:
    terminal = opened("nginx-tutorial", "sidecar-injector", "injection", "strict", "kube-system")
    config = (terminal.folder / "sidecarconfig.yaml").read_text()
    held = yaml.safe_load((terminal.folder / "configmap.yaml").read_text())
    assert held["data"] == {"sidecarconfig.yaml": config}
    terminal.type((terminal.folder / "README.md").read_text())
    api = control_plane.api
    [wanted] = yaml.safe_load(config)["containers"]
    for name in ("alpine", "says-y", "says-true", "says-on"):
        pod = api.get("Pod", name, "injection")
        assert pod["metadata"]["annotations"][f"{PREFIX}/status"] == "injected"
        app, sidecar = pod["spec"]["containers"]
        assert app["name"] == name
        assert {key: sidecar[key] for key in ("name", "image", "imagePullPolicy")} == {
            key: wanted[key] for key in ("name", "image", "imagePullPolicy")
        }
        assert sidecar["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
        assert wanted["volumeMounts"][0] in sidecar["volumeMounts"]
        assert {"name": "nginx-conf", "configMap": {"name": "nginx-configmap", "defaultMode": 420}} in pod["spec"][
            "volumes"
        ]
        assert "initContainers" not in pod["spec"]
    for name, namespace in (("silent", "injection"), ("refuses", "injection"), ("system", "kube-system")):
        annotations = api.get("Pod", name, namespace)["metadata"].get("annotations", {})
        assert f"{PREFIX}/status" not in annotations
    assert '"reason":"namespace-ignored"' in terminal.kubelet.log
    assert '"path":"/validate/pods"' in terminal.kubelet.log


def test_an_app_on_the_sidecar_s_port_starts_without_it_and_says_so(control_plane: ControlPlane, opened: Open) -> None:
    terminal = opened("nginx-tutorial", "sidecar-injector", "injection")
    page = (terminal.folder / "README.md").read_text()
    terminal.type(page[: page.index("```console\n$ for word in")])
    asking = f"--annotations={PREFIX}/inject=yes"
    terminal.type(
        f"```console\n$ kubectl run taken --image=nginx --port=80 -n injection {asking}\n"
        "Warning: no sidecar: conflict: ...port 80/TCP...\npod/taken created\n```\n"
    )
    pod = control_plane.api.get("Pod", "taken", "injection")
    assert [container["name"] for container in pod["spec"]["containers"]] == ["taken"]
    assert pod["metadata"]["annotations"][f"{PREFIX}/status"] == "failed"


def test_the_chart_s_values_say_what_the_settings_say() -> None:
    values = yaml.safe_load((PAGES / "nginx-tutorial" / "values.yaml").read_text())
    own = parse_settings(yaml.safe_load((PAGES / "nginx-tutorial" / "settings.yaml").read_text()))
    objects = Helm(4).objects(values)
    made = parse_settings(
        yaml.safe_load(one(objects, "ConfigMap", values["fullnameOverride"])["data"]["settings.yaml"])
    )
    for name in ("prefix", "namespace_label", "pod_default", "templates", "native_sidecars"):
        assert getattr(made, name) == getattr(own, name)
