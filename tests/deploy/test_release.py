"""What a release consists of, and the workflows that make one, as far as they run without an account anywhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from deploy import dist
from injector import __version__
from tests import parts
from tests.deploy.helm import CHART, ROOT

pytestmark = pytest.mark.programs

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
REPOSITORY = "registry.test/team/sidecar-injector"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The files of `make dist`, by name."""
    parts.require("helm-4")
    return {file.name: file for file in dist.make(tmp_path_factory.mktemp("dist"), REPOSITORY)}


def test_the_version_stands_in_one_place_and_the_chart_has_the_same() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == __version__
    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text()


def test_every_file_is_there_with_its_checksum(files: dict[str, Path]) -> None:
    assert sorted(files) == sorted(
        [
            *(f"sidecar_injector-{__version__}-py3-none-any.whl", f"sidecar_injector-{__version__}.tar.gz"),
            *(f"sidecar-injector-{__version__}.tgz", f"sidecar-injector-{__version__}.cdx.json"),
            *("install.yaml", "requirements.lock", "SHA256SUMS"),
        ]
    )
    folder = files["SHA256SUMS"].parent
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=folder, check=True, capture_output=True)
    assert len(files["SHA256SUMS"].read_text().splitlines()) == len(files) - 1


def test_the_same_commit_makes_the_same_files(files: dict[str, Path], tmp_path: Path) -> None:
    again = {file.name: file.read_bytes() for file in dist.make(tmp_path, REPOSITORY)}
    differing = [name for name, file in files.items() if file.read_bytes() != again[name]]
    assert set(differing) <= {f"sidecar-injector-{__version__}.tgz", "SHA256SUMS"}  # Helm packs with the time of now


def test_chart_and_manifest_take_the_image_from_the_registry_named(files: dict[str, Path]) -> None:
    assert f"image: {REPOSITORY}:{__version__}" in files["install.yaml"].read_text()
    with tarfile.open(files[f"sidecar-injector-{__version__}.tgz"]) as chart:
        values = chart.extractfile("sidecar-injector/values.yaml")
        assert values is not None
        assert yaml.safe_load(values)["image"]["repository"] == REPOSITORY


def test_the_bill_of_materials_names_every_pinned_package(files: dict[str, Path]) -> None:
    text = files[f"sidecar-injector-{__version__}.cdx.json"].read_text()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    bill = json.loads(text)
    assert (bill["bomFormat"], bill["metadata"]["component"]["version"]) == ("CycloneDX", __version__)
    pinned = {
        line.split(" ")[0] for line in (ROOT / "requirements.lock").read_text().splitlines() if line[:1].isalnum()
    }
    assert {f"{part['name']}=={part['version']}" for part in bill["components"]} == pinned


def test_the_wheel_works_alone(files: dict[str, Path], tmp_path: Path) -> None:
    wheel = files[f"sidecar_injector-{__version__}-py3-none-any.whl"]
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--no-index", "--target", site, wheel], check=True)
    assert (site / "injector" / "authoring" / "workbench" / "built" / "page.js").is_file()
    done = subprocess.run(
        [sys.executable, "-m", "injector", "render", "nginx"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "nginx-sidecar" in done.stdout
    where = [sys.executable, "-c", "import injector; print(injector.__file__)"]
    found = subprocess.run(
        where, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(site)}, capture_output=True, text=True
    )
    assert Path(found.stdout.strip()).is_relative_to(site)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_every_pinned_package_has_a_wheel_for_the_image(machine: str, tmp_path: Path) -> None:
    platforms = [f"--platform={name}_{machine}" for name in ("manylinux_2_28", "manylinux_2_17", "manylinux2014")]
    words = ["--require-hashes", "--no-deps", "--only-binary=:all:", "--python-version=3.11", *platforms]
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "-d", tmp_path, *words]
    done = subprocess.run([*pip, "-r", ROOT / "requirements.lock"], capture_output=True, text=True, check=False)
    if done.returncode and not parts.in_ci() and "No matching distribution found for aiohappyeyeballs" in done.stderr:
        pytest.skip(f"no package index: {done.stderr[-200:]}")
    assert done.returncode == 0, done.stderr
    native = [wheel.name for wheel in tmp_path.iterdir() if not wheel.name.endswith("any.whl")]
    assert native and all(name.endswith(f"{machine}.whl") for name in native)


# ------------------------------------------------------------------------------------------------------ workflows


def steps(workflow: str) -> dict[str, dict[str, Any]]:
    """The steps of a workflow that run something, by their names, or else by what they run."""
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / f"{workflow}.yml").read_text())["jobs"].values()
    return {step.get("name") or step["run"]: step for job in jobs for step in job["steps"] if "run" in step}


def run(script: str, folder: Path, **env: str) -> int:
    """What a step's script answers in this folder, as the runner starts it."""
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(shell, cwd=folder, env={**os.environ, **env}, capture_output=True, check=False).returncode


def test_actionlint_has_nothing_to_say(tmp_path: Path) -> None:
    actionlint = parts.require("actionlint")
    done = subprocess.run([actionlint, "-no-color", *WORKFLOWS], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    bad = tmp_path / "bad.yml"
    bad.write_text(
        "on: push\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n      - run: echo ${{ nothing.here }}\n"
    )
    assert "undefined variable" in subprocess.run([actionlint, bad], capture_output=True, text=True).stdout, (
        "it does look"
    )


def test_every_target_that_a_workflow_makes_is_there() -> None:
    lines = [line for file in WORKFLOWS for step in steps(file.stem).values() for line in step["run"].splitlines()]
    wanted = {line.split()[1] for line in lines if line.startswith("make ")}
    assert wanted == {"test", "test-oldest", "dist", "soak", "docs"}
    for target in wanted:
        subprocess.run(["make", "--dry-run", target], cwd=ROOT, check=True, capture_output=True)
    assert ".ci/run" in steps("ci") and ".ci/run" in steps("release") and os.access(ROOT / ".ci" / "run", os.X_OK)


def test_what_takes_a_node_runs_as_root_on_debian() -> None:
    found = []
    for file in WORKFLOWS:
        for name, job in yaml.safe_load(file.read_text())["jobs"].items():
            scripts = [step["run"] for step in job["steps"] if "run" in step]
            if {".ci/run", "make soak"} & set(scripts):
                assert "--privileged" in job["container"]["options"] and "bookworm" in job["container"]["image"], name
                assert any("safe.directory" in script for script in scripts), "or git refuses another user's files"
                found.append((file.stem, name))
    assert found == [("ci", "everything"), ("nightly", "soak"), ("release", "tests")]


def test_a_tag_that_is_not_the_version_makes_no_release() -> None:
    check = steps("release")["The tag is the version"]["run"]
    assert run(check, ROOT, GITHUB_REF_NAME=f"v{__version__}") == 0
    assert run(check, ROOT, GITHUB_REF_NAME="v99.0.0") != 0


def test_the_notes_of_a_release_are_its_own_part_of_the_changelog(tmp_path: Path) -> None:
    script = steps("release")["Notes of this version"]["run"]
    changelog = "# Changelog\n\n## Unreleased\n\n- C\n\n## 1.1.0 - 2026-01-01\n\n- B\n\n## 1.0.0 - 2025-01-01\n\n- A\n"
    (tmp_path / "CHANGELOG.md").write_text(changelog)
    assert run(script, tmp_path, GITHUB_REF_NAME="v1.1.0") == 0
    assert (tmp_path / "notes.md").read_text().split() == ["-", "B"]
    assert run(script, tmp_path, GITHUB_REF_NAME="v1.2.0") != 0


def test_workflows_may_read_alone_but_for_what_publishes() -> None:
    for file in WORKFLOWS:
        workflow = yaml.safe_load(file.read_text())
        assert workflow["permissions"] == {"contents": "read"}
        may_write = {name for name, job in workflow["jobs"].items() if "write" in job.get("permissions", {}).values()}
        assert may_write == {"release": {"image", "files", "index"}, "docs": {"publish"}}.get(file.stem, set())
        checkouts = [s for job in workflow["jobs"].values() for s in job["steps"] if "checkout" in s.get("uses", "")]
        assert all(step["with"]["persist-credentials"] is False for step in checkouts)
