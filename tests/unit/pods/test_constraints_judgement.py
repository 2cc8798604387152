"""Only what the injection brings about is judged; any JSON is a pod that may be asked about."""

import copy

import pytest
from hypothesis import given, settings, strategies as st

from injector.errors import InjectionError
from injector.pods.constraints import check_constraints
from injector.pods.constraints.requests_and_limits import pod_ask
from injector.pods.context import Cluster, Namespace
from injector.pods.quantity import format_quantity
from injector.reasons import Reason
from tests.processor_time import at_most
from tests.unit.pods.constraint_cases import BASELINE, CASES, HARDENED, LEVEL, SOME, Case, mount, resources, secured

PLAIN = Namespace("shop")
RESTRICTED = Namespace("shop", {LEVEL: "restricted"})
SIDECAR = {"name": "sidecar", "image": "sidecar:1", "securityContext": HARDENED}


def pod(**app):
    container = {"name": "app", "image": "app:1", **app}
    return {"metadata": {"name": "web"}, "spec": {"containers": [container]}}


def with_sidecar(base, **fields):
    return {**base, "spec": {**base["spec"], "containers": [*base["spec"]["containers"], {**SIDECAR, **fields}]}}


def refusal(final, base, namespace=PLAIN, cluster=None):
    try:
        check_constraints(final, base, namespace, *([cluster] if cluster else []))
    except InjectionError as error:
        return error
    return None


@pytest.mark.parametrize(
    "app",
    [
        {"image": None},
        {"env": [{"name": "A", "value": 1}]},
        {"volumeMounts": [{"name": "nowhere", "mountPath": "/x"}]},
        {"ports": [{"containerPort": 0}]},
        {"securityContext": {"privileged": True}},
        resources({"cpu": 2}, {"cpu": 1}),
        {"readinessProbe": {}},
    ],
)
def test_faults_of_the_pod_itself_stay_the_api_servers(app):
    base = pod(**app)
    patched = copy.deepcopy(base)  # as if a template's "*" had touched every container
    patched["spec"]["containers"][0]["workingDir"] = "/"
    for namespace in (PLAIN, Namespace("shop", {LEVEL: "baseline"}), RESTRICTED):
        check_constraints(patched, base, namespace)
        check_constraints(with_sidecar(patched), base, namespace)
        assert "sidecar" in str(refusal(with_sidecar(patched, image=""), base, namespace))


@pytest.mark.parametrize(("side", "cpu", "bound"), [("maximum", "300m", "max"), ("minimum", "10m", "min")])
def test_bounds_are_fields_without_words(side, cpu, bound):
    limits = [{"type": "Container", bound: {"cpu": "200m"}}]
    namespace = Namespace("shop", limit_ranges=({"metadata": {"name": "bounds"}, "spec": {"limits": limits}},))
    error = refusal(with_sidecar(pod(), **resources({"cpu": cpu}, {"cpu": cpu})), pod(), namespace)
    assert error.diagnostic.fields[side] == "200m"
    assert "allowed" not in error.diagnostic.fields


def test_a_patch_of_an_app_container_is_judged(golden):
    base = pod()
    patched = copy.deepcopy(base)
    patched["spec"]["containers"][0]["volumeMounts"] = [mount("/x")]
    golden(str(refusal(patched, base)))


def test_a_patch_that_loosens_an_app_container_is_judged():
    base = pod(securityContext=HARDENED)
    patched = {**base, "spec": {"containers": [{**base["spec"]["containers"][0], **secured(runAsNonRoot=None)}]}}
    error = refusal(patched, base, RESTRICTED)
    assert error.reason is Reason.POD_SECURITY
    assert "spec.containers[app].securityContext.runAsNonRoot" in str(error)


def test_figures_that_grow_are_no_new_fault():
    base = pod(**resources({"cpu": "2"}))
    base["spec"]["resources"] = {"requests": {"cpu": "1"}}
    assert refusal(with_sidecar(base, resources=SOME), base) is None


def test_quota_that_the_pod_alone_exceeds(golden):
    quota = {
        "metadata": {"name": "q"},
        "spec": {"hard": {"requests.cpu": "1"}},
        "status": {"used": {"requests.cpu": "950m"}},
    }
    namespace = Namespace("shop", quotas=(quota,))
    base = pod(resources=SOME)
    assert refusal(with_sidecar(base, resources=SOME), base, namespace) is None
    quota["status"]["used"]["requests.cpu"] = "850m"
    golden(str(refusal(with_sidecar(base, resources=SOME), base, namespace)))
    quota["status"]["used"]["requests.cpu"] = "800m"
    assert refusal(with_sidecar(base, resources=SOME), base, namespace) is None


def test_version_of_the_api_server():
    base = pod(securityContext=HARDENED)
    final = with_sidecar(base, readinessProbe={"httpGet": {"host": "a", "port": 80}})
    assert refusal(final, base, RESTRICTED, Cluster((1, 33))) is None
    assert refusal(final, base, RESTRICTED, Cluster((1, 34))).reason is Reason.POD_SECURITY
    image = {**base, "spec": {**base["spec"], "volumes": [{"name": "v", "image": {"reference": "a"}}]}}
    assert refusal(image, base, RESTRICTED, Cluster((1, 32))).reason is Reason.POD_SECURITY
    assert refusal(image, base, RESTRICTED, Cluster((1, 33))) is None


def test_an_unknown_level_counts_as_restricted():
    base = pod(securityContext=HARDENED)
    assert refusal(with_sidecar(base, securityContext={}), base, Namespace("shop", {LEVEL: "strict"})) is not None


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        ({"containers": [resources({"cpu": 1}), resources({"cpu": "500m"})]}, "1500m"),
        ({"containers": [resources(None, {"cpu": 2})]}, "2"),
        (
            {"containers": [resources({"cpu": 1})], "initContainers": [resources({"cpu": 3}), resources({"cpu": 2})]},
            "3",
        ),
        (
            {
                "containers": [resources({"cpu": 1})],
                "initContainers": [
                    resources({"cpu": 3}),
                    {"restartPolicy": "Always", **resources({"cpu": 1})},
                    resources({"cpu": "2500m"}),
                ],
            },
            "3500m",
        ),
        (
            {
                "containers": [resources({"cpu": 3})],
                "initContainers": [resources({"cpu": 3}), {"restartPolicy": "Always", **resources({"cpu": 1})}],
            },
            "4",
        ),
        ({"containers": [resources({"cpu": 1})], "overhead": {"cpu": "250m"}}, "1250m"),
        ({"containers": [resources({"cpu": 1})], **resources({"cpu": 3}), "overhead": {"cpu": 1}}, "4"),
        ({"containers": [resources({"cpu": 1})], **resources(None, {"cpu": 3})}, "1"),
        ({"containers": [{}], **resources(None, {"cpu": 3})}, "3"),
    ],
)
def test_what_a_pod_asks_for(spec, cpu):
    assert format_quantity(pod_ask(spec).requests["cpu"]) == cpu


def test_messages_are_short_whatever_the_values():
    long = "x" * 100_000
    for fields in ({"image": f" {long}"}, {"imagePullPolicy": long}, {"env": [{"name": f"{long}=", "value": ""}]}):
        assert len(str(refusal(with_sidecar(pod(), **fields), pod()))) < 300


def test_time_grows_with_what_is_touched_only():
    large = pod(env=[{"name": f"E{i}", "value": "v"} for i in range(20_000)])
    with at_most(40):
        for _ in range(20):
            check_constraints(with_sidecar(large), large, RESTRICTED)


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
words = st.sampled_from(
    [
        "name",
        "spec",
        "containers",
        "Always",
        "a",
        "cpu",
        "1",
        "exec",
        "httpGet",
        "port",
        "type",
        "ALL",
        "Localhost",
        "/x",
    ]
)
anything = st.recursive(
    scalars | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words | st.text(max_size=3), inner, max_size=3),
)


def _paths(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _paths(item, (*path, key))


def _put(value, path, new):
    if not path:
        return new
    copied = copy.copy(value)
    copied[path[0]] = _put(value[path[0]], path[1:], new)
    return copied


FULL = [case for case in CASES if case not in BASELINE or case.sidecar]


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_any_json_is_answered(data):
    case: Case = data.draw(st.sampled_from(FULL))
    before, after = case.before(), case.after()
    after = _put(after, data.draw(st.sampled_from(list(_paths(after)))), data.draw(anything))
    if data.draw(st.booleans()):
        before = _put(before, data.draw(st.sampled_from(list(_paths(before)))), data.draw(anything))
    if isinstance(after, dict) and isinstance(before, dict):
        namespace = case.namespace()
        quotas = _put(
            list(namespace.quotas),
            data.draw(st.sampled_from(list(_paths(list(namespace.quotas))))),
            data.draw(anything),
        )
        ranges = list(namespace.limit_ranges)
        ranges = _put(ranges, data.draw(st.sampled_from(list(_paths(ranges)))), data.draw(anything))
        if isinstance(quotas, list) and isinstance(ranges, list):
            namespace = Namespace("shop", case.labels(), quotas=tuple(quotas), limit_ranges=tuple(ranges))
        refusal(after, before, namespace)


def test_a_mount_without_a_name_lacks_a_name_and_no_volume():
    fault = refusal(with_sidecar(pod(), volumeMounts=[{"mountPath": "/x"}]), pod()).diagnostic
    assert (fault.code, fault.fields) == ("invalid-pod", {"field": "name"})
