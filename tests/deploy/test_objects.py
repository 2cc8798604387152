"""What the chart renders to: accepted by Kubernetes' own schemas, and as safe as it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests.deploy.helm import CHART, NAME, ROOT, Helm, Object, one
from tests.deploy.test_values import CERT_MANAGER, FILES, OTHERS, PEM
from tests.deploy.values import nested, together

CASES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "highAvailability": {"highAvailability": True},
    "files": FILES,
    "csr": {"certificates": {"source": "csr", "caBundle": PEM}},
    "whose are beside the chart's": {
        "commonLabels": {"app.kubernetes.io/part-of": "platform"},
        "podAnnotations": {"prometheus.io/scrape": "false"},
        "imagePullSecrets": ["one", {"name": "two"}],
        "templates": {"mine": {"template.yaml": "description: Mine.\n"}},
    },
    "nulls": {
        **dict.fromkeys(("commonLabels", "podLabels", "podAnnotations", "imagePullSecrets")),
        "networkPolicy": {"webhookFrom": None},
        "templates": {"mine": {"template.yaml": "description: Mine.\n"}},
    },
    "everything": together(
        *(nested(path, other) for path, (other, _) in OTHERS.items() if not path.startswith("certificates")),
        {"metrics": {"annotations": True}, "permissions": {"create": True}, "networkPolicy": {"enabled": True}},
    ),
}
#: Not of Kubernetes itself: there is no schema of it.
OF_OTHERS = ("cert-manager.io/v1", "monitoring.coreos.com/v1")


@pytest.mark.parametrize("values", CASES.values(), ids=CASES)
@pytest.mark.parametrize("version", ["1.30", "1.37"])
def test_objects_are_what_kubernetes_knows(values: dict[str, Any], version: str) -> None:
    checked = 0
    for found in Helm().objects(values):
        if found["apiVersion"] not in OF_OTHERS:
            kubernetes_validate.validate(found, version, strict=True)
            checked += 1
    assert checked >= 13


@pytest.mark.parametrize("values", [*CASES.values(), CERT_MANAGER], ids=[*CASES, "cert-manager"])
def test_every_object_has_the_name_and_the_label(values: dict[str, Any]) -> None:
    for found in Helm().objects(values):
        metadata = found["metadata"]
        if f"{values.get('settings', {}).get('prefix', 'sidecar.injector')}/template" in metadata["labels"]:
            assert metadata["labels"]["app.kubernetes.io/part-of"] in (NAME, "platform")
            assert "app.kubernetes.io/name" not in metadata["labels"], (
                "its settings.yaml would be taken for the settings"
            )
        else:
            assert metadata["labels"]["app.kubernetes.io/name"] == NAME
            assert metadata["labels"]["app.kubernetes.io/instance"] == NAME
            assert metadata["labels"]["helm.sh/chart"].startswith(f"{NAME}-")
        cluster = {"ClusterRole", "ClusterRoleBinding", "PriorityClass"}
        of_admission = found["apiVersion"].startswith("admissionregistration.k8s.io/")
        if found["kind"] not in cluster and not of_admission:
            assert metadata["namespace"] == NAME, "kubectl apply would put it elsewhere"


def pod_of(values: dict[str, Any]) -> Any:
    return one(Helm().objects(values), "Deployment")["spec"]["template"]


def test_replicas() -> None:
    def replicas(values: dict[str, Any]) -> int:
        found: int = one(Helm().objects(values), "Deployment")["spec"]["replicas"]
        return found

    assert replicas({}) == 2
    assert replicas({"highAvailability": True}) == 3
    assert replicas({"highAvailability": True, "replicas": 5}) == 5
    assert replicas({"replicas": 1}) == 1


def test_high_availability_is_about_nodes_too() -> None:
    for values, unsatisfiable in (({}, "ScheduleAnyway"), ({"highAvailability": True}, "DoNotSchedule")):
        [host, zone] = pod_of(values)["spec"]["topologySpreadConstraints"]
        assert (host["topologyKey"], host["whenUnsatisfiable"]) == ("kubernetes.io/hostname", unsatisfiable)
        assert (zone["topologyKey"], zone["whenUnsatisfiable"]) == ("topology.kubernetes.io/zone", "ScheduleAnyway")


def test_pods_restart_for_what_is_read_at_the_start_and_for_nothing_else() -> None:
    def checksum(values: dict[str, Any]) -> str:
        found: str = pod_of(values)["metadata"]["annotations"]["checksum/read-at-start"]
        return found

    before = checksum({})
    for reloaded in ({"settings": {"templates": ["nginx"]}}, {"templates": {"mine": {"a": "b"}}}, {"replicas": 3}):
        assert pod_of(reloaded) == pod_of({}), reloaded
    for at_start in (
        {"settings": {"server": {"maxBodyBytes": 1000000}}},
        {"settings": {"prefix": "a.b"}},
        {"settings": {"repair": {"perMinute": 1}}},
        CERT_MANAGER,
    ):
        assert checksum(at_start) != before, at_start


def test_the_grace_period_is_longer_than_draining() -> None:
    for seconds, grace in ((10, 30), (7.5, 28), (60, 80)):
        values = {"settings": {"server": {"drainSeconds": seconds}}}
        assert pod_of(values)["spec"]["terminationGracePeriodSeconds"] == grace


def test_mounted_certificates_are_where_the_server_reads_them() -> None:
    for source in ("files", "csr", "cert-manager"):
        values = {"certificates": {"source": source, "caBundle": PEM}}
        spec = pod_of(values)["spec"]
        volumes = {volume["name"]: volume for volume in spec["volumes"]}
        mounts = {mount["name"]: mount["mountPath"] for mount in spec["containers"][0]["volumeMounts"]}
        assert mounts == {"settings": "/settings", "certs": "/certs"}
        assert volumes["certs"]["secret"] == {"secretName": f"{NAME}-tls", "defaultMode": 0o440}
        kinds = [found["kind"] for found in Helm().objects(values)]
        assert "Secret" not in kinds and "Lease" not in kinds
    assert [volume["name"] for volume in pod_of({})["spec"]["volumes"]] == ["settings"]


def test_what_the_injector_fills_is_shipped_empty_so_that_an_uninstallation_takes_it_away() -> None:
    objects = Helm().objects({"settings": {"repair": {"mode": "missing"}}})
    secret = one(objects, "Secret", f"{NAME}-certificates")
    assert set(secret) == {"apiVersion", "kind", "metadata", "type"}
    for name in (NAME, f"{NAME}-repair"):
        assert set(one(objects, "Lease", name)) == {"apiVersion", "kind", "metadata"}
    assert not [found for found in objects if "helm.sh/resource-policy" in str(found["metadata"])]


def test_an_authority_of_its_own_signs_what_cert_manager_renews() -> None:
    objects = Helm().objects(CERT_MANAGER, namespace="edge")
    certificates = {o["metadata"]["name"]: o["spec"] for o in objects if o["kind"] == "Certificate"}
    issuers = {o["metadata"]["name"]: o["spec"] for o in objects if o["kind"] == "Issuer"}
    serving, authority = certificates[NAME], certificates[f"{NAME}-authority"]
    assert serving["dnsNames"] == [f"{NAME}.edge.svc"] and serving["issuerRef"]["name"] == NAME
    assert issuers[NAME] == {"ca": {"secretName": authority["secretName"]}}
    assert authority["isCA"] and issuers[authority["issuerRef"]["name"]] == {"selfSigned": {}}
    given = {"certificates": {"source": "cert-manager", "certManager": {"issuerRef": {"name": "ours"}}}}
    kinds = [(o["kind"], o["spec"]["issuerRef"]) for o in Helm().objects(given) if "cert-manager" in o["apiVersion"]]
    assert kinds == [("Certificate", {"name": "ours"})]


def test_templates_of_ones_own_become_config_maps_as_they_are() -> None:
    text = "spec: {containers: [{name: a, image: '{{ params.image }}'}]}\n# {{- if }} is not Helm's\n\n"
    values = {"templates": {"mine": {"overlay.yaml.j2": text, "template.yaml": "description: 'Mine.'\n"}}}
    found = one(Helm().objects(values), "ConfigMap", "mine")
    assert found["data"] == values["templates"]["mine"]
    assert found["metadata"]["labels"]["sidecar.injector/template"] == "true"


def test_what_an_admin_adds_counts_before_what_the_chart_adds() -> None:
    pod = pod_of(CASES["whose are beside the chart's"])
    assert pod["metadata"]["annotations"]["prometheus.io/scrape"] == "false"
    assert pod["metadata"]["annotations"]["prometheus.io/port"] == "9443"
    assert pod["spec"]["imagePullSecrets"] == [{"name": "one"}, {"name": "two"}]


@pytest.mark.parametrize("values", CASES.values(), ids=CASES)
def test_no_key_is_there_twice(values: dict[str, Any]) -> None:
    for found in yaml.compose_all(Helm().text(values), Loader=yaml.SafeLoader):
        nodes = [found]
        while nodes:
            node = nodes.pop()
            if isinstance(node, yaml.MappingNode):
                keys = [key.value for key, _ in node.value]
                assert len(keys) == len(set(keys)), keys
                nodes += [value for _, value in node.value]
            elif isinstance(node, yaml.SequenceNode):
                nodes += node.value


def test_the_webhooks_may_be_called_by_whom_it_says() -> None:
    peers = [{"ipBlock": {"cidr": "10.0.0.0/28"}}, {"ipBlock": {"cidr": "fd00::/120"}}]
    [https, metrics] = one(Helm().objects({"networkPolicy": {"webhookFrom": peers}}), "NetworkPolicy")["spec"][
        "ingress"
    ]
    assert https == {"ports": [{"port": "https", "protocol": "TCP"}], "from": peers}
    assert metrics == {"ports": [{"port": "metrics", "protocol": "TCP"}]}


def test_metrics_may_be_read_by_whom_it_says() -> None:
    peers = [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]
    [https, metrics] = one(Helm().objects({"networkPolicy": {"metricsFrom": peers}}), "NetworkPolicy")["spec"][
        "ingress"
    ]
    assert https == {"ports": [{"port": "https", "protocol": "TCP"}]}
    assert metrics["from"] == peers


def test_a_service_monitor_finds_its_service_and_port() -> None:
    objects = Helm().objects({"metrics": {"serviceMonitor": {"enabled": True, "labels": {"release": "monitoring"}}}})
    monitor, service = one(objects, "ServiceMonitor"), one(objects, "Service")
    assert monitor["metadata"]["labels"]["release"] == "monitoring"
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    [endpoint] = monitor["spec"]["endpoints"]
    assert endpoint["port"] in [port["name"] for port in service["spec"]["ports"]]


def test_names_and_selectors_lead_to_the_pods() -> None:
    objects: list[Object] = Helm().objects(CASES["everything"])
    name = "edge"
    labels = one(objects, "Deployment", name)["spec"]["template"]["metadata"]["labels"]
    assert one(objects, "Service", name)["spec"]["selector"].items() <= labels.items()
    for kind, field in (
        ("PodDisruptionBudget", "selector"),
        ("NetworkPolicy", "podSelector"),
        ("Deployment", "selector"),
    ):
        assert one(objects, kind, name)["spec"][field]["matchLabels"].items() <= labels.items()


def test_the_pods_are_those_of_the_installation_by_hand() -> None:
    """What docs/installing-by-hand.md has for the Deployment is in the chart's, but for what the chart adds to it."""
    document = (ROOT / "docs" / "installing-by-hand.md").read_text()
    [block] = re.findall(r"^`server.yaml`:\n\n```yaml\n(.*?)^```$", document, re.MULTILINE | re.DOTALL)
    by_hand = one(list(yaml.safe_load_all(block)), "Deployment")["spec"]["template"]["spec"]
    chart = pod_of(FILES)["spec"]
    same = ("serviceAccountName", "enableServiceLinks", "terminationGracePeriodSeconds", "securityContext")
    assert {field: chart[field] for field in same} == {field: by_hand[field] for field in same}
    ours, theirs = by_hand["containers"][0], chart["containers"][0]
    same = ("image", "args", "env", "readinessProbe", "livenessProbe", "securityContext", "resources")
    assert {field: theirs[field] for field in same} == {field: ours[field] for field in same}
    assert sorted(map(str, theirs["volumeMounts"])) == sorted(map(str, ours["volumeMounts"]))


def test_notes_say_what_to_do_next(tmp_path: Path) -> None:
    values = {"settings": {"namespaceLabel": {"key": "example.org/sidecars", "enabled": "on"}}}
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    words = ["install", NAME, str(CHART), "--dry-run=client", "--namespace", "edge", "--values", str(file)]
    notes = Helm(4).run(*words).partition("NOTES:")[2]
    assert "kubectl label namespace NAMESPACE example.org/sidecars=on" in notes
    assert "kubectl label namespace edge pod-security.kubernetes.io/enforce=restricted" in notes
    assert "injector check" in notes and "is not published anywhere" in notes
    given = Helm(4).run(*words, "--set", "image.repository=registry.ours/injector").partition("NOTES:")[2]
    assert "injector check" in given and "published" not in given
