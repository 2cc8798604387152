"""The real Helm, both versions, over the chart."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import parts

Object = dict[str, Any]

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy" / "chart"
NAME = "sidecar-injector"
#: The version that a chart is rendered for where no cluster is asked.
KUBERNETES = "1.36.0"


#: `make test` has Helm 4, `make test-programs` Helm 3 as well.
MAJORS = [pytest.param(3, marks=pytest.mark.programs), 4]


class HelmError(Exception):
    """Helm refused; its words are the message."""


class Helm:
    """One Helm; `major` is 3 or 4. Without a kubeconfig it reaches no cluster; its own folders are thrown away."""

    def __init__(self, major: int = 4, kubeconfig: Path | None = None) -> None:
        self.major = major
        self._program = parts.require(f"helm-{major}")
        self._kubeconfig = kubeconfig or Path("/nonexistent")

    def run(self, *words: str | Path, timeout: float = 120) -> str:
        """Standard output of a call. Raises HelmError with what it said where it failed."""
        with tempfile.TemporaryDirectory() as home:
            done = subprocess.run(
                [str(self._program), *map(str, words)],
                capture_output=True,
                text=True,
                timeout=timeout,
                check=False,
                env={"HOME": home, "PATH": "/usr/bin:/bin", "KUBECONFIG": str(self._kubeconfig)},
            )
        if done.returncode:
            raise HelmError(done.stderr)
        return done.stdout

    def text(self, values: Mapping[str, Any] | None = None, namespace: str = NAME) -> str:
        """What the chart renders to for these values; the same is asked for once."""
        return _rendered(self.major, json.dumps(values or {}), namespace)

    def objects(self, values: Mapping[str, Any] | None = None, namespace: str = NAME) -> list[Object]:
        """The same as objects."""
        return [found for found in yaml.load_all(self.text(values, namespace), yaml.CSafeLoader) if found]


@lru_cache(maxsize=256)
def _rendered(major: int, values: str, namespace: str) -> str:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(values)
        file.flush()
        where = ["--namespace", namespace, "--kube-version", KUBERNETES, "--values", file.name]
        return Helm(major).run("template", NAME, CHART, *where)


def one(objects: list[Object], kind: str, name: str = NAME) -> Object:
    """The object of that kind and name, of which there is exactly one."""
    [found] = [o for o in objects if o["kind"] == kind and o["metadata"]["name"] == name]
    return found
