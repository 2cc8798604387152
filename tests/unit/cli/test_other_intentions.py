"""Words and files at the place of others: each message names what to write there, and what is written there works."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import command
from tests.messages import Golden
from tests.unit.cli.test_wrong_values import WEB, annotated, said


def test_uninject_of_one_template(tmp_path: Path, golden: Golden) -> None:
    done = said(tmp_path, "uninject", "--templates", "nginx", "web.yaml")
    golden(done.err)
    injected = said(tmp_path, "inject", "--templates", "nginx,fluent-bit", "web.yaml").out
    kept = said(tmp_path, "inject", "--reinject", "--templates", "fluent-bit", "web.yaml", manifest=injected)
    assert "fluent-bit-sidecar" in kept.out
    assert "nginx-sidecar" not in kept.out


def test_a_rule_of_another_linter(golden: Golden) -> None:
    golden(command.run("lint", "--disable", "image-tga").err)
    golden(command.run("lint", "--disable", "hadolint").err)


@pytest.mark.parametrize(
    ("label", "meant"),
    [
        ("istio-injection=enabled", "injection=enabled"),
        ("istio-injection=disabled", "injection=disabled"),
        ("injecton=disabled", "injection=disabled"),
        ("linkerd.io/inject=enabled", "injection=enabled"),
        ("sidecar.injector/inject=false", "injection=disabled"),
        ("Injection=require", "injection=required"),
    ],
)
def test_a_namespace_label_for_the_one_that_switches(tmp_path: Path, label: str, meant: str, golden: Golden) -> None:
    done = said(tmp_path, "inject", "--namespace-label", label, "web.yaml")
    golden(done.err)
    assert f"write --namespace-label {meant}" in said(tmp_path, "explain", "--namespace-label", label, "web.yaml").err
    golden(said(tmp_path, "inject", "--namespace-label", meant, "web.yaml").err)


@pytest.mark.parametrize("label", ["team=payments", "inspection=weekly", "istio.io/rev=stable", "tier=enabled"])
def test_other_labels_of_a_namespace(tmp_path: Path, label: str, golden: Golden) -> None:
    golden(said(tmp_path, "inject", "--namespace-label", label, "web.yaml").err)


_SIDECAR = "      - {name: NAME, resources: {limits: {memory: 512Mi}}}\n"


@pytest.mark.parametrize("name", ["inject", "explain"])
@pytest.mark.parametrize(
    ("container", "words"),
    [("envoy-sidcar", "did you mean envoy-sidecar?"), ("envoy", "add an image"), ("worker", "add an image")],
)
def test_a_container_without_an_image(tmp_path: Path, name: str, container: str, words: str) -> None:
    manifest = annotated("{sidecar.injector/templates: envoy}") + _SIDECAR.replace("NAME", container)
    done = said(tmp_path, name, "web.yaml", manifest=manifest)
    expected = f"spec.containers[{container}] has no image, so the API server refuses the pod; {words}"
    assert expected in done.out + done.err


@pytest.mark.parametrize("container", ["envoy-sidecar"])
def test_a_sidecar_that_is_customised_needs_no_image(tmp_path: Path, container: str, golden: Golden) -> None:
    manifest = annotated("{sidecar.injector/templates: envoy}") + _SIDECAR.replace("NAME", container)
    done = said(tmp_path, "inject", "web.yaml", manifest=manifest)
    golden(done.err)
    assert "no image" not in done.err
    again = said(tmp_path, "inject", "web.yaml", manifest=done.out)
    assert "no image" not in again.err


def test_an_image_that_another_controller_sets(tmp_path: Path) -> None:
    other = WEB.replace("apps/v1", "apps.openshift.io/v1").replace("Deployment", "DeploymentConfig")
    done = said(tmp_path, "inject", "web.yaml", manifest=other + _SIDECAR.replace("NAME", "worker"))
    assert "no image" not in done.err


LONG = WEB.replace(", annotations: {}}", "}").replace(
    "    metadata: {labels: {app: web}}\n",
    "    metadata:\n      labels: {app: web}\n      annotations:\n        a: b\n",
)


@pytest.mark.parametrize(
    "written",
    [
        "",
        "sidecar.injector/receipt: 'x'\n",
    ],
)
def test_uninject_without_a_receipt_changes_nothing(tmp_path: Path, written: str, golden: Golden) -> None:
    injected = said(tmp_path, "inject", "web.yaml", manifest=LONG).out
    without = re.sub("( *)sidecar.injector/receipt: .*\n", rf"\1{written}" if written else "", injected)
    done = said(tmp_path, "uninject", "web.yaml", manifest=without)
    assert (done.code, done.out) == (1, "")
    golden(done.err)


def test_uninject_keeps_a_config_map_that_a_pod_still_mounts(tmp_path: Path, golden: Golden) -> None:
    injected = said(tmp_path, "inject", "web.yaml", manifest=LONG).out
    without = re.sub("^ *sidecar.injector/(?:receipt|status): .*\n", "", injected, flags=re.MULTILINE)
    done = said(tmp_path, "uninject", "web.yaml", manifest=without)
    assert (done.code, done.out) == (1, "")
    golden(done.err)


def test_objects_one_level_below(tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "out.json").write_text(
        '{"web": {"apiVersion": "v1", "kind": "Pod"}, "b": {"apiVersion": "v1", "kind": "X"}}'
    )
    done = said(tmp_path, "inject", "out.json")
    golden(done.err)


def test_no_file_at_all(tmp_path: Path, golden: Golden) -> None:
    golden(said(tmp_path, "inject").err)
