"""A small template of the tests' own, and a way to call the command line as a program does."""

from dataclasses import dataclass

import pytest
import yaml
from click.testing import CliRunner

from injector.cli.main import cli
from injector.errors import InjectorError
from tests import command
from tests.corpus.commands import templates_loaded_once

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


@pytest.fixture(scope="module")
def templates_once():
    with templates_loaded_once():
        yield


@pytest.fixture
def run(templates_dir, templates_once):
    """Run a command; `inject`, `check-manifests`, `explain` and `render` know the template `logger`."""

    def call(name, *args, stdin=""):
        takes = name in ("inject", "check-manifests", "explain", "render")
        known = ["--templates-dir", str(templates_dir)] if takes else []
        data = stdin if isinstance(stdin, bytes) else stdin.encode()
        result = CliRunner().invoke(cli, [name, *known, *map(str, args)], input=data, standalone_mode=False)
        if isinstance(result.exception, InjectorError):
            return Outcome(1, result.stdout_bytes.decode(), f"Error: {result.exception}")
        if result.exception is not None:
            raise result.exception
        return Outcome(result.return_value or 0, result.stdout_bytes.decode(), result.stderr)

    return call


@pytest.fixture
def program():
    """Run the real program."""
    return command.run
