"""Values that Kubernetes takes and an author hardly means: 256 bytes of memory, a program called `sleep 3600`."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from decimal import Decimal
from typing import Any

from injector.diagnostics import Path
from injector.names import nearest, shortened
from injector.pods.fields import POD, Field
from injector.pods.keyed_pointers import element_step, has_key
from injector.pods.overlay import bare_value
from injector.pods.quantity import parse_quantity
from injector.templates.yaml_errors import TEXT_BEGINS

#: Bytes below which a number alone was meant to have a unit: no container starts with as little.
_BYTES = Decimal(1 << 20)
#: Processor cores from which a number alone was meant to be of thousandths.
_CORES = 50
#: A key whose value is missing, as a comment begins there: indentation, key, comment.
_COMMENTED = re.compile(r"( *(?:- +)*)([\w./-]+):[ \t]+(#[^\s!#][^\n]*)")
#: A list of a hole alone that joins, behind what a value stands behind.
_JOINED = re.compile(r"(?:[:,\[]|^[ \t]*-)[ \t]*\[[ \t]*(\{\{([^{}|]*)\|[ \t]*join\b[^{}|]*\}\})[ \t]*\]", re.MULTILINE)
#: A parameter as JSON, as a whole value.
_AS_JSON = re.compile(
    r"(?:[:,\[]|^[ \t]*-)[ \t]*(\{\{-?[ \t]*(params\.\w+)[ \t]*\|[ \t]*tojson[ \t]*-?\}\})[ \t]*(?=$|[,\]}])",
    re.MULTILINE,
)
#: Lines that are no value of the key above: blank ones, comments, tags.
_NO_VALUE = re.compile(r"\s*(?:#|\{[%#{]|\n|\Z)")
#: Quotes of word processors around a value.
_QUOTES = re.compile(r"([\u2018\u201c\u201e]).*([\u2019\u201c\u201d])\Z", re.DOTALL)
#: An option with its value behind a blank.
_OPTION = re.compile(r"(--?[A-Za-z][\w-]*) ([^\s=-][^\s=]*)\Z")
#: The words that a field takes, by its type and name; some take more, so only what is near to one of them is wrong.
_CHOICES = {
    "HostPathVolumeSource.type": "DirectoryOrCreate Directory FileOrCreate File Socket CharDevice BlockDevice",
    "Toleration.operator": "Exists Equal Lt Gt",
    "Toleration.effect": "NoSchedule PreferNoSchedule NoExecute",
    "EmptyDirVolumeSource.medium": "Memory HugePages",
    "PodSpec.dnsPolicy": "ClusterFirst ClusterFirstWithHostNet Default None",
    "PodSpec.preemptionPolicy": "Never PreemptLowerPriority",
    "PodSecurityContext.fsGroupChangePolicy": "Always OnRootMismatch",
    "TopologySpreadConstraint.whenUnsatisfiable": "DoNotSchedule ScheduleAnyway",
    "NodeSelectorRequirement.operator": "In NotIn Exists DoesNotExist Gt Lt",
    "LabelSelectorRequirement.operator": "In NotIn Exists DoesNotExist",
    "PersistentVolumeClaimSpec.accessModes[]": "ReadWriteOnce ReadOnlyMany ReadWriteMany ReadWriteOncePod",
    "Capabilities.drop[]": "ALL",
}
#: Characters of a value that is written as it should be.
_LONGEST = 60


def unlikely_values(value: Any, field: Field = POD, path: Path = ()) -> Iterator[tuple[Path, str, str]]:
    """Each value in an overlay that its author hardly means: its path, what it is, and what to write."""
    value = bare_value(value)
    if isinstance(value, dict):
        for name, held in value.items():
            yield from unlikely_values(held, field.fields[name], (*path, name))
    elif isinstance(value, list):
        for index, held in enumerate(value):
            yield from unlikely_values(held, field.element, (*path, index))
        yield from _twice(value, field, path)
        yield from _words(value, field, path)
    elif field.holds_quantities:
        yield from _amount(value, str(path[-1]), path)
    elif isinstance(value, str):
        yield from _text(value, field, path)


def commented_values(text: str) -> Iterator[tuple[int, str, str]]:
    """Each value in the text of a YAML template that is missing because # begins a comment: its offset, and words."""
    lines = text.splitlines(keepends=True)
    offset, block = 0, None
    for number, line in enumerate(lines):
        indentation = len(line) - len(line.lstrip(" "))
        if line.strip() and block is not None and indentation <= block:
            block = None
        if block is None and (found := _COMMENTED.match(line)):
            below = next((one for one in lines[number + 1 : number + 50] if not _NO_VALUE.match(one)), "")
            if not below.startswith((" " * (len(found[1]) + 1), f"{' ' * len(found[1])}- ")):
                message = f"{found[2]} has no value, as # begins a comment"
                yield offset + found.start(3), message, f"write {_quoted(found[3].strip())}, in quotes"
        if block is None and TEXT_BEGINS.search(line.rstrip("\n")):
            block = indentation
        offset += len(line)


def texts_for_lists(text: str, parameters: Collection[str], *, overlay: bool) -> Iterator[tuple[int, str, str]]:
    """Each hole in the text of a YAML or JSON template that writes a text where its author wants a list or a value: its
    offset, and words. `parameters` are those that are no strings, by their names in templates.

    In an overlay many a value has to be a text, such as that of a variable.
    """
    for found in _JOINED.finditer(text):
        words = "this list has only one item, because join combines all values into one string"
        yield found.start(1), words, f"write {{{{ {found[2].strip()} }}}} without join and [ ]"
    for found in _AS_JSON.finditer(text):
        if not (overlay and found[2] in parameters):
            words = f"tojson turns {found[2]} into a string"
            yield (
                found.start(1),
                words,
                (
                    f"write {{{{ {found[2]} }}}}, which keeps its type; if you need a string, put the expression in "
                    "quotes"
                ),
            )


def _text(value: str, field: Field, path: Path) -> Iterator[tuple[Path, str, str]]:
    """Quotes that are part of a value, and another spelling of one of the words that a field takes."""
    choices = _CHOICES.get(field.address, "").split()
    if quoted := _QUOTES.match(value):
        yield path, f"the quotes {quoted[1]} and {quoted[2]} are part of the value", "write \" or ' in their place"
    elif choices and value.partition("-")[0] not in choices and (near := nearest(value, choices, cutoff=0.8)):
        yield path, f"{shortened(value)} is not a valid value here", f"write {near}"
    elif field.address.startswith("Capabilities.") and value.upper().startswith("CAP_"):
        yield path, "a capability has no CAP_ in front of its name", f"write {value.upper().removeprefix('CAP_')}"


def _amount(value: Any, name: str, path: Path) -> Iterator[tuple[Path, str, str]]:
    """An amount of memory without a unit, or in thousandths; one of processor cores that no node has."""
    text = str(value)
    number = text.removesuffix("m")
    if not number.isdecimal():
        return
    amount = parse_quantity(text)
    behind = ', or "{{ ... }}Mi" if the number is an expression' if isinstance(value, int) else ""
    if name == "cpu" and text == number and amount >= _CORES:
        yield path, f"cpu is {text}, and that is {text} cores", f"write {text}m for thousandths of a core"
    elif name in ("memory", "ephemeral-storage", "sizeLimit") and 0 < amount < _BYTES:
        yield path, f"{name} is {text}, and that is {amount.normalize():f} bytes", f"write {number}Mi{behind}"


def _twice(value: list[Any], field: Field, path: Path) -> Iterator[tuple[Path, str, str]]:
    """Items of a list that have the same key, and are one item when they are merged."""
    steps: set[str] = set()
    for index, item in enumerate(value if field.keys else ()):
        if has_key(item, field):
            step = element_step(item, field)
            if step in steps:
                yield (*path, index), f"two items of {field.name} are called {shortened(step)}", "leave one of them out"
            steps.add(step)


def _words(value: list[Any], field: Field, path: Path) -> Iterator[tuple[Path, str, str]]:
    """Several words in one item of a command."""
    first = value[0] if value else None
    if field.name == "command" and isinstance(first, str) and " " in first.strip():
        message = "the first item of `command` is the name of a program, but this one contains a space"
        yield (*path, 0), message, "write each word as an item of its own"
    for index, item in enumerate(value if field.name in ("command", "args") else ()):
        if isinstance(item, str) and (option := _OPTION.match(item)):
            message = f"the program gets {option[1]} and its value as one word"
            yield (*path, index), message, "write two items: the option, and its value"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False) if len(text) <= _LONGEST else '"..."'
