"""Where things are declared and used, and new names for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from injector.authoring.lsp.navigation import RenameError, Span, definition, prepare_rename, references, rename
from injector.authoring.lsp.places import declarations
from injector.authoring.lsp.project import Project
from injector.errors import InjectionError
from injector.templates.load import load_template
from injector.templates.render import render_overlay
from injector.templates.samples import sample_contexts
from injector.templates.template import Template
from tests import command
from tests.authoring.lsp.marked import CASES, FILES, MANIFEST, OVERLAY, edited, marked, project, real_projects, within
from tests.samples import sampled

AT_PARAMETER = within(MANIFEST, "", "app-port: {type")


def lines(template: Project, spans: list[Span]) -> list[str]:
    """`FILE:LINE:TEXT` of spans."""
    return [
        f"{s.file}:{template.files[s.file].count(chr(10), 0, s.start) + 1}:{template.files[s.file][s.start : s.end]}"
        for s in spans
    ]


@pytest.mark.parametrize(
    ("place", "declared"),
    [
        (within(OVERLAY, "params.app", "_port"), ["template.yaml:3:app-port"]),
        (within(OVERLAY, "params['mo", "de']"), ["template.yaml:4:mode"]),
        (within(OVERLAY, "params.get('mo", "de')"), ["template.yaml:4:mode"]),
        (within(OVERLAY, "params.sec", "ret"), ["template.yaml:15:secret"]),
        (within("tool.json.j2", "params.app", "_port"), ["template.yaml:3:app-port"]),
        (within(CASES, "params: {app", "-port"), ["template.yaml:3:app-port"]),
        (within(CASES, "secret", "-a: b"), ["template.yaml:15:secret"]),
        (within(CASES, "tool: {app", "-port: 2"), ["template.yaml:3:app-port"]),
        (within(CASES, "injector/app", "-port"), ["template.yaml:3:app-port"]),
        (within(CASES, "message: app", "-port"), ["template.yaml:3:app-port"]),
        (within(CASES, "tool.", "json"), ["template.yaml:17:tool.json"]),
        (within("README.md", "`mo", "de: fast`"), ["template.yaml:4:mode"]),
        (within("README.md", "injector/secret", "-<name>"), ["template.yaml:15:secret"]),
        (within("README.md", "--param app", "-port=1"), ["template.yaml:3:app-port"]),
        (within(OVERLAY, "own(par", "ams.secret"), []),
        (within(OVERLAY, "ow", "n(params.secret"), ["overlay.yaml.j2:3:own"]),
        (within(OVERLAY, "[{{ mo", "unt()"), ["_macros.j2:1:mount"]),
        (within(OVERLAY, "lib.mo", "unt()"), ["_macros.j2:1:mount"]),
        (within(OVERLAY, "{{ pau", "se()"), ["_macros.j2:2:wait"]),
        (within(OVERLAY, 'import "_mac', 'ros.j2"'), ["_macros.j2:1:"]),
        (within(OVERLAY, "files.config", "map"), ["template.yaml:16:files"]),
        (within(MANIFEST, "template: _oth", "er.j2"), ["_other.j2:1:"]),
        (within(MANIFEST, "  tool.js", "on: {}"), ["tool.json.j2:1:"]),
        (within(OVERLAY, "image: to", "ol:1"), []),
        (marked(OVERLAY, "{{ params.no‸ne }}"), []),
        (marked(OVERLAY, "{{ a.params.app‸_port }}"), []),
    ],
)  # fmt: skip
def test_definition(place: tuple, declared: list[str]) -> None:  # type: ignore[type-arg]
    assert lines(place[0], definition(*place)) == declared


def test_references() -> None:
    template = project()
    assert lines(template, references(*AT_PARAMETER)) == [
        "template.yaml:3:app-port",
        "overlay.yaml.j2:10:app_port",
        "tool.json.j2:1:app_port",
        "README.md:1:app-port",
        "README.md:3:app-port",
        "README.md:4:app-port",
        "tests/cases.yaml:3:app-port",
        "tests/cases.yaml:4:app-port",
        "tests/cases.yaml:7:app-port",
        "tests/cases.yaml:9:app-port",
    ]
    assert lines(template, references(*within(OVERLAY, "[{{ mo", "unt()"))) == [
        "overlay.yaml.j2:1:mount",
        "overlay.yaml.j2:12:mount",
        "overlay.yaml.j2:12:mount",
        "_macros.j2:1:mount",
    ]
    of_file = references(*within(OVERLAY, 'import "_mac', 'ros.j2"'))
    assert lines(template, of_file) == ["overlay.yaml.j2:1:_macros.j2", "overlay.yaml.j2:2:_macros.j2"]


@pytest.mark.parametrize("new", ["port-of-app", "port_of_app"])
def test_a_parameter_gets_a_new_name_everywhere(new: str) -> None:
    renamed = edited(project(), rename(*AT_PARAMETER, new))
    expected = {
        file: text.replace("app-port", "port-of-app").replace("app_port", "port_of_app") for file, text in FILES.items()
    }
    assert dict(renamed.files) == expected


@pytest.mark.parametrize("new", ["token", "token-*"])
def test_a_family_gets_a_new_name(new: str) -> None:
    renamed = edited(project(), rename(*within(OVERLAY, "params.sec", "ret"), new))
    expected = {
        file: text.replace("secret-", "token-").replace("params.secret", "params.token") for file, text in FILES.items()
    }
    assert dict(renamed.files) == expected


def test_a_macro_gets_a_new_name() -> None:
    renamed = edited(project(), rename(*within("_macros.j2", "macro wa", "it"), "sleep"))
    changed = {file: text for file, text in renamed.files.items() if text != FILES[file]}
    assert changed == {
        "_macros.j2": FILES["_macros.j2"].replace("wait", "sleep"),
        OVERLAY: FILES[OVERLAY].replace("import mount, wait as", "import mount, sleep as"),
    }
    renamed = edited(project(), rename(*within(OVERLAY, "[{{ mo", "unt()"), "mounted"))
    assert renamed.files[OVERLAY].count("mounted") == 3 and renamed.files["_macros.j2"].count("mounted") == 1


@pytest.mark.parametrize(
    ("place", "new"),
    [
        (AT_PARAMETER, "App Port"),
        (AT_PARAMETER, "1st"),
        (AT_PARAMETER, ""),
        (AT_PARAMETER, "a" * 64),
        (AT_PARAMETER, "mode"),
        (AT_PARAMETER, "secret"),
        (AT_PARAMETER, "secret-x"),
        (within(OVERLAY, "params.sec", "ret"), "mode"),
        (within("_macros.j2", "macro wa", "it"), "mount"),
        (within("_macros.j2", "macro wa", "it"), "params"),
        (within("_macros.j2", "macro wa", "it"), "own"),
        (within("_macros.j2", "macro wa", "it"), "a-b"),
        (within("_macros.j2", "macro wa", "it"), "self"),
        (within(OVERLAY, "image: to", "ol:1"), "x"),
        (within(OVERLAY, "files.config", "map"), "x"),
        (within(MANIFEST, "template: _oth", "er.j2"), "x"),
    ],
)
def test_names_that_are_not_possible(place: tuple, new: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(RenameError):
        rename(*place, new)


@pytest.mark.parametrize(
    "text",
    [
        "{% for name in params %}{% endfor %}",
        "{{ params[name] }}",
        "{{ params.items() | list }}",
        "{{ params | tojson }}",
    ],
)
def test_where_parameters_are_read_as_a_whole_none_is_renamed(text: str) -> None:
    template = project(**{"tool.json.j2": text})
    with pytest.raises(RenameError):
        rename(template, MANIFEST, AT_PARAMETER[2], "other")


def test_what_can_be_renamed() -> None:
    template, file, offset = within(OVERLAY, "params.app", "_port")
    assert lines(template, [prepare_rename(template, file, offset) or Span("", 0, 0)]) == [
        "overlay.yaml.j2:10:app_port"
    ]
    assert prepare_rename(*within(OVERLAY, "{{ pau", "se()")) is None  # its name here is another than its own
    assert prepare_rename(*within(OVERLAY, 'import "_mac', 'ros.j2"')) is None
    assert prepare_rename(*marked(OVERLAY, "{{ params.no‸ne }}")) is None


def test_other_prefixes_and_other_templates() -> None:
    case = """\
cases:
- settings: {prefix: example.com}
  pod: {metadata: {annotations: {tool.example.com/app-port: "1", tool.sidecar.injector/app-port: "2"}}}
  namespace: {annotations: {my.tool.example.com/app-port: "1", tools.example.com/app-port: "1", tool.io/app-port: "1"}}
"""
    template = project(**{CASES: case})
    places = [span for span in references(template, MANIFEST, AT_PARAMETER[2]) if span.file == CASES]
    assert lines(template, places) == ["tests/cases.yaml:3:app-port"] * 2


def test_in_a_message_the_word_is_renamed_where_it_is_the_name() -> None:
    message = "cases:\n- expect: {reason: REASON, message: 'needs mode (a mode); set tool.sidecar.injector/mode'}\n"
    at = within(MANIFEST, "", "mode:\n")[2]
    for reason, expected in (("bad-parameter", "needs way (a mode)"), ("not-served", "needs mode (a mode)")):
        template = project(**{CASES: message.replace("REASON", reason)})
        renamed = edited(template, rename(template, MANIFEST, at, "way"))
        assert f"{expected}; set tool.sidecar.injector/way" in renamed.files[CASES]


def rendered(template: Template) -> list[object]:
    """What a template makes of the sample pods, without the names of parameters."""
    results: list[object] = []
    for context in sample_contexts(template):
        try:
            results.append(render_overlay(template, context).overlay)
        except InjectionError as error:
            results.append(error.reason)
    return results


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.soak(minutes=2))])
@pytest.mark.parametrize("name", sorted(real_projects()))
def test_each_parameter_of_real_templates_there_and_back(name: str, every: int) -> None:
    original = real_projects()[name]
    for declared in [*declarations(original.files[MANIFEST])][::every]:
        edits = rename(original, MANIFEST, declared.entry.start, f"zz-{declared.base}")
        assert f"zz-{declared.base}" in {edit.text for edit in edits}
        renamed = edited(original, edits)
        back = edited(renamed, rename(renamed, MANIFEST, declared.entry.start, declared.base))
        assert dict(back.files) == dict(original.files)


def all_renamed(original: Project) -> Project:
    """The template with another name for each of its parameters."""
    renamed = original
    for declared in declarations(original.files[MANIFEST]):
        at = next(d.entry.start for d in declarations(renamed.files[MANIFEST]) if d.base == declared.base)
        renamed = edited(renamed, rename(renamed, MANIFEST, at, f"zz-{declared.base}"))
    return renamed


@pytest.mark.parametrize("name", sampled(sorted(real_projects()), 3))
def test_renamed_templates_render_the_same(name: str) -> None:
    original = real_projects()[name]
    before, after = (load_template(name, template.sources) for template in (original, all_renamed(original)))
    assert [parameter.name for parameter in after.parameters.values()] == [f"zz-{n}" for n in before.parameters]
    assert rendered(after) == rendered(before)


@pytest.mark.parametrize("name", ["fluentd", "starter"])
def test_renamed_templates_lint_clean_and_pass_their_cases(name: str, tmp_path: Path) -> None:
    for file, text in all_renamed(real_projects()[name]).files.items():
        path = tmp_path / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert command.run("lint", str(tmp_path / name)).code == 0
    assert command.run("test", str(tmp_path / name)).code == 0
