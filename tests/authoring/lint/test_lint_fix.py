"""`injector lint --fix`: 40 broken templates become the ones that they were, byte by byte outside of the edits."""
# ruff: noqa: E501  the texts of templates are as they stand there

from __future__ import annotations

import codecs
import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings, strategies as st

import injector
from injector.authoring.lint.engine import LintOptions, lint_sources, lint_template
from injector.authoring.lint.fixes import apply, fix_all, fix_for, fixed
from injector.authoring.lint.rule import rules
from injector.authoring.reference import with_section
from injector.authoring.scaffold import scaffold
from injector.cli.lint import write_fixes
from injector.cli.main import main
from injector.diagnostics import Diagnostic, Edit, Fix, Place, fix_of
from injector.errors import TEMPLATE_ERRORS
from injector.loading.template_folders import gallery_path, read_folder
from injector.templates.load import load_template
from tests.authoring.lint.support import BASE, found, write
from tests.authoring.lint.test_lint_rule_cases import CASES as RULE_CASES
from tests.samples import sampled
from tests.unit.templates.test_broken import CASES as BROKEN, contents

MANIFEST, OVERLAY, README = "template.yaml", "overlay.yaml.j2", "README.md"
#: The files of templates without a finding, by their names.
RIGHT = {
    "tool": read_folder(BASE),
    "starter": {
        name: text
        for name, text in scaffold("starter", Path(injector.__file__).parent / "authoring/scaffold/starter").items()
        if "/" not in name
    },
    **{
        name: read_folder(gallery_path() / name) for name in ("nginx", "prometheus-exporter", "deny-env", "vault-agent")
    },
}
RIGHT["starter"][README] = with_section(RIGHT["starter"][README], load_template("starter", RIGHT["starter"]))


class Case(NamedTuple):
    """A template with mistakes. `changes` are a file, a text of it, what is wrong in its place, and what is right there
    where that is another text. The fix brings back the text, or else what it renders.
    """

    template: str
    what: str
    rules: str
    changes: tuple[tuple[str, ...], ...]
    exact: bool

    def files(self, right: bool) -> dict[str, str]:
        """The files with the mistakes, or as they should be."""
        files = dict(RIGHT[self.template])
        for file, text, wrong, *other in self.changes:
            assert text in files.get(file, ""), (self.what, text)
            files[file] = files.get(file, "").replace(text, (other or [text])[0] if right else wrong, 1)
        return files


def case(template: str, what: str, rules: str, *changes: tuple[str, ...], exact: bool = True) -> Case:
    return Case(template, what, rules, changes, exact)


_SECURITY = """\
    securityContext:
      runAsUser: 10001
      runAsNonRoot: true
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities: {drop: [ALL]}
      seccompProfile: {type: RuntimeDefault}
"""
_FLOW = (
    "    securityContext: {runAsUser: 10001, runAsNonRoot: true, allowPrivilegeEscalation: false, "
    "readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}}\n"
)
_HCL = (
    (
        MANIFEST,
        "parameters:\n",
        "files: {agent.hcl: {}}\nparameters:\n  title: {type: string, maxLength: 80, default: logs, description: Title.}\n",
        "files: {agent.hcl: {}}\nparameters:\n  title: {type: string, maxLength: 80, default: logs, description: Title.}\n",
    ),
    (
        OVERLAY,
        "    resources:\n",
        *["    volumeMounts: [{name: tool-config, mountPath: /etc/tool, readOnly: true}]\n    resources:\n"] * 2,
    ),
    (
        OVERLAY,
        "      limits: {memory: 64Mi}\n",
        *[
            '      limits: {memory: 64Mi}\n  volumes: [{name: tool-config, configMap: {name: "{{ files.configmap }}"}}]\n'
        ]
        * 2,
    ),
    ("agent.hcl.j2", "", "title = {{ params.title }}\n", "title = {{ params.title | quote }}\n"),
)
_HARDENING = "privilege-escalation run-as-root pod-security read-only-root"
CASES = [
    case("starter", "a parameter that is misspelt", "name", (OVERLAY, "params.image", "params.imgae")),
    case("starter", "a parameter in a config file", "name", ("nginx.conf.j2", "params.port", "params.prot")),
    case("starter", "a parameter without params", "name", (OVERLAY, "{{ params.cpu_request }}", "{{ cpu_request }}")),
    case("starter", "two parameters", "name", (OVERLAY, "params.image", "params.imag"), (OVERLAY, "params.memory_limit", "params.memory_limt")),
    case("starter", "a filter", "name", ("nginx.conf.j2", "params.greeting | quote", "params.greeting | qoute")),
    case("starter", "a filter in the overlay", "name", (OVERLAY, "default(30)", "defualt(30)")),
    case("starter", "a function", "name", (OVERLAY, "{{ warn(", "{{ wran(")),
    case("starter", "a name that is there", "name", (OVERLAY, "not native", "not natives")),
    case("starter", "a condition for Jobs alone", "job-blocked", (OVERLAY, "completes", 'workload.kind in ["Job", "CronJob"]')),
    case("starter", "a key of template.yaml", "manifest", (MANIFEST, "parameters:", "parametrs:")),
    case("starter", "two keys of template.yaml", "manifest", (MANIFEST, "overridable:", "overrideable:"), (MANIFEST, "files:", "file:")),
    case("starter", "a key of a declaration", "parameter", (MANIFEST, "minLength", "minLenght")),
    case("starter", "a key in another case", "parameter", (MANIFEST, "maxLength", "maxlength")),
    case("starter", "a format", "parameter", (MANIFEST, "format: image", "format: imgae")),
    case("starter", "a type", "parameter", (MANIFEST, "    type: integer", "    type: interger")),
    case("starter", "a key of a file", "manifest", (MANIFEST, "validate:", "validat:")),
    case("starter", "a file of the folder", "file", (MANIFEST, "template: nginx.conf.j2", "template: ngnix.conf.j2")),
    case("starter", "a default in quotes", "parameter", (MANIFEST, "default: 18090", 'default: "18090"')),
    case("starter", "a field of the overlay", "schema", (OVERLAY, "readinessProbe:", "readinesProbe:")),
    case("starter", "a field within braces", "schema", (OVERLAY, "{sizeLimit:", "{sizeLimt:")),
    case("starter", "a field of a probe", "schema", (OVERLAY, "failureThreshold", "failureTreshold")),
    case("starter", "a field beside spec", "ignored-field", (OVERLAY, "spec:\n", "spce:\n")),
    case("starter", "a volume", "mount-without-volume", (OVERLAY, "{name: starter-temp,", "{name: starter-tmp,")),
    case("starter", "a field of a container in overridable", "overridable", (MANIFEST, "[resources]", "[resource]")),
    case(
        "starter", "an idle comment at the end of a line", "disable",
        (OVERLAY, "[nginx, -e, stderr, -c, /etc/sidecar/nginx.conf]", "[nginx, -e, stderr, -c, /etc/sidecar/nginx.conf]  # lint: disable=image-tag why"),
    ),
    case("starter", "an idle comment on its line", "disable", (OVERLAY, "    ports:\n", "    # lint: disable=resources it has some\n    ports:\n")),
    case("starter", "a comment for the template", "disable", (MANIFEST, "description: A small", "# lint: disable=image-tag none\ndescription: A small")),
    case("starter", "a parameter as a shell has it", "plain-reference", (OVERLAY, "image: {{ params.image }}", "image: ${params.image}")),
    case("starter", "a dollar in front of a hole", "plain-reference", (OVERLAY, "image: {{", "image: ${{")),
    case("starter", "quoting of another syntax", "foreign-quoting", ("nginx.conf.j2", "params.greeting | quote", "params.greeting | json_quote")),
    case("starter", "the reference in the README", "readme-parameters", (README, "<!-- injector docs: end -->", "Old.\n<!-- injector docs: end -->"), exact=False),
    case(
        "starter", "a security context without privileges and profile", "privilege-escalation pod-security",
        (OVERLAY, "      allowPrivilegeEscalation: false\n", ""),
        (OVERLAY, "      seccompProfile: {type: RuntimeDefault}\n", ""),
        exact=False,
    ),
    case("starter", "capabilities", "pod-security", (OVERLAY, "      capabilities: {drop: [ALL]}\n", ""), exact=False),
    case("starter", "a file system that can be written", "read-only-root", (OVERLAY, "      readOnlyRootFilesystem: true\n", ""), exact=False),
    case(
        "starter", "the head of a whole Pod", "pod-name",
        (OVERLAY, "spec:\n", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: x\n  namespace: shop\nspec:\n"),
    ),
    case("tool", "a namespace", "pod-name", (OVERLAY, "spec:\n", "metadata:\n  annotations: {a.example/b: c}\n  namespace: x\nspec:\n", "metadata:\n  annotations: {a.example/b: c}\nspec:\n"), exact=False),
    case("tool", "a number as the value of a variable", "schema",
         (OVERLAY, "    args:", '    env:\n    - {name: PORT, value: {{ params.port }}}  # as text\n    args:', '    env:\n    - {name: PORT, value: "{{ params.port }}"}  # as text\n    args:')),
    case("tool", "a plain number as the value of a variable", "schema",
         (OVERLAY, "    args:", '    env:\n    - name: LEVEL\n      value: 5\n    args:', '    env:\n    - name: LEVEL\n      value: "5"\n    args:')),
    case("tool", "a boolean as an annotation", "renders", (OVERLAY, "spec:\n", "metadata:\n  annotations: {a.example/b: true}\nspec:\n", 'metadata:\n  annotations: {a.example/b: "true"}\nspec:\n')),
    case("tool", "quotes around a number", "schema", (OVERLAY, "periodSeconds: 1", 'periodSeconds: "1"')),
    case("tool", "quotes around a boolean", "schema", (OVERLAY, "runAsNonRoot: true", 'runAsNonRoot: "true"')),
    case("tool", "quotes around a parameter", "schema", (OVERLAY, "containerPort: {{ params.port }}", 'containerPort: "{{ params.port }}"')),
    case("tool", "letters in another order", "schema", (OVERLAY, "    args:", "    evn:\n    - {name: LEVEL, value: a}\n    args:", "    env:\n    - {name: LEVEL, value: a}\n    args:")),
    case("tool", "a resource", "renders", (OVERLAY, "limits: {memory:", "limits: {memroy:")),
    case("tool", "a value of HCL without quotes", "unquoted-text-value", *_HCL),
    case("tool", "a word of an enum", "renders", (OVERLAY, "    args:", "    imagePullPolicy: Allways\n    args:", "    imagePullPolicy: Always\n    args:")),
    case("tool", "a parameter in the README", "readme-parameters", (README, "sidecar.injector/port", "sidecar.injector/prot")),
    case("tool", "a security context with a user", _HARDENING, (OVERLAY, _SECURITY, "    securityContext:\n      runAsUser: 10001\n"), exact=False),
    case("tool", "a security context within an item in braces", "pod-security", (OVERLAY, _SECURITY, _FLOW.replace(", capabilities: {drop: [ALL]}", "")), exact=False),
    case("tool", "a security context in braces", _HARDENING, (OVERLAY, _SECURITY, "    securityContext: {runAsUser: 10001}\n"), exact=False),
    case("nginx", "two misspelt fields", "schema", (OVERLAY, "timeoutSeconds: 2", "timeoutSecond: 2"), (OVERLAY, "runAsGroup", "runAsGrup")),
    case("vault-agent", "a hole within a macro", "name", (OVERLAY, "params.cpu_limit", "params.cpu_limt")),
    case("vault-agent", "a field within a macro", "schema", (OVERLAY, "capabilities:", "capabilites:")),
    case("vault-agent", "a key and a parameter", "parameter", (MANIFEST, "maxLength: 512", "maxLenght: 512"), (OVERLAY, "params.once or", "params.onec or")),
    case("prometheus-exporter", "a parameter in a loop", "name", (OVERLAY, "in params.query", "in params.qeury")),
    case("deny-env", "a key of for", "manifest", (MANIFEST, "hostNetwork:", "hostnetwork:")),
]  # fmt: skip


#: How a file may be written, by its name and text.
Form = Callable[[str, str], bytes]
FORMS: dict[str, Form] = {
    "plain": lambda _, text: text.encode(),
    "CRLF": lambda _, text: text.replace("\n", "\r\n").encode(),
    "a byte order mark": lambda name, text: (codecs.BOM_UTF8 if name == MANIFEST else b"") + text.encode(),
    "no last line end": lambda _, text: text.removesuffix("\n").encode(),
    "other letters": lambda name, text: (f"# ✎ naïve 𝕏\n{text}" if name in (MANIFEST, OVERLAY) else text).encode(),
}


def put(folder: Path, files: Mapping[str, str], form: Form = FORMS["plain"]) -> Path:
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_bytes(form(name, text))
    return folder


def run(capsys: pytest.CaptureFixture[str], *args: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main([str(arg) for arg in args])
    return (int(end.value.code or 0), *capsys.readouterr())


def rendered(capsys: pytest.CaptureFixture[str], folder: Path) -> Any:
    code, out, err = run(capsys, "render", folder, "--output", "json")
    assert code == 0, err
    data = json.loads(out)
    data["pod"]["metadata"].get("annotations", {}).pop("sidecar.injector/receipt", "")  # it has a digest of the text
    return data


def test_there_are_40() -> None:
    assert len({case.what for case in CASES}) == len(CASES) >= 40
    assert sum("\n" in change[2] for case in CASES for change in case.changes) >= 5


@pytest.fixture(scope="module")
def linted() -> set[object]:
    """The files that are known to have no problem."""
    return set()


@pytest.mark.parametrize("number", range(len(CASES)), ids=[f"{case.template}: {case.what}" for case in CASES])
def test_fixed(number: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], linted: set[object]) -> None:
    case, form = CASES[number], list(FORMS.values())[number % len(FORMS)]
    right = put(tmp_path / "right" / case.template, case.files(right=True), form)
    wrong = put(tmp_path / "wrong" / case.template, case.files(right=False), form)
    files = {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in wrong.iterdir()}
    before = lint_template(str(wrong), LintOptions()).problems
    assert set(case.rules.split()) <= {problem.code for problem in before}
    assert run(capsys, "lint", "--fix", "--unsafe-fixes", wrong)[:2] == (0, "")
    texts = tuple(sorted((file.name, file.read_bytes()) for file in wrong.iterdir()))
    if texts not in linted:  # many cases of a template have the same end
        assert lint_template(str(wrong), LintOptions()).problems == ()
    if texts not in linted or not case.exact:
        assert rendered(capsys, wrong) == rendered(capsys, right)
    linted.add(texts)
    assert {file.name for file in wrong.iterdir()} == {file.name for file in right.iterdir()}
    for file in wrong.iterdir():
        changed = {name for name, *_ in case.changes}
        if case.exact:
            assert file.read_bytes() == (right / file.name).read_bytes()
        if file.name not in changed:
            assert (file.read_bytes(), file.stat().st_mtime_ns) == files[file.name]


def errors(problems: tuple[Diagnostic, ...]) -> int:
    return sum(problem.severity == "error" for problem in problems)


def loads(problems: tuple[Diagnostic, ...]) -> bool:
    return not any(problem.code in TEMPLATE_ERRORS for problem in problems)


_BROKEN = [
    (case["name"], {name: data.decode("utf-8", "replace") for name, data in contents(case).items()}) for case in BROKEN
]
_OF_RULES = [
    pytest.param(f"{case.rule}: {case.what}", {**RIGHT["tool"], **case.sources}, marks=pytest.mark.soak(minutes=1))
    for case in RULE_CASES
]
_EXAMPLES = [(f"{name}: bad example", {**RIGHT["tool"], **rule.documentation.bad}) for name, rule in rules().items()]


@pytest.mark.parametrize(
    ("what", "files"),
    [*sampled(_BROKEN, 6), *_OF_RULES, *sampled(_EXAMPLES, 4)],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_nothing_gets_worse(what: str, files: dict[str, str]) -> None:
    before = tuple(lint_sources("tool", files, LintOptions()))
    rounds = [before]

    def lint(texts: Mapping[str, str]) -> tuple[Diagnostic, ...]:
        rounds.append(tuple(lint_sources("tool", texts, LintOptions())) if texts != files else before)
        return rounds[-1]

    result = fix_all(files, lint, unsafe=True)
    after = tuple(result.problems)
    if loads(before):
        assert loads(after)
        assert errors(after) <= errors(before)
    assert {*map(fix_of, after)} == {None}
    assert fixed(result.sources, after).sources == result.sources


_TEXTS = st.text(st.sampled_from("ab:- {}\"'\r\n\ufeffé𝕏#"), max_size=60)


@given(_TEXTS, st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9), _TEXTS), max_size=6))
def test_nothing_outside_of_edits_changes(text: str, changes: list[tuple[int, int, str]]) -> None:
    edits, end = [], -1
    for start, length, new in sorted(changes):
        if end < start <= len(text):
            end = min(start + length, len(text))
            edits.append(Edit("a", start, end, new))
    pieces, at = [], 0
    for edit in edits:
        pieces += [text[at : edit.start], edit.text]
        at = edit.end
    assert apply(text, reversed(edits)) == "".join([*pieces, text[at:]])


def mistake(data: st.DataObject, text: str) -> str:
    """A text in which a letter is missing, doubled, or in the place of the next, a few times."""
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text) - 2))
        pair = text[at : at + 2]
        text = text[:at] + data.draw(st.sampled_from([pair[0], pair[0] + pair, pair[::-1]])) + text[at + 2 :]
    return text


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_fixing_twice_is_fixing_once(data: st.DataObject) -> None:
    file = data.draw(st.sampled_from([MANIFEST, OVERLAY, "nginx.conf.j2"]))
    files = dict(RIGHT["starter"])
    files[file] = mistake(data, files[file])

    def lint(texts: Mapping[str, str]) -> list[Diagnostic]:
        return lint_sources("starter", texts, LintOptions())

    problems = lint(files)
    edits = [edit for problem in problems for edit in (fix_of(problem) or Fix("", ())).edits]
    for edit in edits:
        assert 0 <= edit.start <= edit.end <= len(files[edit.file])
        assert files[edit.file][edit.start : edit.end] != edit.text
    once = fix_all(files, lint, unsafe=True)
    assert not loads(tuple(problems)) or loads(tuple(once.problems))
    assert fix_all(once.sources, lint, unsafe=True).sources == once.sources


WRONG = {
    MANIFEST: RIGHT["tool"][MANIFEST].replace("parameters:", "paramters:"),
    OVERLAY: RIGHT["tool"][OVERLAY].replace("runAsUser", "runAsUsr"),
}


def test_diff_writes_nothing_and_shows_what_fix_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write(tmp_path, WRONG)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    code, out, err = run(capsys, "lint", folder, "--fix", "--diff")
    assert code == 0
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    lines = out.splitlines()
    assert [line for line in lines if line[:1] in "+-"] == [
        f"--- {folder}/{OVERLAY}",
        f"+++ {folder}/{OVERLAY}",
        "-      runAsUsr: 10001",
        "+      runAsUser: 10001",
        f"--- {folder}/{MANIFEST}",
        f"+++ {folder}/{MANIFEST}",
        "-paramters:",
        "+parameters:",
    ]
    assert [line.partition(": ")[0] for line in err.splitlines()[:2]] == [
        f"{folder}/{MANIFEST}:2:1",
        f"{folder}/{OVERLAY}:22:7",
    ]
    assert run(capsys, "lint", folder, "--diff")[0] == 2


def test_a_diff_is_one_that_patch_takes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {name: text.removesuffix("\n").replace("\n", "\r\n") for name, text in {**RIGHT["tool"], **WRONG}.items()}
    folder = put(tmp_path / "tool", files)
    difference = run(capsys, "lint", folder, "--fix", "--diff")[1]
    subprocess.run(
        ["git", "apply", "--unsafe-paths", "-p0", "--directory=/", "-"],
        input=difference.encode(),
        cwd=tmp_path,
        check=True,
    )
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == {
        name: text.removesuffix("\n").replace("\n", "\r\n").encode() for name, text in RIGHT["tool"].items()
    }


def test_fixes_are_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write(tmp_path, {OVERLAY: WRONG[OVERLAY]})
    code, out, _ = run(capsys, "lint", folder, "--output", "json")
    [problem] = [problem for problem in json.loads(out)["problems"] if problem["rule"] == "schema"]
    [edit] = problem["fix"]["edits"]
    text = WRONG[OVERLAY]
    assert (code, edit["file"], text[edit["start"] : edit["end"]], edit["text"]) == (
        1,
        OVERLAY,
        "runAsUsr",
        "runAsUser",
    )
    [result] = [
        r
        for r in json.loads(run(capsys, "lint", folder, "--output", "sarif")[1])["runs"][0]["results"]
        if r["ruleId"] == "schema"
    ]
    [change] = result["fixes"][0]["artifactChanges"]
    [replacement] = change["replacements"]
    assert change["artifactLocation"] == result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert replacement == {
        "deletedRegion": {"charOffset": edit["start"], "charLength": 8},
        "insertedContent": {"text": "runAsUser"},
    }
    code, out, _ = run(capsys, "lint", folder, "--fix", "--output", "json")
    assert (code, json.loads(out)["problems"]) == (0, [])
    assert [problem["rule"] for problem in json.loads(out)["fixed"]] == ["schema"]


def test_what_the_program_may_need_is_taken_only_when_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A root file system without any place to write; with one the fix is safe."""
    wrong = RIGHT["tool"][OVERLAY].replace("readOnlyRootFilesystem: true, ", "")
    wrong = wrong.replace("      readOnlyRootFilesystem: true\n", "")
    mounted = wrong.replace(
        "    resources:\n", "    volumeMounts: [{name: tool-own, mountPath: /var/own}]\n    resources:\n"
    )
    mounted += "  volumes: [{name: tool-own, emptyDir: {sizeLimit: 1Mi}}]\n"
    folder = write(tmp_path / "a", {OVERLAY: wrong})
    [problem] = json.loads(run(capsys, "lint", folder, "--fix", "--output", "json")[1])["problems"]
    assert (problem["rule"], problem["fix"]["safe"], (folder / OVERLAY).read_text()) == ("read-only-root", False, wrong)
    for path, options in ((folder, ["--unsafe-fixes"]), (write(tmp_path / "b", {OVERLAY: mounted}), [])):
        assert run(capsys, "lint", path, "--fix", *options)[:2] == (0, "")
        assert "readOnlyRootFilesystem: true" in (path / OVERLAY).read_text()
    assert run(capsys, "lint", folder, "--unsafe-fixes")[0] == 2


def test_several_templates_and_the_exit_code_of_what_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "a", WRONG)
    bad = write(tmp_path / "b", {OVERLAY: WRONG[OVERLAY].replace("{{ params.image }}", "{{ params.frobnicate }}")})
    write(
        tmp_path / "c",
        {OVERLAY: RIGHT["tool"][OVERLAY].replace("    ports:", "    ports:  # lint: disable=schema why")},
    )
    before = (bad / OVERLAY).read_bytes()
    code, out, _ = run(capsys, "lint", tmp_path, "--fix")
    assert (code, "frobnicate" in out) == (1, True)
    assert (bad / OVERLAY).read_bytes() == before
    assert run(capsys, "lint", tmp_path / "a", tmp_path / "c")[0] == 0


def test_a_file_that_changes_meanwhile_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write(tmp_path, WRONG)
    linted = lint_template(str(folder), LintOptions(fix=True))
    (folder / OVERLAY).write_text("spec: {}\n")
    left = write_fixes(linted).problems
    assert [(problem.code, problem.place.file) for problem in left] == [("file", OVERLAY)]
    assert ((folder / MANIFEST).read_text(), (folder / OVERLAY).read_text()) == (WRONG[MANIFEST], "spec: {}\n")


def test_a_link_and_a_mode_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write(tmp_path, WRONG)
    target = folder / ".kept.yaml"
    (folder / MANIFEST).rename(target)
    target.chmod(0o640)
    (folder / MANIFEST).symlink_to(target)
    assert run(capsys, "lint", folder, "--fix")[0] == 0
    assert (folder / MANIFEST).is_symlink()
    assert (target.read_text(), target.stat().st_mode & 0o777) == (RIGHT["tool"][MANIFEST], 0o640)


def test_a_link_that_leads_out_is_not_written_through(tmp_path: Path) -> None:
    folder = write(tmp_path, WRONG)
    outside = (folder / MANIFEST).rename(tmp_path / "elsewhere.yaml")
    (folder / MANIFEST).symlink_to(outside)
    left = write_fixes(lint_template(str(folder), LintOptions(fix=True)))
    assert left.fixed is None
    assert [problem.place.file for problem in left.problems if problem.code == "file"] == [MANIFEST]
    assert (outside.read_text(), (folder / OVERLAY).read_text()) == (WRONG[MANIFEST], WRONG[OVERLAY])


@pytest.mark.parametrize(
    ("what", "old", "new"),
    [
        ("an anchor", _SECURITY, "    securityContext: &own {runAsUser: 10001}\n"),
        ("a parameter", _SECURITY, "    securityContext: {{ params.image }}\n"),
        (
            "a branch",
            _SECURITY,
            "    securityContext:\n{% if native %}\n      runAsUser: 10001\n{% endif %}\n      runAsNonRoot: true\n",
        ),
        ("a name that is like no other", "params.image", "params.frobnicate"),
        ("an expression", "periodSeconds: 1", 'periodSeconds: "{{ 1 }}"'),
    ],
)
def test_what_has_no_one_right_edit_stays(what: str, old: str, new: str, tmp_path: Path) -> None:
    folder = write(tmp_path, {OVERLAY: RIGHT["tool"][OVERLAY].replace(old, new)})
    linted = lint_template(str(folder), LintOptions(fix=True))
    assert linted.problems
    assert linted.fixed is not None and linted.fixed.changes == {}


def test_a_text_that_is_no_longer_that_of_the_place() -> None:
    place = Place(OVERLAY, 1, 1, "imag: a")
    problem = Diagnostic("schema", "error", "", place=place, fields={"value": "imag", "nearest": "image"})
    assert fix_for(problem, {OVERLAY: "imag: b\n"}) is None
    assert fix_for(problem, {}) is None
    fix = fix_for(problem, {OVERLAY: "imag: a"})
    assert fix is not None and fix.edits == (Edit(OVERLAY, 0, 4, "image"),)


def test_a_whole_pod_is_told_once(tmp_path: Path) -> None:
    head = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: b}\nstatus: {}\nspec:\n"
    problems = found(write(tmp_path, {OVERLAY: RIGHT["tool"][OVERLAY].replace("spec:\n", head)}))
    assert [(problem.code, problem.place.line, problem.place.column) for problem in problems] == [("pod-name", 5, 1)]


def test_a_whole_workload_is_told_once(tmp_path: Path) -> None:
    pod = RIGHT["tool"][OVERLAY].partition("spec:\n")[2].replace("\n  ", "\n      ")
    text = f"apiVersion: apps/v1\nkind: Deployment\nspec:\n  replicas: 2\n  template:\n    spec:\n    {pod}"
    problems = found(write(tmp_path, {OVERLAY: text}))
    assert [(problem.code, problem.place.line) for problem in problems if problem.severity == "error"] == [
        ("overlay", 5)
    ]


def test_the_values_with_which_something_was_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = RIGHT["tool"][MANIFEST] + "  debug: {type: boolean, default: false, description: More.}\n"
    text = RIGHT["tool"][OVERLAY].replace(
        "    ports:\n", "{% if params.debug %}\n    evn: []\n    tty: 5\n{% endif %}\n    ports:\n"
    )
    folder = write(tmp_path, {MANIFEST: manifest, OVERLAY: text})
    out = run(capsys, "lint", folder, "--output", "json")[1]
    problems = json.loads(out)["problems"]
    assert problems and all(problem["given"] == {"debug": True} for problem in problems)
    assert all("debug = true" in problem["help"] for problem in problems)
