"""Every value is described, in the schema, and changes what comes out; what there is not is refused readably."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from injector import __version__
from tests.deploy.helm import CHART, KUBERNETES, MAJORS, Helm, HelmError
from tests.deploy.values import nested, together, values

SCHEMA = json.loads((CHART / "values.schema.json").read_text())
PEM = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----"
CERT_MANAGER = {"certificates": {"source": "cert-manager"}}
FILES = {"certificates": {"source": "files", "caBundle": PEM}}
MONITOR = {"metrics": {"serviceMonitor": {"enabled": True}}}
RULE = {"metrics": {"prometheusRule": {"enabled": True}}}
DASHBOARD = {"metrics": {"dashboard": {"enabled": True}}}

#: Another value for each, and what else has to be set for it to count.
OTHERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "fullnameOverride": ("edge", {}),
    "commonLabels": ({"team": "a"}, {}),
    "image.repository": ("registry.other/injector", {}),
    "image.tag": ("1.2.3", {}),
    "image.digest": (f"sha256:{'0' * 64}", {}),
    "image.pullPolicy": ("Always", {}),
    "imagePullSecrets": (["pull"], {}),
    "settings.prefix": ("sidecars.example", {}),
    "settings.namespaceLabel.key": ("sidecars", {}),
    "settings.namespaceLabel.enabled": ("on", {}),
    "settings.namespaceLabel.required": ("must", {}),
    "settings.namespaceLabel.disabled": ("never", {}),
    "settings.yesValues": (["ja"], {}),
    "settings.noValues": (["nein"], {}),
    "settings.ignoredNamespaces": (["kube-system"], {}),
    "settings.templates": (["nginx"], {}),
    "settings.retryRefused": (True, {}),
    "settings.repair.mode": ("missing", {}),
    "settings.repair.perMinute": (6, {}),
    "settings.repair.maxUnavailableWorkloads": (2, {}),
    "settings.repair.perNamespace": (2, {}),
    "settings.gallery.keep": (False, {}),
    "settings.teamTemplates.limits.templates": (3, {}),
    "settings.teamTemplates.limits.bytes": (1024, {}),
    "settings.server.port": (10443, {}),
    "settings.server.metricsPort": (10444, {}),
    "settings.server.mutatePaths": (["/in"], {}),
    "settings.server.validatePaths": (["/check"], {}),
    "settings.server.advisePaths": (["/hint"], {}),
    "settings.server.trialPaths": (["/src"], {}),
    "settings.server.drainSeconds": (7.5, {}),
    "templates": ({"mine": {"template.yaml": "description: Mine.\n"}}, {}),
    "certificates.source": ("cert-manager", {}),
    "certificates.secretName": ("given", FILES),
    "certificates.caBundle": (f"{PEM}\n{PEM}", FILES),
    "certificates.certManager.issuerRef": ({"name": "ours", "kind": "ClusterIssuer"}, CERT_MANAGER),
    "certificates.certManager.duration": ("24h", CERT_MANAGER),
    "certificates.certManager.authorityDuration": ("8760h", CERT_MANAGER),
    "webhooks.timeoutSeconds": (10, {}),
    "webhooks.enabled.failurePolicy": ("Fail", {}),
    "webhooks.optedIn.failurePolicy": ("Fail", {}),
    "webhooks.namespaceSelector": ({"matchLabels": {"team": "a"}}, {}),
    "webhooks.for": ({"envoy": {"resources": ["services"]}}, {"settings": {"paths": {"/x": {"templates": ["envoy"]}}}}),
    "updatePolicy.enabled": (True, {}),
    "permissions.create": (False, {}),
    "permissions.quotas": (False, {}),
    "permissions.comparison": (False, {}),
    "permissions.events": (False, {}),
    "serviceAccount.create": (False, {}),
    "serviceAccount.name": ("given", {}),
    "serviceAccount.annotations": ({"a": "b"}, {}),
    "replicas": (4, {}),
    "highAvailability": (True, {}),
    "resources": ({"limits": {"memory": "1Gi"}}, {}),
    "priorityClass.create": (False, {}),
    "priorityClass.name": ("system-cluster-critical", {}),
    "priorityClass.value": (1000, {}),
    "podLabels": ({"a": "b"}, {}),
    "podAnnotations": ({"a": "b"}, {}),
    "nodeSelector": ({"disk": "ssd"}, {}),
    "tolerations": ([{"operator": "Exists"}], {}),
    "affinity": ({"nodeAffinity": {}}, {}),
    "env": ([{"name": "INJECTOR_DEBUG", "value": "1"}], {}),
    "hostNetwork": (True, {}),
    "podSecurityContext": ({"runAsUser": None}, {}),
    "securityContext": ({"runAsUser": 1}, {}),
    "service.port": (8443, {}),
    "service.annotations": ({"a": "b"}, {}),
    "networkPolicy.enabled": (False, {}),
    "networkPolicy.webhookFrom": ([{"ipBlock": {"cidr": "10.0.0.0/28"}}], {}),
    "networkPolicy.metricsFrom": ([{"podSelector": {}}], {}),
    "metrics.annotations": (False, {}),
    "metrics.serviceMonitor.enabled": (True, {}),
    "metrics.serviceMonitor.labels": ({"release": "monitoring"}, MONITOR),
    "metrics.serviceMonitor.interval": ("10s", MONITOR),
    "metrics.prometheusRule.enabled": (True, {}),
    "metrics.prometheusRule.labels": ({"release": "monitoring"}, RULE),
    "metrics.prometheusRule.runbookUrl": ("https://wiki.example/injector", RULE),
    "metrics.dashboard.enabled": (True, {}),
    "metrics.dashboard.labels": ({"dashboards": "yes"}, DASHBOARD),
    "metrics.dashboard.annotations": ({"grafana_folder": "Kubernetes"}, DASHBOARD),
}


def test_every_value_is_described_and_has_another_here() -> None:
    found = values()
    assert [value.path for value in found if not value.description] == []
    assert [value.path for value in found] == list(OTHERS)


@pytest.mark.parametrize("path", OTHERS)
def test_a_value_changes_what_comes_out(path: str) -> None:
    other, also = OTHERS[path]
    assert Helm().text(together(also, nested(path, other))) != Helm().text(also)


def test_the_chart_s_version_is_the_package_s() -> None:
    chart = Helm().run("show", "chart", CHART)
    assert re.search(rf"^version: {re.escape(__version__)}$", chart, re.MULTILINE)
    assert re.search(rf"^appVersion: {re.escape(__version__)}$", chart, re.MULTILINE)


# ------------------------------------------------------------------------------------------------------- schema


def sections(schema: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every mapping that the schema lays down key by key."""
    if isinstance(schema, dict):
        if "properties" in schema:
            yield path, schema
        for key, inner in schema.get("properties", {}).items():
            yield from sections(inner, f"{path}.{key}".strip("."))


def test_no_section_takes_a_key_that_it_does_not_know() -> None:
    found = dict(sections(SCHEMA))
    assert len(found) > 15
    assert [path for path, schema in found.items() if schema.get("additionalProperties") is not False] == []


def test_the_schema_has_every_value_and_no_other() -> None:
    known = {path for path, _ in sections(SCHEMA)}
    paths = {f"{path}.{key}".strip(".") for path, schema in sections(SCHEMA) for key in schema["properties"]}
    leaves = paths - known - {"global"}
    ours = {value.path for value in values()}
    assert ours - paths == set()
    own = {path for path in leaves if not path.startswith("settings.")}
    assert {path for path in own if not any(path == one or path.startswith(f"{one}.") for one in ours)} == set()


@pytest.mark.parametrize("major", MAJORS)
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"replicaCount": 3}, ["replicaCount", "not allowed"]),
        ({"image": {"repositry": "x"}}, ["/image", "repositry", "not allowed"]),
        ({"settings": {"prefx": "x"}}, ["/settings", "prefx", "not allowed"]),
        ({"settings": {"certificates": {"source": "csr"}}}, ["/settings/certificates", "source", "not allowed"]),
        ({"settings": {"server": {"ports": 1}}}, ["/settings/server", "ports", "not allowed"]),
        ({"settings": {"yesValues": [True]}}, ["/settings/yesValues/0", "got boolean, want string"]),
        ({"settings": {"noValues": None}}, ["/settings", "missing property 'noValues'"]),
        ({"webhooks": {"required": {"failurePolicy": "Ignore"}}}, ["/webhooks", "required", "not allowed"]),
        (
            {"webhooks": {"enabled": {"failurePolicy": "ignore"}}},
            ["/webhooks/enabled/failurePolicy", "'Ignore', 'Fail'"],
        ),
        ({"certificates": {"source": "vault"}}, ["/certificates/source", "'builtin', 'cert-manager', 'csr', 'files'"]),
        ({"certificates": {"caBundle": "LS0tLS1CRUdJTi"}}, ["/certificates/caBundle", "BEGIN CERTIFICATE"]),
        ({"templates": {"Mine": {"template.yaml": ""}}}, ["/templates", "Mine"]),
        ({"templates": {"mine": {"a/b.yaml": ""}}}, ["/templates/mine", "a/b.yaml"]),
        ({"replicas": "2"}, ["/replicas", "got string, want integer"]),
        ({"imagePullSecrets": [{"nam": "pull"}]}, ["/imagePullSecrets/0", "nam", "not allowed"]),
        ({"networkPolicy": {"webhookFrom": [{"ipblock": {}}]}}, ["/networkPolicy/webhookFrom/0", "ipblock"]),
    ],
)
def test_what_is_misspelt_is_named(given: dict[str, Any], words: list[str], major: int) -> None:
    with pytest.raises(HelmError) as refused:
        Helm(major).text(given)
    said = str(refused.value)
    assert [word for word in words if word not in said] == [], said
    assert len(said.splitlines()) <= 5


@pytest.mark.parametrize("major", MAJORS)
def test_an_older_kubernetes_is_refused(major: int) -> None:
    with pytest.raises(HelmError, match=r"chart requires kubeVersion: >=1\.30\.0-0"):
        Helm(major).run("template", "sidecar-injector", CHART, "--kube-version", "1.29.9")
    Helm(major).run("template", "sidecar-injector", CHART, "--kube-version", "1.30.1-gke.100")


@pytest.mark.parametrize("major", MAJORS)
def test_lint_finds_nothing(major: int) -> None:
    said = Helm(major).run("lint", "--strict", CHART, "--kube-version", KUBERNETES)
    assert "0 chart(s) failed" in said and "WARNING" not in said and "ERROR" not in said


def test_a_template_called_as_the_installation_is_refused() -> None:
    with pytest.raises(HelmError, match="a template cannot be called as the installation is; choose another name"):
        Helm().text({"templates": {"sidecar-injector": {"template.yaml": "description: Mine.\n"}}})


@pytest.mark.parametrize("value", ["commonLabels", "podLabels"])
def test_a_label_of_the_chart_s_own_is_refused(value: str) -> None:
    """A key that is there twice is refused by some tools, and counts once with others."""
    with pytest.raises(HelmError, match=f"{value}: app.kubernetes.io/name is a label of the chart's own"):
        Helm().text({value: {"app.kubernetes.io/name": "other"}})


def test_one_port_for_two_things_is_refused() -> None:
    with pytest.raises(HelmError, match=r"settings\.server\.port and settings\.server\.metricsPort are both 9443"):
        Helm().text({"settings": {"server": {"port": 9443}}})
