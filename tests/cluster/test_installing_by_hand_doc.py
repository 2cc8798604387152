"""docs/installing-by-hand.md, done as it says: what it has one apply is accepted, and pods get their sidecars by it.

Two things stand in: the server is a process here and not the Deployment's pods (no kubelet runs containers), started
with the Deployment's own arguments, environment and mounts; and the Service has another port than 443, which only
root may listen on.
"""

from __future__ import annotations

import base64
import itertools
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import yaml

from tests.cluster.api import ApiError, Object
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import (
    deployment,
    pod,
    wait_until_available,
    wait_until_in_force,
)
from tests.cluster.processes import Process, eventually, free_port
from tests.cluster.room import make_room
from tests.cluster.server import INJECTOR, PROJECT
from tests.command import run

NAME = "sidecar-injector"
DOCUMENT = (PROJECT / "docs" / "installing-by-hand.md").read_text()
ENTRIES = ("enabled", "required", "opted-in", "guard")
_numbers = itertools.count(1)


def block(file: str) -> str:
    """The YAML under a file's name."""
    found = re.search(rf"^`{re.escape(file)}`:\n\n```yaml\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
    assert found, f"installing-by-hand.md has no {file}"
    return found[1]


def line(start: str) -> str:
    """The indented command that begins like this."""
    found = re.search(rf"^    ({re.escape(start)}.*)$", DOCUMENT, re.MULTILINE)
    assert found, f"installing-by-hand.md has no command {start}"
    return found[1]


def command(start: str) -> list[str]:
    """The words of the indented command that begins like this, without redirections."""
    return line(start).partition(" > ")[0].split()


def injector(*words: str, cwd: Path = PROJECT) -> str:
    """What a command prints."""
    done = run(*words, cwd=cwd)
    assert done.code == 0, done.err
    return done.out


class Installation:
    """What installing-by-hand.md installs, with a process in place of the Deployment's pods."""

    def __init__(self, control_plane: ControlPlane, folder: Path) -> None:
        self.control_plane = control_plane
        self.folder = folder
        self.port = free_port()
        self.metrics_port = free_port()
        self.warnings = ""
        self._starts = itertools.count(1)
        self.process: Process | None = None

    def install(self) -> None:
        self.apply(block("access.yaml"))
        secret = injector(*command("injector certs")[1:], cwd=self.folder)
        self.apply(secret)
        self.apply(block("server.yaml").replace("port: 443", f"port: {self.port}"))
        self.start(secret)
        self.trust("certs")

    def trust(self, *folders: str) -> None:
        """Register the webhooks with the authorities of these folders."""
        (self.folder / "webhooks.yaml").write_text(block("webhooks.yaml").replace("port: 443", f"port: {self.port}"))
        authorities = " ".join(f"{name}/ca.crt" for name in folders)
        typed = line("sed -i.bak ").replace("base64 < certs/ca.crt", f"cat {authorities} | base64")
        subprocess.run(["sh", "-c", typed], cwd=self.folder, check=True)
        self.apply((self.folder / "webhooks.yaml").read_text())

    def start(self, secret: str = "") -> None:
        """Run what the Deployment runs, as the service account that it names."""
        spec = self.deployment["spec"]["template"]["spec"]
        stood_for = eventually("the Deployment has pods", lambda: self.control_plane.api.list("Pod", NAME))[0]
        container, volumes = spec["containers"][0], {volume["name"]: volume for volume in spec["volumes"]}
        if secret:
            contents = {key: base64.b64decode(value) for key, value in yaml.safe_load(secret)["data"].items()}
            self._mount(volumes["certs"]["secret"]["secretName"], yaml.safe_load(secret)["metadata"]["name"])
            self._write("certs-mounted", contents)
            settings = self.control_plane.api.get("ConfigMap", volumes["settings"]["configMap"]["name"], NAME)
            self._write("settings", {key: text.encode() for key, text in settings["data"].items()})
        mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
        assert mounts == {"/certs": "certs", "/settings": "settings"}
        env = {"KUBECONFIG": str(self.control_plane.kubeconfig_for_service_account(NAME, spec["serviceAccountName"]))}
        for variable in container["env"]:
            value = variable.get("value")
            if value is None:
                section, _, field = variable["valueFrom"]["fieldRef"]["fieldPath"].partition(".")
                value = stood_for[section][field]
            env[variable["name"]] = re.sub("^/settings/", f"{self.folder}/settings/", value)
        address = self.control_plane.api.get("Service", NAME, NAME)["spec"]["clusterIP"]
        arguments = [
            f"--address={address}",
            f"--port={self.port}",
            f"--metrics-port={self.metrics_port}",
            f"--cert={self.folder / 'certs-mounted' / 'tls.crt'}",
            f"--key={self.folder / 'certs-mounted' / 'tls.key'}",
        ]
        log = self.folder / f"server-{next(self._starts)}.log"
        self.process = Process([*INJECTOR, *container["args"], *arguments], log, env, PROJECT)
        url = f"http://{address}:{self.metrics_port}{container['readinessProbe']['httpGet']['path']}"
        self.process.wait_until_ready(lambda: urlopen(url, timeout=2).status == 200, 300)

    def stop(self) -> None:
        """At once: nobody waits for the answers that draining is for."""
        if self.process is not None:
            self.process.kill()

    @property
    def deployment(self) -> Object:
        found: Object = self.control_plane.api.get("Deployment", NAME, NAME)
        return found

    def apply(self, text: str) -> None:
        """`kubectl apply`, its warnings kept."""
        self.warnings += self.control_plane.kubectl("apply", "-f", "-", stdin=text).stderr

    def remove(self) -> None:
        """As installing-by-hand.md says, the webhooks first."""
        self.stop()
        self.control_plane.kubectl("delete", "--ignore-not-found", "-f", "-", stdin=block("webhooks.yaml"))
        for text in (block("server.yaml"), block("access.yaml")):
            self.control_plane.kubectl("delete", "--ignore-not-found", "--wait=false", "-f", "-", stdin=text)

    def _mount(self, wanted: str, made: str) -> None:
        assert wanted == made, "the Deployment mounts another Secret than `injector certs` prints"

    def _write(self, name: str, files: dict[str, bytes]) -> None:
        folder = self.folder / name
        folder.mkdir()
        for file, content in files.items():
            (folder / file).write_bytes(content)


@pytest.fixture(scope="module")
def installation(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    make_room(control_plane)
    made = Installation(control_plane, tmp_path_factory.mktemp("installed"))
    try:
        made.install()
        wait_until_in_force(control_plane)
        yield made
    finally:
        made.remove()
        wait_until_in_force(control_plane)


def sidecar(found: Object) -> Any:
    """The mark, and whether the container is there."""
    containers = [c["name"] for c in found["spec"].get("initContainers", [])]
    return (found["metadata"].get("annotations") or {}).get("sidecar.injector/status"), "envoy-sidecar" in containers


def test_everything_is_accepted_without_a_warning_and_its_pods_pass_their_namespace_s_level(
    control_plane: ControlPlane, installation: Installation
) -> None:
    assert "Warning" not in installation.warnings
    wanted = installation.deployment["spec"]["replicas"]
    eventually(
        "the Deployment's pods are admitted",
        lambda: installation.deployment.get("status", {}).get("replicas") == wanted,
    )
    labels = control_plane.api.get("Namespace", NAME)["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


def test_the_deployment_gives_more_time_than_draining_takes(installation: Installation) -> None:
    grace = installation.deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert grace > 10 + 5  # settings' drainSeconds, and the patience after it


def test_a_labelled_namespace_gets_its_sidecars(
    control_plane: ControlPlane, namespace: NamespaceFactory, installation: Installation
) -> None:
    shop = namespace(labels={"injection": "enabled"})
    control_plane.api.create(deployment("web", replicas=3), shop)
    pods = wait_until_available(control_plane.api, "web", shop)
    assert [sidecar(found) for found in pods] == [("injected", True)] * 3
    maps = [m["metadata"]["name"] for m in control_plane.api.list("ConfigMap", shop)]
    assert sum(name.startswith("web-envoy-") for name in maps) == 1
    columns = re.search(r"custom-columns='(.*)'", DOCUMENT)
    assert columns
    table = control_plane.kubectl("get", "pods", "-n", shop, "-o", f"custom-columns={columns[1]}").stdout.split("\n")
    assert table[0].split() == ["NAME", "SIDECAR"]
    assert [line.split()[1] for line in table[1:4]] == ["injected"] * 3


def test_who_is_called_and_who_is_not(
    control_plane: ControlPlane, namespace: NamespaceFactory, installation: Installation
) -> None:
    api = control_plane.api
    spaces = {label: namespace(labels={"injection": label}) for label in ("enabled", "required", "disabled")}
    spaces[""] = namespace()

    def created(label: str, key: str = "", value: str = "") -> Any:
        fields = {key: {"sidecar.injector/inject": value}} if key else {}
        return sidecar(api.create(pod(f"p-{next(_numbers)}", **fields), spaces[label]))

    def calls() -> list[int]:
        return [control_plane.webhook_calls(f"{entry}.{NAME}.internal") for entry in ENTRIES]

    before = calls()
    untouched, injected = (None, False), ("injected", True)
    assert [created("enabled", key, "No") for key in ("annotations", "labels")] == [untouched, untouched]
    assert created("disabled", "annotations", "yes") == untouched
    assert created("") == untouched
    assert calls() == before, "the API server called for a pod that is not to be injected"
    assert created("enabled") == injected
    assert [created("", key, "YES") for key in ("annotations", "labels")] == [injected, injected]
    assert [created("required"), created("required", "annotations", "no")] == [injected, injected]
    enabled, required, opted_in, guard = (after - earlier for after, earlier in zip(calls(), before, strict=True))
    assert enabled > 0 and required > 0 and opted_in > 0  # more than once a pod: reinvocation
    assert guard == 2


def test_explain_finds_settings_templates_and_webhooks(
    control_plane: ControlPlane, namespace: NamespaceFactory, installation: Installation
) -> None:
    shop = namespace(labels={"injection": "enabled"})
    control_plane.api.create(deployment("web"), shop)
    words = [*command("injector explain")[1:], "--output", "json", "--kubeconfig", str(control_plane.kubeconfig)]
    words[words.index("shop")] = shop
    [found] = json.loads(injector(*words))
    notes = " | ".join(found["notes"])
    assert found["reason"] == "injected"
    assert f"enabled.{NAME}.internal: called" in notes
    assert f"webhook required.{NAME}.internal: not called" in notes
    assert "default settings" not in notes


def test_the_permissions_suffice(
    control_plane: ControlPlane, namespace: NamespaceFactory, installation: Installation
) -> None:
    api = control_plane.api
    folder = installation.folder / "mine"
    folder.mkdir()
    (folder / "template.yaml").write_text("description: Ships logs.\n")
    (folder / "overlay.yaml.j2").write_text("spec: {containers: [{name: logger, image: 'logger:1'}]}\n")
    for start in ("kubectl create configmap mine", "kubectl label configmap mine"):
        words = command(start)[1:]
        control_plane.kubectl(*[w.replace("mine/", str(folder)) for w in words])
    shop = namespace(labels={"injection": "enabled"}, annotations={"sidecar.injector/templates": "mine,envoy"})

    def logger() -> bool:
        made = api.create(pod("web"), shop, dry_run=True)
        return any(c["name"] == "logger" for c in made["spec"].get("initContainers", []))

    eventually("the template is in use", logger)
    api.create(deployment("web"), shop)
    wait_until_available(api, "web", shop)
    # a new process has seen none of the ConfigMaps, so it compares those that are there
    assert installation.process is not None
    installation.stop()
    installation.start()
    old = {found["metadata"]["name"] for found in api.list("Pod", shop)}
    for name in old:
        api.delete("Pod", name, shop)

    def marks() -> list[Any]:
        return [sidecar(found) for found in api.list("Pod", shop) if found["metadata"]["name"] not in old]

    assert eventually("there is a new pod", marks) == [("injected", True)]
    log = installation.process.log
    assert "namespaces-known" in log
    assert not re.findall(r"cluster-forbidden|config-maps-not-compared|files-failed|cluster-away", log)


def test_a_certificate_is_renewed_without_a_gap(
    control_plane: ControlPlane, namespace: NamespaceFactory, installation: Installation
) -> None:
    vault = namespace(labels={"injection": "required"})
    words = [word.replace("certs", "certs2") if word == "certs" else word for word in command("injector certs")[2:]]
    words = ["certs", *words[: words.index("--print")]]
    injector(*words, cwd=installation.folder)
    first, second = authority(installation, "certs"), authority(installation, "certs2")
    assert first != second

    def admitted(name: str) -> None:
        assert sidecar(control_plane.api.create(pod(name), vault)) == ("injected", True)

    installation.trust("certs", "certs2")
    admitted("both-authorities-old-certificate")
    for source, target in (("server.key", "tls.key"), ("server.crt", "tls.crt")):
        content = (installation.folder / "certs2" / source).read_bytes()
        (installation.folder / "certs-mounted" / target).write_bytes(content)
    assert installation.process is not None
    process = installation.process
    eventually("the new certificate is in use", lambda: "certificate-swapped" in process.log)
    admitted("both-authorities-new-certificate")
    installation.trust("certs2")
    admitted("new-authority")


def authority(installation: Installation, name: str) -> bytes:
    return (installation.folder / name / "ca.crt").read_bytes()


def test_when_it_is_down(control_plane: ControlPlane, namespace: NamespaceFactory, installation: Installation) -> None:
    api = control_plane.api
    enabled, required = (namespace(labels={"injection": label}) for label in ("enabled", "required"))
    unlabelled = namespace()
    installation.stop()
    try:
        assert sidecar(api.create(pod("one"), enabled)) == (None, False)
        yes = pod("two", annotations={"sidecar.injector/inject": "yes"})
        assert sidecar(api.create(yes, unlabelled)) == (None, False)
        with pytest.raises(ApiError, match=f"failed calling webhook .required.{NAME}.internal"):
            api.create(pod("three"), required)

        def failed_open() -> bool:
            events = control_plane.audit_events(enabled)
            return any("failed-open.mutation.webhook.admission.k8s.io/" in str(e.get("annotations")) for e in events)

        eventually("the audit log says that the call failed", failed_open)
    finally:
        installation.start()
