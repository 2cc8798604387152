"""Real programs look at config files: found or not, content or not, slow, and what they say."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from injector.authoring.cases.harness import Harness
from injector.authoring.cases.programs import Programs
from injector.authoring.cases.run import CaseResult, Ways
from injector.authoring.cases.suite import Suite
from injector.errors import TemplateError
from injector.library_messages import named_line
from tests.authoring.cases.support import run_case
from tests.messages import Golden
from tests.parts import require, search_path

CASE = "cases:\n- name: a\n  expect: {decision: injected}\n"
OVERLAY = """\
spec:
  containers:
  - name: web-proxy
    image: nginx:1
    volumeMounts:
    - {name: c, mountPath: /etc/proxy/}
    - {name: c, mountPath: /etc/alone.conf, subPath: part.conf}
  volumes:
  - name: c
    configMap: {name: "{{ files.configmap }}"}
"""
MAIN = "pid {{ params.pid }};\nevents {}\nhttp {\n  include /etc/proxy/part.conf;\n}\n"
PART = """\
server {
  {% if params.word %}
  {{ params.word }} on;
  {% endif %}
  listen 127.0.0.1:8080;
}
"""


@pytest.fixture
def nginx(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, str]:
    """A template whose config files the real nginx looks at."""
    require("nginx")
    monkeypatch.setenv("PATH", search_path())
    manifest = (
        "description: x\nparameters:\n  word: {type: string, default: ''}\n"
        f"  pid: {{type: string, default: {tmp_path}/pid}}\n"
        'files:\n  main.conf: {validate: [nginx, -t, -q, -e, stderr, -c, "{path}"]}\n  part.conf: {}\n'
    )
    return {"template.yaml": manifest, "overlay.yaml.j2": OVERLAY, "main.conf.j2": MAIN, "part.conf.j2": PART}


def test_files_name_each_other_as_the_container_sees_them(
    results: Callable[..., list[CaseResult]], nginx: dict[str, str]
) -> None:
    (result,) = results(CASE, **nginx)
    assert (result.problems, result.validated, result.missing) == ([], 1, ())


@pytest.mark.parametrize(
    "include",
    ["/etc/proxy/*.conf", "/etc/proxy/p*.conf", "/etc/alone.conf", "'/etc/proxy/part.conf'"],
)
def test_paths_of_many_kinds(
    results: Callable[..., list[CaseResult]], nginx: dict[str, str], include: str, golden: Golden
) -> None:
    nginx["main.conf.j2"] = MAIN.replace("/etc/proxy/part.conf", include)
    (result,) = results(CASE.replace("  expect", "  params: {word: lissten}\n  expect"), **nginx)
    if "/*" in include:  # it includes itself
        golden(result.problems[0].help)
    elif "*" in include:
        assert result.problems == []  # a pattern that begins like a file: of those nothing is known
    else:
        golden(result.problems[0].help)


@pytest.mark.parametrize(
    "path",
    [
        "/etc/proxy/part.confx",
        "/etc/proxy/other",
        "/etc/proxyx/part.conf",
        "/x/etc/proxy/part.conf",
        "/etc/alone.conf.d",
    ],
)
def test_other_paths_stay(results: Callable[..., list[CaseResult]], nginx: dict[str, str], path: str) -> None:
    nginx["main.conf.j2"] = f"here: {path}\n"
    nginx["template.yaml"] = nginx["template.yaml"].replace(
        "nginx, -t, -q, -e, stderr, -c", f'grep, -qx, "here: {path.replace("/", "[/]")}"'
    )
    (result,) = results(CASE, **nginx)
    assert (result.problems, result.validated) == ([], 1)


@pytest.mark.parametrize("delivery", ["configmap", "annotation"])
def test_what_a_program_refuses_is_told_with_the_authors_line(
    results: Callable[..., list[CaseResult]], nginx: dict[str, str], delivery: str, golden: Golden
) -> None:
    nginx["template.yaml"] += f"delivery: {delivery}\n"
    (result,) = results(CASE.replace("  expect", "  params: {word: lissten}\n  expect"), **nginx)
    refusal, origin = result.problems
    golden(refusal, origin)
    assert origin.place.text.strip() == "{{ params.word }} on;"


@pytest.mark.parametrize(
    ("part", "line"),
    [
        ("server {\n  location / {\n    return 200 ok\n  }\n}\n", 3),
        ('server {\n  location / {\n    return 200 "ok" # fine\n\n    # here\n  }\n}\n', 3),
        ("server {\n  listen 127.0.0.1:8080\n  client_max_body_size 8m;\n}\n", 2),
        ("server {\n  server_name a\n    b;\n  lissten 1;\n}\n", 0),
        ("server {\n  listen 127.0.0.1:8080;\n  }\n}\n", 0),
        ("server {\n  lissten 1;\n}\n", 0),
    ],
)
def test_a_line_of_nginx_without_its_end(
    results: Callable[..., list[CaseResult]], nginx: dict[str, str], part: str, line: int
) -> None:
    (result,) = results(CASE, **{**nginx, "part.conf.j2": part})
    _refusal, origin = result.problems
    assert (bool(origin.help), origin.place.line == line) == (bool(line), bool(line))


def test_a_case_may_leave_it_out(results: Callable[..., list[CaseResult]], nginx: dict[str, str]) -> None:
    text = CASE.replace("  expect", "  params: {word: lissten}\n  validate: false\n  expect")
    (result,) = results(text, **nginx)
    assert (result.problems, result.validated) == ([], 0)


def manifest(command: str) -> dict[str, str]:
    return {
        "template.yaml": f"description: x\nfiles:\n  main.conf: {{validate: {command}}}\n",
        "overlay.yaml.j2": "spec: {containers: [{name: a, image: 'a:1'}]}\n",
        "main.conf.j2": "a\nb {{ namespace.name }}\n",
    }


def test_files_that_are_mounted_elsewhere_are_looked_at_anew(suite: Callable[..., Suite], golden: Golden) -> None:
    case = "- {name: AT, params: {at: AT}, expect: {decision: injected}}\n"
    read = suite(
        "cases:\n" + "".join(case.replace("AT", at) for at in "ab"),
        **{
            "template.yaml": "description: x\nparameters:\n  at: {type: string, default: a}\n"
            'files:\n  main.conf: {validate: [sh, -c, "test -f $(cat $0)", "{path}"]}\n',
            "overlay.yaml.j2": OVERLAY.replace("/etc/proxy/", "/etc/{{ params.at }}"),
            "main.conf.j2": "/etc/a/main.conf",
        },
    )
    assert [str(problem) for problem in read.problems] == []
    harness, ways = Harness(read.folder, "logger"), Ways(Programs())
    told = [[p.message for p in run_case(harness, checked, ways).problems] for checked in read.cases]
    golden(told)


def test_a_program_that_is_missing_is_counted(results: Callable[..., list[CaseResult]]) -> None:
    (result,) = results(CASE, **manifest('[no-such-program, "{path}"]'))
    assert (result.problems, result.validated, result.missing) == ([], 0, (("no-such-program", "main.conf"),))


@pytest.mark.parametrize(
    ("script", "code", "output"),
    [
        ("echo wrong at line 2; exit 3", 3, ["wrong at line 2"]),
        ("echo gone >&2; kill -9 $$", -9, ["gone"]),
        ("cat $0; exit 1", 1, ["a", "b default"]),
        ("pwd | grep -q injector-test- || exit 1; test -f main.conf && exit 7", 7, []),
        ("read x && exit 0; exit 4", 4, []),
        ("printf '\\377'; exit 1", 1, ["\ufffd"]),
    ],
)
def test_how_a_program_may_end(
    results: Callable[..., list[CaseResult]], script: str, code: int, output: list[str]
) -> None:
    (result,) = results(CASE, **manifest(f'[sh, -c, "{script}", "{{path}}"]'.replace("\\", "\\\\")))
    fields = result.problems[0].fields
    assert (fields["program"], fields["code"], fields["output"]) == ("sh", code, output)


def test_no_shell_and_no_words_of_its_own(results: Callable[..., list[CaseResult]], tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    (result,) = results(CASE, **manifest(f'["true", "; touch {flag}", "$(touch {flag})", "{{path}}"]'))
    assert (result.problems, result.validated, flag.exists()) == ([], 1, False)


def test_one_that_does_not_end_is_ended_with_all_that_it_started(
    suite: Callable[..., Suite], tmp_path: Path, golden: Golden
) -> None:
    pid = tmp_path / "pid"
    read = suite(CASE, **manifest(f'[sh, -c, "sleep 1000 & echo $! > {pid}; wait", "{{path}}"]'))
    result = run_case(Harness(read.folder, "logger"), read.cases[0], Ways(Programs(seconds=0.5)))
    golden([p.message for p in result.problems])
    for _ in range(4000):
        if not _alive(int(pid.read_text())):
            return
        time.sleep(0.05)
    raise AssertionError("what the program started still runs")


def test_one_that_a_thread_starts_after_the_stop_is_ended(suite: Callable[..., Suite], golden: Golden) -> None:
    read = suite(CASE, **manifest('[sh, -c, "exec sleep 100", "{path}"]'))
    programs = Programs()
    programs.stop()  # Ctrl-C, between the start of a program and its entry among those that run
    result = run_case(Harness(read.folder, "logger"), read.cases[0], Ways(programs))
    golden([p.message for p in result.problems])


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def test_the_same_files_are_checked_once(suite: Callable[..., Suite], tmp_path: Path) -> None:
    log = tmp_path / "log"
    cases = "cases:\n" + "".join(
        f"- {{name: {n}, namespace: {{name: {n[0]}}}, expect: {{decision: injected}}}}\n" for n in ("a1", "a2", "b1")
    )
    read = suite(cases, **manifest(f'[sh, -c, "echo x >> {log}", "{{path}}"]'))
    bench, ways = Harness(read.folder, "logger"), Ways(Programs())
    assert [run_case(bench, checked, ways).validated for checked in read.cases] == [1, 1, 1]
    assert log.read_text() == "x\nx\n"


def test_the_environment_is_the_users_and_what_lies_beside_python_is_found(
    results: Callable[..., list[CaseResult]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINE", "here")
    (result,) = results(CASE, **manifest('[sh, -c, "echo $MINE; exit 1", "{path}"]'))
    assert result.problems[0].fields["output"] == ["here"]
    monkeypatch.setenv("PATH", os.defpath)
    (result,) = results(CASE, **manifest('[python, -c, "import injector", "{path}"]'))
    assert result.problems == []


@pytest.mark.parametrize(
    ("output", "found"),
    [
        ('unknown directive "x" in part.conf:2', ("part.conf", 2)),
        ("main.conf:3:7: syntax error", ("main.conf", 3)),
        ("(main.conf: 14) bad", ("main.conf", 14)),
        ('error in "part.conf", line 4', ("part.conf", 4)),
        ("main.conf(5): bad", ("main.conf", 5)),
        ("bad value at line 6", ("main.conf", 6)),
        ("Line: 7", ("main.conf", 7)),
        ("other-main.conf:3", ("", 0)),
        ("nothing of that", ("", 0)),
    ],
)
def test_the_line_that_a_program_names(output: str, found: tuple[str, int]) -> None:
    assert named_line(output, "main.conf", ["main.conf", "part.conf"]) == found


YAML = """\
a:
  - {name: one, port: 1}
{% if true %}
  - name: two
    port: {{ namespace.name }}
{% endif %}
b: {name: three, key: x, "{{ workload.name }}-key": 2}
"""


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ("no such field: 'key'", None),
        ("main.yaml:5: bad", "main.yaml.j2:5:5"),
        ("bad, line 2", "main.yaml.j2:2:5"),
        ("bad, line 99", None),
    ],
)
def test_the_authors_place_of_what_is_refused_in_yaml(
    results: Callable[..., list[CaseResult]], said: str, place: str | None, golden: Golden
) -> None:
    files = {
        "template.yaml": "description: x\nfiles:\n  main.yaml: {validate: [sh, say, '{path}']}\n  say: {}\n",
        "overlay.yaml.j2": "spec: {containers: [{name: a, image: 'a:1'}]}\n",
        "main.yaml.j2": YAML,
        "say.j2": f"cat <<'END'\n{said}\nEND\nexit 1\n",
    }
    (result,) = results(CASE, **files)
    _, *origin = result.problems
    assert [p.place.line for p in origin] == ([] if place is None else [int(place.split(":")[1])])
    golden(result.problems)


def test_output_without_end_is_read_and_little_of_it_kept(
    results: Callable[..., list[CaseResult]], golden: Golden
) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (result,) = results(CASE, **manifest('[sh, -c, "head -c 400000000 /dev/zero; exit 3", "{path}"]'))
    golden(result.problems[0].message)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # KiB


def test_it_has_ended_when_it_has_ended_itself(suite: Callable[..., Suite], tmp_path: Path, golden: Golden) -> None:
    pid = tmp_path / "pid"
    read = suite(CASE, **manifest(f'[sh, -c, "echo said; sleep 1000 & echo $! > {pid}; exit 4", "{{path}}"]'))
    result = run_case(Harness(read.folder, "logger"), read.cases[0], Ways(Programs()))
    golden([(p.message, p.help) for p in result.problems])
    for _ in range(4000):
        if not _alive(int(pid.read_text())):
            return
        time.sleep(0.05)
    raise AssertionError("what it had started still runs")


def test_one_that_closes_its_output_still_has_its_time(
    results: Callable[..., list[CaseResult]], golden: Golden
) -> None:
    (result,) = results(CASE, **manifest('[sh, -c, "echo said; exec >&- 2>&-; sleep 0.3; exit 5", "{path}"]'))
    golden([(p.message, p.help) for p in result.problems])


@pytest.mark.parametrize("command", ['["", "{path}"]', '["{path}", "a\\0b"]'])
def test_what_is_no_command_is_refused_at_its_place(suite: Callable[..., Suite], command: str) -> None:
    read = suite(CASE, **manifest(command))
    with pytest.raises(TemplateError) as raised:
        Harness(read.folder, "logger")
    assert raised.value.place and raised.value.place.line == 3
