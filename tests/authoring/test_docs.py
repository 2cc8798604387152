"""`injector docs`: the reference of a template, and the part of a README that is kept equal to it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from injector.authoring.reference import BEGIN, END, code, reference, section, takes, with_section
from injector.authoring.schemas import SCHEMAS, schema_of
from injector.loading.template_folders import read_folder
from injector.settings import Settings
from injector.templates.load import load_template
from injector.templates.template import Template
from tests.authoring.commands import GALLERY, ROOT, injector
from tests.messages import Golden
from tests.unit.test_docs import table

SOURCES = {
    "template.yaml": r"""
description: Ships logs.
parameters:
  port: {type: integer, format: port, minimum: 1024, maximum: 65535, default: 2020, description: Of its health page.}
  target: {type: string, required: true, examples: [a], pattern: "^(a|b)$", description: Where logs go.}
  tags: {type: array, items: {type: string}, maxItems: 3, default: [], description: "Added to
    every line."}
  old: {type: boolean, deprecated: true, description: Nothing.}
files:
  a.conf: {validate: [shipper, --check, "{path}"]}
delivery: annotation
hostNetwork: inject
selector: {matchLabels: {logs: ship}}
namespaces: {matchLabels: {tier: web}}
overridable: [resources, image]
""",
    "overlay.yaml.j2": """
metadata:
  annotations: {example.com/logs: ship}
spec:
  initContainers:
  - {name: shipper-setup, image: "setup:1"}
  containers:
  - name: shipper
    image: shipper:1
    ports:
    - {name: shipper-health, containerPort: {{ params.port }}}
    - {containerPort: 53, protocol: UDP}
    resources: {requests: {cpu: 10m, memory: 16Mi}, limits: {memory: 32Mi}}
  - name: "*"
    env: [{name: LOGS, value: /logs}]
    volumeMounts: [{name: logs, mountPath: /logs}]
    imagePullPolicy: !replace Always
  volumes:
  - name: logs
    emptyDir: {}
""",
    "a.conf.j2": "x\n",
}
EXPECTED = (Path(__file__).parent / "reference.golden").read_text()


@pytest.fixture
def shipper() -> Template:
    return load_template("shipper", SOURCES)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "shipper"
    made.mkdir()
    for name, text in SOURCES.items():
        (made / name).write_text(text)
    (made / "README.md").write_text(f"# Mine\n\n{BEGIN}\nold\n{END}\n\nMy own words.\n")
    return made


def test_the_whole_reference(shipper: Template) -> None:
    assert reference(shipper) == EXPECTED


def test_a_prefix_of_one_s_own(shipper: Template) -> None:
    assert "`shipper.example.com/port`" in section(shipper, Settings(prefix="example.com"))


@pytest.mark.parametrize("name", GALLERY)
def test_every_parameter_of_the_gallery_is_in_its_table(name: str) -> None:
    template = load_template(name, read_folder(ROOT / "templates" / name))
    if template.parameters:
        rows = table(reference(template), "parameter", "annotation", "takes", "default", "what it is")
        assert [row[0] for row in rows] == [f"`{parameter}`" for parameter in template.parameters]
        assert all(len(row) == 5 and row[2] and row[4] for row in rows)


@pytest.mark.parametrize("name", GALLERY)
def test_sections_of_the_gallery_are_up_to_date(name: str) -> None:
    readme = ROOT / "templates" / name / "README.md"
    text = readme.read_text()
    if BEGIN not in text:
        assert name == "always-pull-images"  # it has no parameters and no files
        return
    assert with_section(text, load_template(name, read_folder(readme.parent))) == text


@pytest.mark.parametrize(
    "overlay",
    [
        "spec: {}",
        '{{ deny("no pods on Sundays") }}',
        '{{ fail("declare a port") }}',
    ],
)
def test_a_template_that_adds_nothing_says_so(overlay: str, golden: Golden) -> None:
    text = section(load_template("policy", {"template.yaml": "description: x", "overlay.yaml.j2": overlay}))
    golden(text.partition("## What it adds")[2])
    assert "None." in text.partition("## Parameters")[2]


def test_where_no_value_of_a_required_parameter_is_known_it_says_so(golden: Golden) -> None:
    sources = {
        "template.yaml": "parameters: {x: {type: string, required: true, minLength: 9}}",
        "overlay.yaml.j2": "{}",
    }
    golden(section(load_template("x", sources)))


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer"},
        {"type": "integer", "minimum": 1},
        {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
        {"type": "integer", "multipleOf": 5},
        {"type": "integer", "format": "port"},
        {"type": "string", "enum": ["a", "", True]},
        {"type": "string", "const": "x"},
        {"type": "string", "minLength": 1, "maxLength": 1},
        {"type": "array", "minItems": 1, "uniqueItems": True},
        {"type": "object", "maxProperties": 9},
        {"type": ["string", "null"]},
    ],
)
def test_types_and_bounds_in_words(schema: dict[str, object], golden: Golden) -> None:
    golden(takes(schema))


@pytest.mark.parametrize(("text", "shown"), [("a", "`a`"), ("", ""), ("`a`", "`` `a` ``"), ("a\n  b", "`a b`")])
def test_code_survives_backticks(text: str, shown: str) -> None:
    assert code(text) == shown


# ------------------------------------------------------------------------------------------------- in a README


def test_write_makes_the_section_and_leaves_the_rest(folder: Path, golden: Golden) -> None:
    readme = folder / "README.md"
    stale = injector("docs", folder, "--check", readme)
    assert (stale.code, stale.out) == (1, "")
    golden(stale.err)
    assert injector("docs", folder, "--write", readme).code == 0
    text = readme.read_text()
    assert text.startswith(f"# Mine\n\n{BEGIN}\n\n## Parameters\n") and text.endswith(f"\n{END}\n\nMy own words.\n")
    assert "old\n" not in text
    assert injector("docs", folder, "--check", readme).code == 0
    before = readme.stat().st_mtime_ns
    golden(injector("docs", folder, "--write", readme).err)
    assert readme.stat().st_mtime_ns == before


@pytest.mark.parametrize("text", ["no marks\n", f"{END}\n{BEGIN}\n", f"{BEGIN}\n", f"{BEGIN}\n{END}\n{BEGIN}\n{END}\n"])
def test_a_readme_without_its_marks_is_left_alone(folder: Path, text: str) -> None:
    readme = folder / "README.md"
    readme.write_text(text)
    for option in ("--write", "--check"):
        done = injector("docs", folder, option, readme)
        assert done.code == 1 and BEGIN in done.err
    assert readme.read_text() == text


def test_a_readme_that_is_not_there_is_not_made(folder: Path) -> None:
    done = injector("docs", folder, "--write", folder / "NEW.md")
    assert done.code == 1 and BEGIN in done.err and not (folder / "NEW.md").exists()


def test_line_ends_of_the_rest_stay(folder: Path) -> None:
    readme = folder / "README.md"
    readme.write_bytes(f"# Mine\r\n{BEGIN}\r\n{END}\r\nmine\r\n".encode())
    assert injector("docs", folder, "--write", readme).code == 0
    assert readme.read_bytes().startswith(b"# Mine\r\n") and readme.read_bytes().endswith(b"\r\nmine\r\n")
    assert injector("docs", folder, "--check", readme).code == 0


# ------------------------------------------------------------------------------------------------- the command


def test_several_templates_and_folders(folder: Path) -> None:
    done = injector("docs", "nginx", "./shipper", cwd=folder.parent)
    assert re.findall(r"^# .*", done.out, re.MULTILINE) == ["# nginx", "# shipper"]
    assert injector("docs", "shipper", "--templates-dir", folder.parent).out == EXPECTED


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_schema_is_printed(kind: str) -> None:
    assert json.loads(injector("docs", "--schema", kind).out) == schema_of(kind)


@pytest.mark.parametrize(
    "args",
    [(), ("nginx", "--schema", "case"), ("nginx", "envoy", "--check", "x"), ("--schema", "pod"), ("--write", "x")],
)
def test_wrong_usage(args: tuple[str, ...]) -> None:
    done = injector("docs", *args)
    assert (done.code, done.out) == (2, "")


def test_what_is_not_there_is_named(folder: Path, golden: Golden) -> None:
    golden(injector("docs", "ngnix").err)
    assert "No such file" in injector("docs", folder, "--check", folder / "no.md").err
    (folder / "template.yaml").write_text("descripton: x\n")
    done = injector("docs", "./shipper", cwd=folder.parent)
    assert (done.code, done.out) == (1, "")
    assert "^" in done.err
    golden(done.err)
