"""How the value of a parameter is typed where it is set: as YAML in an annotation or the settings, or in a shell."""

from __future__ import annotations

import shlex

import msgspec
import yaml

from injector.templates.kubernetes_yaml import load_manifest
from injector.templates.template import Parameter

#: Types whose values the settings have without quotes.
_BARE = ("integer", "number", "boolean")


def spelled(text: str, origin: str, parameter: Parameter) -> str:
    """A value as it may be pasted in the place that `origin` names: with quotes where YAML or a shell needs them."""
    if origin.startswith("--param "):
        return shlex.quote(text)
    if origin.startswith("setting "):
        return text if parameter.type in _BARE or text[:1] in ("[", "{") else _string(text)
    return _string(text) if " annotation " in origin else text


def spelled_list(items: list[str]) -> str:
    """A list of strings in one text: with commas, or as JSON where an item would not survive that."""
    apart = any("," in item or item != item.strip() or not item or item[:1] == "[" for item in items)
    return msgspec.json.encode(items).decode() if apart else ",".join(items)


def _string(text: str) -> str:
    """A text that YAML reads as this string."""
    try:
        if load_manifest(text) == text:
            return text
    except (yaml.YAMLError, ValueError, RecursionError):
        pass
    if '"' in text or "\\" in text:
        return "'{}'".format(text.replace("'", "''"))
    return f'"{text}"'
