"""Templates and settings are tried when they are applied: what is wrong by itself is refused."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from injector import __version__
from tests.unit.webhook.conftest import TEMPLATE, Served
from tests.unit.webhook.support import Loop, ask_once, review, to_bytes

PREFIX = "sidecar.injector"
CONFIG_MAPS = {"group": "", "version": "v1", "resource": "configmaps"}
BOMB = "{% for a in range(99999) %}" * 3 + "{% endfor %}" * 3


def config_map(name: str, data: dict[str, str], labels: dict[str, str], **annotations: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "injector", "labels": labels, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def template(name: str = "mesh", annotations: dict[str, str] | None = None, **files: str) -> dict[str, Any]:
    named = {file.replace("_", "."): text for file, text in files.items()}
    return config_map(name, {**TEMPLATE, **named}, {f"{PREFIX}/template": "true"}, **(annotations or {}))


def overlay(text: str, name: str = "mesh", **more: Any) -> dict[str, Any]:
    made = template(name, **more)
    made["data"]["overlay.yaml.j2"] = text
    return made


def settings(text: str) -> dict[str, Any]:
    return config_map("sidecar-injector", {"settings.yaml": text}, {"app.kubernetes.io/name": "sidecar-injector"})


def ask(app: Served, obj: Any, old: Any = None, operation: str = "CREATE", seconds: int = 30) -> dict[str, Any]:
    body = review(obj, resource=CONFIG_MAPS, operation=operation, namespace="injector")
    if old is not None:
        body["request"]["oldObject"] = old
    answer = ask_once(app.port, to_bytes(body), path=f"/trial?timeout={seconds}s")
    assert answer.code == 200
    response: dict[str, Any] = answer.json["response"]
    assert "patch" not in response
    return response


@pytest.fixture
def app(loop: Loop, tmp_path: Path) -> Any:
    served = Served(loop, tmp_path, "parameters: {proxy: {image: 'registry.example/proxy:2'}}\n").ready()
    yield served
    served.stop()


def outcome(app: Served) -> dict[str, Any]:
    return app.lines("source-review")[-1]


def test_a_right_template_is_accepted_without_a_word(app: Served) -> None:
    assert ask(app, template()).keys() == {"uid", "allowed"}
    assert outcome(app)["outcome"] == "accepted" and outcome(app)["config_map"] == "mesh"


@pytest.mark.parametrize(
    ("text", "place", "code"),
    [
        ("spec: {% if %}\n", "overlay.yaml.j2:1", "syntax"),
        ("spec:\n  containers: [{name: a, image: '{{ params.imgae }}'}]\n", "overlay.yaml.j2:2", "name"),
        ("spec:\n  containers:\n - a", "overlay.yaml.j2:3", "yaml"),
        (BOMB, "", "limit"),
    ],
)
def test_a_wrong_template_is_refused_with_its_place(app: Served, text: str, place: str, code: str) -> None:
    response = ask(app, overlay(text))
    assert not response["allowed"] and response["status"]["code"] == 422
    message = response["status"]["message"]
    assert f"configmap/mesh/{place}" in message and f"[{code}]" in message and "injector lint" in message
    assert outcome(app)["outcome"] == "refused" and outcome(app)["codes"] == [code]


def test_an_annotation_or_another_version_of_the_chart_lets_it_in(app: Served) -> None:
    wrong = overlay("spec: {% if %}\n", annotations={f"{PREFIX}/unchecked": "true"})
    assert ask(app, wrong)["allowed"] and outcome(app)["codes"] == ["syntax"]
    for version, allowed in ((__version__, False), ("99.0.0", True)):
        wrong = overlay("spec: {% if %}\n")
        wrong["metadata"]["labels"]["helm.sh/chart"] = f"sidecar-injector-{version}"
        response = ask(app, wrong)
        assert response["allowed"] is allowed
        assert not allowed or len(response["warnings"]) == 2


def test_what_is_not_changed_is_not_tried(app: Served) -> None:
    wrong = overlay("spec: {% if %}\n")
    labelled = overlay("spec: {% if %}\n")
    labelled["metadata"]["labels"]["team"] = "a"
    assert ask(app, labelled, wrong, "UPDATE")["allowed"] and outcome(app)["codes"] == []
    unlabelled = overlay("spec: {% if %}\n")
    unlabelled["metadata"]["labels"] = {}
    assert not ask(app, wrong, unlabelled, "UPDATE")["allowed"]


def test_a_parameter_is_renamed_in_either_order(app: Served) -> None:
    renamed = template("proxy", **{"template.yaml": TEMPLATE["template.yaml"].replace("image:", "picture:", 1)})
    renamed["data"]["overlay.yaml.j2"] = TEMPLATE["overlay.yaml.j2"].replace("params.image", "params.picture")
    assert ask(app, renamed)["allowed"] and outcome(app)["codes"] == ["unknown-parameter"]
    assert ask(app, settings("{templates: [proxy], parameters: {proxy: {picture: 'registry.example/a:1'}}}"))["allowed"]
    assert outcome(app)["codes"] == ["unknown-parameter"]


def test_settings_may_come_before_their_template(app: Served) -> None:
    assert ask(app, settings("templates: [mesh]\n"))["allowed"]
    assert outcome(app)["codes"] == ["unknown-template"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "settings"),
        ("# nothing\n", "settings"),
        ("a: [", "settings"),
        ("templatez: []", "unknown-key"),
        ("templates: 3", "wrong-type"),
        ("neverSelector: {matchLabel: {a: b}}", "unknown-key"),
    ],
)
def test_wrong_settings_are_refused(app: Served, text: str, code: str) -> None:
    assert not ask(app, settings(text))["allowed"]
    assert outcome(app)["codes"][0] == code


def test_a_template_in_use_is_deleted_with_a_warning(app: Served) -> None:
    """Also where its label is taken off, as by that it is no template any more."""
    in_cluster = {"mesh": dict(TEMPLATE)}
    app.loop.run(app.app.snapshots.update(in_cluster=in_cluster))
    app.settings.write_text(app.settings.read_text().replace("[proxy]", "[mesh]"))
    app.until(lambda: app.app.snapshots.current.settings.templates == ("mesh",))
    assert ask(app, None, template(), "DELETE")["allowed"] and outcome(app)["codes"] == ["unknown-template"]
    bare = template()
    bare["metadata"]["labels"] = {}
    assert ask(app, bare, template(), "UPDATE")["allowed"] and outcome(app)["codes"] == ["unknown-template"]
    assert ask(app, None, template("proxy"), "DELETE")["allowed"] and outcome(app)["codes"] == []


def test_more_trials_than_there_is_time_for_are_not_tried(app: Served) -> None:
    answers: list[dict[str, Any]] = []
    threads = [threading.Thread(target=lambda: answers.append(ask(app, overlay(BOMB), seconds=3))) for _ in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    refused = [answer for answer in answers if not answer["allowed"]]
    assert len(answers) == 30 and len(refused) < 30
    assert all(("not-tried" in answer["warnings"][0]) for answer in answers if answer["allowed"])
    lines = app.lines("source-review")
    assert {line["outcome"] for line in lines} <= {"refused", "not-tried"}
    app.until(lambda: ask(app, template())["allowed"] and outcome(app)["outcome"] == "accepted")


def test_what_kubernetes_drops_is_told_and_an_overlay_of_which_nothing_is_left_is_refused(app: Served) -> None:
    """A warning comes at each change of the template, and is none about another."""
    lost = ask(app, overlay("spec: {container: [{name: x, image: y}]}"))
    assert not lost["allowed"] and outcome(app)["codes"] == ["schema"]
    typo = "spec: {containers: [{name: x, image: 'y:1', comand: [z]}]}"
    for text in (typo, typo.replace("y:1", "y:2")):
        answer = ask(app, overlay(text))
        assert answer["allowed"] and len(answer["warnings"]) == 1
        assert outcome(app)["codes"] == ["schema"]
    assert ask(app, overlay("spec: {containers: [{name: x, image: 'y:1', tty: maybe}]}"))["allowed"] is False
    assert "warnings" not in ask(app, overlay("spec: {containers: [{name: x, image: 'y:1'}]}"))
