"""What `explain` answers to those who have mistyped something, or forgotten the namespace's label."""

import json
import os
import pty
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

from injector.cli.main import cli
from tests.unit.cli.manifests import POD, WORKLOADS

POD_SAYS = POD.replace("metadata:\n", "metadata:\n  annotations: {{{}}}\n", 1)


def says(annotations):
    assert POD_SAYS != POD
    return POD_SAYS.replace("{{{}}}", f"{{{annotations}}}")


def test_a_label_that_is_assumed_is_said(run, golden):
    granted = "injection=enabled is assumed"
    assert granted in run("explain", "-", stdin=POD).out
    assert granted not in run("explain", "--namespace-label", "injection=required", "-", stdin=POD).out
    space = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: default, labels: {injection: disabled}}\n"
    assert granted not in run("explain", "-", stdin=POD + space).out
    assert granted in run("explain", "-", stdin=POD + space.replace("default", "shop")).out
    other = run("explain", "-", stdin=POD + space.replace("injection: disabled", "injektion: enabled")).out
    golden(other)


def test_a_label_of_an_unknown_value_is_pointed_at(run, golden):
    out = run("explain", "--namespace-label", "injection=enable", "-", stdin=POD).out
    golden(out)


def test_misspelt_annotations_are_told_once_whether_the_pod_is_injected_or_not(run, golden):
    for label in ("injection=enabled", "injection=none"):
        out = run("explain", "--namespace-label", label, "-", stdin=says("sidecar.injector/injct: 'no'")).out
        assert out.count("[unknown-annotation key=sidecar.injector/injct nearest=sidecar.injector/inject]") == 1
    for key in ("level", "logger.level"):
        lost = run("inject", "--templates", "logger", "-", stdin=says(f"sidecar.injector/{key}: debug")).err
        golden(lost)
    for known in ("sidecar.injector/status: failed", "sidecar.injector/proxyImage: x", "injct: x"):
        golden(run("explain", "-", stdin=says(known)).out)


def test_what_is_neither_a_file_nor_a_name_in_a_cluster(run, golden):
    for words in (["web"], ["deploy", "web"]):
        result = run("explain", *words)
        golden(result.err)


def test_settings_that_name_no_template_are_noted(run, tmp_path, golden):
    file = tmp_path / "settings.yaml"
    file.write_text("parameters: {enoy: {cpu-request: 1}}\n")
    out = run("explain", "--settings", str(file), "-", stdin=WORKLOADS["Deployment"]).out
    golden(out)


def test_a_workload_s_own_annotation_is_told_by_inject_as_well(run, golden):
    text = WORKLOADS["Deployment"].replace(
        "  name: web\n", "  name: web\n  labels: {sidecar.injector/inject: 'no'}\n", 1
    )
    err = run("inject", "--templates", "logger", "-", stdin=text).err
    golden(err)


def test_what_people_came_for_stands_before_the_long_lists(run):
    out = run("explain", "-", stdin=POD).out
    assert out.index("Result: injected") < out.index("Notes:")
    assert out.index("Notes:") < out.index("Template envoy")
    failed = run("explain", "--namespace-annotation", "sidecar.injector/templates=none", "-", stdin=POD).out
    assert failed.count("unknown-template") == 2  # the result, and the page about it


def test_render_says_that_nobody_mounts_a_file_and_takes_a_folder(run, templates_dir, tmp_path, monkeypatch, golden):
    overlay = templates_dir / "logger" / "overlay.yaml.j2"
    overlay.write_text(overlay.read_text().replace('"{{ files.configmap }}"', "logger"))
    golden(run("render", "logger").err)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "template.yml").write_text("description: x\n")
    golden(run("render", str(tmp_path / "mine")).err)
    (tmp_path / "mine" / "template.yaml").write_text("description: x\n")
    (tmp_path / "mine" / "overlay.yaml.j2").write_text("spec: {}\n")
    monkeypatch.chdir(tmp_path)
    golden(run("render", "mine").out)


@pytest.mark.parametrize("no_colour", ["", "1"])
def test_no_color_is_heeded_at_a_terminal(no_colour, tmp_path):
    (tmp_path / "pod.yaml").write_text(POD)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "injector", "inject", str(tmp_path / "pod.yaml")]
    env = {**os.environ, "NO_COLOR": no_colour}
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=theirs, env=env, check=True, timeout=300)
    os.close(theirs)
    text = os.read(ours, 10_000)
    os.close(ours)
    assert (b"\x1b" in text) is not bool(no_colour)


@pytest.mark.parametrize(("port", "code"), [
    ("x", 1),
    ("80", 0),
])  # fmt: skip
def test_a_failed_pod_shows_what_is_recorded_and_whether_it_would_fail_now(run, port, code, golden):
    wrong = "envoy.sidecar.injector/app-port"
    reason = f'bad-parameter: pod annotation {wrong} = "x": must be a port from 1 to 65535'
    record = f"sidecar.injector/status: failed, sidecar.injector/reason: '{reason}', {wrong}: '{port}'"
    pod = says(record).replace("metadata:\n", "metadata:\n  creationTimestamp: '2026-11-20T10:00:00Z'\n", 1)
    result = run("explain", "-", stdin=pod)
    first = f"Recorded when it was created (2026-11-20T10:00:00Z): failed: {reason}\nResult now: "
    assert result.code == code and first in result.out
    golden(result.out)
    [data] = json.loads(run("explain", "--output", "json", "-", stdin=pod).out)
    assert data["recorded"] == {"reason": reason, "created": "2026-11-20T10:00:00Z"}
    assert "recorded" not in json.loads(run("explain", "--output", "json", "-", stdin=POD).out)[0]


def test_a_refused_pod_is_said_to_be_refused(run, golden):
    pod = says("envoy.sidecar.injector/log-level: x")
    out = run("explain", "--namespace-label", "injection=required", "-", stdin=pod).out
    golden(out)


def test_a_user_outside_of_the_range_that_openshift_gives_a_namespace(run, codes):
    def notes(users, *options):
        metadata = {"name": "default", "annotations": {"openshift.io/sa.scc.uid-range": users}}
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        text = f"{POD}---\n{json.dumps(space)}\n"
        out = run("explain", "--output", "json", "--templates", "nginx", *options, "-", stdin=text).out
        return [note for note in json.loads(out)[0]["notes"] if "run-as-user" in note]

    for users in ("1000680000/10000", "1000680000-1000689999"):
        [note] = notes(users)
        assert "first=1000680000 keys=['nginx.sidecar.injector/run-as-user']" in note
        assert not notes(users, "--param", "nginx.run-as-user=1000680001")
    assert not notes("1/200000")
    assert not notes("none")


LABELS = "injection: enabled, pod-security.kubernetes.io/enforce: baseline"
BASELINE = f"---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: default, labels: {{{LABELS}}}}}\n"


def notes(run, manifest):
    done = run("explain", "--output", "json", "-", stdin=manifest)
    [explained] = json.loads(done.out)
    return done.code, explained["reason"], explained["notes"]


def test_what_pod_security_refuses_is_told_the_values_that_it_allows(run, golden):
    redirect = says("sidecar.injector/templates: envoy, envoy.sidecar.injector/intercept: redirect") + BASELINE
    code, reason, told = notes(run, redirect)
    assert (code, reason) == (1, "pod-security")
    written = [found[1] for note in told if (found := re.search(r"envoy\.sidecar\.injector/(intercept: \w+)", note))]
    assert written
    golden(told)
    for choice in written:
        code, reason, told = notes(run, redirect.replace("intercept: redirect", choice))
        assert (code, reason) == (0, "injected")
        assert not [note for note in told if "envoy.sidecar.injector/intercept" in note]


def test_the_templates_of_a_folder_are_among_what_was_used(run):
    for command in ("explain", "inject"):
        done = run(command, "--templates", "logger", "-", stdin=POD)
        assert "the gallery and --templates-dir" in done.out + done.err


def test_an_unknown_template_may_be_in_a_folder(run, tmp_path):
    (tmp_path / "pod.yaml").write_text(POD)
    alone = CliRunner().invoke(cli, ["explain", "--templates", "nope", str(tmp_path / "pod.yaml")])
    assert "--templates-dir DIR" in alone.stdout
    assert "--templates-dir DIR" not in run("explain", "--templates", "nope", "-", stdin=POD).out


def test_a_parameter_without_a_default_is_listed(run):
    lines = [line.split() for line in run("explain", "-v", "-", stdin=POD).out.splitlines()]
    assert ["cpu-limit", "null", "default"] in lines
    assert "cpu-limit" not in run("explain", "-", stdin=POD).out


def test_what_a_pod_s_no_comes_to(run):
    pod = says('sidecar.injector/inject: "no"')
    without = "the pod starts without its sidecar"
    assert without in run("explain", "-", stdin=pod).out
    assert without not in run("explain", "--namespace-label", "", "-", stdin=pod).out
    required = run("explain", "--namespace-label", "injection=required", "-", stdin=pod).out
    assert "overruled: pod-opted-out" in required and without not in required


@pytest.mark.parametrize(
    ("kind", "policy"), [("Job", "Never"), ("Pod", "OnFailure"), ("Pod", None), ("Deployment", None)]
)
def test_the_own_container_of_the_sidecar_s_name_in_a_pod_that_completes(run, kind, policy):
    indent = "  " if kind == "Pod" else "      "
    own = f"{indent}- {{name: envoy-sidecar, image: 'envoy:1'}}\n"
    done = run("inject", "-", stdin=WORKLOADS[kind] + own + (f"{indent}restartPolicy: {policy}\n" if policy else ""))
    assert ("keeps the pod from completing" in done.err) is bool(policy)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ("", "template-failed"),
        ("teamTemplates: {namespaces: {matchLabels: {team: shop}}}\n", "template-failed"),
        ("templates: [logger]\n", "template-not-allowed"),
    ],
)
def test_a_template_of_a_team_is_the_cluster_s_to_know(run, tmp_path, settings, reason):
    file = tmp_path / "settings.yaml"
    file.write_text(settings)
    options = ("--settings", str(file)) if settings else ()
    pod = says("sidecar.injector/templates: ./probe")
    [data] = json.loads(run("explain", *options, "--output", "json", "-", stdin=pod).out)
    assert data["reason"] == reason
    assert ("--from-cluster" in data["message"]) == (reason == "template-failed")
    assert run("inject", *options, "-", stdin=pod).code == 1


def test_a_pod_with_a_template_of_a_team_stays_as_it_was_injected(run):
    once = run("inject", "--templates", "logger", "-", stdin=says("sidecar.injector/templates: ./probe")).out
    pod = once.replace('"templates":{"logger"', '"templates":{"./probe"')
    assert pod != once
    result = run("inject", "-", stdin=pod)
    assert (result.code, result.out) == (0, pod)
    assert "--from-cluster" in result.err
