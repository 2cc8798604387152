"""A small template of the tests' own with a case or two, and ways to run them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from injector.authoring.cases.harness import Harness
from injector.authoring.cases.programs import Programs
from injector.authoring.cases.run import CaseResult, Ways
from injector.authoring.cases.suite import Suite, read_suite
from injector.cli.main import cli
from injector.errors import InjectorError
from tests.authoring.cases.support import run_case

TEMPLATE = """\
description: Ships logs.
parameters:
  level: {type: string, enum: [info, debug], default: info, description: How much is logged.}
  port: {type: integer, format: port, default: 2020, description: Port of its health page.}
  tags: {type: array, items: {type: string}, default: [], description: Added to every line.}
files:
  logger.yaml: {template: logger.yaml.j2}
  extra.conf: {template: extra.conf.j2}
"""
OVERLAY = """\
{% if ports | length > 2 %}
  {{ fail("too many ports") }}
{% elif params.port in ports %}
  {{ deny("port taken") }}
{% endif %}
{% if params.level == "debug" %}{{ warn("debug is slow") }}{% endif %}
spec:
  containers:
  - name: logger
    image: logger:1
    args: [--level, "{{ params.level }}"]
    ports:
    - {name: health, containerPort: {{ params.port }}}
    volumeMounts:
    - {name: logger-config, mountPath: /etc/logger, readOnly: true}
  volumes:
  - name: logger-config
    configMap: {name: "{{ files.configmap }}"}
"""
CONFIG = """\
level: {{ params.level }}
outputs:
- name: main
  target: {port: {{ params.port }}}
- name: spare
  target: {port: 1}
{% if params.tags %}
tags:
{% for tag in params.tags %}
- {{ tag }}
{% endfor %}
{% endif %}
"""
EXTRA = """\
listen {{ params.port }};
level {{ "noisy" if params.level == "debug" else "quiet" }};
"""

#: Writes a template with these cases, and other files of its folder.
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write the template `logger`; `cases` becomes tests/cases.yaml, keywords are more files: tests__web_yaml=..."""

    def call(cases: str = "", **files: str) -> Path:
        folder = tmp_path / "logger"
        (folder / "tests").mkdir(parents=True, exist_ok=True)
        texts = {
            "template.yaml": TEMPLATE,
            "overlay.yaml.j2": OVERLAY,
            "logger.yaml.j2": CONFIG,
            "extra.conf.j2": EXTRA,
        }
        texts |= {"tests/cases.yaml": cases} if cases else {}
        texts |= {
            (name.replace("__", "/").replace("_", ".") if "." not in name else name): text
            for name, text in files.items()
        }
        for name, text in texts.items():
            (folder / name).write_text(text)
        return folder

    return call


@pytest.fixture
def suite(write: Write) -> Callable[..., Suite]:
    """The cases of a text."""
    return lambda cases="", **files: read_suite(write(cases, **files), "logger")


@pytest.fixture
def results(suite: Callable[..., Suite]) -> Callable[..., list[CaseResult]]:
    """What becomes of the cases of a text."""

    def call(cases: str, **files: str) -> list[CaseResult]:
        read = suite(cases, **files)
        assert [str(problem) for problem in read.problems] == []
        bench = Harness(read.folder, read.path)
        return [run_case(bench, checked, Ways(Programs())) for checked in read.cases]

    return call


@pytest.fixture
def problems(results: Callable[..., list[CaseResult]]) -> Callable[..., list[str]]:
    """What is told about the cases of a text, a line each."""
    return lambda cases, **files: [str(p) for result in results(cases, **files) for p in result.problems]


@dataclass
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def run() -> Callable[..., Done]:
    """Run `injector test`."""

    def call(*args: object) -> Done:
        result = CliRunner().invoke(cli, ["test", *map(str, args)], standalone_mode=False)
        if isinstance(result.exception, InjectorError):
            return Done(1, result.stdout, f"Error: {result.exception}")
        if result.exception is not None:
            raise result.exception
        return Done(result.return_value or 0, result.stdout, result.stderr)

    return call
