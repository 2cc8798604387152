"""The user that a redirect spares is its sidecar's alone, whoever brings another container with it."""

from __future__ import annotations

from typing import Any

import pytest

from injector.errors import InjectionError
from injector.inject import guard, inject
from injector.pods.constraints import check_redirects
from injector.pods.context import Cluster, Namespace, Object
from injector.reasons import Reason
from injector.settings import Settings
from injector.templates.snapshot import Snapshot, build_snapshot
from tests.unit.support import REQUIRED, web

REDIRECT = ("redirect", "proxy")
NATIVE = {"restartPolicy": "Always"}


def container(name: str, user: int | None = None, **more: Any) -> Object:
    return {"name": name, "image": "i", **({} if user is None else {"securityContext": {"runAsUser": user}}), **more}


def pod(*running: Object, setup: tuple[Object, ...] = (), **spec: Any) -> Object:
    return {"spec": {"containers": [container("app"), *running], "initContainers": list(setup), **spec}}


PROXY, SETUP = container("proxy", 7, **NATIVE), container("redirect", 0)
POD_7 = {"securityContext": {"runAsUser": 7}}
CASES: dict[str, tuple[Object, str]] = {
    "another user": (pod(container("own", 8), setup=(PROXY, SETUP)), ""),
    "the same": (pod(container("own", 7), setup=(PROXY, SETUP)), "own"),
    "of a plain sidecar": (pod(container("own", 7), container("proxy", 7), setup=(SETUP,)), "own"),
    "that of the pod": (pod(setup=(PROXY, SETUP), **POD_7), "app"),
    "another than that of the pod": (pod(setup=(container("proxy", 8, **NATIVE), SETUP), **POD_7), ""),
    "the sidecar's is that of the pod": (pod(container("own", 7), setup=(container("proxy"), SETUP), **POD_7), "app"),
    "that of the sidecar's image": (pod(container("own", 7), setup=(container("proxy", **NATIVE), SETUP)), ""),
    "a native sidecar before": (pod(setup=(container("own", 7, **NATIVE), PROXY, SETUP)), "own"),
    "a native sidecar behind": (pod(setup=(PROXY, SETUP, container("own", 7, **NATIVE))), "own"),
    "set-up that ends before": (pod(setup=(container("own", 7), PROXY, SETUP)), ""),
    "set-up behind": (pod(setup=(PROXY, SETUP, container("own", 7))), "own"),
    "root": (pod(container("own", 0), setup=(container("proxy", 0, **NATIVE), SETUP)), "own"),
    "a redirect that is a sidecar": (pod(setup=(PROXY, container("redirect", 7, **NATIVE))), ""),
    "without a redirect": (pod(container("own", 7), setup=(PROXY,)), ""),
    "without a sidecar": (pod(container("own", 7), setup=(SETUP,)), ""),
    "odd values": (pod(container("own", securityContext=[7]), setup=(PROXY, SETUP), securityContext="7"), ""),
}


@pytest.mark.parametrize("case", CASES)
def test_case(case: str) -> None:
    final, conflict = CASES[case]
    if not conflict:
        return check_redirects(final, [REDIRECT])
    with pytest.raises(InjectionError) as caught:
        check_redirects(final, [("other", "app"), REDIRECT])
    error = caught.value
    assert error.reason is Reason.CONFLICT
    assert error.diagnostic.path[0] == "spec" and str(error.diagnostic.path[2]) == conflict
    assert error.diagnostic.fields["sidecar"] == "proxy" and error.diagnostic.fields["field"] == "runAsUser"


def test_another_template_takes_no_redirect_over() -> None:
    final = pod(container("own", 7), setup=(PROXY, SETUP))
    for pairs in ([REDIRECT, ("redirect", "own")], [("redirect", "own"), REDIRECT]):
        with pytest.raises(InjectionError):
            check_redirects(final, pairs)


def template(spec: str, more: str = "") -> dict[str, str]:
    return {"template.yaml": f"description: d\n{more}", "overlay.yaml.j2": f"spec: {spec}\n"}


def known(*templates: str) -> Snapshot:
    own = "securityContext: {runAsUser: 7}"
    proxy = f"{{initContainers: [{{name: redirect, image: r}}], containers: [{{name: proxy, image: p, {own}}}]}}"
    sources = {
        "proxy": template(proxy, "redirects: {redirect: proxy}\n"),
        "other": template(f"{{containers: [{{name: other, image: o, {own}}}]}}"),
    }
    return build_snapshot(Settings(templates=templates), sources, Cluster())


@pytest.mark.parametrize("templates", [("proxy", "other"), ("other", "proxy")])
def test_another_template_brings_it(templates: tuple[str, ...]) -> None:
    result = inject(web(), Namespace("shop", {"injection": "enabled"}), known(*templates))
    assert (result.reason, str(result.failures[0].path[2])) == (Reason.CONFLICT, "other")


def test_it_came_after_the_injection() -> None:
    injected = inject(web(), REQUIRED, known("proxy")).object
    later = {**injected["spec"], "containers": [*injected["spec"]["containers"], container("late", 7)]}
    for result in (
        guard({**injected, "spec": later}, REQUIRED, known("proxy")),
        inject({**injected, "spec": later}, REQUIRED, known("proxy")),
    ):
        assert not result.allowed
        assert (result.reason, str(result.failures[0].path[2])) == (Reason.CONFLICT, "late")
    assert guard(injected, REQUIRED, known("proxy")).reason is Reason.ALREADY_INJECTED
