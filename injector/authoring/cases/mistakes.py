"""What is wrong with a case that its shape does not show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

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
#: Decisions about a pod, and what to write in their place for an object at a path.
_OF_PODS = {"injected": "amended", "failed": "skipped, or refused where the path says `failurePolicy: Fail`"}
#: Decisions without a status code.
_DONE = ("injected", "amended", "unchanged", "skipped", "failed")
#: How golden files end.
GOLDEN = ".golden.yaml"


class _Check(NamedTuple):
    """Whether there is a mistake; its path within the case, what is wrong, what to do, and whether it is at the key."""

    is_wrong: bool
    path: Path
    message: str
    help: str = ""
    key: bool = False


def mistakes(item: Any, document: CaseDocument, steps: Path) -> Iterator[Diagnostic]:
    """The mistakes of a case, the item at `steps` of its document. Values of the wrong type are told of by `decode`."""
    if isinstance(item, dict):
        for check in _checks(item, mapping(item.get("expect"))):
            if check.is_wrong:
                yield document.refuse((*steps, *check.path), check.message, help=check.help, key=check.key)


def _checks(item: Object, expect: Object) -> Iterator[_Check]:
    yield from _of_case(item)
    path_key = next((key for key in PATH_KEYS if key in item), None)
    if path_key is None:
        yield from _expected_of_pod(expect)
    else:
        yield from _of_path(item, path_key)
        yield from _of_operation(item, item.get("operation", "CREATE"))
        yield from _expected_of_object(expect)
    yield from _of_output(expect)
    yield from _of_answer(expect)


def _of_case(item: Object) -> list[_Check]:
    name, version = item.get("name"), item.get("kubernetes")
    inputs = ("pod", "object", "oldObject", "request", "params", "settings")
    no_tag = "!absent is only for expected output: `expect.pod`, `expect.object` and `expect.files`"
    return [
        _Check(isinstance(name, str) and not name.strip(), ("name",), "the name is empty; say what the case shows"),
        *(
            _Check(
                key in item and "file" in item,
                ("file",),
                f"`{key}` and `file` both give the input; remove one of them",
                key=True,
            )
            for key in ("pod", "object")
        ),
        *(
            _Check(isinstance(value, Absent), (field, *inner), no_tag)
            for field in inputs
            for inner, value in nested_values(item.get(field))
        ),
        _Check(
            isinstance(version, str) and version_of(version) is None,
            ("kubernetes",),
            f'{shortened(version)} is not a version such as "1.33"',
        ),
        _Check(item.get("templates") == [], ("templates",), "templates is empty; name at least one or leave it out"),
    ]


def _of_path(item: Object, path_key: str) -> list[_Check]:
    """What is wrong with a case of an object at a path."""
    resource = item.get("resource")
    return [
        _Check(
            "pod" in item,
            ("pod",),
            f"`{path_key}` is for an object at a path, but `pod` is for an injection; use `object` instead",
            key=True,
        ),
        _Check(
            item.get("templates") == CHOSEN,
            ("templates",),
            "`chosen` is only for pods. For an object at a path, list the templates here, as the settings do",
        ),
        _Check(
            isinstance(resource, str) and not _RESOURCE.fullmatch(resource),
            ("resource",),
            f"{shortened(resource)} is not a valid resource; write the plural in lower case, such as services",
        ),
        *(
            _Check(True, ("request", key), f"do not write request.{key}; in the case, use {_SAID_BY[key]}", key=True)
            for key in mapping(item.get("request"))
            if key in _SAID_BY
        ),
    ]


def _of_operation(item: Object, operation: str) -> list[_Check]:
    """What an operation has no object for, or lacks."""
    inputs, deleted = [key for key in ("object", "file", "pod") if key in item], operation == "DELETE"
    return [
        _Check(
            deleted and "object" in item,
            ("object",),
            "on DELETE there is no object any more; write it as `oldObject`",
            key=True,
        ),
        _Check(
            deleted and inputs == ["file"] and "oldObject" in item,
            ("file",),
            "`file` and `oldObject` both say what is deleted; leave one out",
            key=True,
        ),
        _Check(
            operation in ("CREATE", "CONNECT") and "oldObject" in item,
            ("oldObject",),
            f"on {operation} there was no object before; oldObject is for UPDATE and DELETE",
            key=True,
        ),
        _Check(
            not inputs and not (deleted and "oldObject" in item),
            (),
            f"{'oldObject' if deleted else 'object'} is missing; {operation} needs it as the input",
        ),
    ]


def _expected_of_object(expect: Object) -> list[_Check]:
    """What is expected of an object at a path, and is for a pod."""
    decision = str(expect.get("decision"))
    return [
        *(
            _Check(
                key in expect,
                ("expect", key),
                f"`{key}` is only for injections, but this case is about an object at a path; {instead}",
                key=True,
            )
            for key, instead in (("pod", "write `object`"), ("files", "only sidecars have config files"))
        ),
        _Check(
            decision in _OF_PODS,
            ("expect", "decision"),
            f"`decision: {decision}` is not possible for an object at a path; write {_OF_PODS.get(decision)}",
        ),
    ]


def _expected_of_pod(expect: Object) -> list[_Check]:
    """What is expected of a pod, and is for an object at a path."""
    return [
        _Check(
            "object" in expect,
            ("expect", "object"),
            "`object` is for an object at a path, and this case is about a pod; write `pod`",
            key=True,
        ),
        _Check(
            expect.get("decision") == "amended",
            ("expect", "decision"),
            "`decision: amended` is only for an object at a path; for a pod, write `decision: injected`",
            "for an object at a path, write the object itself in `object`",
        ),
    ]


def _of_output(expect: Object) -> list[_Check]:
    output = {field: expect[field] for field in ("pod", "object", "files") if expect.get(field) is not None}
    return [
        *(
            _Check(
                True,
                ("expect", *path),
                f"`{path[-1]}` has no value here, but every key in the output has a value",
                "write !absent for what must not be there",
                key=True,
            )
            for path, value in nested_values(output)
            if value is None
        ),
        *(
            _Check(
                expected in ("", [], {}),
                ("expect", "files", name),
                f"{name}: this expects nothing, so it checks nothing",
                "write a part of the file; or !absent, if there must be no such file",
                key=True,
            )
            for name, expected in mapping(expect.get("files")).items()
        ),
    ]


def _of_answer(expect: Object) -> list[_Check]:
    reason, code, golden, decision = (expect.get(key) for key in ("reason", "code", "golden", "decision"))
    labels = [reason.label for reason in Reason]
    return [
        _Check(
            isinstance(reason, str) and reason not in labels,
            ("expect", "reason"),
            f"there is no reason {shortened(reason)}{hint(str(reason), labels, 'the reasons are')}",
        ),
        _Check(
            isinstance(code, int) and not 400 <= code <= 599,
            ("expect", "code"),
            f"code is {code}; it has to be from 400 to 599",
        ),
        _Check(
            isinstance(code, int) and decision in _DONE,
            ("expect", "code"),
            f"`code` is only allowed with `decision: refused`, but the decision here is {decision}",
            key=True,
        ),
        _Check(
            isinstance(golden, str) and not (FILE.match(golden) and golden.endswith(GOLDEN)),
            ("expect", "golden"),
            f"{shortened(golden)} is not allowed; name a file in this folder, with a name that ends in {GOLDEN}",
        ),
    ]
