"""What stands in a pod's names, annotations and keys does nothing to a terminal, nor to who reads an answer."""

import json

import pytest

from injector.authoring.diagnostic_formats import json_text
from injector.cli import list as listing
from injector.cli.checks import check_report
from injector.cli.fleet import Row
from injector.diagnostics import Diagnostic, Key, printable
from injector.pods.context import Workload
from injector.webhook.review import AdmissionResponse, answer_tail, status_body
from tests import command

#: A window's title, colours in two spellings, a line drawn over another, a text that is shown backwards.
EVIL = "a\x1b]0;x\x07\x1b[31m\x9b1m\rinjected\u202e\u2066\u2028\x85\x00\x7f\ud800z"
#: What JSON and YAML can carry to a command.
CARRIED = EVIL.replace("\ud800", "")


def pod(**metadata):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", **metadata},
        "spec": {"containers": [{"name": "app", "image": "a", "env": [{"name": CARRIED, "value": "1"}]}]},
    }


OBJECTS = {
    "name": pod(name=CARRIED),
    "line of its own": pod(name="web\nweb2: injected"),
    "namespace": pod(namespace=CARRIED),
    "kind": {**pod(), "kind": CARRIED},
    "parameter": pod(
        annotations={"nginx.sidecar.injector/" + CARRIED: "1", "nginx.sidecar.injector/upstream": CARRIED}
    ),
    "templates": pod(annotations={"sidecar.injector/templates": CARRIED}),
    "choice": pod(annotations={"sidecar.injector/inject": CARRIED}),
    "key": pod(annotations={"sidecar.injector/" + CARRIED: "1"}, labels={"sidecar.injectr/" + CARRIED: "1"}),
    "container": {**pod(), "spec": {"containers": [{"name": CARRIED, CARRIED: CARRIED}, {"name": CARRIED}]}},
    "field": {**pod(), "spec": {"containers": [{"name": "app", "ports": [{"containerPort": CARRIED}]}]}},
    "volume": {**pod(), "spec": {"containers": [{"name": "a"}], "volumes": [{"name": CARRIED}, {"name": CARRIED}]}},
}


def harmless(text):
    return all(line.isprintable() for line in text.split("\n"))


def test_each_character_that_does_something_is_seen():
    shown = printable(EVIL)
    assert shown.isprintable()
    assert len(shown) == len(EVIL)
    assert printable("web-1, Ä 😀 日本 ") == "web-1, Ä 😀 日本 "


@pytest.mark.parametrize("what", OBJECTS)
def test_commands_write_no_such_character(what, tmp_path):
    file = tmp_path / "pod.json"
    file.write_text(json.dumps(OBJECTS[what]))
    for label in ("enabled", "required"):
        options = ("--namespace-label", f"injection={label}", "--templates", "nginx")
        done = command.run("inject", *options, file)
        assert harmless(done.err), done.err
        assert "web2: injected" not in done.err.split("\n")
        done = command.run("explain", *options, file)
        assert harmless(done.out), done.out
        assert harmless(done.err), done.err
        report = command.run("inject", *options, "--output=json", file)
        assert harmless(report.err)
        report = command.run("explain", *options, "--output=json", file)
        assert harmless(report.out)


def test_json_stays_exact(tmp_path):
    file = tmp_path / "pod.json"
    file.write_text(json.dumps(OBJECTS["name"]))
    done = command.run("inject", "--templates", "nginx", "--output=json", file)
    assert CARRIED in json.loads(done.err)["objects"][0]["object"]
    text = json_text({EVIL: [EVIL, "Ä 😀\U000e0001"]})
    assert harmless(text)
    assert json.loads(text) == {EVIL: [EVIL, "Ä 😀\U000e0001"]}


def test_the_list_and_the_check_write_none(capsys):
    listing._show([Row(EVIL, EVIL, "outdated", Workload("Job", EVIL), {EVIL: "1"}, EVIL)], wide=True)
    check_report.show_results([("section", [Diagnostic("a", "error", EVIL, EVIL, (Key(EVIL),))])], "text")
    assert harmless(capsys.readouterr().out)


def test_answers_over_http_have_none():
    verdict = AdmissionResponse(allowed=False, message=f"x\n{CARRIED}", warnings=(CARRIED, f"a{CARRIED}"))
    answer = json.loads(b'{"response":{"uid":"1"' + answer_tail(verdict))["response"]
    assert answer["status"]["message"].isprintable()
    assert all(warning.isprintable() for warning in answer["warnings"])
    assert json.loads(status_body(400, f"x\n{CARRIED}"))["message"].isprintable()
