"""What a command did, told on standard error: sentences on each object, or JSON for a program; and how far it is."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from io import StringIO
from pathlib import PurePath
from typing import Any, Literal

import click

from injector.cli.documents import Document
from injector.cli.manifest_objects import metadata_of
from injector.diagnostics import printable
from injector.errors import DENIED_CODE
from injector.injection import Injection
from injector.pods.context import Object, filled
from injector.pods.receipt import read_receipt
from injector.pods.workloads import object_name_of
from injector.settings import Settings

#: What stands in a diff as an escape if it is in a file's name.
_NOT_PLAIN = re.compile(r'["\\\x00-\x20\x7f]')


def tell(text: str) -> None:
    """Print a text to standard error; colours are for terminals only."""
    click.echo(text, err=True)


def unified(before: str, after: str, name: str, new_name: str) -> str:
    """Two texts as a unified diff, which names them so; "" where they are equal."""
    from difflib import unified_diff

    lines = unified_diff(_lines(before), _lines(after), name, new_name)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def file_difference(before: str, after: str, file: str) -> str:
    """The two texts of a file as a unified diff that `git apply -p0` and `patch -p0` take."""
    plain = str(PurePath(file))  # without the `./` that git does not take
    quoted = _NOT_PLAIN.sub(lambda match: f"\\{ord(match[0]):03o}", plain)
    name = f'"{quoted}"' if quoted != plain else plain
    return unified(before, after, name, name)


def show_difference(difference: str) -> None:
    """Print a unified diff to standard output: in the colours of git on a terminal, else the bytes that it has."""
    on_terminal = sys.stdout is not None and sys.stdout.isatty()
    click.echo(coloured(difference) if on_terminal else difference.encode(errors="surrogateescape"), nl=False)


def coloured(difference: str) -> str:
    """A unified diff in the colours of git."""
    return "".join(map(_coloured, _lines(difference)))


def _lines(text: str) -> list[str]:
    """The lines of a text as they are for programs that apply a diff: only a line feed ends one."""
    return StringIO(text, newline="\n").readlines()


def _coloured(line: str) -> str:
    if line.startswith(("--- ", "+++ ")):
        return click.style(line, bold=True)
    colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
    return click.style(line, fg=colour) if colour else line


OutcomeName = Literal[
    "injected", "amended", "unchanged", "skipped", "failed", "refused", "uninjected", "added", "dropped"
]

#: Outcomes of objects that are written otherwise than they were read.
_WRITTEN = ("injected", "amended", "uninjected")
_COLOURS = {
    "injected": "green",
    "amended": "green",
    "uninjected": "green",
    "failed": "red",
    "refused": "red",
    "skipped": "yellow",
}


@dataclass(frozen=True, slots=True)
class Line:
    """What became of one object, and why. `place` says where the object is in the input, and `at` where the mistake is.
    If it is in the object itself, `line` is its line in the file.

    `about` is set if the line is about the pods that the object makes, and not about the object. `paths` are the
    settings' paths that were called.
    """

    object: str
    namespace: str
    outcome: OutcomeName
    place: str
    reason: str = ""
    message: str = ""
    templates: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    written_anew: bool = False
    lost_comments: bool = False
    lost_lines: tuple[int, ...] = ()  #: those whose comments are gone
    changed_lines: tuple[int, ...] = ()
    about: str = ""
    paths: tuple[str, ...] = ()
    at: str = ""
    line: int = 0
    adds: str = ""  #: how many parts of each kind a pod gets
    because: str = ""  #: why a pod is injected
    assumed: str = ""  #: the label of the namespace that nothing says
    warned: bool = False  #: the webhook warns of such a result

    @property
    def bad(self) -> bool:
        """Whether the command as a whole has to fail for it."""
        return self.outcome in ("failed", "refused")


@dataclass(slots=True)
class Report:
    """Lines in the order of the input, the number of objects without a line (`others_are` says what they are), and
    warnings.

    `writes`: the command writes manifests unless something failed. `sources` are the settings and templates that were
    used, in words. `strict`: a warning is a failure, also one that was shown before (`warned`). `in_place`: the files
    themselves are written, so a lost comment is a failure.
    """

    lines: list[Line] = field(default_factory=list)
    others: int = 0
    others_are: str = "without a pod"
    warnings: list[str] = field(default_factory=list)
    writes: bool = True
    sources: str = ""
    strict: bool = False
    warned: bool = False
    in_place: bool = False

    @property
    def failed(self) -> bool:
        """Whether anything was refused or failed."""
        return any(line.bad for line in self.lines) or self._too_strict or self._loses_comments

    @property
    def _loses_comments(self) -> bool:
        return self.in_place and any(line.lost_lines for line in self.lines)

    @property
    def _too_strict(self) -> bool:
        return self.strict and (
            self.warned or bool(self.warnings) or any(line.warned or line.warnings for line in self.lines)
        )

    def following(self, documents: Iterable[Document]) -> Iterator[Document]:
        """The documents as they are made; notes which of its lines changed, at the line of its first changed object."""
        end = 0
        for document in documents:
            new, end = range(end, len(self.lines)), len(self.lines)
            at = next((n for n in new if self.lines[n].outcome in _WRITTEN), None)
            if at is not None and (document.anew or document.changed or document.lost):
                self.lines[at] = replace(
                    self.lines[at],
                    written_anew=document.anew,
                    lost_comments=document.lost,
                    lost_lines=document.lost_lines,
                    changed_lines=document.changed,
                )
            yield document

    def show(self, form: str, *, summary: bool = False) -> None:
        """Print it to standard error, `form` being `text` or `json`. Colours are for terminals only.

        A `summary` says how much a pod gets and why, and has no lines about ConfigMaps of their own.
        """
        if form == "json":
            lines = [{k: v for k, v in asdict(line).items() if v not in ("", (), False)} for line in self.lines]
            data = {"objects": lines, "others": self.others, "written": not self.failed}
            tell(json.dumps(data | filled({"warnings": self.warnings, "sources": self.sources})))
            return
        for line in self.lines:
            if not summary or line.outcome != "added":
                _show(line, summary)
        for warning in self.warnings:
            tell(f"{click.style('warning', fg='yellow')}: {printable(warning)}")
        tell(self._sum())

    def _sum(self) -> str:
        bad = _counted(line for line in self.lines if line.bad)
        rest = _counted(line for line in self.lines if not line.bad)
        if self.others:
            rest.append(f"{self.others} {self.others_are}")
        assumed = next((f"; {line.assumed} is assumed" for line in self.lines if line.assumed), "")
        sources = f", with {self.sources}{assumed}" if self.sources else ""
        totals = f"{', '.join([*bad, *rest]) or 'no objects'}{sources}."
        if not bad and self._too_strict:
            return f"{totals} With --strict a warning is a failure{', so nothing was written' if self.writes else ''}."
        if not bad and self._loses_comments:
            return f"{totals} Comments would be lost, so nothing was written."
        if not bad or not self.writes:
            return totals
        would = (
            f"; without the objects that failed or were refused, the result would be: {', '.join(rest)}" if rest else ""
        )
        return f"{', '.join(bad)}{sources}. Nothing was written{would}."


def _counted(lines: Iterable[Line]) -> list[str]:
    return [f"{count} {outcome}" for outcome, count in Counter(line.outcome for line in lines).items()]


def _show(line: Line, summary: bool) -> None:
    subject = ", ".join(printable(text) for text in (line.object, line.about) if text)
    head = click.style(line.outcome, fg=_COLOURS.get(line.outcome), bold=line.bad)
    if line.templates and line.outcome in ("injected", "amended"):
        head += f" with {', '.join(line.templates)}"
    parts = [subject, head, *(printable(text) for text in (line.reason, line.message) if text)]
    if summary and line.because:
        parts.append(f"{line.adds}, because {line.because}")
    tell(": ".join(parts))
    if line.bad or line.at:
        place = [line.at or line.place]
        if line.namespace:
            place.append(f"namespace {line.namespace}")
        if line.paths:
            place.append(f"path {line.paths[-1]}")
        tell(f"  in {printable(', '.join(place))}")
    for warning in line.warnings:
        tell(f"  {click.style('warning', fg='yellow')}: {printable(warning)}")
    if not summary:
        _show_changes(line)


def _show_changes(line: Line) -> None:
    """What of the object's text did not stay as it was."""
    if line.written_anew:
        comments = ", without its comments" if line.lost_comments else ""
        tell(f"  the whole object is written in a new format{comments}")
    for what, lines in (
        ("existing lines changed", line.changed_lines),
        ("lines whose comments are lost", line.lost_lines),
    ):
        if lines:
            word = "line" if len(lines) == 1 else "lines"
            tell(f"  {what}: {len(lines)} ({word} {', '.join(map(str, lines))})")


def line_for(obj: Object, namespace: str, outcome: OutcomeName, place: str, **more: Any) -> Line:
    """A line about an object, with `more` fields of it."""
    return Line(object_name_of(obj), str(metadata_of(obj).get("namespace") or namespace), outcome, place, **more)


def sentence_with_code(result: Injection) -> str:
    """The sentence of a result; where it is a refusal with another HTTP code than usual, with that code."""
    if result.allowed or result.code == DENIED_CODE:
        return result.sentence
    return f"{result.sentence}, HTTP {result.code}"


#: What a part of a pod is called, by the list or the map that holds it.
_PARTS = {
    "containers": "container",
    "initContainers": "init container",
    "volumes": "volume",
    "volumeMounts": "mount",
    "env": "variable",
    "ports": "port",
    "annotations": "annotation",
    "labels": "label",
    "imagePullSecrets": "image pull secret",
}
_OTHER = "other field"


def parts_of(pod: Object, settings: Settings, config_maps: int) -> str:
    """How many parts of each kind a pod has from its injection: `2 init containers, 1 volume, 1 ConfigMap`."""
    receipt = read_receipt(pod, settings)
    appended = (path.removesuffix("/value") for path in receipt.appended) if receipt else ()
    paths = (*receipt.added, *receipt.replaced, *appended) if receipt else ()
    counts = Counter(_PARTS.get(path.split("/")[-2], _OTHER) for path in paths)
    counts["ConfigMap"] = config_maps
    return ", ".join(counted(counts[part], part) for part in (*_PARTS.values(), _OTHER, "ConfigMap") if counts[part])


def counted(number: int, noun: str, verb: str = "") -> str:
    """`1 case`, or with a verb `2 cases failed`."""
    return f"{number} {noun if number == 1 else f'{noun}s'} {verb}".rstrip()


def padded(table: Sequence[Sequence[str]]) -> list[list[str]]:
    """The cells of a table, each as wide as the widest of its column."""
    widths = [max(map(len, cells)) for cells in zip(*table, strict=True)]
    return [[f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)] for cells in table]


def progress_bar(parts: Sequence[Any]) -> AbstractContextManager[Any]:
    """Shows on a terminal how many parts are done: of those that are taken from it, or by `update(1)`."""
    return click.progressbar(parts, file=sys.stderr, show_pos=True, hidden=len(parts) < 2 or not sys.stderr.isatty())
