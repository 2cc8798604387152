"""Pods, settings, templates and values of each release are taken by the present code as by that release."""

from __future__ import annotations

import copy
import functools
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
import yaml

from injector.cluster.template_maps import template_files
from injector.inject import guard, inject, uninject
from injector.pods.context import Cluster, Namespace, Object
from injector.pods.receipt import read_receipt
from injector.reasons import Effect, Reason
from injector.settings import parse_settings
from injector.templates.snapshot import Snapshot, build_snapshot
from injector.webhook.receipt_seals import PERIOD_SECONDS, CertificateSeals
from tests.corpus.commands import objects, run
from tests.corpus.test_corpus import same
from tests.deploy.helm import CHART
from tests.deploy.values import together
from tests.golden.entrances import Case, read_case
from tests.unit.support import stored

pytestmark = pytest.mark.programs

HERE = Path(__file__).parent
#: The line of an overlay's container that has its image.
_IMAGE = re.compile(r"^( +)image: .*$", re.MULTILINE)


def found(pattern: str) -> list[Any]:
    """All files or folders of a pattern, of each release."""
    return [pytest.param(path, id=str(path.relative_to(HERE))) for path in sorted(HERE.glob(pattern))]


@functools.cache
def sources(release: Path) -> dict[str, dict[str, str]]:
    """The templates of a release's ConfigMaps."""
    maps = yaml.safe_load_all((release / "templates.yaml").read_text())
    return {one["metadata"]["name"]: template_files(one) for one in maps}


def snapshot(case: Case, *, changed: bool = False) -> Snapshot:
    """The settings and templates of a pod's release; with `changed` templates that are newer ones."""
    major, minor = map(int, case.version.split("."))
    files = {
        name: {file: _IMAGE.sub(r"\g<0>\n\1workingDir: /next", text) if changed else text for file, text in one.items()}
        for name, one in sources(case.folder.parents[1]).items()
    }
    settings = case.parsed_settings
    return build_snapshot(settings, files, Cluster((major, minor), settings.cluster_domain))


def pod(case: Case, when: str) -> Object:
    """The pod `before` or `after` its creation."""
    read: Object = yaml.safe_load((case.folder / f"{when}.yaml").read_text())
    return read


def seals(case: Case, key: bytes = b"") -> CertificateSeals:
    """Seals as at the moment at which the pod's receipt was sealed."""
    receipt = read_receipt(pod(case, "after"), case.parsed_settings)
    period = int(receipt.seal.partition(".")[0])
    made = CertificateSeals(lambda: period * PERIOD_SECONDS)
    made.use(key or (case.folder.parents[1] / "seal.key").read_bytes())
    return made


INJECTED = [read_case(one.values[0]) for one in found("*/pods/*") if not one.values[0].name.startswith("failed")]
FAILED = [read_case(one.values[0]) for one in found("*/pods/failed*")]


#: Pods that set parameters which are closed in `required` namespaces since 0.2.0.
CLOSED = ("parameters", "names-of-its-own")


def named(case: Case) -> str:
    return str(case.folder.relative_to(HERE))


def required(case: Case) -> Namespace:
    """The pod's namespace as one that insists."""
    there, label = case.in_namespace(), case.parsed_settings.namespace_label
    return Namespace(there.name, {**there.labels, label.key: label.required}, there.annotations)


def test_there_are_enough() -> None:
    assert len(INJECTED) >= 9 and len(FAILED) >= 2
    assert len(found("*/settings/*.yaml")) >= 3 and len(found("*/manifests/*")) >= 6 and len(found("*/values/*")) >= 3


# ------------------------------------------------------------------------------------------------- pods


@pytest.mark.parametrize("case", [*INJECTED, *FAILED], ids=named)
def test_uninject_gives_the_pod_back(case: Case) -> None:
    assert uninject(pod(case, "after"), case.parsed_settings) == pod(case, "before")


@pytest.mark.parametrize("case", INJECTED, ids=named)
@pytest.mark.parametrize("on_the_way", [lambda pod: pod, stored], ids=["as it was", "stored"])
def test_an_injected_pod_has_everything(case: Case, on_the_way: Any) -> None:
    after = on_the_way(pod(case, "after"))
    again = inject(after, case.in_namespace(), snapshot(case), seals=seals(case))
    if case.folder.name in CLOSED and case.in_namespace() == required(case):
        assert (again.reason, again.effect) == (Reason.INJECTED, Effect.INJECT), again.message
        assert {one.code for one in again.warnings} == {"parameter-not-settable"}
    else:
        assert (again.reason, again.effect) == (Reason.ALREADY_INJECTED, Effect.SKIP), again.message
        assert again.object["spec"] == after["spec"]
    seen = guard(after, required(case), snapshot(case))
    differs = case.folder.name in ("customised", *CLOSED)
    assert seen.reason is (Reason.NOT_INJECTED if differs else Reason.ALREADY_INJECTED), seen.message


@pytest.mark.parametrize("case", INJECTED, ids=named)
def test_the_templates_of_a_receipt_are_the_present_ones(case: Case) -> None:
    """Or an upgrade would show every pod as outdated."""
    receipt = read_receipt(pod(case, "after"), case.parsed_settings)
    now = {template.name: template.digest for template in snapshot(case).catalog}
    assert receipt.templates and receipt.templates.items() <= now.items()


@pytest.mark.parametrize("case", INJECTED, ids=named)
def test_a_seal_still_holds(case: Case) -> None:
    """While replicas of two releases run: a pod that one of the old release has made, with templates it knows alone."""
    after, other = pod(case, "after"), snapshot(case, changed=True)
    passed = guard(after, required(case), other, seals=seals(case))
    assert (passed.reason, passed.effect) == (Reason.ALREADY_INJECTED, Effect.SKIP), passed.message
    assert guard(after, required(case), other, seals=seals(case, b"another key")).effect is Effect.REFUSE
    tampered = copy.deepcopy(after)
    part = (tampered["spec"].get("initContainers") or tampered["spec"]["containers"])[-1]
    part["args"] = ["evil"]
    assert guard(tampered, required(case), other, seals=seals(case)).effect is Effect.REFUSE


@pytest.mark.parametrize("case", FAILED, ids=named)
def test_a_failed_pod_fails_for_the_same_reason(case: Case) -> None:
    after = pod(case, "after")
    settings = case.parsed_settings
    reason = after["metadata"]["annotations"][settings.reason_key].partition(":")[0]
    again = inject(after, case.in_namespace(), snapshot(case))
    assert (str(again.reason), again.effect) == (reason, Effect.MARK)
    assert again.object["metadata"]["annotations"][settings.status_key] == "failed"


# ------------------------------------------------------------------------------------------------- manifests


@pytest.mark.parametrize("path", found("*/manifests/*.injected.*"))
def test_an_injected_manifest(path: Path, tmp_path: Path) -> None:
    for name, files in sources(path.parents[1]).items():
        (tmp_path / name).mkdir()
        for file, text in files.items():
            (tmp_path / name / file).write_text(text)
    back = run("uninject", str(path))
    before = path.with_name(path.name.replace(".injected", ""))
    assert same(objects(back.out), objects(before.read_bytes()))
    again = run("inject", str(path), "--templates", "setup,logger", "--templates-dir", str(tmp_path))
    assert again.out == path.read_bytes()
    assert {line["outcome"] for line in again.lines} <= {"unchanged", "skipped"}


# ------------------------------------------------------------------------------------------------- settings, values


@pytest.mark.parametrize("path", found("*/settings/*.yaml"))
def test_settings_are_read_as_they_were(path: Path) -> None:
    """There may be more of them by now."""
    now = msgspec.json.decode(msgspec.json.encode(parse_settings(yaml.safe_load(path.read_text()))))
    then = json.loads(path.with_suffix(".json").read_text())
    assert together(now, then) == now


@pytest.mark.parametrize("path", found("*/values/*.yaml"))
def test_values_of_the_chart_are_taken(path: Path) -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    defaults = yaml.safe_load((CHART / "values.yaml").read_text())
    values = together(defaults, yaml.safe_load(path.read_text()))
    validator = jsonschema.Draft202012Validator(schema)
    assert [error.message for error in validator.iter_errors(values)] == []
    assert not validator.is_valid({**values, "replica": 1})
