"""A real Prometheus finds and scrapes the replicas that run in pods."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tests import parts
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.objects import deployment, pod, wait_until_available
from tests.cluster.processes import eventually
from tests.cluster.prometheus import Prometheus
from tests.deploy.helm import NAME, Helm, one
from tests.node.calls import ENABLED, app
from tests.node.installation import Installation

#: Alerts for which a busy machine is a cause of its own.
_OF_THE_MACHINE = {"InjectorHangs", "InjectorSlow", "InjectorBusy"}


def test_alerts_and_panels(
    injector: Installation, namespace: NamespaceFactory, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Prometheus scrapes the replicas: each panel of the dashboard has data; alerts fire for pods without their
    sidecar, for a body that is no review, and while all replicas are gone, and not otherwise
    """
    parts.require("prometheus")
    values = {"metrics": {"prometheusRule": {"enabled": True}, "dashboard": {"enabled": True}}}
    objects = Helm(4).objects(values)
    rules = one(objects, "PrometheusRule", NAME)["spec"]
    dashboard = json.loads(one(objects, "ConfigMap", f"{NAME}-dashboard")["data"][f"{NAME}.json"])
    space, began = namespace(labels={"injection": "required"}), time.time()
    prometheus = Prometheus(injector.node, tmp_path, targets(injector), rules)

    def fires(alert: str, cause: Callable[[], object] = lambda: None) -> None:
        def firing() -> bool:
            cause()
            return alert in prometheus.firing()

        eventually(f"{alert} fires", firing, 60, every=0.5)

    try:
        eventually("it scrapes both", lambda: len(prometheus.query("injector_snapshot_info")) == 2, 300)
        nginx = {"sidecar.injector/templates": "nginx", "nginx.sidecar.injector/app-port": "8080"}
        injector.api.create(deployment("web", 3, containers=[app()], nodeName=None, annotations=nginx), space)
        wait_until_available(injector.api, "web", space)
        injector.api.patch("Deployment", "web", {"spec": {"replicas": 4}}, space)  # counters that were there grow
        time.sleep(15)  # so many looks at the alerts' expressions
        assert set(prometheus.firing()) <= _OF_THE_MACHINE
        others = namespace(labels=ENABLED)
        injector.api.create(pod("out", annotations={"sidecar.injector/inject": "false"}, containers=[app()]), others)
        unknown = pod("web", annotations={"sidecar.injector/templates": "no-such"}, containers=[app()])
        fires("PodsWithoutSidecar", lambda: injector.api.create(unknown, others, dry_run=True))
        address = injector.pods()[0]["status"]["podIP"]
        fires("InjectorUnreadable", lambda: post(address, b"{"))
        injector.scale(0)
        prometheus.scrape(targets(injector))
        injector.api.patch("Deployment", "web", {"spec": {"replicas": 5}}, space)
        fires("InjectorGone")
        fires("InjectorCallsRefused")
        injector.scale(2)
        prometheus.scrape(targets(injector))
        # What was counted stays in view for the ten minutes of its expression.
        may = {*_OF_THE_MACHINE, "InjectorCallsRefused", "PodsWithoutSidecar", "InjectorUnreadable"}
        with suppress(TimeoutError):
            eventually("it is silent", lambda: set(prometheus.firing()) <= may, 300)
        assert set(prometheus.firing()) <= may
        drawn = {
            panel["title"]: all(prometheus.lines(query, began, time.time()) for query in panel["targets"])
            for panel in dashboard["panels"]
            if panel["type"] != "row"
        }
        record_property("panels with data", sum(drawn.values()))
        assert [title for title, has_lines in drawn.items() if not has_lines] == []
    finally:
        prometheus.stop()
        injector.scale(2)


def post(address: str, body: bytes) -> None:
    """To the webhook of a replica, as somebody who is not the API server might; it answers with an error."""
    context = ssl._create_unverified_context()
    request = Request(f"https://{address}:8443/mutate", body, {"Content-Type": "application/json"})
    with suppress(HTTPError):
        urlopen(request, timeout=10, context=context)


def targets(injector: Installation) -> list[str]:
    """What a Prometheus would find by pods' annotations: that of the tests is built without discovery in Kubernetes."""
    found = []
    for replica in injector.pods():
        says = replica["metadata"]["annotations"]
        if says.get("prometheus.io/scrape") == "true":
            found.append(f"{replica['status']['podIP']}:{says['prometheus.io/port']}")
    return found
