"""Where parts are looked for, and what their absence does to a test."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests import parts


@pytest.fixture
def empty_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache that nobody fills, and no control plane from the environment."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("GET_PARTS", raising=False)
    monkeypatch.delenv(parts.FEW_PARTS, raising=False)
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    return tmp_path / "sidecar-injector"


def program(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy("/bin/true", file))


def control_plane(folder: Path) -> Path:
    for name in ("etcd", "kube-apiserver", "kube-controller-manager", "kubectl", "kwok", "kwok-stages.yaml"):
        program(folder / name)
    return folder


def test_a_missing_part_skips(empty_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"^control-plane is not on .*: run tests/parts/build"):
        parts.require(parts.CONTROL_PLANE)


def test_a_test_that_requires_more_than_make_test_has_is_marked(
    empty_machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(empty_machine / "programs" / "vault")
    assert parts.require("vault")
    monkeypatch.setenv(parts.FEW_PARTS, "1")
    with pytest.raises(pytest.fail.Exception, match=r"vault.*programs"):
        parts.require("vault")


def test_a_missing_part_fails_in_ci(empty_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match=r"no-such-program is not on this machine: put it on PATH"):
        parts.require("no-such-program")


@pytest.mark.parametrize("name", ["fluent-bit", "fluentd", "sdk-server"])
def test_a_part_that_cannot_be_had_everywhere_skips_in_ci_too(
    empty_machine: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(pytest.skip.Exception, match=f"^{name} is not on this machine: put .*{name}.* on PATH"):
        parts.require(name)
    unpacked = program(empty_machine / "programs" / name)
    assert parts.require(name) == unpacked


def test_programs_are_found_in_the_cache(empty_machine: Path) -> None:
    unpacked = program(empty_machine / "debian" / "bin" / "some-program")
    assert parts.require("some-program") == unpacked


def test_the_newest_complete_control_plane_is_found(empty_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = empty_machine / "control-plane"
    control_plane(folder / "v1.9.10")
    newest = control_plane(folder / "v1.36.3")
    program(folder / "v1.40.0" / "etcd")
    assert parts.find(parts.CONTROL_PLANE) == newest
    assert parts.find("kwok") == newest / "kwok"
    given = control_plane(empty_machine / "given")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(given))
    assert parts.find(parts.CONTROL_PLANE) == given


def test_a_node_is_found_with_the_program_that_its_pods_run_now(empty_machine: Path) -> None:
    folder = empty_machine / "node" / "v1.36.3"
    for name in ("coredns", "roots/gallery", "roots/python-nonroot", "app-of-another-source"):
        program(folder / name)
    assert parts.find(parts.NODE) is None
    program(folder / f"app-{parts.app_key()}")
    assert parts.find(parts.NODE) == folder


def test_each_helm_is_found_by_its_major_version(empty_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    program(empty_machine / "helm" / "v3.9.4" / "helm")
    newest = program(empty_machine / "helm" / "v3.22.0" / "helm")
    (empty_machine / "helm" / "v3.23.0").mkdir()
    assert parts.find("helm-3") == newest
    with pytest.raises(
        pytest.skip.Exception, match=r"^helm-4 is not on this machine: run tests/parts/build-program helm-4"
    ):
        parts.require("helm-4")
    program(empty_machine / "helm" / "v4.3.1" / "helm")
    assert parts.require("helm-4").parent.name == "v4.3.1"
    assert parts.find("helm-3") == newest
