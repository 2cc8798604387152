"""A release as it was, with its own image, and Helm's upgrade of it to this checkout."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from injector import __version__
from tests import command, parts
from tests.cluster.api import Object
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.objects import deployment, wait_until_available
from tests.compat.released import released
from tests.deploy.helm import CHART, NAME, Helm
from tests.node import images
from tests.node.calls import app
from tests.node.installation import Installation
from tests.node.stream import CHOSEN, Doings, stream

VERSION = "0.1.0"


def test_an_upgrade_from_the_release_before(
    injector: Installation, namespace: NamespaceFactory, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """upgrade from 0.1.0, then a new template, killed replicas and a new authority, while `required`
    Deployments are scaled: each pod is Ready with its sidecar, and older pods keep working
    """
    node, api = injector.node, injector.api
    code = released(VERSION, tmp_path)
    with node.outside():
        archive = images.injector(parts.require(parts.NODE), code, VERSION)
    node.registry.add(archive)
    helm = Helm(4, node.kubeconfig)
    where = ["--namespace", NAME, "--wait"]
    injector.remove()
    try:
        helm.run("install", NAME, code / "deploy" / "chart", "--create-namespace", *where, timeout=180)
        injector.wait()
        assert _images(injector) == {f"{images.INJECTOR}:{VERSION}"}
        space, streamed = (namespace(labels={"injection": "required"}, annotations=CHOSEN) for _ in range(2))
        api.create(deployment("old", 2, containers=[app()], nodeName=None), space)
        old = wait_until_available(api, "old", space)
        assert [_marks(pod) for pod in old] == [{"seal"}] * 2, "it is the release that runs"

        def upgraded() -> None:
            helm.run("upgrade", NAME, CHART, "--reset-then-reuse-values", *where, timeout=180)

        doings = Doings(injector)
        steps = [upgraded, doings.template_changed, doings.killed, doings.new_authority]
        seen = stream(injector, streamed, 60, 3, steps)
        record_property("pods meanwhile", len(seen.all))
        assert not seen.without and seen.all == seen.ready
        assert _images(injector) == {f"{images.INJECTOR}:{__version__}"}
        assert injector.check() == {}
        api.patch("Pod", old[0]["metadata"]["name"], {"metadata": {"labels": {"changed": "yes"}}}, space)
        api.patch("Deployment", "old", {"spec": {"replicas": 3}}, space)
        pods = wait_until_available(api, "old", space)
        assert sorted(len(_marks(pod)) for pod in pods) == [1, 1, 2]
        done = command.run("list", "-n", space, "--output", "json", "--kubeconfig", node.kubeconfig)
        # The template is another by now, so a pod of the release says that it is outdated.
        assert {row["state"] for row in json.loads(done.out)["pods"] if row["workload"] == "deployment/old"} == {
            "current",
            "outdated",
        }
        helm.run("uninstall", NAME, *where, timeout=180)
    finally:
        injector.remove()
        injector.apply()


def _images(injector: Installation) -> set[str]:
    return {container["image"] for pod in injector.pods() for container in pod["spec"]["containers"]}


def _marks(pod: Object) -> set[str]:
    """What a pod's receipt is sealed with: 0.1.0 knew no `mac`."""
    return set(json.loads(pod["metadata"]["annotations"]["sidecar.injector/receipt"])) & {"seal", "mac"}
