"""`injector lint` as a person or a program calls it: what is printed where, and how it exits."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from injector.cli.main import main
from tests.authoring.lint.support import BASE, write
from tests.messages import Golden

ROOT = Path(__file__).resolve().parents[3]
#: A number as a variable's value, and no startupProbe: an error and a warning.
BROKEN = """\
spec:
  containers:
  - name: tool
    image: {{ params.image }}
    args: ["--port={{ params.port }}"]
    env:
    - {name: PORT, value: {{ params.port }}}
    securityContext:
      {runAsUser: 10001, runAsNonRoot: true, allowPrivilegeEscalation: false, readOnlyRootFilesystem: true,
       capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}}
    resources: {requests: {cpu: 10m, memory: 16Mi}}
{% if not native and completes %}{{ warn("this pod will not complete") }}{% endif %}
"""
WARNED = BROKEN.replace("value: {{ params.port }}", 'value: "{{ params.port }}"')


@dataclass
class Done:
    """What the command left behind."""

    returncode: int
    stdout: str
    stderr: str


def lint(*args: object, cwd: Path = ROOT) -> Done:
    """The command, called as the program is."""
    out, err = io.StringIO(), io.StringIO()
    with chdir(cwd), redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as end:
        main(["lint", *map(str, args)])
    return Done(int(end.value.code or 0), out.getvalue(), err.getvalue())


def lint_anew(*args: object, code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, in which `code` ran before."""
    program = f"{code}\nfrom injector.cli.main import main\nmain(['lint', *{[str(a) for a in args]!r}])"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr + done.stdout
    return done


def test_a_clean_template_is_quiet(golden: Golden) -> None:
    done = lint(BASE)
    assert (done.returncode, done.stdout) == (0, "")
    golden(done.stderr)


def test_a_problem_is_one_line_the_place_and_what_to_do(tmp_path: Path, golden: Golden) -> None:
    write(tmp_path, {"overlay.yaml.j2": BROKEN})
    done = lint("tool", cwd=tmp_path)
    assert done.returncode == 1
    golden(done.stdout)
    golden(done.stderr)


def test_errors_are_told_first_and_the_readme_last(tmp_path: Path) -> None:
    for name in ("a", "b"):
        readme = "tool.sidecar.injector/prt\n"
        write(tmp_path / name, {"overlay.yaml.j2": BROKEN, "README.md": readme})
    done = lint("a", "b", cwd=tmp_path)
    told = re.findall(r"^(.)/.*\[([a-z-]+)\]$", done.stdout, re.MULTILINE)
    kinds = ("schema", "startup-probe", "readme-parameters")
    assert told == [(name, kind) for kind in kinds for name in ("a", "b")]


def test_templates_are_found_within_folders_too(tmp_path: Path, golden: Golden) -> None:
    write(tmp_path / "policies" / "labels", {})
    write(tmp_path / "policies" / ".hidden", {})
    (tmp_path / "policies" / "notes").mkdir()
    assert lint(tmp_path).stderr == lint(tmp_path / "policies").stderr == "1 template, no problems\n"
    write(tmp_path / "a" / "b" / "c", {})
    golden(lint(tmp_path / "a").stderr)
    golden(lint(tmp_path).stderr)


def test_a_version_that_is_still_to_come_is_looked_at_as_the_newest(tmp_path: Path, golden: Golden) -> None:
    done = lint(write(tmp_path, {"overlay.yaml.j2": BROKEN}), "--only", "schema", "--kubernetes-version", "1.99")
    assert done.returncode == 1
    golden(done.stderr)


def test_warnings_count_when_it_is_strict(tmp_path: Path) -> None:
    write(tmp_path, {"overlay.yaml.j2": WARNED})
    assert lint(tmp_path / "tool").returncode == 0
    assert lint(tmp_path / "tool", "--strict").returncode == 1


def test_the_folder_where_one_is_counts_when_none_is_given(tmp_path: Path, golden: Golden) -> None:
    write(tmp_path, {})
    golden(lint(cwd=tmp_path).stderr)
    golden(lint(cwd=tmp_path / "tool").stderr)


def test_a_file_stands_for_its_template_and_each_template_counts_once(tmp_path: Path, golden: Golden) -> None:
    tool = write(tmp_path, {})
    golden(lint(tool / "overlay.yaml.j2", tool, tmp_path).stderr)


def test_order_is_that_of_the_paths_however_long_each_takes(tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        write(tmp_path / name, {"overlay.yaml.j2": BROKEN})
    done = lint("b", "a", "c", "--only", "schema", cwd=tmp_path)
    assert re.findall(r"^(.)/tool/", done.stdout, re.MULTILINE) == ["b", "a", "c"]


def test_rules_are_chosen(tmp_path: Path, golden: Golden) -> None:
    tool = write(tmp_path, {"overlay.yaml.j2": BROKEN})
    assert lint(tool, "--disable", "schema").stderr.startswith("1 template, 1 warning\n")
    assert lint(tool, "--only", "schema").stderr.startswith("1 template, 1 error\n")
    golden(lint(tool, "--disable", "schema,startup-probe").stderr)


def test_colours_are_for_terminals(tmp_path: Path) -> None:
    tool = write(tmp_path, {"overlay.yaml.j2": BROKEN})
    terminal = "import sys; sys.stdout.isatty = lambda: True"
    assert "\x1b[31m" in lint_anew(tool, code=terminal).stdout
    assert "\x1b" not in lint_anew(tool, code=terminal, NO_COLOR="1").stdout
    assert "\x1b" not in lint(tool).stdout


# ------------------------------------------------------------------------------------------------ wrong usage


@pytest.mark.parametrize(
    "args",
    [
        ["--explain", "shcema"],
        ["--disable", "startup_prob"],
        ["--only", "schema", "--disable", "schema"],
        ["--only", "xyz"],
        ["--kubernetes-version", "1.4"],
        ["--kubernetes-version", "new"],
        ["--output", "xml"],
        ["no-such-folder"],
    ],
)
def test_wrong_usage(args: list[str], golden: Golden) -> None:
    done = lint(*args)
    assert (done.returncode, done.stdout) == (2, "")
    golden(done.stderr)


def test_rules_are_listed_and_explained() -> None:
    listed = lint("--rules")
    assert listed.returncode == 0
    names = [line.split()[0] for line in listed.stdout.splitlines()]
    assert names == sorted(names) and {"schema", "disable", "startup-probe"} <= set(names)
    for name in names:
        explained = lint("--explain", name) if name in ("schema", "disable") else None
        if explained:
            assert explained.stdout.startswith(f"{name} (") and "\nBad\n    # " in explained.stdout


def test_what_keeps_a_template_from_loading_is_explained_too(golden: Golden) -> None:
    done = lint("--explain", "yaml")
    assert done.returncode == 0
    golden(done.stdout)


# ------------------------------------------------------------------------------------- other versions, no schemas


def test_the_schema_is_that_of_the_version(tmp_path: Path, golden: Golden) -> None:
    tool = write(
        tmp_path,
        {"overlay.yaml.j2": WARNED.replace("    resources:", "    lifecycle: {stopSignal: SIGTERM}\n    resources:")},
    )
    new = lint(tool, "--only", "schema", "--kubernetes-version", "1.36")
    old = lint(tool, "--only", "schema", "--kubernetes-version", "1.30")
    assert (new.returncode, old.returncode) == (0, 1)
    golden(old.stdout)


def test_missing_schemas_are_said_and_can_be_done_without(tmp_path: Path, golden: Golden) -> None:
    tool = write(tmp_path, {"overlay.yaml.j2": BROKEN})
    # as on a machine without the package: no module of this name can be found
    absent = "import sys; sys.modules['kubernetes_validate'] = None"
    done = lint_anew(tool, code=absent)
    assert (done.returncode, done.stdout) == (1, "")
    assert "--disable schema" in done.stderr
    golden(done.stderr)
    # the injection itself refuses the pod too, in fewer words
    golden(lint_anew(tool, "--disable", "schema", code=absent).stderr)


# -------------------------------------------------------------------------------------------------- outputs


def test_json_has_every_part(tmp_path: Path) -> None:
    write(tmp_path, {"overlay.yaml.j2": BROKEN})
    done = lint("tool", "--output", "json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert done.returncode == 1 and found["templates"] == ["tool"]
    problem = found["problems"][1]
    assert problem.pop("message") and problem.pop("help") and problem.pop("fix")
    assert problem == {
        "rule": "schema",
        "severity": "error",
        "path": "",
        "template": "tool",
        "file": "overlay.yaml.j2",
        "line": 7,
        "column": 27,
        "text": "    - {name: PORT, value: {{ params.port }}}",
    }


def test_json_of_a_clean_template_is_json() -> None:
    assert json.loads(lint(BASE, "--output", "json").stdout)["problems"] == []


def test_sarif_is_what_code_scanning_reads(tmp_path: Path) -> None:
    write(tmp_path / "with blank", {"overlay.yaml.j2": BROKEN})
    log = json.loads(lint("with blank", "--output", "sarif", cwd=tmp_path).stdout)
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-schema-2.1.0.json")
    [run] = log["runs"]
    driver = run["tool"]["driver"]
    names = [rule["id"] for rule in driver["rules"]]
    assert driver["name"] == "injector lint" and len(names) == len(set(names))
    for rule in driver["rules"]:
        assert rule["shortDescription"]["text"] and rule["help"]["text"] and rule["help"]["markdown"]
        assert rule["defaultConfiguration"]["level"] in ("error", "warning")
    assert len(run["results"]) == 2
    for result in run["results"]:
        assert names[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("error", "warning") and result["message"]["text"]
        [location] = result["locations"]
        place = location["physicalLocation"]
        assert place["artifactLocation"] == {"uri": "with%20blank/tool/overlay.yaml.j2"}
        assert place["region"]["startLine"] >= 1 and place["region"]["startColumn"] >= 1
    assert run["results"][1]["locations"][0]["physicalLocation"]["region"] == {
        "startLine": 7,
        "startColumn": 27,
        "snippet": {"text": "    - {name: PORT, value: {{ params.port }}}"},
    }


def test_sarif_names_what_is_no_rule_too(tmp_path: Path) -> None:
    tool = write(tmp_path, {"template.yaml": "parameters: {a: {type: strin}}\n"})
    [run] = json.loads(lint(tool, "--output", "sarif").stdout)["runs"]
    [result] = run["results"]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].startswith("file:///")


def test_github_escapes_what_would_end_a_command(tmp_path: Path, golden: Golden) -> None:
    tool = write(tmp_path / "a,b:c%", {"overlay.yaml.j2": BROKEN})
    done = lint(tool.relative_to(tmp_path), "--output", "github", cwd=tmp_path)
    golden(done.stdout.splitlines()[1])


def test_a_condition_for_jobs_alone_is_right_and_has_a_fix(tmp_path: Path) -> None:
    old = 'workload.kind in ["Job", "CronJob"]'
    right = (BASE / "overlay.yaml.j2").read_text()
    tool = write(tmp_path, {"overlay.yaml.j2": right.replace("completes", old)})
    assert right.count("completes") == 1
    done = lint(tool, "--strict", "--output", "json")
    [problem] = json.loads(done.stdout)["problems"]
    assert (done.returncode, problem["rule"], problem["severity"]) == (0, "job-blocked", "note")
    assert lint(tool, "--output", "github").stdout.startswith("::notice ")
    assert lint(tool, "--fix").returncode == 0
    assert (tool / "overlay.yaml.j2").read_text() == right


# ------------------------------------------------------------------------------------------------- garbage


GARBAGE = {
    "empty files": {"template.yaml": "", "overlay.yaml.j2": ""},
    "no overlay": {"template.yaml": "description: A tool.\n"},
    "no manifest": {"overlay.yaml.j2": "spec: {}\n"},
    "not YAML": {"template.yaml": "a: [b\n", "overlay.yaml.j2": "spec: {}\n"},
    "a list": {"template.yaml": "- a\n", "overlay.yaml.j2": "spec: {}\n"},
    "not Jinja": {"template.yaml": "description: A tool.\n", "overlay.yaml.j2": "{% if %}\n"},
    "an overlay that is a list": {"template.yaml": "description: A tool.\n", "overlay.yaml.j2": "- a\n"},
    "containers that are none": {
        "template.yaml": "description: A tool.\n",
        "overlay.yaml.j2": "spec: {containers: [{name: 1}, {image: x}]}\n",
    },
    "odd values everywhere": {
        "template.yaml": "description: A tool.\n",
        "overlay.yaml.j2": "spec:\n  containers:\n  - {name: t, image: 7, ports: x, env: [1], volumeMounts: {a: b},"
        " resources: [], securityContext: 1, startupProbe: [], lifecycle: x, args: 5}\n"
        "  volumes: [{name: v, configMap: 1}]\n",
    },
    "a required parameter that nobody knows": {
        "template.yaml": 'parameters: {a: {type: string, pattern: "^x{7}$", required: true}}\n',
        "overlay.yaml.j2": "spec: {}\n",
    },
    "a bomb": {
        "template.yaml": "description: A tool.\n",
        "overlay.yaml.j2": "{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}\n",
    },
}


@pytest.mark.parametrize("files", GARBAGE.values(), ids=GARBAGE)
def test_garbage_is_a_problem_with_a_place_and_never_a_traceback(
    files: dict[str, str], tmp_path: Path, golden: Golden
) -> None:
    write(tmp_path, files, clean=False)
    done = lint("tool", cwd=tmp_path)
    golden(done.stderr)
    if files is not GARBAGE["empty files"]:
        assert done.returncode == 1, done.stdout + done.stderr
    golden(done.stdout)


def test_a_folder_that_is_no_template_says_what_is_missing(tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "templat.yaml").write_text("")
    done = lint(tmp_path)
    assert done.returncode == 1
    golden(done.stdout)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    tool = write(tmp_path, {})
    (tool / "overlay.yaml.j2").write_bytes(b"\xff\xfe\x00")
    done = lint("tool", cwd=tmp_path)
    assert done.returncode == 1 and re.match(r"tool/overlay\.yaml\.j2:1:1: error: .* \[file\]\n", done.stdout)


def test_a_file_that_is_of_no_template(tmp_path: Path, golden: Golden) -> None:
    write(tmp_path, {})
    (tmp_path / "notes.txt").write_text("")
    done = lint("notes.txt", cwd=tmp_path)
    assert done.returncode == 1
    golden(done.stdout)


def test_the_folder_above(tmp_path: Path) -> None:
    inner = write(tmp_path, {}) / "tests"
    inner.mkdir()
    done = lint("..", cwd=inner)
    assert (done.returncode, done.stdout) == (0, "")
