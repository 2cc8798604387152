"""The values of `--param` by template and parameter, and what to type where they name none."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from injector.cli.inputs import SUFFIXES
from injector.names import hint, shortened
from injector.settings import Settings
from injector.templates.families import declared_parameter, similar_names
from injector.templates.parameter_values import value_of
from injector.templates.snapshot import Catalog, Snapshot
from injector.templates.template import Parameter

#: A name and its value as YAML has them, within quotes of a shell.
_COLON = re.compile(r"([A-Za-z][-A-Za-z0-9_.]*):\s*(\S.*)\Z")
#: Where a second parameter begins in a value: the habit of Helm's `--set a=1,b=2`.
_SECOND = re.compile(r",\s*([A-Za-z][-A-Za-z0-9_.]*)=")
_MARKED_FILE = re.compile(r"(?:@|<|file://)([^@<\s].*)")
#: Characters of a file's name.
_LONGEST_NAME = 256
#: Templates that are named for a parameter of several.
_NAMED = 4


def check_form(params: Iterable[str], arguments: Sequence[str]) -> None:
    """Refuse what is not NAME=VALUE. `given` are the arguments as they were typed.

    Raises click.UsageError with what to type.
    """
    for text in params:
        if "=" in text:
            continue
        if colon := _COLON.fullmatch(text):
            raise click.UsageError(f"--param {shortened(text)} has no =; write --param {colon[1]}={colon[2]}")
        value = _typed_behind(text, arguments) or "VALUE"
        raise click.UsageError(f"--param {text} has no value; write --param {text}={value}")


def _typed_behind(text: str, arguments: Sequence[str]) -> str:
    """What was typed behind `--param TEXT`, where that may be its value."""
    places = (n for n in range(len(arguments) - 2) if (arguments[n], arguments[n + 1]) == ("--param", text))
    after = next((arguments[n + 2] for n in places), "")
    is_file = Path(after).suffix.lower() in SUFFIXES or Path(after).exists()
    return "" if after.startswith("-") or is_file else after


def read_parameters(params: Iterable[str], snapshot: Snapshot, template: str = "") -> dict[str, dict[str, str]]:
    """The values by template; `template` is the default where `--param` names none.

    Raises click.UsageError for a template or a parameter that there is not, and for two parameters in one.
    """
    parameters: dict[str, dict[str, str]] = {}
    for text in params:
        key, _, value = text.partition("=")
        name, parameter = _named(key, snapshot.settings)
        if not name and not template:
            raise click.UsageError(_without_template(parameter, value, snapshot.catalog))
        name = name or template
        owner = snapshot.catalog.get(name)
        if owner is None:
            near = hint(name, snapshot.catalog.names, "there are")
            raise click.UsageError(f"--param {key}: there is no template {shortened(name)}{near}")
        declared = declared_parameter(owner.parameters, parameter)
        if declared is None:
            near = hint(parameter, similar_names(owner.parameters, parameter), "there are")
            raise click.UsageError(f"--param {key}: template {name} has no parameter `{parameter}`{near}")
        if (file := _file_in(value)) and not _is_allowed(declared, value):
            written = f'"$(cat {shlex.quote(file)})"'
            raise click.UsageError(f"--param {key}: --param does not read files; write --param {key}={written}")
        for second in _SECOND.finditer(value):
            second_name, second_parameter = _named(second[1], snapshot.settings)
            second_owner = snapshot.catalog.get(second_name or name)
            if second_owner is None or declared_parameter(second_owner.parameters, second_parameter) is None:
                continue
            if second_name or not _is_allowed(declared, value):
                first, rest = value[: second.start()], value[second.start() + 1 :].strip()
                again = f"--param {key}={first} --param {rest}"
                raise click.UsageError(f"--param {key}: its value has a second parameter in it; write {again}")
        parameters.setdefault(name, {})[parameter] = value
    return parameters


def _file_in(value: str) -> str:
    """The file that a value names: `@FILE` as with curl, or the name of one that there is; "" for none."""
    marked = _MARKED_FILE.fullmatch(value)
    name = marked[1] if marked else value
    is_name = len(name) < _LONGEST_NAME and "\n" not in name and "\0" not in name
    return name if is_name and (marked or ("." in name and Path(name).is_file())) else ""


def _named(key: str, settings: Settings) -> tuple[str, str]:
    """Template and parameter of a key; that of an annotation, `envoy.sidecar.injector/app-port`, is one too."""
    owner, at, parameter = key.strip().partition(f".{settings.prefix}/")
    if at:
        return owner, parameter
    owner, _, parameter = key.strip().rpartition(".")
    return owner, parameter


def _is_allowed(parameter: Parameter, value: str) -> bool:
    try:
        value_of(parameter, value)
    except ValueError:
        return False
    return True


def _without_template(parameter: str, value: str, catalog: Catalog) -> str:
    owners = [template.name for template in catalog if declared_parameter(template.parameters, parameter) is not None]
    if not owners:
        return f'--param "{parameter}={value}" is not TEMPLATE.PARAMETER=VALUE (envoy.cpu-limit=500m)'
    choices = " or ".join(f"--param {owner}.{parameter}={value}" for owner in owners[:_NAMED])
    return f"--param {parameter} names no template; write {choices}"
