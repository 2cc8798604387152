"""What a template of a team may not do to the pods that name it, to other teams, and to the injector's memory."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from injector.cluster.client import Client
from injector.errors import TemplateError
from injector.inject import inject
from injector.injection import Injection
from injector.loading.trial import MOST_PROBLEMS, try_templates
from injector.pods.context import Cluster, Namespace, Object
from injector.reasons import Reason
from injector.settings import Settings, TeamTemplateSettings
from injector.templates.parameter_keywords import compiled
from injector.templates.snapshot import Snapshot, build_snapshot
from injector.templates.team import load_team_template, with_team_templates
from injector.templates.template import MANIFEST, OVERLAY
from injector.webhook.team_templates import TeamTemplates
from tests.unit.support import web

SETTINGS = Settings(team_templates=TeamTemplateSettings(namespaces={}))
SHOP = Namespace("shop", {"injection": "enabled"}, team_templates=(("probe", "1"),))
PROBE = {"name": "probe", "image": "probe:1"}
#: A template of the cluster whose sidecar has a path of the node, and gets a file.
AGENT = {
    MANIFEST: "description: x\nfiles: {agent.conf: {template: agent.conf.j2, syntax: plain}}\nshared: [logs]\n",
    "agent.conf.j2": "right\n",
    OVERLAY: """
spec:
  containers:
  - {name: agent, image: 'agent:1', volumeMounts: [{name: node, mountPath: /n}, {name: conf, mountPath: /c}]}
  volumes:
  - {name: node, hostPath: {path: /run}}
  - {name: conf, configMap: {name: '{{ files.configmap }}'}}
  - {name: state, emptyDir: {}}
  - {name: logs, emptyDir: {}}
""",
}


def files(overlay: object, manifest: str = "description: x\n") -> dict[str, str]:
    return {MANIFEST: manifest, OVERLAY: overlay if isinstance(overlay, str) else json.dumps(overlay)}


def made(
    overlay: object,
    names: str = "./probe",
    *,
    namespace: Namespace = SHOP,
    manifest: str = "description: x\n",
    annotations: dict[str, str] | None = None,
    **spec: Any,
) -> Injection:
    """What a pod gets that names these templates, of which `./probe` has this overlay."""
    snapshot = build_snapshot(SETTINGS, {"agent": AGENT}, Cluster())
    template = load_team_template("probe", files(overlay, manifest), "configmap/shop/probe")
    pod = web({"sidecar.injector/templates": names, **(annotations or {})}, **spec)
    return inject(pod, namespace, with_team_templates(snapshot, [template], {}))


def mounting(volume: str, name: str = "probe") -> Object:
    image = {} if name == "*" else {"image": "probe:1"}
    return {"spec": {"containers": [{"name": name, **image, "volumeMounts": [{"name": volume, "mountPath": "/v"}]}]}}


NODE: Object = {"volumes": [{"name": "node", "hostPath": {"path": "/var/log/app"}}]}
PRIVILEGED: Object = {"containers": [{"name": "web", "image": "web:1", "securityContext": {"privileged": True}}]}
GETS_PRIVILEGES = {
    "another path of the node": (
        "spec: {containers: [{name: probe, image: p}], volumes: [{name: node, hostPath: {path: !replace /}}]}\n",
        NODE,
    ),
    "a path of the node in its sidecar": (mounting("node"), NODE),
    "a path of the node in the app": (mounting("node", "*"), NODE),
    "the image of a privileged container": ("spec: {containers: [{name: '*', image: !replace mine}]}\n", PRIVILEGED),
    "the node's processes": ({"spec": {"containers": [PROBE]}}, {"hostPID": True}),
}


@pytest.mark.parametrize("what", GETS_PRIVILEGES)
def test_no_part_of_a_privilege_that_the_pods_author_has(what: str) -> None:
    """Who writes a ConfigMap need not be allowed to write such a pod."""
    overlay, spec = GETS_PRIVILEGES[what]
    assert made(overlay, **spec).reason is Reason.POD_SECURITY
    level = {"pod-security.kubernetes.io/enforce": "privileged"}
    admitted = Namespace("shop", {**SHOP.labels, **level}, team_templates=SHOP.team_templates)
    assert made(overlay, **spec, namespace=admitted).reason is Reason.INJECTED


def test_a_privileged_container_that_it_leaves_alone() -> None:
    assert made({"spec": {"containers": [PROBE]}}, **PRIVILEGED, **NODE).reason is Reason.INJECTED


@pytest.mark.parametrize("names", ["./probe,agent", "agent,./probe"])
@pytest.mark.parametrize("container", ["probe", "*"])
def test_no_volume_of_the_clusters_templates(names: str, container: str) -> None:
    for volume in ("node", "conf", "state"):
        injection = made(mounting(volume, container), names)
        assert injection.reason in (Reason.CONFLICT, Reason.POD_SECURITY)
    assert made(mounting("state", container), names).failures[0].fields == {"part": "volume state", "owner": "agent"}
    assert made(mounting("logs", container), "agent,./probe").reason is Reason.INJECTED  # that the cluster shares


@pytest.mark.parametrize("names", ["./probe,agent", "agent,./probe"])
@pytest.mark.parametrize(
    "key", ["sidecar.injector/agent.agent.conf", "agent.sidecar.injector/image", "sidecar.injector/templates"]
)
def test_no_annotation_by_which_sidecars_get_files_and_parameters(names: str, key: str) -> None:
    for field in ("annotations", "labels"):
        overlay = f"metadata: {{{field}: {{'{key}': !replace mine}}}}\nspec: {{containers: [{json.dumps(PROBE)}]}}\n"
        injection = made(overlay, names)
        assert injection.reason is Reason.TEMPLATE_FAILED
        assert injection.failures[0].path == ("metadata", field, key)


@pytest.mark.parametrize(
    ("manifest", "image"),
    [("description: x\nfor: {resources: [services]}\n", "p"), ("description: x\n", "{{ request.name }}")],
)
def test_a_template_that_no_pod_can_be_given(manifest: str, image: str) -> None:
    with pytest.raises(TemplateError) as error:
        load_team_template("probe", files({"spec": {"containers": [{"name": "p", "image": image}]}}, manifest), "")
    assert error.value.rule == "manifest"


# ------------------------------------------------------------ verdicts, which namespaces share


def config_map(data: dict[str, str], namespace: str, **labels: str) -> Object:
    metadata = {"name": "probe", "namespace": namespace, "labels": {"sidecar.injector/template": "true", **labels}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def mistakes(*objects: Object) -> list[TemplateError | None]:
    """What is wrong with ConfigMaps that are applied one after the other; nothing of that asks an API server."""

    async def tried() -> list[TemplateError | None]:
        teams = TeamTemplates(Client(None))
        return [await teams.mistake("probe", obj, SETTINGS) for obj in objects]

    return asyncio.run(tried())


def test_what_is_wrong_with_the_metadata_is_wrong_in_one_namespace() -> None:
    data = files({"spec": {"containers": [PROBE]}})
    hostile = config_map(data, "mine")
    hostile["metadata"]["annotations"] = {"sidecar.injector/stage": "nonsense"}
    refused, accepted = mistakes(hostile, config_map(data, "theirs"))
    assert refused is not None
    assert accepted is None


def test_a_template_with_many_mistakes_takes_little_memory() -> None:
    data = files({"spec": {"containers": [PROBE]}}, "description: x\n" + "".join(f"k{i}: 1\n" for i in range(2000)))
    assert len(try_templates({"probe": data})["probe"].all) == MOST_PROBLEMS


def test_templates_that_do_not_count_are_not_read() -> None:
    """However many ConfigMaps somebody writes: those that count are as many as a namespace may have."""
    names = [f"probe-{number:02}" for number in range(11)]
    crowded = Namespace("shop", SHOP.labels, team_templates=tuple((name, "1") for name in names))

    async def known() -> tuple[Snapshot | None, Snapshot | None]:
        teams, snapshot = TeamTemplates(Client(None)), build_snapshot(SETTINGS, {}, Cluster())
        return teams.known(snapshot, crowded, names[:1]), teams.known(snapshot, crowded, names[-1:])

    counts, late = asyncio.run(known())
    assert counts is None
    assert late is not None
    assert list(late.catalog.refused) == ["./probe-10"]


# ------------------------------------------------------------ what a review may cost


def test_many_patterns_for_many_volumes() -> None:
    volumes: list[Object] = [{"name": f"v{number}", "hostPath": {"path": "/a"}} for number in range(500)]
    mounts = [{"name": volume["name"], "mountPath": f"/{volume['name']}"} for volume in volumes]
    overlay = {"spec": {"containers": [PROBE], "volumes": [{"name": v["name"], "emptyDir": {}} for v in volumes]}}
    manifest = f"description: x\nshared: {json.dumps([f'*v*{number}*b' for number in range(2000)])}\n"
    app = {"name": "web", "image": "web:1", "volumeMounts": mounts}
    assert made(overlay, manifest=manifest, containers=[app], volumes=volumes).reason is Reason.TOO_COSTLY


def test_many_ports_that_the_apps_containers_share() -> None:
    ports = [{"containerPort": number} for number in range(1, 801)]
    containers = [{"name": f"web-{number}", "image": "web:1", "ports": ports} for number in range(20)]
    overlay = {"spec": {"containers": [{"name": "*", "env": [{"name": "A", "value": "b"}]}]}}
    assert made(overlay, containers=containers).reason is Reason.TOO_COSTLY
    assert made(overlay, containers=containers[:2]).reason is Reason.INJECTED


def test_patterns_that_take_much_memory_and_time() -> None:
    with pytest.raises(ValueError, match="large"):
        compiled(r"^(\pL{0,200})*$")
    large = [rf"^({number}|a{{1,900}}b{{1,99}}|[a-z]{{0,900}})*$" for number in range(1100)]
    parameter = {"type": "string", "anyOf": [{"pattern": pattern} for pattern in large]}
    manifest = json.dumps({"description": "x", "parameters": {"p": parameter}})
    pod = {"probe.team.sidecar.injector/p": "A"}
    injection = made({"spec": {"containers": [PROBE]}}, manifest=manifest, annotations=pod)
    assert injection.reason is Reason.TOO_COSTLY
