"""Words and files at the place of others: each message names what to write there, and what is written there works."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import command
from tests.unit.cli.test_wrong_values import WEB, annotated, said


def test_uninject_of_one_template(tmp_path: Path) -> None:
    done = said(tmp_path, "uninject", "--templates", "nginx", "web.yaml")
    assert "uninject removes all sidecars. To keep one of several templates, run injector inject --reinject" in done.err
    injected = said(tmp_path, "inject", "--templates", "nginx,fluent-bit", "web.yaml").out
    kept = said(tmp_path, "inject", "--reinject", "--templates", "fluent-bit", "web.yaml", manifest=injected)
    assert "fluent-bit-sidecar" in kept.out
    assert "nginx-sidecar" not in kept.out


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("web.yaml",), 1, "web.yaml: this is a manifest; name the template first: injector render TEMPLATE web.yaml"),
        (("./web.yaml",), 1, "name the template first: injector render TEMPLATE ./web.yaml"),
        (("web.yaml", "nginx"), 2, "name the template first: injector render nginx web.yaml"),
        (("mine/template.yaml",), 1, "mine/template.yaml: name the template's folder: injector render mine"),
    ],
)
def test_render_of_a_manifest(tmp_path: Path, args: tuple[str, ...], code: int, words: str) -> None:
    done = said(tmp_path, "render", *args)
    assert words in done.err
    assert done.code == code


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("image-latest", "did you mean image-tag or image-name? injector lint --rules says"),
        ("latest-tag", "did you mean image-tag"),
        ("non-root", "did you mean read-only-root or run-as-root?"),
        ("memory-limits", "did you mean request-above-limit or resources?"),
        ("no-privileged", "did you mean privilege-escalation"),
        ("imagetag", "did you mean image-tag?\n"),
        ("hadolint", "there is no rule `hadolint`; injector lint --rules says what each rule finds"),
    ],
)
def test_a_rule_of_another_linter(rule: str, words: str) -> None:
    assert words in command.run("lint", "--disable", rule).err


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("rate && limit", "write `and` for &&: -k 'rate and limit'"),
        ("rate||limit", "write `or` for ||: -k 'rate or limit'"),
        ("!rate", "write `not` for !: -k 'not rate'"),
        ("a && !(b || c)", "write `and` for && and `or` for || and `not` for !: -k 'a and not (b or c)'"),
        ("a AND b", "write `and` for AND: -k 'a and b'"),
        ("a | b", "write `or` for |: -k 'a or b'"),
        ("a && b)", "write `and` for &&\n"),
    ],
)
def test_signs_for_words(expression: str, words: str) -> None:
    done = command.run("test", "templates/nginx", "-k", expression)
    assert words in done.err
    assert done.code == 2


@pytest.mark.parametrize("expression", ["'a && b'", "a|b", "wow!", "ANDROID", "R&D"])
def test_signs_within_names(expression: str) -> None:
    assert "write `" not in command.run("test", "templates/nginx", "-k", expression).err


@pytest.mark.parametrize("folders", ["sidecars,team", "sidecars;team", "sidecars, team"])
def test_folders_in_one_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folders: str) -> None:
    for name in ("sidecars", "team"):
        (tmp_path / name).mkdir()
    done = said(tmp_path, "inject", "--templates-dir", folders, "web.yaml")
    assert "Write --templates-dir sidecars --templates-dir team." in done.err
    monkeypatch.setenv("INJECTOR_TEMPLATES_DIR", folders)
    done = said(tmp_path, "serve", "--standalone")
    assert "Separate folders by `:`; write INJECTOR_TEMPLATES_DIR=sidecars:team." in done.err


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    assert "Write --" not in said(tmp_path, "inject", "--templates-dir", "a,b", "web.yaml").err


@pytest.mark.parametrize("name", ["inject", "explain", "uninject", "check-manifests"])
def test_a_variable_of_serve_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("INJECTOR_SETTINGS", "settings.yaml")
    assert (
        "warning: INJECTOR_SETTINGS is only for serve; give --settings settings.yaml\n"
        in said(tmp_path, name, "web.yaml").err
    )
    assert "only for serve" not in said(tmp_path, name, "--settings", "settings.yaml", "web.yaml").err
    monkeypatch.setenv("INJECTOR_SETTINGS", "")
    assert "only for serve" not in said(tmp_path, name, "web.yaml").err


@pytest.mark.parametrize(
    ("variable", "value", "args", "words"),
    [
        ("TEMPLATES_DIR", "a:b", ("inject", "web.yaml"), "give --templates-dir a --templates-dir b"),
        ("TEMPLATES_DIR", "a", ("render", "nginx"), "give --templates-dir a"),
        ("SETTINGS", "s", ("guard", "--policy"), "give --settings s"),
        ("CONTEXT", "prod", ("list",), "give --context prod"),
        ("KUBECONFIG", "k", ("check",), "give --kubeconfig k"),
    ],
)
def test_each_variable_of_serve_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, args: tuple[str, ...], words: str
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.setenv(f"INJECTOR_{variable}", value)
    done = said(tmp_path, *args)
    assert f"warning: INJECTOR_{variable} is only for serve; {words}\n" in done.err


@pytest.mark.parametrize("args", [("lint", "--rules"), ("new", "mine"), ("certs", "--help"), ("list", "--help")])
def test_a_command_without_such_an_option_is_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...]
) -> None:
    monkeypatch.setenv("INJECTOR_SETTINGS", "settings.yaml")
    assert "only for serve" not in said(tmp_path, *args).err


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
def test_a_namespace_label_for_the_one_that_switches(tmp_path: Path, label: str, meant: str) -> None:
    done = said(tmp_path, "inject", "--namespace-label", label, "web.yaml")
    assert f"warning: --namespace-label {label} does not control injection. A namespace without the label" in done.err
    assert f"is treated as injection=enabled; write --namespace-label {meant}\n" in done.err
    assert f"(it has {label})" in said(tmp_path, "explain", "--namespace-label", label, "web.yaml").out
    assert "does not control" not in said(tmp_path, "inject", "--namespace-label", meant, "web.yaml").err


@pytest.mark.parametrize("label", ["team=payments", "inspection=weekly", "istio.io/rev=stable", "tier=enabled"])
def test_other_labels_of_a_namespace(tmp_path: Path, label: str) -> None:
    assert "does not control" not in said(tmp_path, "inject", "--namespace-label", label, "web.yaml").err


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


@pytest.mark.parametrize("container", ["envoy-sidecar", "istio-proxy"])
def test_a_sidecar_that_is_customised_needs_no_image(tmp_path: Path, container: str) -> None:
    manifest = annotated("{sidecar.injector/templates: envoy}") + _SIDECAR.replace("NAME", container)
    done = said(tmp_path, "inject", "web.yaml", manifest=manifest)
    assert "injected with envoy" in done.err
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
    ("written", "words"),
    [
        ("", "its receipt (annotation sidecar.injector/receipt) is missing, so what the injection added"),
        ("sidecar.injector/receipt: 'x'\n", "its receipt (annotation sidecar.injector/receipt) cannot be read"),
    ],
)
def test_uninject_without_a_receipt_changes_nothing(tmp_path: Path, written: str, words: str) -> None:
    injected = said(tmp_path, "inject", "web.yaml", manifest=LONG).out
    without = re.sub("( *)sidecar.injector/receipt: .*\n", rf"\1{written}" if written else "", injected)
    done = said(tmp_path, "uninject", "web.yaml", manifest=without)
    assert (done.code, done.out) == (1, "")
    assert words in done.err


def test_uninject_keeps_a_config_map_that_a_pod_still_mounts(tmp_path: Path) -> None:
    injected = said(tmp_path, "inject", "web.yaml", manifest=LONG).out
    without = re.sub(" *sidecar.injector/(?:receipt|status): .*\n", "", injected)
    done = said(tmp_path, "uninject", "web.yaml", manifest=without)
    assert (done.code, done.out) == (1, "")
    assert "deployment/web: failed: it mounts configmap/web-envoy-" in done.err


def test_objects_one_level_below(tmp_path: Path) -> None:
    (tmp_path / "out.json").write_text(
        '{"web": {"apiVersion": "v1", "kind": "Pod"}, "b": {"apiVersion": "v1", "kind": "X"}}'
    )
    done = said(tmp_path, "inject", "out.json")
    assert "out.json:1: its objects are one level below (web, b); write each object as a separate document" in done.err


def test_no_file_at_all(tmp_path: Path) -> None:
    assert "Missing argument 'FILE...'; for standard input write -." in said(tmp_path, "inject").err
