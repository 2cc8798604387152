"""What is wrong with a case that its shape does not show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from injector.authoring.cases.document import Absent, Document, Steps
from injector.authoring.versions import version_of
from injector.reasons import Reason
from injector.templates.problem import Problem
from injector.templates.spelling import hint, shortened
from injector.templates.template import FILE

#: How golden files end.
GOLDEN = ".golden.yaml"


def mistakes(item: Any, document: Document, steps: Steps) -> Iterator[Problem]:
    """The mistakes of a case, the item at `steps` of its document. Values of the wrong type are told of by `decode`."""
    if not isinstance(item, dict):
        return
    name, version = item.get("name"), item.get("kubernetes")
    if isinstance(name, str) and not name.strip():
        yield document.refuse((*steps, "name"), "the name is empty; say what the case shows")
    if "pod" in item and "file" in item:
        yield document.refuse((*steps, "file"), "`pod` and `file` both say what goes in; leave one out", key=True)
    for field_ in ("pod", "params", "settings"):
        for inner in _absent(item.get(field_), ()):
            message = "!absent is for what has to come out: `expect.pod` and `expect.files`"
            yield document.refuse((*steps, field_, *inner), message)
    if isinstance(version, str) and version_of(version) is None:
        yield document.refuse((*steps, "kubernetes"), f'{shortened(version)} is not a version such as "1.33"')
    if item.get("templates") == []:
        yield document.refuse((*steps, "templates"), "templates is empty; name at least one or leave it out")
    if isinstance(item.get("expect"), dict):
        yield from _expect_mistakes(item["expect"], document, (*steps, "expect"))


def _expect_mistakes(expect: dict[str, Any], document: Document, steps: Steps) -> Iterator[Problem]:
    for field_ in ("pod", "files"):
        for inner in _nulls(expect.get(field_), ()):
            message = f"{inner[-1]} is empty, and nothing is after an injection"
            help_ = "write !absent for what must not be there"
            yield document.refuse((*steps, field_, *inner), message, help=help_, key=True)
    files = expect.get("files")
    for name, wanted in files.items() if isinstance(files, dict) else ():
        if wanted in ("", [], {}):
            message = f"{name}: nothing is expected of it, so nothing is looked at; give a part of it"
            yield document.refuse(
                (*steps, "files", name), message, help="write !absent for a file that must not be there", key=True
            )
    reason, code, golden = expect.get("reason"), expect.get("code"), expect.get("golden")
    labels = [reason.label for reason in Reason]
    if isinstance(reason, str) and reason not in labels:
        message = f"there is no reason {shortened(reason)}{hint(reason, labels, 'the reasons are')}"
        yield document.refuse((*steps, "reason"), message)
    if isinstance(code, int):
        if not 400 <= code <= 599:
            yield document.refuse((*steps, "code"), f"code is {code}; it has to be from 400 to 599")
        if expect.get("decision") in ("injected", "unchanged", "skipped", "failed"):
            message = f"a code is that of a denial, and the decision is {expect['decision']}, not refused"
            yield document.refuse((*steps, "code"), message, key=True)
    if isinstance(golden, str) and not (FILE.match(golden) and golden.endswith(GOLDEN)):
        message = f"{shortened(golden)} is no name of a file beside this one that ends in {GOLDEN}"
        yield document.refuse((*steps, "golden"), message)


def _absent(value: Any, steps: Steps) -> Iterator[Steps]:
    if isinstance(value, Absent):
        yield steps
    for step, item in _items(value):
        yield from _absent(item, (*steps, step))


def _nulls(value: Any, steps: Steps) -> Iterator[Steps]:
    if value is None and steps:
        yield steps
    for step, item in _items(value):
        yield from _nulls(item, (*steps, step))


def _items(value: Any) -> Any:
    return value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
