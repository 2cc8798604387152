"""The sections in the order in which they are read: what breaks first comes first."""

from __future__ import annotations

from injector.cli.checks import (
    api_server,
    before_installation,
    granted_permissions,
    namespace_labels,
    other_webhooks,
    replicas,
    serving_certificate,
    settings_and_templates,
    trial_pod,
    waiting_controllers,
    webhook_entries,
)
from injector.cli.checks.check_result import Section

INSTALLED: tuple[Section, ...] = (
    api_server.SECTION,
    settings_and_templates.SECTION,
    granted_permissions.SECTION,
    namespace_labels.SECTION,
    webhook_entries.SECTION,
    serving_certificate.SECTION,
    replicas.SECTION,
    other_webhooks.SECTION,
    trial_pod.SECTION,
    waiting_controllers.SECTION,
)
BEFORE: tuple[Section, ...] = before_installation.SECTIONS
