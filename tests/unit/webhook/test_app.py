"""The whole server over TLS: reviews in, verdicts out, and what it tells of itself."""

from __future__ import annotations

import base64
import copy
import json
import random
import re
from pathlib import Path
from typing import Any

import jsonpatch
import pytest

from injector.webhook.review import read_review
from tests.messages import Golden
from tests.unit.webhook.conftest import Served, write_template
from tests.unit.webhook.support import Client, Loop, ask_once, get, pod, review, to_bytes


def patched(before: Any, response: dict[str, Any]) -> Any:
    patch = json.loads(base64.b64decode(response["patch"]))
    return jsonpatch.JsonPatch(patch).apply(copy.deepcopy(before))


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_a_pod_is_injected_and_answered_in_the_version_asked(served: Served, version: str) -> None:
    answer = ask_once(served.port, to_bytes(review(pod(), uid='a-"uid"', version=version)))
    assert answer.code == 200
    assert set(answer.json) == {"apiVersion", "kind", "response"}
    assert (answer.json["apiVersion"], answer.json["kind"]) == (f"admission.k8s.io/{version}", "AdmissionReview")
    response = answer.json["response"]
    assert (response["uid"], response["allowed"], response["patchType"]) == ('a-"uid"', True, "JSONPatch")
    result = patched(pod(), response)
    names = [c["name"] for f in ("initContainers", "containers") for c in result["spec"].get(f, [])]
    assert sorted(names) == ["proxy", "web"]
    assert result["metadata"]["annotations"]["sidecar.injector/status"] == "injected"
    assert response["auditAnnotations"]["reason"] == "injected"
    assert re.fullmatch(r"proxy@[0-9a-f]{12}", response["auditAnnotations"]["templates"])
    assert response["auditAnnotations"]["generation"] == served.app.snapshots.current.generation


def test_replicas_share_an_answer_and_each_has_its_log_line(served: Served) -> None:
    first, second, third = pod(), pod(), pod("other")
    second["metadata"]["managedFields"][0]["time"] = "2026-05-04T10:11:59Z"
    text = to_bytes(review(second, uid="two")).replace(b"abcde", b"xyz24")
    with Client(served.port) as client:
        one = client.ask(to_bytes(review(first, uid="one"))).json["response"]
        two = client.ask(text).json["response"]
        three = client.ask(to_bytes(review(third, uid="three", dryRun=True))).json["response"]
    assert one.pop("uid") == "one"
    assert two.pop("uid") == "two"
    assert one == two
    assert three["allowed"]
    lines = served.lines("review")
    assert [(x["uid"], x["cached"], x["dry_run"]) for x in lines] == [
        ("one", False, False),
        ("two", True, False),
        ("three", False, True),
    ]
    assert [x["pod"] for x in lines] == ["web-6d4cf56db6-*", "web-6d4cf56db6-*", "other"]
    line = lines[0]
    assert (line["reason"], line["outcome"], line["namespace"], line["path"]) == (
        "injected",
        "inject",
        "shop",
        "mutate",
    )
    assert line["templates"] == ["proxy"]
    assert line["generation"] == served.app.snapshots.current.generation
    assert 0 < line["ms"] < 5000
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])


def test_what_a_template_reads_of_the_random_suffix_is_not_shared(loop: Loop, tmp_path: Path) -> None:
    overlay = (
        "{% if object.spec.volumes is defined %}\n"
        'metadata:\n  annotations:\n    volume: "{{ object.spec.volumes[0].name }}"\n'
        "{% endif %}\n"
        "spec:\n  containers: [{name: proxy, image: 'registry.example/proxy:1'}]\n"
    )
    write_template(tmp_path / "templates", **{"overlay.yaml.j2": overlay})
    app = Served(loop, tmp_path).ready()
    body = to_bytes(review(pod()))
    for suffix in (b"abcde", b"xyz24", b"qrs79"):
        response = ask_once(app.port, body.replace(b"abcde", suffix)).json["response"]
        patch = base64.b64decode(response["patch"])
        assert b"kube-api-access-" + suffix in patch
    assert [line["cached"] for line in app.lines("review")] == [False] * 3
    app.stop()


def test_a_denial_is_answered_with_the_code_of_its_template(loop: Loop, tmp_path: Path, golden: Golden) -> None:
    write_template(tmp_path / "templates", **{"overlay.yaml.j2": '{{ deny("pay first", code=402) }}'})
    app = Served(loop, tmp_path).ready()
    for _ in range(2):  # also from the cache
        response = ask_once(app.port, to_bytes(review(pod()))).json["response"]
        assert not response["allowed"]
        assert (response["status"]["code"], response["status"]["reason"]) == (402, "Forbidden")
        golden(response["status"]["message"])
    app.stop()


@pytest.mark.parametrize(
    "fields",
    [
        {"operation": "UPDATE"},
        {"operation": "DELETE", "object": None},
        {"operation": "CONNECT", "subResource": "exec", "object": {"kind": "PodExecOptions"}},
        {"resource": {"group": "apps", "version": "v1", "resource": "deployments"}},
        {"resource": {"group": "", "version": "v1", "resource": "namespaces"}, "namespace": ""},
        {"subResource": "eviction"},
    ],
)
@pytest.mark.parametrize("path", ["/mutate", "/validate"])
def test_anything_but_the_creation_of_a_pod_passes(served: Served, fields: dict[str, Any], path: str) -> None:
    response = ask_once(served.port, to_bytes({**review(pod(), **fields)}), path=path).json["response"]
    assert response["allowed"]
    assert "patch" not in response
    assert response["auditAnnotations"] == {"reason": "not-a-pod-creation"}


def test_a_pod_that_says_no_is_let_through_and_told_of(served: Served) -> None:
    obj = pod()
    obj["metadata"]["annotations"] = {"sidecar.injector/inject": "no"}
    response = ask_once(served.port, to_bytes(review(obj))).json["response"]
    assert response["allowed"]
    assert "patch" not in response
    assert response["auditAnnotations"]["reason"] == "pod-opted-out"


def test_a_bad_parameter_lets_the_pod_through_with_mark_and_warning(served: Served) -> None:
    obj = pod()
    obj["metadata"]["annotations"] = {"proxy.sidecar.injector/image": "not an image " + "x" * 300}
    response = ask_once(served.port, to_bytes(review(obj))).json["response"]
    assert response["allowed"]
    assert patched(obj, response)["metadata"]["annotations"]["sidecar.injector/status"] == "failed"
    assert response["warnings"]
    assert all(len(w) <= 120 for w in response["warnings"])
    assert response["auditAnnotations"]["reason"] == "bad-parameter"


def test_the_guard_answers_without_a_patch(served: Served) -> None:
    response = ask_once(served.port, to_bytes(review(pod("web-1"))), path="/validate").json["response"]
    assert response["allowed"]
    assert "patch" not in response
    assert served.lines("review")[0]["path"] == "validate"


def test_the_second_port(served: Served) -> None:
    ask_once(served.port, to_bytes(review(pod())))
    ask_once(served.port, b"{")
    assert get(served.admin_port, "/healthz").body == b"ok\n"
    assert get(served.admin_port, "/readyz").code == 200
    assert get(served.admin_port, "/other").code == 404
    answer = get(served.admin_port, "/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    text = answer.body.decode()
    counted = {
        'injector_reviews_total{outcome="inject",path="mutate",reason="injected"} 1.0',
        'injector_template_reviews_total{outcome="inject",template="proxy"} 1.0',
        'injector_review_seconds_count{cached="false",path="mutate"} 1.0',
        'injector_unreadable_requests_total{code="400"} 1.0',
    }
    assert not [line for line in counted if line not in text]
    assert f'injector_snapshot_info{{generation="{served.app.snapshots.current.generation}"}} 1.0' in text
    assert "injector_certificate_not_after_timestamp_seconds" in text
    assert re.search(r"injector_cache_bytes [1-9]", text)


def test_a_person_is_told_what_this_is(served: Served) -> None:
    text = get(served.port, "/", tls=True).body.decode()
    assert "/mutate" in text
    assert "proxy" in text


def test_templates_that_do_not_build_leave_it_unready_and_pods_marked(loop: Loop, tmp_path: Path) -> None:
    write_template(tmp_path / "templates", **{"overlay.yaml.j2": "spec: {{% broken\n"})
    app = Served(loop, tmp_path)
    app.until(lambda: app.lines("snapshot-refused"))
    answer = get(app.admin_port, "/readyz")
    assert answer.code == 503
    assert b"overlay.yaml.j2" in answer.body
    obj = pod()
    response = ask_once(app.port, to_bytes(review(obj))).json["response"]
    assert (response["allowed"], response["auditAnnotations"]["reason"]) == (True, "not-ready")
    assert patched(obj, response)["metadata"]["annotations"]["sidecar.injector/status"] == "failed"
    write_template(tmp_path / "templates")
    app.ready()
    response = ask_once(app.port, to_bytes(review(obj))).json["response"]
    assert response["auditAnnotations"]["reason"] == "injected"
    app.stop()


UNREADABLE: list[tuple[Any, str]] = [
    (b"", "JSON"),
    (b"{", "JSON"),
    (b"[]", "AdmissionReview"),
    (b"null", "AdmissionReview"),
    (b"\xff\xfe{}", "JSON"),
    ({}, "apiVersion"),
    ({**review(pod()), "apiVersion": "admission.k8s.io/v2"}, "v1beta1"),
    ({**review(pod()), "apiVersion": 1}, "apiVersion"),
    ({**review(pod()), "kind": "Pod"}, "Pod"),
    ({**review(pod()), "request": None}, "request"),
    ({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}, "request"),
    (review(pod(), uid=""), "uid"),
    (review(pod(), uid=7), "uid"),
    (review(pod(), operation=None), "operation"),
    (review(pod(), resource="pods"), "resource"),
    (review(pod(), dryRun="yes"), "dryRun"),
    (review(None), "object is missing"),
    (review([]), "not an object"),
    (review("pod"), "not an object"),
    (review(pod(), namespace=""), "namespace"),
    (review(pod(), namespace="../../secrets"), "namespace"),
    (review(pod(), namespace="x" * 5000), "namespace"),
    (b'{"ignored":' + b"[" * 100_000, "deep"),
    (to_bytes(review(pod())).replace(b'"spec":{', b'"spec":{"deep":' + b"[" * 5000 + b"]" * 5000 + b","), "deep"),
    (to_bytes(review(pod("caf\u00e9"))).replace(b"caf\\u00e9", b"caf\xe9"), "JSON"),
    (to_bytes(review(pod())).replace(b'"app":', b'"ap\xc1p":'), "JSON"),
]


@pytest.mark.parametrize("path", ["/mutate", "/validate"])
def test_what_cannot_be_read_gets_a_status(served: Served, path: str) -> None:
    with Client(served.port) as client:
        for document, words in UNREADABLE:
            body = document if isinstance(document, bytes) else to_bytes(document)
            answer = client.ask(body, path=path)
            assert answer.code == 400, body[:200]
            assert (answer.json["kind"], answer.json["reason"]) == ("Status", "BadRequest")
            assert words in answer.json["message"], answer.json["message"]
            assert len(answer.json["message"]) < 400


def mutants(seed: int) -> Any:
    """Reviews without end, each broken in some way or strange in some place."""
    chance = random.Random(seed)
    strange: list[Any] = [
        None, True, -1, 1e308, "", "x" * 3000, "\ud7ff\u0000\u2028", [], [[]], [None], {}, {"": None},
        {"name": {}}, [{"name": "proxy"}], [{"name": 5}], {"a": {"a": {"a": []}}}, 10**30,
    ]  # fmt: skip

    def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        return [path, *(p for k, v in steps for p in places(v, (*path, k)))]

    whole = review(pod())
    whole["request"]["object"]["metadata"]["annotations"] = {"sidecar.injector/receipt": "{}", "a": "b"}
    paths = places(whole)[1:]
    text = to_bytes(whole)
    while True:
        kind = chance.randrange(6)
        if kind == 0:
            yield text[: chance.randrange(len(text))]
        elif kind == 1:
            data = bytearray(text)
            for _ in range(chance.randrange(1, 6)):
                data[chance.randrange(len(data))] = chance.randrange(256)
            yield bytes(data)
        elif kind == 2:
            cut = chance.randrange(len(text))
            yield text[:cut] + text[cut + chance.randrange(40) :]
        elif kind == 3:
            key = chance.choice([b'"spec":{', b'"metadata":{', b'"request":{', b'"containers":['])
            yield text.replace(key, key + b'"name":"twice",' * (key[-1:] == b"{") + key, 1)
        else:
            broken = copy.deepcopy(whole)
            for _ in range(chance.randrange(1, 4)):
                path = chance.choice(paths)
                at: Any = broken
                try:
                    for step in path[:-1]:
                        at = at[step]
                    if chance.random() < 0.3:
                        del at[path[-1]]
                    else:
                        at[path[-1]] = copy.deepcopy(chance.choice(strange))
                except (KeyError, IndexError, TypeError):
                    continue
            yield to_bytes(broken)


@pytest.mark.parametrize("count", [3000, pytest.param(10_000, marks=pytest.mark.soak(minutes=2))])
def test_thousands_of_broken_reviews(served: Served, count: int) -> None:
    """Each gets a 4xx with a Status or a verdict whose patch applies; none harms the server."""
    source = mutants(20260504)
    codes: dict[int, int] = {}
    memory: list[int] = []
    client = Client(served.port)
    for number in range(count):
        body = next(source)
        content_type = "text/plain" if number % 50 == 0 else "application/json"
        path = "/validate" if number % 3 == 0 else "/mutate?timeout=3s"
        answer = client.ask(body, path=path, headers={"Content-Type": content_type})
        codes[answer.code] = codes.get(answer.code, 0) + 1
        if answer.code == 200:
            response = answer.json["response"]
            asked = read_review(body)
            assert response["uid"] == asked.request.uid
            assert sum(len(w.encode()) for w in response.get("warnings", [])) <= 4096
            if "patch" in response and number % 5 == 0:
                patched(json.loads(bytes(asked.request.object)), response)
            if not response["allowed"]:
                assert response["status"]["message"]
        else:
            assert 400 <= answer.code < 500, (answer.code, body)
            assert answer.json["kind"] == "Status"
            assert answer.json["code"] == answer.code
        if number in (count // 5, count - 1):
            memory.append(_resident())
    client.close()
    assert codes[200] > count // 5
    assert codes[400] > count // 5
    assert codes[415] == count // 50
    assert memory[1] - memory[0] < 24 * 1024, memory
    errors = [line for line in served.lines() if line["level"] == "error"]
    assert errors == [], errors[:3]


def _resident() -> int:
    found = re.search(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text())
    return int(found[1]) if found else 0


def test_no_log_line_or_answer_quotes_a_value_of_the_pod(served: Served) -> None:
    obj = pod()
    obj["spec"]["containers"][0]["env"] = [{"name": "PASSWORD", "value": "hunter2-secret"}]
    answer = ask_once(served.port, to_bytes(review(obj)))
    assert b"hunter2-secret" not in base64.b64decode(answer.json["response"]["patch"])
    assert b"hunter2-secret" not in answer.body
    served.lines()
    assert b"hunter2" not in served.log.getvalue()
