"""Warnings about a manifest's pods: annotations without effect, fields that belong elsewhere, and causes."""

from __future__ import annotations

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
    golden(done.out + done.err)


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
    golden(done.out + done.err)


@pytest.mark.parametrize(
    "annotation",
    [
        'vault.hashicorp.com/agent-inject: "true"',
        "envoy/other: a",
        "example.com/inject: a",
        'sidecar.injector/inject: "true"',
        "x.injector.io/other: a",
    ],
)
def test_names_of_others(tmp_path: Path, annotation: str) -> None:
    assert "no effect" not in said(tmp_path, "inject", "web.yaml", manifest=annotated(f"{{{annotation}}}")).err


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
    golden(done.out + done.err)


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
