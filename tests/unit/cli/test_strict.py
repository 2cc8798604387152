"""`--strict`, and pods that the API server would refuse: what is wrong fails a pipeline, and what is right does not."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.command import run

POD = "apiVersion: v1\nkind: Pod\nmetadata: {{name: web{metadata}}}\nspec: {{containers: [{container}]{spec}}}\n"
CONTAINER = "{name: web, image: 'web:1', ports: [{containerPort: 8080}]}"


def manifest(metadata: str = "", container: str = CONTAINER, spec: str = "") -> str:
    return POD.format(metadata=metadata, container=container, spec=spec)


def annotated(text: str) -> str:
    return manifest(f", annotations: {{{text}}}")


#: Each wrong in one thing that people get wrong.
WRONG = {
    "misspelt parameter": annotated("envoy.sidecar.injector/cpu-limt: '1'"),
    "value that its schema refuses": annotated("envoy.sidecar.injector/cpu-limit: much"),
    "unknown template": annotated("sidecar.injector/templates: envoi"),
    "unknown choice": annotated("sidecar.injector/inject: maybe"),
    "annotation without quotes": annotated("sidecar.injector/inject: true"),
    "number as an annotation": annotated("envoy.sidecar.injector/retries: 3"),
    "misspelt annotation": annotated("sidecar.injector/injct: 'true'"),
    "container without a name": manifest(container="{image: 'web:1'}"),
    "containers that are no list": manifest(container="a").replace("[a]", "{}"),
    "port of the sidecar": manifest(container=CONTAINER.replace("8080", "15006")),
    "volume of the sidecar's name": manifest(
        container=CONTAINER.replace("ports:", "volumeMounts: [{name: envoy-config, mountPath: /a}], ports:"),
        spec=", volumes: [{name: envoy-config, emptyDir: {}}]",
    ),
    "network of the node": manifest(spec=", hostNetwork: true"),
}
#: Each right in another way: 30 in all.
RIGHT = {
    **{
        f"{choice} by {where}": manifest(f", {where}: {{sidecar.injector/inject: '{choice}'}}")
        for choice in ("true", "yes", "on", "enabled", "false", "no", "off", "disabled", "Y", "N")
        for where in ("annotations", "labels")
    },
    **{
        f"parameter {name}": annotated(f"envoy.sidecar.injector/{name}: '{value}'")
        for name, value in {"cpu-limit": "1", "retries": "3", "log-level": "debug", "max-requests": "99"}.items()
    },
    "plain": manifest(),
    "template": annotated("sidecar.injector/templates: envoy"),
    "two templates": annotated(
        "sidecar.injector/templates: 'container,envoy', container.sidecar.injector/image: 'a:1', "
        "container.sidecar.injector/name: b"
    ),
    "other annotations": annotated("example.com/inject: maybe"),
    "own resources": manifest(container=CONTAINER.replace("ports:", "resources: {limits: {cpu: '1'}}, ports:")),
    "own init container": manifest(spec=", initContainers: [{name: first, image: 'first:1'}]"),
}


def _codes(file: Path, *options: str) -> dict[str, int]:
    return {name: run(name, file, *options).code for name in ("inject", "explain")}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_fails(tmp_path: Path, name: str) -> None:
    file = tmp_path / "web.yaml"
    file.write_text(WRONG[name])
    assert _codes(file, "--strict") == {"inject": 1, "explain": 1}
    assert run("inject", file, "--strict").out == ""


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_does_not_fail(tmp_path: Path, name: str) -> None:
    file = tmp_path / "web.yaml"
    file.write_text(RIGHT[name])
    assert _codes(file, "--strict") == {"inject": 0, "explain": 0}


@pytest.mark.parametrize(
    "name", ["annotation without quotes", "container without a name", "containers that are no list"]
)
def test_what_the_api_server_would_refuse_fails_always(tmp_path: Path, name: str) -> None:
    file = tmp_path / "web.yaml"
    file.write_text(WRONG[name])
    assert _codes(file) == {"inject": 1, "explain": 1}


def test_a_warning_alone_does_not_fail(tmp_path: Path) -> None:
    file = tmp_path / "web.yaml"
    file.write_text(WRONG["misspelt parameter"])
    assert _codes(file) == {"inject": 0, "explain": 0}
    assert yaml.safe_load(run("inject", file).out)["kind"] == "Pod"


def test_a_namespace_without_the_label(tmp_path: Path) -> None:
    file = tmp_path / "web.yaml"
    file.write_text(manifest())
    done = run("explain", file, "--namespace-label", "", "--output", "json")
    assert '"reason": "not-requested"' in done.out
    assert run("inject", file, "--namespace-label", "", "--namespace-label", "team=a").out == manifest()


def test_settings_and_templates_as_kubectl_prints_them(tmp_path: Path) -> None:
    file, maps = tmp_path / "web.yaml", tmp_path / "maps.yaml"
    file.write_text(manifest())
    overlay = "spec: {containers: [{name: hello, image: 'a:1'}]}"
    items = [
        {"kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"settings.yaml": "templates: [mine]"}},
        {
            "kind": "ConfigMap",
            "metadata": {"name": "mine"},
            "data": {"template.yaml": "description: x", "overlay.yaml.j2": overlay},
        },
    ]
    maps.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items}))
    done = run("inject", file, "--settings", maps, "--templates-dir", maps, "--output", "json")
    assert (done.code, "name: hello" in done.out) == (0, True)
    for option in ("--settings", "--templates-dir"):
        wrong = run("inject", file, option, file)
        assert (wrong.code, wrong.out) == (1, "") and str(file) in wrong.err


@pytest.mark.parametrize("data", ["5", "[a]", "{template.yaml: 5}", "{settings.yaml: {a: b}}"])
@pytest.mark.parametrize("option", ["--settings", "--templates-dir"])
def test_a_config_map_of_anything_else_is_named(tmp_path: Path, option: str, data: str) -> None:
    file, maps = tmp_path / "web.yaml", tmp_path / "maps.yaml"
    file.write_text(manifest())
    maps.write_text(f"kind: ConfigMap\nmetadata: {{name: mine}}\ndata: {data}\n")
    done = run("inject", file, option, maps)
    assert (done.code, done.out) == (1, "") and "internal" not in done.err
    assert str(maps) in done.err and "mine" in done.err


def test_a_summary_writes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "web.yaml"
    file.write_text(manifest())
    done = run("inject", file, "--summary")
    assert (done.code, done.out) == (0, "")
    assert "2 init containers, 1 volume" in done.err
    assert run("inject", file, "--summary", "--in-place").code == 2


@pytest.mark.parametrize("command", ["inject", "render", "lint"])
def test_a_version_that_is_too_old_is_a_warning(command: str, tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(manifest())
    arguments = {"inject": [file], "render": ["nginx", "--pod", file], "lint": ["templates/nginx"]}[command]
    old, oldest = (run(command, *arguments, "--kubernetes-version", version) for version in ("1.29", "1.30"))
    assert (old.code, oldest.code) == (0, 0)
    assert ("warning" in old.err, "1.29" in old.err, "1.30 " in oldest.err) == (True, True, False)


def test_a_version_that_is_too_old_fails_with_strict(tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(manifest())
    options = ("--strict", "--templates", "always-pull-images", "--kubernetes-version")
    assert [run("inject", file, *options, version).code for version in ("1.29", "1.30")] == [1, 0]
