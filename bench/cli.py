"""Measure the command line beside the import of its libraries, in the same run, and write docs/benchmark-cli.md.

What is robust on a noisy machine are the ratios to that import. Figures are processor time, with that of processes
that a command starts, and time on the clock, as that is what one waits for.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

from bench.picture import bars
from bench.processes import environment, free_port, resident_mib
from bench.provenance import ROOT, written_by
from bench.reviews import HOST
from injector.cli.main import COMMANDS

INJECTOR = [sys.executable, "-m", "injector"]
IMPORT = [sys.executable, "-c", "import tornado.httpserver, jinja2, yaml, msgspec, cryptography"]
_FLOOR = "the import of Tornado, Jinja, PyYAML, msgspec and cryptography"

#: Of the processor, and on the clock.
Seconds = tuple[float, float]


def _deployment(annotations: Mapping[str, str]) -> str:
    labels = {"app": "web"}
    container = {"name": "web", "image": "registry.example/web:1.4.2", "ports": [{"containerPort": 8080}]}
    return json.dumps(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels, "annotations": annotations},
                    "spec": {"containers": [container]},
                },
            },
        }
    )


def _children() -> float:
    """Seconds of processor time of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(command: Sequence[str]) -> Seconds:
    """Run a command to its end. Raises CalledProcessError where it fails."""
    before, start = _children(), time.monotonic()
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True, cwd=ROOT, env=environment())
    return _children() - before, time.monotonic() - start


class Start:
    """Starts a server until it is ready; `mib` is its resident memory then, of each start."""

    def __init__(self, certificates: Path) -> None:
        self.mib: list[float] = []
        self._files = ["--cert", str(certificates / "server.crt"), "--key", str(certificates / "server.key")]

    def __call__(self) -> Seconds:
        """One start. Raises RuntimeError where it is not ready within 30 s."""
        port = str(free_port())
        command = [*INJECTOR, "serve", "--standalone", "--address", "127.0.0.1", "--port", str(free_port())]
        before, start = _children(), time.monotonic()
        with subprocess.Popen(
            [*command, "--metrics-port", port, *self._files], env=environment(), stdout=subprocess.DEVNULL
        ) as process:
            try:
                while not _ready(port):
                    if process.poll() is not None or time.monotonic() - start > 30:
                        raise RuntimeError("the server does not become ready")
                    time.sleep(0.005)
                clock = time.monotonic() - start
                self.mib.append(resident_mib(process.pid))
            finally:
                process.kill()
                process.wait()
        return _children() - before, clock


def _ready(port: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=1) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _measured(cases: Mapping[str, Callable[[], Seconds]], rounds: int) -> dict[str, Seconds]:
    found: dict[str, list[Seconds]] = {name: [] for name in cases}
    for number in range(rounds):
        for name, measure in cases.items():
            found[name].append(measure())
        print(f"round {number + 1} of {rounds}", file=sys.stderr)
    return {name: (median(cpu for cpu, _ in each), median(clock for _, clock in each)) for name, each in found.items()}


def _page(figures: Mapping[str, Seconds], slowest: str, mib: float, rounds: int) -> str:
    floor = figures[_FLOOR]
    return "\n".join(
        [
            "# Benchmark of the command line",
            "",
            f"{written_by('bench-cli')} All rows are from one run, and each is the median of {rounds} rounds.",
            "",
            "![CPU time](benchmark-cli.svg)",
            "",
            "| | CPU ms | against the first row | elapsed ms | against the first row |",
            "| --- | ---: | ---: | ---: | ---: |",
            *(
                f"| {name} | {cpu * 1000:.0f} | {cpu / floor[0]:.2f} | {clock * 1000:.0f} | {clock / floor[1]:.2f} |"
                for name, (cpu, clock) in figures.items()
            ),
            "",
            f"The command with the slowest `--help` is `injector {slowest}`. A server that has just become ready uses "
            f"{mib:.0f} MiB of memory.",
            "",
        ]
    )


def main() -> None:
    """Run all and write docs/benchmark-cli.md and docs/benchmark-cli.svg."""
    parser = argparse.ArgumentParser(prog="python -m bench.cli", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="rounds of all cases (default 7)")
    parser.add_argument("--out", type=Path, default=ROOT / "docs", help="folder for the page and its picture")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        certificates = ["certs", "--service", HOST.split(".")[0], "--namespace", "default", "--out", name]
        run([*INJECTOR, *certificates])
        plain, given = folder / "plain.yaml", folder / "given.yaml"
        plain.write_text(_deployment({}))
        given.write_text(_deployment({"envoy.sidecar.injector/log-level": "debug"}))
        helps = {command: min(run([*INJECTOR, command, "--help"])[0] for _ in range(3)) for command in COMMANDS}
        slowest = max(helps, key=helps.__getitem__)
        start = Start(folder)
        commands = {
            _FLOOR: IMPORT,
            "the slowest `--help`": [*INJECTOR, slowest, "--help"],
            "`injector inject` of a Deployment": [*INJECTOR, "inject", "-f", str(plain)],
            "`injector inject` where a pod sets a parameter": [*INJECTOR, "inject", "-f", str(given)],
            "`injector explain` of a Deployment": [*INJECTOR, "explain", "-f", str(plain)],
            "`injector lint templates/envoy`": [*INJECTOR, "lint", "templates/envoy"],
            "`injector lint templates`": [*INJECTOR, "lint", "templates"],
        }
        cases: dict[str, Callable[[], Seconds]] = {
            title: (lambda command=command: run(command)) for title, command in commands.items()
        }
        figures = _measured({**cases, "`injector serve` until it is ready": start}, options.rounds)
    options.out.mkdir(parents=True, exist_ok=True)
    page = _page(figures, slowest, median(start.mib), options.rounds)
    (options.out / "benchmark-cli.md").write_text(page)
    (options.out / "benchmark-cli.svg").write_text(
        bars("CPU time, milliseconds", [(title.replace("`", ""), cpu * 1000) for title, (cpu, _) in figures.items()])
    )
    print(page)


if __name__ == "__main__":
    main()
