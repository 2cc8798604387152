"""What a team's template may have of a pod, of the injector's memory and of the API server, on a real one."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from tests.cluster.api import ApiError, Object
from tests.cluster.objects import config_map
from tests.cluster.processes import eventually
from tests.cluster.team import TEMPLATE, Team, container, failure_of, files, images_of
from tests.unit.webhook.test_connections import peak_mib

UNCHECKED = {"sidecar.injector/unchecked": "true"}
#: An app that runs as root of the node, and gets its script from a volume.
ROOT: Object = {
    "name": "app",
    "image": "registry.example/app:1",
    "securityContext": {"privileged": True},
    "volumeMounts": [{"name": "scripts", "mountPath": "/scripts"}],
}
SOURCES: dict[str, Object] = {
    "configMap": {"configMap": {"name": "scripts"}},
    "secret": {"secret": {"secretName": "scripts"}},
    "emptyDir": {"emptyDir": {}},
    "downwardAPI": {"downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.name"}}]}},
    "projected": {"projected": {"sources": [{"secret": {"name": "scripts"}}]}},
    "persistentVolumeClaim": {"persistentVolumeClaim": {"claimName": "scripts"}},
    "ephemeral": {
        "ephemeral": {
            "volumeClaimTemplate": {
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
            }
        }
    },
}
#: What would change how and where the pod of another runs.
FIELDS = {
    "nodeName": "spec: {nodeName: mine}",
    "tolerations": "spec: {tolerations: [{operator: Exists}]}",
    "priorityClassName": "spec: {priorityClassName: system-cluster-critical}",
    "serviceAccountName": "spec: {serviceAccountName: mine}",
    "runtimeClassName": "spec: {runtimeClassName: mine}",
    "hostAliases": "spec: {hostAliases: [{ip: 192.0.2.1, hostnames: [db]}]}",
    "dnsConfig": "spec: {dnsConfig: {nameservers: [192.0.2.1]}}",
    "finalizers": "metadata: {finalizers: [mine.example/stay]}",
}


def smuggle(team: Team, data: dict[str, str]) -> None:
    """Write a template that the webhook would refuse."""
    team.author.create(config_map("probe", data, TEMPLATE, UNCHECKED), team.name)


def size_of(data: dict[str, str]) -> int:
    return sum(map(len, data.values()))


@pytest.mark.parametrize("kind", SOURCES)
def test_another_source_for_a_volume_of_the_app(team: Team, kind: str) -> None:
    """By a pod that may do everything on its node, whose script would be the template's."""
    team.apply("probe", files("spec: {volumes: [{name: scripts, configMap: {name: !replace mine}}]}\n"))
    volume = {"name": "scripts", **SOURCES[kind]}
    made = team.made("./probe", containers=[ROOT], volumes=[volume])
    assert "template-not-allowed" in failure_of(made)
    [stored] = made["spec"]["volumes"]
    assert stored.keys() == volume.keys()
    assert "mine" not in json.dumps(stored)


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_of_the_pod_that_is_no_part_of_its_own(team: Team, field: str) -> None:
    data = files(f"{FIELDS[field]}\n")
    with pytest.raises(ApiError, match=r"overlay\.yaml\.j2:1:"):
        team.apply("probe", data)
    smuggle(team, data)
    made = team.made("./probe")
    assert "template-failed" in failure_of(made)
    assert field not in made["metadata"]
    assert not field.startswith("host") or field not in made["spec"]


def test_a_dry_run_that_is_repeated_takes_no_memory(team: Team) -> None:
    macros = "".join(f"{{% macro m{number}(a) %}}{{{{ a }}}}{{% endmacro %}}\n" for number in range(500))
    data = files(f"{macros}spec: {{containers: [{{name: p, image: p}}]}}\n")
    data["more.txt"] = "x" * (59_000 - size_of(data))
    obj = config_map("probe", data, TEMPLATE)
    assert team.injector.process is not None
    pid = team.injector.process.pid

    def dry_run(_: int) -> None:
        team.author.create(obj, team.name, dry_run=True)

    dry_run(0)
    before = peak_mib(pid, "VmRSS")
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(dry_run, range(40)))
    more = peak_mib(pid, "VmRSS") - before
    print(f"{more:.1f} MiB more than {before:.1f}")
    assert more <= 25


def test_templates_that_are_not_there_are_asked_for_once(team: Team) -> None:
    """However many pods name them, and whatever they call them; one that appears is given."""
    asked = partial(team.control_plane.metric, "apiserver_request_total", resource="configmaps", verb="GET")
    before, started = asked(), time.monotonic()
    names = ",".join(f"./none-{number}" for number in range(10))
    for _ in range(40):
        assert "unknown-template" in failure_of(team.made(names))
    for number in range(20):
        failure_of(team.made(",".join(f"./none-{number}-{each}" for each in range(10))))
    windows = 2 + (time.monotonic() - started) // 10
    print(f"{asked() - before} requests")
    assert asked() - before <= 30 * windows
    team.apply("none-3", files(container()))
    eventually("it is given", lambda: "probe:1" in images_of(team.made("./none-3")))
