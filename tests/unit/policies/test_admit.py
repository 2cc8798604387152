"""Objects of any kind, and the templates of the path that they are posted to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jsonpatch
import pytest

from injector.inject import inject
from injector.injection import Injection
from injector.pods.context import Cluster, Namespace, Request
from injector.policies.admit import admit
from injector.policies.request import ObjectRequest
from injector.reasons import Effect, Reason
from injector.settings import parse_settings
from injector.templates.snapshot import Snapshot, build_snapshot
from tests.messages import Golden

PATH = "/objects"
CLAIM = {
    "template.yaml": "for: {resources: [persistentvolumeclaims]}\n"
    "parameters: {class: {type: string, default: fast, description: Its class.}}\n",
    "overlay.yaml.j2": "spec:\n  storageClassName: {{ params.class }}\n",
}
SERVICE = {
    "template.yaml": "for: {resources: [services], operations: [CREATE, UPDATE, DELETE]}\n",
    "overlay.yaml.j2": '{% if operation == "DELETE" %}{% if oldObject.metadata.labels.keep | default("") %}'
    '{{ deny("kept") }}{% endif %}{% elif object.spec.type == "LoadBalancer" %}'
    '{{ deny("none for " ~ user.username) }}{% endif %}\n',
}


def snapshot(
    templates: Mapping[str, Mapping[str, str]], parameters: dict[str, Any] | None = None, **at: Any
) -> Snapshot:
    settings = parse_settings(
        {"templates": [], "paths": {PATH: {"templates": list(templates), **at}}, "parameters": parameters or {}}
    )
    return build_snapshot(settings, templates, Cluster())


def asked(
    obj: dict[str, Any], resource: str, operation: str = "CREATE", old: dict[str, Any] | None = None, **review: Any
) -> ObjectRequest:
    name, _, below = resource.partition("/")
    return ObjectRequest(Request(operation, name, "", below), obj, old or {}, review)


def amended(snap: Snapshot, request: ObjectRequest, namespace: Namespace | None = None) -> Injection:
    found = admit(request, namespace or Namespace("shop"), snap.settings.paths[PATH], snap)
    if found.patch:
        assert jsonpatch.apply_patch(request.object, list(found.patch)) == found.object
    return found


def test_an_object_is_completed_and_then_lacks_nothing() -> None:
    snap = snapshot({"claim": CLAIM})
    first = amended(snap, asked({"spec": {"accessModes": ["ReadWriteOnce"]}}, "persistentvolumeclaims"))
    assert (first.reason, first.effect) == (Reason.AMENDED, Effect.INJECT)
    assert first.object == {"spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast"}}
    again = amended(snap, asked(first.object, "persistentvolumeclaims"))
    assert (again.reason, again.effect, again.patch) == (Reason.NOTHING_TO_ADD, Effect.SKIP, ())


def test_what_the_author_wrote_stays_and_is_told_without_its_value(golden: Golden) -> None:
    found = amended(
        snapshot({"claim": CLAIM}), asked({"spec": {"storageClassName": "s3cret"}}, "persistentvolumeclaims")
    )
    assert found.patch == ()
    golden(found.warning_lines)


def test_parameters_come_from_the_object_its_namespace_and_the_settings(golden: Golden) -> None:
    claim = {"metadata": {"annotations": {"claim.sidecar.injector/class": "own"}}, "spec": {}}
    snap = snapshot({"claim": CLAIM})
    assert amended(snap, asked(claim, "persistentvolumeclaims")).object["spec"] == {"storageClassName": "own"}
    namespace = Namespace("shop", annotations={"claim.sidecar.injector/class": "theirs"})
    bare = asked({"spec": {}}, "persistentvolumeclaims")
    assert amended(snap, bare, namespace).object["spec"] == {"storageClassName": "theirs"}
    snap = snapshot({"claim": CLAIM}, parameters={"claim": {"class": "ours"}})
    assert amended(snap, bare).object["spec"] == {"storageClassName": "ours"}
    claim = {"metadata": {"annotations": {"claim.sidecar.injector/clas": "own"}}, "spec": {}}
    [warning] = amended(snap, asked(claim, "persistentvolumeclaims")).warning_lines
    golden(warning)


@pytest.mark.parametrize(
    ("overlay", "obj", "after"),
    [
        (
            "metadata: {labels: {a: b}}",
            {"metadata": {"labels": {"c": "d"}}},
            {"metadata": {"labels": {"c": "d", "a": "b"}}},
        ),
        ("spec: {list: [1, 2]}", {"spec": {}}, {"spec": {"list": [1, 2]}}),
        ("spec: {list: [1, 2]}", {"spec": {"list": [3]}}, None),
        ("spec: {list: !replace [1, 2]}", {"spec": {"list": [3]}}, {"spec": {"list": [1, 2]}}),
        ("spec: {type: !replace ClusterIP}", {"spec": {"type": "NodePort"}}, {"spec": {"type": "ClusterIP"}}),
        ("spec: {a: !replace null}", {"spec": {"a": 1, "b": 2}}, {"spec": {"b": 2}}),
        ("spec: {a: !replace null}", {"spec": {"b": 2}}, None),
        ("spec: {a: !replace null}", {"kind": "Widget"}, None),
        ("spec: {a: {b: !replace null}}", {"spec": {"b": 2}}, None),
        ("spec: {a: {b: !replace null, c: 1}}", {"spec": {}}, {"spec": {"a": {"c": 1}}}),
        ("spec: {a: !replace true}", {"spec": {"a": 1}}, {"spec": {"a": True}}),
        ("spec: {a: !replace [1, 0]}", {"spec": {"a": [True, False]}}, {"spec": {"a": [1, 0]}}),
        ("spec: {a: 1}", {"spec": {"a": None}}, {"spec": {"a": 1}}),
        ("spec: {a: {b: {c: d}}}", {"kind": "Widget"}, {"kind": "Widget", "spec": {"a": {"b": {"c": "d"}}}}),
        ('spec: {"a/b~c": x}', {"spec": {}}, {"spec": {"a/b~c": "x"}}),
        ("data: {key: value}", {"data": {}}, {"data": {"key": "value"}}),
        ("", {"spec": {}}, None),
    ],
)
def test_maps_are_filled_in_and_lists_are_whole(
    overlay: str, obj: dict[str, Any], after: dict[str, Any] | None
) -> None:
    template = {"template.yaml": "for: {resources: [widgets]}\n", "overlay.yaml.j2": overlay + "\n"}
    found = amended(snapshot({"widget": template}), asked(obj, "widgets"))
    assert found.object == (obj if after is None else after)
    assert (found.object is obj) is (after is None)


def test_a_policy_sees_the_review(golden: Golden) -> None:
    snap = snapshot({"service": SERVICE}, type="validating")
    user = {"userInfo": {"username": "bob"}}
    one = {"spec": {"type": "LoadBalancer"}}
    refused = amended(snap, asked(one, "services", **user))
    assert (refused.effect, refused.code) == (Effect.REFUSE, 403)
    golden(refused.message)
    assert amended(snap, asked({"spec": {"type": "ClusterIP"}}, "services", **user)).allowed
    kept = {"metadata": {"labels": {"keep": "yes"}}, "spec": {}}
    assert "denied: kept" in amended(snap, asked({}, "services", "DELETE", kept)).message
    assert amended(snap, asked({}, "services", "DELETE", {"metadata": {"labels": {}}})).allowed


def test_all_of_the_review_is_there(golden: Golden) -> None:
    names = "request.operation request.name request.options.kind request.dryRun user.groups[0] oldObject.a"
    hole = " ~ ".join(names.split())
    template = {
        "template.yaml": "for: {resources: [widgets], operations: [UPDATE]}\n",
        "overlay.yaml.j2": f"{{{{ deny({hole}) }}}}\n",
    }
    review = {"name": "n", "options": {"kind": "UpdateOptions"}, "dryRun": False, "userInfo": {"groups": ["g"]}}
    found = amended(snapshot({"w": template}), asked({"a": 1}, "widgets", "UPDATE", {"a": 2}, **review))
    golden(found.message)


@pytest.mark.parametrize(
    ("more", "request_", "namespace", "fits"),
    [
        ("", asked({}, "configmaps"), Namespace("shop"), False),
        ("", asked({}, "services", "CONNECT"), Namespace("shop"), False),
        ("", asked({}, "services/status"), Namespace("shop"), False),
        ("", ObjectRequest(Request("CREATE", "services", "apps"), {}), Namespace("shop"), False),
        ("", ObjectRequest(Request("CREATE", "services", version="v2"), {}), Namespace("shop"), False),
        ("", asked({}, "services"), Namespace("shop"), True),
        ("", asked({}, "services"), Namespace(""), True),
        ("namespaces: {matchLabels: {a: b}}", asked({}, "services"), Namespace("shop", {"a": "b"}), True),
        ("namespaces: {matchLabels: {a: b}}", asked({}, "services"), Namespace("shop"), False),
        ("namespaces: {}", asked({}, "services"), Namespace(""), False),
        (
            "selector: {matchLabels: {a: b}}",
            asked({"metadata": {"labels": {"a": "b"}}}, "services"),
            Namespace("s"),
            True,
        ),
        ("selector: {matchLabels: {a: b}}", asked({}, "services"), Namespace("s"), False),
        (
            "selector: {matchLabels: {a: b}}",
            asked({}, "services", "DELETE", {"metadata": {"labels": {"a": "b"}}}),
            Namespace("s"),
            True,
        ),
    ],
)
def test_whom_a_template_is_for(more: str, request_: ObjectRequest, namespace: Namespace, fits: bool) -> None:
    template = {
        "template.yaml": f"for: {{resources: [services], operations: [CREATE, DELETE]}}\n{more}\n",
        "overlay.yaml.j2": '{{ deny("no") }}\n',
    }
    found = amended(snapshot({"service": template}), request_, namespace)
    assert found.reason is (Reason.DENIED if fits else Reason.NOT_FOR_TEMPLATES)
    assert found.allowed is not fits


def test_ignored_namespaces_are_left_alone() -> None:
    snap = snapshot({"service": {**SERVICE, "overlay.yaml.j2": '{{ deny("no") }}\n'}})
    assert amended(snap, asked({}, "services"), Namespace("kube-system")).reason is Reason.NAMESPACE_IGNORED
    assert amended(snap, asked({}, "services"), Namespace("kube-systems")).reason is Reason.DENIED


@pytest.mark.parametrize(
    ("templates", "reason"),
    [
        ({"service": {**SERVICE, "overlay.yaml.j2": "spec: {a: {{ object.nothing.here }}}\n"}}, Reason.TEMPLATE_FAILED),
        ({"service": {**SERVICE, "overlay.yaml.j2": "- a\n"}}, Reason.TEMPLATE_FAILED),
        ({"service": {**SERVICE, "overlay.yaml.j2": "kind: Pod\n"}}, Reason.TEMPLATE_FAILED),
        ({"service": {**SERVICE, "overlay.yaml.j2": "metadata: {name: b}\n"}}, Reason.TEMPLATE_FAILED),
        ({"service": {**SERVICE, "overlay.yaml.j2": "spec: {type: {a: b}}\n"}}, Reason.CONFLICT),
        (
            {
                "service": {
                    "template.yaml": "for: {resources: [services]}\n"
                    "parameters: {v: {type: string, required: true, description: V.}}\n",
                    "overlay.yaml.j2": "spec: {v: {{ params.v }}}\n",
                }
            },
            Reason.BAD_PARAMETER,
        ),
    ],
)
def test_a_template_that_fails_is_told_by_the_failure_policy(
    templates: dict[str, dict[str, str]], reason: Reason, golden: Golden
) -> None:
    request = asked({"spec": {"type": "ClusterIP"}}, "services")
    passed = amended(snapshot(templates), request)
    assert (passed.reason, passed.effect, passed.patch) == (reason, Effect.SKIP, ())
    [warning] = passed.warning_lines
    golden(warning)
    refused = amended(snapshot(templates, failurePolicy="Fail"), request)
    assert (refused.reason, refused.effect, refused.warning_lines) == (reason, Effect.REFUSE, ())


@pytest.mark.parametrize("policy", ["Ignore", "Fail"])
@pytest.mark.parametrize(
    "overlay",
    [
        "stringData: {a: {{ object.data[object.data.pw] }}}",
        "stringData: {a: {{ [1].index(object.data.pw) }}}",
        'stringData: {"{{ object.data.pw }}": 1, "{{ object.data.pw }}": 2}',
        'metadata: {"{{ object.data.pw }}": 1}',
        "{% if [1] | selectattr(object.data.pw) | list %}a: b{% endif %}",
        '{{ deny("no", code=object.data.pw) }}',
        '{"{{ object.data.pw }}": {a: {b: c}}}',
    ],
)
def test_a_message_about_a_secret_does_not_quote_it(overlay: str, policy: str) -> None:
    value = "aHVudGVyMg=="
    template = {"template.yaml": "for: {resources: [secrets]}\n", "overlay.yaml.j2": overlay + "\n"}
    secret = {"data": {"pw": value}, value: {"a": 1}}
    found = amended(snapshot({"t": template}, failurePolicy=policy), asked(secret, "secrets"))
    assert found.reason in (Reason.TEMPLATE_FAILED, Reason.CONFLICT)
    assert value[:6] not in f"{found.message} {found.warning_lines} {found.mistake}"
    assert found.reason is Reason.CONFLICT or "t/overlay.yaml.j2:1:" in found.message


def test_a_message_about_another_object_says_what_is_wrong(golden: Golden) -> None:
    template = {
        "template.yaml": "for: {resources: [configmaps, secrets]}\n",
        "overlay.yaml.j2": "data: {a: {{ object.data[object.data.pw] }}, b: {{ object.nothing.here }}}\n",
    }
    found = amended(snapshot({"t": template}), asked({"data": {"pw": "plainly"}}, "configmaps"))
    golden(found.message)
    found = amended(snapshot({"t": template}), asked({"data": {"pw": "pw", "a": "secretly"}}, "secrets"))
    golden(found.message)


def test_a_pod_without_containers_is_no_object_of_another_kind() -> None:
    template = {"template.yaml": "{}\n", "overlay.yaml.j2": 'spec: {containers: [{name: "*", image: !replace a}]}\n'}
    for pod in ({"spec": {}}, {"kind": "Pod"}, {"spec": {"containers": None}}, {"spec": {"containers": []}}):
        found = amended(snapshot({"every": template}), asked(pod, "pods"))
        assert (found.reason, found.patch) == (Reason.MALFORMED_POD, ())


def test_nothing_is_added_to_an_object_that_is_not_there(golden: Golden) -> None:
    template = {
        "template.yaml": "for: {resources: [services/proxy], operations: [CONNECT]}\n",
        "overlay.yaml.j2": "spec: {a: 1}\n",
    }
    found = amended(snapshot({"adds": template}), asked({}, "services/proxy", "CONNECT"))
    assert (found.reason, found.patch) == (Reason.TEMPLATE_FAILED, ())
    golden(found.message)


BROKEN = {
    "template.yaml": "for: {resources: [services]}\nparameters: {v: {type: integer, default: 1, description: V.}}\n",
    "overlay.yaml.j2": "spec: {v: {{ params.v }}, w: {{ object.spec.w }}}\n",
}
LABEL = {
    "template.yaml": "for: {resources: [services]}\n",
    "overlay.yaml.j2": "metadata: {labels: {seen: !replace yes-it-is}}\n",
}


def test_who_makes_one_template_fail_is_not_past_the_next() -> None:
    bad = {"metadata": {"annotations": {"broken.sidecar.injector/v": "x"}}, "spec": {"type": "LoadBalancer"}}
    for obj in (bad, {"spec": {"type": "LoadBalancer"}}):
        refused = amended(
            snapshot({"broken": BROKEN, "service": SERVICE}), asked(obj, "services", userInfo={"username": "u"})
        )
        assert (refused.reason, refused.effect) == (Reason.DENIED, Effect.REFUSE)
    settings = parse_settings({"paths": {PATH: {"templates": ["servise", "service"]}}})
    snap = build_snapshot(settings, {"service": SERVICE}, Cluster())
    found = amended(snap, asked({"spec": {"type": "LoadBalancer"}}, "services", userInfo={"username": "u"}))
    assert found.reason is Reason.DENIED


def test_what_the_others_complete_stays_where_one_fails(golden: Golden) -> None:
    snap = snapshot({"broken": BROKEN, "label": LABEL})
    found = amended(snap, asked({"spec": {}}, "services"))
    assert (found.reason, found.effect) == (Reason.TEMPLATE_FAILED, Effect.INJECT)
    assert found.object == {"spec": {}, "metadata": {"labels": {"seen": "yes-it-is"}}}
    [warning] = found.warning_lines
    golden(warning)
    assert [name for name, _ in found.templates] == ["label"]
    again = amended(snap, asked(found.object, "services"))
    assert (again.reason, again.effect, again.patch) == (Reason.TEMPLATE_FAILED, Effect.SKIP, ())
    golden(again.warning_lines[0])
    refused = amended(
        snapshot({"label": LABEL, "broken": BROKEN}, failurePolicy="Fail"), asked({"spec": {}}, "services")
    )
    assert (refused.reason, refused.effect, refused.patch) == (Reason.TEMPLATE_FAILED, Effect.REFUSE, ())


def test_a_change_that_takes_the_label_away_is_not_past_the_selector() -> None:
    template = {
        "template.yaml": "for: {resources: [services], operations: [UPDATE, DELETE]}\n"
        "selector: {matchLabels: {keep: 'yes'}}\n",
        "overlay.yaml.j2": '{{ deny("kept") }}\n',
    }
    snap = snapshot({"keeper": template})
    kept: dict[str, Any] = {"metadata": {"labels": {"keep": "yes"}}}
    bare: dict[str, Any] = {"metadata": {}}
    for operation, obj, old in (("UPDATE", bare, kept), ("UPDATE", kept, bare), ("DELETE", {}, kept)):
        assert amended(snap, asked(obj, "services", operation, old)).reason is Reason.DENIED
    assert amended(snap, asked(bare, "services", "UPDATE", bare)).reason is Reason.NOT_FOR_TEMPLATES


def test_a_namespace_lies_in_itself_whatever_its_name(golden: Golden) -> None:
    template = {
        "template.yaml": "for: {resources: [namespaces], operations: [CREATE, UPDATE]}\n"
        "namespaces: {matchLabels: {a: b}}\n",
        "overlay.yaml.j2": "{{ deny(namespace.name) }}\n",
    }
    snap = snapshot({"t": template}, failurePolicy="Fail")

    def told(metadata: dict[str, Any], operation: str = "CREATE", old: dict[str, Any] | None = None) -> str:
        request = asked({"metadata": metadata}, "namespaces", operation, {"metadata": old} if old else None)
        return amended(snap, request, request.itself()).message.partition(" (")[0]

    labels = {"labels": {"a": "b"}}
    assert told({"name": "shop", **labels}) == "denied: shop"
    assert told({"generateName": "shop-", **labels}) == "denied: shop-*"
    golden(told({"generateName": "kube-system", **labels}))
    assert told({"name": "shop", "generateName": "sho", **labels}) == "denied: shop"
    assert told({"name": "shop"}, "UPDATE", {"name": "shop", **labels}) == "denied: shop"
    golden(told({"name": "shop"}))
    patched = asked({"metadata": {"name": "kube-system", **labels}}, "namespaces", "UPDATE", name="shop")
    assert amended(snap, patched, patched.itself()).message.startswith("denied: shop (")
    golden(told({"name": "kube-system", **labels}))


def test_another_group_s_namespaces_lie_in_namespaces() -> None:
    template = {
        "template.yaml": "namespaces: {matchLabels: {a: b}}\nfor: {apiGroups: [a.io], resources: [namespaces]}\n",
        "overlay.yaml.j2": "{{ deny(namespace.name) }}\n",
    }
    snap = snapshot({"t": template}, failurePolicy="Fail")
    for labels, where, reason in (
        ({"a": "b"}, Namespace("shop"), Reason.NOT_FOR_TEMPLATES),
        ({}, Namespace("shop", {"a": "b"}), Reason.DENIED),
    ):
        request = ObjectRequest(Request("CREATE", "namespaces", "a.io"), {"metadata": {"labels": labels}})
        assert amended(snap, request, where).reason is reason


def test_a_template_that_is_not_there_is_told_by_the_failure_policy(golden: Golden) -> None:
    for policy, allowed in (("Ignore", True), ("Fail", False)):
        settings = parse_settings({"paths": {PATH: {"templates": ["servise"], "failurePolicy": policy}}})
        snap = build_snapshot(settings, {"service": SERVICE}, Cluster())
        assert ("unknown-template", ("paths", PATH, "templates")) in [(one.code, one.path) for one in snap.warnings]
        found = amended(snap, asked({"spec": {}}, "services"))
        assert (found.reason, found.allowed) == (Reason.UNKNOWN_TEMPLATE, allowed)
        golden(found.message)


def test_a_validating_path_changes_nothing(golden: Golden) -> None:
    snap = snapshot({"claim": CLAIM}, type="validating", failurePolicy="Fail")
    refused = amended(snap, asked({"spec": {}}, "persistentvolumeclaims"))
    assert refused.reason is Reason.TEMPLATE_FAILED
    golden(refused.message)
    assert amended(snap, asked({"spec": {"storageClassName": "fast"}}, "persistentvolumeclaims")).allowed


def test_pods_are_merged_as_pods_and_every_container_is_meant() -> None:
    template = {
        "template.yaml": "for: {resources: [pods, pods/ephemeralcontainers], operations: [CREATE, UPDATE]}\n",
        "overlay.yaml.j2": "spec:\n"
        + "".join(
            f'  {field}:\n  - name: "*"\n    imagePullPolicy: !replace Always\n'
            for field in ("containers", "initContainers", "ephemeralContainers")
        )
        + 'metadata: {annotations: {seen: {{ app_containers | map(attribute="name") | join(" ") }}}}\n',
    }
    pod = {
        "metadata": {"name": "web"},
        "spec": {
            "containers": [{"name": "web", "image": "a"}],
            "initContainers": [{"name": "first", "image": "b", "imagePullPolicy": "Never"}],
            "ephemeralContainers": [{"name": "debugger", "image": "c", "imagePullPolicy": "IfNotPresent"}],
        },
    }
    found = amended(snapshot({"always": template}), asked(pod, "pods/ephemeralcontainers", "UPDATE", pod))
    lists = [found.object["spec"][field] for field in ("containers", "initContainers", "ephemeralContainers")]
    assert [c["imagePullPolicy"] for containers in lists for c in containers] == ["Always"] * 3
    assert found.object["metadata"]["annotations"] == {"seen": "first web debugger"}


def test_templates_apply_in_order_and_see_what_those_before_gave() -> None:
    def template(overlay: str) -> dict[str, str]:
        return {"template.yaml": "for: {resources: [widgets]}\n", "overlay.yaml.j2": overlay}

    snap = snapshot({"one": template("spec: {a: 1}\n"), "two": template("spec: {b: {{ object.spec.a + 1 }}}\n")})
    found = amended(snap, asked({"spec": {}}, "widgets"))
    assert found.object == {"spec": {"a": 1, "b": 2}}
    assert [name for name, _ in found.templates] == ["one", "two"]


@pytest.mark.parametrize(
    "template",
    [
        CLAIM,
        {"template.yaml": "description: Another.", "overlay.yaml.j2": "{{ warn(user.username) }}\n"},
    ],
)
def test_a_template_for_a_path_is_not_for_injection(template: dict[str, str], golden: Golden) -> None:
    settings = parse_settings({"templates": ["claim"]})
    snap = build_snapshot(settings, {"claim": template}, Cluster())
    namespace = Namespace("shop", {"injection": "enabled"})
    found = inject({"spec": {"containers": [{"name": "web", "image": "a"}]}}, namespace, snap)
    assert found.reason is Reason.TEMPLATE_NOT_ALLOWED
    golden(found.message)


def test_a_name_that_the_template_gives_a_value_is_its_own() -> None:
    template = {
        "template.yaml": "description: Another.",
        "overlay.yaml.j2": '{% set user = 5 %}metadata: {annotations: {u: "{{ user }}"}}\n',
    }
    snap = build_snapshot(parse_settings({"templates": ["own"]}), {"own": template}, Cluster())
    found = inject(
        {"spec": {"containers": [{"name": "web", "image": "a"}]}}, Namespace("shop", {"injection": "enabled"}), snap
    )
    assert found.object["metadata"]["annotations"]["u"] == "5"


def test_a_selector_never_picks_a_template_for_a_path() -> None:
    template = {**CLAIM, "template.yaml": CLAIM["template.yaml"] + "selector: {}\n"}
    snap = build_snapshot(parse_settings({"templates": []}), {"claim": template}, Cluster())
    pod = {"spec": {"containers": [{"name": "web", "image": "a"}]}}
    assert inject(pod, Namespace("shop", {"injection": "enabled"}), snap).reason is Reason.NO_TEMPLATE


def test_parameters_that_somebody_types_go_before_all_others() -> None:
    snap = snapshot({"claim": CLAIM}, parameters={"claim": {"class": "ours"}})
    asked_for = asked({"spec": {}}, "persistentvolumeclaims")
    found = admit(asked_for, Namespace("shop"), snap.settings.paths[PATH], snap, {"claim": {"class": "typed"}})
    assert found.object["spec"] == {"storageClassName": "typed"}


def test_a_template_that_fails_says_where_and_for_which_values(golden: Golden) -> None:
    broken = {**CLAIM, "overlay.yaml.j2": "spec:\n  storageClassName: {{ params.class + 1 }}\n"}
    found = amended(snapshot({"claim": broken}), asked({"spec": {}}, "persistentvolumeclaims"))
    assert found.reason is Reason.TEMPLATE_FAILED
    assert found.mistake is not None
    assert found.mistake.place is not None
    assert (found.mistake.place.file, found.mistake.place.line) == ("overlay.yaml.j2", 2)
    golden(found.message)
