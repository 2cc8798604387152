"""What the command line makes of each manifest: exit 0 or a reason; twice is once; uninject gives back what went in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from injector.cli.documents import read_documents
from injector.cli.inputs import Input
from injector.settings import Settings
from tests.corpus.commands import gone, objects, place, run, templates_loaded_once
from tests.corpus.manifests import FOLDER, MANIFESTS, VARIANTS, VERSIONS, WAYS, balanced
from tests.samples import sampled

_MARKS = {Settings().status_key, Settings().receipt_key}

#: Where a null or an alias gets a value: of how it was written (`~`, `null`, nothing, `*labels`) the injected file says
#: nothing.
_NULLS = ("values/metadata-null.yaml", "containers/init-null.yaml", "yaml/anchors.yaml")


@pytest.fixture(scope="module")
def templates_once():
    with templates_loaded_once():
        yield


CASES = [
    pytest.param(manifest, *way, id=f"{manifest.name}-{'-'.join(way)}")
    for number, manifest in enumerate(MANIFESTS.values())
    for way in balanced(number)
]


def test_there_are_enough():
    assert sum(not name.startswith("broken/") for name in MANIFESTS) >= 180
    assert sum(name.startswith("broken/") for name in MANIFESTS) >= 40


@pytest.mark.parametrize(("manifest", "variant", "sidecars"), sampled(CASES, 3))
def test_inject_inject_again_uninject(manifest, variant, sidecars, tmp_path, templates_once):
    inject_inject_again_uninject(manifest, variant, sidecars, tmp_path)


def test_what_is_said_of_each(tmp_path, templates_once, golden):
    said = []
    for manifest in MANIFESTS.values():
        if manifest.verdicts("redirect") is not None:
            done = run("inject", str(place(manifest, tmp_path)), *VARIANTS["redirect"])
            said += [f"{manifest.name}: {words}" for words in (*done.verdicts, done.error) if " " in words]
    golden("\n".join(said))


@pytest.mark.soak(minutes=10)
def test_by_all_ways(tmp_path, templates_once):
    for manifest in MANIFESTS.values():
        for way in WAYS:
            inject_inject_again_uninject(manifest, *way, tmp_path)


def inject_inject_again_uninject(manifest, variant, sidecars, tmp_path):
    path = place(manifest, tmp_path)
    options = (*VARIANTS[variant], "--kubernetes-version", VERSIONS[sidecars])
    expected = manifest.verdicts(variant)
    first = run("inject", str(path), *options)

    if expected and expected[0].startswith("Error: "):
        where = expected[0].removeprefix("Error: ")
        assert first.error.startswith((f"{path}, {where}", f"{path}: {where}", f"{path}:{where}"))
        assert (first.status, first.out) == (1, b"")
        return
    assert first.error == ""
    if expected is None:
        assert first.lines
        expected = ["injected"] * len(first.lines)
    assert len(first.verdicts) == len(expected)
    for found, wanted in zip(first.verdicts, expected, strict=True):
        assert found.startswith(wanted)
        assert wanted.endswith(".") or found[len(wanted) :][:1] in ("", ":", ".")
    bad = any(verdict.startswith(("failed", "refused")) for verdict in expected)
    assert first.status == bad
    if bad:
        assert first.out == b""
        return

    if "injected" not in expected:
        assert first.out == manifest.data
        assert run("uninject", str(path)).out == manifest.data
        return
    assert first.out != manifest.data
    again = run("inject", "-", *options, data=first.out)
    assert again.out == first.out
    assert again.status == 0
    assert set(again.verdicts) <= {"unchanged", *(v for v in first.verdicts if v != "injected")}

    back = run("uninject", "-", data=first.out)
    assert back.status == 0
    assert same(objects(back.out), [without_marks(o) for o in objects(manifest.data)])
    if (
        not any(line.get("written_anew") for line in first.lines)
        and not read_documents(Input("", manifest.data))[0].json
    ):
        named = {number for line in first.lines for number in line.get("changed_lines", ())}
        assert set(gone(manifest.data, first.out)) <= named
        marked = any(without_marks(o) is not o for o in objects(manifest.data))
        assert marked or manifest.name in _NULLS or back.out == manifest.data
    # What no hand has touched keeps its bytes on both ways.
    untouched = [d.text for d in read_documents(Input("corpus", manifest.data)) if not may_change(d.value)]
    for text in untouched:
        if text.strip():
            assert text.strip("\ufeff\r\n") in first.out.decode()
            assert text.strip("\ufeff\r\n") in back.out.decode()


def same(left: Any, right: Any) -> bool:
    """Equality that tells true from 1 and 1 from 1.0, and looks at the order of keys too."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def without_marks(value: Any) -> Any:
    """What went in, without marks that somebody else has put there: they are ours to take."""
    metadata = value.get("metadata") if isinstance(value, dict) else None
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(annotations, dict) or _MARKS.isdisjoint(annotations):
        return value
    kept = {k: v for k, v in annotations.items() if k not in _MARKS}
    metadata = {k: kept if k == "annotations" else v for k, v in metadata.items() if k != "annotations" or kept}
    return {**value, "metadata": metadata}


def may_change(value: Any) -> bool:
    """Whether a document holds anything that has containers."""
    return isinstance(value, dict) and "containers" in json.dumps(value)


@pytest.mark.parametrize(
    "variant", [name if name == "ports" else pytest.param(name, marks=pytest.mark.soak(minutes=2)) for name in VARIANTS]
)
def test_all_at_once(variant, tmp_path, templates_once):
    """A folder of everything that can be read: what becomes of an object does not hang on what lies beside it."""
    names = [
        name
        for name, manifest in MANIFESTS.items()
        if not name.startswith(("broken/", "namespaces/", "json/half-surrogate"))  # which no YAML can hold
        and not any(v.startswith(("failed", "refused")) for v in manifest.verdicts(variant) or ())
    ]
    for number, name in enumerate(names):
        (tmp_path / f"{number:03}-{Path(name).name}").write_bytes(MANIFESTS[name].data)
    first = run("inject", str(tmp_path), *VARIANTS[variant])
    assert first.status == 0
    assert run("inject", "-", *VARIANTS[variant], data=first.out).out == first.out
    back = run("uninject", "-", data=first.out)
    assert same(objects(back.out), [without_marks(o) for name in names for o in objects(MANIFESTS[name].data)])


def test_json_that_yaml_cannot_hold_is_named(templates_once, golden):
    """JSON may escape half of a surrogate pair; beside YAML nothing could read that."""
    half, beside = FOLDER / "json/half-surrogate.json", FOLDER / "kinds/pod.yaml"
    both = run("inject", str(beside), str(half))
    assert (both.status, both.out) == (1, b"")
    golden(both.error)


def test_a_text_that_looks_like_an_escape_is_none(tmp_path, templates_once):
    text = r'{"kind": "ConfigMap", "data": {"a": "\\ud83d", "b": "\\\ud83d\udE00"}}'
    (tmp_path / "text.json").write_text(text)
    out = run("inject", str(FOLDER / "kinds/pod.yaml"), str(tmp_path)).out
    assert objects(out)[-1] == json.loads(text)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("kinds/list.yaml", False),
        ("yaml/several.yaml", True),
        ("json/two-objects.json", False),
        ("yaml/bom.yaml", True),
    ],
)
def test_as_a_program_of_its_own(name, given, templates_once):
    """The same bytes, whatever the locale, from a file or from standard input."""
    expected = run("inject", str(FOLDER / name)).out
    environment = {**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONPATH": str(Path.cwd())}
    arguments, data = (str(FOLDER / name), None) if given else ("-", MANIFESTS[name].data)
    program = subprocess.run(
        [sys.executable, "-m", "injector", "inject", arguments],
        input=data,
        capture_output=True,
        check=False,
        env=environment,
    )
    assert program.returncode == 0, program.stderr
    assert program.stdout == expected


@pytest.mark.parametrize(
    "name",
    [
        "broken/key-twice.yaml",
        "broken/utf-16.yaml",
        "ports/taken-by-envoy.yaml",
        "namespaces/required-impostor.yaml",
    ],
)
def test_errors_are_sentences_without_a_traceback(name, golden):
    program = subprocess.run(
        [sys.executable, "-m", "injector", "inject", str(FOLDER / name)],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
    )
    assert (program.returncode, program.stdout) == (1, b"")
    golden(program.stderr.decode())
    assert "Traceback" not in program.stderr.decode()
