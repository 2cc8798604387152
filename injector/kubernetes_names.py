"""The syntax of Kubernetes' names, of label values, and of the keys of labels and annotations.

Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/ and labels/ beside it. The patterns
are written so that JSON Schema (ECMA 262) reads them in the same way.
"""

from __future__ import annotations

import re

DNS_LABEL = r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"
DNS_SUBDOMAIN = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*"
#: A label's value that is not empty, and a key without its prefix.
LABEL_NAME = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"

_DNS_LABEL, _DNS_SUBDOMAIN, _LABEL_NAME = map(re.compile, (DNS_LABEL, DNS_SUBDOMAIN, LABEL_NAME))


def is_dns_label(name: object) -> bool:
    """Whether this is a DNS label: the name of a container, a volume, a namespace, a template."""
    return isinstance(name, str) and _DNS_LABEL.fullmatch(name) is not None


def is_label_value(value: str) -> bool:
    """Whether a label may have this value."""
    return not value or _LABEL_NAME.fullmatch(value) is not None


def is_label_key(key: str) -> bool:
    """Whether a label may have this key: a name, with or without a DNS name and a slash before it."""
    prefix, slash, name = key.rpartition("/")
    if not _LABEL_NAME.fullmatch(name):
        return False
    return not slash or (len(prefix) <= 253 and _DNS_SUBDOMAIN.fullmatch(prefix) is not None)
