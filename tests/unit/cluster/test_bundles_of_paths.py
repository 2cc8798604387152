"""Entries of the settings' paths as the writer of bundles has them: what it holds on to, and when it releases it."""

from __future__ import annotations

from typing import Any

import pytest

from injector.cluster.bundles import FIELD_MANAGER, Bundles, Configuration
from injector.cluster.installation import NOTHING

NAME = "path-claims.injector.internal"
RULES = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["services"]}]


def kept(entry: dict[str, Any], owner: str = FIELD_MANAGER) -> Configuration:
    service = {"name": "injector", "namespace": "sidecars", "path": "/claims", "port": 443}
    client = {"service": service, "caBundle": "eA=="}
    whole = {"name": NAME, "clientConfig": client, "sideEffects": "None", "admissionReviewVersions": ["v1"], **entry}
    fields = {"f:webhooks": {f'k:{{"name":"{whole["name"]}"}}': {"f:clientConfig": {"f:caBundle": {}}}}}
    metadata = {
        "name": "injector",
        "resourceVersion": "7",
        "managedFields": [{"manager": owner, "operation": "Apply", "time": "2026-03-01T00:00:00Z", "fieldsV1": fields}],
    }
    bundles = Bundles(None, "injector", ("injector", "sidecars"), lambda: None)  # type: ignore[arg-type]
    return bundles._configuration("ValidatingWebhookConfiguration", {"metadata": metadata, "webhooks": [whole]})


def test_what_the_api_server_asks_of_an_entry_is_held() -> None:
    found = kept({"rules": RULES})
    assert not found.left
    [entry] = found.entries
    assert entry.required == {
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"name": "injector", "namespace": "sidecars"}},
    }


def test_of_other_entries_the_bundle_alone_is_written() -> None:
    [entry] = kept({"rules": RULES, "name": "enabled.injector.internal"}).entries
    assert entry.required == {}


def test_what_nobody_else_holds_on_to_is_let_go() -> None:
    for nothing in ({}, {"rules": []}, {"rules": None}):
        found = kept(nothing)
        assert found.left and found.entries == () and found.differs(())


@pytest.mark.parametrize(
    ("entry", "owner"),
    [
        ({"rules": RULES}, FIELD_MANAGER),
        ({"objectSelector": NOTHING}, FIELD_MANAGER),
        ({"name": "guard.injector.internal"}, FIELD_MANAGER),
        ({}, "somebody"),
    ],
    ids=["it is called", "it is paused", "it is none of a path", "it is not ours"],
)
def test_anything_else_stays(entry: dict[str, Any], owner: str) -> None:
    found = kept(entry, owner)
    assert not found.left and len(found.entries) == 1
