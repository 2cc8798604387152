"""`injector new` in its shapes: each lints clean, passes its cases, and does its job."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from injector.authoring.scaffold import SHAPES, scaffold
from injector.authoring.template_summary import brought_by
from injector.cli.demo_programs import free_ports
from injector.cli.new import SHAPES as OPTIONS
from injector.loading.template_folders import read_folder
from injector.templates.kubernetes_yaml import load_manifest
from injector.templates.load import load_template
from tests import parts
from tests.authoring.commands import injector
from tests.authoring.test_new import LONG, answer, files_below
from tests.messages import Golden
from tests.samples import sampled

IMAGE = "registry.example:5000/team/other:1.2"
#: All of them; without an option it is the starter.
ALL = ["starter", *OPTIONS]
WITH_IMAGE = [shape for shape in ALL if shape != "policy"]
EXTRA = "parameters:\n  team: {type: string, required: true, description: Who owns it.}"


def option(shape: str) -> list[str]:
    return [] if shape == "starter" else [f"--{shape}"]


def clean(folder: Path) -> None:
    """Nothing is to be said of a template, whose cases reach all of it."""
    done = injector("lint", "--strict", "--output", "json", folder)
    assert (done.code, json.loads(done.out)["problems"]) == (0, [])
    done = injector("test", folder, "--fail-under", "100")
    assert done.code == 0, done.out + done.err
    assert injector("docs", folder, "--check", folder / "README.md").code == 0


def test_each_shape_is_an_option_and_a_folder() -> None:
    folders = {path.name for path in SHAPES.iterdir() if (path / "template.yaml").exists()}
    assert folders == set(ALL)


@pytest.mark.parametrize(
    ("shape", "name"),
    # each with one of the names, by turns; with the other one in `make soak`
    sampled(((shape, name) for number, shape in enumerate(ALL) for name in ("mine", LONG)[:: (-1) ** number]), 2),
)
def test_a_shape_is_clean_under_every_name(tmp_path: Path, shape: str, name: str) -> None:
    assert injector("new", name, *option(shape), "--dir", tmp_path).code == 0
    clean(tmp_path / name)


@pytest.mark.parametrize("shape", ALL)
def test_what_new_makes_of_a_shape_is_the_shape(shape: str) -> None:
    made = scaffold(shape, SHAPES / shape)
    for path, text in files_below(SHAPES / shape).items():
        if path != "README.md":
            assert made[path].endswith(text)


@pytest.mark.parametrize("shape", WITH_IMAGE)
def test_an_image_of_one_s_own(tmp_path: Path, shape: str) -> None:
    assert injector("new", "mine", *option(shape), "--image", IMAGE, "--dir", tmp_path).code == 0
    added = brought_by(load_template("mine", read_folder(tmp_path / "mine")))
    assert added is not None and [container.image for container in added.containers] == [IMAGE]
    clean(tmp_path / "mine")


@pytest.mark.parametrize("image", ["true:1", "a", "x@sha256:" + "0" * 64])
def test_an_image_is_a_text_whatever_it_looks_like(tmp_path: Path, image: str) -> None:
    assert injector("new", "mine", "--from", "nginx", "--image", image, "--dir", tmp_path).code == 0
    template = load_template("mine", read_folder(tmp_path / "mine"))
    assert template.parameters["image"].default == image


@pytest.mark.parametrize(
    "options",
    [
        ("--policy", "--image", IMAGE),
        ("--from", "envoy", "--image", IMAGE),
        ("--minimal", "--image", "Not an image"),
        ("--minimal", "--proxy"),
        ("--init", "--from", "nginx"),
        ("--init", "--for", "services"),
        ("--from", "nginx", "--for", "services"),
    ],
    ids=" ".join,
)
def test_what_does_not_go_together_is_refused(tmp_path: Path, options: tuple[str, ...], golden: Golden) -> None:
    done = injector("new", "mine", *options, "--dir", tmp_path)
    assert (done.code, done.out) == (2, "")
    golden(done.err)
    assert not list(tmp_path.iterdir())


def test_a_policy_alone_is_for_services(tmp_path: Path) -> None:
    for name, options in {
        "a": ["--policy"],
        "b": ["--for", "services"],
        "c": ["--policy", "--for", "services"],
    }.items():
        assert injector("new", name, *options, "--dir", tmp_path).code == 0
    texts = [(tmp_path / name / "template.yaml").read_text() for name in "abc"]
    assert len(set(texts)) == 1
    assert load_template("a", read_folder(tmp_path / "a")).applies_to.resources == ("services",)


@pytest.mark.parametrize("shape", ALL)
def test_cases_still_pass_when_a_required_parameter_is_added(tmp_path: Path, shape: str) -> None:
    assert injector("new", "mine", *option(shape), "--dir", tmp_path).code == 0
    manifest = tmp_path / "mine" / "template.yaml"
    manifest.write_text(manifest.read_text().replace("parameters:", EXTRA, 1))
    done = injector("test", tmp_path / "mine", "--output", "json")
    data = json.loads(done.out)
    assert (done.code, data["failed"]) == (0, 0)
    [template] = data["templates"]
    assert any(case.get("examples", {}).get("team") for case in template["cases"])
    assert "team" in injector("test", tmp_path / "mine").err


# ------------------------------------------------------------------------------------------------- they do their job


class App(BaseHTTPRequestHandler):
    """An app that says for whom it was asked."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"{self.path} of {self.headers['Host']} for {self.headers['X-Forwarded-For']}".encode())

    def log_message(self, *_: object) -> None:
        pass


def test_requests_go_through_the_proxy(tmp_path: Path) -> None:
    nginx = parts.require("nginx")
    port, health = free_ports(2)
    assert injector("new", "mine", "--proxy", "--dir", tmp_path).code == 0
    with HTTPServer(("127.0.0.1", 0), App) as app:
        threading.Thread(target=app.serve_forever, daemon=True).start()
        values = {"app-port": app.server_port, "port": port, "health-port": health}
        params = [word for name, value in values.items() for word in ("--param", f"{name}={value}")]
        config = injector("render", tmp_path / "mine", "--file", "nginx.conf", *params)
        assert config.code == 0
        file = tmp_path / "nginx.conf"
        file.write_text(config.out.replace(" /tmp/", f" {tmp_path}/"))  # the sidecar's own /tmp
        process = subprocess.Popen([nginx, "-e", "stderr", "-c", file], stderr=subprocess.DEVNULL)
        try:
            assert answer(health, "/healthz") == "ok"
            assert answer(port, "/x?y=1") == f"/x?y=1 of 127.0.0.1:{port} for 127.0.0.1"
        finally:
            process.kill()
            process.wait(300)
            app.shutdown()


def test_the_init_container_writes_what_it_is_told(tmp_path: Path) -> None:
    assert injector("new", "mine", "--init", "--dir", tmp_path).code == 0
    text = "a $(rm) 'b' \"c\"; %s"
    done = injector("render", tmp_path / "mine", "--param", f"text={text}")
    [container] = load_manifest(done.out)["spec"]["initContainers"]
    [variable] = container["env"]
    # the kubelet makes $ of $$
    environment = {**os.environ, variable["name"]: variable["value"].replace("$$", "$")}
    *shell, script = container["command"]
    subprocess.run([*shell, script.replace("/data/", f"{tmp_path}/")], env=environment, check=True)
    assert (tmp_path / "message.txt").read_text() == f"{text}\n"


@pytest.mark.programs
def test_the_agent_s_config_is_accepted(tmp_path: Path) -> None:
    fluent_bit = parts.require("fluent-bit")
    assert injector("new", "mine", "--agent", "--dir", tmp_path).code == 0
    config = injector("render", tmp_path / "mine", "--file", "agent.yaml")
    file = tmp_path / "agent.yaml"
    file.write_text(config.out)
    done = subprocess.run([fluent_bit, "--dry-run", "-c", file], env={**os.environ, "TOKEN": "x"}, check=False)
    assert done.returncode == 0
