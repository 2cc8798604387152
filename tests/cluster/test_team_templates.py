"""Templates of a namespace's own, on a real API server: they serve its pods."""

from __future__ import annotations

import json

from tests.cluster.processes import eventually
from tests.cluster.team import RECEIPT, Team, container, failure_of, files, images_of


def test_a_pod_gets_the_template_that_it_names_and_the_newest_of_it(team: Team) -> None:
    team.apply("probe", files(container()))
    made = team.made("./probe")
    assert sorted(images_of(made)) == ["app:1", "probe:1"]
    assert list(json.loads(made["metadata"]["annotations"][RECEIPT])["templates"]) == ["./probe"]
    assert images_of(team.made("./probe")) == images_of(made)
    team.apply("probe", files(container(image="probe:2")))
    eventually("the new one is in use", lambda: "probe:2" in images_of(team.made("./probe")))
    team.author.delete("ConfigMap", "probe", team.name)
    eventually("it is gone", lambda: "unknown-template" in failure_of(team.made("./probe")))
