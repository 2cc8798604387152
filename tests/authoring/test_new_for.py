"""`injector new --for`: a template for objects of another kind that lints clean and passes its cases at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from injector.authoring.scaffold import target
from injector.loading.template_folders import read_folder
from injector.settings import parse_settings
from injector.templates.kubernetes_yaml import load_manifest
from injector.templates.load import load_template
from tests.authoring.commands import injector
from tests.messages import Golden


@pytest.mark.parametrize(
    ("resource", "group", "version", "name", "kind"),
    [
        ("services", "", "v1", "services", "Service"),
        ("persistentvolumeclaims", "", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"),
        ("deployments", "apps", "v1", "deployments", "Deployment"),
        ("horizontalpodautoscalers", "autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler"),
        ("gateways.example.com", "example.com", "v1", "gateways", "Gateway"),
        ("gateways.v1beta1.example.com", "example.com", "v1beta1", "gateways", "Gateway"),
        ("projectrequests", "project.openshift.io", "v1", "projectrequests", "ProjectRequest"),
    ],
)
def test_it_works_at_once(tmp_path: Path, resource: str, group: str, version: str, name: str, kind: str) -> None:
    meant = target(resource)
    assert (*meant.resource, meant.kind) == (group, version, name, kind)
    made = injector("new", "mine", "--for", resource, "--dir", tmp_path)
    assert (made.code, made.err) == (0, "")
    folder = tmp_path / "mine"
    template = load_template("mine", read_folder(folder))
    covered = template.applies_to
    assert (covered.api_groups, covered.api_versions, covered.resources) == ((group,), (version,), (name,))
    assert injector("lint", "--strict", folder).code == 0
    assert injector("test", folder, "--fail-under", "100").code == 0
    assert injector("docs", folder, "--check", folder / "README.md").code == 0
    readme = (folder / "README.md").read_text()
    settings = parse_settings(load_manifest(readme.partition("```yaml\n")[2].partition("```")[0]))
    assert settings.paths["/validate/mine"].templates == ("mine",)


def test_one_for_pods_works_at_once(tmp_path: Path) -> None:
    assert injector("new", "mine", "--for", "pods", "--dir", tmp_path).code == 0
    assert injector("lint", "--strict", tmp_path / "mine").code == 0
    assert injector("test", tmp_path / "mine", "--fail-under", "100").code == 0
    assert injector("docs", tmp_path / "mine", "--check", tmp_path / "mine" / "README.md").code == 0


@pytest.mark.parametrize("resource", ["Service", "gateways", "pods/exec", "pods/exec.example.com", "a.b_c", ""])
def test_what_is_no_resource_is_told(tmp_path: Path, resource: str, golden: Golden) -> None:
    done = injector("new", "mine", "--for", resource, "--dir", tmp_path)
    assert done.code == 2
    golden(done.err)
    assert not (tmp_path / "mine").exists()


def test_it_is_no_copy_too(tmp_path: Path, golden: Golden) -> None:
    done = injector("new", "mine", "--for", "services", "--from", "deny-env", "--dir", tmp_path)
    assert done.code == 2
    golden(done.err)
