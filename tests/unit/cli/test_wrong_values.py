"""Values that habits of Helm, Kustomize and plain YAML lead to: each message says where, why and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import command
from tests.command import Done

WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, annotations: {}}
    spec:
      containers:
      - {name: web, image: "nginx:1.27", ports: [{containerPort: 8080}]}
"""


def said(folder: Path, *args: str, manifest: str = WEB, settings: str = "") -> Done:
    (folder / "web.yaml").write_text(manifest)
    (folder / "settings.yaml").write_text(settings)
    return command.run(*args, cwd=folder)


def annotated(annotations: str) -> str:
    return WEB.replace("annotations: {}", f"annotations: {annotations}")


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("sidecar-injector/templates", "sidecar.injector/templates"),
        ("sidecarinjector/inject", "sidecar.injector/inject"),
        ("sidecar_injector/template", "sidecar.injector/templates"),
        ("envoy.sidecar-injector/app-port", "envoy.sidecar.injector/app-port"),
    ],
)
@pytest.mark.parametrize("name", ["inject", "explain"])
def test_a_prefix_with_other_dots_is_told(tmp_path: Path, name: str, key: str, meant: str) -> None:
    done = said(tmp_path, name, "web.yaml", manifest=annotated(f'{{{key}: "8080"}}'))
    assert f"pod annotation {key} does not apply; did you mean {meant}?" in done.out + done.err


@pytest.mark.parametrize("key", ["sidecar.injector.example/inject", "other-injector/inject", "injector/inject"])
def test_the_annotation_of_another_injector_is_left_alone(tmp_path: Path, key: str) -> None:
    assert "does not apply" not in said(tmp_path, "inject", "web.yaml", manifest=annotated(f'{{{key}: "yes"}}')).err


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            "parameters:\n  ngnix: {gzip: false}\n",
            'warning: settings.yaml:2:3: parameters.ngnix: there is no template "ngnix"; did you mean nginx?',
        ),
        (
            "parameters:\n  envoy.cpu-request: 100m\n",
            "Error: settings.yaml:2:3: parameters[envoy.cpu-request]: a mapping is needed, and this is a string "
            '("100m"); write envoy: {cpu-request: 100m}',
        ),
        (
            'parameters:\n  nginx: {gzip: "yes"}\n',
            'Error: settings.yaml:2:11: parameters.nginx.gzip: "yes": must be true or false; write true',
        ),
        (
            "# first\nparameters:\n  envoy:\n    cpu-requst: 100m\n",
            'Error: settings.yaml:4:5: parameters.envoy.cpu-requst: there is no parameter "cpu-requst"; did you mean '
            "cpu-request?",
        ),
        (
            "prefix: a\npodDefualt: x\n",
            'Error: settings.yaml:2:1: podDefualt: unknown key "podDefualt"; did you mean podDefault?',
        ),
    ],
)
@pytest.mark.parametrize("name", ["inject", "explain"])
def test_settings_are_told_at_their_line(tmp_path: Path, name: str, settings: str, words: str) -> None:
    done = said(tmp_path, name, "--settings", "settings.yaml", "web.yaml", settings=settings)
    told = words.removeprefix("warning: ") if name == "explain" else words
    assert told in (done.out + done.err).replace("\n  ", " ")
    assert done.code == int(words.startswith("Error"))


@pytest.mark.parametrize(
    ("option", "meant"),
    [("--set", "--param"), ("--values", "--settings"), ("--template", "--templates"), ("--write", "--in-place")],
)
def test_an_option_of_another_program_leads_to_ours(tmp_path: Path, option: str, meant: str) -> None:
    done = said(tmp_path, "inject", option, "a=b", "web.yaml")
    assert done.code == 2
    assert f"No such option '{option}'. Did you mean '{meant}'?" in done.err


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        (
            WEB.replace("containers:", "container:"),
            "deployment/web: skipped: malformed-pod: spec.containers: a pod has at least one container; write "
            "containers, not container",
        ),
        (
            WEB.replace("      - {", "        {"),
            "deployment/web: skipped: malformed-pod: spec.containers: it is a mapping; it has to be a list",
        ),
        (
            "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n",
            "service/web holds no pod, so there is nothing to inject.",
        ),
        (
            "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n---\napiVersion: v1\nkind: Secret\n",
            "service/web and 1 more hold no pod, so there is nothing to inject.",
        ),
    ],
)
def test_an_object_without_a_right_pod_is_named(tmp_path: Path, manifest: str, words: str) -> None:
    done = said(tmp_path, "inject", "web.yaml", manifest=manifest)
    assert words in done.err.splitlines()
    assert done.out == manifest


@pytest.mark.parametrize(
    ("param", "words"),
    [
        ("fluent-bit.labels=team=web", 'a JSON object with at most 20 keys; such as {"team":"shop"}'),
        ("oauth2-proxy.issuer-url=login.example", "characters; such as https://login.example/realms/shop"),
        ("envoy.clusters=web:80", 'each a JSON object; such as [{"name":"pay","host":"pay.example","port":443,'),
        ("nginx.gzip=off", '"off": must be true or false; write false'),
    ],
)
def test_a_value_that_is_not_allowed_comes_with_one_that_is(tmp_path: Path, param: str, words: str) -> None:
    template = param.partition(".")[0]
    done = said(tmp_path, "inject", "--templates", template, "--param", param, "web.yaml")
    assert (done.code, words in done.err) == (1, True), done.err


def test_all_missing_annotations_are_one_list(tmp_path: Path) -> None:
    done = said(tmp_path, "inject", "--templates", "vault-agent", "web.yaml")
    prefix = "vault-agent.sidecar.injector"
    assert f"; set annotations {prefix}/address, {prefix}/role and {prefix}/secrets\n" in done.err


NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: default, labels: {injection: %s}}\n---\n"


@pytest.mark.parametrize("name", ["inject", "explain"])
@pytest.mark.parametrize("label", ['"true"', "enable", "Enabled"])
def test_a_namespace_label_that_chooses_nothing(tmp_path: Path, name: str, label: str) -> None:
    done = said(tmp_path, name, "web.yaml", manifest=NAMESPACE % label + WEB)
    words = f"namespace label injection={label.strip(chr(34))} is not one of enabled, required, disabled"
    assert f"{words}; it does not apply; write injection: enabled" in done.out + done.err


@pytest.mark.parametrize("label", ["enabled", "required", "disabled"])
def test_a_namespace_label_that_chooses(tmp_path: Path, label: str) -> None:
    assert "does not apply" not in said(tmp_path, "inject", "web.yaml", manifest=NAMESPACE % label + WEB).err


def test_a_parameter_of_a_template_that_no_pod_gets(tmp_path: Path) -> None:
    done = said(tmp_path, "inject", "web.yaml", "--templates", "nginx", "--param", "fluent-bit.port=1")
    assert "warning: --param fluent-bit.port has no effect: no pod here gets fluent-bit\n" in done.err
    used = said(tmp_path, "inject", "web.yaml", "--templates", "nginx", "--param", "nginx.gzip=false")
    assert "no effect" not in used.err
    (tmp_path / "injected.yaml").write_text(used.out)
    again = command.run("inject", "injected.yaml", "--param", "nginx.gzip=false", cwd=tmp_path)
    assert "no effect" not in again.err


@pytest.mark.parametrize(
    ("parameter", "words"),
    [
        ("container.image=Registry.Example/Web:1-Alpine", "write registry.example/web:1-Alpine"),
        ("container.image=Web@sha256:" + "a" * 64, "write web@sha256:" + "a" * 64),
        ("container.memory-limit=100MB", "write 100Mi"),
        ("container.memory-limit=1 GiB", "write 1Gi"),
        ('envoy.exclude-inbound-ports=["443"]', "[0] must be a port from 1 to 65535; write it without quotes"),
    ],
)
def test_a_value_of_a_format_that_is_nearly_right(tmp_path: Path, parameter: str, words: str) -> None:
    template = parameter.partition(".")[0]
    done = said(tmp_path, "inject", "web.yaml", "--templates", template, "--param", parameter)
    assert done.code == 1
    assert f"; {words}\n" in done.err


def test_a_file_without_a_pod_is_named_with_what_it_holds(tmp_path: Path) -> None:
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n"
    done = said(tmp_path, "render", "nginx", "--pod", "web.yaml", manifest=service)
    assert done.err == (
        "Error: web.yaml: holds Service, and no pod; give it one Pod, or one workload such as a Deployment\n"
    )


def test_render_takes_one_template(tmp_path: Path) -> None:
    done = said(tmp_path, "render", "nginx", "fluent-bit")
    assert done.code == 2
    assert "There is no FILE fluent-bit. A call renders one TEMPLATE, for the pod of one FILE." in done.err


def test_a_key_beside_the_dash_of_its_item(tmp_path: Path) -> None:
    manifest = "spec:\n  containers:\n  - name: a\n  image: a:1\n    tty: true\n"
    done = said(tmp_path, "inject", "web.yaml", manifest=manifest)
    assert "web.yaml:4:3: this line stands beside the - of its list's item; indent it to column 5" in done.err


@pytest.mark.parametrize(
    ("file", "what"), [("Chart.yaml", "a Helm chart"), ("kustomization.yaml", "a Kustomize folder")]
)
def test_a_folder_of_another_tool(tmp_path: Path, file: str, what: str) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / file).write_text("name: mine\n")
    for name in ("render", "lint"):
        done = command.run(name, "./mine", cwd=tmp_path)
        assert (
            f"it is {what}, without a template.yaml; start a template with `injector new NAME`" in done.out + done.err
        )
