"""Cutting a stream of JSON into its values, by `json` itself."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any, NoReturn

from injector.authoring.yaml_stream import YamlPiece
from injector.errors import DocumentError
from injector.templates.kubernetes_yaml import DEPTH

_SPACE = " \t\r\n"


class NotJsonError(DocumentError):
    """The text is not JSON; it may still be YAML."""


def split_json(text: str, source: str) -> Iterator[YamlPiece]:
    """The values of a stream; joined, their parts are the text.

    Raises NotJsonError with the place for what is not JSON, and DocumentError for a key that is there twice in one
    object, for a number that is none, and for values nested deeper than DEPTH.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_constant, parse_float=_float)
    at = number = counted = 0
    line = 1
    while at < len(text):
        start = _skip(text, at)
        number += 1
        line += text.count("\n", counted, start)
        counted = start
        place = f"{source}, document {number}, line {line}"
        try:
            value, end = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            raise NotJsonError(f"{source}, document {number}, line {error.lineno}: not JSON: {error.msg}") from None
        except RecursionError:
            raise DocumentError(f"{place}: values nested deeper than {DEPTH}") from None
        except DocumentError as error:
            raise DocumentError(f"{place}: {error}") from None
        if _deeper(value, DEPTH):
            raise DocumentError(f"{place}: values nested deeper than {DEPTH}")
        # What follows the value on its line is its own; the last value has all that is left.
        newline = text.find("\n", end)
        stop = newline + 1 if newline >= 0 and not text[end:newline].strip(_SPACE) else end
        if _skip(text, stop) == len(text):
            stop = len(text)
        yield YamlPiece(line, text[at:start], text[start:end], text[end:stop], text[at:start], value)
        at = stop


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE + "\ufeff":
        at += 1
    return at


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        key = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise DocumentError(f'the key "{key}" occurs twice in one object')
    return mapping


def _no_constant(name: str) -> NoReturn:
    raise DocumentError(f"{name} is not JSON")


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise DocumentError(f"the number {text[:40]} is too large")
    return number


def _deeper(value: Any, levels: int) -> bool:
    items = value.values() if isinstance(value, dict) else value
    return isinstance(value, dict | list) and (not levels or any(_deeper(item, levels - 1) for item in items))
