"""Versions of Kubernetes as people write them."""

from __future__ import annotations

import re

_VERSION = re.compile(r"v?(\d{1,2})\.(\d{1,3})(?:\D.*)?\Z")


def version_of(text: str) -> tuple[int, int] | None:
    """Major and minor of `1.33`, `v1.33.2` or `1.33+`; None for what is no version."""
    found = _VERSION.match(text)
    return (int(found[1]), int(found[2])) if found else None
