"""`injector images`, and images from mirrors: what is listed is what pods get."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from injector.pods.overlay import mirrored_image
from tests.command import run
from tests.unit.cli.manifests import POD

HUB = {
    "docker.io": "mirror.example/hub",
    "docker.io/rancher": "other.example:5000/r",
    "registry.k8s.io": "mirror.example/k8s",
}


def images_of(text: str) -> dict[str, str]:
    spec = yaml.safe_load(text)["spec"]
    return {c["name"]: c["image"] for c in (*spec["containers"], *spec.get("initContainers", ()))}


@pytest.fixture
def mirrors(tmp_path: Path) -> Path:
    file = tmp_path / "settings.yaml"
    file.write_text(yaml.safe_dump({"imageMirrors": HUB}))
    return file


@pytest.mark.parametrize(
    ("image", "mirrored"),
    [
        ("nginx:1", "mirror.example/hub/library/nginx:1"),
        ("docker.io/envoyproxy/envoy:v1", "mirror.example/hub/envoyproxy/envoy:v1"),
        ("rancher/a@sha256:00", "other.example:5000/r/a@sha256:00"),
        ("ranchers/a", "mirror.example/hub/ranchers/a"),
        ("quay.io/a/b:1", "quay.io/a/b:1"),
        ("localhost/a", "localhost/a"),
        ("docker.io.example/a", "docker.io.example/a"),
        ("docker.io/nginx:1", "mirror.example/hub/library/nginx:1"),
        ("index.docker.io/library/nginx@sha256:00", "mirror.example/hub/library/nginx@sha256:00"),
        ("index.docker.io/rancher/a", "other.example:5000/r/a"),
        ("EVIL/x", "EVIL/x"),
        ("registry:5000/x", "registry:5000/x"),
        ("localhost", "mirror.example/hub/library/localhost"),
    ],
)
def test_the_longest_beginning_counts(image: str, mirrored: str) -> None:
    assert mirrored_image(image, HUB) == mirrored


@pytest.mark.parametrize("beginning", ["nginx", "docker.io/nginx", "index.docker.io/library/nginx", "library/nginx"])
@pytest.mark.parametrize("image", ["nginx:1", "docker.io/nginx:1", "library/nginx:1", "index.docker.io/nginx:1"])
def test_each_spelling_of_a_name_is_that_name(beginning: str, image: str) -> None:
    assert mirrored_image(image, {"docker.io": "hub.example", beginning: "own.example/n"}) == "own.example/n:1"
    assert mirrored_image("nginxinc/a", {beginning: "own.example/n"}) == "nginxinc/a"


def test_what_is_listed_is_what_a_pod_gets(tmp_path: Path, mirrors: Path) -> None:
    file = tmp_path / "web.yaml"
    file.write_text(POD)
    done = run("inject", file, "--settings", mirrors)
    got = images_of(done.out)
    own = images_of(POD)
    assert {name: got[name] for name in own} == own
    listed = json.loads(run("images", "--settings", mirrors, "--templates", "envoy", "-o", "json").out)
    assert {row["mirrored"] for row in listed} == {image for name, image in got.items() if name not in own}
    assert all(row["templates"] == ["envoy"] and row["mirrored"] != row["image"] for row in listed)
    [explained] = json.loads(run("explain", file, "--settings", mirrors, "--output", "json").out)
    assert explained["templates"][0]["mirrored"] == {row["image"]: row["mirrored"] for row in listed}


@pytest.mark.parametrize("label", ["enabled", "required"])
def test_twice_is_once_and_a_pod_s_own_image_stays(tmp_path: Path, mirrors: Path, label: str) -> None:
    file = tmp_path / "web.yaml"
    file.write_text(POD)
    options = ("--settings", mirrors, "--namespace-label", f"injection={label}")
    once = tmp_path / "once.yaml"
    once.write_text(run("inject", file, *options).out)
    assert run("inject", once, *options).out == once.read_text()
    assert run("uninject", once, "--settings", mirrors).out == POD
    pod = yaml.safe_load(POD)
    pod["spec"]["containers"].append({"name": "envoy-sidecar", "image": "own.example/envoy:1"})
    file.write_text(yaml.safe_dump(pod))
    done = run("inject", file, *options)
    if label == "enabled":
        assert images_of(done.out)["envoy-sidecar"] == "own.example/envoy:1"
    else:
        assert done.code == 1


def test_all_of_the_gallery_and_of_a_folder_is_listed(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "template.yaml").write_text("description: x\n")
    (folder / "overlay.yaml.j2").write_text("spec: {containers: [{name: a, image: 'registry.example/a:1'}]}\n")
    listed = run("images", "--templates-dir", folder).out.splitlines()
    assert listed == sorted(set(listed)) and "registry.example/a:1" in listed
    assert {image.split("/")[0] for image in listed} >= {"envoyproxy", "hashicorp", "quay.io", "fluent"}


@pytest.mark.parametrize("entry", [{"docker.io/": "a"}, {"docker.io": "a b"}, {"": "a"}, {"a:tag/b": "c"}])
def test_what_is_no_beginning_is_refused(tmp_path: Path, entry: dict[str, str]) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text(yaml.safe_dump({"imageMirrors": entry}))
    done = run("images", "--settings", file)
    assert (done.code, done.out) == (1, "") and f"{file}:2:" in done.err
