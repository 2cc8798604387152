"""The body of an HTTP error: a Kubernetes Status, which its clients show to people as they do the API server's own.

https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/
"""

from __future__ import annotations

import msgspec

#: The machine-readable reason that Kubernetes has for each HTTP status code this server gives.
_REASONS = {
    400: "BadRequest",
    404: "NotFound",
    405: "MethodNotAllowed",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    429: "TooManyRequests",
}


def status_body(code: int, message: str) -> bytes:
    """A Status of failure as JSON: `code` is the HTTP status code, `message` one sentence for people."""
    return msgspec.json.encode(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": _REASONS.get(code, "BadRequest"),
            "code": code,
        }
    )
