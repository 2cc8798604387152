"""The repair after an outage, of pods that name templates of their namespace's own."""

from __future__ import annotations

import time
from pathlib import Path

from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.installed import Installed
from tests.cluster.objects import deployment, pods_of, wait_until_available
from tests.cluster.processes import eventually
from tests.cluster.team import NAMED, TEAMS, Team, author_in, container, files, images_of


def test_the_repair_reads_templates_of_teams(
    control_plane: ControlPlane, namespace: NamespaceFactory, tmp_path: Path
) -> None:
    api, teams = control_plane.api, {"namespaces": {"matchLabels": {"teams": "own-templates"}}}
    installed = Installed(control_plane, tmp_path, repair={"mode": "missing"}, teamTemplates=teams)
    try:
        installed.install()
        team = Team(control_plane, installed, *author_in(control_plane, namespace(TEAMS)))
        team.apply("probe", files(container()))
        installed.stop()
        time.sleep(1.1)  # younger than the namespace, by the API server's seconds
        for name, template in (("web", "./probe"), ("lost", "./none")):
            api.create(deployment(name, annotations={NAMED: template}), team.name)
            wait_until_available(api, name, team.name)
        [lost] = pods_of(api, "lost", team.name)
        installed.start()

        def injected(name: str, image: str) -> bool:
            return [image in images_of(each) for each in pods_of(api, name, team.name)] == [True]

        eventually("web has a successor with its sidecar", lambda: injected("web", "probe:1"), 240)
        assert [each["metadata"]["uid"] for each in pods_of(api, "lost", team.name)] == [lost["metadata"]["uid"]]
        team.apply("none", files(container(name="none", image="none:1")))
        eventually("lost is looked at again", lambda: injected("lost", "none:1"), 240)
    finally:
        installed.remove()
