"""`injector render`: what it shows, the difference to a manifest, and the preview that follows the author's edits."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.authoring.commands import GALLERY, environment, injector
from tests.messages import Golden

TEMPLATE = """\
description: Ships logs.
parameters:
  level: {type: string, enum: [info, debug], default: info, description: How much is logged.}
files:
  logger.yaml: {template: logger.yaml.j2}
  words.txt: {template: words.txt.j2}
"""
OVERLAY = """\
{% if not ports %}{{ fail("declare a port") }}{% endif %}
spec:
  containers:
  - name: logger
    image: logger:1
    args: [--level, "{{ params.level }}"]
    volumeMounts:
    - {name: logger-config, mountPath: /etc/logger, readOnly: true}
  volumes:
  - name: logger-config
    configMap: {name: "{{ files.configmap }}"}
"""
SOURCES = {
    "template.yaml": TEMPLATE,
    "overlay.yaml.j2": OVERLAY,
    "logger.yaml.j2": "level: {{ params.level }}\n",
    "words.txt.j2": "level {{ params.level }}\n",
}
#: A manifest with an order of keys of its own, comments and flow style.
MANIFEST = """\
# Source: chart/web.yaml
kind: Deployment
apiVersion: apps/v1
metadata: {name: web}  # a note
spec:
  template:
    spec:
      terminationGracePeriodSeconds: 20
      containers:
      - ports: [{containerPort: 8080}]
        image: web:1
        name: web
    metadata:
      labels:
        app: web
---
kind: Service
apiVersion: v1
metadata: {name: web}
"""


@pytest.fixture
def template(tmp_path: Path) -> Path:
    folder = tmp_path / "logger"
    folder.mkdir()
    for name, text in SOURCES.items():
        (folder / name).write_text(text)
    (tmp_path / "web.yaml").write_text(MANIFEST)
    return folder


# ------------------------------------------------------------------------------------------------- what it shows


def test_overlay_and_files_of_a_folder(template: Path, golden: Golden) -> None:
    done = injector("render", "./logger", "--param", "level=debug", cwd=template.parent)
    assert done.code == 0
    golden(done.out)


def test_only_one_file_as_the_sidecar_reads_it(template: Path, golden: Golden) -> None:
    done = injector("render", template, "--file", "words.txt")
    assert (done.code, done.out) == (0, "level info\n")
    other = injector("render", template, "--file", "word.txt")
    assert (other.code, other.out) == (1, "")
    golden(other.err)


def test_a_file_that_is_delivered_by_an_annotation_can_be_seen_too(template: Path) -> None:
    pod = "kind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: a, ports: [{containerPort: 80}]}]}\n"
    done = injector("render", template, "--pod", "-", "--file", "logger.yaml", stdin=pod)
    assert (done.code, done.out) == (0, "level: info\n")


def test_json_for_programs(template: Path) -> None:
    done = injector("render", template, "-f", template.parent / "web.yaml", "--output", "json")
    found = json.loads(done.out)
    assert found["template"] == "logger" and found["reason"] == "injected"
    assert found["parameters"] == {"level": {"value": "info", "from": "default"}}
    assert found["files"] == {"logger.yaml": "level: info\n", "words.txt": "level info\n"}
    [config_map] = found["configMaps"]
    assert found["overlay"]["spec"]["volumes"][0]["configMap"]["name"] == config_map
    assert [c["name"] for c in found["pod"]["spec"]["initContainers"]] == ["logger"]


@pytest.mark.parametrize("options", [("--diff", "--file", "words.txt"), ("--diff", "--output", "json")])
def test_forms_exclude_one_another(template: Path, options: tuple[str, ...]) -> None:
    assert injector("render", template, *options).code == 2


def test_a_mistake_is_shown_with_its_line_and_a_caret(template: Path, golden: Golden) -> None:
    (template / "overlay.yaml.j2").write_text(OVERLAY.replace("params.level", "params.levl"))
    done = injector("render", "./logger", cwd=template.parent)
    assert (done.code, done.out) == (1, "")
    first, line, caret = done.err.splitlines()
    golden(first)
    golden(line)
    assert line[caret.index("^") :].startswith(("levl", "params.levl", "{{ params.levl", '"{{ params.levl'))


def test_others_may_be_broken(template: Path) -> None:
    other = template.parent / "other"
    other.mkdir()
    (other / "template.yaml").write_text("descripton: x\n")
    assert injector("render", "logger", "--templates-dir", template.parent).code == 0


def test_what_is_not_served_says_why(template: Path, golden: Golden) -> None:
    pod = "kind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: a}]}\n"
    done = injector("render", template, "-f", "-", stdin=pod)
    assert (done.code, done.out) == (1, "")
    assert "declare a port" in done.err
    golden(done.err)


@pytest.mark.parametrize(
    "name",
    [
        "ngnix",
        "./nowhere",
        "x" * 300,
    ],
)
def test_a_template_that_there_is_not(template: Path, name: str, golden: Golden) -> None:
    done = injector("render", name, cwd=template.parent)
    assert (done.code, done.out) == (1, "")
    golden(done.err)


def test_a_folder_goes_before_a_template_of_the_gallery(template: Path) -> None:
    """As it does for `lint` and `test`."""
    shutil.copytree(template, template.parent / "nginx")
    for name in ("logger", "nginx", "./nginx"):
        done = injector("render", name, cwd=template.parent)
        assert done.code == 0 and done.out.startswith(f"# overlay of {name.removeprefix('./')}\n")
        assert "logger.yaml" in done.out


# ------------------------------------------------------------------------------------------------- the difference


def test_the_difference_to_a_manifest(template: Path) -> None:
    """Golden: order of keys kept, nothing but the sidecar, its ConfigMap and the marks is a difference."""
    done = injector("render", "./logger", "--pod", "web.yaml", "--diff", cwd=template.parent)
    assert (done.code, done.err) == (0, "")
    text = re.sub(r"(web-logger-)[0-9a-f]+", r"\1HASH", done.out)
    text = re.sub(r"(receipt: ).*", r"\1RECEIPT", text)
    golden = Path(__file__).parent / "diff.golden"
    assert text == golden.read_text()
    assert not re.search(r"^-(?!--)", done.out, re.MULTILINE)


def test_the_difference_is_what_inject_writes(template: Path) -> None:
    diff = injector("render", "./logger", "--pod", "web.yaml", "--diff", cwd=template.parent).out
    after = injector("inject", "web.yaml", "--templates-dir", ".", "--templates", "logger", cwd=template.parent).out
    added = [line[1:] for line in diff.splitlines() if line.startswith("+") and not line.startswith("+++")]
    lines = after.splitlines()
    assert added and all(line in lines or "receipt" in line for line in added)


def test_a_pod_that_has_it_all_has_no_difference(template: Path) -> None:
    options = ("--templates-dir", ".", "--templates", "logger")
    (template.parent / "done.yaml").write_text(injector("inject", "web.yaml", *options, cwd=template.parent).out)
    done = injector("render", "./logger", "--pod", "done.yaml", "--diff", cwd=template.parent)
    assert (done.code, done.out) == (0, "")
    assert "No difference" in done.err


@pytest.mark.parametrize("name", GALLERY)
def test_every_template_of_the_gallery_has_a_difference_or_a_reason(name: str) -> None:
    done = injector("render", name, "--diff")
    if done.code == 0 and done.out:
        documents = [line[1:] for line in done.out.splitlines() if line.startswith("+") and not line.startswith("+++")]
        assert documents
    else:
        assert done.err


@pytest.mark.parametrize("no_colour", ["", "1"])
def test_colours_are_for_terminals(template: Path, no_colour: str) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "injector", "render", str(template), "--diff"]
    env = {**environment(), "NO_COLOR": no_colour}
    subprocess.run(command, stdout=theirs, stderr=subprocess.DEVNULL, env=env, check=True, timeout=300)
    os.close(theirs)
    text = os.read(ours, 100_000)
    os.close(ours)
    assert (b"\x1b[32m+" in text) is not bool(no_colour)


# ---------------------------------------------------------------------------------------------------- the preview


class Screen:
    """A terminal with a program on it: what it wrote since it last cleared the screen."""

    def __init__(self, process: subprocess.Popen[bytes], terminal: int) -> None:
        self.process = process
        self.terminal = terminal
        self.text = ""

    def until(self, *wanted: str, without: str = "\0") -> str:
        """The screen once all of `wanted` is on it, and what is not wanted is not."""
        deadline = time.monotonic() + 20
        while not (all(word in self.screen for word in wanted) and without not in self.screen):
            assert time.monotonic() < deadline, f"{wanted} is not on the screen: {self.screen[-2000:]}"
            if select.select([self.terminal], [], [], 0.1)[0]:
                self.text += os.read(self.terminal, 65536).decode()
        return self.screen

    @property
    def screen(self) -> str:
        return re.sub(r"\x1b\[[0-9;]*m", "", self.text.rpartition("\x1b[2J\x1b[3J\x1b[H")[2]).replace("\r\n", "\n")

    def type(self, keys: str) -> None:
        os.write(self.terminal, keys.encode())


@contextmanager
def on_a_terminal(*args: str, cwd: Path, rows: int = 0) -> Iterator[Screen]:
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(ours, (rows, 100 if rows else 0))

    def take_terminal() -> None:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(
        [sys.executable, "-m", "injector", *args],
        cwd=cwd,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment(),
        preexec_fn=take_terminal,
    )
    os.close(theirs)
    try:
        yield Screen(process, ours)
    finally:
        process.kill()
        process.wait(300)
        os.close(ours)


def test_the_preview_follows_the_author(template: Path, golden: Golden) -> None:
    overlay, config = template / "overlay.yaml.j2", template / "logger.yaml.j2"
    with on_a_terminal("render", "./logger", "--pod", "web.yaml", "--watch", cwd=template.parent) as shown:
        first = shown.until("# overlay of logger", "level: info")
        golden(first.partition("# overlay of logger")[0])

        config.write_text("level: {{ params.level }}\nworkload: {{ workload.name }}\n")
        golden(shown.until("workload: web").splitlines()[0])

        overlay.write_text(OVERLAY.replace("params.level", "params.levl"))
        broken = shown.until("did you mean level?", "^", without="# overlay of")
        assert "./logger/overlay.yaml.j2:6:" in broken

        (template / "replacement").write_text(OVERLAY.replace("logger:1", "logger:2"))
        (template / "replacement").rename(overlay)  # as editors write that want no half file
        shown.until("image: logger:2", without="error")

        (template.parent / "web.yaml").write_text(MANIFEST.replace("name: web", "name: shop"))
        shown.until("workload: shop")

        overlay.unlink()
        shown.until("there is no overlay.yaml.j2", without="# overlay of")
        overlay.write_text(OVERLAY)
        shown.until("image: logger:1", without="error")

        shown.type("\x03")
        assert shown.process.wait(300) == 0
        assert "Traceback" not in shown.text and "Stopped" not in shown.text


def test_a_parameter_that_is_not_declared_yet_is_an_error_in_place(template: Path) -> None:
    manifest = template / "template.yaml"
    with on_a_terminal("render", ".", "--param", "size=3", "--watch", "--diff", cwd=template) as shown:
        shown.until("template logger has no parameter `size`")
        manifest.write_text(TEMPLATE.replace("files:", "  size: {type: integer, default: 1}\nfiles:"))
        shown.until("+kind: ConfigMap", without="no parameter")
        shown.type("\x03")
        assert shown.process.wait(300) == 0


def test_settings_are_watched_too(template: Path) -> None:
    settings = template.parent / "settings.yaml"
    settings.write_text("{}\n")
    with on_a_terminal("render", "./logger", "--settings", "settings.yaml", "--watch", cwd=template.parent) as shown:
        shown.until("level: info")
        settings.write_text("parameters: {logger: {level: debug}}\n")
        shown.until("level: debug")
        settings.write_text("parameters: {logger: {level: loud}}\n")
        shown.until("must be one of info, debug")
        settings.write_text("podDefaults: skip\n")
        shown.until('unknown key "podDefaults"; did you mean podDefault?')


def test_without_a_terminal_each_version_stands_below_a_line(template: Path, golden: Golden) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "injector", "render", str(template), "--file", "words.txt", "--watch"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    try:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == b"level info\n"
        (template / "words.txt.j2").write_text("words {{ params.level }}\n")
        head = process.stdout.readline().decode()
        golden(head)
        assert process.stdout.readline() == b"words info\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(300) == 0
        assert process.stderr.read() == b""
    finally:
        process.kill()
        process.wait(300)


def test_a_folder_without_a_manifest_is_told_so(tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "exporter").mkdir()
    done = injector("render", "exporter", cwd=tmp_path)
    assert done.code == 1
    golden(done.err)


def folder(tmp_path: Path, overlay: str) -> None:
    """A template `mine` of this overlay."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/template.yaml").write_text("description: x\n")
    (tmp_path / "mine/overlay.yaml.j2").write_text(overlay)


@pytest.mark.parametrize(
    "overlay",
    [
        "  - {name: a, image: 'x:1'}\n  - {name: w_x, image: 'x:1'}\n",
        "  - name: a\n    image: x:1\n    ports: [{containerPort: 8090}, {containerPort: '8081'}]\n",
        "  - name: a\n    image: x:1\n    volumeMounts:\n    - {name: b, mountPath: /b}\n"
        "    - {name: c, mountPath: /c}\n  volumes: [{name: b, emptyDir: {}}]\n",
        "  - name: a\n    image: x:1\n    command: sh -c 'echo a'\n",
        "  - {name: a, image: 'x:1'}\n  volumes: [{name: b, configMap: {name: b, defaultMode: 644}}]\n",
    ],
)
def test_a_refused_pod_is_told_at_its_own_line(tmp_path: Path, overlay: str, golden: Golden) -> None:
    folder(tmp_path, f"spec:\n  containers:\n{overlay}")
    done = injector("render", "mine", cwd=tmp_path)
    assert done.code == 1
    golden(done.err)


@pytest.mark.parametrize(
    ("overlay", "place"),
    [
        ("    secret: x\n", "5:5"),
        ("  volumes: [{name: v, emptyDir: true}]\n", "5:33"),
        ("    tty: ${params.debug}\n", "5:10"),
        ("annotations: {a: b}\n", "5:1"),
    ],
)
def test_what_gets_nowhere_is_told(tmp_path: Path, overlay: str, place: str, golden: Golden) -> None:
    folder(tmp_path, f"spec:\n  containers:\n  - name: a\n    image: x:1\n{overlay}")
    (tmp_path / "mine" / "template.yaml").write_text("parameters:\n  debug: {type: boolean, default: false}\n")
    done = injector("render", "mine", cwd=tmp_path)
    lines = [line for line in done.err.splitlines() if f"mine/overlay.yaml.j2:{place}: " in line]
    golden(lines[0])


def test_lines_of_an_included_file_that_are_not_indented_are_told(tmp_path: Path, golden: Golden) -> None:
    overlay = 'metadata:\n  labels:\n    {% include "_l.j2" %}\nspec:\n  containers:\n  - {name: a, image: "x:1"}\n'
    folder(tmp_path, overlay)
    (tmp_path / "mine" / "_l.j2").write_text("team: web\n")
    done = injector("render", "mine", cwd=tmp_path)
    golden(done.err)


def test_the_cause_of_a_refusal_stands_before_it(tmp_path: Path, golden: Golden) -> None:
    folder(tmp_path, "spec:\n  containers:\n  - name: a\n    image: x:1\n    ports: [{port: 80}]\n")
    done = injector("render", "mine", cwd=tmp_path)
    first, second = (line for line in done.err.splitlines() if "error: " in line)
    golden(first)
    golden(second)


def test_a_field_that_kubernetes_drops_is_told(tmp_path: Path, golden: Golden) -> None:
    overlay = "x-anchors: {}\nspec:\n  containers:\n  - name: a\n    image: x:1\n    imagePullPolice: Always\n"
    folder(tmp_path, overlay)
    done = injector("render", "mine", cwd=tmp_path)
    assert done.code == 0
    [warning] = done.err.splitlines()
    golden(warning)
