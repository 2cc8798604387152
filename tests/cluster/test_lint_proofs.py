"""What the linter's documentation calls bad is bad: the real API server refuses it, drops it or does something else.

What only a program can show is in `test_lint_proofs_programs`. Where neither can, the rule's docstring says why.
"""

from __future__ import annotations

from typing import Any

import pytest

from injector.authoring.lint.rule import rules
from injector.pods.context import Object
from injector.reasons import Effect, Reason
from tests.cluster import test_lint_proofs_programs
from tests.cluster.api import ApiError
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.injection.installation import container, env, names
from tests.cluster.lint_examples import Example, as_webhooks_see, proven, proves, refused, stored
from tests.cluster.objects import job, pod, service
from tests.cluster.processes import eventually

#: What level `restricted` asks of the app itself, so that it refuses nothing but the sidecar.
_HARDENED = {
    "runAsNonRoot": True,
    "runAsUser": 1000,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}
_ENFORCE = "pod-security.kubernetes.io/enforce"


def test_every_rule_is_shown_or_says_why_not() -> None:
    assert "bind-address" in proven(), f"{test_lint_proofs_programs.__name__} is imported, so that its tests count"
    shown = proven()
    explained = {rule.name for rule in rules().values() if rule.documentation.proof}
    assert shown | explained == set(rules())
    assert not shown & explained, "a rule that is shown needs no excuse"


def app(
    name: str = "web", *, annotations: dict[str, str] | None = None, spec: Object | None = None, **fields: Any
) -> Object:
    """A pod whose container app has these fields."""
    containers = [{"name": "app", "image": "registry.example/app:1", **fields}]
    return pod(name, {"app": name}, annotations, containers=containers, **(spec or {}))


# --------------------------------------------------------------------------------------- what is refused


@proves("mount-without-volume")
def test_mount_without_volume(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns = namespace()
    said = refused(control_plane, Example("mount-without-volume", "bad").merged(app()), ns)
    assert 'volumeMounts[0].name: Not found: "shipper-log"' in said
    stored(control_plane, Example("mount-without-volume", "good").inject(app()).object, ns)


@pytest.mark.parametrize(
    ("rule", "level", "words"),
    [
        ("run-as-root", "restricted", "runAsNonRoot != true"),
        ("run-as-root", "restricted", "must not set runAsUser=0"),
        ("added-capabilities", "baseline", 'must not include "NET_ADMIN" in securityContext.capabilities.add'),
        ("added-capabilities", "restricted", 'must not include "NET_ADMIN" in securityContext.capabilities.add'),
        ("privilege-escalation", "restricted", "must set securityContext.allowPrivilegeEscalation=false"),
        ("pod-security", "restricted", 'must set securityContext.capabilities.drop=["ALL"]'),
        ("pod-security", "restricted", "must set securityContext.seccompProfile.type"),
        ("host-path", "baseline", 'hostPath volumes (volume "shipper-logs")'),
        ("host-namespaces", "baseline", "host namespaces (hostPID=true)"),
    ],
)
@proves("run-as-root")
@proves("added-capabilities")
@proves("privilege-escalation")
@proves("pod-security")
@proves("host-path")
@proves("host-namespaces")
def test_pod_security(
    rule: str, level: str, words: str, control_plane: ControlPlane, namespace: NamespaceFactory
) -> None:
    ns, base = namespace(labels={_ENFORCE: level}), app(securityContext=_HARDENED)
    assert words in refused(control_plane, Example(rule, "bad").merged(base), ns)
    good = Example(rule, "good").inject(base)
    assert good.effect is Effect.INJECT
    stored(control_plane, good.object, ns)


@proves("grace-period")
def test_grace_period(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns, hasty = namespace(), app(spec={"terminationGracePeriodSeconds": 1})
    said = refused(control_plane, Example("grace-period", "bad").merged(hasty), ns)
    assert "lifecycle.preStop.sleep" in said and "1" in said
    made = stored(control_plane, Example("grace-period", "good").inject(hasty).object, ns)
    assert container(made, "shipper")["lifecycle"] == {"preStop": {"sleep": {"seconds": 1}}}


@proves("field-path")
def test_field_path(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns = namespace()
    bad = Example("field-path", "bad").inject(app())
    assert bad.effect is Effect.INJECT, "no constraint knows"
    said = refused(control_plane, bad.object, ns)
    assert "fieldRef.fieldPath" in said and "spec.node" in said
    stored(control_plane, Example("field-path", "good").inject(app()).object, ns)


@proves("overridable")
def test_overridable(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    own = {
        "name": "shipper",
        "image": "example.com/shipper:1.2",
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}},
    }
    custom = pod("web", containers=[{"name": "app", "image": "registry.example/app:1"}, own])
    bad = Example("overridable", "bad").inject(custom, "required")
    assert (bad.effect, bad.reason) == (Effect.REFUSE, Reason.NOT_OVERRIDABLE), bad.message
    good = Example("overridable", "good").inject(custom, "required")
    made = stored(control_plane, good.object, namespace())
    assert container(made, "shipper")["resources"] == own["resources"]


@proves("resources")
def test_resources(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns = namespace()
    quota = {"metadata": {"name": "compute"}, "spec": {"hard": {"requests.cpu": "10"}}}
    control_plane.api.create({"apiVersion": "v1", "kind": "ResourceQuota", **quota}, ns)
    base = app(resources={"requests": {"cpu": "10m", "memory": "10Mi"}})
    bad = Example("resources", "bad").merged(base)

    def said() -> str:
        try:
            control_plane.api.create(bad, ns, dry_run=True)
        except ApiError as error:
            return str(error)
        return ""

    assert "failed quota: compute: must specify requests.cpu" in eventually("admission knows the quota", said)
    stored(control_plane, Example("resources", "good").inject(base).object, ns)


@proves("request-above-limit")
def test_request_above_limit(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns, asked = namespace(), {"requests": {"cpu": "10m", "memory": "128Mi"}, "limits": {"memory": "64Mi"}}
    assert "must be less than or equal to memory limit" in refused(control_plane, app(resources=asked), ns)
    bad = Example("request-above-limit", "bad").inject(app()).object
    made = container(stored(control_plane, bad, ns), "tool")
    assert made["resources"]["requests"]["memory"] == "64Mi", "not what the template says"
    good = Example("request-above-limit", "good").inject(app("other")).object
    made = container(stored(control_plane, good, ns), "tool")
    assert made["resources"] == {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}}


@proves("pod-name")
def test_pod_name(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns, replica = namespace(), app()
    replica = {**replica, "metadata": {"generateName": "web-", "labels": {"app": "web"}}}
    bad, good = (Example("pod-name", which).merged(replica) for which in ("bad", "good"))
    assert stored(control_plane, bad, ns)["metadata"]["name"] == "tool"
    assert 'pods "tool" already exists' in refused(control_plane, bad, ns)
    assert len({stored(control_plane, good, ns)["metadata"]["name"] for _ in range(2)}) == 2


@proves("schema")
def test_schema(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns = namespace()
    bad = Example("schema", "bad").merged(app())
    said = refused(control_plane, bad, ns)
    assert said.startswith("400") and "cannot unmarshal number" in said
    (sidecar,) = [c for c in bad["spec"]["initContainers"] if c["name"] != "app"]
    assert "readinesProbe" in sidecar
    without = {**bad, "spec": {**bad["spec"], "initContainers": [{k: v for k, v in sidecar.items() if k != "env"}]}}
    made = container(stored(control_plane, without, ns), sidecar["name"])
    assert "readinesProbe" not in made and "readinessProbe" not in made, "dropped, and nobody is told"
    good = stored(control_plane, Example("schema", "good").inject(app("good")).object, ns)
    assert "readinessProbe" in container(good, sidecar["name"])


@proves("size")
def test_size(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns = namespace()
    assert "Too long" in refused(control_plane, Example("size", "bad").merged(app()), ns)
    stored(control_plane, Example("size", "good").inject(app()).object, ns)


# ------------------------------------------------------- what is taken, and is not there or not what was meant


@proves("file-mode")
def test_file_mode(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns = namespace()
    for which, mode in (("bad", 0o620), ("good", 0o400)):
        made = stored(control_plane, Example("file-mode", which).inject(app(which)).object, ns)
        [volume] = [v for v in made["spec"]["volumes"] if v["name"] == "shipper-key"]
        assert volume["secret"]["defaultMode"] == mode


@proves("unused-volume")
def test_unused_volume(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns = namespace()
    for which, mounts in (("bad", 0), ("good", 1)):
        made = stored(control_plane, Example("unused-volume", which).inject(app(which)).object, ns)
        assert "shipper-logs" in [volume["name"] for volume in made["spec"]["volumes"]]
        everywhere = [*made["spec"]["initContainers"], *made["spec"]["containers"]]
        mounted = [m["name"] for c in everywhere for m in c.get("volumeMounts", [])]
        assert mounted.count("shipper-logs") == mounts


@proves("unmounted-files")
def test_unmounted_files(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns = namespace()
    bad = Example("unmounted-files", "bad").inject(app("bad"))
    assert bad.files == ()
    assert "tool.yaml" not in str(stored(control_plane, bad.object, ns)["spec"])
    good = stored(control_plane, Example("unmounted-files", "good").inject(app("good")).object, ns)
    assert "tool.yaml" in str(good["spec"]["volumes"])


@proves("unknown-file")
def test_unknown_file(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns = namespace()
    for which, has_it in (("bad", False), ("good", True)):
        made = stored(control_plane, Example("unknown-file", which).inject(app(which)).object, ns)
        assert control_plane.api.warnings == [], "nobody is told"
        (mount,) = [m for m in container(made, "tool")["volumeMounts"] if "subPath" in m]
        (volume,) = [v for v in made["spec"]["volumes"] if v["name"] == mount["name"]]
        assert (mount["subPath"] in [item["path"] for item in volume["downwardAPI"]["items"]]) is has_it


@proves("image-tag")
def test_image_tag(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns, policies = namespace(), {}
    for which in ("bad", "good"):
        made = stored(control_plane, Example("image-tag", which).inject(app(which)).object, ns)
        policies[which] = container(made, "tool")["imagePullPolicy"]
    assert policies == {"bad": "Always", "good": "IfNotPresent"}, "each start asks the registry"


@proves("renders")
def test_renders(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns, given = namespace(), {"tool.sidecar.injector/targets": "[]"}
    bad = Example("renders", "bad").inject(app("bad", annotations=given))
    assert (bad.effect, bad.reason) == (Effect.MARK, Reason.TEMPLATE_FAILED)
    assert "example.com/first" not in stored(control_plane, bad.object, ns)["metadata"]["annotations"]
    good = stored(control_plane, Example("renders", "good").inject(app("good", annotations=given)).object, ns)
    assert good["metadata"]["annotations"]["example.com/first"] == "none"


@proves("volume-name")
def test_volume_name(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns = namespace()
    own = {"volumes": [{"name": "config", "emptyDir": {}}]}
    sources = {}
    for which in ("bad", "good"):
        made = stored(control_plane, Example("volume-name", which).inject(app(which, spec=own)).object, ns)
        mounts = container(made, "tool")["volumeMounts"]
        (mounted,) = [m["name"] for m in mounts if m["mountPath"] == "/etc/tool"]
        (sources[which],) = [v for v in made["spec"]["volumes"] if v["name"] == mounted]
    assert "emptyDir" in sources["bad"] and "configMap" not in sources["bad"], "the app's, for the sidecar"
    assert sources["good"]["configMap"]["name"] == "tool-defaults"
    mounted_too = app("taken", spec=own, volumeMounts=[{"name": "config", "mountPath": "/own"}])
    assert Example("volume-name", "bad").inject(mounted_too).reason is Reason.CONFLICT


@proves("redirects")
def test_redirects() -> None:
    """What then waits for the network without end is shown by tests/node/test_gallery.py."""
    for which, order in (("bad", ["proxy-redirect", "proxy"]), ("good", ["proxy", "proxy-redirect"])):
        assert names(Example("redirects", which).inject(app()).object, "initContainers") == order


@proves("port-conflict")
def test_port_conflict(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    _no_sidecar(control_plane, namespace(), "port-conflict", 8080)
    good = Example("port-conflict", "good").inject(app(ports=[{"containerPort": 8080}]))
    assert names(stored(control_plane, good.object, namespace()), "initContainers") == ["shipper"]


@proves("fixed-port")
def test_fixed_port(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns, taken = namespace(), [{"containerPort": 19901}]
    _no_sidecar(control_plane, ns, "fixed-port", 19901)
    moved = {"tool.sidecar.injector/port": "19902"}
    good = Example("fixed-port", "good").inject(app("good", annotations=moved, ports=taken))
    made = container(stored(control_plane, good.object, ns), "shipper")
    assert made["ports"][0]["containerPort"] == 19902


def _no_sidecar(control_plane: ControlPlane, ns: str, rule: str, port: int) -> None:
    """The pod of an app with that port starts without the bad example's sidecar; with it, both would have the port."""
    base = app("bad", ports=[{"containerPort": port}])
    bad = Example(rule, "bad").inject(base)
    assert (bad.effect, bad.reason) == (Effect.MARK, Reason.CONFLICT)
    made = stored(control_plane, bad.object, ns)
    assert names(made) == ["app"] and names(made, "initContainers") == []
    both = Example(rule, "bad").merged(app("both", ports=[{"containerPort": port}]))
    control_plane.api.create(both, ns, dry_run=True)
    assert any("duplicate port" in warning for warning in control_plane.api.warnings), control_plane.api.warnings


@proves("port-name")
def test_port_name(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns, api = namespace(), control_plane.api
    found = {}
    for which in ("bad", "good"):
        api.create(Example("port-name", which).inject(app(which, ports=[{"containerPort": 8080}])).object, ns)
        front = service(which, 80)
        front["spec"] |= {"selector": {"app": which}, "ports": [{"name": "web", "port": 80, "targetPort": "http"}]}
        api.create(front, ns)
        found[which] = eventually("its endpoints", lambda name=which: _endpoint_ports(control_plane, name, ns))
    assert found == {"bad": {19901}, "good": {None}}, "the sidecar's port answers for the app"


def _endpoint_ports(control_plane: ControlPlane, service_name: str, ns: str) -> set[int | None]:
    """The ports at which a Service finds its pods, once it has found one; None where it found the pod and no port."""
    slices = control_plane.api.list("EndpointSlice", ns, labelSelector=f"kubernetes.io/service-name={service_name}")
    ready = [s for s in slices if s.get("endpoints")]
    return {port.get("port") for s in ready for port in s.get("ports") or [{}]}


@proves("pod-label")
def test_pod_label(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    api = control_plane.api
    for which, caught in (("bad", 1), ("good", 0)):
        ns = namespace()
        others = service("shipper", 80)
        others["spec"]["selector"] = {"app": "shipper"}  # the Service of shippers that run on their own
        api.create(others, ns)
        without = app()
        del without["metadata"]["labels"]["app"]
        api.create(Example("pod-label", which).inject(without).object, ns)
        eventually("the pod runs", lambda where=ns: api.get("Pod", "web", where)["status"].get("podIP"))
        api.create(pod("theirs", labels={"app": "shipper"}), ns)  # comes later, and so is seen later
        eventually("traffic goes to it", lambda where=ns: "theirs" in _pods_behind(control_plane, "shipper", where))
        assert len(_pods_behind(control_plane, "shipper", ns)) == caught + 1


def _pods_behind(control_plane: ControlPlane, service_name: str, ns: str) -> list[str]:
    """The names of the pods that a Service sends to."""
    slices = control_plane.api.list("EndpointSlice", ns, labelSelector=f"kubernetes.io/service-name={service_name}")
    return [endpoint["targetRef"]["name"] for found in slices for endpoint in found.get("endpoints") or []]


@proves("probe-port")
def test_probe_port(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns = namespace()
    for which, has_it in (("bad", False), ("good", True)):
        made = container(stored(control_plane, Example("probe-port", which).inject(app(which)).object, ns), "shipper")
        assert control_plane.api.warnings == [], "nobody is told"
        asked = made["startupProbe"]["httpGet"]["port"]
        assert (asked in [port["name"] for port in made["ports"]]) is has_it


@proves("undeclared-port")
def test_undeclared_port(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    taken = app(ports=[{"containerPort": 19901}])
    bad = Example("undeclared-port", "bad").inject(taken)
    assert (bad.effect, bad.warning_lines) == (Effect.INJECT, ())
    made = stored(control_plane, bad.object, namespace())
    assert control_plane.api.warnings == [], "nobody is told"
    asked = container(made, "shipper")["startupProbe"]["httpGet"]["port"]
    assert asked == container(made, "app")["ports"][0]["containerPort"], "kubelet asks the app for the sidecar"
    good = Example("undeclared-port", "good").inject(taken)
    assert (good.effect, good.reason) == (Effect.MARK, Reason.CONFLICT)


@proves("app-container")
def test_app_container(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns = namespace()
    bad = container(stored(control_plane, Example("app-container", "bad").inject(app("bad")).object, ns), "app")
    assert bad["args"] == ["--log-folder", "/logs"], "in place of what its image says"
    good = container(stored(control_plane, Example("app-container", "good").inject(app("good")).object, ns), "app")
    assert "args" not in good and env(good) == {"LOG_FOLDER": "/logs"}


@proves("pod-fields")
def test_pod_fields(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns = namespace()
    users = {}
    for which in ("bad", "good"):
        made = stored(control_plane, Example("pod-fields", which).inject(app(which)).object, ns)
        whole = made["spec"]["securityContext"].get("runAsUser")
        users[which] = {
            name: container(made, name).get("securityContext", {}).get("runAsUser", whole)
            for name in ("app", "shipper")
        }
    assert users == {"bad": {"app": 101, "shipper": 101}, "good": {"app": None, "shipper": 101}}


@proves("defaulted-field")
def test_defaulted_field(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns = namespace()
    grace = {}
    for which in ("bad", "good"):
        seen = as_webhooks_see(control_plane, app(which), ns)
        made = stored(control_plane, Example("defaulted-field", which).inject(seen).object, ns)
        assert container(made, "shipper")
        grace[which] = made["spec"]["terminationGracePeriodSeconds"]
    assert grace == {"bad": 30, "good": 60}


def test_which_fields_are_never_empty(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    from injector.authoring.lint.rules import merge_rules

    seen = as_webhooks_see(control_plane, app(), namespace())
    assert set(merge_rules.OF_PODS) <= seen["spec"].keys()
    assert set(merge_rules.OF_CONTAINERS) <= container(seen, "app").keys()


@proves("atomic-list")
def test_atomic_list(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns, own = namespace(), {"securityContext": {"capabilities": {"drop": ["MKNOD"]}}}
    bad = stored(control_plane, Example("atomic-list", "bad").inject(app("bad", **own)).object, ns)
    assert container(bad, "app")["securityContext"]["capabilities"]["drop"] == ["MKNOD"], "nothing of the overlay's"
    good = stored(control_plane, Example("atomic-list", "good").inject(app("good", **own)).object, ns)
    assert container(good, "shipper")["securityContext"]["capabilities"]["drop"] == ["NET_RAW"]


@proves("replace")
def test_replace(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns, own = namespace(), [{"name": "DATABASE", "value": "db.example"}]
    found = {}
    for which in ("bad", "good"):
        made = stored(control_plane, Example("replace", which).inject(app(which, env=own)).object, ns)
        found[which] = env(container(made, "app"))
    assert found == {"bad": {"LOG_FOLDER": "/logs"}, "good": {"DATABASE": "db.example", "LOG_FOLDER": "/logs"}}


@proves("variable-reference")
def test_variable_reference(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns = namespace()
    for which, known in (("bad", False), ("good", True)):
        made = container(
            stored(control_plane, Example("variable-reference", which).inject(app(which)).object, ns), "shipper"
        )
        assert control_plane.api.warnings == [], "nobody is told"
        assert made["args"] == ["--node=$(NODE_NAME)"]
        assert ("NODE_NAME" in env(made)) is known


@proves("selector-everything")
def test_selector_everything(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns = namespace()
    bad = Example("selector-everything", "bad", templates=()).inject(app("bad"))
    assert names(stored(control_plane, bad.object, ns), "initContainers") == ["shipper"], "nobody asked for it"
    good = Example("selector-everything", "good", templates=()).inject(app("good"))
    assert names(stored(control_plane, good.object, ns), "initContainers") == []


@proves("unquoted-text-value")
def test_unquoted_text_value(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns, given = namespace(), {"tool.sidecar.injector/title": "my logs"}
    bad = Example("unquoted-text-value", "bad").inject(app("bad", annotations=given))
    assert (bad.effect, bad.reason) == (Effect.MARK, Reason.TEMPLATE_FAILED)
    assert names(stored(control_plane, bad.object, ns), "initContainers") == [], "it starts without its sidecar"
    good = Example("unquoted-text-value", "good").inject(app("good", annotations=given))
    assert names(stored(control_plane, good.object, ns), "initContainers") == ["shipper"]


@proves("secret-in-config")
def test_secret_in_config(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns, api = namespace(), control_plane.api
    subjects = [{"kind": "User", "name": "viewer", "apiGroup": "rbac.authorization.k8s.io"}]
    role = {"kind": "ClusterRole", "name": "view", "apiGroup": "rbac.authorization.k8s.io"}
    binding = {"metadata": {"name": "view"}, "subjects": subjects, "roleRef": role}
    api.create({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", **binding}, ns)
    viewer = control_plane.api_for("viewer")
    given = {"tool.sidecar.injector/api-token": "s3cret"}
    stored(control_plane, Example("secret-in-config", "bad").inject(app("bad", annotations=given)).object, ns)
    secret = {"metadata": {"name": "shipper"}, "stringData": {"token": "s3cret"}}
    api.create({"apiVersion": "v1", "kind": "Secret", **secret}, ns)
    stored(control_plane, Example("secret-in-config", "good").inject(app("good")).object, ns)
    read = eventually("the role counts", lambda: _read(viewer, "bad", ns))
    assert env(container(read, "shipper")) == {"API_TOKEN": "s3cret"}
    assert "s3cret" not in str(viewer.get("Pod", "good", ns))
    with pytest.raises(ApiError) as caught:
        viewer.get("Secret", "shipper", ns)
    assert caught.value.code == 403


def _read(viewer: Any, name: str, ns: str) -> Object | None:
    try:
        found: Object = viewer.get("Pod", name, ns)
    except ApiError as error:
        assert error.code == 403
        return None
    return found


@proves("job-blocked")
def test_job_blocked(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns, api = namespace(), control_plane.api
    warnings = {}
    for which in ("bad", "good"):
        example = Example("job-blocked", which, native_sidecars="never")
        warnings[which] = _create_job(control_plane, example, which, ns)
    for which in ("bad", "good"):
        eventually("the app is done", lambda name=which: _app_is_done(control_plane, name, ns))
    _create_job(control_plane, Example("job-blocked", "bad"), "native", ns)  # comes later, and ends all the same
    eventually("the Job with a native sidecar ends", lambda: _succeeded(control_plane, "native", ns))
    assert not _succeeded(control_plane, "bad", ns) and not _succeeded(control_plane, "good", ns)
    assert api.list("Pod", ns, labelSelector="job-name=bad")[0]["status"]["phase"] == "Running"
    assert warnings["bad"] == (), "nobody is told"
    assert len(warnings["good"]) == 1


def _create_job(control_plane: ControlPlane, example: Example, name: str, ns: str) -> tuple[str, ...]:
    """Creates a Job whose pods have the example's sidecar; what its author is told."""
    manifest = job(name)
    template = manifest["spec"]["template"]
    made = inject_into_job(example, template, name)
    template["metadata"]["annotations"], template["spec"] = made.object["metadata"]["annotations"], made.object["spec"]
    control_plane.api.create(manifest, ns)
    return made.warning_lines


def inject_into_job(example: Example, template: Object, name: str) -> Any:
    """What the command line makes of a Job's pod template."""
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": "0", "controller": True}
    of_the_job = {**template["metadata"], "ownerReferences": [owner]}
    return example.inject({"apiVersion": "v1", "kind": "Pod", **template, "metadata": of_the_job})


def _succeeded(control_plane: ControlPlane, name: str, ns: str) -> bool:
    return control_plane.api.get("Job", name, ns)["status"].get("succeeded") == 1


def _app_is_done(control_plane: ControlPlane, name: str, ns: str) -> bool:
    for made in control_plane.api.list("Pod", ns, labelSelector=f"job-name={name}"):
        for status in made["status"].get("containerStatuses", []):
            if status["name"] == "app" and "terminated" in status["state"]:
                return True
    return False
