"""One template while somebody edits it: checked at once after a keystroke, and linted whole when typing pauses."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from injector.authoring.cases.suite import TESTS
from injector.authoring.lsp.checks import Problem
from injector.authoring.lsp.fork_server import ChildError, ForkServer
from injector.authoring.lsp.project import Project, as_folder, read_project
from injector.errors import TEMPLATE_ERRORS, TemplateError
from injector.loading.template_folders import templates_in
from injector.templates.template import MANIFEST, OVERLAY

_log = logging.getLogger(__name__)
#: Seconds without a keystroke after which all rules are checked.
PAUSE = 0.3
#: Seconds of processor time for what is said at once, for a whole lint, and for anything else.
_CHECK, _LINT, _OTHER = 6, 60, 60

#: Publishes problems of a project's revision: those of its texts, and those of the last whole lint of earlier texts;
#: None where a whole lint has found them.
Publish = Callable[[Project, int, list[Problem], list[Problem] | None], object]


class WatchedProject:
    """The checks of one template. `revision` counts the changes of its texts."""

    def __init__(
        self,
        folder: Path,
        pod: str,
        unsaved: Callable[[Path], Mapping[str, str]],
        children: ForkServer,
        publish: Publish,
    ) -> None:
        self.folder, self.revision = folder, 0
        self.pod = pod  #: the title of the sample pod in view
        self._unsaved, self._children, self._publish = unsaved, children, publish
        self._linted: list[Problem] = []
        self._values: tuple[int, list[tuple[str, int, str]]] = (-1, [])
        self._cases_changed = False
        self._changed = asyncio.Event()
        self._task = asyncio.create_task(self._run())

    def project(self) -> Project:
        """The template as it is now. Raises TemplateError where its folder cannot be read."""
        return read_project(self.folder, self._unsaved(self.folder))

    def change(self, file: str = "") -> None:
        """A file's text, or the pod in view, has changed."""
        self.revision += 1
        self._cases_changed |= file.startswith(TESTS)
        self._changed.set()

    def close(self) -> None:
        """Check no more."""
        self._task.cancel()

    async def ask(self, task: str, project: Project, seconds: int = _OTHER, **arguments: Any) -> bytes:
        """What a child answers about the project. Raises ChildError."""
        neighbours = templates_in(self.folder.parent).values() if task == "cases" else ()  # they may name others
        with as_folder(project, neighbours) as folder:
            arguments = {"folder": str(folder), "path": str(self.folder), **arguments}
            return await self._children.run(task, arguments, seconds)

    async def values(self) -> list[tuple[str, int, str]]:
        """File, offset and value of each hole for the pod in view; none where nothing can be rendered."""
        revision, values = self._values
        if revision != self.revision:
            revision = self.revision
            try:
                answer = await self.ask("values", self.project(), _CHECK, pod=self.pod)
            except (ChildError, TemplateError):
                return []
            values = msgspec.json.decode(answer, type=list[tuple[str, int, str]])
            self._values = revision, values
        return values

    async def _run(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await self._check()
            except Exception:  # the next text may be luckier
                _log.exception("%s is not checked", self.folder)

    async def _check(self) -> None:
        """Check the texts as they are, at once, and whole if they stay as they are."""
        revision = self.revision
        try:
            project = self.project()
        except TemplateError as error:  # a file that is no UTF-8, a folder that is gone
            problems = [Problem(d.code, "error", d.message, file=d.place.file or MANIFEST) for d in error.diagnostics]
            self._publish(Project(self.folder, {}), revision, problems, None)
            return
        cases, self._cases_changed = self._cases_changed, False
        problems, ended = await self._problems("check", project, _CHECK, pod=self.pod, cases=cases)
        self._publish(project, revision, problems, None if ended else _still_open(self._linted, problems))
        if ended:
            return
        tasks: list[asyncio.Task[Any]] = [asyncio.create_task(self._changed.wait())]
        try:
            await asyncio.wait(tasks, timeout=PAUSE)
            if not self._changed.is_set():
                tasks.append(asyncio.create_task(self._problems("lint", project, _LINT)))
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if not self._changed.is_set():
                self._linted, _ = await tasks[-1]
                self._publish(project, revision, self._linted, None)
        finally:
            for task in tasks:
                task.cancel()

    async def _problems(self, task: str, project: Project, seconds: int, **more: Any) -> tuple[list[Problem], bool]:
        file = OVERLAY if OVERLAY in project.files else MANIFEST
        return await answered(self.ask(task, project, seconds, **more), file)


async def answered(answer: Awaitable[bytes], file: str) -> tuple[list[Problem], bool]:
    """What a child finds, and whether it was ended before: then that is what is wrong, with a file."""
    try:
        return msgspec.json.decode(await answer, type=list[Problem]), False
    except ChildError as error:
        return [Problem(error.rule, "error", str(error), file=file)], True


def _still_open(linted: list[Problem], problems: list[Problem]) -> list[Problem]:
    """Of what an earlier lint found what the check that follows each keystroke does not decide."""
    new = {(problem.rule, problem.file, problem.text) for problem in problems}
    return [p for p in linted if p.rule not in TEMPLATE_ERRORS and (p.rule, p.file, p.text) not in new]
