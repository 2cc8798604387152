"""What `explain` answers to those who have mistyped something, or forgotten the namespace's label."""

from tests.unit.cli.manifests import POD, WORKLOADS

POD_SAYS = POD.replace("metadata:\n", "metadata:\n  annotations: {{{}}}\n", 1)


def says(annotations):
    assert POD_SAYS != POD
    return POD_SAYS.replace("{{{}}}", f"{{{annotations}}}")


def test_a_label_that_nobody_gave_is_said_to_be_taken_for_granted(run):
    granted = "injection=enabled is taken for granted"
    assert granted in run("explain", "-", stdin=POD).out
    assert granted not in run("explain", "--namespace-label", "injection=required", "-", stdin=POD).out
    space = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: default, labels: {injection: disabled}}\n"
    assert granted not in run("explain", "-", stdin=POD + space).out
    assert granted in run("explain", "-", stdin=POD + space.replace("default", "shop")).out


def test_a_label_of_an_unknown_value_is_pointed_at(run):
    out = run("explain", "--namespace-label", "injection=enable", "-", stdin=POD).out
    assert "namespace label injection=enable is none of enabled, required, disabled" in out


def test_misspelt_annotations_are_told_once_whether_the_pod_is_injected_or_not(run):
    injct = "annotation sidecar.injector/injct is not counted; did you mean sidecar.injector/inject?"
    for label in ("injection=enabled", "injection=none"):
        assert (
            run("explain", "--namespace-label", label, "-", stdin=says("sidecar.injector/injct: 'no'")).out.count(injct)
            == 1
        )
    lost = run("inject", "--templates", "logger", "-", stdin=says("sidecar.injector/level: debug")).err
    assert "sidecar.injector/level is not counted; did you mean logger.sidecar.injector/level?" in lost
    for known in ("sidecar.injector/status: failed", "sidecar.injector/proxyImage: x", "injct: x"):
        assert "not counted" not in run("explain", "-", stdin=says(known)).out


def test_what_is_neither_a_file_nor_a_name_in_a_cluster(run):
    for words in (["web"], ["deploy", "web"]):
        result = run("explain", *words)
        assert result.err.endswith("no such file; for an object in a cluster write KIND/NAME: deploy/web")


def test_settings_that_name_no_template_are_noted(run, tmp_path):
    file = tmp_path / "settings.yaml"
    file.write_text("parameters: {enoy: {cpu-request: 1}}\n")
    out = run("explain", "--settings", str(file), "-", stdin=WORKLOADS["Deployment"]).out
    assert 'parameters."enoy": there is no such template; did you mean envoy?' in out
