"""Work on the way of a review grows with a pod's size and no faster: four times the items cost four times as much.

For every list and map that a pod has, from Kubernetes' own description of it (`injector.pods.kubernetes_fields`), a
few at once. Counted are the lines, calls and calls into C of one evaluation, less those of the same pod with one item.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from injector.inject import guard, inject
from injector.pods.context import Cluster, Namespace, Object, Request
from injector.pods.fields import POD, Field
from injector.pods.keyed_pointers import escape, steps_of
from injector.policies.admit import admit
from injector.policies.request import ObjectRequest
from injector.settings import PathTemplates, Settings
from injector.templates.snapshot import Snapshot, build_snapshot
from injector.webhook.review import answer_tail, response_to
from tests.samples import sampled
from tests.unit.support import ENABLED, REQUIRED, web

FEW = 32
#: What n and 4n items may differ by: linear is 4.
MOST = 4.5
#: So many lists and maps grow at once: what grows faster in one of them stands out still.
TOGETHER = 4
Path = tuple[str | int, ...]

#: Adds to everything that a template can add to, in the app's containers too.
_EVERYTHING = """
metadata:
  labels: {of-side: "1"}
  annotations: {example.com/of-side: "1"}
  finalizers: [example.com/side]
spec:
  nodeSelector: {side: "1"}
  tolerations: [{key: side, operator: Exists}]
  readinessGates: [{conditionType: example.com/side}]
  imagePullSecrets: [{name: side}]
  hostAliases: [{ip: 10.0.0.1, hostnames: [side]}]
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: side, whenUnsatisfiable: ScheduleAnyway}]
  dnsConfig: {options: [{name: side}], searches: [side]}
  securityContext: {supplementalGroups: [7], sysctls: [{name: net.ipv4.tcp_syncookies, value: "1"}]}
  initContainers:
  - {name: set-up, image: side}
  containers:
  - name: side
    image: side
    ports: [{containerPort: 15001}]
    env: [{name: SIDE, value: "1"}]
    envFrom: [{configMapRef: {name: side}}]
    volumeMounts: [{name: side, mountPath: /side}]
    resources: {requests: {cpu: 10m}, limits: {memory: 16Mi}}
  - name: "*"
    imagePullPolicy: !replace Always
    env: [{name: SIDE, value: "1"}, {name: OTHER, value: $(SIDE)}]
    envFrom: [{configMapRef: {name: side}}]
    volumeMounts: [{name: side, mountPath: /side}]
    resources: {requests: {cpu: 10m}}
  volumes:
  - {name: side, emptyDir: {}}
"""
#: Adds as much as the pod has: an element for each of its own.
_AS_MUCH = """
spec:
  tolerations:
{% for toleration in pod.spec.tolerations | default([]) %}
  - {key: "side-{{ toleration.key }}", operator: Exists}
{% endfor %}
  initContainers:
{% for container in pod.spec.initContainers | default([]) %}
  - {name: "before-{{ container.name }}", image: side}
{% endfor %}
  containers:
  - name: side
    image: side
    env:
{% for container in containers %}
    - {name: "OF_{{ container.name }}", value: "1"}
{% endfor %}
    volumeMounts:
{% for volume in pod.spec.volumes | default([]) %}
    - {name: "{{ volume.name }}", mountPath: "/side/{{ volume.name }}"}
{% endfor %}
{% for container in pod.spec.initContainers | default([]) %}
  - {name: "beside-{{ container.name }}", image: side}
{% endfor %}
  volumes:
{% for volume in pod.spec.volumes | default([]) %}
  - {name: "side-{{ volume.name }}", emptyDir: {}}
{% endfor %}
"""


def _made(template: str) -> Snapshot:
    overlay = {"everything": _EVERYTHING, "as-much": _AS_MUCH}[template]
    declared = "description: Adds much.\nparameters:\n  first: {type: string, default: a, description: None.}\n"
    sources = {template: {"template.yaml": declared, "overlay.yaml.j2": overlay}}
    return build_snapshot(Settings(templates=(template,), review_work=0), sources, Cluster())


_snapshot = cache(_made)


def _answer(mode: str, pod: Object, snapshot: Snapshot) -> bytes:
    if mode == "path":
        at = PathTemplates(templates=snapshot.settings.templates)
        found = admit(ObjectRequest(Request(), pod, {}, {}), ENABLED, at, snapshot)
    elif mode == "guard":
        found = guard(pod, _QUOTAS if mode == "quota" else REQUIRED, snapshot)
    else:
        found = inject(pod, {"enabled": ENABLED, "required": REQUIRED, "quota": _QUOTAS}[mode], snapshot)
    return answer_tail(response_to(found))


_HARD = {"requests.cpu": "1000", "limits.memory": "1Ti", "pods": "1000"}
_QUOTAS = Namespace(
    "shop",
    {"injection": "enabled", "pod-security.kubernetes.io/enforce": "restricted"},
    quotas=({"metadata": {"name": "q"}, "spec": {"hard": _HARD}, "status": {"hard": _HARD, "used": {}}},),
    limit_ranges=({"spec": {"limits": [{"type": "Pod", "max": {"cpu": "1000"}}, {"type": "Container"}]}},),
)
MODES = ("enabled", "quota", "required", "guard", "path")


def work(mode: str, pod: Object, snapshot: Snapshot) -> int:
    """Lines, calls and calls into C of one evaluation; of an object as it is read, of which no part is there twice."""
    pod = json.loads(json.dumps(pod))
    count = 0

    def trace(frame: Any, event: str, arg: Any) -> Callable[..., Any]:
        nonlocal count
        count += 1
        return trace

    def profile(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        if event == "c_call":
            count += 1

    before = sys.gettrace(), sys.getprofile()
    sys.settrace(trace)
    sys.setprofile(profile)
    try:
        _answer(mode, pod, snapshot)
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])
    return count


def assert_linear(make: Callable[[int], Object], mode: str, template: str = "everything") -> None:
    """That work grows with the number of items and no faster."""
    for n in (1, FEW):  # what is imported or made on first sight
        _answer(mode, make(n), _snapshot(template))
    snapshots = _made if template == "as-much" else _snapshot  # what it renders for a pod is remembered
    one, few, many = (work(mode, make(n), snapshots(template)) for n in (1, FEW, 4 * FEW))
    # of little growth, such as a search that is bounded, nothing is said: a square has thousands of lines at this size
    assert many - one <= MOST * max(few - one, 10 * FEW), f"{one} for 1, {few} for {FEW}, {many} for {4 * FEW}"


# ------------------------------------------------------------------------------------------- every list and map


def _places(
    field: Field, path: Path = (), types: tuple[str, ...] = (), address: str = ""
) -> Iterator[tuple[str, Path, Field]]:
    """Each list and map of a pod, with its address (type and field) and the way to it; a type within itself is not
    gone into again.
    """
    if field.kind in ("list", "map"):
        yield address, path, field
    if field.kind == "list":
        yield from _places(field.element, (*path, 0), types, f"{address}.0")
    elif field.kind == "mapping" and field.type not in types:
        for name in field.fields.notations:
            if path or name in ("metadata", "spec"):
                at = f"{field.type.removeprefix('Ephemeral')}.{name}"
                yield from _places(field.fields[name], (*path, name), (*types, field.type), at)


def _item(field: Field, number: int) -> Any:
    """An element that differs from the others."""
    if field.kind == "integer":
        return 1000 + number
    if field.kind in ("Quantity", "IntOrString"):
        return str(1 + number)
    if field.kind != "mapping":
        return f"x-{number}"
    named = {"name", "key", "mountPath", "devicePath", "containerPort", "conditionType", "ip", "topologyKey", "path"}
    found = {
        name: _item(field.fields[name], number)
        for name in field.fields.notations
        if name in named or (name == "image" and field.type.endswith("Container"))
    }
    if field.type == "EnvFromSource":
        return {"configMapRef": {"name": f"x-{number}"}}
    return found or {name: _item(field.fields[name], number) for name in list(field.fields.notations)[:1]}


def _fill(pod: Object, path: Path, field: Field, numbers: range, container: str) -> None:
    """Put items of these numbers at a place of a pod."""
    items: Any
    if field.kind == "list":
        items = [_item(field.element, number) for number in numbers]
    else:
        items = {f"x-{number}": _item(field.fields["x"], number) for number in numbers}
    holder: Any = pod
    place = POD
    for step, after in zip(path, (*path[1:], None), strict=True):
        place = place.at((step,))
        if after is None:
            break
        if type(step) is int:
            if not holder:
                holder.append({"name": container} if place.type.endswith("Container") else _item(place, 0))
        elif step not in holder or type(holder[step]) is not (list if type(after) is int else dict):
            holder[step] = [] if type(after) is int else {}
        holder = holder[step]
    last = path[-1]
    held = holder.get(last) if type(holder) is dict else None
    if field.kind == "list":
        holder[last] = [*(held or ()), *items]
    else:
        holder[last] = {**(held or {}), **items}


def _filled(places: Places, n: int, container: str = "own") -> Object:
    """A pod with n items at each place; `container` is what its first init container is called."""
    pod = web()
    for number, name in enumerate(places):
        _fill(pod, *PLACES[name], range(1000 * number, 1000 * number + n), container)
    return pod


PLACES = {".".join(map(str, path)): (path, field) for _, path, field in _places(POD)}
Places = tuple[str, ...]


def _balanced(modes: Places, *within: str) -> list[Any]:
    """Each address in each mode, its places by turns; `within` are beginnings of places. What grows at once is of
    parts of the pod that are far from each other.
    """
    addresses: dict[str, list[str]] = {}
    for address, path, _ in _places(POD):
        name = ".".join(map(str, path))
        if not within or name.startswith(within):
            addresses.setdefault(address, []).append(name)
    turns: dict[str, list[str]] = {mode: [] for mode in modes}
    for start, places in enumerate(addresses.values()):
        for number, mode in enumerate(modes * -(-len(places) // len(modes)), start):
            turns[mode].append(places[number % len(places)])
    return [
        pytest.param(tuple(dict.fromkeys(places[start::step])), mode, id=f"{mode}-{start}")
        for mode, places in turns.items()
        for step in [-(-len(places) // TOGETHER)]
        for start in range(step)
    ]


@pytest.mark.parametrize(("places", "mode"), _balanced(MODES))
def test_every_list_and_map(places: Places, mode: str) -> None:
    assert_linear(lambda n: _filled(places, n), mode)


@pytest.mark.parametrize(("places", "mode"), _balanced(MODES, "spec.containers.0", "spec.initContainers.0"))
def test_in_a_container_of_the_sidecar_s_name(places: Places, mode: str) -> None:
    def make(n: int) -> Object:
        pod = _filled(places, n, "set-up")
        if any(".containers" in name for name in places):
            pod["spec"]["containers"][0]["name"] = "side"
            pod["spec"]["containers"].append({"name": "app", "image": "app"})
        return pod

    assert_linear(make, mode)


@pytest.mark.parametrize(("places", "mode"), sampled(_balanced(("enabled", "required", "guard")), 2))
def test_with_a_forged_receipt_that_claims_all_of_it(places: Places, mode: str) -> None:
    def make(n: int) -> Object:
        pod = _filled(places, n)
        return _claiming(pod, added=_all_claims(pod, places))

    assert_linear(make, mode)


@pytest.mark.parametrize(("places", "mode"), sampled(_balanced(("required",)), 2))
def test_with_a_forged_receipt_that_says_all_of_it_was_other(places: Places, mode: str) -> None:
    def make(n: int) -> Object:
        pod = _filled(places, n)
        return _claiming(pod, replaced=dict.fromkeys(_all_claims(pod, places), "other"))

    assert_linear(make, mode)


@pytest.mark.parametrize(("places", "mode"), sampled(_balanced(("required",)), 2))
def test_of_a_pod_that_carries_an_injection(places: Places, mode: str) -> None:
    def make(n: int) -> Object:
        return inject(_filled(places, n), REQUIRED, _snapshot("everything")).object

    assert_linear(make, mode)


def _all_claims(pod: Object, places: Places) -> list[str]:
    return [claim for name in places for claim in _claims(pod, *PLACES[name])]


def _claims(pod: Object, path: Path, field: Field) -> list[str]:
    """The keyed pointers of all items at a place."""
    pointer, value, place = "", pod, POD
    for step in path:
        if type(step) is int:
            pointer += f"/{escape(steps_of(value, place)[step])}" if place.aligned else f"/{step}"
        else:
            pointer += f"/{escape(step)}"
        value, place = value[step], place.at((step,))
    keys = steps_of(value, field) if type(value) is list else list(value)
    return [f"{pointer}/{escape(key)}" for key in keys]


def _claiming(pod: Object, **claims: Any) -> Object:
    receipt = {"version": 1, "generation": _snapshot("everything").generation, "templates": {}, **claims}
    metadata = pod["metadata"]
    annotations = {**metadata["annotations"], "sidecar.injector/receipt": json.dumps(receipt)}
    return {**pod, "metadata": {**metadata, "annotations": annotations}}


# ------------------------------------------------------------------------------------------- more than one at once


def _large(n: int) -> Object:
    """A pod of which everything that somebody may compare with each other grows."""
    amounts = {f"example.com/x-{number}": "1" for number in range(n)}
    volumes = [{"name": f"x-{number}", "emptyDir": {}} for number in range(n)]
    own = {
        "env": [{"name": f"X_{number}", "value": "1"} for number in range(n)],
        "ports": [{"containerPort": 1000 + number} for number in range(n)],
        "volumeMounts": [{"name": f"x-{number}", "mountPath": f"/x-{number}"} for number in range(n)],
        "resources": {"limits": amounts, "requests": amounts},
    }
    containers = [
        {"name": f"c-{number}", "image": "c", "ports": [{"containerPort": 3000 + number}]} for number in range(n)
    ]
    set_up = [{"name": f"i-{number}", "image": "i"} for number in range(n)]
    sidecars = [
        {
            "name": f"s-{number}",
            "image": "s",
            "restartPolicy": "Always",
            "resources": {"requests": {f"e.com/s-{number}": "1"}},
        }
        for number in range(n)
    ]
    pod = web(
        {f"side.example/x-{number}": "1" for number in range(n)},
        *containers,
        initContainers=[{"name": "first", "image": "i", "restartPolicy": "Always", **own}, *set_up, *sidecars],
        volumes=volumes,
        tolerations=[{"key": f"x-{number}", "operator": "Exists"} for number in range(n)],
        resources={"limits": amounts, "requests": amounts},
        overhead=amounts,
    )
    pod["spec"]["containers"][0] |= own
    pod["metadata"]["labels"] |= {f"x-{number}": "1" for number in range(n)}
    return pod


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("template", ["everything", "as-much"])
def test_everything_at_once(template: str, mode: str) -> None:
    assert_linear(_large, mode, template)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("template", ["everything", "as-much"])
def test_everything_at_once_injected_before(template: str, mode: str) -> None:
    assert_linear(lambda n: inject(_large(n), REQUIRED, _snapshot(template)).object, mode, template)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "key", ["{template}.sidecar.injector/x-{n}", "x-{n}.sidecar.injector/x", "sidecar.injector/x-{n}"]
)
def test_annotations_that_mean_nothing(key: str, mode: str) -> None:
    """An unknown name is compared with the known ones, to find what may be meant: so many times and no more."""
    assert_linear(lambda n: web({key.format(template="everything", n=number): "" for number in range(n)}), mode)
