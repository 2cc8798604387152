"""The cases of a template: its folder `tests`, read and checked before anything runs; which an expression chooses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any, NamedTuple

from injector.advice.declarations import CASE_FILE_KEYS, case_key_help
from injector.authoring.cases.case import Case, Given, given, object_among, read_objects
from injector.authoring.cases.document import Absent, CaseDocument, read_document
from injector.authoring.cases.mistakes import GOLDEN, mistakes
from injector.authoring.diagnostic_formats import one_line
from injector.authoring.lint.sample_pods import SAMPLE
from injector.diagnostics import Diagnostic, Path as ObjectPath
from injector.names import flow_value, hint, nearest, shortened
from injector.pods.context import Object, mapping, mappings
from injector.pods.resource_kinds import resource_of
from injector.reasons import Reason
from injector.strict_decoder import decode

#: The folder of a template that holds its cases.
TESTS = "tests"
#: The keys of a case that hold an object; in place of one there may be a file beside it, `file`.
_OBJECTS = ("pod", "object")


class Checked(NamedTuple):
    """A case whose object is known. `number` is its position in its file, from 0."""

    case: Case
    document: CaseDocument
    number: int
    given: Given
    names_namespace: bool  #: whether it says the namespace's name itself

    @property
    def line(self) -> int:
        """The line on which it begins."""
        return self.document.place(("cases", self.number)).line

    @property
    def label(self) -> str:
        """What people and `-k` call it: `envoy/tests/basic.yaml: a Deployment gets it`."""
        return f"{self.document.file}: {self.case.name}"

    def problem(
        self,
        rule: str,
        message: str,
        *steps: str | int,
        help: str = "",  # noqa: A002
        key: bool = False,
        fields: Mapping[str, Any] = MappingProxyType({}),
    ) -> Diagnostic:
        """A problem with an expectation, or with another part of this case, at its place."""
        at: ObjectPath = ("cases", self.number, *steps)
        lines = "\n        ".join(map(one_line, help.split("\n")))  # one below the other, as an excerpt has them
        return Diagnostic(
            rule, "error", one_line(message), lines, place=self.document.place(at, key=key), fields=fields
        )

    def unmet(self, field: str, message: str, *steps: str | int, **more: Any) -> Diagnostic:
        """An expectation of this case that is not met, at its place."""
        return self.problem(field, message, "expect", field, *steps, **more)


@dataclass(slots=True)
class Suite:
    """A template's folder, its cases, and what is wrong with its case files."""

    folder: Path
    path: str  #: the folder as people gave it
    cases: list[Checked] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)
    partial: bool = False  #: whether only one of its files was asked for

    @property
    def name(self) -> str:
        """The template's name."""
        return self.folder.resolve().name

    def unused_golden_files(self) -> list[str]:
        """Golden files that no case names, as people call them. Empty if not all cases are known."""
        if self.problems or self.partial:
            return []
        used = {checked.case.expect.golden for checked in self.cases}
        files = sorted((self.folder / TESTS).glob(f"*{GOLDEN}"))
        return [f"{self.path.rstrip('/')}/{TESTS}/{f.name}" for f in files if f.name not in used]


def read_suite(folder: Path, path: str, only: str | None = None) -> Suite:
    """The cases of a template's folder; with `only`, those of one file of `tests`."""
    suite = Suite(folder, path, partial=only is not None)
    documents = [read_document(folder, path, f"{TESTS}/{name}") for name in _case_files(folder / TESTS)]
    manifests = {f"{TESTS}/{name}" for document in documents for name in _manifests_of(document)}
    for document in documents:
        if only is not None and document.name != f"{TESTS}/{only}":
            continue
        if "cases" in mapping(document.value):
            _read_cases(document, suite)
        elif document.name not in manifests:
            suite.problems.append(document.problem or _stranger(document))
    suite.problems += _shared_golden_files(suite.cases)
    suite.problems.sort(key=lambda problem: (problem.place.file, problem.place.line, problem.place.column))
    return suite


def _case_files(tests: Path) -> Iterator[str]:
    """The names of the files in the folder `tests`, sorted, that may hold cases, or manifests for them."""
    for file in sorted(tests.iterdir()) if tests.is_dir() else ():
        hidden = file.name.startswith(".") or not file.is_file()
        if not hidden and file.suffix in (".yaml", ".yml") and not file.name.endswith(GOLDEN):
            yield file.name


def _manifests_of(document: CaseDocument) -> Iterator[str]:
    """The files that the cases of a document name."""
    for case in mappings(mapping(document.value).get("cases")):
        yield from (case[key] for key in ("file", *_OBJECTS) if isinstance(case.get(key), str))


def _stranger(document: CaseDocument) -> Diagnostic:
    if document.value is None:
        return document.refuse((), "the file is empty; write `cases:` with at least one case")
    keys = list(mapping(document.value))
    near = "tests" if "tests" in keys else nearest("cases", keys)
    message = "this file has no `cases:`, and no case refers to it with `file:`"
    return document.refuse((), f"{message}; write `cases:` in place of `{near}:`" if near else message)


def _read_cases(document: CaseDocument, suite: Suite) -> None:
    for key in document.value:
        if key != "cases":
            to_do = f"; {CASE_FILE_KEYS[key]}" if key in CASE_FILE_KEYS else hint(key, ["cases"], "the keys are")
            message = f"unknown key {shortened(key)}{to_do}"
            suite.problems.append(document.refuse((key,), message, key=True))
    items = document.value["cases"]
    if not isinstance(items, list) or not items:
        message = "cases has to be a list of cases, each with `name:` and `expect:`"
        suite.problems.append(document.refuse(("cases",), message, key=True))
        return
    names: dict[str, int] = {}
    for number, item in enumerate(items):
        steps: ObjectPath = ("cases", number)
        case, faults = decode(Case, item, null=False)
        problems = [_case_problem(problem, document, steps) for problem in faults]
        problems += mistakes(item, document, steps)
        if case is None:
            suite.problems += problems
            continue
        first = names.setdefault(case.name, number)
        if first != number:
            line = document.place(("cases", first, "name")).line
            problems.append(document.refuse((*steps, "name"), f"the case of line {line} has this name too"))
        try:
            if not problems:
                names_namespace = "name" in mapping(item.get("namespace"))
                suite.cases.append(Checked(case, document, number, _given(case, suite), names_namespace))
        except ValueError as error:
            message = f"{case.file or case.input_key}: {error}"
            problems.append(document.refuse((*steps, case.input_key), message, key=case.file is None))
        suite.problems += problems


def _case_problem(problem: Diagnostic, document: CaseDocument, steps: ObjectPath) -> Diagnostic:
    """What the decoder found wrong with the case at these steps of a document, at its place."""
    at, value = (*steps, *problem.path), problem.fields["value"]
    message, to_do = problem.message, problem.help
    if isinstance(value, Absent):
        message, to_do = "!absent cannot be here", "that is for `expect.pod`, `expect.object` and `expect.files`"
    elif problem.path == ("expect", "decision") and value in [reason.label for reason in Reason]:
        choices = ", ".join(problem.fields["allowed"])
        message, to_do = f'"{value}" is a reason', f"write it in `reason`; `decision` must be one of: {choices}"
    elif len(problem.path) == 1 and problem.path[0] in _OBJECTS and isinstance(value, str):
        to_do = f"write file: {shortened(value)[1:-1]} in place of {problem.path[0]}:"
    at_key = problem.code == "unknown-key" or value is None
    if problem.code == "unknown-key" and isinstance(value, str):
        item = document.value["cases"][steps[-1]]
        written = item.get(value)
        text = "" if isinstance(written, Absent) else flow_value(written)
        to_do = case_key_help(value, text, problem.path[:-1]) or to_do
    return replace(
        problem,
        code="case",
        message=one_line(message),
        help=to_do,
        path=at,
        place=document.place(at, key=at_key and bool(problem.path)),
        fields={**problem.fields, "mistake": problem.code},
    )


def _given(case: Case, suite: Suite) -> Given:
    """The object of the case; at a path, of one that is deleted, the one before. Raises ValueError where that cannot be
    read.
    """
    if case.file is not None:
        # joined like this, an absolute path stands for itself: it is not within the folder
        objects = read_objects(suite.folder, str(PurePosixPath(TESTS, case.file)))
        return _object(object_among(objects), objects) if case.at_a_path else given(objects)
    if case.at_a_path:
        return _object((case.old_object if case.operation == "DELETE" else case.object) or {}, ())
    if case.pod is None:
        return Given(SAMPLE)
    is_spec_alone = "kind" not in case.pod and "containers" in mapping(case.pod.get("spec"))
    return given([{"apiVersion": "v1", "kind": "Pod", **case.pod} if is_spec_alone else case.pod])


def _object(obj: Object, objects: Iterable[Object]) -> Given:
    """An object and those beside it. Raises ValueError where nobody can say what it is."""
    resource_of(obj)
    return Given(obj, tuple(beside for beside in objects if beside is not obj))


def _shared_golden_files(cases: list[Checked]) -> Iterator[Diagnostic]:
    first: dict[str, Checked] = {}
    for checked in cases:
        name = checked.case.expect.golden
        if name and first.setdefault(name, checked) is not checked:
            yield checked.problem(
                "case", f"{name} is the golden file of “{first[name].case.name}” already", "expect", "golden"
            )


#: Whether a case is chosen, by what people call it.
CaseFilter = Callable[[str], bool]

_TOKEN = re.compile(r"\s*(?:([()]|(?:and|or|not)(?![^\s()]))|\"([^\"]*)\"|'([^']*)'|([^\s()\"']+))")
_HOW = 'write words with `and`, `or`, `not` and brackets, as in sidecar and not (redirect or "host network")'


def chosen_by(expression: str) -> CaseFilter:
    """The choice that an expression makes: `sidecar and not (redirect or "host network")`.

    A word is a part of the name, in capitals or not; one in quotes may hold blanks. Raises ValueError saying what is
    wrong. Python reads the expression, with `word[0] in name` for its first word.
    """
    words: list[str] = []
    code, at, end, complete = "", 0, len(expression.rstrip()), False
    while at < end:
        token = _TOKEN.match(expression, at)
        if token is None:
            raise ValueError(f"a quote in {expression[at:].strip()} is not closed")
        if complete is (token[1] in (None, "(", "not")):
            raise ValueError(_HOW)
        complete = token[1] in (None, ")")
        if not token[1]:
            words.append((token[2] or token[3] or token[4] or "").lower())
        code += f" {token[1] or f'word[{len(words) - 1}] in name'}"
        at = token.end()
    try:
        choice = compile(code.strip(), "-k", "eval")
    except (SyntaxError, MemoryError, RecursionError):
        raise ValueError(_HOW) from None
    return lambda name: bool(eval(choice, {"word": words, "name": name.lower()}))  # noqa: S307 - made of words above
