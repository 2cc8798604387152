"""Measure the server beside two that do nothing, in the same run, and write docs/benchmark.md and docs/benchmark.svg.

What is robust on a noisy machine are the ratios: each figure is divided by that of a floor measured right beside it.
The tables have the median of the rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median

from bench import picture
from bench.cases import CASES, SETTINGS, Case, Target, with_variables
from bench.load import Outcome, send
from bench.processes import TORNADO, constant, cpu_seconds, floor, resident_mib, server
from bench.provenance import ROOT, written_by
from bench.reviews import HOST, review
from bench.workloads import workload

VARIABLES = (20, 200, 2000)
_NOTHING, _CONSTANT = CASES[0].name, CASES[1].name
#: Requests are numbered through all runs: each review differs from every other.
_numbers = count(0, 1_000_000)


@dataclass(frozen=True)
class Figures:
    """One case: CPU microseconds a request, p50 and p99 milliseconds at 1 and at 16 connections."""

    cpu: float
    p50_1: float
    p99_1: float
    p50_16: float
    p99_16: float


@contextlib.contextmanager
def floors(certificates: Path) -> Iterator[dict[str, Target]]:
    """The servers that do nothing, by name; without the Go webhook where it cannot be built."""
    programs = {"nothing": TORNADO, "constant": constant()}
    with contextlib.ExitStack() as stack:
        started = {name: stack.enter_context(floor(certificates, p)) for name, p in programs.items() if p}
        yield _targets(certificates, started)


@contextlib.contextmanager
def injectors(certificates: Path, python: str = sys.executable) -> Iterator[dict[str, Target]]:
    """An injector for each of the settings, by name. `python` is that of the environment which has the injector."""
    with contextlib.ExitStack() as stack:
        started = {}
        for name, settings in SETTINGS.items():
            file = certificates / f"{name}.json"
            file.write_text(json.dumps(settings))
            started[name] = stack.enter_context(server(certificates, "--settings", str(file), python=python))
        yield _targets(certificates, started)


def _targets(certificates: Path, started: Mapping[str, tuple[int, int]]) -> dict[str, Target]:
    ca = str(certificates / "ca.crt")
    return {name: Target(pid, port, ca) for name, (pid, port) in started.items()}


def make_certificates(folder: Path) -> Path:
    """The folder with the certificate that all servers show."""
    certificates = folder / "certificates"
    command = [sys.executable, "-m", "injector", "certs", "--service", HOST.split(".")[0], "--namespace", "default"]
    subprocess.run([*command, "--out", str(certificates)], check=True, stdout=subprocess.DEVNULL)
    return certificates


def run_once(target: Target, case: Case, bodies: list[bytes], connections: int) -> tuple[float, Outcome]:
    """Send the bodies: microseconds of the server's processor time a request, and what the clients saw.

    Raises RuntimeError if a request failed.
    """
    before = cpu_seconds(target.pid)
    outcome = asyncio.run(
        send(
            target.port,
            target.ca,
            bodies,
            connections=connections,
            requests=len(bodies),
            first=next(_numbers),
            path=case.path,
        )
    )
    if outcome.failures:
        raise RuntimeError(f"{case.name}: {len(outcome.failures)} failed, the first with {outcome.failures[0]!r}")
    return 1e6 * (cpu_seconds(target.pid) - before) / len(bodies), outcome


def measure(target: Target, case: Case, requests: int) -> Figures:
    """A warm-up, then runs over 1 and over 16 connections."""

    def bodies(number: int) -> list[bytes]:
        found = case.bodies(target, number)
        return [found[n % len(found)] for n in range(number)]

    run_once(target, case, bodies(max(requests // 10, 20)), 1)
    _, one = run_once(target, case, bodies(requests // 2), 1)
    cpu, many = run_once(target, case, bodies(requests), 16)
    return Figures(cpu, one.percentile(0.5), one.percentile(0.99), many.percentile(0.5), many.percentile(0.99))


def compare(found: Mapping[str, Target], cases: Iterable[Case], requests: int, rounds: int) -> dict[str, Figures]:
    """The cases in turn, several rounds; the median of each, by name."""
    seen: dict[str, list[Figures]] = {}
    for number in range(rounds):
        for case in cases:
            if case.server in found:
                seen.setdefault(case.name, []).append(measure(found[case.server], case, requests))
        told = ", ".join(f"{name}: {runs[-1].cpu:.0f}" for name, runs in seen.items())
        print(f"round {number + 1} of {rounds}, CPU us a request: {told}", file=sys.stderr)
    names = Figures.__dataclass_fields__
    return {
        case: Figures(**{name: median(getattr(figures, name) for figures in runs) for name in names})
        for case, runs in seen.items()
    }


def memory(certificates: Path, pods: int) -> list[tuple[int, float]]:
    """Resident MiB of a fresh server as it goes through that many different pods."""
    [new] = [case for case in CASES if case.name == "a new workload"]
    with server(certificates) as (pid, port):
        target = Target(pid, port, str(certificates / "ca.crt"))
        points = [(0, resident_mib(pid))]
        for done in range(pods // 10, pods + 1, pods // 10):
            for _ in range(10):
                run_once(target, new, list(new.bodies(target, pods // 100)), 16)
            points.append((done, resident_mib(pid)))
            print(f"{done} different pods: {points[-1][1]:.1f} MiB", file=sys.stderr)
    return points


def _ratio(value: float, floor_of_run: float | None) -> str:
    return f"{value / floor_of_run:.2f}" if floor_of_run else "not built here"


def _table(figures: Mapping[str, Figures]) -> list[str]:
    nothing, go = figures[_NOTHING].cpu, figures[_CONSTANT].cpu if _CONSTANT in figures else None
    return [
        "| | CPU us a request | against the first row | against the Go webhook | p50, p99 ms at 1 connection | at 16 |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        *(
            f"| {name} | {f.cpu:.0f} | {f.cpu / nothing:.2f} | {_ratio(f.cpu, go)} | {f.p50_1:.2f}, {f.p99_1:.2f} "
            f"| {f.p50_16:.2f}, {f.p99_16:.2f} |"
            for name, f in figures.items()
        ),
    ]


def _growth(costs: Mapping[int, Mapping[str, Figures]]) -> list[str]:
    lines = [
        "| variables | KiB a review | Go webhook, CPU us | replica | against Go | new workload | against Go |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for variables, figures in costs.items():
        go = figures["Go webhook"].cpu if "Go webhook" in figures else None
        replica, new = figures["replica"].cpu, figures["new workload"].cpu
        size = len(review(workload(0, variables))) / 1024
        lines.append(
            f"| {variables:,} | {size:.0f} | {f'{go:.0f}' if go else 'not built'} "
            f"| {replica:.0f} | {_ratio(replica, go)} | {new:.0f} | {_ratio(new, go)} |"
        )
    return lines


def _page(
    figures: Mapping[str, Figures],
    costs: Mapping[int, Mapping[str, Figures]],
    points: list[tuple[int, float]],
    rounds: str,
) -> str:
    sizes = sorted(len(review(workload(number))) for number in range(400))
    lines = [
        "# Benchmark",
        "",
        written_by("bench"),
        "",
        "The benchmark measures one server process, `injector serve --standalone`, with logs and metrics on and with "
        "the template `envoy`. Clients use TLS and keep their connections open. A generator makes the workloads from a "
        "seed (`bench/workloads.py`); no two reviews are equal. A review has "
        f"{sizes[0] / 1024:.0f} to {sizes[-1] / 1024:.0f} KiB; the median is {sizes[len(sizes) // 2] / 1024:.1f} KiB. "
        "CPU time is that of the server process alone. The load generator runs on the other core, and its speed limits "
        f"the latencies that can be measured. All rows are from one run, and each is the median of {rounds}.",
        "",
        "![CPU time a request](benchmark.svg)",
        "",
        *_table(figures),
        "",
        "CPU time by the number of environment variables in the pod's first container:",
        "",
        *_growth(costs),
        "",
        f"Resident memory while the server handles {points[-1][0]:,} different pods: {points[0][1]:.0f} MiB after "
        f"start, {max(mib for _, mib in points):.0f} MiB at most, {points[-1][1]:.0f} MiB at the end.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Run all and write docs/benchmark.md and docs/benchmark.svg."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--requests", type=int, default=2000, help="requests a run (default 2000)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of all cases (default 5)")
    parser.add_argument(
        "--pods", type=int, default=100_000, help="different pods for the memory figure (default 100000)"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "docs", help="folder for benchmark.md and benchmark.svg")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        certificates = make_certificates(Path(folder))
        with floors(certificates) as nothing, injectors(certificates) as injector:
            found = nothing | injector
            figures = compare(found, CASES, options.requests, options.rounds)
            costs = {
                variables: compare(found, with_variables(variables), max(options.requests * 10 // variables, 60), 3)
                for variables in VARIABLES
            }
        points = memory(certificates, options.pods)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "benchmark.md").write_text(
        _page(figures, costs, points, f"{options.rounds} rounds of {options.requests} requests")
    )
    (options.out / "benchmark.svg").write_text(
        picture.bars("CPU time a request, microseconds", [(name, f.cpu) for name, f in figures.items()])
    )
    print("\n".join(_table(figures)))


if __name__ == "__main__":
    main()
