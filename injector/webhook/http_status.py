"""The body of an HTTP error: a Kubernetes Status, which its clients show to people as they do the API server's own.

https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/
"""

from __future__ import annotations

import msgspec

#: The machine-readable reason that Kubernetes has for an HTTP status code.
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


def reason_of(code: int) -> str:
    """Kubernetes' reason for an HTTP status code; `Forbidden` for one that it has none for, such as 402."""
    return _REASONS.get(code, "Forbidden")


def status_body(code: int, message: str) -> bytes:
    """A Status of failure as JSON: `code` is the HTTP status code, `message` one sentence for people."""
    return msgspec.json.encode(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": reason_of(code),
            "code": code,
        }
    )
