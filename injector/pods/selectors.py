"""Label selectors as Kubernetes has them: `matchLabels` and `matchExpressions`, all of which must hold.

Rules: Kubernetes docs, "Labels and Selectors", "Resources that support set-based requirements".
"""

from __future__ import annotations

import re
from typing import Any

_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
#: A label's value, and the part of a label's key after the slash (there it may not be empty).
_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?\Z")
_PREFIX = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*\Z")


def matches(selector: dict[str, Any] | None, labels: object) -> bool:
    """Whether labels (an object's `metadata.labels`) fulfil every requirement of a LabelSelector.

    None selects nothing and `{}` selects everything, as in Kubernetes. Labels that are no mapping count as none.
    The selector must have passed `check_selector`; a requirement that would not have is one that nothing fulfils.
    """
    if selector is None:
        return False
    held: dict[Any, Any] = labels if isinstance(labels, dict) else {}
    wanted = selector.get("matchLabels")
    if wanted:
        for key, value in wanted.items():
            if held.get(key) != value:
                return False
    expressions = selector.get("matchExpressions")
    return not expressions or all(_holds(e, held) for e in expressions)


def check_selector(selector: object) -> None:
    """Refuse what the API server would refuse as a LabelSelector.

    Raises ValueError naming the field within the selector, what is wrong and what is allowed there.
    """
    if not isinstance(selector, dict):
        raise ValueError("a selector is a mapping with matchLabels and matchExpressions")
    for field in selector:
        if field not in ("matchLabels", "matchExpressions"):
            raise ValueError(f"{_short(field)} is no field of a selector; there are matchLabels and matchExpressions")
    wanted = selector.get("matchLabels")
    if wanted is not None:
        if not isinstance(wanted, dict):
            raise ValueError("matchLabels must be a mapping of label keys to values")
        for key, value in wanted.items():
            _check_key("matchLabels", key)
            _check_value(f"matchLabels.{key}", value)
    expressions = selector.get("matchExpressions")
    if expressions is not None:
        if not isinstance(expressions, list):
            raise ValueError("matchExpressions must be a list")
        for index, expression in enumerate(expressions):
            _check_expression(f"matchExpressions[{index}]", expression)


def _holds(expression: dict[str, Any], labels: dict[Any, Any]) -> bool:
    operator, key = expression.get("operator"), expression.get("key")
    if operator == "In":
        return key in labels and labels[key] in (expression.get("values") or ())
    if operator == "NotIn":  # a label that is absent is not in any list: Kubernetes counts it as a match
        return key not in labels or labels[key] not in (expression.get("values") or ())
    if operator == "Exists":
        return key in labels
    return operator == "DoesNotExist" and key not in labels


def _check_expression(where: str, expression: object) -> None:
    if not isinstance(expression, dict):
        raise ValueError(f"{where} must be a mapping with key, operator and values")
    for field in expression:
        if field not in ("key", "operator", "values"):
            raise ValueError(f"{where}: {_short(field)} is no field of a requirement; there are key, operator, values")
    _check_key(f"{where}.key", expression.get("key"))
    operator, values = expression.get("operator"), expression.get("values")
    if operator not in _OPERATORS:
        raise ValueError(f"{where}.operator is {_short(operator)}; it must be one of {', '.join(_OPERATORS)}")
    if values is not None and not isinstance(values, list):
        raise ValueError(f"{where}.values must be a list of strings")
    if operator in ("In", "NotIn"):
        if not values:
            raise ValueError(f"{where}.values must name at least one value for {operator}")
        for value in values:
            _check_value(f"{where}.values", value)
    elif values:
        raise ValueError(f"{where}.values must be absent for {operator}")


def _check_key(where: str, key: object) -> None:
    if isinstance(key, str):
        prefix, slash, name = key.rpartition("/")
        if _NAME.match(name) and (not slash or (len(prefix) <= 253 and _PREFIX.match(prefix))):
            return
    raise ValueError(f"{where}: {_short(key)} is no label key, such as app or example.com/app")


def _check_value(where: str, value: object) -> None:
    if not isinstance(value, str):
        raise ValueError(f"{where}: {_short(value)} is no string; put it in quotes")
    if value and not _NAME.match(value):
        raise ValueError(f"{where}: {_short(value)} is no label value (at most 63 letters, digits, '-', '_', '.')")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
