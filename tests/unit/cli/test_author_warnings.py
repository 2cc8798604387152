"""What a template's author is told by `inject`: of each template once, at its line, also where a pod is refused."""

import pytest

from tests.unit.cli import manifests

DEPLOYMENT, POD = manifests.WORKLOADS["Deployment"], manifests.POD


@pytest.fixture
def overlay(templates_dir):
    def write(more, parameters=""):
        folder = templates_dir / "mine"
        folder.mkdir()
        (folder / "template.yaml").write_text(f"description: Mine.\n{parameters}")
        (folder / "overlay.yaml.j2").write_text(f"spec:\n  containers:\n  - name: mine\n    image: mine:1\n{more}")
        return folder

    return write


def warnings(result):
    return [line.partition("warning: ")[2] for line in result.err.splitlines() if "warning: " in line]


def test_a_field_that_kubernetes_drops_is_told_once_for_a_template(run, overlay):
    folder = overlay("    when: params.debug\n")
    result = run("inject", "--templates", "mine", "-", stdin=f"{DEPLOYMENT}---\n{POD}")
    assert result.code == 0
    [warning] = warnings(result)
    assert warning.startswith(f"{folder}/overlay.yaml.j2:5:5: ")


def test_a_comparison_that_is_never_true_is_told(run, overlay):
    parameters = "parameters:\n  debug: {type: boolean, default: false}\n"
    folder = overlay('{% if params.debug == "true" %}\n    tty: true\n{% endif %}\n', parameters)
    result = run("inject", "--templates", "mine", "-", stdin=DEPLOYMENT)
    [warning] = warnings(result)
    assert warning.startswith(f"{folder}/overlay.yaml.j2:5:7: ")


def test_it_is_told_where_the_pod_is_refused_for_it(run, overlay, golden):
    overlay("  volumes:\n  - name: tls\n    secret: {name: web}\n")
    result = run("inject", "--templates", "mine", "-", stdin=DEPLOYMENT)
    assert result.code == 1
    golden(result.err)
    golden(warnings(result))


def test_a_template_that_is_right_says_nothing(run, overlay):
    overlay("    tty: true\n")
    result = run("inject", "--templates", "mine,logger", "-", stdin=DEPLOYMENT)
    assert (result.code, warnings(result)) == (0, [])


def test_a_namespace_has_the_label_with_its_name(run, overlay):
    name = "kubernetes.io/metadata.name"
    overlay("", f"namespaces: {{matchExpressions: [{{key: {name}, operator: In, values: [shop]}}]}}\n")
    assert run("inject", "--templates", "mine", "-n", "shop", "-", stdin=DEPLOYMENT).code == 0
    refused = run("inject", "--templates", "mine", "-n", "cart", "-", stdin=DEPLOYMENT)
    assert (refused.code, "template-not-allowed" in refused.err) == (1, True)


def test_a_field_of_another_name_is_told_before_the_refusal_that_it_causes(run, overlay, golden):
    folder = overlay("    livenessProbe:\n      http: {path: /}\n")
    result = run("render", str(folder))
    assert result.code == 1
    golden(result.err)


MEMORY = "memory is 512m, and that is 0.512 bytes; write 512Mi"
LIMIT = "    resources: {limits: {memory: {{ params.memory_limit }}}}\n"
QUANTITY = "parameters:\n  memory-limit: {type: string, format: quantity, default: 64Mi}\n"


def test_a_value_that_a_pod_gives_is_told_of_each_pod_by_its_annotation(run, overlay, golden):
    overlay(LIMIT, QUANTITY)
    pod = POD.replace("metadata:", "metadata:\n  annotations: {mine.sidecar.injector/memory-limit: 512m}", 1)
    result = run("inject", "--templates", "mine", "-", stdin=f"{pod}---\n{pod}---\n{DEPLOYMENT}")
    golden(warnings(result))


def test_a_value_of_an_option_is_told_by_the_option(run, overlay, golden):
    folder = overlay(LIMIT, QUANTITY)
    result = run("render", str(folder), "--param", "mine.memory-limit=512m")
    golden(result.err)


def test_a_value_that_the_template_writes_is_told_at_its_line(run, overlay):
    folder = overlay(LIMIT.replace("{{ params.memory_limit }}", "512m"), QUANTITY)
    result = run("inject", "--templates", "mine", "--param", "mine.memory-limit=512m", "-", stdin=DEPLOYMENT)
    assert any(one.startswith(f"{folder}/overlay.yaml.j2:5:34: ") for one in warnings(result))
