"""The next version of a template, in stages, with a real API server: two replicas and the command line agree."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from click.testing import CliRunner

from injector.cli.main import cli
from tests.cluster.api import ApiError, Object
from tests.cluster.conftest import ConfigureWebhooks, NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import config_map, deployment, pod, webhook, webhook_configuration
from tests.cluster.processes import eventually
from tests.cluster.server import InjectorServer

TEMPLATE = {"sidecar.injector/template": "true"}
VERSION = {**TEMPLATE, "sidecar.injector/version-of": "logger"}
STAGE = "sidecar.injector/stage"
RECEIPT = "sidecar.injector/receipt"
OURS = {"app.kubernetes.io/name": "sidecar-injector"}
NAMES = [f"web-{number}" for number in range(1000)]
#: So many of them are created on the API server; in `make soak` all.
SOME = 200
MANIFEST = "description: Ships logs.\nparameters: {level: {type: string, default: info}}\n"


def files(image: str) -> dict[str, str]:
    overlay = f"spec: {{containers: [{{name: logger, image: '{image}', args: ['{{{{ params.level }}}}']}}]}}\n"
    return {"template.yaml": MANIFEST, "overlay.yaml.j2": overlay}


def of_workload(name: str, **annotations: str) -> Object:
    """A pod as the ReplicaSet of a Deployment creates it."""
    labels = {"pod-template-hash": "5b9c7d"}
    made = pod(f"{name}-5b9c7d-x", labels, annotations, automountServiceAccountToken=False)
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{name}-5b9c7d", "uid": f"uid-{name}"}
    made["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    return made


class Staged(NamedTuple):
    """A cluster in which one replica of the injector injects pods and another one guards them."""

    control_plane: ControlPlane
    own: str
    shop: str
    mutates: InjectorServer
    guards: InjectorServer

    def stage(self, share: str, *servers: InjectorServer) -> None:
        """Set the stage, and wait until these replicas have it."""
        annotations = {"metadata": {"annotations": {STAGE: share}}}
        self.control_plane.api.patch("ConfigMap", "logger-next", annotations, self.own)
        self.wait_until(servers, share)

    def wait_until(self, servers: Sequence[InjectorServer], share: str) -> None:
        """Wait until these replicas have the next version at a share, "" for none."""
        words = f"{share} of the workloads" if share else ""
        for server in servers:
            eventually(f"a replica is at {share or 'the end'}", partial(is_at, server, words))

    def made(self, name: str, **annotations: str) -> Object:
        """What the API server would store of a pod of a Deployment."""
        return self.control_plane.api.create(of_workload(name, **annotations), self.shop, dry_run=True)

    def images(self, names: Sequence[str]) -> dict[str, str]:
        """The sidecar's image by the names of the Deployments."""
        with ThreadPoolExecutor(8) as pool:
            return dict(zip(names, map(image_of, pool.map(self.made, names)), strict=True))

    def run(self, *args: str) -> str:
        """The standard output of a command about this cluster."""
        command = [*args, "--kubeconfig", str(self.control_plane.kubeconfig)]
        result = CliRunner().invoke(cli, command, standalone_mode=False)
        if result.exception is not None:
            raise result.exception
        return result.stdout


def is_at(server: InjectorServer, words: str, name: str = "logger-next") -> bool:
    """Whether a replica has the next version of this name for a stage in these words, or none for ""."""
    stages = [text for text in server.metrics().splitlines() if text.startswith("injector_template_info{")]
    stages = [text for text in stages if f'template="{name}"' in text]
    return any(f'stage="{words}"' in text for text in stages) if words else not stages


def image_of(made: Object) -> str:
    spec = made["spec"]
    images: Iterator[str] = (
        c["image"] for c in [*spec["containers"], *spec.get("initContainers", ())] if c["name"] == "logger"
    )
    return next(images)


def share_of(images: Mapping[str, str]) -> float:
    return 100 * sum(image == "logger:2" for image in images.values()) / len(images)


def comparable(made: Object) -> tuple[Any, ...]:
    """A pod without what differs from creation to creation: of the receipt its seal."""
    annotations = dict(made["metadata"]["annotations"])
    receipt = json.loads(annotations.pop(RECEIPT))
    receipt.pop("mac")
    return made["spec"], annotations, made["metadata"]["labels"], receipt


@pytest.fixture
def staged(
    control_plane: ControlPlane,
    namespace: NamespaceFactory,
    injector_server: Callable[..., InjectorServer],
    configure_webhooks: ConfigureWebhooks,
) -> Iterator[Staged]:
    api, own = control_plane.api, namespace()
    shop = namespace({"injection": "required"}, {"sidecar.injector/templates": "logger"})
    api.create(config_map("settings", {"settings.yaml": "templates: [logger]\n"}, labels=OURS), own)
    api.create(config_map("logger", files("logger:1"), labels=TEMPLATE), own)
    mutates = injector_server(arguments=[f"--namespace={own}"])
    guards = injector_server(start=False, arguments=[f"--namespace={own}"])
    shutil.copy(mutates.key_file, guards.key_file)
    shutil.copy(mutates.certificate_file, guards.certificate_file)
    guards.authority = mutates.authority
    guards.start()
    configure_webhooks(webhook("versions.injector.example", mutates.client_config(), namespace=shop))
    guard = webhook("guard.injector.example", guards.client_config("/validate"), namespace=shop)
    configure_webhooks(guard, validating=True)
    # by this one, which calls nobody, the command finds the injector's namespace
    entry = webhook("found.injector.example", {"service": {"namespace": own, "name": "injector"}}, namespace="nowhere")
    found_by = webhook_configuration("versions", entry)
    found_by["metadata"]["labels"] = OURS
    api.create(found_by)
    yield Staged(control_plane, own, shop, mutates, guards)
    api.delete("MutatingWebhookConfiguration", "versions")


@pytest.mark.parametrize("created", [SOME, pytest.param(len(NAMES), marks=pytest.mark.soak(minutes=3))])
def test_a_thousand_workloads_through_the_stages(staged: Staged, tmp_path: Path, created: int) -> None:
    api, own = staged.control_plane.api, staged.own
    before = [comparable(staged.made(name)) for name in NAMES[:30]]
    api.create(config_map("logger-next", files("logger:2"), labels=VERSION, annotations={STAGE: "0%"}), own)
    staged.stage("0%", staged.mutates, staged.guards)
    assert [comparable(staged.made(name))[0] for name in NAMES[:30]] == [spec for spec, *_ in before]

    manifests = tmp_path / "web.yaml"
    manifests.write_text(yaml.dump_all([deployment(name) for name in NAMES], Dumper=yaml.CSafeDumper))
    had: set[str] = set()
    for share in (10, 50, 100):
        staged.stage(f"{share}%", staged.mutates)  # the guard may still have the stage before
        images = staged.images(NAMES[:created])
        text = staged.run("inject", str(manifests), "--from-cluster", "--namespace", staged.shop)
        injected = [obj for obj in yaml.load_all(text, yaml.CSafeLoader) if obj]
        offline = {obj["metadata"]["name"]: image_of(obj["spec"]["template"]) for obj in injected}
        assert [*offline] == NAMES
        assert {name: offline[name] for name in images} == images
        has = {name for name, image in offline.items() if image == "logger:2"}
        assert abs(share_of(offline) - share) <= 3
        assert has >= had, "nobody goes back"
        had = has
        staged.stage(f"{share}%", staged.guards)
    receipt = json.loads(staged.made(NAMES[0])["metadata"]["annotations"][RECEIPT])
    assert receipt["versions"] == {"logger": "logger-next"}

    api.delete("ConfigMap", "logger-next", own)
    staged.wait_until((staged.mutates, staged.guards), "")
    assert [comparable(staged.made(name)) for name in NAMES[:30]] == before


def test_the_guard_takes_what_an_older_replica_gave(staged: Staged) -> None:
    api, own = staged.control_plane.api, staged.own
    api.create(config_map("logger-next", files("logger:2"), labels=VERSION, annotations={STAGE: "10%"}), own)
    staged.stage("10%", staged.mutates, staged.guards)
    staged.stage("90%", staged.mutates)
    with ThreadPoolExecutor(8) as pool:
        assert all(map(image_of, pool.map(staged.made, NAMES[:200])))


def test_promoting_changes_no_pod_that_had_it(staged: Staged) -> None:
    api, own = staged.control_plane.api, staged.own
    api.create(config_map("logger-next", files("logger:2"), labels=VERSION, annotations={STAGE: "50%"}), own)
    staged.stage("50%", staged.mutates, staged.guards)
    names = NAMES[:12]
    for name in names:
        api.create(deployment(name), staged.shop)

    def rows() -> dict[str, Object]:
        """What the command says of each Deployment's pod."""
        listed = json.loads(staged.run("list", "-n", staged.shop, "-o", "json"))["pods"]
        return {row["workload"].removeprefix("deployment/"): row for row in listed}

    def states() -> dict[str, str]:
        return {name: row["state"] for name, row in rows().items()}

    eventually("every Deployment has its pod", lambda: states() == dict.fromkeys(names, "current"))
    stored = {made["metadata"]["labels"]["app"]: made for made in api.list("Pod", staged.shop)}
    new = {name for name, made in stored.items() if image_of(made) == "logger:2"}
    assert 0 < len(new) < len(names)
    assert {name for name, row in rows().items() if row.get("versions")} == new
    staged.stage("100%", staged.mutates, staged.guards)
    expected = {name: "current" if name in new else "outdated" for name in names}
    assert states() == expected
    api.patch("ConfigMap", "logger", {"data": files("logger:2")}, own)
    api.delete("ConfigMap", "logger-next", own)
    staged.wait_until((staged.mutates, staged.guards), "")
    assert states() == expected


def test_real_workloads_agree_with_their_manifests(staged: Staged, tmp_path: Path) -> None:
    api, own, shop = staged.control_plane.api, staged.own, staged.shop
    api.create(config_map("logger-next", files("logger:2"), labels=VERSION, annotations={STAGE: "50%"}), own)
    staged.stage("50%", staged.mutates, staged.guards)
    workloads = [deployment(f"real-{number}") for number in range(6)]
    for number in range(4):
        made = deployment(f"set-{number}")
        spec = {key: made["spec"][key] for key in ("replicas", "selector", "template")}
        workloads.append({**made, "kind": "StatefulSet", "spec": {**spec, "serviceName": "none"}})
        template = {"metadata": {"labels": {}}, "spec": {**spec["template"]["spec"], "restartPolicy": "Never"}}
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": f"job-{number}-28912345"}}
        workloads.append({**job, "spec": {"template": template}})
    manifests = tmp_path / "all.yaml"
    manifests.write_text(yaml.safe_dump_all(workloads))
    text = staged.run("inject", str(manifests), "--from-cluster", "--namespace", shop)
    offline = {obj["metadata"]["name"]: image_of(obj["spec"]["template"]) for obj in yaml.safe_load_all(text) if obj}
    assert set(offline.values()) == {"logger:1", "logger:2"}
    for workload in workloads:
        api.create(workload, shop)

    def admitted() -> dict[str, str]:
        pods = api.list("Pod", shop)
        return {next(n for n in offline if p["metadata"]["name"].startswith(f"{n}-")): image_of(p) for p in pods}

    eventually("every workload has a pod", lambda: len(admitted()) == len(workloads))
    assert admitted() == offline


def test_contradictions_are_refused_at_apply(
    control_plane: ControlPlane,
    namespace: NamespaceFactory,
    injector_server: Callable[..., InjectorServer],
    configure_webhooks: ConfigureWebhooks,
) -> None:
    api, own = control_plane.api, namespace()
    api.create(config_map("logger", files("logger:1"), labels=TEMPLATE), own)
    api.create(config_map("logger-next", files("logger:2"), labels=VERSION, annotations={STAGE: "10%"}), own)
    server = injector_server(arguments=[f"--namespace={own}"], settings={"server": {"trialPaths": ["/sources"]}})
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["*"]}
    configure_webhooks(
        webhook("sources.injector.example", server.client_config("/sources"), own, rules=[rule], timeoutSeconds=30),
        validating=True,
    )
    second = config_map("logger-third", files("logger:3"), labels=VERSION)
    of_version = config_map(
        "logger-later", files("logger:3"), labels={**VERSION, "sidecar.injector/version-of": "logger-next"}
    )
    for wrong in (second, of_version):
        with pytest.raises(ApiError) as refusal:
            api.create(wrong, own)
        assert refusal.value.code == 422
    with pytest.raises(ApiError) as refusal:
        api.patch("ConfigMap", "logger-next", {"metadata": {"annotations": {STAGE: "110%"}}}, own)
    assert refusal.value.code == 422
    api.patch("ConfigMap", "logger-next", {"metadata": {"annotations": {STAGE: "20%"}}}, own)
