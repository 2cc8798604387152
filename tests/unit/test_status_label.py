"""The label of injected and failed pods: set, put back, taken off, and no proof of anything."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from injector.inject import guard, inject, uninject
from injector.pods.context import Cluster, Namespace, Object
from injector.pods.receipt import read_receipt
from injector.reasons import Effect, Reason
from injector.settings import Settings, parse_settings
from injector.templates.choice import misspelt_annotations
from injector.templates.snapshot import Snapshot, build_snapshot

KEY = "sidecar.injector/status"
SHOP = Namespace("shop", {"injection": "enabled"})
STRICT = Namespace("shop", {"injection": "required"})


def snapshot(image: str = "logger:1", **settings: Any) -> Snapshot:
    overlay = f"spec: {{containers: [{{name: logger, image: '{image}'}}]}}\n"
    sources = {"logger": {"template.yaml": "description: x\n", "overlay.yaml.j2": overlay}}
    return build_snapshot(parse_settings({"templates": ["logger"], **settings}), sources, Cluster())


def pod(**metadata: Any) -> Object:
    return {"metadata": {"name": "web", **metadata}, "spec": {"containers": [{"name": "app", "image": "app:1"}]}}


def label(obj: Object, key: str = KEY) -> str | None:
    value: str | None = (obj["metadata"].get("labels") or {}).get(key)
    return value


def with_label(obj: Object, value: str | None) -> Object:
    made = copy.deepcopy(obj)
    made["metadata"]["labels"].pop(KEY, None)
    made["metadata"]["labels"] |= {} if value is None else {KEY: value}
    return made


@pytest.mark.parametrize("space", [SHOP, STRICT])
@pytest.mark.parametrize("labels", [(), None, {}, {"app": "a"}, {KEY: "mine"}])
def test_it_is_set_once_and_the_pod_is_given_back(labels: Any, space: Namespace) -> None:
    known, metadata = snapshot(), {} if labels == () else {"labels": labels}
    made = inject(pod(**metadata), space, known)  # a patch that does not apply would have failed
    assert (made.reason, label(made.object)) == (Reason.INJECTED, "injected")
    again = inject(made.object, space, known)
    assert (again.reason, again.patch) == (Reason.ALREADY_INJECTED, ())
    assert uninject(made.object, known.settings) == pod(**metadata)


@pytest.mark.parametrize("value", [None, "failed", "mine"])
@pytest.mark.parametrize("space", [SHOP, STRICT])
def test_it_is_put_back_and_nobody_is_refused_for_it(value: str | None, space: Namespace) -> None:
    known = snapshot()
    changed = with_label(inject(pod(labels={"app": "a"}), space, known).object, value)
    assert label(inject(changed, space, known).object) == "injected"
    assert uninject(inject(changed, space, known).object, known.settings) == pod(labels={"app": "a"})
    assert guard(changed, STRICT, known).allowed


def test_another_generation_that_makes_the_same_changes_nothing() -> None:
    made = inject(pod(labels={KEY: "mine"}), SHOP, snapshot()).object
    assert inject(made, SHOP, snapshot(podDefault="skip"), None).effect is Effect.SKIP
    later = snapshot(noValues=["no"])
    assert inject(made, SHOP, later).patch == ()


def test_a_failed_pod() -> None:
    known = snapshot()
    asked = {"sidecar.injector/templates": "none"}
    failed = inject(pod(annotations=asked), SHOP, known)
    assert (failed.effect, label(failed.object)) == (Effect.MARK, "failed")
    assert inject(failed.object, SHOP, known).patch == ()
    assert uninject(failed.object, known.settings) == pod(annotations=asked)
    own = inject(pod(annotations=asked, labels={KEY: "mine"}), SHOP, known)
    assert (own.effect, label(own.object)) == (Effect.MARK, "mine")
    assert uninject(own.object, known.settings) == pod(annotations=asked, labels={KEY: "mine"})
    mended = copy.deepcopy(failed.object)
    del mended["metadata"]["annotations"]["sidecar.injector/templates"]
    assert label(inject(mended, SHOP, known).object) == "injected"


def test_it_is_switched_off_or_called_otherwise() -> None:
    off, other = snapshot(statusLabel=""), snapshot(statusLabel="team/sidecar")
    made = inject(pod(), SHOP, off).object
    assert "labels" not in made["metadata"] and uninject(made, off.settings) == pod()
    assert "labels" not in inject(pod(annotations={"sidecar.injector/templates": "x"}), SHOP, off).object["metadata"]
    made = inject(pod(), SHOP, other).object
    assert made["metadata"]["labels"] == {"team/sidecar": "injected"}
    # the receipt knows which label it was, whatever the settings say by now
    assert uninject(made, off.settings) == uninject(made, Settings()) == pod()


@pytest.mark.parametrize("space", [SHOP, STRICT])
@pytest.mark.parametrize("value", ["injected", "failed"])
def test_a_forged_one_proves_nothing(value: str, space: Namespace) -> None:
    forged = pod(labels={KEY: value})
    assert inject(forged, space, snapshot()).reason is Reason.INJECTED
    assert guard(forged, STRICT, snapshot()).reason is Reason.NOT_INJECTED
    assert uninject(forged, Settings()) == forged


def test_a_receipt_that_claims_another_label_is_void_where_a_sidecar_is_required() -> None:
    known = snapshot()
    made = inject(pod(labels={"app": "a"}), STRICT, known).object
    text = made["metadata"]["annotations"]["sidecar.injector/receipt"]
    made["metadata"]["annotations"]["sidecar.injector/receipt"] = text.replace(f'"{KEY}":null', '"app":null')
    assert inject(made, STRICT, known).object["metadata"]["labels"]["app"] == "a"


def test_a_receipt_of_before_is_read_and_leaves_the_app_s_own_label_alone() -> None:
    receipt = '{"version":1,"generation":"0123456789ab","templates":{"logger":"0"},'
    receipt += '"added":["/spec/initContainers/logger"],"created":["/spec/initContainers","/metadata/annotations"]}'
    old = pod(labels={KEY: "mine"}, annotations={KEY: "injected", "sidecar.injector/receipt": receipt})
    old["spec"]["initContainers"] = [{"name": "logger", "image": "logger:0", "restartPolicy": "Always"}]
    found = read_receipt(old, Settings())
    assert found is not None and found.values is None and not found.label
    assert uninject(old, Settings()) == pod(labels={KEY: "mine"})
    made = inject(old, SHOP, snapshot()).object
    assert label(made) == "injected" and uninject(made, Settings()) == pod(labels={KEY: "mine"})


def test_it_is_no_misspelt_wish() -> None:
    settings = parse_settings({"statusLabel": "sidecar.injector/injected"})
    assert not list(misspelt_annotations("pod label", {"sidecar.injector/injected": "injected"}, settings))


@pytest.mark.parametrize("metadata", [None, {"name": "web"}])
def test_templates_do_not_see_it_in_a_pod_that_has_its_parts(metadata: Any) -> None:
    overlay = (
        "{% if object.metadata.labels | default({}) %}{{ deny('labels') }}{% endif %}\n"
        "spec: {containers: [{name: logger, image: 'logger:1'}]}\n"
    )
    sources = {"logger": {"template.yaml": "description: x\n", "overlay.yaml.j2": overlay}}
    known = build_snapshot(Settings(templates=("logger",)), sources, Cluster())
    made = inject({**pod(), "metadata": metadata}, STRICT, known).object
    assert label(made) == "injected" and guard(made, STRICT, known).reason is Reason.ALREADY_INJECTED
