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


def test_a_pod_names_several_that_nobody_has_named_before(team: Team) -> None:
    names = [f"probe-{number}" for number in range(7)]
    for name in names:
        team.apply(name, files(container(name, f"{name}:1")))
    made = team.made(",".join(f"./{name}" for name in names))
    assert sorted(images_of(made)) == ["app:1", *(f"{name}:1" for name in names)]


def test_a_parameter_of_a_namespace_is_for_the_pods_that_name_the_template(team: Team) -> None:
    manifest = "parameters: {every: {type: string, default: 1s}}\n"
    team.apply("probe", files(container(args=["{{ params.every }}"]), manifest))
    every = {"metadata": {"annotations": {"probe.team.sidecar.injector/every": "7s"}}}
    team.control_plane.api.patch("Namespace", team.name, every)

    def has_it() -> bool:
        containers = team.made("./probe")["spec"].get("initContainers", ())
        return [each["args"] for each in containers] == [["7s"]]

    eventually("it has the namespace's", has_it)
    team.made("envoy")
    assert not [warning for warning in team.author.warnings if "unknown-template" in warning]
