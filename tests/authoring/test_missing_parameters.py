"""Required parameters that nobody gives: all are named at once, and `render` takes their examples."""

from __future__ import annotations

import json
from pathlib import Path

from tests.authoring.commands import injector
from tests.messages import Golden

MANIFEST = """
description: x
parameters:
  target: {type: string, required: true, pattern: '^[a-z.:0-9]+$', examples: ["logs.example:24224"], description: x}
  port: {type: integer, format: port, required: true, examples: [9000], description: x}
  level: {type: string, required: true, enum: [info, debug], description: x}
"""
OVERLAY = """
spec:
  containers:
  - {name: side, image: "side:1", args: [{{ params.target }}, "{{ params.port }}", {{ params.level }}]}
"""


def folder(tmp_path: Path, manifest: str = MANIFEST) -> Path:
    made = tmp_path / "mine"
    made.mkdir()
    (made / "template.yaml").write_text(manifest)
    (made / "overlay.yaml.j2").write_text(OVERLAY)
    return made


def test_render_takes_the_examples(tmp_path: Path, golden: Golden) -> None:
    done = injector("render", folder(tmp_path))
    assert done.code == 0
    assert all(word in done.out for word in ("logs.example:24224", "9000", "info"))
    golden(done.err)


CASES = """
cases:
- name: with nothing given
  pod: {metadata: {name: web}, spec: {containers: [{name: web, image: "web:1"}]}}
  expect: {decision: injected}
- name: one is given
  pod: {metadata: {name: web}, spec: {containers: [{name: web, image: "web:1"}]}}
  params: {target: "mine:1"}
  expect: {decision: injected}
- name: without them a pod is not injected
  pod: {metadata: {name: web}, spec: {containers: [{name: web, image: "web:1"}]}}
  expect: {decision: failed, reason: bad-parameter}
"""


def test_cases_take_the_examples_but_for_one_that_shows_what_happens_without(tmp_path: Path) -> None:
    mine = folder(tmp_path)
    (mine / "tests").mkdir()
    (mine / "tests" / "cases.yaml").write_text(CASES)
    done = injector("test", mine)
    assert done.code == 0, done.out + done.err
    without = MANIFEST.replace("examples: [9000], ", "")  # a port is easily made up
    (mine / "template.yaml").write_text(without)
    data = json.loads(injector("test", mine, "--output", "json").out)
    used = [set(case.get("examples", ())) for case in data["templates"][0]["cases"]]
    assert used == [{"target", "port", "level"}, {"port", "level"}, set()]
    assert data["failed"] == 0
    (mine / "template.yaml").write_text(without.replace('examples: ["logs.example:24224"], ', "").replace("+$", "+#$"))
    data = json.loads(injector("test", mine, "--output", "json").out)
    outcomes = [(case["outcome"], [p["rule"] for p in case["problems"]]) for case in data["templates"][0]["cases"]]
    assert outcomes == [("failed", ["decision"]), ("failed", ["case"]), ("passed", [])]


def test_a_secret_example_is_not_in_the_report(tmp_path: Path) -> None:
    mine = folder(tmp_path, MANIFEST.replace("level: {", "level: {secret: true, "))
    (mine / "tests").mkdir()
    (mine / "tests" / "cases.yaml").write_text(CASES)
    for form in ("text", "json"):
        done = injector("test", mine, "--output", form)
        assert done.code == 0 and "level" in done.out + done.err
        assert "info" not in done.out + done.err


def test_what_is_given_stays(tmp_path: Path, golden: Golden) -> None:
    done = injector("render", folder(tmp_path), "--param", "target=mine:1", "--param", "level=debug", "--diff")
    assert done.code == 0 and "mine:1" in done.out and "debug" in done.out and "9000" in done.out
    golden(done.err)


def test_without_examples_all_are_named(tmp_path: Path) -> None:
    bare = MANIFEST.replace('examples: ["logs.example:24224"], ', "").replace("examples: [9000], ", "")
    done = injector("render", folder(tmp_path, bare))
    assert (done.code, done.out) == (1, "")
    assert all(f"{name} (" in done.err for name in ("target", "port", "level"))
    assert all(f"mine.sidecar.injector/{name} of" in done.err for name in ("target", "port", "level"))
