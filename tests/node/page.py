"""docs/node.md, whose rows a run writes with --update: what was run, with what result, and how long it took."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tests import parts

PAGE = Path(__file__).resolve().parents[2] / "docs" / "node.md"
_HEAD = """\
# What runs on a real node

`make test-node` starts a cluster with one node: a real kubelet, containerd and runc. It installs the injector from the
image of the Dockerfile, and runs real pods. `make soak` makes the rows with 1,000 pods, rolling restarts, killed
replicas, `repair`, docs/coming-from, what a node leaves behind, and the time to start a pod. With
`NODE_ARGS=--update`, or `SOAK="tests/node --update"`, they replace the rows of the tests that they run.

The seconds depend on the machine, so compare rows only with one another. Times to start are medians of 20 pods each,
in turn: from scheduling to the first line of the app's log, and from creation to Ready. Of the gallery's sidecars only
fluentd has no row: no image here has its program. A trace shows one pod, the median of five, when all images are on the
node: each step in seconds since the kubelet learnt of the pod. Rows that end with a version are of an older Kubernetes
with `nativeSidecars: always`. Its kubelet notices only once a second that a container has started or ended, so pods
start later.

Made on {machine}, with {kubernetes}:

| what was run | result | seconds |
| --- | --- | --- |
"""


@dataclass
class Row:
    """A test, with all its parameters: its sentence, how it ended, its seconds, and what it measured."""

    what: str
    result: str = "passed"
    seconds: float = 0.0
    measured: list[tuple[str, Any]] = field(default_factory=list)

    def __str__(self) -> str:
        ended = [] if self.result == "passed" and self.measured else [self.result]
        result = "; ".join([*ended, *(f"{name}: {value}" for name, value in self.measured)])
        return f"| {self.what} | {result} | {self.seconds:.0f} |\n"


def sentence(test: pytest.Function) -> str:
    """What a test shows, in one line, with the values of its parameters where its docstring names them in braces."""
    return one_line(test.obj.__doc__).format(**(test.callspec.params if hasattr(test, "callspec") else {}))


def one_line(docstring: str | None) -> str:
    """This docstring as the page has it, with names of parameters in braces."""
    return " ".join((docstring or "").split())


def update(rows: Iterable[Row], kubernetes: str) -> None:
    """Put these rows in the place of those about the same, or at the end. With another Kubernetes than the page's, they
    say so.
    """
    machine = f"{os.cpu_count()} CPUs, Linux {'.'.join(platform.release().split('.')[:2])}"
    text = PAGE.read_text() if PAGE.exists() else ""
    if parts.OTHER_NODE in os.environ:
        rows = [replace(row, what=f"{row.what}, with {kubernetes}") for row in rows]
        [kubernetes] = re.findall(r"^Made on .*, with (.*):$", text, re.MULTILINE)
    lines = text.splitlines(keepends=True)
    kept = {line.split(" | ")[0].removeprefix("| "): line for line in lines if line.endswith(" |\n")}
    kept = {what: line for what, line in kept.items() if what not in ("what was run", "---")}
    kept |= {row.what: str(row) for row in rows}
    PAGE.write_text("".join([_HEAD.format(machine=machine, kubernetes=kubernetes), *kept.values()]))
