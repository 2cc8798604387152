"""A value that a parameter refuses leads to the one that is meant; a wrong guess is never named."""

from __future__ import annotations

from typing import Any

import pytest

from injector.advice.values import value_help
from injector.templates.parameter_schema import make_parameter
from injector.templates.parameter_values import value_of

PORTS = {"type": "array", "items": {"type": "integer", "format": "port"}}
RANGES = {"type": "array", "items": {"type": "string", "format": "cidr"}}
PATHS = {"type": "array", "items": {"type": "string", "pattern": r"^/[-A-Za-z0-9._~/]*\*?$"}}
TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
NUMBERS = {"type": "object", "additionalProperties": {"type": "integer"}}
OBJECTS = {"type": "array", "items": {"type": "object", "properties": {"port": {"type": "integer"}}}}
LEVEL = {"type": "string", "enum": ["debug", "info", "warn"]}
URL = {"type": "string", "pattern": "^https?://[a-z.]+$"}


@pytest.mark.parametrize(
    ("schema", "raw", "words"),
    [
        (PORTS, "22 80", "write 22,80"),
        (PORTS, "22/tcp,:80", "write 22,80"),
        (PORTS, "{22,80}", "write 22,80"),
        (PORTS, "8080-8082", "write 8080,8081,8082"),
        (PORTS, '["443"]', "write 443"),
        (RANGES, "10.0.0.0/8\n172.16.0.0/12\n", "write 10.0.0.0/8,172.16.0.0/12"),
        (RANGES, "- 10.0.0.0/8\n- 10.1.0.0/16\n", "write 10.0.0.0/8,10.1.0.0/16"),
        (RANGES, "['10.0.0.0/8']", "write 10.0.0.0/8"),
        (RANGES, "10.0.0.1", "write 10.0.0.1/32"),
        (RANGES, "10.0.0.0/255.0.0.0,fd00::1", "write 10.0.0.0/8,fd00::1/128"),
        (PATHS, "^/healthz$", "write /healthz"),
        (PATHS, "^/static/.*$", "write /static/*"),
        (TEXTS, "LOG_LEVEL=debug,REGION=eu-west-1", 'write {"LOG_LEVEL":"debug","REGION":"eu-west-1"}'),
        (TEXTS, "A: b\nC: 1\n", 'write {"A":"b","C":"1"}'),
        (TEXTS, "{team: shop}", 'write {"team":"shop"}'),
        (TEXTS, "{'a': 'b'}", 'write {"a":"b"}'),
        (TEXTS, '[{"name":"A","value":"b"}]', 'write {"A":"b"}'),
        (NUMBERS, "a=1,b=2", 'write {"a":1,"b":2}'),
        (OBJECTS, "{port: 80}", 'write [{"port":80}]'),
        ({"type": "boolean"}, "on", "write true"),
        ({"type": "boolean"}, "Disabled", "write false"),
        ({"type": "integer", "maximum": 100}, "50%", "write 50"),
        ({"type": "integer"}, "1,000", "write 1000"),
        ({"type": "integer", "format": "port"}, "0.0.0.0:8080", "write 8080"),
        ({"type": "string", "format": "duration"}, "30", "write 30s"),
        ({"type": "string", "format": "duration"}, "5 minutes", "write 5m"),
        ({"type": "string", "format": "duration"}, "2d", "write 48h"),
        ({"type": "string", "format": "quantity"}, "512 MB", "write 512Mi"),
        ({"type": "string", "format": "quantity"}, "0,5", "write 0.5"),
        ({"type": "string", "format": "quantity"}, "2 cores", "write 2"),
        ({"type": "string", "format": "image"}, "docker://ghcr.io/a:1", "write ghcr.io/a:1"),
        ({"type": "string", "format": "dns-label"}, "My_Web", "write my-web"),
        (LEVEL, "WARNING", "write warn"),
        (LEVEL, '"debug"', "write debug"),
        (URL, "login.example", "write https://login.example"),
    ],
)
def test_what_is_meant(schema: dict[str, Any], raw: str, words: str) -> None:
    parameter = make_parameter("v", schema)
    assert value_help(parameter, raw) == words
    value_of(parameter, words.removeprefix("write "))


@pytest.mark.parametrize(
    ("name", "words"), [("read-timeout-seconds", "write 120"), ("wait-milliseconds", "write 120000")]
)
def test_a_duration_is_counted_as_the_name_says(name: str, words: str) -> None:
    assert value_help(make_parameter(name, {"type": "integer"}), "2m") == words


@pytest.mark.parametrize(
    ("schema", "raw"),
    [
        (LEVEL, "verbose"),
        ({"type": "integer"}, "2m"),
        ({"type": "boolean"}, "maybe"),
        (RANGES, "10.0.0.0/8,web"),
        (URL, "$(POD_NAME)"),
        (TEXTS, "no pairs at all"),
        ({"type": "string", "format": "quantity"}, "half"),
        (PORTS, "x" * 5000),
    ],
)
def test_nothing_is_guessed(schema: dict[str, Any], raw: str) -> None:
    assert value_help(make_parameter("v", schema), raw) == ""


def test_a_secret_is_not_repeated() -> None:
    assert value_help(make_parameter("v", {**LEVEL, "secret": True}), "WARNING") == ""


def test_an_amount_of_a_processor_is_in_thousandths() -> None:
    cpu = make_parameter("cpu-limit", {"type": "string", "format": "quantity"})
    memory = make_parameter("memory-limit", {"type": "string", "format": "quantity"})
    assert value_help(cpu, "100 m") == "write 100m"
    assert value_help(cpu, "100mi") == "write 100m"
    assert value_help(memory, "100 m") == "write 100Mi"
