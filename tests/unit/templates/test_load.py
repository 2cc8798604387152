"""Loading: what a template holds, and that every mistake is told with its file, line and what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from injector.errors import TemplateError
from injector.loading.shipped import try_new
from injector.loading.template_folders import gallery_path, read_folder, read_gallery
from injector.pods.context import Cluster
from injector.settings import Settings
from injector.templates.load import load_template
from injector.templates.snapshot import SnapshotError, build_snapshot
from injector.templates.template import AppliesTo, FileSpec
from tests.messages import Golden

GOOD = {
    "template.yaml": """\
description: A sidecar.
parameters:
  app-port: {type: integer, format: port, default: 8080, description: Port of the app.}
  image: {type: string, format: image, required: true}
files:
  x.yaml: {template: x.yaml.j2, validate: [x, --check, "{path}"]}
  y.conf: {}
delivery: annotation
hostNetwork: inject
selector: {matchLabels: {app: web}}
namespaces: {matchExpressions: [{key: team, operator: Exists}]}
overridable: [resources, image]
for: {resources: [pods], operations: [CREATE, UPDATE]}
""",
    "overlay.yaml.j2": "spec: {containers: [{name: x, image: {{ params.image }}}]}\n",
    "x.yaml.j2": "port: {{ params.app_port }}\n",
    "y.conf.j2": "listen {{ params.app_port }};\n",
    "README.md": "For people.",
}


def test_what_a_template_holds() -> None:
    one = load_template("sample", GOOD, "a folder")
    assert one.description == "A sidecar."
    assert one.parameters["app-port"].default == 8080
    assert one.parameters["app-port"].variable == "app_port"
    assert one.parameters["image"].required
    assert one.files == {
        "x.yaml": FileSpec("x.yaml", "x.yaml.j2", ("x", "--check", "{path}")),
        "y.conf": FileSpec("y.conf", "y.conf.j2"),
    }
    assert (one.delivery, one.host_network, one.origin) == ("annotation", "inject", "a folder")
    assert one.selector == {"matchLabels": {"app": "web"}}
    assert one.overridable == {"resources", "image"}
    assert one.applies_to == AppliesTo(("",), ("v1",), ("pods",), ("CREATE", "UPDATE"))


@pytest.mark.parametrize(
    ("covered", "words"),
    [
        (AppliesTo(), "CREATE of pods (v1)"),
        (
            AppliesTo(("", "apps"), ("v1", "v1beta1"), ("deployments", "jobs"), ("CREATE", "UPDATE")),
            "CREATE, UPDATE of deployments, jobs (v1, v1beta1, apps/v1, apps/v1beta1)",
        ),
    ],
)
def test_what_a_template_is_for_in_words(covered: AppliesTo, words: str) -> None:
    assert covered.words == words


def test_the_digest_is_of_what_decides() -> None:
    one = load_template("sample", GOOD)
    assert len(one.digest) == 12
    assert load_template("other", {**GOOD, "README.md": "Other."}, "elsewhere").digest == one.digest
    assert load_template("sample", {**GOOD, "x.yaml.j2": "port: 1\n"}).digest != one.digest


def manifest(text: str) -> dict[str, str]:
    return {"template.yaml": text, "overlay.yaml.j2": "{}"}


#: The text of template.yaml, and the line and column of the mistake.
MANIFESTS = [
    ("a: [\n", 1, 5),
    ("description: x\ndescription: y\n", 2, 1),
    ("- a\n", 1, 1),
    ("description: x\nparameter: {}\n", 2, 1),
    ("description: [x]\n", 1, 1),
    ("parameters: [a]\n", 1, 1),
    ("parameters:\n  a: string\n", 2, 3),
    ("parameters:\n  appPort: {type: string}\n", 2, 3),
    ("parameters:\n  a: {}\n", 2, 3),
    ("parameters:\n  a:\n    type: strin\n", 3, 5),
    ("parameters:\n  a:\n    type: string\n    format: prt\n", 4, 5),
    ("parameters:\n  a:\n    type: array\n    items: {type: string, format: cird}\n", 4, 27),
    ("parameters:\n  a:\n    type: string\n    minLength: x\n", 4, 5),
    ("parameters:\n  a:\n    type: string\n    defualt: x\n", 4, 5),
    (
        "parameters:\n  a:\n    type: integer\n    default: x\n",
        4,
        5,
    ),
    ("parameters:\n  a:\n    type: string\n    format: cidr\n    default: x\n", 5, 5),
    ("parameters:\n  a:\n    type: string\n    required: true\n    default: x\n", 4, 5),
    (f"parameters:\n  a:\n    type: string\n    default: {'x' * 300_000}\n", 4, 5),
    ("files:\n  x.yaml:\n", 2, 3),
    ("files:\n  x.yaml: {template: y.j2}\n", 2, 12),
    ("files:\n  overlay.yml: {}\n", 2, 3),
    ("files:\n  a/b: {template: overlay.yaml.j2}\n", 2, 3),
    ("files:\n  x: {template: overlay.yaml.j2, valid: []}\n", 2, 34),
    ("files:\n  x: {template: overlay.yaml.j2, validate: [x]}\n", 2, 34),
    ("files:\n  x: {template: overlay.yaml.j2, validate: x}\n", 2, 34),
    ("files:\n  x.yaml: {template: overlay.yaml.j2}\n", 2, 12),
    ("delivery: secret\n", 1, 1),
    ("hostNetwork: true\n", 1, 1),
    ("\nselector: {app: web}\n", 2, 12),
    ("overridable: resources\n", 1, 1),
    ("for: {kinds: [pods]}\n", 1, 7),
    ("for: {resources: pods}\n", 1, 7),
    ("for: {resources: ['*']}\n", 1, 19),
    ("for: {resources: []}\n", 1, 7),
    ("for: {resources: [Services]}\n", 1, 19),
    ("for: {apiVersions: [v1, '2']}\n", 1, 25),
    ("for: {operations: [PATCH]}\n", 1, 20),
]


@pytest.mark.parametrize(("text", "line", "column"), MANIFESTS, ids=[repr(row[0])[-60:] for row in MANIFESTS])
def test_mistakes_in_the_manifest(text: str, line: int, column: int, golden: Golden) -> None:
    with pytest.raises(TemplateError) as caught:
        load_template("sample", manifest(text))
    place = caught.value.place
    golden(str(caught.value))
    assert place is not None
    assert (place.file, place.line, place.column) == ("template.yaml", line, column), str(caught.value)
    assert str(caught.value).startswith(f"sample/template.yaml:{line}:{column}: ")


OVERLAYS_MANIFEST = "parameters: {app-port: {type: integer}}"
#: The text of overlay.yaml.j2, and the line of the mistake.
OVERLAYS = [
    ("\na: {{ params.app_prot }}", 2),
    ("\na: {{ params['app-port'] }}", 2),
    ("a: {{ parms.app_port }}", 1),
    ("a: 1\n{% if x %}{% endif %}", 2),
    ("{% for x in [1] %}{% endfor %}\n{{ x }}", 2),
    ("\n\na: {{ }}", 3),
    ("\n{% if true %}\n", 2),
    ("a: {{ .Values.x }}", 1),
    ("\n{{- if .Values.x }}\n", 2),
    ("a: 1\n{{ end }}\n", 2),
    ("a: {{ params.app-port }}", 1),
    ('a:\n{{- include "x" . | nindent 4 }}', 2),
    (
        "a: {{ params.app_port | toYaml | indent(4) }}",
        1,
    ),
    ("a: {{ params.app_port | nindent(4) }}", 1),
    ("a: {{ params.app_port | quote }}", 1),
    ("a: {{ params.app_port | uper }}", 1),
    ("a: {{ params.app_port is defned }}", 1),
    ("a: {{ workload.name.startwith('x') }}", 1),
    ("a: 1\n{% include '_y.j2' %}", 2),
    ("a: {{ '" + "(" * 10 + "' }}{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", 1),
]


@pytest.mark.parametrize(("text", "line"), OVERLAYS, ids=[repr(row[0])[-60:] for row in OVERLAYS])
def test_mistakes_in_the_overlay(text: str, line: int, golden: Golden) -> None:
    with pytest.raises(TemplateError) as caught:
        load_template("sample", {"template.yaml": OVERLAYS_MANIFEST, "overlay.yaml.j2": text})
    place = caught.value.place
    golden(str(caught.value))
    assert place is not None
    assert (place.file, place.line) == ("overlay.yaml.j2", line), str(caught.value)
    assert place.text == (text.split("\n")[line - 1] if line else "")


def test_mistakes_in_other_files(golden: Golden) -> None:
    base = manifest("files: {x.conf: {}}\nparameters: {p: {type: string}}")
    with pytest.raises(TemplateError) as caught:
        load_template("sample", {**base, "x.conf.j2": "{% import '_m.j2' as m %}", "_m.j2": "{{ params.q }}"})
    golden(caught.value)
    with pytest.raises(TemplateError) as caught_2:
        load_template("sample", {**base, "x.conf.j2": "\n{{ warn('x') }}"})
    golden(caught_2.value)
    # what an included file reads may come from the file that includes it
    load_template("sample", {**base, "x.conf.j2": "{% set y = 1 %}{% include '_m.j2' %}", "_m.j2": "{{ y }}"})
    # a name that is set under a condition may be there
    load_template("sample", {**base, "x.conf.j2": "{% if native %}{% set y = 1 %}{% endif %}{{ y | default(2) }}"})


@pytest.mark.parametrize("name", ["", "A", "a_b", "a.b", "-a", "a" * 64, "a\n"])
def test_names(name: str, golden: Golden) -> None:
    with pytest.raises(TemplateError) as caught:
        load_template(name, GOOD)
    golden(caught.value)


def test_missing_files_and_size(golden: Golden) -> None:
    with pytest.raises(TemplateError) as caught:
        load_template("sample", {"overlay.yaml.j2": "{}"})
    golden(caught.value)
    with pytest.raises(TemplateError) as caught_2:
        load_template("sample", {"template.yaml": "", "overlay.yml.j2": "{}"})
    golden(caught_2.value)
    with pytest.raises(TemplateError) as caught_3:
        load_template("sample", {**GOOD, "x": "y" * 1024 * 1024})
    golden(caught_3.value)


def test_folders(tmp_path: Path, golden: Golden) -> None:
    folder = tmp_path / "sample"
    (folder / "tests").mkdir(parents=True)
    for name, text in {**GOOD, ".hidden": "x", "a b": "x", "tests/case.yaml": "x"}.items():
        (folder / name).write_text(text)
    (tmp_path / "no-template").mkdir()
    assert read_folder(folder) == GOOD
    assert read_gallery(tmp_path) == {"sample": GOOD}
    (folder / "x.bin").write_bytes(b"\xff\xfe")
    with pytest.raises(TemplateError) as caught:
        read_folder(folder)
    golden(caught.value)
    with pytest.raises(TemplateError) as caught_2:
        read_folder(tmp_path / "nothing")
    golden(caught_2.value)
    with pytest.raises(TemplateError) as caught_3:
        read_gallery(tmp_path / "nothing")
    golden(caught_3.value)


def test_the_gallery_loads() -> None:
    gallery = read_gallery(gallery_path())
    assert gallery
    for name, sources in gallery.items():
        assert load_template(name, sources).description


SEVERAL = """\
description: [1]
parameters:
  a: {type: integer, default: "1"}
  b: text
  C: {type: string}
  fine: {type: string}
file: {}
files:
  x.conf: {}
  y.conf: {templat: x}
delivery: mail
selector: {matchLabel: {}}
overridable: a
for: {resource: []}
"""


def test_everything_that_is_wrong_with_a_manifest_is_told_at_once(golden: Golden) -> None:
    files = {"template.yaml": SEVERAL, "overlay.yaml.j2": "a: {{ params.nothing }}"}
    with pytest.raises(TemplateError) as caught:
        load_template("mine", files)
    assert [error.place.line for error in caught.value.all if error.place] == [1, 3, 4, 5, 7, 9, 10, 11, 12, 13, 14]
    assert {error.place.file for error in caught.value.all if error.place} == {"template.yaml"}
    with pytest.raises(SnapshotError) as built:
        build_snapshot(Settings(), {"mine": files, "other": {}}, Cluster(), origins={"mine": "./mine"}, trial=try_new)
    said = [str(error) for error in built.value.errors]
    assert [one.removeprefix("./") for one in said[:11]] == [str(error) for error in caught.value.all]
    assert len(said) == 12
    golden(said[11])


def test_one_mistake_has_no_others() -> None:
    with pytest.raises(TemplateError) as caught:
        load_template("mine", {"template.yaml": "deliver: x", "overlay.yaml.j2": "a: 1"})
    assert caught.value.all == (caught.value,)


@pytest.mark.parametrize(
    "files",
    [
        ("template.yaml", "overlay.yaml"),
        ("template.yml", "overlay.yaml.j2"),
        ("template.yaml", "pod.yaml.j2"),
        (),
    ],
)
def test_a_file_of_another_name_is_to_be_renamed(files: tuple[str, ...], golden: Golden) -> None:
    with pytest.raises(TemplateError) as caught:
        load_template("mine", dict.fromkeys(files, ""))
    golden(caught.value.message)
