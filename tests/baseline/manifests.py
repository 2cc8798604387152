"""The parts of manifests: the corpus through the command line, the golden cases through it and over HTTPS."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

from tests.baseline.case import TOLD, Answer, Case, Object
from tests.baseline.entrances import Output, command, templates_loaded_once, timeless
from tests.corpus.manifests import MANIFESTS, VARIANTS, VERSIONS
from tests.golden import test_golden, test_paths
from tests.golden.entrances import Case as GoldenCase, Webhook, by_command_line, pod_of, read_case, webhook
from tests.golden.path_entrances import PATH_TEMPLATES, PathWebhook
from tests.unit.webhook.support import Loop, running_loop


def corpus(variant: str, version: str) -> Iterator[Case]:
    """`injector inject` over each manifest of the corpus."""
    options = (*VARIANTS[variant], "--kubernetes-version", VERSIONS[version], "--output", "json")
    with templates_loaded_once():
        for name, manifest in MANIFESTS.items():
            yield Case(name, f"tests/corpus/manifests/{name}", partial(_injected, manifest.data, options))


def golden() -> Iterator[Case]:
    """Each golden case."""
    with (
        templates_loaded_once(),
        running_loop() as loop,
        tempfile.TemporaryDirectory() as folder,
        webhook(loop, Path(folder)) as https,
    ):
        for name, place in test_golden.CASES.items():
            yield Case(name, str(place), partial(_golden, read_case(place), https, Path(folder)))


def golden_paths() -> Iterator[Case]:
    """Each golden case of the settings' paths."""
    with templates_loaded_once(), running_loop() as loop, tempfile.TemporaryDirectory() as folder:
        for name, place in test_paths.CASES.items():
            yield Case(name, str(place), partial(_golden_paths, read_case(place), loop, Path(folder)))


def _injected(data: bytes, options: tuple[str, ...]) -> Answer:
    return {"input": data, **_written(command("inject", "-", *options, data=data))}


def _golden(case: GoldenCase, https: Webhook, folder: Path) -> Answer:
    https.use(case)
    made = [pod_of(obj) for obj in test_golden.with_pods(_objects(case))]
    answers = [
        (test_golden.outcome(pod, said, case.parsed_settings.status_key), said)
        for pod in made
        for said in [https.ask(pod)]
    ]
    return {**_by_command_line(case, folder), **_answered(answers)}


def _golden_paths(case: GoldenCase, loop: Loop, folder: Path) -> Answer:
    with closing(PathWebhook(loop, folder, case)) as https:
        said = [one for obj in _objects(case) for one in https.created(obj)[0]]
    answers = [(f"{one.path} {one.kind}", one.response) for one in said]
    return {**_by_command_line(case, folder, "--templates-dir", str(PATH_TEMPLATES)), **_answered(answers)}


def _objects(case: GoldenCase) -> list[Object]:
    return test_golden.objects((case.folder / "input.yaml").read_text())


def _by_command_line(case: GoldenCase, folder: Path, *more: str) -> Answer:
    written = by_command_line(case, folder, *more, "--output", "json")
    given = b"".join(
        path.read_bytes() for path in (case.folder / "input.yaml", case.folder / "case.yaml") if path.exists()
    )
    return {"input": given, **_written(Output(written.status, written.out.encode(), written.err))}


def _written(output: Output) -> Answer:
    return {"exit": output.exit, "objects": output.objects, "output": timeless(output.out), TOLD: (output.err,)}


def _answered(answers: list[tuple[str, Object]]) -> Answer:
    """What the webhook answered: for each what became of it, the reason, the number of warnings and the code."""
    lines = [
        f"{what} {said['allowed']} {said['auditAnnotations']['reason']} {len(said.get('warnings', ()))}"
        f" {said.get('status', {}).get('code', '-')}"
        for what, said in answers
    ]
    patches = [timeless(base64.b64decode(said.get("patch", ""))) for _, said in answers]
    return {"answers": lines, "patch": b"\n".join(patches)}
