"""Warnings about a manifest's pods: annotations without effect, fields that belong elsewhere, and causes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.messages import Golden
from tests.unit.cli.test_wrong_values import WEB, annotated, said

_NGINX = 'nginx.sidecar.injector/rate-limit: "50"'
_NO_EFFECT = "pod annotation nginx.sidecar.injector/rate-limit has no effect, because the pod gets only envoy; to"


@pytest.mark.parametrize("name", ["inject", "explain"])
@pytest.mark.parametrize(
    ("annotations", "args"),
    [
        (_NGINX, ()),
        (f"{_NGINX}, sidecar.injector/templates: envoy", ()),
        (_NGINX, ("--templates", "envoy")),
        (_NGINX, ("--namespace-label", "injection=required")),
        (f'{_NGINX}, nginx.sidecar.injector/gzip: "no", nginx.sidecar.injector/rate-burst: "1"', ()),
        (f"{_NGINX}, fluentd.sidecar.injector/image: a", ()),
    ],
)
def test_parameters_of_a_template_that_the_pod_does_not_get(
    tmp_path: Path, name: str, annotations: str, args: tuple[str, ...], golden: Golden
) -> None:
    done = said(tmp_path, name, "web.yaml", *args, manifest=annotated(f"{{{annotations}}}"))
    golden(done.err if name == "inject" else done.out + done.err)


@pytest.mark.parametrize(
    ("annotations", "args", "settings"),
    [
        (f"{_NGINX}, sidecar.injector/templates: nginx", (), ""),
        (f'{_NGINX}, sidecar.injector/inject: "false"', (), ""),
        (f"{_NGINX}, sidecar.injector/templates: ngnix", (), ""),
        (_NGINX, ("--templates", "nginx"), ""),
        (_NGINX, ("--namespace-annotation", "sidecar.injector/templates=envoy,nginx"), ""),
        ('ngnix.sidecar.injector/rate-limit: "50"', (), ""),
        (_NGINX, (), "paths: {/policies/more: {templates: [nginx]}}"),
        (_NGINX, (), "prefix: other.example"),
    ],
)
def test_parameters_that_have_their_effect_or_none_for_another_reason(
    tmp_path: Path, annotations: str, args: tuple[str, ...], settings: str, golden: Golden
) -> None:
    given = ("--settings", "settings.yaml", *args)
    done = said(tmp_path, "inject", "web.yaml", *given, manifest=annotated(f"{{{annotations}}}"), settings=settings)
    golden(done.err)


@pytest.mark.parametrize("name", ["inject", "explain"])
@pytest.mark.parametrize(
    "annotation",
    [
        "envoy/log-level: debug",
        "sidecar.injector/params: a",
        'sidecar-injector.io/inject: "false"',
        "Injector/templates: nginx",
        'inject: "false"',
    ],
)
def test_names_that_are_nearly_ours(tmp_path: Path, name: str, annotation: str, golden: Golden) -> None:
    done = said(tmp_path, name, "web.yaml", manifest=annotated(f"{{{annotation}}}"))
    golden(done.err if name == "inject" else done.out + done.err)


@pytest.mark.parametrize(
    "key",
    [
        "envoy.sidecar-injector/app-port",
        "envoy.injector/app-port",
        "envoy.sidecar.injector.io/app_port",
        "sidecar.injector.envoy/app-port",
        "sidecar-injector/app-port",
        "envoy.app-port",
    ],
)
def test_a_parameter_with_nearly_our_prefix(tmp_path: Path, key: str) -> None:
    right = "has no effect; write envoy.sidecar.injector/app-port"
    manifest = annotated(f'{{{key}: "1"}}')
    for name in ("inject", "explain"):
        done = said(tmp_path, name, "web.yaml", manifest=manifest)
        assert f"pod annotation {key} {right}" in done.out + done.err
    done = said(tmp_path, "inject", "web.yaml", "--namespace-annotation", f"{key}=1")
    assert f"namespace annotation {key} {right}" in done.err


@pytest.mark.parametrize(
    "annotation",
    [
        'vault.hashicorp.com/agent-inject: "true"',
        "vault.hashicorp.com/role: app",
        'sidecar.istio.io/inject: "true"',
        "linkerd.io/inject: enabled",
        'prometheus.io/port: "8080"',
        "sidecar.jaegertracing.io/inject: a",
        "fluentbit.io/parser: json",
        'dapr.io/app-port: "80"',
        "envoy/other: a",
        "example.com/inject: a",
        'sidecar.injector/inject: "true"',
        "x.injector.io/other: a",
    ],
)
def test_names_of_others(tmp_path: Path, annotation: str) -> None:
    assert "no effect" not in said(tmp_path, "inject", "web.yaml", manifest=annotated(f"{{{annotation}}}")).err


@pytest.mark.parametrize(
    ("key", "system"),
    [
        ("inject.istio.io/templates", "Istio"),
        ("sidecar.istio.io/inject", "Istio"),
        ("istio.io/rev", "Istio"),
        ("linkerd.io/inject", "Linkerd"),
        ("config.linkerd.io/skip-outbound-ports", "Linkerd"),
        ("vault.hashicorp.com/agent-inject", "Vault"),
        ("consul.hashicorp.com/connect-inject", "Consul"),
        ("dapr.io/enabled", "Dapr"),
        ("kuma.io/sidecar-injection", "Kuma"),
    ],
)
def test_a_key_of_another_system_is_a_note_in_explain_and_never_a_failure(
    tmp_path: Path, key: str, system: str
) -> None:
    manifest = annotated(f'{{{key}: "1"}}')
    done = said(tmp_path, "inject", "--strict", "web.yaml", manifest=manifest)
    assert done.code == 0 and key not in done.err
    option = ("--strict", "--output", "json", "web.yaml")
    for kind, more in (("pod annotation", ()), ("namespace annotation", ("--namespace-annotation", f"{key}=1"))):
        done = said(tmp_path, "explain", *option, *more, manifest=annotated("{}") if more else manifest)
        [note] = [note for note in json.loads(done.out)[0]["notes"] if key in note]
        assert done.code == 0 and note.startswith(f"{kind} {key} is for {system} ")
    own = ("--settings", "settings.yaml", "web.yaml")
    done = said(tmp_path, "explain", *own, manifest=manifest, settings=f"prefix: {key.partition('/')[0]}\n")
    assert f"is for {system}" not in done.out


@pytest.mark.parametrize("name", ["inject", "explain"])
@pytest.mark.parametrize(
    ("annotations", "args", "idle"),
    [
        ("", (), True),
        ("sidecar.injector/inject: 'no'", (), True),
        ("sidecar.injector/templates: nginx", (), False),
        ("", ("--templates", "nginx"), False),
        ("sidecar.injector/templates: ngnix", (), False),  # what it gets is not known
    ],
)
def test_a_parameter_of_the_command_line_that_no_object_uses(
    tmp_path: Path, name: str, annotations: str, args: tuple[str, ...], idle: bool, golden: Golden
) -> None:
    given = (name, "web.yaml", "--param", "nginx.rate-limit=50", *args)
    done = said(tmp_path, *given, manifest=annotated(f"{{{annotations}}}"))
    assert ("--param nginx.rate-limit" in done.err) == idle
    golden(done.err)
    assert not idle or said(tmp_path, *given, "--strict").code == 1


def test_a_parameter_of_an_earlier_injection_is_used(tmp_path: Path) -> None:
    injected = said(tmp_path, "inject", "web.yaml", "--templates", "nginx").out
    for value in ("50", "0"):
        done = said(tmp_path, "inject", "web.yaml", "--param", f"nginx.rate-limit={value}", manifest=injected)
        assert "no effect" not in done.err


def test_an_injected_pod_keeps_templates_of_the_command_line(tmp_path: Path) -> None:
    manifest = annotated(f"{{{_NGINX}}}")
    injected = said(tmp_path, "inject", "web.yaml", "--templates", "nginx", manifest=manifest).out
    assert "no effect" not in said(tmp_path, "inject", "web.yaml", manifest=injected).err


_PORTS = "ports: [{containerPort: 8080}]}"


@pytest.mark.parametrize("name", ["inject", "explain"])
@pytest.mark.parametrize(
    "after",
    [
        "}\n      ports: [{containerPort: 80}]",
        "}\n      replicas: 2",
        "}\n      nodeselector: {a: b}",
        ", environment: {A: b}}",
        ", hostNetwork: true}",
    ],
)
def test_a_field_that_kubernetes_has_elsewhere(tmp_path: Path, name: str, after: str, golden: Golden) -> None:
    done = said(tmp_path, name, "web.yaml", manifest=WEB.replace(_PORTS, f"{_PORTS[:-1]}{after}"))
    golden(done.err if name == "inject" else done.out + done.err)


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("spec.containers[web].resources.limits.memory", "resources: {limits: {memory: 512MB}}"),
        ("spec.containers[web].resources.requests.cpu", "resources: {requests: {cpu: 2 cores}}"),
        ("spec.containers[web].resources.limits", "resources: {limits: {mem: 1Gi}}"),
        ("spec.containers[web].volumeMounts[/d]", "volumeMounts: [{name: data, mountPath: /d}]"),
        ("spec.containers[web].imagePullPolicy", "imagePullPolicy: always"),
        ("spec.containers[0].resources.limits.cpu", "resources: {limits: {cpu: 1Gi}}"),
        ("spec.containers[0].resources.limits.memory", "resources: {limits: {memory: 512m}}"),
        ("spec.containers[0].resources.limits.memory", "resources: {limits: {memory: 100}}"),
        ("spec.containers[0].command[0]", 'command: ["sleep 3600"]'),
    ],
)
def test_a_value_of_the_app_that_is_refused_or_that_nobody_means(
    tmp_path: Path, path: str, field: str, golden: Golden
) -> None:
    manifest = WEB.replace(_PORTS, f"{_PORTS[:-1]}, {field}}}")
    for name in ("inject", "explain"):
        done = said(tmp_path, name, "web.yaml", manifest=manifest)
        lines = [line for line in (done.out + done.err).splitlines() if f"{path}: " in line]
        assert len(lines) == 1
        golden(lines)


@pytest.mark.parametrize(
    ("path", "right", "wrong"),
    [
        ("metadata.name", "{name: web}", "{name: Web_App}"),
        ("spec.selector", "matchLabels: {app: web}", "matchLabels: {app: other}"),
        ("spec.template.spec.restartPolicy", _PORTS, f"{_PORTS}\n      restartPolicy: Never"),
        ("spec.template.spec.restartPolicy", "apps/v1\nkind: Deployment", "batch/v1\nkind: Job"),
    ],
)
def test_a_value_of_the_workload_that_is_refused(
    tmp_path: Path, path: str, right: str, wrong: str, golden: Golden
) -> None:
    done = said(tmp_path, "inject", "web.yaml", manifest=WEB.replace(right, wrong))
    lines = [line for line in done.err.splitlines() if f": {path}: " in line]
    assert len(lines) == 1
    golden(lines)


@pytest.mark.parametrize(
    ("label", "near"),
    [
        ("sidecar-injection", True),
        ("sidecar-injector/injection", True),
        ("istio-injection", False),
        ("linkerd-injection", False),
    ],
)
def test_a_label_of_a_namespace_with_nearly_our_prefix(tmp_path: Path, label: str, near: bool) -> None:
    namespace = f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: default, labels: {{{label}: enabled}}}}\n---\n"
    done = said(tmp_path, "inject", "web.yaml", manifest=f"{namespace}{WEB}")
    assert (f"label {label} has no effect" in done.err) == near


def test_the_label_as_an_annotation_of_the_namespace_is_told_once(tmp_path: Path) -> None:
    done = said(tmp_path, "inject", "web.yaml", "--namespace-annotation", "injection=enabled")
    assert "sidecar.injector/inject" not in done.err


def test_two_containers_of_one_name_are_told_once(tmp_path: Path, golden: Golden) -> None:
    manifest = WEB.replace("      containers:\n", '      containers:\n      - {name: web, image: "a:1"}\n')
    golden(said(tmp_path, "inject", "web.yaml", manifest=manifest).err)


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("Deployment", "resources: {limits: {cpu: 500m, memory: 1Ki}}"),
        ("Deployment", "volumeMounts: [{name: envoy-config, mountPath: /a}]"),  # of the template
        ("Thing", "resources: {limits: {memory: 512MB}}"),
    ],
)
def test_a_value_of_the_app_that_may_be_right(tmp_path: Path, kind: str, field: str) -> None:
    manifest = WEB.replace(_PORTS, f"{_PORTS[:-1]}, {field}}}").replace("kind: Deployment", f"kind: {kind}")
    manifest = manifest.replace("apps/v1", "apps/v1" if kind == "Deployment" else "example.com/v1")
    assert "refuses" not in said(tmp_path, "inject", "web.yaml", manifest=manifest).err


@pytest.mark.parametrize("value", ["memory-limit: 512m", "memory-limit: '100'", "cpu-limit: 1Gi", "cpu-limit: 100Mi"])
def test_a_parameter_with_a_unit_of_another_resource(tmp_path: Path, value: str, golden: Golden) -> None:
    manifest = annotated(f"{{envoy.sidecar.injector/{value}}}")
    key = f"[unlikely-value origin=pod annotation envoy.sidecar.injector/{value.partition(':')[0]}"
    for name in ("inject", "explain"):
        done = said(tmp_path, name, "web.yaml", manifest=manifest)
        assert key in done.out + done.err
        golden([line for line in (done.out + done.err).splitlines() if key in line])


def test_a_field_of_a_newer_kubernetes_is_left_alone(tmp_path: Path, golden: Golden) -> None:
    manifest = WEB.replace(_PORTS, f"{_PORTS}\n      frobnication: {{a: b}}\n      x-mine: 1")
    golden(said(tmp_path, "inject", "web.yaml", manifest=manifest).err)


@pytest.mark.parametrize(
    ("ports", "cause"),
    [
        (
            'ports: [{containerPort: "8080"}]}',
            "spec.containers[0].ports[0].containerPort: containerPort is a string; it has to be an integer; write it "
            "without quotes",
        ),
        (
            "}\n      ports: [{containerPort: 8080}]",
            "spec.ports: there is no field `ports` here; it belongs in a container",
        ),
    ],
)
def test_the_cause_stands_before_what_the_template_says(tmp_path: Path, ports: str, cause: str) -> None:
    done = said(tmp_path, "inject", "web.yaml", "--templates", "nginx", manifest=WEB.replace(_PORTS, ports))
    assert (
        f"failed: not-served: {cause}; because of this mistake, the template says: nginx must know the app's port"
        in done.err
    )
    assert f"line {10 if 'spec.containers' in cause else 11}, namespace" in done.err


def test_templates_that_do_not_load_and_nobody_asks_for_are_told_in_one_line(tmp_path: Path, golden: Golden) -> None:
    for name in ("a", "b", "c", "d", "e"):
        (tmp_path / "own" / name).mkdir(parents=True)
        (tmp_path / "own" / name / "template.yaml").write_text("description: [\n")
    done = said(tmp_path, "inject", "web.yaml", "--templates", "nginx", "--templates-dir", "own")
    golden(done.err)


def test_a_kind_of_another_group_may_have_more_fields(tmp_path: Path) -> None:
    manifest = WEB.replace("apps/v1", "serving.knative.dev/v1").replace("kind: Deployment", "kind: Service")
    manifest = manifest.replace("      containers:", "      timeoutSeconds: 300\n      containers:")
    assert "timeoutSeconds" not in said(tmp_path, "inject", "web.yaml", manifest=manifest).err


def test_capabilities_in_small_letters_are_none_for_pod_security_alone(tmp_path: Path, golden: Golden) -> None:
    web = WEB.replace("image:", "securityContext: {capabilities: {drop: [all]}}, image:", 1)
    assert "drop" in web
    golden(said(tmp_path, "inject", "web.yaml", "--templates", "always-pull-images", manifest=web).err)


def test_the_label_of_namespaces_on_a_pod_is_told_once(tmp_path: Path) -> None:
    labelled = WEB.replace("labels: {app: web}, ann", "labels: {app: web, injection: disabled}, ann")
    data = json.loads(said(tmp_path, "inject", "--output", "json", "web.yaml", manifest=labelled).err)
    [warning] = [text for text in data["objects"][0]["warnings"] if "injection" in text]
    assert "namespaces" in warning
