"""Bytes of an AdmissionReview in, a Review out. Nothing but this and `response.py` knows the format.

Both versions, `admission.k8s.io/v1` and `v1beta1`, have the same fields here; each is answered in its own.
https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#webhook-request-and-response
"""

from __future__ import annotations

from typing import Any

import msgspec

from injector.errors import ReviewError
from injector.pods.context import Object, Request

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
_encode = msgspec.json.encode


def read_review(body: bytes) -> Review:
    """The review in a request's body.

    Raises ReviewError (HTTP 400) saying what is wrong and where: not JSON, not UTF-8, nested too deeply, a missing
    field, a wrong type, another kind or version.
    """
    try:
        review = _decoder.decode(body)
    except msgspec.ValidationError as error:
        raise ReviewError(f"the body is not an AdmissionReview: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ReviewError(f"the body is not JSON: {error}") from None
    except RecursionError:
        raise ReviewError("the body is nested too deeply") from None
    if review.kind != "AdmissionReview" or review.api_version not in VERSIONS:
        raise ReviewError(
            f"the body is {review.api_version[:60]} {review.kind[:60]}; "
            "this server reads AdmissionReview of admission.k8s.io/v1 and v1beta1"
        )
    if not review.request.uid:
        raise ReviewError("request.uid is empty")
    return review


def read_object(raw: bytes) -> Object:
    """An object of a review as a plain dict, less `metadata.managedFields`: nobody looks at who set which field, and
    in a small pod that is half of all there is to decode.

    Raises ReviewError (HTTP 400) when it is missing, null, no object, not UTF-8 or nested too deeply.
    """
    if not raw or raw == b"null":
        raise ReviewError("request.object is missing")
    try:
        str(raw, "utf-8")  # all of it, also what is not decoded below
        fields = _fields_decoder.decode(raw)
        return {name: _metadata(value) if name == "metadata" else _value(value) for name, value in fields.items()}
    except msgspec.ValidationError as error:
        raise ReviewError(f"request.object is not an object: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ReviewError(f"request.object is not JSON: {error}") from None
    except RecursionError:
        raise ReviewError("request.object is nested too deeply") from None


def _value(raw: msgspec.Raw) -> Any:
    return _value_decoder.decode(raw)


def _metadata(raw: msgspec.Raw) -> Any:
    if not bytes(raw).startswith(b"{"):  # no metadata that any API server sends
        return _value(raw)
    return {name: _value(value) for name, value in _fields_decoder.decode(raw).items() if name != "managedFields"}


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


def read_request(body: bytes) -> Object:
    """All of a review's request but its two objects, as a plain dict; `read_review` has taken the body already.

    Raises ReviewError (HTTP 400) where what that passes over is not UTF-8 or nested too deeply.
    """
    try:
        request = _fields_decoder.decode(_fields_decoder.decode(body)["request"])
        return {name: _value(value) for name, value in request.items() if name not in ("object", "oldObject")}
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ReviewError(f"the body is not JSON: {error}") from None
    except RecursionError:
        raise ReviewError("the body is nested too deeply") from None
