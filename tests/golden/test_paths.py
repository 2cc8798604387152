"""Each case of the settings' `paths` through both entrances: the golden files, and that both say and make the same."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from injector.authoring.manifest_writer import dump_yaml
from tests.corpus.commands import templates_loaded_once
from tests.golden.entrances import HERE, Object, by_command_line, comparable, read_case, template_of
from tests.golden.path_entrances import PATH_TEMPLATES, PathWebhook, Said
from tests.golden.test_golden import check_golden, objects, readable, timeless
from tests.messages import Golden
from tests.unit.webhook.support import Loop, running_loop

CASES = {folder.name: folder for folder in sorted((HERE / "paths").iterdir())}


@pytest.fixture(scope="module", autouse=True)
def templates_once() -> Iterator[None]:
    with templates_loaded_once():
        yield


@pytest.fixture(scope="module")
def loop() -> Iterator[Loop]:
    with running_loop() as running:
        yield running


@pytest.mark.parametrize("name", CASES)
def test_case(name: str, loop: Loop, tmp_path: Path, request: pytest.FixtureRequest, golden: Golden) -> None:
    case = read_case(CASES[name])
    before = objects((case.folder / "input.yaml").read_text())
    with contextlib.closing(PathWebhook(loop, tmp_path, case)) as https:
        found = [https.created(obj) for obj in before]
        snapshot = https.current
    more = ["--templates-dir", str(PATH_TEMPLATES)]
    written = by_command_line(case, tmp_path, *more)
    report = json.loads(by_command_line(case, tmp_path, *more, "--output", "json").err)

    said = [one for answers, _, _ in found for one in answers]
    check_report(report["objects"], said)
    assert (written.status == 0) == all(one.response["allowed"] for one in said)
    assert (written.out == "") == (written.status != 0)
    if written.status == 0:
        check_objects(before, objects(written.out), [(stored, pod) for _, stored, pod in found])

    came = {
        "output.yaml": written.out if written.status == 0 else None,
        "answer.yaml": json.dumps([{"path": o.path, "kind": o.kind, **readable(o.response)} for o in said]),
    }
    for file, text in came.items():
        text = None if text is None else timeless(text, snapshot, case)
        if text and file == "answer.yaml":
            text = "---\n".join(map(dump_yaml, json.loads(text)))
        check_golden(case.folder / file, text, request)
    golden(timeless(written.err, snapshot, case))


def test_each_outcome_has_a_case() -> None:
    answers = [one for folder in CASES.values() for one in objects((folder / "answer.yaml").read_text())]
    reasons = {(one["allowed"], one["auditAnnotations"]["reason"], "patch" in one) for one in answers}
    assert reasons >= {(True, "amended", True), (True, "nothing-to-add", False), (False, "denied", False)}
    assert {allowed for allowed, reason, _ in reasons if reason == "template-failed"} == {True, False}


def check_report(lines: list[dict[str, Any]], said: list[Said]) -> None:
    """Each path that was asked over HTTPS is in the report, with the reason that it gave, and no other is."""
    at_paths = [one for one in said if one.path != "/mutate"]
    asked = [path for line in lines for path in line.get("paths", ())]
    assert asked == [one.path for one in at_paths]
    answers = iter(at_paths)
    for line in lines:
        reasons = [next(answers).response["auditAnnotations"]["reason"] for _ in line.get("paths", ())]
        if reasons:
            assert line.get("reason", "amended") in reasons


def check_objects(before: list[Object], after: list[Object], stored: list[tuple[Object, Object | None]]) -> None:
    """What was written is what would be stored, and makes the pods that would run."""
    written = [obj for obj in after if "sidecar.injector/generated" not in (obj["metadata"].get("labels") or {})]
    for obj, was, (wanted, pod) in zip(written, before, stored, strict=True):
        namespace = was["metadata"].get("namespace")
        expected = {**wanted["metadata"], "namespace": namespace} if namespace else dict(wanted["metadata"])
        if not namespace:
            expected.pop("namespace", None)
        generated = r"[a-z0-9]+-[a-z0-9]+-[0-9a-f]{16}"
        if obj["kind"] == "Pod":
            pod = {**wanted, "metadata": expected}
        else:
            assert obj["metadata"] == expected
        if pod is None:
            assert {**obj, "metadata": expected} == {**wanted, "metadata": expected}
        else:
            pod = {**pod, "metadata": {k: v for k, v in pod["metadata"].items() if k != "namespace"}}
            assert comparable(template_of(obj), generated) == comparable(pod, generated)
