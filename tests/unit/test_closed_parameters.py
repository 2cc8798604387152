"""Under `required` a pod sets only the parameters that are open to it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from injector.authoring.lint.boundary_values import boundary_values
from injector.inject import guard, inject
from injector.loading.template_folders import gallery_path
from injector.pods.context import Cluster, Namespace
from injector.reasons import Reason
from injector.settings import RequiredSettings, Settings
from injector.templates.snapshot import Snapshot, SnapshotError, build_snapshot
from injector.templates.template import UNSET, Parameter
from tests import command
from tests.messages import Golden
from tests.unit.support import ENABLED, REQUIRED, named, snapshot, web
from tests.unit.webhook.support import review, to_bytes
from tests.unit.webhook.test_waiting import Kept, Webhook, World

IMAGE = "side.sidecar.injector/image"
MANIFEST = """
parameters:
  image: {type: string, format: image, default: "side:1"}
  level: {type: string, default: info, pods: may-set}
"""
OVERLAY = """
spec:
  containers: [{name: side, image: "{{ params.image }}", args: ["{{ params.level }}"]}]
"""


def side(manifest: str = MANIFEST, parameters: dict[str, Any] | None = None, **required: Any) -> Snapshot:
    settings = Settings(
        templates=("side",), parameters={"side": parameters or {}}, required=RequiredSettings(**required)
    )
    return build_snapshot(settings, {"side": {"template.yaml": manifest, "overlay.yaml.j2": OVERLAY}}, Cluster())


def test_a_pod_s_annotation_is_ignored_and_a_warning_says_so(golden: Golden) -> None:
    done = inject(web({IMAGE: "mine:1", "side.sidecar.injector/level": "debug"}), REQUIRED, side())
    sidecar = named(done.object, "side")
    assert (sidecar["image"], sidecar["args"]) == ("side:1", ["debug"])
    golden(done.warning_lines)
    assert done.warnings[0].code == "parameter-not-settable"
    assert done.warnings[0].fields["allowed"] == ("namespace", "settings")
    assert done.applied[0].parameters.origins["image"] == "default"
    assert guard(done.object, REQUIRED, side()).reason is Reason.ALREADY_INJECTED


def test_explain_and_the_advice_at_apply_say_so(tmp_path: Path, golden: Golden) -> None:
    key = "envoy.sidecar.injector/exclude-outbound-ranges"
    spec = {"containers": [{"name": "web", "image": "web:1"}]}
    template = {"metadata": {"annotations": {key: "0.0.0.0/0"}}, "spec": spec}
    metadata = {"name": "web", "namespace": "shop"}
    workload = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"template": template}}
    file = tmp_path / "web.json"
    file.write_text(json.dumps(workload))
    golden(command.run("explain", "--namespace-label", "injection=required", file).out)

    webhook = Webhook(World(stored={"shop": Namespace("shop", REQUIRED.labels)}), Kept(snapshot("envoy")))
    resource = {"group": "apps", "version": "v1", "resource": "deployments"}

    async def advice() -> bytes:
        given = webhook.advise(to_bytes(review(workload, resource=resource)), 2.0)
        return given if isinstance(given, bytes) else await given

    [warning] = json.loads(asyncio.run(advice()))["response"]["warnings"]
    assert "parameter-not-settable" in warning


def test_namespace_and_settings_count() -> None:
    theirs = Namespace("shop", REQUIRED.labels, {IMAGE: "theirs:1"})
    done = inject(web({IMAGE: "mine:1"}), theirs, side())
    assert named(done.object, "side")["image"] == "theirs:1"
    done = inject(web({IMAGE: "mine:1"}), REQUIRED, side(parameters={"image": "admin:1"}))
    assert named(done.object, "side")["image"] == "admin:1"


@pytest.mark.parametrize(("namespace", "allow"), [(ENABLED, "ignore"), (REQUIRED, "allow")])
def test_elsewhere_a_pod_sets_it(namespace: Namespace, allow: str) -> None:
    done = inject(web({IMAGE: "mine:1"}), namespace, side(pod_parameters=allow))
    assert (named(done.object, "side")["image"], done.warnings) == ("mine:1", ())


def test_one_that_is_missing_says_where_it_counts(golden: Golden) -> None:
    manifest = MANIFEST.replace('default: "side:1"', 'required: true, examples: ["side:1"]')
    done = inject(web({IMAGE: "mine:1"}), REQUIRED, side(manifest))
    assert done.reason is Reason.BAD_PARAMETER
    golden(done.message)


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ("pods: may-set", None),
        ("pods: null", None),
        ("pods: true", "3:59"),
        ("pods: [may-set]", "3:59"),
        ("from: [namespace, settings], pods: may-set", "3:88"),
        ("weakens: true", "3:59"),
    ],
)
def test_what_opens_a_parameter(given: str, place: str | None, golden: Golden) -> None:
    manifest = MANIFEST.replace('default: "side:1"', f'default: "side:1", {given}')
    if place is None:
        [made] = side(manifest).catalog
        assert made.parameters["image"].open is (given != "pods: null")
        return
    with pytest.raises(SnapshotError) as caught:
        side(manifest)
    assert f"side/template.yaml:{place}: " in str(caught.value)
    golden(caught.value)


#: Templates with a sidecar, and what each needs.
SIDECARS = {
    "agones-sdk": {},
    "cloud-sql-proxy": {"instances": '["shop-prod:europe-west1:orders"]'},
    "container": {"image": "a:1"},
    "envoy": {},
    "fault": {},
    "fluent-bit": {},
    "fluentd": {},
    "nginx": {},
    "oauth2-proxy": {"issuer-url": "https://login.example", "client-id": "web", "secret-name": "web"},
    "otel-collector": {"endpoint": "https://otel-gateway.observability:4317"},
    "prometheus-exporter": {"image": "a:1", "port": "9113"},
    "vault-agent": {"address": "https://vault.vault:8200", "role": "web", "secrets": {"db": "secret/data/shop/db"}},
}


_RESOURCES = {"cpu-request", "cpu-limit", "memory-request", "memory-limit"}
#: What pods of a `required` namespace may set of the gallery; the reason stands beside each in its template.yaml.
OPEN = {
    "agones-sdk": {
        *_RESOURCES, "log-level", "grpc-port", "http-port", "health-port",
        "health-period-seconds", "health-failure-threshold",
    },
    "cloud-sql-proxy": {*_RESOURCES, "log-level", "port", "health-port"},
    "container": {*_RESOURCES, "ports"},
    "envoy": {
        *_RESOURCES, "heap-limit-mebibytes", "log-level", "percentage-of-app",
        "inbound-port", "outbound-port", "admin-port", "ready-port", "stats-port",
    },
    "fault": {*_RESOURCES, "log-level", "listen-port", "proxy-port", "admin-port", "status-port"},
    "fluent-bit": {*_RESOURCES, "log-level", "health-port", "percentage-of-app"},
    "fluentd": {*_RESOURCES, "log-level", "health-port"},
    "nginx": {*_RESOURCES, "log-level", "listen-port", "status-port"},
    "oauth2-proxy": {*_RESOURCES, "listen-port", "metrics-port"},
    "otel-collector": {
        *_RESOURCES, "log-level", "app-protocol", "grpc-port", "http-port", "health-port", "metrics-port",
        "percentage-of-app",
    },
    "prometheus-exporter": _RESOURCES,
    "resource-defaults": {*_RESOURCES, "ephemeral-storage-request", "ephemeral-storage-limit", "init-containers"},
    "vault-agent": {*_RESOURCES, "log-level", "secrets", "format", "secrets-path", "leave-out"},
}  # fmt: skip


def test_every_open_parameter_of_the_gallery_has_its_reason() -> None:
    found: dict[str, set[str]] = {}
    for template in snapshot().catalog:
        is_open = {parameter.name for parameter in template.parameters.values() if parameter.open}
        if is_open and (gallery_path() / template.name).is_dir():
            found[template.name] = is_open
            lines = [line for line in template.sources["template.yaml"].splitlines() if "pods: may-set" in line]
            assert len(lines) == len(is_open) and all("may-set  # " in line for line in lines)
    assert found == OPEN


def values(parameter: Parameter) -> list[Any]:
    """What its schema allows, at the edges; the default first."""
    default = [] if parameter.default is UNSET else [parameter.default]
    found = [*default, *(edge.value for edge in boundary_values(parameter))]
    return found or ["mine"]  # where a pattern alone says what it takes


@pytest.mark.parametrize("template", [*SIDECARS, "resource-defaults"])
def test_a_pod_sets_what_is_open_and_nothing_else(template: str) -> None:
    found = snapshot().catalog.get(template)
    assert found is not None
    base: dict[str, Any] = SIDECARS.get(template, {})
    tried = 0
    for parameter in found.parameters.values():
        key = f"{template}.sidecar.injector/{parameter.name}"
        for given in (
            [{}] if parameter.name in base else [*({parameter.name: value} for value in values(parameter)), {}]
        ):
            current = snapshot(template, parameters={template: (admins := {**base, **given})})
            plain = inject(web(), REQUIRED, current)
            if plain.reason is Reason.INJECTED:  # some count only together with others
                break
        assert plain.reason is Reason.INJECTED, (key, plain.message)
        for theirs in [value for value in values(parameter) if value != admins.get(parameter.name)]:
            text = theirs if isinstance(theirs, str) else json.dumps(theirs)
            done = inject(web({key: text}), REQUIRED, current)
            if parameter.open:
                assert all(one.code != "parameter-not-settable" for one in done.warnings), key
                continue
            tried += 1
            assert done.reason is Reason.INJECTED, (key, text, done.message)
            assert [one.fields["parameter"] for one in done.warnings if one.code == "parameter-not-settable"] == [
                parameter.name
            ]
            assert done.object["spec"] == plain.object["spec"], (key, text)
            assert done.files == plain.files, (key, text)
    assert tried or template == "resource-defaults"
