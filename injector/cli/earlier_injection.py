"""What a manifest's receipt says of the command that injected it, so that injecting twice is injecting once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from injector.apply import Overrides
from injector.injection import Injection
from injector.pods.context import Object
from injector.pods.receipt import Receipt, read_receipt
from injector.pods.shape import string_map
from injector.settings import Settings
from injector.templates.snapshot import Catalog

#: How the key of a receipt ends, whatever the prefix.
_RECEIPT = "receipt"
_ANEW = "inject it again with --reinject, or remove its sidecar with injector uninject and then inject it"


def cannot_repeat(receipt: Receipt, names: Sequence[str] | None, overrides: Overrides, catalog: Catalog) -> str:
    """Why what the receipt records cannot be done again, and what to do; "" where it can."""
    missing = [] if names is not None else [name for name in receipt.templates if catalog.get(name) is None]
    if missing:
        fault = f"it was injected with {_named('template', missing)}, and there is no such template here"
        return f"{fault}: give the folder of the template with --templates-dir, or {_ANEW}"
    secret = [
        f"{template}.{name}"
        for template, parameters in receipt.parameters.items()
        for name, value in parameters.items()
        if value is None and name not in overrides.get(template, {}) and (names is None or template in names)
    ]
    if secret:
        fault = f"it was injected with {_named('parameter', secret)}, which is secret and so is not in the receipt"
        return f"{fault}: give it again with --param"
    return ""


def repeated(receipt: Receipt, overrides: Overrides) -> dict[str, Mapping[str, Any]]:
    """The parameters of the receipt, and over them those that this command gives."""
    templates = dict.fromkeys((*receipt.parameters, *overrides))
    return {name: {**receipt.parameters.get(name, {}), **overrides.get(name, {})} for name in templates}


def what_differs(receipt: Receipt, result: Injection, names: Sequence[str] | None, overrides: Overrides) -> str:
    """How this command's options differ from those that the receipt records, and what to do; "" where they do not."""
    before, now = list(receipt.templates), [name for name, _ in result.templates]
    differences = []
    if names is not None and now and now != before:
        differences.append(f"with {_named('template', before)}, not {', '.join(now)}")
    for template, parameters in overrides.items():
        for name, value in parameters.items() if template in before else ():
            was = receipt.parameters.get(template, {}).get(name, ...)
            if was is not None and was != value:
                differences.append(
                    f"{f'with {template}.{name}={was}' if was is not ... else f'without {template}.{name}'}"
                )
    if not differences:
        return ""
    unchanged = "--param and --templates do not change an earlier injection"
    return f"it was injected {' and '.join(differences)}, and {unchanged}: {_ANEW}"


def foreign_receipt(pod: Object, settings: Settings) -> list[str]:
    """A sentence about a receipt that an injection with another prefix wrote; empty where there is none."""
    for key, text in string_map(pod, "annotations").items():
        prefix, _, name = key.rpartition("/")
        if name == _RECEIPT and key != settings.receipt_key and '"generation"' in text:
            fault = f"it has a receipt with another prefix ({key})"
            return [f"{fault}; give the settings that it was injected with: --settings FILE, with prefix: {prefix}"]
    return []


def lost_receipt(pod: Object, settings: Settings) -> str:
    """Why nobody knows what was added to a pod that says it was injected, and what to do; "" where one knows."""
    annotations = string_map(pod, "annotations")
    if annotations.get(settings.status_key) != "injected" or read_receipt(pod, settings) is not None:
        return ""
    state = "cannot be read" if settings.receipt_key in annotations else "is missing"
    return (
        f"its receipt (annotation {settings.receipt_key}) {state}, so what the injection added is not known; use the "
        "unchanged output of injector inject, or the file from before the injection"
    )


def _named(noun: str, names: Sequence[str]) -> str:
    return f"{noun}{'' if len(names) == 1 else 's'} {', '.join(names)}"
