"""Parts of matchConditions: CEL expressions over the pod, as the API server evaluates them.

https://kubernetes.io/docs/reference/using-api/cel/ has the language; optional fields are its `?`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def text(value: str) -> str:
    """A CEL string."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def words(values: Iterable[str]) -> str:
    """A CEL list of strings."""
    return f"[{', '.join(map(text, values))}]"


def in_any_case(where: str, key: str) -> str:
    """The value of an annotation or label in lower case, "" where there is none; `where` is `annotations` or `labels`.

    The settings' words for yes and no are in lower case.
    """
    return f"object.metadata.?{where}[?{text(key)}].orValue('').lowerAscii()"


def selected(selector: dict[str, Any]) -> str:
    """Whether the pod's labels match a LabelSelector; an empty one matches all.

    https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
    """
    labels = sorted((selector.get("matchLabels") or {}).items())
    parts = [_expression(key, "In", [value]) for key, value in labels]
    parts += [
        _expression(e["key"], e["operator"], e.get("values") or ()) for e in selector.get("matchExpressions") or ()
    ]
    return " && ".join(parts) or "true"


def _expression(key: str, operator: str, values: Iterable[str]) -> str:
    label = f"object.metadata.?labels[?{text(key)}]"
    match operator:
        case "In":
            return f"{label}.optMap(v, v in {words(values)}).orValue(false)"
        case "NotIn":
            return f"!{label}.optMap(v, v in {words(values)}).orValue(false)"
        case "Exists":
            return f"{label}.hasValue()"
        case _:
            return f"!{label}.hasValue()"
