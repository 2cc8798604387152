"""The Dockerfile, step by step without Docker: what it puts into the image serves, as nobody, writing nothing to it.

Images cannot be built or pulled everywhere, so each of its RUN and COPY lines is done in a folder. The result runs in a
root of the packages that its base image consists of (`get-base`), with nothing of this machine but /proc and /dev: that
Python, those libraries. Where tests may not mount, it is not run.
"""

from __future__ import annotations

import json
import os
import re
import ssl
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import parts
from tests.cluster.processes import Process, free_port

pytestmark = pytest.mark.programs

ROOT = Path(__file__).resolve().parents[2]
#: The Dockerfile by stage, in its order; the last has no name.
STAGES = {
    stage.partition("\n")[0].partition(" AS ")[2]: f"FROM {stage}"
    for stage in re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text()).split("\nFROM ")[1:]
}
SERVER = "".join(STAGES[name] for name in ("build", ""))
USER = 65532
#: Three folders follow, the base's root, the image's /app, and /run. What comes then runs in a mount namespace in which
#: they are that, and cannot be written to. Whoever is not root does it in a user namespace, and stays who they are.
INSIDE = (
    *("unshare", "--mount", "--propagation", "private", *(["--map-root-user"] if os.geteuid() else [])),
    *("sh", "-ec"),
    'put() { mount --bind "$1" "$2"; mount -o remount,bind,ro "$2"; }; '
    'put "$0" "$0"; put "$1" "$0/app"; put "$2" "$0/run"; mount --rbind /proc "$0/proc"; mount --rbind /dev "$0/dev"; '
    'root=$0; shift 2; exec setpriv --no-new-privs --inh-caps=-all unshare --root="$root" --wd=/app "$@"',
)
BECOME = () if os.geteuid() else (f"--setuid={USER}", f"--setgid={USER}")
#: Prints each compiled module that lacks a library, and what the loader says of it.
UNLOADABLE = """
import ctypes, glob, json
missing = {}
for file in glob.glob("/app/**/*.so*", recursive=True):
    try:
        ctypes.PyDLL(file)
    except OSError as error:
        missing[file] = str(error)
print(json.dumps(missing))
"""
REVIEW = {
    "apiVersion": "admission.k8s.io/v1",
    "kind": "AdmissionReview",
    "request": {
        "uid": "one",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "namespace": "shop",
        "operation": "CREATE",
        "object": {
            "metadata": {"name": "web"},
            "spec": {"containers": [{"name": "app", "image": "app:1", "ports": [{"containerPort": 8080}]}]},
        },
    },
}


def lines(instruction: str, text: str = SERVER) -> list[str]:
    """What follows an instruction, by line."""
    return re.findall(rf"^{instruction} (.*)$", text, re.MULTILINE)


@pytest.fixture(scope="module")
def opened() -> Iterator[Path]:
    """A folder that every user may enter. Not one of pytest's: each session that begins closes those of all others."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture(scope="module")
def image(opened: Path) -> Path:
    """The folder /app as the first stage makes it."""
    app = opened / "app"
    for line in re.findall(r"^(?:RUN|COPY) .*$", STAGES["build"], re.MULTILINE):
        instruction, _, rest = line.partition(" ")
        if instruction == "RUN":
            words = [word.replace("/app", str(app)) for word in json.loads(rest)]
            words[0] = sys.executable if words[0] == "python" else words[0]
            done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
            if done.returncode and "pip" in words and not parts.in_ci() and "No matching distribution" in done.stderr:
                pytest.skip(f"no package index: {done.stderr[-200:]}")
            assert done.returncode == 0, done.stderr
        else:
            source, target = rest.split()
            if target.startswith("/app"):
                subprocess.run(["cp", "-r", str(ROOT / source), target.replace("/app", str(app), 1)], check=True)
    return app


def inside(root: Path, image: Path, *words: str, run: Path | None = None) -> list[str]:
    """The command that runs these words in the image, with this folder as its /run."""
    env = ["env", "-i", "HOME=/", *" ".join(lines("ENV")).split()]  # every runtime sets HOME
    return [*env, *INSIDE, *map(str, (root, image, run or root / "run")), *BECOME, "--", *words]


def unloadable(root: Path, image: Path) -> dict[str, str]:
    """The image's compiled modules that do not find their libraries in this root, and which they lack."""
    command = inside(root, image, entrypoint()[0], "-c", UNLOADABLE)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode and not parts.in_ci() and re.match(r"(unshare|mount): ", done.stderr):
        pytest.skip(f"tests may not mount here, as root in a container often may not: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    missing: dict[str, str] = json.loads(done.stdout)
    return missing


def entrypoint() -> list[str]:
    """The image's program, and the arguments that always are the same."""
    [words] = lines("ENTRYPOINT")
    read: list[str] = json.loads(words)
    return read


@pytest.fixture(scope="module")
def base(image: Path) -> Path:
    """The root of the base image, where everything that was installed for this Python finds its libraries."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    if entrypoint()[0] != f"/usr/bin/{version}":
        pytest.skip(f"the image has {entrypoint()[0]}, and what was installed for it here is for {version}")
    root = parts.require("base")
    assert unloadable(root, image) == {}
    return root


@pytest.fixture(scope="module")
def server(image: Path, base: Path, opened: Path) -> Iterator[tuple[Process, int, int]]:
    """The image's entrypoint and command, standalone."""
    injector = [sys.executable, "-m", "injector"]
    certs = [*injector, "certs", "--service=injector", "--namespace=shop", "--san=127.0.0.1", f"--out={opened}"]
    subprocess.run(certs, cwd=ROOT, check=True, capture_output=True)
    (opened / "server.key").chmod(0o644)
    [command] = lines("CMD")
    port, metrics_port = free_port(), free_port()
    words = [
        *[*entrypoint(), *json.loads(command)],
        *["--standalone", "--address=127.0.0.1", f"--port={port}", f"--metrics-port={metrics_port}"],
        *["--cert=/run/server.crt", "--key=/run/server.key"],
    ]
    process = Process(inside(base, image, *words, run=opened), opened / "server.log", folder=Path("/"))
    try:
        ready = f"http://127.0.0.1:{metrics_port}/readyz"
        process.wait_until_ready(lambda: urllib.request.urlopen(ready, timeout=2).status == 200, 300)
        yield process, port, metrics_port
    finally:
        process.kill()


def test_a_library_that_the_base_lacks_is_noticed(base: Path, image: Path, opened: Path) -> None:
    lacking = opened / "lacking"
    subprocess.run(["cp", "-a", base, lacking], check=True)
    for file in lacking.glob("usr/lib/*/libstdc++.so*"):
        file.unlink()
    assert [file for file, why in unloadable(lacking, image).items() if "_re2" in file and "libstdc++.so.6" in why]
    command = inside(lacking, image, *entrypoint(), "serve", "--standalone")
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode and "libstdc++.so.6" in done.stderr


def test_what_the_image_holds_answers_a_review(image: Path, opened: Path, server: tuple[Process, int, int]) -> None:
    before = {path: path.stat().st_mtime_ns for path in image.rglob("*")}
    _, port, _ = server
    trust = ssl.create_default_context(cafile=str(opened / "ca.crt"))
    request = urllib.request.Request(
        f"https://127.0.0.1:{port}/mutate", json.dumps(REVIEW).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=10, context=trust) as response:
        answer = json.load(response)["response"]
    assert answer["allowed"] and answer["patchType"] == "JSONPatch"
    assert {path: path.stat().st_mtime_ns for path in image.rglob("*")} == before, "it writes into its own image"


def test_it_runs_as_nobody_and_its_root_is_read_only(server: tuple[Process, int, int]) -> None:
    process, _, _ = server
    mounts = [row.split() for row in Path(f"/proc/{process.pid}/mountinfo").read_text().splitlines()]
    assert {row[4]: row[5].split(",")[0] for row in mounts if row[4] in ("/", "/app")} == {"/": "ro", "/app": "ro"}
    status = Path(f"/proc/{process.pid}/status").read_text()
    assert "NoNewPrivs:\t1" in status
    if BECOME:
        assert re.search(rf"^Uid:(\s+{USER}){{4}}$", status, re.MULTILINE)
        assert re.search(r"^CapEff:\s+0+$", status, re.MULTILINE)


def test_hadolint_has_nothing_to_say() -> None:
    done = subprocess.run(
        [parts.require("hadolint"), "--no-color", ROOT / "Dockerfile"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    bad = subprocess.run([parts.require("hadolint"), "-"], input="FROM debian\nRUN sudo apt install x\n", text=True,
                         capture_output=True)  # fmt: skip
    assert bad.returncode == 1 and "DL3004" in bad.stdout, "it does look"


def test_neither_pip_nor_any_program_comes_along(image: Path) -> None:
    assert not [path for name in ("pip", "setuptools", "wheel", "bin") for path in image.glob(f"{name}*")]
    programs = [
        path for path in image.rglob("*") if path.is_file() and os.access(path, os.X_OK) and path.suffix in ("", ".sh")
    ]
    assert not [path for path in programs if path.read_bytes()[:2] == b"#!" or path.read_bytes()[:4] == b"\x7fELF"]


def test_the_image_is_small_in_rights_and_matches_its_python() -> None:
    build, final = lines("FROM")
    assert "3.11-slim-bookworm" in build and final == "gcr.io/distroless/python3-debian12:nonroot"
    assert [lines("FROM", STAGES["kit"]), list(STAGES)] == [[build.replace("build", "kit")], ["build", "kit", ""]]
    for lock, stage in (("requirements", "build"), ("requirements-lint", "kit")):
        assert lines("USER", STAGES["kit" if stage == "kit" else ""]) == [f"{USER}:{USER}"]
        pip = next(json.loads(run) for run in lines("RUN", STAGES[stage]) if "pip" in run)
        assert "--require-hashes" in pip and f"--requirement={lock}.lock" in pip
        assert not [word for word in pip if "index" in word or "//" in word]


@pytest.mark.parametrize("name", ["requirements", "requirements-lint"])
def test_the_lock_has_a_hash_for_everything_and_no_registry(name: str) -> None:
    lock = (ROOT / f"{name}.lock").read_text()
    pinned = re.findall(r"^([a-z0-9][a-z0-9._-]*)==[^\s]+(?: ; [^\\]*)? \\\n    --hash=sha256:", lock, re.MULTILINE)
    assert len(pinned) == len(re.findall(r"^[a-z0-9]", lock, re.MULTILINE)) > 2
    assert "//" not in lock and "index" not in lock


def test_what_docker_gets_to_see_is_what_it_copies() -> None:
    ignored = [row for row in (ROOT / ".dockerignore").read_text().splitlines() if row and not row.startswith("#")]
    assert ignored[0] == "*"
    every = lines("COPY", "".join(STAGES.values()))
    copied = {rest.split()[0].rstrip("/") for rest in every if not rest.startswith("--from")}
    assert {row[1:] for row in ignored if row.startswith("!")} == copied
