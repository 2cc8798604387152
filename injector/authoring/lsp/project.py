"""A template as its author sees it now: the files of its folder, with unsaved texts in place of the saved ones. It is
checked at once after a keystroke, and linted whole when typing pauses, by child processes, each for one request, within
limits on memory and processor time.

A process that has imported everything forks for each request. So a child begins at once, and whatever a template does
in it ends with it: memory, caches, a loop without an end. A request that nobody waits for any more is killed.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import resource
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from injector.authoring.cases.suite import TESTS
from injector.authoring.lsp.checks import Problem
from injector.errors import TEMPLATE_ERRORS, InjectorError, TemplateError
from injector.loading.template_folders import read_folder, templates_in
from injector.loading.trial import address_space, set_limit
from injector.templates.template import MANIFEST, OVERLAY


@dataclass(frozen=True)
class Project:
    """One template. `files` are the texts by path within the folder: `overlay.yaml.j2`, `tests/first.yaml`."""

    folder: Path
    files: Mapping[str, str]

    @property
    def name(self) -> str:
        """The template's name."""
        return self.folder.name

    @property
    def sources(self) -> dict[str, str]:
        """The files of the template itself, without its cases, as `load_template` takes them."""
        return {path: text for path, text in self.files.items() if "/" not in path}


def read_project(folder: Path, unsaved: Mapping[str, str]) -> Project:
    """The project of a folder, by its absolute path; `unsaved` are texts by path within it. Raises TemplateError."""
    files = read_folder(folder)
    cases = folder / TESTS
    if cases.is_dir():
        files |= {f"{TESTS}/{name}": text for name, text in read_folder(cases).items()}
    return Project(folder, {**files, **unsaved})


@contextmanager
def as_folder(project: Project, neighbours: Iterable[Path] = ()) -> Iterator[Path]:
    """The project as a folder of the same name, unsaved texts too, for as long as the context lasts; beside it links to
    the folders of other templates.
    """
    with TemporaryDirectory(prefix="injector-") as room:
        folder = Path(room) / project.name
        (folder / TESTS).mkdir(parents=True)
        for path, text in project.files.items():
            (folder / path).write_bytes(text.encode("utf-8", "surrogatepass"))
        for neighbour in neighbours:
            if neighbour.name != project.name:
                (Path(room) / neighbour.name).symlink_to(neighbour)
        yield folder


#: What a child may take on top of what it begins with, in bytes, and how long it may take on the clock: its processor
#: time is up long before, unless the machine does not let it run.
_MEMORY = 512 * 1024 * 1024
_WALL_SECONDS = 300
_FAILED, _DONE = b"!", b"+"


class ChildError(InjectorError):
    """A child has not answered. `rule` is `limit` where it ended before, or `value` where the program has failed."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(message)
        self.rule = rule


class ForkServer:
    """The process that forks. It starts with the first request, and again where somebody has killed it."""

    def __init__(self) -> None:
        self._running: tuple[socket.socket, subprocess.Popen[bytes]] | None = None
        self._ended = False

    def start(self) -> socket.socket:
        """The connection to the process, which begins where there is none. Raises ChildError after the end."""
        if self._ended:
            raise ChildError("value", "the language server has ended")
        if self._running is None:
            ours, theirs = socket.socketpair()
            command = [sys.executable, "-m", __name__, str(theirs.fileno())]
            with theirs:
                self._running = (
                    ours,
                    subprocess.Popen(
                        command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
                    ),
                )
        return self._running[0]

    def stop(self) -> None:
        """End the process; children end by themselves."""
        if self._running is not None:
            connection, process = self._running
            connection.close()
            process.kill()
            process.wait()
            self._running = None

    def end(self) -> None:
        """Stop for good: what is still asked, by a page that is gone, starts no other process."""
        self._ended = True
        self.stop()

    async def run(self, task: str, arguments: Mapping[str, Any], seconds: int) -> bytes:
        """What a function of `checks.TASKS` gives in a child, as JSON. Raises ChildError.

        The child ends after these seconds of processor time, and where this is cancelled.
        """
        request = msgspec.json.encode((task, arguments, seconds)) + b"\n"
        # once more where it was killed: not by its limits alone, maybe by somebody who looks for memory
        answer = await self._one(request) or await self._one(request)
        if not answer:
            raise ChildError("limit", "the template takes too much time or memory: what checks it was ended")
        if answer[:1] == _FAILED:
            raise ChildError("value", f"the injector itself failed while it checked this: {answer[1:].decode()}")
        return answer[1:]

    async def _one(self, request: bytes) -> bytes:
        """What one child answers; nothing where it ended before."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self.start(), [b"."], [theirs.fileno()])
            except OSError:  # the process has ended, or is about to
                self.stop()
                socket.send_fds(self.start(), [b"."], [theirs.fileno()])
        reader, writer = await asyncio.open_connection(sock=ours)
        pid = 0
        try:
            writer.write(request)
            pid = int(await reader.readline() or 0)
            async with asyncio.timeout(_WALL_SECONDS):
                answer = await reader.read()
            pid = 0
            return answer
        except (TimeoutError, OSError):
            return b""
        finally:
            writer.close()
            if pid:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


# ----------------------------------------------------------------------------------------------- the process that forks


def _serve(connection: socket.socket) -> None:
    from injector.authoring.lsp.checks import TASKS, warm

    warm()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for children
    while True:
        message, descriptors, *_ = socket.recv_fds(connection, 1, 1)
        if not message:
            return  # the server has ended
        if not os.fork():
            connection.close()
            with socket.socket(fileno=descriptors[0]) as replies:
                _answer(replies, TASKS)
            os._exit(0)
        os.close(descriptors[0])


def _answer(replies: socket.socket, tasks: Any) -> None:
    """The child: its number, then what the task gives."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # programs that cases start are waited for
    gc.disable()  # the child ends before that pays
    with suppress(OSError), replies.makefile("rwb") as stream:  # whoever asked may be gone
        line = stream.readline()
        if not line:
            return
        task, arguments, seconds = msgspec.json.decode(line)
        stream.write(b"%d\n" % os.getpid())
        stream.flush()
        set_limit(resource.RLIMIT_AS, address_space() + _MEMORY)
        set_limit(resource.RLIMIT_CPU, seconds)
        set_limit(resource.RLIMIT_CORE, 0)
        try:
            answer = _DONE + msgspec.json.encode(tasks[task](**arguments), enc_hook=str)
        except (MemoryError, RecursionError):
            return
        except Exception as error:
            traceback.print_exc()
            answer = _FAILED + f"{type(error).__name__}: {error}".encode()
        stream.write(answer)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
    _serve(socket.socket(fileno=int(sys.argv[1])))


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
