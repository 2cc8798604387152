"""Values that habits of Helm, Kustomize and plain YAML lead to: each message says where, why and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import command, silence
from tests.command import Done
from tests.messages import Golden

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
    "key",
    [
        "sidecar-injector/templates",
        "sidecarinjector/inject",
        "sidecar_injector/template",
    ],
)
@pytest.mark.parametrize("name", ["inject", "explain"])
def test_a_prefix_with_other_dots_is_told(tmp_path: Path, name: str, key: str, golden: Golden) -> None:
    done = said(tmp_path, name, "web.yaml", manifest=annotated(f'{{{key}: "8080"}}'))
    golden(done.err if name == "inject" else done.out + done.err)


@pytest.mark.parametrize("key", ["sidecar.injector.example/inject", "other-injector/inject", "injector/inject"])
def test_the_annotation_of_another_injector_is_left_alone(tmp_path: Path, key: str, golden: Golden) -> None:
    done = said(tmp_path, "inject", "web.yaml", manifest=annotated(f'{{{key}: "yes"}}'))
    golden(done.err)


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
            '("100m")',
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
        (
            "podDefault: enabled\n",
            'Error: settings.yaml:1:1: podDefault: "enabled" is not allowed; it has to be one of: inject, named, skip',
        ),
        (
            "prefix: a\nfrob: 1\n\nfrab: 2\n",
            "Error: settings.yaml:4:1: frab: unknown key",
        ),
        (
            "paths:\n- path: /mutate/claims\n  templates: [default-storage-class]\n",
            "Error: settings.yaml:1:1: paths: a mapping is needed, and this is a list",
        ),
    ],
)
@pytest.mark.parametrize("name", ["inject", "explain"])
def test_settings_are_told_at_their_line(tmp_path: Path, name: str, settings: str, words: str) -> None:
    done = said(tmp_path, name, "--settings", "settings.yaml", "web.yaml", settings=settings)
    told = words.removeprefix("warning: ") if name == "explain" else words
    assert told in (done.out + done.err).replace("\n  ", " ")
    assert done.code == int(not words.startswith("warning"))


@pytest.mark.parametrize(
    ("option", "meant"),
    [("--set", "--param"), ("--values", "--settings"), ("--template", "--templates"), ("--write", "--in-place")],
)
def test_an_option_of_another_program_leads_to_ours(tmp_path: Path, option: str, meant: str) -> None:
    done = said(tmp_path, "inject", option, "a=b", "web.yaml")
    assert done.code == 2
    assert f"No such option '{option}'. Did you mean '{meant}'?" in done.err


@pytest.mark.parametrize(
    ("manifest", "code"),
    [
        (WEB.replace("containers:", "container:"), 1),
        (WEB.replace("      - {", "        {"), 1),
        ("apiVersion: v1\nkind: Service\nmetadata: {name: web}\n", 0),
        ("apiVersion: v1\nkind: Service\nmetadata: {name: web}\n---\napiVersion: v1\nkind: Secret\n", 0),
    ],
)
def test_an_object_without_a_right_pod_is_named(tmp_path: Path, manifest: str, code: int, golden: Golden) -> None:
    done = said(tmp_path, "inject", "web.yaml", manifest=manifest)
    golden(done.err.splitlines())
    assert (done.code, done.out) == (code, "" if code else manifest)


@pytest.mark.parametrize(
    ("param", "words"),
    [
        (
            "fluent-bit.labels=team=web",
            'such as {"team":"shop"} with at most 20 keys; write \'{"team":"web"}\'\n',
        ),
        ("oauth2-proxy.issuer-url=login.example", "a string such as https://login.example/realms/shop with at most"),
        ("envoy.clusters=web:80", 'such as [{"name":"pay","host":"pay.example",'),
        ("nginx.gzip=off", '"off": must be true or false; write false'),
    ],
)
def test_a_value_that_is_not_allowed_comes_with_one_that_is(tmp_path: Path, param: str, words: str) -> None:
    template = param.partition(".")[0]
    done = said(tmp_path, "inject", "--templates", template, "--param", param, "web.yaml")
    assert (done.code, words in done.err) == (1, True), done.err


@pytest.mark.parametrize(
    ("annotations", "words"),
    [
        ("{envoy.sidecar.injector/connect-timeout-seconds: 5s}", 'from 1 to 300; write "5"\n'),
        (
            "{sidecar.injector/templates: container, container.sidecar.injector/image: 'a:1', "
            "container.sidecar.injector/env: LOG_LEVEL=info}",
            """; write '{"LOG_LEVEL":"info"}'\n""",
        ),
        (
            "{sidecar.injector/templates: cloud-sql-proxy, "
            "cloud-sql-proxy.sidecar.injector/instances: 'shop-prod:europe-west1:orders=tcp:5433'}",
            '; write "shop-prod:europe-west1:orders?port=5433"\n',
        ),
    ],
)
def test_a_value_for_an_annotation_is_written_as_yaml_needs_it(tmp_path: Path, annotations: str, words: str) -> None:
    done = said(tmp_path, "inject", "web.yaml", manifest=annotated(annotations))
    assert (done.code, words in done.err) == (1, True), done.err


@pytest.mark.parametrize(
    ("args", "split"),
    [
        ("--quiet,--labels=app,pod", True),
        ("--labels=app,--quiet", False),
        ("--labels,app,pod", False),
        ('["--labels=app,pod"]', False),
        ('["--config=x", "serve"]', False),
    ],
)
def test_arguments_that_a_comma_may_have_split(tmp_path: Path, args: str, split: bool) -> None:
    given = ("--templates", "container", "--param", "container.image=a:1", "--param", f"container.args={args}")
    with silence.saying("codes"):
        done = said(tmp_path, "inject", *given, "web.yaml")
    assert ("[split-argument" in done.err) is split


@pytest.mark.parametrize(
    ("values", "without_effect"),
    [
        (("fluent-bit.host=logs.example",), True),
        (("fluent-bit.host=logs.example", "fluent-bit.output=forward"), False),
        (("envoy.app-port=8081",), True),
        (("envoy.app-port=8081", "envoy.intercept=ports"), False),
        (("nginx.rate-limit=5",), False),
    ],
)
def test_a_value_that_the_other_values_leave_no_use_for(
    tmp_path: Path, values: tuple[str, ...], without_effect: bool
) -> None:
    name = values[0].partition(".")[0]
    params = (part for value in values for part in ("--param", value))
    done = said(tmp_path, "inject", "--templates", name, *params, "web.yaml")
    assert (f"--param {values[0].partition('=')[0]} has no effect" in done.err) is without_effect


@pytest.mark.parametrize(
    ("args", "meant"),
    [
        ("--verbose --port 9000", "to make it 3 items write --verbose,--port,9000\n"),
        ("--port=9000 --verbose", "to make it 2 items write --port=9000,--verbose\n"),
        ("--verbose,--port,9000", ""),
        ("--vm=-Xms1g -Xmx1g", ""),
        ("--format=%h %l", ""),
        ("exec app --port 80", ""),
        ('["--verbose --port"]', ""),
    ],
)
def test_arguments_with_blanks_between_them(tmp_path: Path, args: str, meant: str, golden: Golden) -> None:
    given = ("--templates", "container", "--param", "container.image=a:1", "--param", f"container.args={args}")
    done = said(tmp_path, "inject", *given, "web.yaml")
    assert done.code == 0
    assert ("joined-arguments" in done.err) is bool(meant)
    golden(done.err)


@pytest.mark.parametrize(
    "field",
    [
        "env: {A: b}",
        "env: [A=b]",
        "volumeMounts: {a: /b}",
        "args: --port 80",
    ],
)
@pytest.mark.parametrize("policies", [False, True])
def test_a_list_of_a_container_that_is_none(tmp_path: Path, field: str, policies: bool, golden: Golden) -> None:
    manifest = WEB.replace("ports: [{containerPort: 8080}]", field)
    settings = "paths: {/validate/env: {type: validating, templates: [deny-env]}}\n"
    name = "check-manifests" if policies else "inject"
    args = (name, "--settings", "settings.yaml", "web.yaml")
    done = said(tmp_path, *args, manifest=manifest, settings=settings if policies else "")
    golden(done.err)
    listed = "apiVersion: v1\nkind: List\nitems:\n- " + manifest.replace("\n", "\n  ").rstrip() + "\n"
    golden(said(tmp_path, "inject", "web.yaml", manifest=listed).err)


def test_a_variable_that_is_a_number(tmp_path: Path, golden: Golden) -> None:
    manifest = WEB.replace("ports:", "env: [{name: A, value: 8}], ports:")
    done = said(tmp_path, "inject", "web.yaml", manifest=manifest)
    golden(done.err)


def test_a_cron_job_without_its_job_is_told_once(tmp_path: Path) -> None:
    manifest = WEB.replace("apps/v1", "batch/v1").replace("Deployment", "CronJob")
    done = said(tmp_path, "inject", "web.yaml", manifest=manifest)
    assert (done.code, done.err.count("cronjob/web")) == (1, 1)


def test_values_under_the_names_of_templates(tmp_path: Path, golden: Golden) -> None:
    values = "replicaCount: 1\nenvoy:\n  cpuLimit: 500m\n  retries: 3\n"
    done = said(tmp_path, "inject", "web.yaml", manifest=values)
    golden(done.err)


@pytest.mark.parametrize(
    "name",
    [
        "check-manifests",
        "inject",
    ],
)
def test_an_option_for_policies(tmp_path: Path, name: str, golden: Golden) -> None:
    golden(said(tmp_path, name, "--policy", "deny-env", "web.yaml").err)


def test_all_missing_annotations_are_told_at_once(tmp_path: Path) -> None:
    done = said(tmp_path, "inject", "--templates", "vault-agent", "web.yaml")
    prefix = "vault-agent.sidecar.injector"
    assert all(f"; set annotation {prefix}/{name} of the pod" in done.err for name in ("address", "role", "secrets"))


NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: default, labels: {injection: %s}}\n---\n"


@pytest.mark.parametrize("name", ["inject", "explain"])
@pytest.mark.parametrize("label", ['"true"', "enable", "Enabled"])
def test_a_namespace_label_that_chooses_nothing(tmp_path: Path, name: str, label: str, golden: Golden) -> None:
    done = said(tmp_path, name, "web.yaml", manifest=NAMESPACE % label + WEB)
    golden(done.out + done.err)


@pytest.mark.parametrize(
    "label",
    ['"false"', "disable", '"off"', "require"],
)
def test_a_namespace_label_that_means_another_choice(tmp_path: Path, label: str, golden: Golden) -> None:
    done = said(tmp_path, "inject", "web.yaml", manifest=NAMESPACE % label + WEB)
    golden(done.err)


@pytest.mark.parametrize("label", ["enabled", "required", "disabled"])
def test_a_namespace_label_that_chooses(tmp_path: Path, label: str, golden: Golden) -> None:
    golden(said(tmp_path, "inject", "web.yaml", manifest=NAMESPACE % label + WEB).err)


@pytest.mark.parametrize(
    "parameter",
    [
        "container.image=Registry.Example/Web:1-Alpine",
        "container.image=Web@sha256:" + "a" * 64,
        "container.memory-limit=100MB",
        "container.memory-limit=1 GiB",
        'envoy.exclude-inbound-ports=["443"]',
    ],
)
def test_a_value_of_a_format_that_is_nearly_right(tmp_path: Path, parameter: str, golden: Golden) -> None:
    template = parameter.partition(".")[0]
    done = said(tmp_path, "inject", "web.yaml", "--templates", template, "--param", parameter)
    assert done.code == 1
    golden(done.err)


def test_a_file_without_a_pod_is_named_with_what_it_holds(tmp_path: Path, golden: Golden) -> None:
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n"
    done = said(tmp_path, "render", "nginx", "--pod", "web.yaml", manifest=service)
    golden(done.err)


def test_a_key_beside_the_dash_of_its_item(tmp_path: Path, golden: Golden) -> None:
    manifest = "spec:\n  containers:\n  - name: a\n  image: a:1\n    tty: true\n"
    done = said(tmp_path, "inject", "web.yaml", manifest=manifest)
    golden(done.err)


@pytest.mark.parametrize("file", ["Chart.yaml", "kustomization.yaml"])
def test_a_folder_of_another_tool(tmp_path: Path, file: str, golden: Golden) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / file).write_text("name: mine\n")
    for name in ("render", "lint"):
        done = command.run(name, "./mine", cwd=tmp_path)
        golden(done.out + done.err)


@pytest.mark.parametrize(
    "annotations",
    [
        "\n        a: b\n        envoy.sidecar.injector/cpu-limit: much",
        "{sidecar.injector/templates: ngnix}",
    ],
)
def test_the_line_of_an_annotation(tmp_path: Path, annotations: str, golden: Golden) -> None:
    manifest = WEB.replace("labels: {app: web}, annotations: {}}", "X").replace(
        "{X", f"\n      annotations: {annotations}"
    )
    if "{" in annotations:
        manifest = annotated(annotations)
    done = said(tmp_path, "inject", "web.yaml", manifest=f"apiVersion: v1\nkind: Service\n---\n{manifest}")
    golden(done.err)


def test_the_line_of_a_namespaces_annotation_and_within_a_list(tmp_path: Path, golden: Golden) -> None:
    namespace = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: default\n  annotations:\n"
    namespace += "    sidecar.injector/templates: x\n"
    done = said(tmp_path, "inject", "web.yaml", manifest=f"{WEB}---\n{namespace}")
    golden(done.err)
    listed = "kind: List\nitems:\n- kind: Pod\n  metadata:\n    annotations: {a: 1}\n"
    done = said(tmp_path, "inject", "web.yaml", manifest=listed)
    golden(done.err)


def test_a_workload_without_its_template(tmp_path: Path, golden: Golden) -> None:
    done = said(tmp_path, "inject", "web.yaml", manifest=WEB.replace("  template:", "  templates:"))
    assert (done.code, done.out) == (1, "")
    golden(done.err)
    patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 2}\n"
    patched = said(tmp_path, "inject", "web.yaml", manifest=patch)
    assert (patched.code, patched.out) == (0, patch)
    golden(patched.err)
    explained = said(tmp_path, "explain", "web.yaml", manifest=patch)
    assert explained.code == 1
    golden(explained.err)


@pytest.mark.parametrize("name", ["inject", "explain"])
def test_a_namespace_with_an_annotation_of_the_labels_name(tmp_path: Path, name: str) -> None:
    manifest = NAMESPACE.replace("labels", "annotations") % "enabled" + WEB
    done = said(tmp_path, name, "web.yaml", manifest=manifest)
    right = "only the label injection enables injection in a namespace: labels: {injection: enabled}"
    words = f"annotation injection has no effect; {right}"
    assert words in done.out + done.err


def test_a_receipt_with_another_prefix(tmp_path: Path, golden: Golden) -> None:
    once = said(tmp_path, "inject", "--settings", "settings.yaml", "web.yaml", settings="prefix: x.example\n")
    again = said(tmp_path, "uninject", "web.yaml", manifest=once.out)
    assert (again.code, again.out) == (1, "")
    golden(again.err)
    golden(said(tmp_path, "inject", "web.yaml", manifest=once.out).err)


def test_a_yes_by_another_key(tmp_path: Path, golden: Golden) -> None:
    done = said(tmp_path, "inject", "web.yaml", manifest=annotated('{sidecar.injector/enabled: "true"}'))
    golden(done.err)


def test_fields_are_kubectl_s_to_explain(tmp_path: Path, golden: Golden) -> None:
    done = said(tmp_path, "explain", "deployment.spec.template.spec")
    golden(done.err)
