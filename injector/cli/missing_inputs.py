"""What people type where a file is wanted: an object of a cluster, a template, a parameter, a misspelt name."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import pairwise
from pathlib import Path

import click

from injector.names import nearest

#: Kinds as kubectl takes them.
KINDS = frozenset(
    (
        "pod", "pods", "po", "deployment", "deployments", "deploy", "statefulset", "statefulsets", "sts", "daemonset",
        "daemonsets", "ds", "replicaset", "replicasets", "rs", "job", "jobs", "cronjob", "cronjobs", "cj", "service",
        "services", "svc", "configmap", "cm", "secret", "namespace", "namespaces", "ns",
    )
)  # fmt: skip
_LIVE = re.compile(r"([A-Za-z]+)(?:\.[a-z0-9.-]+)?/[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_PARAMETER = re.compile(r"[a-z][-a-z0-9]*\.[A-Za-z][-A-Za-z0-9_]*=.*")
#: What people write behind an option that is there or not: yes, no, or how much.
_YES, _NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)%?")
#: By command and option: what takes the number that people write behind that option.
_LIMITS = {("test", "--coverage"): "for a limit write --fail-under"}
#: Names in a folder that a missing one is compared with.
_COMPARED = 1000


def missing_help(name: str, command: str, rest: str = "NAME") -> str:
    """What to type in place of an input that is not there, in a command; "" where nothing can be said.

    `rest` is what was typed behind it: the name behind a kind.
    """
    found = _LIVE.fullmatch(name)
    if name.lower() in KINDS or (found and found[1].lower() in KINDS):
        what = name if found else f"{name} {rest}"
        return f"this command reads files, not a cluster: run kubectl get {what} -o yaml | injector {command} -"
    if _PARAMETER.fullmatch(name):
        return f"a parameter is written --param {name}"
    template, dot, _ = name.partition(".")
    if dot and template.lower() in KINDS and Path(name).suffix not in (".yaml", ".yml", ".json"):
        return f"for the fields of an object, run kubectl explain {name}"
    if "/" not in name and template in _templates():
        if dot and Path(name).suffix not in (".yaml", ".yml", ".json"):
            return f"for the parameters of a template, run injector docs {template}"
        if not dot:
            return f"to use a template, add --templates {name}; for its parameters, run injector docs {name}"
    near = nearest(Path(name).name, _beside(Path(name)), cutoff=0.75)
    return f"did you mean {Path(name).with_name(near)}?" if near else ""


def flags_of(context: click.Context) -> set[str]:
    """The options of a command that take no value."""
    return {name for one in context.command.params if getattr(one, "is_flag", False) for name in one.opts}


def stray_value(command: str, flags: Collection[str], typed: Sequence[str], given: str = "") -> str:
    """What to say of a value behind an option that takes none, as in `--coverage 80`; "" where there is none.

    `typed` are all arguments, `given` is the value that a command met, "" for any that is no file.
    """
    for flag, value in (*pairwise(typed), *(text.split("=", 1) for text in typed if "=" in text)):
        number, word = _NUMBER.fullmatch(value), value.lower()
        known = number or word in (*_YES, *_NO)
        if flag not in flags or not known or (given and value != given) or Path(value).exists():
            continue
        if number and (limit := _LIMITS.get((command, flag))):
            return f"{flag} takes no value; {limit} {number[1]}"
        return f"{flag} takes no value; remove {f'{flag} {value}' if word in _NO else value}"
    return ""


def _beside(file: Path) -> list[str]:
    try:
        return [one.name for one, _ in zip(file.parent.iterdir(), range(_COMPARED), strict=False)]
    except (OSError, ValueError):
        return []


def _templates() -> list[str]:
    from injector.loading.template_folders import gallery_path, templates_in

    return list(templates_in(gallery_path()))
