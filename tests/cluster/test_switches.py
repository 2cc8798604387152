"""`injector pause` and `injector resume`: at once, also while the injector is down, and nothing but their own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from injector.cli.main import cli
from injector.cluster.installation import NOTHING, PAUSE_MANAGER
from tests.cluster.api import Api, ApiError, Object
from tests.cluster.away import user_with
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.installed import Installed
from tests.cluster.objects import pod
from tests.cluster.processes import eventually
from tests.cluster.server import PROJECT

STATUS = "sidecar.injector/status"


@pytest.fixture(scope="module")
def installed(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    made = Installed(control_plane, tmp_path_factory.mktemp("installed"))
    try:
        made.install()
        yield made
    finally:
        made.remove()


@pytest.fixture
def spaces(namespace: NamespaceFactory, installed: Installed) -> Iterator[dict[str, str]]:
    """A namespace of `enabled` and one of `required`, both injected."""
    made = {value: namespace(labels={"injection": value}) for value in ("enabled", "required")}
    eventually("pods are injected", lambda: all(injected(installed.api, space) for space in made.values()))
    yield made
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        installed.put_right(kind)


def injected(api: Api, space: str, **metadata: Any) -> bool:
    made = api.create(pod("probe", **metadata), space, dry_run=True)
    return bool((made["metadata"].get("annotations") or {}).get(STATUS) == "injected")


def run(control_plane: ControlPlane, *args: str, code: int = 0, kubeconfig: str = "") -> Result:
    words = [*args, "--kubeconfig", kubeconfig or str(control_plane.kubeconfig)]
    result = CliRunner().invoke(cli, words, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    assert (result.return_value or 0) == code, result.output
    return result


def configurations(installed: Installed) -> list[Object]:
    return [installed.api.get(obj["kind"], installed.at.name) for obj in installed.webhooks()]


def test_pause_and_resume(control_plane: ControlPlane, installed: Installed, spaces: dict[str, str]) -> None:
    api = installed.api
    before = configurations(installed)
    told = run(control_plane, "pause", "--reason", "upgrade of the nodes").stderr
    assert "in required namespaces too" in told and "injector resume" in told
    yes = {"sidecar.injector/inject": "yes"}
    for space in spaces.values():
        eventually(f"pods of {space} have no sidecar", lambda space=space: not injected(api, space, annotations=yes))
    for configuration in configurations(installed):
        assert [entry["objectSelector"] for entry in configuration["webhooks"]] == [NOTHING] * len(
            configuration["webhooks"]
        )
        said = configuration["metadata"]["annotations"]
        assert said["sidecar.injector/paused-by"] == "admin"
        assert said["sidecar.injector/paused-reason"] == "upgrade of the nodes"
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", said["sidecar.injector/paused-at"])
        [manager] = [m for m in configuration["metadata"]["managedFields"] if m["manager"] == PAUSE_MANAGER]
        assert manager["operation"] == "Apply"
        fields = [set(f) - {"."} for k, f in manager["fieldsV1"]["f:webhooks"].items() if k.startswith("k:")]
        assert fields == [{"f:name", "f:objectSelector"}] * len(configuration["webhooks"])

    assert "admin" in run(control_plane, "pause").stderr
    # what `required` promises is not kept now, and that is a failure
    checked = json.loads(run(control_plane, "check", "--output", "json", code=1).stdout)
    failing = {
        line["check"] for section in checked["sections"] for line in section["checks"] if "fail" in line["result"]
    }
    assert failing == {"required-guarded"}
    paused = [
        line["data"] for section in checked["sections"] for line in section["checks"] if line["check"] == "paused"
    ]
    assert len(paused) == 2 and all("admin" in data["pause"] for data in paused)
    installed.api.create(pod("seen"), spaces["enabled"])
    explained = run(control_plane, "explain", "pod/seen", "-n", spaces["enabled"], code=1)
    assert "admin" in explained.stdout

    assert "resumed" in run(control_plane, "resume").stderr
    for space in spaces.values():
        eventually(f"pods of {space} are injected again", lambda space=space: injected(api, space))
    for configuration, earlier in zip(configurations(installed), before, strict=True):
        assert configuration["webhooks"] == earlier["webhooks"]
        assert not [key for key in configuration["metadata"].get("annotations") or {} if "paused" in key]
        assert PAUSE_MANAGER not in [m["manager"] for m in configuration["metadata"]["managedFields"]]
    again = run(control_plane, "resume").stderr
    assert "was not paused" in again and "created while injection was paused" not in again
    missing = json.loads(run(control_plane, "list", "-n", spaces["enabled"], "--missing", "--output", "json").stdout)
    assert [row["pod"] for row in missing["pods"]] == ["seen"]


def test_while_the_injector_is_down(control_plane: ControlPlane, installed: Installed, spaces: dict[str, str]) -> None:
    installed.stop()
    try:
        with pytest.raises(ApiError, match="failed calling webhook"):
            injected(installed.api, spaces["required"])
        run(control_plane, "pause")
        eventually("pods are made", lambda: not injected(installed.api, spaces["required"]))
        made = installed.api.create(pod("at-last"), spaces["required"])
        assert [c["name"] for c in made["spec"]["containers"]] == ["app"]
        run(control_plane, "resume")

        def refused() -> bool:
            try:
                injected(installed.api, spaces["required"])
            except ApiError:
                return True
            return False

        eventually("pods are refused again", refused)
    finally:
        installed.start()


def test_others_who_apply_the_webhooks_do_not_end_a_pause(
    control_plane: ControlPlane, installed: Installed, spaces: dict[str, str]
) -> None:
    """By kubectl, client-side and server-side: what is not in their file stays."""
    text = yaml.safe_dump_all(installed.webhooks())
    control_plane.kubectl("apply", "-f", "-", stdin=text)
    run(control_plane, "pause")
    for how in ([], ["--server-side", "--force-conflicts"]):
        control_plane.kubectl("apply", *how, "-f", "-", stdin=text)
        for configuration in configurations(installed):
            assert all(entry["objectSelector"] == NOTHING for entry in configuration["webhooks"]), how
    run(control_plane, "resume")
    for configuration in configurations(installed):
        assert all(entry["objectSelector"] == {} for entry in configuration["webhooks"])


def test_the_plain_kubectl_way_is_the_same(
    control_plane: ControlPlane, installed: Installed, spaces: dict[str, str]
) -> None:
    """docs/checking.md has the file; `injector resume` takes it back as well."""
    document = (PROJECT / "docs" / "checking.md").read_text()
    block, undo = re.findall(r"```yaml\n(apiVersion: admissionregistration.*?)```", document, re.DOTALL)
    [command] = re.findall(r"^    kubectl (apply --server-side .* -f pause.yaml)$", document, re.MULTILINE)
    words = command.removesuffix(" pause.yaml").split()
    assert f"--field-manager={PAUSE_MANAGER}" in words
    control_plane.kubectl(*words, "-", stdin=block)
    eventually("pods are made as they are", lambda: not injected(installed.api, spaces["required"]))
    for configuration in configurations(installed):
        assert all(entry["objectSelector"] == NOTHING for entry in configuration["webhooks"])
    control_plane.kubectl(*words, "-", stdin=undo)
    eventually("pods are injected again", lambda: injected(installed.api, spaces["required"]))
    control_plane.kubectl(*words, "-", stdin=block)
    run(control_plane, "resume")
    eventually("pods are injected again", lambda: injected(installed.api, spaces["required"]))


def test_who_may_not_is_told(control_plane: ControlPlane, installed: Installed, spaces: dict[str, str]) -> None:
    reads = {
        "apiGroups": ["admissionregistration.k8s.io"],
        "resources": ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
        "verbs": ["get", "list"],
    }
    kubeconfig = user_with(control_plane, reads)
    with pytest.raises(Exception, match=r"pause MutatingWebhookConfiguration sidecar-injector: .* cannot patch"):
        run(control_plane, "pause", kubeconfig=kubeconfig)
    with pytest.raises(Exception, match="has no webhooks of an injector in namespace nowhere"):
        run(control_plane, "pause", "-n", "nowhere")
    assert injected(installed.api, spaces["enabled"])
