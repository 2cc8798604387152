"""What fluent-bit and oauth2-proxy say of their files, for every parameter at its edges and for switches in pairs.

Fluent Bit's `--dry-run` does not look at every value, so each distinct file is also started with for a moment.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from injector.authoring.lint.boundary_values import boundary_values, paired_values
from injector.reasons import Effect
from tests.dataplane.gallery import app_pod, gallery_template, injected
from tests.parts import require

pytestmark = pytest.mark.programs

#: What the pod gives Fluent Bit, by its name or from a Secret.
ENVIRONMENT = dict.fromkeys(("POD_NAME", "SHARED_KEY", "HTTP_USERNAME", "HTTP_PASSWORD", "HTTP_TOKEN"), "any")


@pytest.fixture(autouse=True)
def root() -> None:
    """Nothing here needs it."""


def files(name: str, base: dict[str, Any], file: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Every distinct text of a config file, with the parameters that made it; what is not served makes none."""
    template = gallery_template(name)
    ways = [{p.name: edge.value} for p in template.parameters.values() for edge in boundary_values(p)]
    seen = set()
    for way in [{}, *ways, *paired_values(list(template.parameters.values()))]:
        injection = injected(name, {**base, **way}, app_pod(ports=[{"containerPort": 8080}]))
        if injection.effect is Effect.INJECT and (text := injection.files[0].data[file]) not in seen:
            seen.add(text)
            yield way, text
    assert len(seen) > 20


def command(name: str, file: str, path: Path) -> list[str]:
    """The command that the template declares for its file, with the program of this machine."""
    declared = gallery_template(name).files[file].validate
    return [str(require(name)), *(word.replace("{path}", str(path)) for word in declared[1:])]


def test_oauth2_proxy(tmp_path: Path) -> None:
    name, file = "oauth2-proxy", "oauth2-proxy.cfg"
    path = tmp_path / file
    line = command(name, file, path)
    base = {"issuer-url": "https://login.example", "client-id": "web", "secret-name": "web-login"}
    authority = str(next(Path("/etc/ssl/certs").glob("*.pem")))
    for way, text in files(name, base, file):
        path.write_text(text.replace("/etc/oauth2-proxy-ca/ca.crt", authority))
        done = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, (way, done.stdout, done.stderr)


def test_fluent_bit(tmp_path: Path) -> None:
    name, file = "fluent-bit", "fluent-bit.yaml"
    path = tmp_path / file
    line = command(name, file, path)
    base = {"host": "127.0.0.1", "secret-name": "receiver"}
    variants = list(files(name, base, file))
    for way, text in variants:
        path.write_text(text)
        done = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, (way, done.stdout, done.stderr)
    for start in range(0, len(variants), 16):
        check_start(line[0], variants[start : start + 16], tmp_path / str(start))


def check_start(program: str, variants: list[tuple[dict[str, Any], str]], folder: Path) -> None:
    """Every file starts a Fluent Bit that has nothing to complain about. Ports are left out: all run at once."""
    with ExitStack() as stack:
        running = []
        for number, (way, text) in enumerate(variants):
            here = folder / str(number)
            (here / "state").mkdir(parents=True)
            (here / "logs").mkdir()
            text = text.replace("/state/", f"{here}/state/").replace("/logs/", f"{here}/logs/")
            kept = [row for row in text.splitlines() if "http_server" not in row and "tls.ca_file" not in row]
            (here / "fluent-bit.yaml").write_text("\n".join(kept))
            said = stack.enter_context((here / "said").open("w"))
            words = [program, "--quiet", "-c", str(here / "fluent-bit.yaml")]
            process = subprocess.Popen(words, stdout=said, stderr=said, env=ENVIRONMENT)
            stack.callback(process.wait, 30)
            stack.callback(process.kill)
            running.append((way, process, here / "said"))
        time.sleep(0.5)
        for way, process, said_file in running:
            text = said_file.read_text()
            assert process.poll() is None and "[error]" not in text, (way, text)
