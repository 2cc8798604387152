"""Measure the server against a Tornado RequestHandler that does nothing, in the same run, and write docs/benchmark.*.

What is robust on a noisy machine are the ratios: each figure of the server is divided by that of the floor measured
right beside it; the table has the median of the rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import platform
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench import picture
from bench.load import Outcome, send
from bench.processes import cpu_seconds, floor, injector, resident_mib
from bench.reviews import HOST, review

DOCS = Path(__file__).resolve().parent.parent / "docs"
#: Requests are numbered through all runs, so that no pod that is to be new was seen before.
_numbers = iter(range(0, 90_000_000, 1_000_000))


@dataclass(frozen=True)
class Figures:
    """One case: CPU microseconds a request, requests a second, p50 and p99 milliseconds at 1 and at 16 connections."""

    cpu: float
    rate: float
    p50_1: float
    p99_1: float
    p50_16: float
    p99_16: float


def _run(pid: int, port: int, ca: str, body: bytes, connections: int, requests: int) -> tuple[float, Outcome]:
    before = cpu_seconds(pid)
    outcome = asyncio.run(send(port, ca, body, connections=connections, requests=requests, first=next(_numbers)))
    if outcome.failures:
        raise RuntimeError(f"{len(outcome.failures)} requests failed, the first with {outcome.failures[0]!r}")
    return 1e6 * (cpu_seconds(pid) - before) / requests, outcome


def measure(server: tuple[int, int], ca: str, body: bytes, requests: int) -> Figures:
    """One case on one server: a warm-up, then runs over 1 and over 16 connections."""
    pid, port = server
    _run(pid, port, ca, body, 1, max(requests // 10, 20))
    _, one = _run(pid, port, ca, body, 1, requests // 2)
    cpu, many = _run(pid, port, ca, body, 16, requests)
    # On one core the server would answer as often as its CPU time a request allows.
    return Figures(
        cpu, 1e6 / cpu, one.percentile(0.5), one.percentile(0.99), many.percentile(0.5), many.percentile(0.99)
    )


def _median(rounds: list[Figures]) -> Figures:
    names = Figures.__dataclass_fields__
    return Figures(**{name: median(getattr(figures, name) for figures in rounds) for name in names})


def compare(certificates: Path, requests: int, rounds: int) -> dict[str, Figures]:
    """Floor, hit and miss in turn, several rounds; the median of each."""
    ca = str(certificates / "ca.crt")
    seen: dict[str, list[Figures]] = {"nothing": [], "hit": [], "miss": []}
    with floor(certificates) as nothing, injector(certificates) as ours:
        for number in range(rounds):
            seen["nothing"].append(measure(nothing, ca, review(), requests))
            seen["hit"].append(measure(ours, ca, review(), requests))
            seen["miss"].append(measure(ours, ca, review(different=True), requests))
            figures = ", ".join(f"{case} {runs[-1].cpu:.0f}" for case, runs in seen.items())
            print(f"round {number + 1} of {rounds}: CPU us a request: {figures}", file=sys.stderr)
    return {case: _median(runs) for case, runs in seen.items()}


def growth(certificates: Path, requests: int) -> dict[int, tuple[float, float]]:
    """CPU microseconds a request at 20, 200 and 2,000 variables: (hit, miss), median of three."""
    ca, result = str(certificates / "ca.crt"), {}
    with injector(certificates) as (pid, port):
        for variables in (20, 200, 2000):
            count = max(requests * 20 // variables, 60)
            costs = []
            for different in (False, True):
                body = review(variables, different=different)
                _run(pid, port, ca, body, 1, 20)
                costs.append(median(_run(pid, port, ca, body, 1, count)[0] for _ in range(3)))
            result[variables] = (costs[0], costs[1])
            print(f"{variables} variables: hit {costs[0]:.0f} us, miss {costs[1]:.0f} us", file=sys.stderr)
    return result


def memory(certificates: Path, pods: int) -> list[tuple[int, float]]:
    """Resident MiB of a fresh server as it goes through that many different pods."""
    ca, body = str(certificates / "ca.crt"), review(different=True)
    with injector(certificates) as (pid, port):
        points = [(0, resident_mib(pid))]
        for done in range(pods // 10, pods + 1, pods // 10):
            _run(pid, port, ca, body, 16, pods // 10)
            points.append((done, resident_mib(pid)))
            print(f"{done} different pods: {points[-1][1]:.1f} MiB", file=sys.stderr)
    return points


def _table(cases: dict[str, Figures]) -> list[str]:
    names = {
        "nothing": "a Tornado RequestHandler that does nothing",
        "hit": "a replica of a pod seen before",
        "miss": "a pod never seen",
    }
    lines = [
        "| | CPU us a request | against nothing | requests/s on one core | p50, p99 ms at 1 connection | at 16 |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for case, name in names.items():
        f = cases[case]
        lines.append(
            f"| {name} | {f.cpu:.0f} | {f.cpu / cases['nothing'].cpu:.2f} | {f.rate:,.0f} "
            f"| {f.p50_1:.2f}, {f.p99_1:.2f} | {f.p50_16:.2f}, {f.p99_16:.2f} |"
        )
    return lines


def _page(cases: dict[str, Figures], costs: dict[int, tuple[float, float]], points: list[tuple[int, float]]) -> str:
    body = len(review())
    growth_lines = [
        f"| {variables} | {len(review(variables)) / 1024:.0f} | {hit:.0f} | {miss:.0f} |"
        for variables, (hit, miss) in costs.items()
    ]
    lines = [
        "# Benchmark",
        "",
        "Written by `make bench`; run it for the figures of your machine.",
        "",
        f"One server process (`injector serve --standalone`: logs and metrics on, template `envoy`), TLS, kept-alive "
        f"connections, a review of {body:,} bytes, {platform.python_implementation()} {platform.python_version()}. "
        "CPU time is the server's own, measured from outside; the load generator runs on the other core and limits the "
        "latencies that can be seen. All rows are from one run, each the median of its rounds.",
        "",
        "![CPU time a request](benchmark.svg)",
        "",
        *_table(cases),
        "",
        f"Environment variables in the pod (2,000 cost {costs[2000][0] / costs[20][0]:.1f} times 20 for a replica, "
        f"{costs[2000][1] / costs[20][1]:.1f} times for a pod never seen):",
        "",
        "| variables | KiB a review | replica, CPU us | never seen, CPU us |",
        "| ---: | ---: | ---: | ---: |",
        *growth_lines,
        "",
        f"Resident memory through {points[-1][0]:,} different pods: {points[0][1]:.0f} MiB after start, "
        f"{max(mib for _, mib in points):.0f} MiB at most, {points[-1][1]:.0f} MiB at the end.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Run all and write docs/benchmark.md and docs/benchmark.svg."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--requests", type=int, default=4000, help="requests a run (default 4000)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of floor, hit and miss (default 5)")
    parser.add_argument(
        "--pods", type=int, default=100_000, help="different pods for the memory figure (default 100000)"
    )
    parser.add_argument("--out", type=Path, default=DOCS, help="folder for benchmark.md and benchmark.svg")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        certificates = Path(folder) / "certificates"
        command = [sys.executable, "-m", "injector", "certs", "--service", HOST.split(".")[0], "--namespace", "default"]
        subprocess.run(
            [*command, "--out", str(certificates)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        cases = compare(certificates, options.requests, options.rounds)
        costs = growth(certificates, options.requests)
        points = memory(certificates, options.pods)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "benchmark.md").write_text(_page(cases, costs, points))
    (options.out / "benchmark.svg").write_text(
        picture.bars(
            "CPU time a request, microseconds",
            [
                ("RequestHandler doing nothing", cases["nothing"].cpu),
                ("replica of a pod seen before", cases["hit"].cpu),
                ("pod never seen", cases["miss"].cpu),
            ],
        )
    )
    print("\n".join(_table(cases)))


if __name__ == "__main__":
    main()
