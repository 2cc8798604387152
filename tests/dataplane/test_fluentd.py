"""The fluentd template's config file. No package index has Fluentd as a program, so no Fluentd runs here.

What is checked without it: the file is what Fluentd's YAML reader makes sections of, each with a plugin of Fluentd's
core and with that plugin's own options, of the kind that is documented for them; and nothing in it is Ruby. Where a
`fluentd` is on PATH it reads the file itself; elsewhere that test is skipped, visibly.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.dataplane.gallery import app_pod, injected
from tests.parts import require

pytestmark = pytest.mark.programs

Section = dict[str, Any]

#: Options by plugin, as https://docs.fluentd.org has them: the kind of each value; a dict is a section of its own.
_BUFFER = {
    "$type": "file",
    "path": str,
    "flush_mode": "interval",
    "flush_interval": str,
    "flush_at_shutdown": bool,
    "retry_forever": bool,
    "retry_max_interval": str,
    "overflow_action": "block",
    "total_limit_size": str,
    "chunk_limit_size": str,
}
_FORMAT = {"$type": "json"}
_INJECT = {"time_key": str, "time_type": "string", "time_format": str, "utc": bool}
_TLS = {"tls_ca_cert_path": str, "tls_client_cert_path": str}
OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "source": {
        "monitor_agent": {"bind": str, "port": int},
        "tail": {
            "tag": str,
            "path": str,
            "path_key": str,
            "pos_file": str,
            "read_from_head": bool,
            "refresh_interval": int,
            "rotate_wait": int,
            "max_line_size": int,
            "emit_unmatched_lines": bool,
            "parse": {"$type": str, "message_key": str, "time_key": str},
        },
    },
    "filter": {"grep": {"exclude": {"key": str, "pattern": str}}, "record_transformer": {"record": {"": str}}},
    "match": {
        "stdout": {"format": _FORMAT, "inject": _INJECT},
        "http": {
            "endpoint": str,
            "content_type": str,
            "retryable_response_codes": list,
            "tls_private_key_path": str,
            "format": _FORMAT,
            "inject": _INJECT,
            "buffer": _BUFFER,
            **_TLS,
        },
        "forward": {
            "require_ack_response": bool,
            "compress": "gzip",
            "transport": "tls",
            "tls_client_private_key_path": str,
            "server": {"host": str, "port": int},
            "buffer": _BUFFER,
            **_TLS,
        },
    },
}
TARGET: dict[str, Any] = {"host": "logs.example"}
TLS = {**TARGET, "tls": True, "ca-configmap": "our-ca", "client-secret-name": "us"}
LINES = {"line-format": "json", "drop-containing": ["DEBUG", "GET healthz"], "labels": {"team": "shop", "n": "1"}}
VARIANTS: list[dict[str, Any]] = [
    {},
    LINES,
    {"log-files": ["a.log", "b-*.log"], "ipv6": True, "tag": "shop.web"},
    {"output": "forward", **TARGET},
    {"output": "forward", "compress": True, **TLS},
    {"output": "http", **TARGET},
    {"output": "http", **TLS, **LINES},
]


@pytest.fixture(autouse=True)
def root() -> None:
    """Nothing here needs it."""


def config(parameters: dict[str, Any]) -> str:
    injection = injected("fluentd", parameters, app_pod())
    assert injection.effect.value == "inject", injection.message
    return injection.files[0].data["fluentd.yaml"]


def check(options: dict[str, Any], section: Section, where: str) -> None:
    """Each value of a section is of a kind that its plugin takes."""
    for name, value in section.items():
        expected = options.get(name, options.get(""))
        assert expected is not None, f"{where} has no option {name}"
        if isinstance(expected, dict):
            for one in value if isinstance(value, list) else [value]:
                check(expected, one, f"{where}.{name}")
        elif isinstance(expected, type):
            assert type(value) is expected, f"{where}.{name} is {value!r}"
        else:
            assert value == expected, f"{where}.{name} is {value!r}"


def texts(value: Any) -> Iterator[str]:
    """Every string in a document, keys included."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield key
            yield from texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from texts(one)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize("parameters", VARIANTS)
def test_every_section_is_of_a_plugin_with_its_own_options(parameters: dict[str, Any]) -> None:
    document = yaml.safe_load(config(parameters))
    assert set(document) == {"system", "config"} and set(document["system"]) == {"log_level"}
    kinds = []
    for entry in document["config"]:
        [(kind, section)] = entry.items()
        plugin, tag = section.pop("$type"), section.pop("$tag", None)
        check(OPTIONS[kind][plugin], section, plugin)
        assert (tag is None) is (kind == "source")
        kinds.append(kind)
        if plugin == "tail":
            tailed = section["tag"]
        elif kind != "source":
            assert tag == tailed
    assert kinds == sorted(kinds, key=["source", "filter", "match"].index) and kinds[-1] == "match"


@pytest.mark.parametrize("parameters", VARIANTS)
def test_nothing_in_it_is_ruby(parameters: dict[str, Any]) -> None:
    """Ruby runs in strings that have a tag of Fluentd's own, and in `${...}` where a plugin is told enable_ruby."""
    text = config(parameters)
    for event in yaml.parse(text):
        assert getattr(event, "tag", None) is None, event
    found = list(texts(yaml.safe_load(text)))
    assert "enable_ruby" not in found
    assert {match for one in found for match in re.findall(r"[#$]\{.*?\}", one)} == {"${hostname}"}


@pytest.mark.parametrize("parameters", VARIANTS)
def test_fluentd_itself_reads_it(parameters: dict[str, Any], tmp_path: Path) -> None:
    fluentd = require("fluentd")
    file = tmp_path / "fluentd.yaml"
    text = config({**parameters, "ca-configmap": None, "client-secret-name": None})
    file.write_text(text.replace("/state/", f"{tmp_path}/state/").replace("/logs/", f"{tmp_path}/logs/"))
    done = subprocess.run([fluentd, "--dry-run", "--config", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
