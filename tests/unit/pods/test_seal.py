"""Seals: what a replica takes another one's word for, and what it does not."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from msgspec.structs import replace

from injector.caches import OverlayCaches
from injector.inject import guard, inject
from injector.pods import receipt as receipts
from injector.pods.context import Cluster, Namespace
from injector.pods.differences import TOKEN_PATH
from injector.pods.receipt import Receipt, is_sealed, read_receipt, sealed_text, write_receipt
from injector.reasons import Effect, Reason
from injector.settings import Settings
from injector.templates.snapshot import Snapshot, build_snapshot
from injector.webhook.receipt_seals import PERIOD_SECONDS, CertificateSeals
from tests.unit.pods.pod_cases import TOKEN_VOLUME

SHOP = Namespace("shop", labels={"injection": "required"})
SETTINGS = Settings(templates=("proxy",))
KEY = b"-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\n"


def snapshot(image: str, more: str = "", denial: str = "") -> Snapshot:
    overlay = f"{denial}\nspec:\n  containers: [{{name: proxy, image: '{image}'{more}}}]\n"
    sources = {"template.yaml": "description: A proxy.\n", "overlay.yaml.j2": overlay}
    return build_snapshot(SETTINGS, {"proxy": sources}, Cluster())


OLD = snapshot("registry.example/proxy:1", ", env: [{name: A, value: b}]")
NEW = snapshot("registry.example/proxy:2")


class Clock:
    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def seals(*keys: bytes, clock: Clock | None = None) -> CertificateSeals:
    made = CertificateSeals(clock or Clock())
    for key in keys or (KEY,):
        made.use(key)
    return made


def pod() -> dict[str, Any]:
    return {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "web", "image": "registry.example/web:1"}]}}


def sidecar(obj: dict[str, Any]) -> dict[str, Any]:
    [found] = [c for f in ("initContainers", "containers") for c in obj["spec"].get(f, []) if c["name"] == "proxy"]
    return found


def test_without_the_other_snapshot_and_without_seals_the_guard_refuses() -> None:
    injected = inject(pod(), SHOP, OLD).object
    assert guard(injected, SHOP, NEW).reason is Reason.NOT_INJECTED


def test_a_pod_of_a_replica_with_another_snapshot_passes_in_both_directions() -> None:
    for mine, other in ((OLD, NEW), (NEW, OLD)):
        injected = inject(pod(), SHOP, mine, seals=seals()).object
        seen = guard(injected, SHOP, other, seals=seals())
        assert (seen.reason, seen.effect) == (Reason.ALREADY_INJECTED, Effect.SKIP)


def test_a_reinvocation_by_a_replica_with_another_snapshot_makes_it_that_one_s_whole() -> None:
    injected = inject(pod(), SHOP, OLD, seals=seals()).object
    again = inject(injected, SHOP, NEW, seals=seals())
    assert sidecar(again.object) == sidecar(inject(pod(), SHOP, NEW).object)
    assert read_receipt(again.object, SETTINGS).generation == NEW.generation
    assert guard(again.object, SHOP, OLD, seals=seals()).allowed
    assert inject(again.object, SHOP, NEW, seals=seals()).patch == (), "and then nothing more"


ENABLED = Namespace("shop", labels={"injection": "enabled"})


def test_in_an_enabled_namespace_a_reinvocation_by_another_replica_leaves_the_pod_as_it_is() -> None:
    injected = inject(pod(), ENABLED, OLD, seals=seals()).object
    again = inject(injected, ENABLED, NEW, seals=seals())
    assert (again.reason, again.patch) == (Reason.ALREADY_INJECTED, ())


def test_an_old_sidecar_is_replaced_whole_and_not_mixed_with_the_new_one() -> None:
    injected = inject(pod(), ENABLED, OLD).object  # a manifest that was copied from a running pod
    for known in (None, seals()):
        again = inject(injected, ENABLED, NEW, seals=known)
        assert sidecar(again.object) == sidecar(inject(pod(), ENABLED, NEW).object)


def test_what_the_api_server_s_plugins_added_between_two_calls_stays() -> None:
    injected = copy.deepcopy(inject(pod(), SHOP, OLD, seals=seals()).object)
    mount = {"name": "kube-api-access-abcde", "mountPath": TOKEN_PATH, "readOnly": True}
    injected["spec"]["volumes"] = [{**TOKEN_VOLUME, "name": "kube-api-access-abcde"}]
    for container in (sidecar(injected), injected["spec"]["containers"][0]):
        container["volumeMounts"] = [mount]
        container["resources"] = {"limits": {"cpu": "1"}, "requests": {"cpu": "100m"}}
    again = inject(injected, SHOP, NEW, seals=seals())
    made = sidecar(again.object)
    assert (made["image"], made["volumeMounts"]) == ("registry.example/proxy:2", [mount])
    assert made["resources"] == {"limits": {"cpu": "1"}, "requests": {"cpu": "100m"}}
    for known in (OLD, NEW):
        assert guard(again.object, SHOP, known, seals=seals()).allowed


def text_of(injected: dict[str, Any]) -> str:
    text: str = injected["metadata"]["annotations"][SETTINGS.receipt_key]
    return text


def test_without_seals_there_are_none() -> None:
    assert "mac" not in json.loads(text_of(inject(pod(), SHOP, OLD).object))
    assert "mac" in json.loads(text_of(inject(pod(), SHOP, OLD, seals=seals()).object))


def test_a_pod_that_has_everything_is_sealed_anew_when_its_seal_does_not_hold() -> None:
    clock = Clock()
    injected = inject(pod(), SHOP, OLD, seals=seals(clock=clock)).object
    assert inject(injected, SHOP, OLD, seals=seals(clock=clock)).patch == ()
    later = Clock()
    later.now += 3 * PERIOD_SECONDS
    again = inject(injected, SHOP, OLD, seals=seals(clock=later))
    assert len(again.patch) == 1
    assert guard(again.object, SHOP, NEW, seals=seals(clock=later)).allowed


def changed(injected: dict[str, Any], mac: str | None = None, **fields: Any) -> dict[str, Any]:
    """The pod with other fields in its receipt, or with another seal."""
    made = copy.deepcopy(injected)
    mac = json.loads(text_of(injected))["mac"] if mac is None else mac
    text = write_receipt(replace(read_receipt(made, SETTINGS), **{"mac": "", **fields}))
    made["metadata"]["annotations"][SETTINGS.receipt_key] = f'{text[:-1]},"mac":"{mac}"}}'
    return made


@pytest.mark.parametrize(
    "fields",
    [
        {"mac": ""},
        {"mac": "6000000"},
        {"mac": "6000000." + "0" * 32},
        {"mac": "x.y"},
        {"mac": "6000000\ud800"},
        {"generation": "abcdefabcdef"},
        {"added": ()},
        {"templates": {}},
    ],
)
def test_a_receipt_that_was_changed_is_nobody_s_word(fields: dict[str, Any]) -> None:
    injected = inject(pod(), SHOP, OLD, seals=seals()).object
    assert changed(injected) == injected
    assert guard(changed(injected, **fields), SHOP, NEW, seals=seals()).reason is Reason.NOT_INJECTED


def test_a_seal_holds_for_its_namespace_its_key_and_some_minutes() -> None:
    clock = Clock()
    injected = inject(pod(), SHOP, OLD, seals=seals(clock=clock)).object
    other = Namespace("other", labels={"injection": "required"})
    assert not guard(injected, other, NEW, seals=seals(clock=clock)).allowed
    assert not guard(injected, SHOP, NEW, seals=seals(b"another", clock=clock)).allowed
    assert guard(injected, SHOP, NEW, seals=seals(KEY, b"another", clock=clock)).allowed, "the key before still counts"
    assert not guard(injected, SHOP, NEW, seals=seals(KEY, b"another", b"third", clock=clock)).allowed
    for seconds, holds in ((-PERIOD_SECONDS, True), (PERIOD_SECONDS, True), (2 * PERIOD_SECONDS, False)):
        later = Clock()
        later.now += seconds
        assert guard(injected, SHOP, NEW, seals=seals(clock=later)).allowed is holds


def with_fields_of_the_next_release(receipt: receipts.Receipt) -> str:
    return f'{write_receipt(receipt)[:-1]},"next":{{"mac":"a"}},"mac":"b"}}'


def test_a_field_that_a_replica_does_not_know_breaks_no_seal(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("injector.pods.receipt.write_receipt", with_fields_of_the_next_release)
        injected = inject(pod(), SHOP, OLD, seals=seals()).object
    assert '"next"' in text_of(injected)
    assert guard(injected, SHOP, NEW, seals=seals()).allowed
    forged = copy.deepcopy(injected)
    text = text_of(injected).replace('"next":{', '"next":{"b":1,')
    forged["metadata"]["annotations"][SETTINGS.receipt_key] = text
    assert not guard(forged, SHOP, NEW, seals=seals()).allowed


def test_what_was_taken_away_afterwards_is_missed_all_the_same() -> None:
    injected = copy.deepcopy(inject(pod(), SHOP, OLD, seals=seals()).object)
    for field in ("initContainers", "containers"):
        items = injected["spec"].get(field, [])
        injected["spec"][field] = [c for c in items if c["name"] != "proxy"]
    assert guard(injected, SHOP, NEW, seals=seals()).reason is Reason.NOT_INJECTED


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("image", "registry.example/other:1"),
        ("command", ["sleep", "1d"]),
        ("env", [{"name": "A", "value": "c"}]),
        ("env", [{"name": "A", "value": "b"}, {"name": "LD_PRELOAD", "value": "/evil"}]),
        ("securityContext", {"runAsUser": 1}),
        ("restartPolicy", None),
    ],
)
def test_a_seal_is_for_what_is_in_the_parts(field: str, value: Any) -> None:
    """Whoever may create pods sees a sealed receipt, of a dry run for instance."""
    injected = copy.deepcopy(inject(pod(), SHOP, OLD, seals=seals()).object)
    sidecar(injected)[field] = value
    assert guard(injected, SHOP, NEW, seals=seals()).reason is Reason.NOT_INJECTED


def test_what_kubernetes_fills_in_breaks_no_seal() -> None:
    injected = copy.deepcopy(inject(pod(), SHOP, OLD, seals=seals()).object)
    sidecar(injected).update(
        imagePullPolicy="Always",
        terminationMessagePath="/dev/termination-log",
        terminationMessagePolicy="File",
        resources={"limits": {"cpu": "1"}, "requests": {"cpu": "1"}},
        volumeMounts=[{"name": "kube-api-access-abcde", "mountPath": TOKEN_PATH, "readOnly": True}],
    )
    assert guard(injected, SHOP, NEW, seals=seals()).allowed


def test_a_seal_is_no_way_around_a_denial() -> None:
    denying = snapshot("registry.example/proxy:2", denial="{{ deny('not here') }}")
    injected = inject(pod(), SHOP, OLD, seals=seals()).object
    assert guard(injected, SHOP, denying, seals=seals()).reason is Reason.DENIED


def test_with_the_snapshot_known_the_pod_is_compared_and_no_seal_helps() -> None:
    injected = copy.deepcopy(inject(pod(), SHOP, OLD, seals=seals()).object)
    sidecar(injected)["env"] = []
    assert guard(injected, SHOP, OLD, seals=seals()).reason is Reason.NOT_INJECTED


def test_without_a_key_there_are_no_seals() -> None:
    without = CertificateSeals()
    assert text_of(inject(pod(), SHOP, OLD, seals=without).object) == text_of(inject(pod(), SHOP, OLD).object)
    assert not without.verify("shop", "text", without.sign("shop", "text"))


def with_app(overlay: str) -> tuple[Snapshot, Snapshot]:
    """Two snapshots whose templates say this of the app's containers as well, with two images of the sidecar."""

    def one(image: str) -> Snapshot:
        text = f"spec:\n  containers:\n  - {{name: proxy, image: '{image}'}}\n  - {{name: '*', {overlay}}}\n"
        sources = {"template.yaml": "description: A proxy.\n", "overlay.yaml.j2": text}
        return build_snapshot(SETTINGS, {"proxy": sources}, Cluster())

    return one("registry.example/proxy:1"), one("registry.example/proxy:2")


@pytest.mark.parametrize(
    ("overlay", "filled"),
    [
        ("resources: {requests: {cpu: 0.5}}", {"resources": {"requests": {"cpu": "500m"}}}),
        ("resources: {limits: {memory: 1024Mi}}", {"resources": {"limits": {"memory": "1Gi"}}}),
        ("stdin: false", {"stdin": None}),
        ("livenessProbe: {httpGet: {port: 80}}",
         {"livenessProbe": {"httpGet": {"port": 80, "path": "/", "scheme": "HTTP"}, "periodSeconds": 10}}),
    ],
)  # fmt: skip
def test_what_kubernetes_writes_in_its_own_way_breaks_no_seal(overlay: str, filled: dict[str, Any]) -> None:
    before, after = with_app(overlay)
    injected = copy.deepcopy(inject(pod(), SHOP, before, seals=seals()).object)
    injected["spec"]["containers"][0].update(filled)
    assert guard(injected, SHOP, after, seals=seals()).allowed


def test_a_seal_is_for_what_was_put_in_the_place_of_the_pod_s_own() -> None:
    before, after = with_app("imagePullPolicy: !replace Always, livenessProbe: !replace {exec: {command: [ask]}}")
    own = pod()
    own["spec"]["containers"][0].update(imagePullPolicy="Never", livenessProbe={"httpGet": {"port": 80}})
    injected = inject(own, SHOP, before, seals=seals()).object
    assert guard(injected, SHOP, after, seals=seals()).allowed
    for field, value in (("imagePullPolicy", "Never"), ("livenessProbe", {"exec": {"command": ["true"]}})):
        changed = copy.deepcopy(injected)
        changed["spec"]["containers"][0][field] = value
        assert not guard(changed, SHOP, after, seals=seals()).allowed


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((b"old",), (b"old", b"new")),  # the one has the new certificate, the other has not yet
        ((b"old", b"new"), (b"new",)),  # a replica that was started since then
    ],
)
def test_replicas_that_take_a_new_certificate_one_after_the_other(
    one: tuple[bytes, ...], other: tuple[bytes, ...]
) -> None:
    for mine, theirs in ((one, other), (other, one)):
        injected = inject(pod(), SHOP, OLD, seals=seals(*mine)).object
        assert guard(injected, SHOP, NEW, seals=seals(*theirs)).allowed


def test_one_object_at_places_of_two_types_is_sealed_as_each() -> None:
    """An alias in an overlay's YAML: what Kubernetes fills into a container is a field of the volume's own."""
    both = {"name": "a", "terminationMessagePath": "/dev/termination-log"}
    receipt = Receipt(1, "g", {"proxy": "1"}, added=("/spec/containers/a", "/spec/volumes/a"))
    made = {"spec": {"containers": [both], "volumes": [both]}}
    text = sealed_text(receipt, made, "shop", seals(), OverlayCaches())
    made = {**made, "metadata": {"annotations": {SETTINGS.receipt_key: text}}}
    known = read_receipt(made, SETTINGS)
    assert known is not None and is_sealed(known, made, SETTINGS, "shop", seals())
