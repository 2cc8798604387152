"""Bytes of an AdmissionReview in, a Review out; a verdict in, bytes of an AdmissionReview out; and the body of an HTTP
error, a Kubernetes Status, which Kubernetes' clients show to people as they do the API server's own.

Nothing but this module knows the format. Both versions, `admission.k8s.io/v1` and `v1beta1`, have the same fields here;
each is answered in its own.
https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#webhook-request-and-response
https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from itertools import accumulate
from typing import Any

import msgspec

from injector.diagnostics import WARNING_LENGTH, printable
from injector.errors import DENIED_CODE, ReviewError
from injector.injection import Injection
from injector.pods.context import Object, Request, filled

#: The versions of AdmissionReview that are read, and answered.
VERSIONS = ("admission.k8s.io/v1", "admission.k8s.io/v1beta1")


class GroupResource(msgspec.Struct, frozen=True, gc=False):
    """Which kind of object is asked about, as the API names it: ("pods", "", "v1")."""

    resource: str
    group: str = ""
    version: str = "v1"


class ReviewRequest(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The fields of a review's request that matter here. The object stays bytes until somebody has to look at it."""

    uid: str
    operation: str
    resource: GroupResource
    sub_resource: str | None = None
    namespace: str | None = None
    object: msgspec.Raw = msgspec.Raw()
    old_object: msgspec.Raw = msgspec.Raw()
    dry_run: bool | None = None


class Review(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """An AdmissionReview as it came in."""

    api_version: str
    kind: str
    request: ReviewRequest


_decoder = msgspec.json.Decoder(Review)
_fields_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
_value_decoder = msgspec.json.Decoder()

_FAULTS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

#: The largest object that an API server takes.
OBJECT_BYTES = 3 * 1024 * 1024
#: What a review may hold besides its objects: who asks and how.
REQUEST_BYTES = 256 * 1024
#: The deepest that an object may be nested: Kubernetes' own, definitions of resources among them, have less than 60.
DEEPEST = 200
_NO_STRUCTURE = bytes(code for code in range(256) if code not in b'[]{},:"')
#: A step down for an opening bracket and, as a signed byte, one up for a closing one.
_STEPS = bytes(1 if code in b"[{" else 255 if code in b"]}" else 0 for code in range(256))


def read_review(body: bytes) -> Review:
    """The review in a request's body.

    Raises ReviewError (HTTP 400) saying what is wrong and where: not JSON, not UTF-8, nested too deeply, a missing
    field, a wrong type, another kind or version.
    """
    try:
        review = _decoder.decode(body)
    except _FAULTS as error:
        raise _unreadable("the body", "an AdmissionReview", error) from None
    if review.kind != "AdmissionReview" or review.api_version not in VERSIONS:
        raise ReviewError(
            f"the body is {review.api_version[:60]} {review.kind[:60]}; "
            "this server reads AdmissionReview of admission.k8s.io/v1 and v1beta1"
        )
    if not review.request.uid:
        raise ReviewError("request.uid is empty")
    return review


def _unreadable(subject: str, expected: str, error: Exception) -> ReviewError:
    """The error about a text that is nested too deeply, is not what is expected, or not even JSON."""
    if isinstance(error, RecursionError):
        return ReviewError(f"{subject} is nested too deeply")
    return ReviewError(
        f"{subject} is not {expected if isinstance(error, msgspec.ValidationError) else 'JSON'}: {error}"
    )


def check_bounds(raw: bytes, subject: str) -> None:
    """Refuse JSON with more values than any object of an API server, or nested deeper, before it becomes objects.

    All is counted on the bytes. A list of empty lists takes 24 times its bytes in memory, one nested deeply 47 times.
    An object within the API server's limit on requests cannot hold too many values, so only a larger one is counted.
    Raises ReviewError (HTTP 413), which says that `subject` is wrong.
    https://pkg.go.dev/k8s.io/apiserver/pkg/server#Config (MaxRequestBodyBytes)
    """
    _check_size(raw, subject)
    _check_depth(raw, subject)


def _check_size(raw: bytes, subject: str) -> None:
    large = len(raw) > OBJECT_BYTES and _least_size(raw) > OBJECT_BYTES
    if large and _least_size(_without_strings(raw)) > OBJECT_BYTES:
        raise ReviewError(
            f"{subject} is too large: its values need more than {OBJECT_BYTES} bytes, the maximum for an object", 413
        )


def _check_depth(raw: bytes, subject: str) -> None:
    if raw.count(b"[") + raw.count(b"{") <= DEEPEST:
        return
    steps = memoryview(_without_strings(raw).translate(_STEPS, b",:")).cast("b")
    if max(accumulate(steps), default=0) > DEEPEST:
        raise ReviewError(f"{subject} is nested too deeply: more than {DEEPEST} levels", 413)


def _least_size(raw: bytes) -> int:
    """How many bytes the values in JSON take at least: two for each list, map and comma, three more for each key."""
    return 2 * (raw.count(b"[") + raw.count(b"{") + raw.count(b",")) + 3 * raw.count(b":")


def _without_strings(raw: bytes) -> bytes:
    """JSON without its strings, as far as it is JSON."""
    if b"\\" in raw:
        raw = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    # Most strings hold nothing that counts: with all else gone their quotes are next to each other.
    structure = raw.translate(None, _NO_STRUCTURE).replace(b'""', b"")
    return b"".join(structure.split(b'"')[::2]) if b'"' in structure else structure


def read_object(raw: bytes) -> Object:
    """An object of a review as a plain dict, less `metadata.managedFields`: nobody looks at who set which field, and
    in a small pod that is half of all there is to decode.

    Raises ReviewError (HTTP 400) when it is missing, null, no object, not UTF-8 or nested too deeply.
    """
    if not raw or raw == b"null":
        raise ReviewError("request.object is missing")
    _check_size(raw, "request.object")
    try:
        str(raw, "utf-8")  # all of it, also what is not decoded below
        fields = _fields_decoder.decode(raw)
        return {name: _metadata(value) if name == "metadata" else _shallow(value) for name, value in fields.items()}
    except _FAULTS as error:
        raise _unreadable("request.object", "an object", error) from None


def optional_object(raw: bytes) -> Object:
    """One of a review's two objects; {} where it is none. Raises as `read_object`."""
    return {} if not raw or raw == b"null" else read_object(raw)


def _shallow(raw: msgspec.Raw) -> Any:
    """A part of an object, checked for its depth before it is decoded. Parts that are not decoded need no check."""
    if len(memoryview(raw)) > DEEPEST:  # fewer bytes cannot open more levels
        _check_depth(bytes(raw), "request.object")
    return _value_decoder.decode(raw)


def _metadata(raw: msgspec.Raw) -> Any:
    if not bytes(raw).startswith(b"{"):  # no metadata that any API server sends
        return _shallow(raw)
    return {name: _shallow(value) for name, value in _fields_decoder.decode(raw).items() if name != "managedFields"}


def to_request(request: ReviewRequest) -> Request:
    """The request as the core takes it."""
    return Request(
        operation=request.operation,
        resource=request.resource.resource,
        group=request.resource.group,
        sub_resource=request.sub_resource or "",
        dry_run=bool(request.dry_run),
        version=request.resource.version,
    )


def read_request(review: Review, body: bytes) -> Object:
    """All of a review's request but its two objects, as a plain dict; `read_review` has read the review from the body.

    Raises ReviewError (HTTP 400, or 413 where it is too large) where a part cannot be read that `read_review` skips.
    """
    rest = len(body) - len(bytes(review.request.object)) - len(bytes(review.request.old_object))
    if rest > REQUEST_BYTES:
        raise ReviewError(
            f"apart from object and oldObject, the body holds {rest} bytes; the maximum is {REQUEST_BYTES}", 413
        )
    try:
        request = _fields_decoder.decode(_fields_decoder.decode(body)["request"])
        fields = {name: value for name, value in request.items() if name not in ("object", "oldObject")}
        for name, value in fields.items():
            check_bounds(bytes(value), f"request.{name}")
        return {name: _value_decoder.decode(value) for name, value in fields.items()}
    except _FAULTS as error:
        raise _unreadable("the body", "JSON", error) from None


#: How many characters all warnings of a response may have together (Kubernetes' own limit).
WARNINGS_LENGTH = 4096

_HEADS = {
    version: b'{"apiVersion":"%b","kind":"AdmissionReview","response":{"uid":' % version.encode()
    for version in VERSIONS
}
#: The machine-readable reason that Kubernetes has for an HTTP status code; for others (402) we say `Forbidden`.
#: https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#http-status-codes
_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
    410: "Gone",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}

_encode = msgspec.json.encode


class AdmissionResponse(msgspec.Struct, frozen=True, kw_only=True):
    """What a review is answered with, before it becomes bytes.

    `patch` is a JSON Patch (RFC 6902) as bytes, empty for none; `message` and `code` are what the client
    of a refusal sees, `audit` goes to the API server's audit log.
    """

    allowed: bool
    patch: bytes = b""
    message: str = ""
    code: int = DENIED_CODE
    warnings: tuple[str, ...] = ()
    audit: dict[str, str] = {}


def response_to(injection: Injection) -> AdmissionResponse:
    """What the API server is answered about an injection."""
    return AdmissionResponse(
        allowed=injection.allowed,
        patch=_encode(injection.patch) if injection.patch else b"",
        message=injection.message,
        code=injection.code,
        warnings=injection.warning_lines,
        audit=audit_annotations(injection.reason.label, injection.templates, injection.generation),
    )


def answer_head(review: Review) -> bytes:
    """The part of an answer that differs from review to review: version, kind, uid."""
    return _HEADS[review.api_version] + _encode(review.request.uid)


def answer_tail(verdict: AdmissionResponse) -> bytes:
    """The part of an answer that is the same for every review that gets this verdict; follows `answer_head`."""
    response: dict[str, Any] = {"allowed": verdict.allowed}
    if not verdict.allowed:
        response["status"] = {
            "code": verdict.code,
            "reason": _REASONS.get(verdict.code, "Forbidden"),
            "message": printable(verdict.message),
        }
    if verdict.patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(verdict.patch).decode()
    response |= filled({"warnings": shorten_warnings(verdict.warnings), "auditAnnotations": verdict.audit})
    return b"," + _encode(response)[1:] + b"}"


def shorten_warnings(warnings: Iterable[str]) -> list[str]:
    """Warnings as Kubernetes takes them: no control characters, each within 120 characters, within 4,096 in all.

    One that is too long is cut at a word; when there are too many, the last one says how many are left out.
    """
    lines = [line for line in (" ".join(w.split()) for w in warnings) if line]
    lines = [shorten(printable(line), WARNING_LENGTH) for line in lines]
    shortened: list[str] = []
    room = WARNINGS_LENGTH
    for position, line in enumerate(lines):
        rest = len(lines) - position
        # Kubernetes counts bytes; the closing line below needs a little room of its own.
        room -= len(line.encode())
        if room < (80 if rest > 1 else 0):
            shortened.append(f"{rest} more warnings are left out; `injector inject FILE` shows all of them")
            break
        shortened.append(line)
    return shortened


def shorten(text: str, length: int) -> str:
    """`text` in at most `length` characters, cut at a word where there is one, ending in `…` when cut."""
    if len(text) <= length:
        return text
    cut = text[: length - 1]
    space = cut.rfind(" ")
    # A word as long as half the text is not a word to cut at.
    return (cut[:space] if space > length // 2 else cut).rstrip(" ,;:") + "…"


def audit_annotations(reason: str, templates: Iterable[tuple[str, str]], generation: str) -> dict[str, str]:
    """The audit annotations of an answer. The API server puts the webhook's name in front of each key."""
    names = ",".join(f"{name}@{digest}" for name, digest in templates)
    return {"reason": reason} | filled({"templates": names, "generation": generation})


def status_body(code: int, message: str) -> bytes:
    """A Status of failure as JSON: `code` is the HTTP status code, `message` one sentence for people."""
    return msgspec.json.encode(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": printable(message),
            "reason": _REASONS.get(code, "Forbidden"),
            "code": code,
        }
    )
