"""The program as a whole: names it is called by, exit codes, quick help, no traceback, render, explain, serve, demo."""

import json
import os
import re
import signal
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from injector.authoring.schemas import SCHEMAS
from injector.cli import demo_programs
from injector.cli.demo_programs import LOCAL, ProgramError, free_ports, running
from injector.cli.docs import KINDS
from injector.cli.main import COMMANDS, main
from injector.cli.throwaway_certificates import make_certificates
from tests.command import ROOT
from tests.unit.cli.manifests import POD, WORKLOADS


@pytest.mark.parametrize("command", [(), *((c,) for c in COMMANDS)])
def test_every_command_has_help_that_ends_well(program, command):
    result = program(*command, "--help")
    assert result.code == 0
    assert result.out.startswith(f"Usage: python -m injector {' '.join(command)}".rstrip())


@pytest.mark.parametrize(
    "command",
    ["rendr", "Inject", "xyz"],
)
def test_a_misspelt_command_gets_the_nearest(program, command, golden):
    result = program(command, "x")
    assert (result.code, result.out) == (2, "")
    assert f"No such command {command}; " in result.err
    golden(result.err)


def test_files_may_be_given_as_kubectl_s_users_do(program, tmp_path, golden):
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(f"kind: {name}\n")
    files = (tmp_path / "a.yaml", "-f", tmp_path / "b.yaml")
    assert program("inject", *files).out == "kind: b\n---\nkind: a\n"
    assert program("uninject", "-f", tmp_path / "a.yaml").out == "kind: a\n"
    golden(program("explain", "-f", tmp_path / "a.yaml").err)
    for command in ("inject", "uninject", "explain"):
        nothing = program(command)
        assert nothing.code == 2 and "Missing argument" in nothing.err


def test_help_imports_no_command():
    code = "import sys, runpy; sys.argv = ['injector', '--help']\n"
    code += "try: runpy.run_module('injector', run_name='__main__')\nexcept SystemExit: pass\n"
    code += "print([m for m in ('yaml', 'jinja2', 'tornado', 'kubernetes', 'rich.console') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert result.stdout.splitlines()[-1] == "[]"


def test_help_of_a_command_imports_only_its_declaration():
    code = f"import sys, click; from injector.cli.main import cli\nfor c in {[*COMMANDS]}: cli.get_command(None, c)\n"
    loaded = subprocess.run(
        [sys.executable, "-c", code + "print(*sys.modules)"], capture_output=True, text=True, cwd=ROOT
    )
    heavy = "asyncio cryptography email http jinja2 jsonschema rich ssl tornado urllib.request yaml"
    names = loaded.stdout.split()
    assert "injector.cli.inject" in names, loaded.stderr
    assert not [name for name in (*heavy.split(), "injector.inject", "injector.templates.snapshot") if name in names]


def test_a_command_leaves_its_objects_to_the_end_of_the_process():
    code = (
        "import atexit, gc; from injector.cli.main import main\n"
        "def collections(): return sum(generation['collections'] for generation in gc.get_stats())\n"
        "before = collections()\n"
        "atexit.register(lambda: print(gc.get_freeze_count() > 0, collections() - before))\n"
        "main(['lint', 'templates/envoy'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    frozen, collections = done.stdout.splitlines()[-1].split()
    assert (frozen, int(collections) < 20) == ("True", True), done.stdout


def test_the_declaration_of_docs_names_every_schema():
    assert tuple(SCHEMAS) == KINDS


def test_as_a_kubectl_plugin_it_injects(monkeypatch, capsys, tmp_path, golden):
    file = tmp_path / "x.yaml"
    file.write_text("kind: X\n")
    monkeypatch.setattr(sys, "argv", ["/usr/bin/kubectl-inject", str(file)])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 0
    assert capsys.readouterr().out == "kind: X\n"
    monkeypatch.setattr(sys, "argv", ["/usr/bin/kubectl-inject", "render"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    golden(capsys.readouterr().err)


def test_an_error_of_the_injector_itself_is_a_sentence(monkeypatch, capsys, golden):
    monkeypatch.setattr(sys, "argv", ["injector"])
    monkeypatch.setattr("injector.cli.injection_sources.gallery_path", lambda: None)
    with pytest.raises(SystemExit) as end:
        main(["render", "envoy"])
    assert end.value.code == 1
    err = capsys.readouterr().err
    golden(err)
    assert "Traceback" not in err


def test_a_reader_that_stops_early_is_no_error():
    text = "kind: X\ndata: " + "x" * 2_000_000 + "\n"
    command = ["sh", "-c", f"{sys.executable} -m injector inject - | head -c 10"]
    result = subprocess.run(command, cwd=ROOT, input=text, capture_output=True, text=True, timeout=300)
    assert result.stdout == "kind: X\nda"
    assert "Traceback" not in result.stderr
    assert "BrokenPipe" not in result.stderr


@pytest.mark.parametrize(
    ("redirect", "code"),
    [("<&-", 0), (">&-", 1), (">/dev/full", 1)],
)
def test_closed_and_full_streams_are_told_of(program, tmp_path, redirect, code, golden):
    (tmp_path / "pod.yaml").write_text(
        "kind: Pod\nspec: {containers: [{name: a, image: a, ports: [{containerPort: 80}]}]}"
    )
    name = "-" if redirect == "<&-" else str(tmp_path / "pod.yaml")
    script = f'exec "$0" -m injector inject {name} {redirect}'
    done = subprocess.run(["sh", "-c", script, sys.executable], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (code, "")
    assert "bug" not in done.stderr
    golden(done.stderr)


def test_render_prints_overlay_and_files_and_errors_teach(run, templates_dir, golden):
    result = run("render", "logger", "--param", "level=debug")
    overlay, config = result.documents
    assert overlay["spec"]["containers"][0]["args"] == ["--level", "debug"]
    assert config == {"level": "debug", "workload": "Deployment/web"}
    golden(result.out)
    assert run("render", templates_dir / "logger", "--pod", "-", stdin=WORKLOADS["Job"]).documents[1] == {
        "level": "info",
        "workload": "Job/web",
    }
    golden(run("render", "logger", "--pod", "-", stdin="kind: X\n").err)
    (templates_dir / "logger" / "logger.yaml.j2").write_text("a: 1\nb: {{ nothing.at.all }}\n")
    broken = run("render", "logger")
    assert (broken.code, broken.out) == (1, "")
    assert "logger/logger.yaml.j2:2" in broken.err


def test_explain_shows_every_step_and_where_values_came_from(run, golden):
    pod = POD.replace("  name: alone\n", "  name: alone\n  annotations: {logger.sidecar.injector/level: debug}\n")
    args = ("--namespace-annotation", "sidecar.injector/templates=logger", "-")
    (found,) = json.loads(run("explain", "--output", "json", *args, stdin=pod).out)
    assert (found["reason"], found["effect"]) == ("injected", "inject")
    assert [s["step"] for s in found["trail"] if s["fits"]] == ["namespace-enabled"]
    golden(found["templatesFrom"])
    (level,) = found["templates"][0]["parameters"]
    assert (level["name"], level["value"]) == ("level", "debug")
    golden(level["from"])
    assert any(path.endswith("/logger") for path in found["adds"])
    text = run("explain", *args, stdin=pod).out
    golden(text)


def test_explain_finds_an_annotation_that_stands_on_the_workload(run, golden):
    text = WORKLOADS["Deployment"].replace(
        "  name: web\n", "  name: web\n  annotations: {sidecar.injector/inject: 'false'}\n", 1
    )
    result = run("explain", "--namespace-annotation", "sidecar.injector/templates=logger", "-", stdin=text)
    golden(result.out)


def test_explain_exits_1_for_what_fails(run):
    result = run("explain", "--namespace-annotation", "sidecar.injector/templates=none", "-", stdin=POD)
    assert result.code == 1
    assert "unknown-template" in result.out


def test_explain_without_a_cluster_says_so(program):
    env = {k: v for k, v in os.environ.items() if not k.startswith("KUBE")} | {"HOME": "/nonexistent"}
    result = program("explain", "deploy/web", env=env)
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("Error: no cluster: ")


def test_serve_takes_options_and_variables_and_ends_on_a_signal(tmp_path):
    made = make_certificates(["127.0.0.1"], days=1)
    (tmp_path / "tls.crt").write_bytes(made.certificate)
    (tmp_path / "tls.key").write_bytes(made.key)
    (tmp_path / "settings.yaml").write_text("server: {drainSeconds: 0, port: 1}\n")
    port, metrics_port = free_ports(2)
    env = {
        **os.environ,
        "INJECTOR_CERT": str(tmp_path / "tls.crt"),
        "INJECTOR_KEY": str(tmp_path / "tls.key"),
        "INJECTOR_METRICS_PORT": str(metrics_port),
        "INJECTOR_SETTINGS": str(tmp_path / "settings.yaml"),
    }
    command = [sys.executable, "-m", "injector", "serve", "--standalone", "--address", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(["env", *(f"{k}={v}" for k, v in env.items()), *command], cwd=ROOT)
    try:
        _until_ready(process, metrics_port)
        trust = ssl.create_default_context(cadata=made.authority.decode())
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trust)
        )
        assert "sidecar-injector" in opener.open(f"https://127.0.0.1:{port}/", timeout=5).read().decode()
        process.send_signal(signal.SIGTERM)
        assert process.wait(300) == 0
    finally:
        process.kill()
        process.wait()


def _until_ready(process, port):
    for _ in range(400):
        assert process.poll() is None
        try:
            if LOCAL.open(f"http://127.0.0.1:{port}/readyz", timeout=2).status == 200:
                return
        except (urllib.error.URLError, OSError):
            pass
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError("not ready")


def test_serve_without_a_certificate_says_what_is_missing(program):
    result = program("serve", "--standalone", "--cert", "/nowhere/tls.crt", "--port", "0", "--metrics-port", "0")
    assert result.code == 1
    assert "/nowhere/tls.crt" in result.err
    assert "Traceback" not in result.err


def test_a_program_that_ends_at_once_is_quoted(tmp_path, golden):
    program = running(["sh", "-c", "echo no good; exit 3"], tmp_path / "log", "http://127.0.0.1:1/")
    with pytest.raises(ProgramError) as caught, program:
        pass
    golden(caught.value)


def test_without_envoy_the_demo_says_how_to_get_it(monkeypatch, golden):
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    with pytest.raises(ProgramError) as caught:
        demo_programs.find_envoy()
    golden(caught.value)


def test_the_demo_runs_through(program, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # as in a shell that nobody has set up
    try:
        demo_programs.find_envoy()
    except ProgramError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    result = program("demo")
    assert result.code == 0, result.err
    assert "\x1b" not in result.out
    for text in (
        "injected with envoy: 2 init containers, 1 volume, 1 ConfigMap",
        "name: envoy-sidecar\n",
        "pod-security",
    ):
        assert text in result.out
    assert re.search(r"GET http://127\.0\.0\.1:\d+/hello .*: 200 OK\n", result.out)
    assert len(result.out.splitlines()) < 60  # two screens
    typed = re.findall(r"^  (.* demo --pod \| .*)$", result.out, re.MULTILINE)
    assert len(typed) == 2
    for command in typed:
        subprocess.run(["bash", "-o", "pipefail", "-c", command], check=True, capture_output=True)
    assert "x-request-id: " in result.out


def test_a_certificate_for_one_run(tmp_path):
    settings, log = tmp_path / "settings.yaml", tmp_path / "log"
    settings.write_text("server: {drainSeconds: 0}\n")
    port, metrics_port = free_ports(2)
    command = [sys.executable, "-m", "injector", "serve", "--standalone", "--self-signed", "--settings", str(settings)]
    command += ["--port", str(port), "--metrics-port", str(metrics_port)]
    with running(command, log, f"http://127.0.0.1:{metrics_port}/readyz"):
        authority = Path(re.search(r"(/\S+/ca\.crt)", log.read_text())[1])
        trust = ssl.create_default_context(cafile=authority)
        with urllib.request.urlopen(f"https://localhost:{port}/", context=trust) as answer:
            assert answer.status == 200
    assert not authority.parent.exists()


@pytest.mark.parametrize(
    "options", [[], ["--standalone", "--cert", "a", "--key", "b"], ["--standalone", "--address", "0.0.0.0"]]
)
def test_a_certificate_for_one_run_is_for_this_machine_alone(program, options):
    assert program("serve", "--self-signed", *options).code == 2


def test_without_a_certificate_both_ways_to_one_are_named(program):
    result = program("serve", "--standalone")
    assert result.code == 1
    assert "--self-signed" in result.err and "injector certs" in result.err
