"""The table of permissions is as small as Kubernetes lets it be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from injector.cluster.installation import Installation
from injector.cluster.permissions import CertificateSourceName, permissions

HERE = Installation(namespace="edge", name="injector")


@pytest.mark.parametrize("source", ["files", "cert-manager", "csr"])
def test_mounted_certificates_need_no_secrets_leases_or_webhooks(source: CertificateSourceName) -> None:
    resources = {resource for line in permissions(HERE, source) for resource in line.resources}
    assert resources == {"namespaces", "resourcequotas", "limitranges", "configmaps", "events"}


def test_what_builtin_certificates_need_is_by_name_but_for_creation() -> None:
    added = [line for line in permissions(HERE) if line not in permissions(HERE, "files")]
    names = {(line.resources, line.verbs): line.names for line in added}
    assert names == {
        (("mutatingwebhookconfigurations", "validatingwebhookconfigurations"), ("get", "list", "watch", "patch")): (
            "injector",
        ),
        (("secrets",), ("get", "list", "watch", "update")): ("injector-certificates",),
        (("secrets",), ("create",)): (),
        (("leases",), ("get", "update")): ("injector",),
        (("leases",), ("create",)): (),
    }
    assert [line.everywhere for line in added] == [True, False, False, False, False]


def test_to_have_controllers_retry_needs_their_status_alone() -> None:
    added = [line for line in permissions(HERE, retry_refused=True) if line not in permissions(HERE)]
    assert {(line.resources, line.verbs) for line in added} == {
        (("events",), ("list", "watch")),
        (("replicasets/status", "statefulsets/status", "daemonsets/status"), ("get", "patch")),
        (("jobs/status",), ("get", "patch")),
    }
    assert all(line.optional and line.everywhere for line in added)


def test_repair_needs_pods_and_their_eviction_and_the_default_installation_may_not_read_pods() -> None:
    added = [line for line in permissions(HERE, repair=True) if line not in permissions(HERE)]
    assert {(line.resources, line.verbs, line.names, line.everywhere) for line in added} == {
        (("pods",), ("get", "list"), (), True),
        (("pods/eviction",), ("create",), (), True),
        (("deployments", "statefulsets", "daemonsets", "replicasets"), ("get",), (), True),
        (("rollouts",), ("get",), (), True),
        (("mutatingwebhookconfigurations",), ("get",), ("injector",), True),
        (("leases",), ("get", "update", "patch"), ("injector-repair",), False),
        (("leases",), ("create",), (), False),
    }
    assert all(line.optional and line.feature == "repair" for line in added)
    assert not [line for line in permissions(HERE, retry_refused=True) if "pods" in line.resources]


def test_no_line_has_a_wildcard_and_each_says_why() -> None:
    for line in permissions(HERE):
        rule = line.rule()
        assert "*" not in [word for words in rule.values() for word in words]
        assert line.reason and "\n" not in line.reason and line.feature
        assert ("resourceNames" in rule) == bool(line.names)
        if "create" in line.verbs:
            assert line.verbs == ("create",) and not line.names


def test_nothing_can_be_deleted_and_secrets_are_only_its_own() -> None:
    verbs = {verb for line in permissions(HERE) for verb in line.verbs}
    assert verbs <= {"get", "list", "watch", "create", "update", "patch"}
    assert not [line for line in permissions(HERE) if "secrets" in line.resources and line.everywhere]


def test_the_installation_by_hand_grants_the_same() -> None:
    document = (Path(__file__).resolve().parents[3] / "docs" / "installing-by-hand.md").read_text()
    found = re.search(r"^`access.yaml`:\n\n```yaml\n(.*?)^```$", document, re.MULTILINE | re.DOTALL)
    assert found
    roles = {role["kind"]: role for role in yaml.safe_load_all(found[1]) if "rules" in role}
    for kind, everywhere in (("ClusterRole", True), ("Role", False)):
        wanted = [line.rule() for line in permissions(Installation(), "files") if line.everywhere is everywhere]
        assert sorted(map(str, roles[kind]["rules"])) == sorted(map(str, wanted))
