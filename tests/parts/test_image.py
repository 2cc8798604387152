"""The Dockerfile, step by step without Docker: what it puts into the image serves, as nobody, writing nothing to it.

Images cannot be built or pulled everywhere, so each of its RUN and COPY lines is done in a folder. Where this machine
has Debian's own Python 3.11, which is the one in the image, that runs the result. Where tests may mount, the folder is
mounted read-only for it.
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

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text())
DEBIAN = Path("/usr/bin/python3.11")
NOBODY = 65534
#: Runs what follows in a mount namespace of its own, in which the folder that comes first cannot be written to.
READ_ONLY = (
    *("unshare", "--mount", "--propagation", "private", "sh", "-ec"),
    'mount --bind "$0" "$0"; mount -o remount,bind,ro "$0"; exec "$@"',
)
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


def lines(instruction: str) -> list[str]:
    """What follows an instruction, by line."""
    return re.findall(rf"^{instruction} (.*)$", DOCKERFILE, re.MULTILINE)


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
    for line in re.findall(r"^(?:RUN|COPY) .*$", DOCKERFILE, re.MULTILINE):
        instruction, _, rest = line.partition(" ")
        if instruction == "RUN":
            words = [word.replace("/app", str(app)) for word in json.loads(rest)]
            words[0] = sys.executable if words[0] == "python" else words[0]
            done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
            if done.returncode and "pip" in words and not parts.in_ci() and "No matching distribution" in done.stderr:
                pytest.skip(f"no package index: {done.stderr[-200:]}")
            assert done.returncode == 0, done.stderr
        elif not rest.startswith("--from"):
            source, target = rest.split()
            if target.startswith("/app"):
                subprocess.run(["cp", "-r", str(ROOT / source), target.replace("/app", str(app), 1)], check=True)
    return app


def can_mount(folder: Path) -> bool:
    """Whether tests may make a mount here: root in a container often may not."""
    if os.geteuid() != 0:
        return False
    done = subprocess.run([*READ_ONLY, str(folder), "true"], capture_output=True, check=False)
    return done.returncode == 0


@pytest.fixture(scope="module")
def server(image: Path, opened: Path) -> Iterator[tuple[Process, int, int]]:
    """The image's entrypoint and command, standalone; as nobody where tests may become nobody."""
    injector = [sys.executable, "-m", "injector"]
    certs = [*injector, "certs", "--service=injector", "--namespace=shop", "--san=127.0.0.1", f"--out={opened}"]
    subprocess.run(certs, cwd=ROOT, check=True, capture_output=True)
    (opened / "server.key").chmod(0o644)
    [entrypoint], [command] = lines("ENTRYPOINT"), lines("CMD")
    assert json.loads(entrypoint)[0] == str(DEBIAN)
    nobody = os.geteuid() == 0 and DEBIAN.exists() and sys.version_info[:2] == (3, 11)
    become = [
        "setpriv",
        f"--reuid={NOBODY}",
        f"--regid={NOBODY}",
        "--clear-groups",
        "--no-new-privs",
        "--bounding-set=-all",
    ]
    interpreter = str(DEBIAN) if nobody else sys.executable
    env = dict(pair.split("=") for pair in " ".join(lines("ENV")).split())
    env["PYTHONPATH"] = env["PYTHONPATH"].replace("/app", str(image))
    port, metrics_port = free_port(), free_port()
    words = [
        *((*READ_ONLY, str(image)) if can_mount(opened) else ()),
        *(become if nobody else []),
        *["env", "-i", *(f"{key}={value}" for key, value in env.items())],
        *[interpreter, *json.loads(entrypoint)[1:], *json.loads(command)],
        *["--standalone", "--address=127.0.0.1", f"--port={port}", f"--metrics-port={metrics_port}"],
        *[f"--cert={opened / 'server.crt'}", f"--key={opened / 'server.key'}"],
    ]
    process = Process(words, opened / "server.log", folder=Path("/"))
    try:
        ready = f"http://127.0.0.1:{metrics_port}/readyz"
        process.wait_until_ready(lambda: urllib.request.urlopen(ready, timeout=2).status == 200, 30)
        yield process, port, metrics_port
    finally:
        process.kill()


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


def test_it_runs_as_nobody_on_a_read_only_mount(image: Path, server: tuple[Process, int, int]) -> None:
    if not (can_mount(image) and DEBIAN.exists()):
        pytest.skip("needs root that may mount, and Debian's Python 3.11")
    process, _, _ = server
    status = Path(f"/proc/{process.pid}/status").read_text()
    assert re.search(r"^Uid:(\s+65534){4}$", status, re.MULTILINE)
    assert re.search(r"^CapEff:\s+0+$", status, re.MULTILINE) and "NoNewPrivs:\t1" in status
    mounts = [row.split() for row in Path(f"/proc/{process.pid}/mountinfo").read_text().splitlines()]
    assert [row[5].split(",")[0] for row in mounts if row[4] == str(image)] == ["ro"]


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
    assert lines("USER") == ["65532:65532"]
    pip = next(json.loads(run) for run in lines("RUN") if "pip" in run)
    assert "--require-hashes" in pip and "--requirement=requirements.lock" in pip
    assert not [word for word in pip if "index" in word or "//" in word]


def test_the_lock_has_a_hash_for_everything_and_no_registry() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    pinned = re.findall(r"^([a-z0-9][a-z0-9._-]*)==[^\s]+(?: ; [^\\]*)? \\\n    --hash=sha256:", lock, re.MULTILINE)
    assert len(pinned) == len(re.findall(r"^[a-z0-9]", lock, re.MULTILINE)) > 20
    assert "//" not in lock and "index" not in lock


def test_what_docker_gets_to_see_is_what_it_copies() -> None:
    ignored = [row for row in (ROOT / ".dockerignore").read_text().splitlines() if row and not row.startswith("#")]
    assert ignored[0] == "*"
    copied = {rest.split()[0].rstrip("/") for rest in lines("COPY") if not rest.startswith("--from")}
    assert {row[1:] for row in ignored if row.startswith("!")} == copied
