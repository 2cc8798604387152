"""Under `required` a parameter that weakens a sidecar is not the pod's to set."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from injector.inject import guard, inject
from injector.pods.context import Cluster, Namespace
from injector.reasons import Reason
from injector.settings import RequiredSettings, Settings
from injector.templates.snapshot import Snapshot, SnapshotError, build_snapshot
from tests import command
from tests.messages import Golden
from tests.unit.support import ENABLED, REQUIRED, named, snapshot, web
from tests.unit.webhook.support import review, to_bytes
from tests.unit.webhook.test_waiting import Kept, Webhook, World

IMAGE = "side.sidecar.injector/image"
MANIFEST = """
parameters:
  image: {type: string, format: image, default: "side:1", weakens: true}
  level: {type: string, default: info, weakens: false}
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


def test_weakens_is_true_or_false(golden: Golden) -> None:
    with pytest.raises(SnapshotError) as caught:
        side(MANIFEST.replace("weakens: true", "weakens: 'perhaps'"))
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


@pytest.mark.parametrize("template", SIDECARS)
def test_no_pod_weakens_a_template_of_the_gallery(template: str) -> None:
    current = snapshot(template, parameters={template: SIDECARS[template]})
    found = current.catalog.get(template)
    assert found is not None
    weakening = [p for p in found.parameters.values() if p.weakens]
    assert {"image", "run-as-user"} <= {p.name for p in weakening} and "image" not in found.overridable
    plain = inject(web(), REQUIRED, current)
    assert plain.reason is Reason.INJECTED, plain.message
    annotations = {f"{template}.sidecar.injector/{p.name}": "nonsense" for p in weakening}
    weakened = inject(web(annotations), REQUIRED, current)
    assert weakened.reason is Reason.INJECTED, weakened.message
    spec = weakened.object["spec"]
    assert msgspec.json.encode(spec) == msgspec.json.encode(plain.object["spec"])
    assert inject(web(annotations), ENABLED, current).reason is Reason.BAD_PARAMETER
