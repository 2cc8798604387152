"""What a template of a team may not do to the pods that name it, to other teams, and to the injector's memory."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

import pytest

from injector.cluster.client import Client
from injector.errors import InjectionError, TemplateError
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
    "a path of the node in its sidecar": (mounting("node"), NODE),
    "a variable of a privileged container": ("spec: {containers: [{name: '*', env: [{name: A}]}]}\n", PRIVILEGED),
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


PLACES = {"probe": ("initContainers", "probe"), "*": ("containers", "app")}


@pytest.mark.parametrize("names", ["./probe,agent", "agent,./probe"])
@pytest.mark.parametrize("container", PLACES)
def test_no_volume_of_the_clusters_templates(names: str, container: str) -> None:
    for volume in ("node", "conf", "state"):
        injection = made(mounting(volume, container), names)
        assert injection.reason is Reason.TEMPLATE_NOT_ALLOWED
        assert injection.failures[0].path[:3] == ("spec", *PLACES[container])
    assert made(mounting("logs", container), names).reason is Reason.INJECTED  # that the cluster shares


@pytest.mark.parametrize("names", ["./probe,agent", "agent,./probe"])
@pytest.mark.parametrize(
    "key", ["sidecar.injector/agent.agent.conf", "agent.sidecar.injector/image", "sidecar.injector/templates"]
)
def test_no_annotation_by_which_sidecars_get_files_and_parameters(names: str, key: str) -> None:
    for field in ("annotations", "labels"):
        overlay = f"metadata: {{{field}: {{'{key}': !replace mine}}}}\nspec: {{containers: [{json.dumps(PROBE)}]}}\n"
        injection = made(overlay, names)
        assert injection.reason is Reason.TEMPLATE_NOT_ALLOWED
        assert injection.failures[0].path == ("metadata", field, key)


def test_no_order_of_the_clusters_containers() -> None:
    manifest = "description: x\nredirects: {agent: probe}\n"
    injection = made({"spec": {"containers": [PROBE]}}, "./probe,agent", manifest=manifest)
    assert injection.reason is Reason.TEMPLATE_NOT_ALLOWED
    assert injection.failures[0].path == ("spec", "initContainers", "agent")


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


def test_what_it_may_not_have_is_refused_where_it_stands() -> None:
    [refused] = mistakes(config_map(files("spec:\n  tolerations: [{operator: Exists}]\n"), "mine"))
    assert refused is not None
    assert (refused.diagnostic.code, refused.diagnostic.place.line) == ("overlay", 2)


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


class Asked(Client):
    """An API server in which only `probe` is a template, and what it was asked for."""

    def __init__(self) -> None:
        super().__init__(None)
        self.paths: list[str] = []

    async def find(self, path: str, **_: Any) -> Object | None:
        self.paths.append(path.rpartition("/")[2])
        probe = config_map(files({"spec": {"containers": [PROBE]}}), "shop")
        return probe if self.paths[-1] == "probe" else None


def test_what_is_not_there_is_remembered_while_the_store_follows() -> None:
    """Until the store knows of another template: nobody waits for one that has appeared."""
    snapshot, none = build_snapshot(SETTINGS, {}, Cluster()), Namespace("shop", SHOP.labels)

    async def asked(namespaces: list[Namespace], *, follows: bool) -> list[str]:
        client = Asked()
        teams, deadline = TeamTemplates(client, lambda: follows), asyncio.get_running_loop().time() + 60
        for namespace in namespaces:
            if teams.known(snapshot, namespace, ["none"]) is None:
                await teams.read(snapshot, namespace, ["none"], deadline)
        return client.paths

    assert asyncio.run(asked([none] * 5, follows=True)) == ["none"]
    assert asyncio.run(asked([none] * 5, follows=False)) == ["none"] * 5
    assert asyncio.run(asked([none, SHOP, SHOP], follows=True)) == ["none"] * 2


def test_one_that_appears_while_it_is_asked_for_is_asked_for_again() -> None:
    snapshot, none = build_snapshot(SETTINGS, {}, Cluster()), Namespace("shop", SHOP.labels)

    async def read() -> tuple[Snapshot | None, Snapshot]:
        teams, deadline = TeamTemplates(Asked(), lambda: True), asyncio.get_running_loop().time() + 60
        await teams.read(snapshot, none, ["other"], deadline)
        return teams.known(snapshot, SHOP, ["probe"]), await teams.read(snapshot, SHOP, ["probe"], deadline)

    unknown, loaded = asyncio.run(read())
    assert unknown is None
    assert loaded.catalog.get("./probe") is not None


def test_what_a_namespace_asks_for_is_bounded_and_another_is_not_held_up() -> None:
    snapshot, other = build_snapshot(SETTINGS, {}, Cluster()), Namespace("other", SHOP.labels)

    async def asked() -> list[str]:
        client = Asked()
        teams, deadline = TeamTemplates(client, lambda: True), asyncio.get_running_loop().time() + 60
        for number in range(60):
            with suppress(InjectionError):
                await teams.read(snapshot, SHOP, [f"none-{number}"], deadline)
        with pytest.raises(InjectionError) as error:
            await teams.read(snapshot, SHOP, ["none"], deadline)
        assert error.value.reason is Reason.NOT_READY
        await teams.read(snapshot, other, ["none"], deadline)
        return client.paths

    paths = asyncio.run(asked())
    assert len(paths) == 31
    assert paths[-1] == "none"


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
