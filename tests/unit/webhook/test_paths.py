"""Paths of the settings over HTTPS: objects of any kind, and the templates of the path they are posted to."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonpatch
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.messages import Golden
from tests.unit.webhook.conftest import Served, write_template
from tests.unit.webhook.support import Answer, Client, Loop, ask_once, get, pod, review, running_loop, to_bytes

SETTINGS = """
paths:
  /validate-project: {type: validating, templates: [project]}
  /mutate/claims: {templates: [claim], failurePolicy: Fail}
  /namespaces: {type: validating, templates: [shops]}
"""
PROJECT = {
    "template.yaml": "description: Names of projects.\n"
    "for: {apiGroups: [project.openshift.io], resources: [projectrequests], operations: [CREATE]}\n",
    "overlay.yaml.j2": '{% if object.metadata.name.startswith("infra-") and "admins" not in user.groups %}\n'
    '{{ deny(user.username ~ " may not have " ~ object.metadata.name ~ " (" ~ request.uid ~ ")", code=409) }}\n'
    "{% endif %}\n",
}
CLAIM = {
    "template.yaml": "description: Their class.\nfor: {resources: [persistentvolumeclaims]}\n",
    "overlay.yaml.j2": 'spec:\n  storageClassName: {{ "fast" if object.spec.size > 1 else "slow" }}\n',
}
SHOPS = {
    "template.yaml": "description: No shops.\nfor: {resources: [namespaces]}\n"
    "namespaces: {matchLabels: {kind: shop}}\n",
    "overlay.yaml.j2": "{{ deny(namespace.name) }}\n",
}
REQUEST = {"group": "project.openshift.io", "version": "v1", "resource": "projectrequests"}
CLAIMS = {"group": "", "version": "v1", "resource": "persistentvolumeclaims"}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("paths")
    for name, files in (("project", PROJECT), ("claim", CLAIM), ("shops", SHOPS), ("proxy", {})):
        write_template(folder / "templates", name, **files)
    with running_loop() as loop:
        served = Served(loop, folder, SETTINGS).ready()
        yield served
        served.stop()


def project(name: str, version: str = "v1", *groups: str) -> dict[str, Any]:
    """A review about a project that somebody asks for: the object has no namespace."""
    obj = {"apiVersion": "project.openshift.io/v1", "kind": "ProjectRequest", "metadata": {"name": name}}
    asked = review(obj, version=version, resource=REQUEST, name=name, userInfo={"username": "bob", "groups": [*groups]})
    del asked["request"]["namespace"]
    return asked


def ask(app: Served, asked: Any, path: str) -> Answer:
    return ask_once(app.port, to_bytes(asked), path=f"{path}?timeout=10s")


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_a_policy_refuses_and_allows(app: Served, version: str, golden: Golden) -> None:
    refused = ask(app, project("infra-dns", version), "/validate-project").json
    assert refused["apiVersion"] == f"admission.k8s.io/{version}"
    response = refused["response"]
    assert response["allowed"] is False
    golden(response["status"]["message"])
    assert (response["status"]["code"], response["status"]["reason"]) == (409, "Conflict")
    for fine in (project("shop", version), project("infra-dns", version, "admins")):
        response = ask(app, fine, "/validate-project").json["response"]
        assert response["allowed"] is True
        assert response["uid"] == fine["request"]["uid"]
        assert "patch" not in response
        assert "warnings" not in response


def test_an_object_is_completed(app: Served) -> None:
    claim = {"metadata": {"name": "data"}, "spec": {"size": 2}}
    response = ask(app, review(claim, resource=CLAIMS), "/mutate/claims").json["response"]
    patch = json.loads(base64.b64decode(response["patch"]))
    assert jsonpatch.apply_patch(claim, patch)["spec"] == {"size": 2, "storageClassName": "fast"}
    assert response["auditAnnotations"]["reason"] == "amended"
    assert response["auditAnnotations"]["templates"].startswith("claim@")


@pytest.mark.parametrize(("given", "known"), [("name", "corner"), ("generateName", "corner*")])
def test_a_namespace_without_a_name_yet_is_not_past_its_policy(app: Served, given: str, known: str) -> None:
    metadata = {given: "corner", "labels": {"kind": "shop"}}
    asked = review({"metadata": metadata}, resource={"group": "", "version": "v1", "resource": "namespaces"})
    asked["request"]["namespace"] = "corner"
    if given == "generateName":  # as an API server sends it
        del asked["request"]["namespace"]
    response = ask(app, asked, "/namespaces").json["response"]
    assert response["status"]["message"].startswith(f"denied: {known} (")


def test_a_template_that_fails_refuses_where_the_path_says_fail(app: Served, golden: Golden) -> None:
    response = ask(app, review({"spec": {"size": "x"}}, resource=CLAIMS), "/mutate/claims").json["response"]
    assert response["allowed"] is False
    golden(response["status"]["message"])


def test_what_no_template_is_for_passes(app: Served) -> None:
    for path in ("/validate-project", "/mutate/claims"):
        response = ask(app, review(pod()), path).json["response"]
        assert (response["allowed"], response["auditAnnotations"]["reason"]) == (True, "not-for-templates")
    assert "patch" not in response


def test_a_path_for_objects_injects_no_pod_and_the_others_go_on(app: Served) -> None:
    assert "patch" in ask(app, review(pod()), "/mutate").json["response"]
    response = ask(app, review({"spec": {"size": 2}}, resource=CLAIMS), "/mutate").json["response"]
    assert response["auditAnnotations"]["reason"] == "not-a-pod-creation"


def test_the_log_says_what_was_asked_about(app: Served) -> None:
    ask(app, project("infra-log"), "/validate-project")
    line = next(line for line in app.lines("review") if line.get("name") == "infra-log")
    wanted = {
        "path": "/validate-project",
        "namespace": "",
        "resource": "projectrequests.project.openshift.io",
        "operation": "CREATE",
        "reason": "denied",
        "outcome": "refuse",
    }
    assert wanted.items() <= line.items()
    counted = get(app.admin_port, "/metrics").body.decode().splitlines()
    labels = ('path="/validate-project"', 'reason="denied"', 'outcome="refuse"')
    assert any(line.startswith("injector_reviews_total") and all(label in line for label in labels) for line in counted)


def test_the_log_names_what_somebody_connects_to(app: Served) -> None:
    options = {"apiVersion": "v1", "kind": "PodExecOptions", "command": ["s3cret"]}
    pods = {"group": "", "version": "v1", "resource": "pods"}
    for name, logged in (("door", "door"), ({"a": 1}, ""), (None, "")):
        ask(app, review(options, resource=pods, subResource="exec", operation="CONNECT", name=name), "/namespaces")
        line = app.lines("review")[-1]
        assert (line["name"], line["resource"], line["operation"]) == (logged, "pods/exec", "CONNECT")
        assert "s3cret" not in str(line)


def test_the_paths_are_told(app: Served) -> None:
    assert "/mutate/claims" in get(app.port, "/", tls=True).body.decode()


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"{}",
        b"null",
        b'{"request":1}',
        to_bytes({**project("a"), "kind": "Pod"}),
        to_bytes(review("text", resource=REQUEST)),
        to_bytes(review([], resource=REQUEST)),
        to_bytes(review({}, resource=REQUEST, oldObject=5)),
        to_bytes(project("a")).replace(b'"a"', b'"\xff"'),
        b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":' + b"[" * 100_000,
    ],
)
def test_a_review_that_cannot_be_read_is_refused_with_a_status(app: Served, broken: bytes) -> None:
    answer = ask_once(app.port, broken, path="/validate-project")
    assert 400 <= answer.code < 500
    assert answer.json["kind"] == "Status"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    request=st.fixed_dictionaries(
        {},
        optional={
            "object": _JSON,
            "oldObject": _JSON,
            "userInfo": _JSON,
            "options": _JSON,
            "namespace": _JSON,
            "operation": _JSON,
            "resource": st.sampled_from([REQUEST, CLAIMS]) | _JSON,
            "subResource": _JSON,
        },
    )
)
def test_whatever_is_posted_there_is_an_answer(app: Served, request: dict[str, Any]) -> None:
    asked = review({"metadata": {"name": "infra-x"}, "spec": {}}, **{"resource": REQUEST, **request})
    with Client(app.port) as client:
        for path in ("/validate-project", "/mutate/claims"):
            answer = client.ask(to_bytes(asked), path=path)
            assert answer.code == 200 or 400 <= answer.code < 500
            assert answer.json["kind"] == ("AdmissionReview" if answer.code == 200 else "Status")
            if answer.code >= 400:
                break  # the connection may be closed behind a request that is wrong


def test_a_reload_gives_a_path_other_templates(loop: Loop, tmp_path: Path, golden: Golden) -> None:
    for name, files in (("project", PROJECT), ("claim", CLAIM), ("shops", SHOPS), ("proxy", {})):
        write_template(tmp_path / "templates", name, **files)
    app = Served(loop, tmp_path, SETTINGS).ready()
    try:
        generation = app.app.snapshots.current.generation
        app.settings.write_text(app.settings.read_text().replace("[project]", "[claim]"))
        app.until(lambda: app.app.snapshots.current.generation != generation)
        response = ask(app, project("infra-dns"), "/validate-project").json["response"]
        assert (response["allowed"], response["auditAnnotations"]["reason"]) == (True, "not-for-templates")
        assert app.lines("restart-needed") == []
        text = app.settings.read_text()
        app.settings.write_text(text.replace("/mutate/claims:", "/another:"))
        app.until(lambda: app.lines("restart-needed"))
        [line] = app.lines("restart-needed")
        golden(line["why"])
        assert ask(app, project("a"), "/another").code == 404
        claim = review({"spec": {"size": 2}}, resource=CLAIMS)
        assert "patch" in ask(app, claim, "/mutate/claims").json["response"]  # until then as it was
    finally:
        app.stop()
