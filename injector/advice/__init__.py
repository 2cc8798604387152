"""What to do about a mistake, for the people at a command: authors of templates, and whoever writes manifests.

The core says what is wrong, where, and what is allowed, in a Diagnostic. Its `mistake` names the kind of mistake and
what belongs to it; here is what to write instead, also for those who write it as in another tool.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import msgspec

from injector.advice import declarations, expressions
from injector.advice.declarations import operator_help, selector_help, values_help
from injector.advice.field_names import directive_help, renamed_field
from injector.advice.shapes import help_at, item_help, shape_help
from injector.advice.values import quantity_help, value_help
from injector.diagnostics import Diagnostic
from injector.injection import Injection
from injector.pods.fields import POD

#: Characters of a line that is looked at: a longer one is no slip of a person's, and takes too much time.
_LONGEST = 500
#: Kinds of mistakes of which the help of the core says what is allowed, and so stays in front.
_BESIDE = ("shape", "operator")


def help_for(diagnostic: Diagnostic) -> str:
    """What to do about a Diagnostic: what is meant, where that is plain, else its own help."""
    kind, *parts = diagnostic.mistake or ("",)
    if not kind or len(diagnostic.place.text) > _LONGEST:
        return diagnostic.help
    to_do = _OF_PARTS[kind](*parts) if kind in _OF_PARTS else _OF_DIAGNOSTIC[kind](diagnostic, *parts)
    if kind in _BESIDE:
        return "; ".join(filter(None, (diagnostic.help, to_do)))
    return to_do or diagnostic.help


def with_advice(diagnostic: Diagnostic) -> Diagnostic:
    """The Diagnostic with the help that `help_for` knows."""
    return replace(diagnostic, help=help_for(diagnostic), mistake=()) if diagnostic.mistake else diagnostic


def advised_injection(injection: Injection) -> Injection:
    """The result for a pod, with that help for what went wrong."""
    if not any(failure.mistake for failure in injection.failures):
        return injection
    return msgspec.structs.replace(injection, failures=tuple(map(with_advice, injection.failures)))


def _directive(diagnostic: Diagnostic, name: str, value: object) -> str:
    place = diagnostic.path[:-1]
    return directive_help(name, value, POD.at(place), item=bool(place) and isinstance(place[-1], int))


def _missing(diagnostic: Diagnostic, owner: object) -> str:
    place = POD.at(diagnostic.path[:-1])
    return (
        renamed_field(owner, place, str(diagnostic.path[-1])) if isinstance(owner, dict) else shape_help(owner, place)
    )


#: By the kind of a mistake: what says what to do about it, from its parts alone, or from the Diagnostic as well.
_OF_PARTS: dict[str, Callable[..., str | None]] = {
    "key": declarations.MANIFEST_KEYS.get,
    "keyword": declarations.PARAMETER_KEYWORDS.get,
    "keyword-value": declarations.keyword_value_help,
    "format": declarations.PARAMETER_FORMATS.get,
    "type": declarations.type_help,
    "pattern": declarations.pattern_help,
    "value": value_help,
    "selector": selector_help,
    "operator": operator_help,
    "values": values_help,
    "quantity": quantity_help,
}
_OF_DIAGNOSTIC: dict[str, Callable[..., str]] = {
    "syntax": expressions.syntax_help,
    "name": expressions.name_help,
    "call": expressions.call_help,
    "attached": expressions.attached_help,
    "shape": lambda diagnostic, value: help_at(diagnostic.path, value),
    "item": lambda diagnostic, item: item_help(item, POD.at(diagnostic.path)),
    "missing": _missing,
    "directive": _directive,
}
