"""Each case through both entrances: the golden files, and that both entrances make the same pod."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonpatch
import pytest
import yaml

from injector.authoring.manifest_writer import dump_yaml
from injector.cli.documents import read_documents
from injector.cli.inputs import Input
from injector.templates.snapshot import Snapshot
from tests.corpus.commands import templates_loaded_once
from tests.golden.entrances import (
    HERE,
    Case,
    Object,
    Webhook,
    by_command_line,
    comparable,
    patch_of,
    patched,
    pod_of,
    read_case,
    template_of,
    webhook,
)
from tests.messages import Golden
from tests.unit.webhook.support import running_loop

CASES = {folder.name: folder for folder in sorted((HERE / "cases").iterdir())}
FILES = ("output.yaml", "answer.yaml")
#: Words of the report, and what the webhook does where the command line says so.
OUTCOMES = {"injected": "INJECT", "skipped": "SKIP", "failed": "MARK", "refused": "REFUSE", "unchanged": "SKIP"}


@pytest.fixture(scope="module", autouse=True)
def templates_once() -> Iterator[None]:
    with templates_loaded_once():
        yield


@pytest.fixture(scope="module")
def https(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webhook]:
    with running_loop() as loop, webhook(loop, tmp_path_factory.mktemp("certificate")) as running:
        yield running


def objects(text: str) -> list[Object]:
    return [d.value for d in read_documents(Input("golden", text.encode())) if isinstance(d.value, dict)]


def with_pods(found: list[Object]) -> list[Object]:
    return [obj for obj in found if obj["kind"] not in ("ConfigMap", "Service")]


def timeless(text: str, snapshot: Snapshot, case: Case) -> str:
    """A text without content hashes of templates and settings, and without this machine's paths."""
    text = text.replace(f"{case.folder}/", "").replace(snapshot.generation, "GENERATION")
    for template in snapshot.catalog:
        text = text.replace(template.digest, f"DIGEST-OF-{template.name.upper()}")
    return text


def outcome(pod: Object, response: Object, status_key: str) -> str:
    """What became of a pod, as the effects of reasons are called."""
    if not response["allowed"]:
        return "REFUSE"
    if not patch_of(response):
        return "SKIP"
    failed = patched(pod, response)["metadata"]["annotations"][status_key] == "failed"
    return "MARK" if failed else "INJECT"


def test_there_are_enough() -> None:
    assert len(CASES) >= 40
    size = sum(path.stat().st_size for folder in CASES.values() for path in folder.iterdir())
    assert size < 1_500_000
    for folder in CASES.values():
        assert {path.name for path in folder.iterdir()} <= {"input.yaml", "case.yaml", *FILES}


@pytest.mark.parametrize("name", CASES)
def test_case(name: str, https: Webhook, tmp_path: Path, request: pytest.FixtureRequest, golden: Golden) -> None:
    case = read_case(CASES[name])
    snapshot = https.use(case)
    written = by_command_line(case, tmp_path)
    pods = [pod_of(obj) for obj in with_pods(objects((case.folder / "input.yaml").read_text()))]
    answers = [https.ask(pod) for pod in pods]

    check_same(case, written.out if written.status == 0 else None, written.err, pods, answers)
    for pod, response in zip(pods, answers, strict=True):
        check_twice(https, pod, response, case)

    came = {
        "output.yaml": written.out if written.status == 0 else None,
        "answer.yaml": json.dumps([readable(response) for response in answers]),
    }
    for file, text in came.items():
        text = None if text is None else timeless(text, snapshot, case)
        if text and file == "answer.yaml":  # hashes are taken out first: some look like numbers and are quoted
            text = "---\n".join(map(dump_yaml, json.loads(text)))
        check_golden(case.folder / file, text, request)
    golden(timeless(written.err, snapshot, case))


def readable(response: Object) -> Object:
    """A response with its patch as YAML."""
    found = {k: v for k, v in response.items() if k not in ("uid", "patch", "patchType")}
    patch = patch_of(response)
    return {**found, "patch": patch} if patch else found


def check_golden(path: Path, text: str | None, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update"):
        if text is None:
            path.unlink(missing_ok=True)
        else:
            path.write_text(text)
    elif text is None:
        assert not path.exists()
    else:
        assert text == path.read_text(), f"{path} differs; --update writes it anew"


def check_same(case: Case, out: str | None, report: str, pods: list[Object], answers: list[Object]) -> None:
    """Both entrances give the same reason for, and the same pod after, each injection."""
    settings = case.parsed_settings
    after = [None] * len(pods) if out is None else with_pods(objects(out))
    lines = [line for line in report.splitlines() if not line.startswith((" ", "configmap/"))][:-1]
    for pod, response, line, obj in zip(pods, answers, lines, after, strict=True):
        _, word, *why = line.split(": ")
        word = word.split(" ")[0]
        assert outcome(pod, response, settings.status_key) == OUTCOMES[word], line
        reason = why[0] if why else "injected"
        assert response["auditAnnotations"]["reason"] == reason
        if out is None:
            continue
        template, generated = template_of(obj), r"[a-z0-9]+-[a-z0-9]+-[0-9a-f]{16}"
        assert comparable(template, generated) == comparable(patched(pod, response), generated)


def check_twice(https: Webhook, pod: Object, response: Object, case: Case) -> None:
    """A pod that has its sidecar gets nothing more, and our own account of the patch is that of others."""
    if not response["allowed"]:
        assert "patch" not in response
        return
    once = patched(pod, response)
    if outcome(pod, response, case.parsed_settings.status_key) == "INJECT":
        again = https.ask(once)
        assert again["auditAnnotations"]["reason"] == "already-injected"
        assert "patch" not in again
    steps: list[Any] = patch_of(response)
    assert all(step["op"] in ("add", "replace", "remove") for step in steps)
    minimal = jsonpatch.make_patch(pod, once).patch
    assert bool(minimal) == bool(steps)


def test_every_file_is_yaml() -> None:
    """Other readers than ours take the golden files, and they see strings where we wrote strings."""
    for folder in CASES.values():
        for file in ("output.yaml", "answer.yaml"):
            if (folder / file).exists():
                text = (folder / file).read_text()
                assert list(yaml.safe_load_all(text)) == objects(text), folder.name
