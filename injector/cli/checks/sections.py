"""The sections in the order in which they are read: what breaks first comes first."""

from __future__ import annotations

from injector.cli.checks import (
    api_server,
    before,
    certificate,
    namespaces,
    others,
    permissions,
    server,
    templates,
    trial,
    webhooks,
)
from injector.cli.checks.verdict import Section

INSTALLED: tuple[Section, ...] = (
    api_server.SECTION,
    templates.SECTION,
    permissions.SECTION,
    namespaces.SECTION,
    webhooks.SECTION,
    certificate.SECTION,
    server.SECTION,
    others.SECTION,
    trial.SECTION,
)
BEFORE: tuple[Section, ...] = before.SECTIONS
