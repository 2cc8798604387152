"""`make workbench`: the page of `injector workbench`, built from TypeScript and a locked set of npm packages.

    python -m deploy.workbench_page [FOLDER]

leaves the page, its script and style, and the licences of what is in them in FOLDER, by default where the command and
the wheel look for them. Packages come from npm by the hashes of `package-lock.json`, and nothing of them is run but the
compiler and the bundler; they stay in the cache folder.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from injector.authoring.workbench.page_server import BUILT
from tests import parts

SOURCE = BUILT.parent / "page"
#: Copied as they are.
_PLAIN = ("index.html", "icon.svg")
#: The colours are those of the reports that the command line writes.
_STYLES = (SOURCE.parents[1] / "colours.css", SOURCE / "page.css")


def make(folder: Path = BUILT) -> None:
    """Build the page into a folder. Raises CalledProcessError where npm or a compiler fails."""
    work = packages()
    shutil.rmtree(work / "source", ignore_errors=True)
    for name in ("source", "tsconfig.json"):
        copy = shutil.copytree if (SOURCE / name).is_dir() else shutil.copy
        copy(SOURCE / name, work / name)
    _run(work, "node", "node_modules/typescript/bin/tsc", "--project", ".")
    part = folder.with_name(f".{folder.name}.{os.getpid()}")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    options = ("--bundle", "--minify", "--format=esm", "--target=es2022", "--charset=utf8", "--legal-comments=none")
    bundle = ("source/main.ts", f"--outfile={part / 'page.js'}", f"--metafile={work / 'bundle.json'}")
    _run(work, "node", "node_modules/esbuild/bin/esbuild", *options, *bundle)
    for name in _PLAIN:
        shutil.copy(SOURCE / name, part)
    (part / "page.css").write_text("".join(style.read_text() for style in _STYLES))
    (part / "licences.txt").write_text(licences(work, json.loads((work / "bundle.json").read_text())))
    folder.mkdir(exist_ok=True)
    for file in part.iterdir():  # each whole: somebody may be looking at the page
        file.replace(folder / file.name)
    part.rmdir()


def packages() -> Path:
    """The folder in the cache with the packages that the lock names; they are installed where it has changed."""
    work = parts.cache() / "workbench-page"
    work.mkdir(parents=True, exist_ok=True)
    lock = (SOURCE / "package-lock.json").read_text()
    stamp = work / "node_modules" / ".lock"
    if not stamp.is_file() or stamp.read_text() != lock:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(SOURCE / name, work)
        _run(work, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        stamp.write_text(lock)
    return work


def licences(work: Path, bundle: dict[str, object]) -> str:
    """The name, version and licence of each npm package of which something is in the bundle."""
    inputs = bundle["inputs"]
    if not isinstance(inputs, dict):
        raise TypeError("the bundle has no inputs")
    folders = {work / "node_modules" / _package(path) for path in inputs if path.startswith("node_modules/")}
    sections = []
    for folder in sorted(folders):
        described = json.loads((folder / "package.json").read_text())
        texts = [file.read_text().strip() for file in sorted(folder.glob("LICEN[CS]E*"))]
        head = f"{described['name']} {described['version']} ({described['license']})"
        sections.append("\n\n".join([head, *texts]))
    return "\n\n----\n\n".join(sections) + "\n"


def _package(path: str) -> str:
    """The package that a file of node_modules belongs to: `@codemirror/view`, `crelt`."""
    steps = path.split("/")[1:]
    return "/".join(steps[: 2 if steps[0].startswith("@") else 1])


def _run(folder: Path, *words: str) -> None:
    scripts = sysconfig.get_path("scripts")  # of the environment that has node, by a package of the Python index
    env = {**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run([str(Path(scripts) / words[0]), *words[1:]], cwd=folder, env=env, check=True, stdout=sys.stderr)


if __name__ == "__main__":
    make(*map(Path, sys.argv[1:2]))
    print(Path(*sys.argv[1:2]) if sys.argv[1:] else BUILT)
