"""A small template of the tests' own, and a way to call the command line as a program does."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from injector.cli.main import cli
from injector.errors import InjectorError

ROOT = Path(__file__).parents[3]

TEMPLATE = """\
description: Ships logs.
parameters:
  level: {type: string, enum: [info, debug], default: info, description: How much is logged.}
files:
  logger.yaml: {template: logger.yaml.j2}
"""
OVERLAY = """\
spec:
  containers:
  - name: logger
    image: logger:1
    args: [--level, "{{ params.level }}"]
    volumeMounts:
    - {name: logger-config, mountPath: /etc/logger, readOnly: true}
  volumes:
  - name: logger-config
    configMap: {name: "{{ files.configmap }}"}
"""
CONFIG = "level: {{ params.level }}\nworkload: {{ workload.kind }}/{{ workload.name }}\n"


@dataclass
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def documents(self):
        return [d for d in yaml.load_all(self.out, Loader=yaml.CSafeLoader) if d is not None]


@pytest.fixture
def templates_dir(tmp_path):
    folder = tmp_path / "templates" / "logger"
    folder.mkdir(parents=True)
    (folder / "template.yaml").write_text(TEMPLATE)
    (folder / "overlay.yaml.j2").write_text(OVERLAY)
    (folder / "logger.yaml.j2").write_text(CONFIG)
    return folder.parent


@pytest.fixture
def run(templates_dir):
    """Run a command; `inject`, `explain` and `render` know the template `logger`."""

    def call(command, *args, stdin=""):
        known = ["--templates-dir", str(templates_dir)] if command in ("inject", "explain", "render") else []
        data = stdin if isinstance(stdin, bytes) else stdin.encode()
        result = CliRunner().invoke(cli, [command, *known, *map(str, args)], input=data, standalone_mode=False)
        if isinstance(result.exception, InjectorError):
            return Outcome(1, result.stdout_bytes.decode(), f"Error: {result.exception}")
        if result.exception is not None:
            raise result.exception
        return Outcome(result.return_value or 0, result.stdout_bytes.decode(), result.stderr)

    return call


@pytest.fixture
def program():
    """Run the real program."""

    def call(*args, **more):
        return subprocess.run(
            [sys.executable, "-m", "injector", *map(str, args)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            **more,
        )

    return call
