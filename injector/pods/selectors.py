"""Label selectors as Kubernetes has them: `matchLabels` and `matchExpressions`, all of which must hold.

Rules: Kubernetes docs, "Labels and Selectors", "Resources that support set-based requirements".
"""

from __future__ import annotations

from typing import Any

from injector.diagnostics import Diagnostic, Path
from injector.names import did_you_mean, is_label_key, is_label_value, nearest, shortened
from injector.pods.context import Object, mapping, sequence

_FIELDS = ("matchLabels", "matchExpressions")
_REQUIREMENT = ("key", "operator", "values")
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def matches(selector: Object | None, labels: object) -> bool:
    """Whether labels (an object's `metadata.labels`) fulfil every requirement of a LabelSelector.

    None selects nothing and `{}` selects everything, as in Kubernetes. Labels that are no mapping count as none.
    The selector must have passed `check_selector`; a requirement that is not valid matches nothing.
    """
    if selector is None:
        return False
    own = mapping(labels)
    if not (selector.get("matchLabels") or {}).items() <= own.items():
        return False
    expressions = selector.get("matchExpressions")
    return not expressions or all(_holds(e, own) for e in expressions)


class SelectorError(ValueError):
    """A selector that the API server would refuse. The path of `diagnostic` leads into the selector."""

    def __init__(
        self,
        code: str,
        path: Path,
        message: str,
        help: str = "",  # noqa: A002  the field's own name
        mistake: tuple[Any, ...] = (),
        /,
        **fields: Any,
    ) -> None:
        self.diagnostic = Diagnostic(code, "error", message, help, path, fields=fields, mistake=mistake)
        super().__init__(self.diagnostic.sentence)


def check_selector(selector: object, *, of_namespaces: bool = False) -> None:
    """Refuse what the API server would refuse as a LabelSelector: raises SelectorError.

    `of_namespaces` says that it selects namespaces.
    """
    mistake = ("selector", selector, of_namespaces)
    if not isinstance(selector, dict):
        message = "a selector is a mapping with matchLabels and matchExpressions"
        raise SelectorError("wrong-type", (), message, "", mistake)
    _check_fields(selector, _FIELDS, (), of_namespaces=of_namespaces)
    labels, path = selector.get("matchLabels"), ("matchLabels",)
    message = "it must be a mapping of label keys to values"
    for key, value in _given(labels, dict, path, message, ("selector", labels, False)).items():
        _check_key(key, (*path, key))
        _check_value(value, (*path, key))
    expressions = selector.get("matchExpressions")
    for index, expression in enumerate(_given(expressions, list, ("matchExpressions",), "it must be a list")):
        _check_expression(expression, ("matchExpressions", index))


def _given(value: Any, kind: type, path: Path, message: str, mistake: tuple[Any, ...] = ()) -> Any:
    """A field's value, an empty one where there is none."""
    if value is None:
        return kind()
    if not isinstance(value, kind):
        raise SelectorError("wrong-type", path, message, "", mistake)
    return value


def _holds(expression: Object, labels: dict[Any, Any]) -> bool:
    operator, key = expression.get("operator"), expression.get("key")
    if operator in ("In", "NotIn"):  # a label that is absent is not in any list: Kubernetes counts it as a match
        return (key in labels and labels[key] in sequence(expression.get("values"))) is (operator == "In")
    return bool(operator == ("Exists" if key in labels else "DoesNotExist"))


def _check_expression(expression: object, path: Path) -> None:
    if not isinstance(expression, dict):
        raise SelectorError("wrong-type", path, "it must be a mapping with key, operator and values")
    _check_fields(expression, _REQUIREMENT, path)
    _check_key(expression.get("key"), (*path, "key"))
    operator, values, at = expression.get("operator"), expression.get("values"), (*path, "values")
    if operator not in _OPERATORS:
        at = (*path, "operator")
        raise SelectorError(
            "not-allowed",
            at,
            f"{shortened(operator)} is not an operator",
            f"it must be one of {', '.join(_OPERATORS)}",
            ("operator", operator),
            value=operator,
            allowed=_OPERATORS,
        )
    _given(values, list, at, "it must be a list of strings", ("values", values))
    if operator in ("In", "NotIn"):
        if not values:
            raise SelectorError("missing-key", at, f"it must name at least one value for {operator}")
        for value in values:
            _check_value(value, at)
    elif values:
        raise SelectorError("not-allowed", at, f"it must be absent for {operator}")


def _check_fields(fields: dict[Any, Any], allowed: tuple[str, ...], path: Path, of_namespaces: bool = False) -> None:
    for field in fields:
        if field not in allowed:
            near = nearest(str(field), allowed, cutoff=0.8)
            to_do = did_you_mean(near, f"the keys are {', '.join(allowed)}")
            whole = fields if not set(_FIELDS) & fields.keys() else {field: fields[field]}
            raise SelectorError(
                "unknown-key",
                (*path, field),
                f"unknown key {shortened(field)}",
                to_do,
                ("selector", whole, of_namespaces) if allowed is _FIELDS else ("values", fields[field]),
                value=field,
                allowed=allowed,
                nearest=near,
            )


def _check_key(key: object, path: Path) -> None:
    if not isinstance(key, str) or not is_label_key(key):
        raise SelectorError(
            "not-allowed", path, f"{shortened(key)} is not a label key, such as app or example.com/app", value=key
        )


def _check_value(value: object, path: Path) -> None:
    if not isinstance(value, str):
        raise SelectorError("wrong-type", path, f"{shortened(value)} is not a string", "put it in quotes", value=value)
    if not is_label_value(value):
        raise SelectorError(
            "not-allowed",
            path,
            f"{shortened(value)} is not a label value (at most 63 letters, digits, '-', '_', '.')",
            value=value,
        )
