"""A verdict in, bytes of an AdmissionReview out; and the body of an HTTP error, a Kubernetes Status.

Kubernetes' clients show a Status to people as they do the API server's own.
https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#response
https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

import msgspec

from injector.diagnostics import WARNING_LENGTH, printable
from injector.errors import DENIED_CODE
from injector.injection import Injection
from injector.pods.context import filled
from injector.webhook.review import VERSIONS, Review

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
