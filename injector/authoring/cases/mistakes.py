"""What is wrong with a case that its shape does not show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from injector.authoring.cases.case import CHOSEN, PATH_KEYS
from injector.authoring.cases.document import Absent, CaseDocument, nested_values
from injector.authoring.lint.pod_schema import version_of
from injector.diagnostics import Diagnostic, Path
from injector.names import hint, shortened
from injector.pods.context import Object, mapping
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
#: Keys of which a case has only one.
_INPUTS = (("pod", "file"), ("object", "file"))
#: Decisions about a pod, and what to write in their place for an object at a path.
_OF_PODS = {"injected": "amended", "failed": "skipped, or refused where the path says `failurePolicy: Fail`"}
#: Decisions without a status code.
_DONE = ("injected", "amended", "unchanged", "skipped", "failed")
#: How golden files end.
GOLDEN = ".golden.yaml"


def mistakes(item: Any, document: CaseDocument, steps: Path) -> Iterator[Diagnostic]:
    """The mistakes of a case, the item at `steps` of its document. Values of the wrong type are told of by `decode`."""
    if isinstance(item, dict):
        for path, message, help_, key in (*_of_case(item), *_of_expect(mapping(item.get("expect")))):
            yield document.refuse((*steps, *path), message, help=help_, key=key)


#: A path within the case, what is wrong there, what to do, and whether it is about the key.
_Mistake = tuple[Path, str, str, bool]


def _of_case(item: dict[str, Any]) -> Iterator[_Mistake]:
    name, version = item.get("name"), item.get("kubernetes")
    if isinstance(name, str) and not name.strip():
        yield ("name",), "the name is empty; say what the case shows", "", False
    for first, second in _INPUTS:
        if first in item and second in item:
            yield (second,), f"`{first}` and `{second}` both give the input; remove one of them", "", True
    for field_ in ("pod", "object", "oldObject", "request", "params", "settings"):
        for inner, value in nested_values(item.get(field_)):
            if isinstance(value, Absent):
                message = "!absent is only for expected output: `expect.pod`, `expect.object` and `expect.files`"
                yield (field_, *inner), message, "", False
    if isinstance(version, str) and version_of(version) is None:
        yield ("kubernetes",), f'{shortened(version)} is not a version such as "1.33"', "", False
    if item.get("templates") == []:
        yield ("templates",), "templates is empty; name at least one or leave it out", "", False
    path_key = next((key for key in PATH_KEYS if key in item), None)
    if path_key is None:
        yield from _expected_of_pod(mapping(item.get("expect")))
    else:
        yield from _of_path(item, path_key)
        yield from _of_operation(item, item.get("operation", "CREATE"))
        yield from _expected_of_object(mapping(item.get("expect")))


def _of_path(item: dict[str, Any], path_key: str) -> Iterator[_Mistake]:
    """What is wrong with a case of an object at a path."""
    resource = item.get("resource")
    if "pod" in item:
        message = f"`{path_key}` is for an object at a path, but `pod` is for an injection; use `object` instead"
        yield ("pod",), message, "", True
    if item.get("templates") == CHOSEN:
        message = "`chosen` is only for pods. For an object at a path, list the templates here, as the settings do"
        yield ("templates",), message, "", False
    if isinstance(resource, str) and not _RESOURCE.fullmatch(resource):
        message = f"{shortened(resource)} is not a valid resource; write the plural in lower case, such as services"
        yield ("resource",), message, "", False
    for key in mapping(item.get("request")):
        if key in _SAID_BY:
            yield ("request", key), f"do not write request.{key}; in the case, use {_SAID_BY[key]}", "", True


def _of_operation(item: dict[str, Any], operation: str) -> Iterator[_Mistake]:
    """What an operation has no object for, or lacks."""
    inputs = [key for key in ("object", "file", "pod") if key in item]
    if operation == "DELETE" and "object" in item:
        yield ("object",), "on DELETE there is no object any more; write it as `oldObject`", "", True
    if operation == "DELETE" and inputs == ["file"] and "oldObject" in item:
        yield ("file",), "`file` and `oldObject` both say what is deleted; leave one out", "", True
    if operation in ("CREATE", "CONNECT") and "oldObject" in item:
        message = f"on {operation} there was no object before; oldObject is for UPDATE and DELETE"
        yield ("oldObject",), message, "", True
    if not inputs and not (operation == "DELETE" and "oldObject" in item):
        missing = "oldObject" if operation == "DELETE" else "object"
        yield (), f"{missing} is missing; {operation} needs it as the input", "", False


def _expected_of_object(expect: Object) -> Iterator[_Mistake]:
    """What is expected of an object at a path, and is for a pod."""
    for key, instead in (("pod", "write `object`"), ("files", "only sidecars have config files")):
        if key in expect:
            message = f"`{key}` is only for injections, but this case is about an object at a path; {instead}"
            yield ("expect", key), message, "", True
    if (decision := str(expect.get("decision"))) in _OF_PODS:
        message = f"`decision: {decision}` is not possible for an object at a path; write {_OF_PODS[decision]}"
        yield ("expect", "decision"), message, "", False


def _expected_of_pod(expect: Object) -> Iterator[_Mistake]:
    """What is expected of a pod, and is for an object at a path."""
    if "object" in expect:
        message = "`object` is for an object at a path, and this case is about a pod; write `pod`"
        yield ("expect", "object"), message, "", True
    if expect.get("decision") == "amended":
        message = "`decision: amended` is only for an object at a path; for a pod, write `decision: injected`"
        yield ("expect", "decision"), message, "for an object at a path, write the object itself in `object`", False


def _of_expect(expect: Object) -> Iterator[_Mistake]:
    output = {field_: expect[field_] for field_ in ("pod", "object", "files") if expect.get(field_) is not None}
    for path, value in nested_values(output):
        if value is None:
            message = f"`{path[-1]}` has no value here, but every key in the output has a value"
            yield ("expect", *path), message, "write !absent for what must not be there", True
    for name, expected in mapping(expect.get("files")).items():
        if expected in ("", [], {}):
            message = f"{name}: this expects nothing, so it checks nothing"
            help_ = "write a part of the file; or !absent, if there must be no such file"
            yield ("expect", "files", name), message, help_, True
    yield from _of_answer(expect)


def _of_answer(expect: Object) -> Iterator[_Mistake]:
    reason, code, golden = expect.get("reason"), expect.get("code"), expect.get("golden")
    labels = [reason.label for reason in Reason]
    if isinstance(reason, str) and reason not in labels:
        message = f"there is no reason {shortened(reason)}{hint(reason, labels, 'the reasons are')}"
        yield ("expect", "reason"), message, "", False
    if isinstance(code, int) and not 400 <= code <= 599:
        yield ("expect", "code"), f"code is {code}; it has to be from 400 to 599", "", False
    if isinstance(code, int) and expect.get("decision") in _DONE:
        message = f"`code` is only allowed with `decision: refused`, but the decision here is {expect['decision']}"
        yield ("expect", "code"), message, "", True
    if isinstance(golden, str) and not (FILE.match(golden) and golden.endswith(GOLDEN)):
        message = f"{shortened(golden)} is not allowed; name a file in this folder, with a name that ends in {GOLDEN}"
        yield ("expect", "golden"), message, "", False
