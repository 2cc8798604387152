"""What the author of a team's template tries to get more than his rights, on a real API server. None of it works.

He may write ConfigMaps and pods in his namespace, and nothing else.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from injector.templates.load import content_digest
from tests.cluster.api import ApiError
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.objects import config_map, pod
from tests.cluster.processes import eventually
from tests.cluster.team import (
    NAMED,
    REASON,
    RECEIPT,
    STATUS,
    TEAMS,
    TEMPLATE,
    Team,
    author_in,
    container,
    failure_of,
    files,
    images_of,
)

HUGE = "{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}"
#: By its annotation the webhook lets pass what it would refuse.
UNCHECKED = {"sidecar.injector/unchecked": "true"}


def refused(act: Callable[[], object]) -> str:
    """What the API server says of something that it refuses."""
    with pytest.raises(ApiError) as error:
        act()
    return error.value.message


def smuggle(team: Team, name: str, data: dict[str, str]) -> None:
    """Write a template although the webhook would refuse it: whoever may write it may say so."""
    team.author.create(config_map(name, data, labels=TEMPLATE, annotations=UNCHECKED), team.name)


def is_refused(team: Team, name: str) -> bool:
    """Whether pods fail for the template because it is wrong."""
    return "template-failed" in failure_of(team.made(f"./{name}"))


def envoy_of(team: Team) -> list[str]:
    """What a pod that names no template gets: that of the cluster."""
    other = team.control_plane.api.create(pod("plain", automountServiceAccountToken=False), team.name, dry_run=True)
    return images_of(other)


def test_1_a_template_in_a_namespace_that_may_have_none(team: Team, namespace: NamespaceFactory) -> None:
    name, author = author_in(team.control_plane, namespace({"injection": "enabled"}))
    elsewhere = team._replace(name=name, author=author)
    elsewhere.apply("probe", files(container()))
    assert "template-not-allowed" in failure_of(elsewhere.made("./probe"))


def test_2_a_template_of_another_namespace(team: Team, namespace: NamespaceFactory) -> None:
    name, author = author_in(team.control_plane, namespace(TEAMS))
    other = team._replace(name=name, author=author)
    team.apply("probe", files(container()))
    for spelling in (
        "./probe",
        f"./{team.name}/probe",
        f"./../{team.name}/probe",
        f"./..%2f{team.name}%2fconfigmaps%2fprobe",
    ):
        assert "unknown-template" in failure_of(other.made(spelling))


def test_3_a_template_that_chooses_its_pods(team: Team, namespace: NamespaceFactory) -> None:
    before = envoy_of(team)
    team.apply("probe", files(container(), "selector: {}\nnamespaces: {}\n"))
    assert images_of(team.made("./probe")).count("probe:1") == 1
    assert envoy_of(team) == before
    annotated = namespace(TEAMS, {NAMED: "./probe"})
    name, author = author_in(team.control_plane, annotated)
    other = team._replace(name=name, author=author)
    other.apply("probe", files(container()))
    assert "template-not-allowed" in failure_of(other.author.create(pod("web"), name, dry_run=True))


def test_4_a_shadow_of_the_clusters_template(team: Team) -> None:
    before = images_of(team.made("envoy"))
    team.apply("envoy", files(container("envoy-sidecar", "mine:1")))
    assert images_of(team.made("envoy")) == before
    assert "template-not-allowed" in failure_of(team.made("envoy,./envoy"))
    assert "template-not-allowed" in failure_of(team.made("./envoy,envoy"))
    made = team.made("./envoy", annotations={"envoy.sidecar.injector/image": "registry.example/of-envoy:1"})
    assert "of-envoy:1" not in images_of(made)


def test_5_a_next_version_of_the_clusters_template(team: Team) -> None:
    before = images_of(team.made("envoy"))
    assert "version" in refused(lambda: team.apply("mine", files(container(), "version-of: envoy\nstage: 100%\n")))
    labels = {"sidecar.injector/version-of": "envoy"}
    staged = config_map(
        "staged",
        files(container("envoy-sidecar", "mine:1")),
        {**TEMPLATE, **labels},
        {"sidecar.injector/stage": "100%"},
    )
    refused(lambda: team.author.create(staged, team.name))
    staged["metadata"]["annotations"] |= UNCHECKED
    team.author.create(staged, team.name)
    assert "template-failed" in failure_of(team.made("./staged"))
    gallery = config_map(
        "sidecar-injector-gallery", {"envoy.template.yaml": "x"}, {"sidecar.injector/template": "gallery"}
    )
    team.author.create(gallery, team.name)
    assert images_of(team.made("envoy")) == before


PRIVILEGES = {
    "host network": "{hostNetwork: true, containers: [{name: p, image: p}]}",
    "host processes": "{hostPID: true, containers: [{name: p, image: p}]}",
    "host IPC": "{hostIPC: true, containers: [{name: p, image: p}]}",
    "privileged": "{containers: [{name: p, image: p, securityContext: {privileged: true}}]}",
    "capability": "{containers: [{name: p, image: p, securityContext: {capabilities: {add: [SYS_ADMIN]}}}]}",
    "host path": "{containers: [{name: p, image: p}], volumes: [{name: h, hostPath: {path: /}}]}",
    "host port": "{containers: [{name: p, image: p, ports: [{containerPort: 80, hostPort: 80}]}]}",
    "of the app": "{containers: [{name: '*', securityContext: {privileged: !replace true}}]}",
    "init container": "{initContainers: [{name: p, image: p, securityContext: {procMount: Unmasked}}]}",
    "seccomp": "{securityContext: {seccompProfile: {type: Unconfined}}, containers: [{name: p, image: p}]}",
    "sysctl": "{securityContext: {sysctls: [{name: kernel.msgmax, value: '1'}]}, containers: [{name: p, image: p}]}",
}


@pytest.mark.parametrize("what", PRIVILEGES)
def test_6_a_privilege_that_pod_security_does_not_admit(team: Team, what: str) -> None:
    """Where the namespace has no level, its own authors might write such a pod: who writes ConfigMaps may not."""
    smuggle(team, "probe", files(f"spec: {PRIVILEGES[what]}\n"))
    failure = failure_of(team.made("./probe"))
    assert any(reason in failure for reason in ("pod-security", "template-not-allowed", "template-failed"))


def test_7_a_privilege_beyond_the_level_of_the_namespace(team: Team, namespace: NamespaceFactory) -> None:
    level = {"pod-security.kubernetes.io/enforce": "restricted"}
    name, author = author_in(team.control_plane, namespace({**TEAMS, **level}))
    strict = team._replace(name=name, author=author)
    strict.apply("probe", files(container()))
    safe = {
        "runAsNonRoot": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    app = {"containers": [{"name": "app", "image": "app:1", "securityContext": safe}]}
    assert "pod-security" in failure_of(strict.made("./probe", **app))


def test_8_a_namespace_that_requires_sidecars(team: Team, namespace: NamespaceFactory) -> None:
    name, author = author_in(team.control_plane, namespace({**TEAMS, "injection": "required"}))
    strict = team._replace(name=name, author=author)
    strict.apply("probe", files(container()))
    assert "template-not-allowed" in refused(lambda: strict.made("./probe"))
    assert "template-not-allowed" in refused(lambda: strict.made("envoy,./probe"))


def test_9_the_marks_of_the_injector_and_other_objects_fields(team: Team) -> None:
    marks = {STATUS: "injected", RECEIPT: "{}", "sidecar.injector/inject": "no"}
    metadata = {"namespace": "kube-system", "name": "other", "annotations": marks}
    overlay = f"metadata: {json.dumps(metadata)}\nspec: {json.dumps(container())}\n"
    smuggle(team, "probe", files(overlay))
    made = team.made("./probe")
    annotations = made["metadata"]["annotations"]
    assert made["metadata"]["namespace"] == team.name and made["metadata"]["name"] == "web"
    if annotations[STATUS] == "injected":
        assert list(json.loads(annotations[RECEIPT])["templates"]) == ["./probe"]


def test_10_what_is_outside_of_the_template(team: Team) -> None:
    for name, text in {
        "include": "{% include '../envoy/overlay.yaml.j2' %}",
        "absolute": "{% include '/etc/passwd' %}",
        "python": "spec: {containers: [{name: p, image: '{{ params.__class__.__mro__ }}'}]}",
        "settings": "spec: {containers: [{name: p, image: '{{ settings }}'}]}",
        "secret": "spec: {containers: [{name: p, image: '{{ params.password }}'}]}",
    }.items():
        refused(partial(team.apply, name, files(text)))
        smuggle(team, name, files(text))
        assert "template-failed" in failure_of(team.made(f"./{name}"))


def test_11_time_and_memory_of_the_injector(team: Team) -> None:
    before = envoy_of(team)
    for name, text in {"slow": HUGE, "large": f"spec: {{containers: [{{name: p, image: '{HUGE}'}}]}}"}.items():
        smuggle(team, name, files(text))
        failure = failure_of(team.made(f"./{name}"))
        assert "template-failed" in failure or "not-ready" in failure
        assert envoy_of(team) == before
        eventually("it is refused", partial(is_refused, team, name))


def test_12_more_and_larger_templates_than_a_namespace_may_have(team: Team) -> None:
    large = files(container(), **{"big.txt": "x" * 70_000})
    assert "bytes" in refused(lambda: team.apply("large", large))
    smuggle(team, "large", large)
    assert "template-failed" in failure_of(team.made("./large"))
    for number in range(12):
        team.apply(f"probe-{number:02}", files(container(image=f"probe:{number}")))
    eventually("the eleventh does not count", lambda: "template-failed" in failure_of(team.made("./probe-11")))
    assert "probe:0" in images_of(team.made("./probe-00"))
    metrics = team.injector.metrics()
    assert 'template="./"' in metrics and "probe-00" not in metrics


def test_13_another_template_under_a_pin(team: Team) -> None:
    right = files(container())
    team.apply("probe", right)
    pin = content_digest(right)
    for digits in (32, 64):
        assert "probe:1" in images_of(team.made(f"./probe@{pin[:digits]}"))
    for wrong in (pin[:31], pin[:12], "", f"{pin}0", pin.upper(), f"0{pin[1:]}"):
        assert "template-not-allowed" in failure_of(team.made(f"./probe@{wrong}"))
    team.apply("probe", files(container(image="mine:1")))
    eventually("the pin holds", lambda: "template-not-allowed" in failure_of(team.made(f"./probe@{pin}")))
    assert "template-not-allowed" in failure_of(team.made(f"./probe@{pin},./probe@{pin}"))


def test_14_config_maps_in_other_namespaces(team: Team) -> None:
    """What a template renders lies in the namespace of its pod, and no author without that right makes a template."""
    manifest = "files: {a.conf: {template: a.conf, syntax: plain}}\n"
    spec = {**container(volumeMounts=[{"name": "c", "mountPath": "/c"}])}
    overlay = (
        f"spec: {json.dumps(spec)[:-1]}, volumes: [{{name: c, configMap: {{name: '{{{{ files.configmap }}}}'}}}}]}}\n"
    )
    team.apply("probe", files(overlay, manifest, **{"a.conf": "x"}))
    made = team.author.create(team.pod("./probe"), team.name)
    assert made["metadata"]["annotations"][STATUS] == "injected", made["metadata"]["annotations"].get(REASON)
    everywhere = team.control_plane.api.list("ConfigMap", labelSelector="sidecar.injector/generated")
    assert not [
        obj
        for obj in everywhere
        if obj["metadata"]["labels"]["sidecar.injector/generated"].startswith("probe")
        and obj["metadata"]["namespace"] != team.name
    ]


def test_15_more_trials_than_can_be_made(team: Team, namespace: NamespaceFactory) -> None:
    """Who writes templates all the time keeps neither the cluster's templates waiting nor those of other teams."""
    name, author = author_in(team.control_plane, namespace(TEAMS))
    other, before = team._replace(name=name, author=author), envoy_of(team)
    other.apply("probe", files(container()))
    stop = threading.Event()

    def write(thread: int) -> None:
        for number in range(1000):
            if stop.is_set():
                return
            data = files(container(image=f"probe-{thread}:{number}"), **{"big.txt": "x" * 60_000})
            team.author.create(config_map("flood", data, TEMPLATE), team.name, dry_run=True)

    with ThreadPoolExecutor(12) as pool:
        writing = [pool.submit(write, thread) for thread in range(12)]
        try:
            assert envoy_of(team) == before
            eventually("the other team's is given", lambda: "probe:1" in images_of(other.made("./probe")))
            assert envoy_of(other) == before
        finally:
            stop.set()
    assert [done.result() for done in writing] == [None] * 12


def test_16_a_container_with_the_user_that_a_redirect_spares(team: Team) -> None:
    team.apply("probe", files(container(securityContext={"runAsUser": 1337})))
    for templates in ("envoy,./probe", "./probe,envoy"):
        assert "conflict" in failure_of(team.made(templates))
    assert "probe:1" in images_of(team.made("./probe"))
    made = team.made("envoy,./probe", annotations={"envoy.sidecar.injector/run-as-user": "1338"})
    assert {"probe:1", "app:1"} < set(images_of(made))
