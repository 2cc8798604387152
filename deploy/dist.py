"""`make dist`: the files of a release, made from this tree.

    python -m deploy.dist FOLDER [REPOSITORY]

leaves the wheel, the sdist, the chart as a package, `install.yaml`, the locked requirements, their bill of materials
(CycloneDX 1.6), and `SHA256SUMS` over all of it. A file of the same name is replaced; others stay.
With REPOSITORY, such as ghcr.io/you/sidecar-injector, the chart and install.yaml take the image from there.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import DisjunctiveLicense
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from packageurl import PackageURL

from deploy import workbench_page
from injector import __version__
from tests import parts

ROOT = Path(__file__).resolve().parent.parent
CHART = ROOT / "deploy" / "chart"
SUMS = "SHA256SUMS"


#: Stands for the image's repository where nobody has said which it is.
_REPOSITORY = "registry.example/sidecar-injector"


def make(folder: Path, repository: str = _REPOSITORY) -> list[Path]:
    """Make every file of a release in a folder, and return them. Raises CalledProcessError where a tool fails."""
    folder.mkdir(parents=True, exist_ok=True)
    workbench_page.make()
    bill = folder / f"sidecar-injector-{__version__}.cdx.json"
    _run("-m", "hatchling", "build", "-d", folder, "-t", "wheel", "-t", "sdist")
    why = parts.get("helm-4")
    helm = parts.find("helm-4")
    if helm is None:
        sys.exit(f"no Helm 4 for the chart's package: {why or 'run tests/parts/build-program helm-4'}")
    with tempfile.TemporaryDirectory() as work:
        chart = shutil.copytree(CHART, Path(work) / CHART.name)
        _take_from(repository, CHART / "values.yaml", chart / "values.yaml")
        subprocess.run([helm, "package", chart, "--destination", folder], check=True, stdout=sys.stderr)
    _take_from(repository, ROOT / "deploy" / "install.yaml", folder / "install.yaml")
    shutil.copy(ROOT / "requirements.lock", folder)
    bill.write_text(bill_of_materials((ROOT / "requirements.lock").read_text(), __version__) + "\n")
    files = [
        folder / f"sidecar_injector-{__version__}-py3-none-any.whl",
        folder / f"sidecar_injector-{__version__}.tar.gz",
        folder / f"sidecar-injector-{__version__}.tgz",
        *(folder / "install.yaml", folder / "requirements.lock", bill),
    ]
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
    (folder / SUMS).write_text("".join(sums))
    return [*files, folder / SUMS]


def _take_from(repository: str, source: Path, target: Path) -> None:
    target.write_text(source.read_text().replace(_REPOSITORY, repository))


def _run(*words: str | Path) -> None:
    env = {"SOURCE_DATE_EPOCH": str(_commit_time()), **os.environ}
    subprocess.run([sys.executable, *words], cwd=ROOT, env=env, check=True, stdout=sys.stderr)


def _commit_time() -> int:
    """Seconds since 1970 of the commit, so that whoever builds it gets the same files; 0 outside of a repository."""
    time = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False)
    return int(time.stdout.strip() or 0)


def bill_of_materials(lock: str, version: str) -> str:
    """The Python packages of the project and its image, as CycloneDX 1.6 in JSON, from the text of a pip lock file.

    Licenses are not in it: a lock does not name them. https://cyclonedx.org/docs/1.6/json/
    """
    purl = PackageURL("pypi", None, "sidecar-injector", version)
    project = Component(
        name=purl.name, version=version, purl=purl, bom_ref=str(purl), type=ComponentType.APPLICATION,
        licenses=[DisjunctiveLicense(id="Apache-2.0")],
    )  # fmt: skip
    bill = Bom(metadata=BomMetaData(component=project, timestamp=datetime.fromtimestamp(_commit_time(), UTC)))
    bill.serial_number = uuid5(NAMESPACE_URL, f"{version}\n{lock}")  # the same for the same
    for line in lock.replace("\\\n", " ").splitlines():
        if found := re.match(r"([a-z0-9][a-z0-9._-]*)==([^\s;]+)", line):
            name, pinned = found.groups()
            hashes = [
                HashType(alg=HashAlgorithm.SHA_256, content=h) for h in re.findall(r"sha256:([0-9a-f]{64})", line)
            ]
            index = ExternalReference(
                type=ExternalReferenceType.DISTRIBUTION, url=XsUri(f"pkg:pypi/{name}@{pinned}"), hashes=hashes
            )
            purl = PackageURL("pypi", None, name, pinned)
            part = Component(
                name=name, version=pinned, purl=purl, bom_ref=str(purl), external_references=[index],
                type=ComponentType.LIBRARY,
            )  # fmt: skip
            bill.components.add(part)
            bill.register_dependency(project, [part])
    return str(make_outputter(bill, OutputFormat.JSON, SchemaVersion.V1_6).output_as_string(indent=2))


if __name__ == "__main__":
    for made in make(Path(sys.argv[1]), *filter(None, sys.argv[2:3])):
        print(made)
