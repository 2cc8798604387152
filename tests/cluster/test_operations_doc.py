"""docs/operations.md where it is about a real API server: its words and counters, the steps when pods do not start."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.cluster.api import Api, ApiError
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.installed import Installed
from tests.cluster.objects import deployment, pod
from tests.cluster.processes import eventually
from tests.cluster.server import PROJECT

PAGE = (PROJECT / "docs" / "operations.md").read_text()
MUTATING, VALIDATING = "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"


@pytest.fixture(scope="module")
def installed(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    made = Installed(control_plane, tmp_path_factory.mktemp("installed"))
    try:
        made.install()
        yield made
    finally:
        for kind in (MUTATING, VALIDATING):
            if not made.api.exists(kind, made.at.name):
                [configuration] = [c for c in made.webhooks() if c["kind"] == kind]
                made.api.create(configuration)
        made.remove()


def fate(api: Api, space: str) -> str:
    """What becomes of a pod: `injected`, `bare`, or why it is refused."""
    try:
        made = api.create(pod("probe"), space, dry_run=True)
    except ApiError as error:
        return str(error)
    return "injected" if "sidecar.injector/status" in made["metadata"].get("annotations", {}) else "bare"


def typed(control_plane: ControlPlane, start: str, space: str) -> str:
    """Run the page's kubectl command that begins like this, for this namespace instead of `shop`."""
    found = re.search(rf"(?:^ +|`){re.escape(start)}([^`\n]*)", PAGE, re.MULTILINE)
    assert found, f"the page has no {start}"
    words = [space if word == "shop" else word for word in f"{start}{found[1]}".split()]
    assert words.pop(0) == "kubectl"
    return control_plane.kubectl(*words).stdout


def test_nobody_answers(control_plane: ControlPlane, namespace: NamespaceFactory, installed: Installed) -> None:
    api = installed.api
    enabled, required = (namespace(labels={"injection": value}) for value in ("enabled", "required"))
    for space in (enabled, required):
        eventually("pods are injected", lambda space=space: fate(api, space) == "injected")
    not_asked, refused = (
        {"name": installed.at.entry_name("enabled")},
        {"name": installed.at.entry_name("required"), "error_type": "calling_webhook_error"},
    )
    open_count, rejections = (
        "apiserver_admission_webhook_fail_open_count",
        "apiserver_admission_webhook_rejection_count",
    )
    before = control_plane.metric(open_count, **not_asked), control_plane.metric(rejections, **refused)
    installed.stop()
    try:
        assert fate(api, enabled) == "bare"
        assert control_plane.metric(open_count, **not_asked) == before[0] + 1
        api.create(deployment("web"), required)
        [words] = re.findall(r"`(failed calling webhook \"required[^`]*)`", PAGE)
        eventually(
            "the Event is there",
            lambda: words in typed(control_plane, "kubectl get events -n shop", required),
            every=0.5,
        )
        assert control_plane.metric(rejections, **refused) > before[1]
        # one namespace, by its label
        typed(control_plane, "kubectl label namespace shop injection=enabled", required)
        eventually("its pods start", lambda: fate(api, required) == "bare")
    finally:
        installed.start()
    typed(control_plane, "kubectl label namespace shop injection=disabled", required)
    eventually("nobody is asked", lambda: fate(api, required) == "bare")
    typed(control_plane, "kubectl label namespace shop injection-", required)
    assert fate(api, required) == "bare"


def test_it_answers_no(namespace: NamespaceFactory, installed: Installed) -> None:
    space = namespace(labels={"injection": "required"})
    installed.api.patch(
        "Namespace", space, {"metadata": {"annotations": {"sidecar.injector/templates": "no-such"}}}, patch_type="merge"
    )
    [words] = re.findall(r"`(admission webhook \"required[^`]*)`", PAGE)
    eventually("it is refused", lambda: words in fate(installed.api, space))
    assert "unknown-template" in fate(installed.api, space)


def test_what_is_left_can_be_asked(control_plane: ControlPlane, installed: Installed) -> None:
    left = typed(control_plane, "kubectl get mutatingwebhookconfigurations,", "")
    for kind in (MUTATING, VALIDATING):
        assert f"{kind.lower()}.admissionregistration.k8s.io/{installed.at.name}" in left
    typed(control_plane, "kubectl get configmaps -A", "")


def test_a_webhook_configuration_is_deleted(namespace: NamespaceFactory, installed: Installed) -> None:
    api = installed.api
    space = namespace(labels={"injection": "required"})
    eventually("pods are injected", lambda: fate(api, space) == "injected")
    api.delete(MUTATING, installed.at.name)
    eventually("the guard refuses", lambda: "not-injected" in fate(api, space))
    api.delete(VALIDATING, installed.at.name)
    eventually("pods start without", lambda: fate(api, space) == "bare")
