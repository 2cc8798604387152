"""What counts when a container runs counts at the injection: names that are taken, order of variables, mounts."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, strategies as st

from injector.diagnostics import Key
from injector.inject import guard, inject, uninject
from injector.pods.context import Cluster, Object
from injector.pods.env_order import with_new_variables
from injector.pods.keyed_pointers import mount_path
from injector.reasons import Effect, Reason
from injector.settings import Settings
from injector.templates.snapshot import Snapshot, SnapshotError, build_snapshot
from tests.unit.support import ENABLED, REQUIRED

SHIP = """
spec:
  containers:
  - name: ship
    image: ship:1
    volumeMounts: [{name: ship-config, mountPath: /etc/ship}, {name: ship-logs, mountPath: /logs}]
  - name: "*"
    env:
    - {name: HOST, value: 127.0.0.1}
    - {name: URL, value: "http://$(HOST):8080"}
    volumeMounts: [{name: ship-logs, mountPath: /mnt/logs}]
  volumes:
  - {name: ship-config, downwardAPI: {items: []}}
  - {name: ship-logs, emptyDir: {}}
"""
INSISTS = """
spec:
  containers:
  - name: "*"
    env:
    - {name: HOST, value: 127.0.0.1}
    - {name: LEVEL, value: !replace "debug at $(HOST)"}
"""


def snapshot(overlay: str, manifest: str = "") -> Snapshot:
    return build_snapshot(
        Settings(templates=("ship",)),
        {"ship": {"template.yaml": manifest or "description: A shipper.", "overlay.yaml.j2": overlay}},
        Cluster(),
    )


def pod(*env: tuple[str, str], mounts: Any = (), volumes: Any = ()) -> Object:
    container: Object = {"name": "web", "image": "web:1", "env": [{"name": name, "value": v} for name, v in env]}
    if mounts:
        container["volumeMounts"] = [{"name": name, "mountPath": path} for name, path in mounts]
    spec: Object = {"containers": [container]}
    if volumes:
        spec["volumes"] = list(volumes)
    return {"metadata": {"name": "web"}, "spec": spec}


def variables(made: Object) -> list[tuple[str, str]]:
    [web] = [one for one in made["spec"]["containers"] if one["name"] == "web"]
    return [(one["name"], one["value"]) for one in web["env"]]


def effective(env: list[tuple[str, str]]) -> dict[str, str]:
    """What the kubelet makes of variables: `$(NAME)` by those before, the last of a name."""
    found: dict[str, str] = {}
    for name, value in env:
        found[name] = re.sub(r"\$\((\w+)\)", lambda m: found.get(m[1], m[0]), value)
    return found


def stable(before: Object, known: Snapshot, namespace: Any) -> Object:
    """The injected pod: once more is the same, the guard lets it pass, and it can be taken off again."""
    done = inject(before, namespace, known)
    assert done.reason is Reason.INJECTED, done.diagnostic
    again = inject(done.object, namespace, known)
    assert (again.reason, again.object) == (Reason.ALREADY_INJECTED, done.object)
    if namespace is REQUIRED:
        assert guard(done.object, namespace, known).reason is Reason.ALREADY_INJECTED
    assert uninject(done.object, known.settings) == before
    made: Object = done.object
    return made


# ------------------------------------------------------------ variables

both = pytest.mark.parametrize("namespace", [ENABLED, REQUIRED], ids=["enabled", "required"])


@both
def test_what_the_pods_own_variables_refer_to_stands_before_them(namespace):
    env = [("FIRST", "1"), ("PROXY", "$(URL)/api"), ("LAST", "2")]
    made = variables(stable(pod(*env), snapshot(SHIP), namespace))
    assert [one for one in made if one in env] == env
    assert effective(made)["PROXY"] == "http://127.0.0.1:8080/api"


@both
def test_a_replaced_variable_stands_behind_the_new_one_to_which_it_refers(namespace):
    made = variables(stable(pod(("LEVEL", "info"), ("X", "1")), snapshot(INSISTS), namespace))
    assert effective(made)["LEVEL"] == "debug at 127.0.0.1"


@both
def test_the_last_of_two_definitions_is_replaced(namespace):
    given_ = pod(("LEVEL", "info"), ("X", "1"), ("LEVEL", "warning"))
    done = inject(given_, namespace, snapshot(INSISTS))
    if namespace is REQUIRED:
        assert done.reason is Reason.NOT_OVERRIDABLE  # of two, both would have to be the template's
        return
    assert effective(variables(done.object))["LEVEL"] == "debug at 127.0.0.1"
    assert uninject(done.object, Settings()) == given_


def test_the_last_of_two_definitions_is_compared():
    done = inject(pod(("HOST", "127.0.0.1"), ("HOST", "other")), ENABLED, snapshot(SHIP))
    assert [one.path for one in done.warnings] == [("spec", "containers", Key("web"), "env", Key("HOST#2"), "value")]


@both
def test_a_cycle_names_both_variables(namespace):
    overlay = SHIP.replace("http://$(HOST)", "http://$(PORT_OF_APP)")
    done = inject(pod(("A", "$(URL)"), ("PORT_OF_APP", "80")), namespace, snapshot(overlay))
    if namespace is REQUIRED:  # there no variable of the pod's may change what the template's refer to
        assert done.reason is Reason.NOT_OVERRIDABLE
        return
    [warning] = done.warnings
    assert warning.path == ("spec", "containers", Key("web"), "env", Key("URL"))
    assert (warning.fields["variable"], warning.fields["refers_to"]) == ("A", "PORT_OF_APP")
    assert effective(variables(done.object))["URL"] == "http://80:8080"


names = st.sampled_from("ABCDE")
entries = st.lists(st.tuples(names, st.lists(names, max_size=2)), max_size=6)


others = st.lists(st.sampled_from("AVWXYZ"), max_size=2)


@given(entries, st.lists(st.tuples(st.sampled_from("VWXYZ"), others), unique_by=lambda one: one[0]))
def test_the_pods_own_stay_in_order_and_what_they_refer_to_stands_before_them(own, new):
    own = [(name, [*used, *(["V"] if name == "A" else ["X"] if name == "B" else [])]) for name, used in own]
    have = [{"name": name, "value": "".join(f"$({other})" for other in used)} for name, used in own]
    more = {name: {"name": name, "value": "".join(f"$({other})" for other in used)} for name, used in new}
    made, cycles = with_new_variables(have, more, {})
    order = [one["name"] for one in made]
    assert [one for one in made if one["name"] not in more] == have
    assert sorted(order) == sorted([*(name for name, _ in own), *more])
    outside = more.keys() - {cycle.step for cycle in cycles}
    for name, used in own:
        assert all(order.index(other) < order.index(name) for other in outside.intersection(used))


# ------------------------------------------------------------ mounts

OWN = {"name": "own", "emptyDir": {}}


@pytest.mark.parametrize(("written", "path"), [
    ("/mnt/data/", "/mnt/data"), ("/mnt//data", "/mnt/data"), ("/mnt/./data", "/mnt/data"), ("mnt/data", "/mnt/data"),
    ("/mnt/x/../data", "/mnt/data"), ("//mnt/data", "/mnt/data"), ("/", "/"), ("/.x", "/.x"),
    ("C:\\\\data\\\\", "C:\\\\data\\\\"), ("", ""), (None, None),
])  # fmt: skip
def test_a_mounts_path_is_what_the_runtime_reads(written, path):
    assert mount_path(written) == path


@pytest.mark.parametrize("path", ["/mnt/logs/", "/mnt//logs", "mnt/logs", "/mnt/a/../logs"])
def test_one_place_has_one_mount(path):
    given_ = pod(("A", "1"), mounts=[("own", path)], volumes=[OWN])
    done = inject(given_, ENABLED, snapshot(SHIP))
    [web] = [one for one in done.object["spec"]["containers"] if one["name"] == "web"]
    assert web["volumeMounts"] == [{"name": "own", "mountPath": path}]
    assert [one.path[-2] for one in done.warnings] == ["/mnt/logs"]
    refused = inject(given_, REQUIRED, snapshot(SHIP))
    assert (refused.reason, refused.effect) == (Reason.NOT_OVERRIDABLE, Effect.REFUSE)


@pytest.mark.parametrize("path", ["/mnt/logs/deep", "/mnt/logs/a/b/", "/mnt/./logs/x"])
def test_no_mount_hides_a_part_of_a_required_one(path):
    given_ = pod(("A", "1"), mounts=[("own", path)], volumes=[OWN])
    refused = inject(given_, REQUIRED, snapshot(SHIP))
    assert refused.reason is Reason.NOT_OVERRIDABLE
    assert refused.diagnostic.path[:4] == ("spec", "containers", Key("web"), "volumeMounts")
    stable(given_, snapshot(SHIP), ENABLED)


@both
@pytest.mark.parametrize("path", ["/mnt", "/mnt/logs-of-app", "/mnt/log"])
def test_a_mount_around_or_beside_it_is_the_pods_own(path, namespace):
    stable(pod(("A", "1"), mounts=[("own", path)], volumes=[OWN]), snapshot(SHIP), namespace)


@both
def test_the_same_mount_spelled_otherwise_is_the_templates(namespace):
    given_ = pod(("A", "1"), mounts=[("ship-logs", "/mnt/logs/")], volumes=[{"name": "ship-logs", "emptyDir": {}}])
    made = stable(given_, snapshot(SHIP), namespace)
    assert made["spec"]["containers"][0]["volumeMounts"] == [{"name": "ship-logs", "mountPath": "/mnt/logs/"}]


# ------------------------------------------------------------ volumes

SECRET = {"name": "ship-config", "secret": {"secretName": "mine"}}


@both
def test_a_volume_that_the_app_mounts_is_no_customisation(namespace):
    done = inject(pod(("A", "1"), mounts=[("ship-config", "/mine")], volumes=[SECRET]), namespace, snapshot(SHIP))
    assert done.reason is Reason.CONFLICT
    assert done.effect is (Effect.REFUSE if namespace is REQUIRED else Effect.MARK)
    assert done.diagnostic.path == ("spec", "volumes", Key("ship-config"))
    assert (done.diagnostic.fields["taken_name"], done.diagnostic.fields["container"]) == ("ship-config", "web")


def test_a_volume_that_no_container_of_the_app_mounts_is_a_customisation():
    done = inject(pod(("A", "1"), volumes=[SECRET]), ENABLED, snapshot(SHIP))
    assert done.reason is Reason.INJECTED
    assert [(one.path, one.fields) for one in done.warnings] == [
        (("spec", "volumes", Key("ship-config")), {"value": "secret", "template": "downwardAPI"})
    ]
    assert inject(pod(("A", "1"), volumes=[SECRET]), REQUIRED, snapshot(SHIP)).reason is Reason.NOT_OVERRIDABLE


@pytest.mark.parametrize(("manifest", "path", "reason"), [
    ("", "/mnt/logs", Reason.INJECTED),  # where the template mounts it too
    ("", "/mnt/logs/", Reason.INJECTED),
    ("", "/elsewhere", Reason.CONFLICT),
    ("shared: [ship-logs]", "/elsewhere", Reason.INJECTED),
])  # fmt: skip
def test_a_claim_for_the_templates_volume(manifest, path, reason):
    claim = {"name": "ship-logs", "persistentVolumeClaim": {"claimName": "logs-0"}}
    given_ = pod(("A", "1"), mounts=[("ship-logs", path)], volumes=[claim])
    assert inject(given_, ENABLED, snapshot(SHIP, manifest)).reason is reason


def test_a_volume_that_a_customised_sidecar_mounts_is_a_customisation():
    given_ = pod(("A", "1"), volumes=[SECRET])
    mount = {"name": "ship-config", "mountPath": "/more"}
    given_["spec"]["containers"].append({"name": "ship", "image": "mine:1", "volumeMounts": [mount]})
    assert inject(given_, ENABLED, snapshot(SHIP)).reason is Reason.INJECTED


def test_a_volume_that_the_template_overwrites_is_overwritten():
    overlay = SHIP.replace("{name: ship-config, downwardAPI", "{name: ship-config, downwardAPI: !replace")
    overlay = overlay.replace("!replace: {items", "!replace {items")
    given_ = pod(("A", "1"), mounts=[("ship-config", "/mine")], volumes=[SECRET])
    assert inject(given_, ENABLED, snapshot(overlay)).reason is not Reason.CONFLICT


# ------------------------------------------------------------ redirects

PROXY = """
spec:
  initContainers: [{name: ship-redirect, image: "redirect:1"}]
  containers: [{name: ship-proxy, image: "proxy:1"}]
"""


def redirecting(version: tuple[int, int]) -> Snapshot:
    files = {"template.yaml": "redirects: {ship-redirect: ship-proxy}", "overlay.yaml.j2": PROXY}
    return build_snapshot(Settings(templates=("ship",)), {"ship": files}, Cluster(version))


def starts(made: Object) -> list[str]:
    return [one["name"] for one in made["spec"].get("initContainers", ())]


@both
@pytest.mark.parametrize(("version", "order"), [
    ((1, 31), ["own", "late", "ship-redirect"]),
    ((1, 32), ["ship-proxy", "ship-redirect", "own", "late"]),
])  # fmt: skip
def test_a_reinvocation_moves_a_redirect_behind_what_a_later_webhook_brought(version, order, namespace):
    before = pod(("A", "1"))
    before["spec"]["initContainers"] = [{"name": "own", "image": "own:1"}]
    known = redirecting(version)
    made = stable(before, known, namespace)
    late = {"name": "late", "image": "late:1"}
    changed = {**made, "spec": {**made["spec"], "initContainers": [*made["spec"]["initContainers"], late]}}
    again = inject(changed, namespace, known).object
    assert starts(again) == order
    assert inject(again, namespace, known).reason is Reason.ALREADY_INJECTED
    if namespace is REQUIRED:
        assert guard(again, namespace, known).reason is Reason.ALREADY_INJECTED
    assert starts(uninject(again, known.settings)) == ["own", "late"]


@both
@pytest.mark.parametrize("version", [(1, 31), (1, 36)])
def test_an_init_container_of_a_redirects_name_stays_where_its_author_put_it(version, namespace):
    before = pod(("A", "1"))
    before["spec"]["initContainers"] = [{"name": name, "image": "redirect:1"} for name in ("ship-redirect", "own")]
    known = redirecting(version)
    made = stable(before, known, namespace)
    late = {"name": "late", "image": "late:1"}
    changed = {**made, "spec": {**made["spec"], "initContainers": [*made["spec"]["initContainers"], late]}}
    again = inject(changed, namespace, known).object
    assert starts(uninject(again, known.settings)) == ["ship-redirect", "own", "late"]


@pytest.mark.parametrize("text", [
    "redirects: [ship-redirect]", "redirects: ship-proxy", "redirects: {ship-redirect: [x]}",
    "redirects: {A: ship-proxy}",
    "redirects: {ship-redirect: null}", "redirects: {ship-redirect: 5}",
])  # fmt: skip
def test_redirects_that_are_none(text):
    with pytest.raises(SnapshotError) as caught:
        snapshot(SHIP, text)
    [error] = caught.value.errors
    assert error.place.line == 1


# ------------------------------------------------------------ the pod's names and addresses

HOSTS = """
spec:
  hostAliases: [{ip: 10.0.0.1, hostnames: [logs]}]
  dnsConfig: {searches: [ship.example]}
  containers: [{name: ship, image: "ship:1"}]
"""


@both
def test_names_and_addresses_of_both_sides_hold(namespace):
    before = pod(("A", "1"))
    before["spec"]["hostAliases"] = [{"ip": "10.0.0.1", "hostnames": ["db"]}, {"ip": "10.0.0.2", "hostnames": ["x"]}]
    before["spec"]["dnsConfig"] = {"searches": ["shop.example"]}
    spec = stable(before, snapshot(HOSTS), namespace)["spec"]
    assert [one["hostnames"] for one in spec["hostAliases"]] == [["db", "logs"], ["x"]]
    assert spec["dnsConfig"]["searches"] == ["shop.example", "ship.example"]
