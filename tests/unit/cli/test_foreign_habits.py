"""Commands, options and files of other programs: each message says what to type here."""

from __future__ import annotations

from pathlib import Path

import pytest

from injector.advice.commands import _COMMANDS, command_help
from injector.cli.main import COMMANDS
from tests import command
from tests.messages import Golden
from tests.unit.cli.test_wrong_values import WEB, said


@pytest.mark.parametrize(
    "name",
    [
        "template",
        "kube-inject",
        "injekt",
        "uninjct",
        "validate",
        "version",
        "build",
        "apply",
        "web.yaml",
        "frobnicate",
    ],
)
def test_a_command_of_another_program(name: str, golden: Golden) -> None:
    golden(command_help(name, list(COMMANDS)))


def test_no_command_of_ours_is_called_one_of_others() -> None:
    assert not _COMMANDS.keys() & COMMANDS.keys()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("inject", "-o", "yaml"), "No such option '-o'. The output goes to standard output, as YAML or JSON like the"),
        (("lint", "-o", "json"), "No such option '-o'. Write --output FORM: text, json, sarif, github."),
        (("inject", "-k", "k"), "No such option '-k'; build it first: kustomize build DIR | injector inject -"),
        (("inject", "-R"), "No such option '-R'; remove it: a folder is always searched recursively"),
        (("inject", "--dry-run=client"), "No such option '--dry-run'. Did you mean '--diff'?"),
        (("uninject", "--dry-run"), "No such option '--dry-run'. Did you mean '--diff'?"),
        (("inject", "--values", "v.yaml"), "No such option '--values'. Did you mean '--settings'?"),
        (("inject", "-i"), "No such option '-i'. Did you mean '--in-place'?"),
        (("inject", "-p", "a.b=c"), "No such option '-p'. Did you mean '--param'?"),
        (("test", "--set", "a=b"), "No such option '--set'; set parameters in the case, `params: {NAME: VALUE}`"),
        (("--settings", "x", "inject"), "Options come after a command: injector inject --settings ..."),
        (("--verson",), "Did you mean '--version'?"),
    ],
)
def test_an_option_of_another_program(tmp_path: Path, args: tuple[str, ...], words: str) -> None:
    done = said(tmp_path, *args, "web.yaml")
    assert (done.code, words in done.err) == (2, True), done.err


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("inject", "--param", "nginx.gzip", "web.yaml"), '"nginx.gzip" is not TEMPLATE.PARAMETER=VALUE'),
        (("inject", "--param", "gzip-level=9", "web.yaml"), '"gzip-level=9" is not TEMPLATE.PARAMETER=VALUE'),
        (("inject", "--param", "frob.x=9", "web.yaml"), 'there is no template "frob"'),
    ],
)
def test_a_parameter_that_is_not_written_so(tmp_path: Path, args: tuple[str, ...], words: str) -> None:
    done = said(tmp_path, *args)
    assert (done.code, words in done.err) == (2, True), done.err


def test_the_key_of_an_annotation_is_a_parameter_too(tmp_path: Path) -> None:
    done = said(tmp_path, "inject", "--param", "envoy.sidecar.injector/cpu-limit=300m", "web.yaml")
    assert (done.code, "cpu: 300m" in done.out) == (0, True), done.err


def test_all_templates_of_several_options(tmp_path: Path, golden: Golden) -> None:
    done = said(tmp_path, "inject", "--templates", "nginx", "--templates", "fluent-bit,nginx", "web.yaml")
    golden(done.err)


FILES = {
    "k/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [web.yaml]\n",
    "old/kustomization.yml": "resources: [web.yaml]\n",
    "chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    "chart/values.yaml": "replicaCount: 1\n",
    "plain.yaml": "image: {repository: a, tag: b}\n",
    "compose.yaml": "services: {web: {image: a}}\n",
    "openapi.yaml": "openapi: 3.1.0\ninfo: {title: web, version: 1.0.0}\npaths: {/a: {get: {}}}\n",
    "pod.yaml": "metadata: {name: a}\nspec: {containers: [{name: a, image: a}]}\n",
    "kid.yaml": "apiVersion: v1\nKind: Pod\nspec: {containers: [{name: a, image: a}]}\n",
    "list.yaml": "# a list\n- a\n",
    "empty.yaml": "",
    "blank.yaml": "# nothing\n",
}


@pytest.mark.parametrize(
    "file",
    [
        "k/kustomization.yaml",
        "old/kustomization.yml",
        "chart/Chart.yaml",
        "chart/values.yaml",
        "plain.yaml",
        "compose.yaml",
        "openapi.yaml",
        "pod.yaml",
        "kid.yaml",
        "list.yaml",
        "empty.yaml",
    ],
)
@pytest.mark.parametrize("name", ["inject", "uninject", "explain"])
def test_a_file_that_is_no_manifest(tmp_path: Path, name: str, file: str, golden: Golden) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(FILES[file])
    done = command.run(name, file, cwd=tmp_path)
    assert (done.code, done.out) == (1, "")
    golden(done.err)


def test_what_is_no_manifest_in_a_folder_is_told_beside_others(tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "k").mkdir()
    for name, text in (("kustomization.yaml", FILES["k/kustomization.yaml"]), ("web.yaml", WEB)):
        (tmp_path / "k" / name).write_text(text)
    done = command.run("inject", "k", cwd=tmp_path)
    assert done.code == 0
    golden(done.err)
    (tmp_path / "k" / "web.yaml").unlink()
    assert command.run("inject", "k", cwd=tmp_path).code == 1


def test_an_empty_input_beside_others_and_from_a_pipe_is_told(tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "empty.yaml").write_text("")
    (tmp_path / "blank.yaml").write_text(FILES["blank.yaml"])
    beside = said(tmp_path, "inject", "empty.yaml", "web.yaml")
    assert beside.code == 0
    golden(beside.err)
    piped = command.run("inject", "-", cwd=tmp_path)
    assert piped.code == 0
    golden(piped.err)
    blank = command.run("inject", "blank.yaml", cwd=tmp_path)
    assert blank.code == 0
    golden(blank.err)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("explain", "envoy.retries"), "for the parameters of a template, run injector docs envoy"),
        (("explain", "deployment", "web"), "for an object in a cluster write KIND/NAME: deploy/web"),
        (("uninject", "deploy/web"), "run kubectl get deploy/web -o yaml | injector uninject -"),
        (("inject", "deployment", "web"), "run kubectl get deployment web -o yaml | injector inject -"),
        (("inject", "envoy.cpu-limit=1"), "a parameter is written --param envoy.cpu-limit=1"),
        (("inject", "nginx", "web.yaml"), "to use a template, add --templates nginx"),
        (("inject", "wbe.yaml"), "did you mean web.yaml?"),
    ],
)
def test_an_input_that_is_not_there(tmp_path: Path, args: tuple[str, ...], words: str) -> None:
    done = said(tmp_path, *args)
    assert (done.code, words in done.err) == (1, True), done.err


@pytest.mark.parametrize(
    "args",
    [
        ("test", "--coverage", "80"),
        ("test", "--coverage=80%"),
        ("inject", "--check", "yes", "web.yaml"),
        ("list", "--failed", "false"),
        ("lint", "--strict=true"),
        ("test", "--fail-under", "80%"),
        ("check", "--wait=5m"),
        ("certs", "--days", "forever"),
        ("serve", "--port", "8443/tcp"),
        ("serve", "--port", "84430"),
    ],
)
def test_a_value_that_an_option_does_not_take(tmp_path: Path, args: tuple[str, ...], golden: Golden) -> None:
    done = said(tmp_path, *args)
    golden(done.err)
