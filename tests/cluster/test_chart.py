"""The chart on the real API server, with both Helms: accepted, kept by upgrades, and gone without a trace.

No server runs behind it: the webhooks are limited to namespaces of these tests, and the API server counts whether it
calls one. What a server does with it is for other tests.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from injector.cluster.bundles import FIELD_MANAGER
from injector.pods.selectors import matches
from tests.cluster.api import ApiError, Object
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.contents import everything, settled
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import deployment, pod, wait_until_available, wait_until_in_force
from tests.cluster.processes import eventually
from tests.deploy.helm import CHART, MAJORS, NAME, ROOT, Helm, HelmError, one
from tests.deploy.test_entries import ALWAYS
from tests.deploy.test_objects import CASES
from tests.deploy.values import together

CONFIGURATIONS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
OWN = "chart-test"
#: Only namespaces of these tests: other pods must not wait for a server that is not there.
LIMITED = {"webhooks": {"timeoutSeconds": 1, "namespaceSelector": {"matchLabels": {OWN: "yes"}}}}


class Release:
    """A release of the chart in a namespace of its own that enforces Pod Security `restricted`."""

    def __init__(self, control_plane: ControlPlane, major: int, name: str, folder: Path) -> None:
        self.control_plane = control_plane
        self.name = name
        self.helm = Helm(major, control_plane.kubeconfig)
        self._folder = folder
        self._installed = False

    def install(self, values: dict[str, Any], *more: str) -> str:
        """`helm install`, or `helm upgrade` where it is installed."""
        file = self._folder / "values.json"
        file.write_text(json.dumps(together({"fullnameOverride": self.name}, LIMITED, values)))
        verb = "upgrade" if self._installed else "install"
        said = self.helm.run(verb, self.name, CHART, "--namespace", self.name, "--values", file, *more)
        self._installed = self._installed or not more
        return said

    def uninstall(self) -> None:
        """`helm uninstall`; nothing where nothing is installed."""
        if self._installed:
            self.helm.run("uninstall", self.name, "--namespace", self.name)
            self._installed = False

    def get(self, kind: str, name: str = "") -> Object:
        """An object of the release."""
        cluster = kind.endswith("WebhookConfiguration")
        return self.control_plane.api.get(kind, name or self.name, None if cluster else self.name)


@pytest.fixture(params=MAJORS)
def release(
    control_plane: ControlPlane, namespace: NamespaceFactory, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Release]:
    strict = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
    where = namespace(labels=strict)
    made = Release(control_plane, request.param, f"chart-{where}", tmp_path)
    made.name = where
    yield made
    made.uninstall()


def test_it_installs_into_a_restricted_namespace_and_its_pods_are_admitted(release: Release) -> None:
    notes = release.install({"highAvailability": True})
    assert "injector check" in notes
    eventually(
        "the Deployment's pods are admitted",
        lambda: release.get("Deployment").get("status", {}).get("replicas") == 3,
    )
    pods = release.control_plane.api.list("Pod", release.name)
    assert {found["spec"]["priority"] for found in pods} == {1000000000}


def test_an_uninstallation_leaves_nothing_and_takes_the_webhooks_first(release: Release) -> None:
    api = release.control_plane.api
    before = settled(release.control_plane)
    release.install(
        {"templates": {"mine": {"template.yaml": "description: Mine.\n"}}, "updatePolicy": {"enabled": True}}
    )
    added = {name.partition("/")[0] for name in everything(release.control_plane) - before}
    assert {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"} <= added
    assert {*CONFIGURATIONS, "Deployment", "Service", "Secret", "Lease", "Role", "PriorityClass"} <= added
    fill(release)
    started = api.call("GET", "/api/v1/namespaces?limit=1")["metadata"]["resourceVersion"]
    release.uninstall()
    eventually("everything is gone", lambda: not everything(release.control_plane) - before, every=0.5)
    assert everything(release.control_plane) == before
    deleted = {kind: deletion(release, kind, started) for kind in (*CONFIGURATIONS, "Deployment", "Service", "Secret")}
    webhooks, rest = (
        [when for kind, when in deleted.items() if (kind in CONFIGURATIONS) is first] for first in (True, False)
    )
    assert max(webhooks) < min(rest), deleted


def deletion(release: Release, kind: str, since: str) -> int:
    """The revision at which the release's object of this kind was deleted for good; the cluster counts them as one."""
    groups = {"Deployment": "/apis/apps/v1", "Service": "/api/v1", "Secret": "/api/v1"}
    group = groups.get(kind, "/apis/admissionregistration.k8s.io/v1")
    where = f"{group}/namespaces/{release.name}" if kind in groups else group
    url = f"{where}/{kind.lower()}s?watch=1&resourceVersion={since}&timeoutSeconds=1"

    def deletions() -> list[int]:
        events = [json.loads(line) for line in release.control_plane.api.text(url).splitlines()]
        return [
            int(event["object"]["metadata"]["resourceVersion"])
            for event in events
            if event["type"] == "DELETED" and event["object"]["metadata"]["name"].startswith(release.name)
        ]

    return max(eventually(f"the deletion of {kind} is told", deletions))


def fill(release: Release) -> dict[str, Any]:
    """Write what the injector writes, and pause: bundles, the Secret's data, the Lease. What is there then."""
    api = release.control_plane.api
    bundle = base64.b64encode(release.control_plane.authority.certificate).decode()
    nothing = {"matchExpressions": [{"key": "a", "operator": "Exists"}, {"key": "a", "operator": "DoesNotExist"}]}
    for kind in CONFIGURATIONS:
        names = [entry["name"] for entry in release.get(kind)["webhooks"]]
        for manager, fields in (
            (FIELD_MANAGER, {"clientConfig": {"caBundle": bundle}}),
            ("sidecar-injector-pause", {"objectSelector": nothing}),
        ):
            applied = {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": kind,
                "metadata": {"name": release.name},
                "webhooks": [{"name": name, **fields} for name in names],
            }
            words = ("apply", "--server-side", "--force-conflicts", f"--field-manager={manager}", "-f", "-")
            release.control_plane.kubectl(*words, stdin=json.dumps(applied))
    secret = release.get("Secret", f"{release.name}-certificates")
    api.replace({**secret, "data": {"tls.key": base64.b64encode(b"secret").decode()}})
    api.replace({**release.get("Lease"), "spec": {"holderIdentity": "somebody", "leaseDurationSeconds": 15}})
    return filled(release)


def filled(release: Release) -> dict[str, Any]:
    """What `fill` wrote, as it is now."""
    entries = [entry for kind in CONFIGURATIONS for entry in release.get(kind)["webhooks"]]
    return {
        "bundles": [entry["clientConfig"].get("caBundle") for entry in entries],
        "pause": [entry["objectSelector"] for entry in entries],
        "secret": release.get("Secret", f"{release.name}-certificates").get("data"),
        "lease": release.get("Lease").get("spec"),
    }


def test_an_upgrade_leaves_alone_what_the_injector_wrote(release: Release) -> None:
    release.install({})
    before = fill(release)
    assert all(before["bundles"]) and all(before["pause"]) and before["secret"] and before["lease"]
    release.install({"replicas": 3, "settings": {"noValues": ["nein"]}, "webhooks": {"timeoutSeconds": 2}})
    assert release.get("Deployment")["spec"]["replicas"] == 3
    enabled = release.get("MutatingWebhookConfiguration")["webhooks"][0]
    assert enabled["timeoutSeconds"] == 2 and "['nein']" in enabled["matchConditions"][1]["expression"]
    assert filled(release) == before
    release.uninstall()
    assert not release.control_plane.api.exists("Secret", f"{release.name}-certificates", release.name)


@pytest.mark.parametrize("source", ["csr", "files"])
def test_whom_to_trust_is_looked_up(release: Release, source: str) -> None:
    values = {"certificates": {"source": source, "secretName": "given"}}
    cluster = release.control_plane.authority.certificate
    if source == "csr":
        assert bundle(release.install(values, "--dry-run=server"), release.name) == cluster.strip()
    else:
        with pytest.raises(HelmError, match=r"make the Secret given with a ca\.crt before"):
            release.install(values, "--dry-run=server")
    beside = b"-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----"
    secret = {"metadata": {"name": "given"}, "data": {"ca.crt": base64.b64encode(beside).decode()}}
    release.control_plane.api.create({"apiVersion": "v1", "kind": "Secret", **secret}, release.name)
    assert bundle(release.install(values, "--dry-run=server"), release.name) == beside


def bundle(said: str, name: str) -> bytes:
    """The bundle in what a dry run says."""
    manifest = said.partition("MANIFEST:\n")[2].partition("\nNOTES:")[0]
    objects = [found for found in yaml.safe_load_all(manifest) if found]
    bundles = {e["clientConfig"]["caBundle"] for kind in CONFIGURATIONS for e in one(objects, kind, name)["webhooks"]}
    [only] = bundles
    return base64.b64decode(only).strip()


def test_a_wrong_value_changes_nothing(release: Release) -> None:
    with pytest.raises(HelmError, match="replicaCount"):
        release.install({"replicaCount": 1})
    assert not release.control_plane.api.exists("Deployment", release.name, release.name)


@pytest.mark.parametrize("values", CASES.values(), ids=CASES)
def test_whatever_is_rendered_is_accepted_without_a_warning(
    control_plane: ControlPlane, namespace: NamespaceFactory, values: dict[str, Any]
) -> None:
    where = namespace(labels={"pod-security.kubernetes.io/warn": "privileged"})
    objects = Helm().objects(values, namespace=where)
    known = [found for found in objects if found["apiVersion"] != "monitoring.coreos.com/v1"]
    text = yaml.safe_dump_all(known)
    done = control_plane.kubectl("apply", "--server-side", "--dry-run=server", "-f", "-", stdin=text)
    assert "Warning" not in done.stderr
    assert len(done.stdout.splitlines()) == len(known)


def test_the_manifest_for_kubectl_is_accepted_and_applied_twice_changes_nothing(
    control_plane: ControlPlane, room: None
) -> None:
    text = (ROOT / "deploy" / "install.yaml").read_text()
    limited = list(yaml.safe_load_all(text))
    for found in limited:
        for entry in found.get("webhooks", ()):
            entry["namespaceSelector"]["matchLabels"] = {OWN: "yes"}
    text = yaml.safe_dump_all(limited)
    try:
        first = control_plane.kubectl("apply", "-f", "-", stdin=text)
        assert "Warning" not in first.stderr
        again = control_plane.kubectl("apply", "-f", "-", stdin=text).stdout.splitlines()
        assert len(again) == len(limited)
        # kubectl patches the selector of every budget anew, and nothing comes of it
        changed = [line for line in again if not line.endswith("unchanged")]
        assert changed == [f"poddisruptionbudget.policy/{NAME} configured"]
        assert control_plane.api.get("PodDisruptionBudget", NAME, NAME)["metadata"]["generation"] == 1
        # nor does a tool that applies on the server find anything that is not as it says
        control_plane.kubectl("apply", "--server-side", "--field-manager=another", "-f", "-", stdin=text)
        level = control_plane.api.get("Namespace", NAME)["metadata"]["labels"]
        assert level["pod-security.kubernetes.io/enforce"] == "restricted"
    finally:
        control_plane.kubectl("delete", "--ignore-not-found", "--wait=false", "-f", "-", stdin=text)


# ------------------------------------------------------------------------------------- who is called, by the entries


PODS: tuple[dict[str, str], ...] = (
    {},
    {"tier": "edge"},
    {"app.kubernetes.io/name": "its"},
    {"tier": "edge", "app.kubernetes.io/name": "its"},
    {"tier": "edge", "app.kubernetes.io/name": "its", "a": "x"},
    {"tier": "edge", "app.kubernetes.io/name": "its", "a": "x", "c": ""},
    {"tier": "edge", "app.kubernetes.io/name": "its", "a": "y", "b": "a", "c": "1"},
    {"tier": "edge", "app.kubernetes.io/name": "its", "a": "y", "b": "z", "c": "1"},
    {"tier": "edge", "app.kubernetes.io/name": "its", "a": "x", "c": "1", "d": ""},
    {"tier": "core", "app.kubernetes.io/name": "its", "a": "x", "c": "1"},
)


@pytest.fixture
def one_release(control_plane: ControlPlane, namespace: NamespaceFactory, tmp_path: Path) -> Iterator[Release]:
    made = Release(control_plane, 4, namespace(), tmp_path)
    yield made
    made.uninstall()


def test_selectors_and_words_mean_to_the_api_server_what_they_mean_to_the_injector(
    control_plane: ControlPlane, namespace: NamespaceFactory, one_release: Release
) -> None:
    values = {"alwaysSelector": ALWAYS, "yesValues": ["ja", "it's", "a\\b"], "noValues": []}
    one_release.install({"settings": values})
    where = namespace(labels={OWN: "yes"})
    entry = f"opted-in.{one_release.name}.internal"
    wait_until_in_force(control_plane)

    def called(**metadata: dict[str, str]) -> bool:
        before = control_plane.webhook_calls(entry)
        control_plane.api.create(pod("probe", **metadata), where, dry_run=True)
        return control_plane.webhook_calls(entry) > before

    for labels in PODS:
        assert called(labels=labels) is matches(ALWAYS, labels), labels
    assert sum(matches(ALWAYS, labels) for labels in PODS) == 2
    for word in ("it's", "IT'S", "a\\b", "Ja"):
        assert called(annotations={"sidecar.injector/inject": word}), word
    assert called(labels={"sidecar.injector/inject": "jA"})
    assert not called(annotations={"sidecar.injector/inject": "yes"})
    assert called(annotations={"sidecar.injector/inject": "JA"})
    one_release.uninstall()
    wait_until_in_force(control_plane)
    assert not called(annotations={"sidecar.injector/inject": "JA"})


def test_advice_is_asked_for_when_a_person_changes_what_pods_will_be(
    control_plane: ControlPlane, namespace: NamespaceFactory, one_release: Release
) -> None:
    api = control_plane.api
    one_release.install({})
    shop = namespace(labels={"injection": "enabled", OWN: "yes"})
    plain = namespace(labels={OWN: "yes"})
    entry = f"advice.{one_release.name}.internal"

    def calls() -> int:
        return control_plane.webhook_calls(entry)

    wait_until_in_force(control_plane)
    before = calls()
    api.create(deployment("web"), shop)
    assert calls() == before + 1
    eventually("it has a ReplicaSet", lambda: api.list("ReplicaSet", shop))
    assert calls() == before + 1, "the ReplicaSet of a Deployment was asked about"
    wait_until_available(api, "web", shop)  # a patch that meets a write of the controller's is tried, and told, again
    api.patch("Deployment", "web", {"metadata": {"finalizers": []}}, shop)
    assert calls() == before + 1, "nothing changed that advice could be about"
    api.patch("Deployment", "web", {"spec": {"template": {"metadata": {"annotations": {"team": "a"}}}}}, shop)
    assert calls() == before + 2
    wait_until_available(api, "web", shop)
    # an annotation that is meant for the pods, in the wrong place
    api.patch("Deployment", "web", {"metadata": {"annotations": {"sidecar.injector/inject": "yes"}}}, shop)
    assert calls() == before + 3
    cron = {"schedule": "* * * * *", "jobTemplate": {"spec": job_spec()}}
    api.create({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly"}, "spec": cron}, shop)
    assert calls() == before + 4
    api.create(deployment("web"), plain)
    assert calls() == before + 4, "a namespace without a label was asked about"


def job_spec() -> Object:
    """A Job's spec whose pod would run."""
    return {"template": {"spec": {**pod("x")["spec"], "restartPolicy": "Never"}}}


def test_a_failure_policy_is_what_it_says(
    control_plane: ControlPlane, namespace: NamespaceFactory, one_release: Release
) -> None:
    one_release.install({"webhooks": {"enabled": {"failurePolicy": "Fail"}}})
    shop = namespace(labels={"injection": "enabled", OWN: "yes"})
    wait_until_in_force(control_plane)
    with pytest.raises(ApiError, match="failed calling webhook"):
        control_plane.api.create(pod("web"), shop, dry_run=True)
    one_release.install({})
    eventually("it is Ignore again", lambda: control_plane.api.create(pod("web"), shop, dry_run=True))
