"""What is wrong with a case that its shape does not show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from injector.authoring.cases.case import CHOSEN, PATH_KEYS
from injector.authoring.cases.document import Absent, CaseDocument, nested_values
from injector.authoring.lint.pod_schema import version_of
from injector.diagnostics import Diagnostic, Path
from injector.names import hint, shortened
from injector.pods.constraints.pod_view import mapping
from injector.pods.context import Object
from injector.reasons import Reason
from injector.templates.template import FILE, FOR

_RESOURCE = FOR["resources"].word
#: Fields of a review's request that other keys of a case say.
_SAID_BY = {
    "object": "`object`",
    "oldObject": "`oldObject`",
    "operation": "`operation`",
    "userInfo": "`user`",
    "namespace": "`namespace`",
    "resource": "`resource`",
    "subResource": "`resource`, as in pods/ephemeralcontainers",
}
#: Decisions about a pod, and what to write in their place for an object at a path.
_OF_PODS = {"injected": "amended", "failed": "skipped, or refused where the path says `failurePolicy: Fail`"}
#: How golden files end.
GOLDEN = ".golden.yaml"


def mistakes(item: Any, document: CaseDocument, steps: Path) -> Iterator[Diagnostic]:
    """The mistakes of a case, the item at `steps` of its document. Values of the wrong type are told of by `decode`."""
    if not isinstance(item, dict):
        return
    name, version = item.get("name"), item.get("kubernetes")
    if isinstance(name, str) and not name.strip():
        yield document.refuse((*steps, "name"), "the name is empty; say what the case shows")
    if "pod" in item and "file" in item:
        yield document.refuse((*steps, "file"), "`pod` and `file` both give the input; remove one of them", key=True)
    yield from _path_mistakes(item, document, steps)
    for field_ in ("pod", "object", "oldObject", "request", "params", "settings"):
        for inner, value in nested_values(item.get(field_)):
            if isinstance(value, Absent):
                message = "!absent is only for expected output: `expect.pod`, `expect.object` and `expect.files`"
                yield document.refuse((*steps, field_, *inner), message)
    if isinstance(version, str) and version_of(version) is None:
        yield document.refuse((*steps, "kubernetes"), f'{shortened(version)} is not a version such as "1.33"')
    if item.get("templates") == []:
        yield document.refuse((*steps, "templates"), "templates is empty; name at least one or leave it out")
    if isinstance(item.get("expect"), dict):
        yield from _expect_mistakes(item["expect"], document, (*steps, "expect"))


def _path_mistakes(item: dict[str, Any], document: CaseDocument, steps: Path) -> Iterator[Diagnostic]:
    """What only a pod's case, or only an object's case can have."""
    path_key = next((key for key in PATH_KEYS if key in item), None)
    expect = mapping(item.get("expect"))
    if path_key is None:
        yield from _expected_of_pod(expect, document, (*steps, "expect"))
        return
    if "pod" in item:
        message = (
            f"`{path_key}` is for an object at a path, but `pod` is for an injection; use `object` instead of `pod`"
        )
        yield document.refuse((*steps, "pod"), message, key=True)
    if "object" in item and "file" in item:
        yield document.refuse((*steps, "file"), "`object` and `file` both give the input; remove one of them", key=True)
    yield from _expected_of_object(expect, document, (*steps, "expect"))
    if item.get("templates") == CHOSEN:
        message = (
            "`chosen` is only for pods. For an object at a path, list the templates here, as the settings do for "
            "the path"
        )
        yield document.refuse((*steps, "templates"), message)
    yield from _operation_mistakes(item, document, steps)
    resource = item.get("resource")
    if isinstance(resource, str) and not _RESOURCE.fullmatch(resource):
        message = f"{shortened(resource)} is not a valid resource; write the plural in lower case, such as services"
        yield document.refuse((*steps, "resource"), message)
    for key in mapping(item.get("request")):
        if key in _SAID_BY:
            message = f"do not write request.{key}; in the case, use {_SAID_BY[key]}"
            yield document.refuse((*steps, "request", key), message, key=True)


def _expected_of_pod(expect: Object, document: CaseDocument, at: Path) -> Iterator[Diagnostic]:
    """What is expected of a pod, and is for an object at a path."""
    if "object" in expect:
        message = "`object` is for an object at a path, and this case is about a pod; write `pod`"
        yield document.refuse((*at, "object"), message, key=True)
    if expect.get("decision") == "amended":
        message = "`decision: amended` is only for an object at a path; for a pod, write `decision: injected`"
        help_ = "for an object at a path, write the object itself in `object`"
        yield document.refuse((*at, "decision"), message, help=help_)


def _expected_of_object(expect: Object, document: CaseDocument, at: Path) -> Iterator[Diagnostic]:
    """What is expected of an object at a path, and is for a pod."""
    for key, instead in (("pod", "write `object`"), ("files", "only sidecars have config files")):
        if key in expect:
            message = f"`{key}` is only for injections, but this case is about an object at a path; {instead}"
            yield document.refuse((*at, key), message, key=True)
    decision = expect.get("decision")
    if isinstance(decision, str) and decision in _OF_PODS:
        message = f"`decision: {decision}` is not possible for an object at a path; write {_OF_PODS[decision]}"
        yield document.refuse((*at, "decision"), message)


def _operation_mistakes(item: dict[str, Any], document: CaseDocument, steps: Path) -> Iterator[Diagnostic]:
    operation, inputs = item.get("operation", "CREATE"), [key for key in ("object", "file", "pod") if key in item]
    if operation == "DELETE" and "object" in item:
        message = "on DELETE there is no object any more; write it as `oldObject`"
        yield document.refuse((*steps, "object"), message, key=True)
    if operation == "DELETE" and inputs == ["file"] and "oldObject" in item:
        message = "`file` and `oldObject` both say what is deleted; leave one out"
        yield document.refuse((*steps, "file"), message, key=True)
    if operation in ("CREATE", "CONNECT") and "oldObject" in item:
        message = f"on {operation} there was no object before; oldObject is for UPDATE and DELETE"
        yield document.refuse((*steps, "oldObject"), message, key=True)
    if not inputs and not (operation == "DELETE" and "oldObject" in item):
        missing = "oldObject" if operation == "DELETE" else "object"
        yield document.refuse(steps, f"{missing} is missing; {operation} needs it as the input")


def _expect_mistakes(expect: dict[str, Any], document: CaseDocument, steps: Path) -> Iterator[Diagnostic]:
    output = {field_: expect[field_] for field_ in ("pod", "object", "files") if expect.get(field_) is not None}
    for path, value in nested_values(output):
        if value is None:
            message = f"`{path[-1]}` has no value here, but every key in the output has a value"
            help_ = "write !absent for what must not be there"
            yield document.refuse((*steps, *path), message, help=help_, key=True)
    for name, expected in mapping(expect.get("files")).items():
        if expected in ("", [], {}):
            message = f"{name}: this expects nothing, so it checks nothing"
            help_ = "write a part of the file; or !absent, if there must be no such file"
            yield document.refuse((*steps, "files", name), message, help=help_, key=True)
    reason, code, golden = expect.get("reason"), expect.get("code"), expect.get("golden")
    labels = [reason.label for reason in Reason]
    if isinstance(reason, str) and reason not in labels:
        message = f"there is no reason {shortened(reason)}{hint(reason, labels, 'the reasons are')}"
        yield document.refuse((*steps, "reason"), message)
    if isinstance(code, int):
        if not 400 <= code <= 599:
            yield document.refuse((*steps, "code"), f"code is {code}; it has to be from 400 to 599")
        if expect.get("decision") in ("injected", "amended", "unchanged", "skipped", "failed"):
            message = f"`code` is only allowed with `decision: refused`, but the decision here is {expect['decision']}"
            yield document.refuse((*steps, "code"), message, key=True)
    if isinstance(golden, str) and not (FILE.match(golden) and golden.endswith(GOLDEN)):
        message = f"{shortened(golden)} is not allowed; name a file in this folder, with a name that ends in {GOLDEN}"
        yield document.refuse((*steps, "golden"), message)
