"""A rule about values that nobody means."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from decimal import Decimal
from typing import Any

from injector.authoring.lint.rules._scripts import commands, script_of
from injector.authoring.lint.rules._values import word_list
from injector.authoring.lint.subject import Finding, Findings, OverlayMistakes, Rendering, Subject
from injector.authoring.refusal_location import value_at
from injector.diagnostics import Path, Place, spoken_path
from injector.names import nearest, shortened
from injector.pods.context import as_list
from injector.pods.fields import POD, Field
from injector.pods.keyed_pointers import element_step, has_key
from injector.pods.overlay import bare_value
from injector.pods.quantity import parse_quantity
from injector.templates.template import OVERLAY
from injector.templates.yaml_errors import TEXT_BEGINS

SEVERITY = "warning"

#: Bytes below which a number alone was meant to have a unit: no container starts with as little.
_BYTES = Decimal(1 << 20)
_SIZES = ("memory", "ephemeral-storage", "sizeLimit")
#: Processor cores from which another unit was meant.
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
#: A word with a quote at its end alone.
_STRAY = re.compile(r"\w[^\"'\s]*[\"']\Z")
#: What a shell reads as more than a word.
_OPERATORS = word_list("&& || | > >> < 2>&1 &")
#: An argument of a script.
_ARGUMENT = re.compile(r"\$\{?[\d@*#]")
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
#: Who alone insists on these words where the API server takes others too.
_INSISTS = {"Capabilities.drop[]": "for Pod Security restricted"}
#: Characters of a value that is written as it should be.
_LONGEST = 60


def unlikely_value(subject: Subject) -> Findings:
    """Kubernetes may accept the value, but the template's author probably meant another one.

    The rule finds:

    - memory without a unit or in thousandths, such as `memory: 256m`, which is less than one byte;
    - a large number of processor cores, such as `cpu: 100` or `cpu: 10M`, or `cpu: 1Gi` with the unit of memory;
    - several words in one item of a command, such as `command: ["sleep 3600"]`, which names a program `sleep 3600`, and
      an option with its value in one item, such as `args: ["--level info"]`;
    - words that only a shell reads, such as `command: [tool, "|", tee, log]`, and words behind the script of a shell
      that the script does not use, as in `command: [sh, -c, sleep, "3600"]`;
    - a value that is missing because a comment begins there, such as `value: #ff0000`;
    - quotes of word processors, such as `“on”`, and a quote at the end alone, such as `on"`, which are a part of it;
    - a list with one string in place of several, as in `[{{ params.hosts | join(", ") }}]`, and a value that `tojson`
      turns into a string although it would keep its own type without `tojson`;
    - two items of a list with the same key, such as two variables of one name;
    - a word that Kubernetes spells otherwise, such as `medium: memory` or `add: [CAP_NET_ADMIN]`.

    Why: the API server accepts most of these. You notice them only when the pod does not start, or does not do what you
    want.

    Bad:
        # overlay.yaml.j2
        spec:
          containers:
          - name: tool
            image: example.com/tool:1.2
            resources:
              requests: {cpu: 10m, memory: 64m}

    Good:
        # overlay.yaml.j2
        spec:
          containers:
          - name: tool
            image: example.com/tool:1.2
            resources:
              requests: {cpu: 10m, memory: 64Mi}

    Proof: the API server takes the value, and only the program or the kubelet finds out what it means.
    """
    for rendering in subject.usual:
        for path, message, help_ in unlikely_values(rendering.overlay.value):
            place = rendering.overlay.place(path)
            if origins := _origins(rendering, path, place):
                yield Finding(
                    f"{' and '.join(origins)}: {message}", Place(), help_, origin=origins[0], about=spoken_path(path)
                )
            else:
                yield Finding(message, place, help_)
    typed = [f"params.{name}" for name, parameter in subject.variables().items() if parameter.type != "string"]
    for file in subject.parsed:
        if file.document:
            texts = _texts(file.text, typed, overlay=file.name == OVERLAY)
            for offset, message, help_ in (*_commented(file.text), *texts):
                yield subject.finding(message, file.name, offset, help_)


def _origins(rendering: Rendering, path: Path, place: Place) -> list[str]:
    """What set the parameters that give the value at a path, where a hole of the template writes it."""
    value = bare_value(value_at(rendering.overlay.value, path))
    values = {name: rendering.context.params[name] for name in rendering.origins if "{{" in place.text}
    lists = {name: as_list(set_to) for name, set_to in values.items()}
    giving = [name for name, items in lists.items() if value in items]
    in_line = [name for name in giving if name in place.text]
    return [rendering.origins[name] for name in in_line or giving]


def unlikely_values(value: Any, field: Field = POD, path: Path = ()) -> OverlayMistakes:
    """Each value in an overlay that its author hardly means: its path, what it is, and what to write."""
    value = bare_value(value)
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from unlikely_values(inner, field.fields[name], (*path, name))
        if field.type == "Container":
            yield from _words(value, path)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from unlikely_values(inner, field.element, (*path, index))
        yield from _twice(value, field, path)
    elif field.holds_quantities:
        yield from _amount(value, str(path[-1]), path)
    elif isinstance(value, str):
        yield from _text(value, field, path)


def _commented(text: str) -> Iterator[tuple[int, str, str]]:
    """Each value in the text of a YAML template that is missing because # begins a comment: its offset, and words."""
    lines = text.splitlines(keepends=True)
    offset, block = 0, None
    for number, line in enumerate(lines):
        indentation = len(line) - len(line.lstrip(" "))
        if line.strip() and block is not None and indentation <= block:
            block = None
        if block is None and (comment := _COMMENTED.match(line)):
            below = next(
                (following for following in lines[number + 1 : number + 50] if not _NO_VALUE.match(following)), ""
            )
            if not below.startswith((" " * (len(comment[1]) + 1), f"{' ' * len(comment[1])}- ")):
                message = f"{comment[2]} has no value, as # begins a comment"
                text = comment[3].strip()
                quoted = json.dumps(text, ensure_ascii=False) if len(text) <= _LONGEST else '"..."'
                yield offset + comment.start(3), message, f"write {quoted}, in quotes"
        if block is None and TEXT_BEGINS.search(line.rstrip("\n")):
            block = indentation
        offset += len(line)


def _texts(text: str, parameters: Collection[str], *, overlay: bool) -> Iterator[tuple[int, str, str]]:
    """Each hole in the text of a YAML or JSON template that writes a text where its author wants a list or a value: its
    offset, and words. `parameters` are those that are no strings, by their names in templates.

    In an overlay many a value has to be a text, such as that of a variable.
    """
    for hole in _JOINED.finditer(text):
        message = "this list has only one item, because join combines all values into one string"
        yield hole.start(1), message, f"write {{{{ {hole[2].strip()} }}}} without join and [ ]"
    for hole in _AS_JSON.finditer(text):
        if not (overlay and hole[2] in parameters):
            message = f"tojson turns {hole[2]} into a string"
            instead = f"write {{{{ {hole[2]} }}}}, which keeps its type"
            yield hole.start(1), message, f"{instead}; if you need a string, put the expression in quotes"


def _text(value: str, field: Field, path: Path) -> OverlayMistakes:
    """Quotes that are part of a value, and another spelling of one of the words that a field takes."""
    choices = _CHOICES.get(field.address, "").split()
    if quoted := _QUOTES.match(value):
        yield path, f"the quotes {quoted[1]} and {quoted[2]} are part of the value", "write \" or ' in their place"
    elif _STRAY.match(value):
        yield path, f"the {value[-1]} at the end is part of the value", "write the value without it, or in quotes"
    elif choices and value.partition("-")[0] not in choices and (near := nearest(value, choices, cutoff=0.8)):
        yield path, f"{shortened(value)} is not a valid value {_INSISTS.get(field.address, 'here')}", f"write {near}"
    elif field.address.startswith("Capabilities.") and value.upper().startswith("CAP_"):
        yield path, "a capability has no CAP_ in front of its name", f"write {value.upper().removeprefix('CAP_')}"


def _amount(value: Any, name: str, path: Path) -> OverlayMistakes:
    """An amount of memory that is less than any container needs; one of processor cores that no node has.

    The first has no unit or the one of processors, the second the one of memory or none.
    """
    text = str(value)
    number = text.rstrip("numkKMGTPEi")
    with suppress(ValueError):
        amount = parse_quantity(value)
        behind = ', or "{{ ... }}Mi" if the number is an expression' if isinstance(value, int) else ""
        if name == "cpu" and amount >= _CORES:
            cores = "" if number == text else f"{number} for cores, or "
            meaning = f"cpu is {text}, and that is {amount.normalize():f} cores"
            yield path, meaning, f"write {cores}{number}m for thousandths of a core"
        elif name in _SIZES and 0 < amount < _BYTES and number == text.removesuffix("m"):
            yield path, f"{name} is {text}, and that is {amount.normalize():f} bytes", f"write {number}Mi{behind}"


def _twice(value: list[Any], field: Field, path: Path) -> OverlayMistakes:
    """Items of a list that have the same key, and are one item when they are merged."""
    steps: set[str] = set()
    for index, item in enumerate(value if field.keys else ()):
        if has_key(item, field):
            step = element_step(item, field)
            if step in steps:
                yield (*path, index), f"two items of {field.name} are called {shortened(step)}", "leave one of them out"
            steps.add(step)


def _words(container: Any, path: Path) -> OverlayMistakes:
    """Items of a container's commands that are several words, or that only a shell reads as their author means them."""
    for command in commands(container):
        words = [(step, word) for step, word in command if isinstance(word, str)]
        for step, word in words:
            option = _OPTION.match(word)
            if option:
                message = f"the program gets {option[1]} and its value as one word"
                yield (*path, *step), message, "write two items: the option, and its value"
            elif step[-2:] == ("command", 0) and " " in word.strip():
                message = "the first item of `command` is the name of a program, but this one contains a space"
                yield (*path, *step), message, "write each word as an item of its own"
            elif word in _OPERATORS:
                message = f"no shell reads this {word}: the program gets it as an argument"
                yield (*path, *step), message, "let a shell run the whole command, as one item behind [sh, -c]"
        for script in script_of(words):
            behind = words[[step for step, _ in words].index(script.path) + 1 :]
            one_word = len(script.text.split()) == 1
            if behind and script.language == "sh" and one_word and not _ARGUMENT.search(script.text):
                message = f"the shell runs only {shortened(script.text)}, without this word"
                yield (*path, *behind[0][0]), message, "write the whole command as the one item behind -c"
