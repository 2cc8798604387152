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


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("web.yaml",), 1),
        (("./web.yaml",), 1),
        (("web.yaml", "nginx"), 2),
        (("mine/template.yaml",), 1),
    ],
)
def test_render_of_a_manifest(tmp_path: Path, args: tuple[str, ...], code: int, golden: Golden) -> None:
    done = said(tmp_path, "render", *args)
    golden(done.err)
    assert done.code == code


@pytest.mark.parametrize(
    "rule",
    [
        "image-latest",
        "latest-tag",
        "non-root",
        "memory-limits",
        "no-privileged",
        "imagetag",
        "hadolint",
    ],
)
def test_a_rule_of_another_linter(rule: str, golden: Golden) -> None:
    golden(command.run("lint", "--disable", rule).err)


@pytest.mark.parametrize(
    "expression",
    [
        "rate && limit",
        "rate||limit",
        "!rate",
        "a && !(b || c)",
        "a AND b",
        "a | b",
        "a && b)",
    ],
)
def test_signs_for_words(expression: str, golden: Golden) -> None:
    done = command.run("test", "templates/nginx", "-k", expression)
    golden(done.err)
    assert done.code == 2


@pytest.mark.parametrize("expression", ["'a && b'", "a|b", "wow!", "ANDROID", "R&D"])
def test_signs_within_names(expression: str) -> None:
    assert "write `" not in command.run("test", "templates/nginx", "-k", expression).err


@pytest.mark.parametrize("name", ["inject", "explain", "uninject", "check-manifests"])
def test_a_variable_of_serve_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, golden: Golden
) -> None:
    monkeypatch.setenv("INJECTOR_SETTINGS", "settings.yaml")
    golden(said(tmp_path, name, "web.yaml").err)
    golden(said(tmp_path, name, "--settings", "settings.yaml", "web.yaml").err)
    monkeypatch.setenv("INJECTOR_SETTINGS", "")
    golden(said(tmp_path, name, "web.yaml").err)


@pytest.mark.parametrize(
    ("variable", "value", "args"),
    [
        ("TEMPLATES_DIR", "a:b", ("inject", "web.yaml")),
        ("TEMPLATES_DIR", "a", ("render", "nginx")),
        ("SETTINGS", "s", ("guard", "--policy")),
        ("CONTEXT", "prod", ("list",)),
        ("KUBECONFIG", "k", ("check",)),
    ],
)
def test_each_variable_of_serve_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, args: tuple[str, ...], golden: Golden
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.setenv(f"INJECTOR_{variable}", value)
    done = said(tmp_path, *args)
    golden(done.err)


@pytest.mark.parametrize("args", [("lint", "--rules"), ("new", "mine"), ("certs", "--help"), ("list", "--help")])
def test_a_command_without_such_an_option_is_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], golden: Golden
) -> None:
    monkeypatch.setenv("INJECTOR_SETTINGS", "settings.yaml")
    golden(said(tmp_path, *args).err)


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
    assert f"(it has {label})" in said(tmp_path, "explain", "--namespace-label", label, "web.yaml").out
    golden(said(tmp_path, "inject", "--namespace-label", meant, "web.yaml").err)


@pytest.mark.parametrize("label", ["team=payments", "inspection=weekly", "istio.io/rev=stable", "tier=enabled"])
def test_other_labels_of_a_namespace(tmp_path: Path, label: str, golden: Golden) -> None:
    golden(said(tmp_path, "inject", "--namespace-label", label, "web.yaml").err)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ("{envoy.cpu-request: 100m, envoy.access-log: text}", "envoy: {cpu-request: 100m, access-log: text}"),
        ("{envoy: {access-log: text}, envoy.cpu-request: 100m}", "envoy: {access-log: text, cpu-request: 100m}"),
        ('{nginx.gzip: false, nginx.image: "a b"}', 'nginx: {gzip: false, image: "a b"}'),
    ],
)
def test_several_dotted_keys_of_one_template(tmp_path: Path, parameters: str, words: str) -> None:
    done = said(tmp_path, "inject", "--settings", "settings.yaml", "web.yaml", settings=f"parameters: {parameters}\n")
    told = [line for line in done.err.splitlines() if "write" in line]
    assert told
    assert all(line.endswith(f"write {words} as the only entry for {words.partition(':')[0]}") for line in told)


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
    without = re.sub(" *sidecar.injector/(?:receipt|status): .*\n", "", injected)
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
