"""Readers that others have: what the injector writes must mean the same to each of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import yaml
from ruamel.yaml import YAML


def _yaml_1_1(text: str) -> Any:
    reader = YAML(typ="safe", pure=True)
    reader.version = "1.1"
    return reader.load(text)


# libyaml's is what go-yaml, and with it Kubernetes, was made from.
READERS: dict[str, Callable[[str], Any]] = {
    "PyYAML": yaml.safe_load,
    "libyaml": partial(yaml.load, Loader=yaml.CSafeLoader),
    "ruamel.yaml, YAML 1.1": _yaml_1_1,
    "ruamel.yaml, YAML 1.2": lambda text: YAML(typ="safe", pure=True).load(text),
}
