"""Config files checked by the real programs: the `validate` commands of a template, where their programs are here."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from injector.injection import Applied
from injector.library_messages import named_line
from injector.pods.delivery import uses_config_map

#: Bytes of output that are kept; the rest is read, so that the program gets on, and forgotten.
KEPT = 64 * 1024
#: Seconds between two looks whether a silent program has ended.
_LOOK = 0.05


def process_output(process: subprocess.Popen[bytes], until: float) -> tuple[int, str]:
    """The exit status and the output of a program whose standard output is an unbuffered pipe.

    Waits for the program alone, not for its children, which may keep the pipe open. `until` is a time of
    `time.monotonic`. Raises subprocess.TimeoutExpired where it runs longer; the caller kills it.
    """
    assert process.stdout is not None  # noqa: S101
    descriptor = process.stdout.fileno()
    os.set_blocking(descriptor, False)
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    output = bytearray()
    pause, more = 0.001, True
    while process.poll() is None:
        left = max(until - time.monotonic(), 0.0)
        if not more or not left:
            process.wait(left)
            break
        pause = min(2 * pause, _LOOK, left)
        if waiting.poll(pause * 1000):
            more = _read(descriptor, output)
    while more and len(output) < KEPT and waiting.poll(0):
        more = _read(descriptor, output)
    return process.returncode, output.decode(errors="replace")


def kill_process(process: subprocess.Popen[bytes]) -> None:
    """End a program that leads a process group, and all that it has started there."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _read(descriptor: int, output: bytearray) -> bool:
    """Read what is there, and keep as much as there is room for. Returns whether there may be more."""
    data = os.read(descriptor, KEPT)
    output += data[: KEPT - len(output)]
    return bool(data)


#: Texts by the name of their file, and files by their path in a container.
_Texts = Mapping[str, str]
#: Seconds that one program may take.
SECONDS = 30.0
#: Characters of a program's output that are shown.
_OUTPUT = 2000


class ProgramRefusal(NamedTuple):
    """A program that did not take a config file: what it wrote, and the line and the file that it names.

    `code` is its exit code, a signal below 0, or None if it did not end by itself. `named` is empty if the program
    names no file. `named` can be another file, which `file` includes.
    """

    file: str
    program: str
    message: str
    output: str
    code: int | None = None
    named: str = ""
    line: int = 0


class Verdicts(NamedTuple):
    """What the programs say about the config files of a case."""

    refusals: list[ProgramRefusal]
    missing: list[tuple[str, str]]  #: program and file, of those that are not here
    checked: int


class Programs:
    """Runs programs, each found on PATH, once for the same command and the same files. For several threads at once."""

    def __init__(self, seconds: float = SECONDS) -> None:
        beside = str(Path(sys.executable).parent)
        self._path = os.pathsep.join([os.environ.get("PATH", os.defpath), beside, "/usr/sbin", "/sbin"])
        self._seconds = seconds
        self._known: dict[bytes, ProgramRefusal | None] = {}
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False
        self._lock = Lock()

    def check(self, applied: Applied, texts: _Texts, pod: Any) -> Verdicts:
        """Check each config file of a template for which the template has a command.

        `texts` are all its files by name.
        """
        missing: list[tuple[str, str]] = []
        verdicts: list[ProgramRefusal | None] = []
        mounts = mounted_files(applied, texts, pod)
        for spec in applied.template.files.values():
            if not spec.validate or spec.name not in texts:
                continue
            if shutil.which(spec.validate[0].replace("\0", ""), path=self._path) is None:
                missing.append((spec.validate[0], spec.name))
            else:
                inputs = repr((spec.name, spec.validate, sorted(texts.items()), sorted(mounts.items())))
                key = hashlib.blake2b(inputs.encode()).digest()
                if key not in self._known:
                    self._known[key] = self._run(spec.name, spec.validate, texts, mounts)
                verdicts.append(self._known[key])
        return Verdicts(list(filter(None, verdicts)), missing, len(verdicts))

    def stop(self) -> None:
        """End every program that runs, and each that a thread starts from now on."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                if process.returncode is None:
                    kill_process(process)

    def _run(self, name: str, command: tuple[str, ...], texts: _Texts, mounts: _Texts) -> ProgramRefusal | None:
        with tempfile.TemporaryDirectory(prefix="injector-test-") as folder:
            places = {place: f"{folder}/{file}".rstrip("/") for place, file in mounts.items()}
            for file, text in texts.items():
                Path(folder, file).write_text(_moved(text, places), encoding="utf-8")
            arguments = [_moved(word.replace("{path}", f"{folder}/{name}"), places) for word in command]
            arguments[0] = shutil.which(arguments[0], path=self._path) or arguments[0]
            try:
                code, output = self._output(arguments, folder)
            except subprocess.TimeoutExpired:
                return ProgramRefusal(name, command[0], f"did not end within {self._seconds:g} s", "")
            except (OSError, ValueError) as error:  # ValueError: a NUL, which no command line holds
                reason = getattr(error, "strerror", None) or error
                return ProgramRefusal(name, command[0], f"cannot be run: {reason}", "")
        if code == 0:
            return None
        output = output.replace(f"{folder}/", "").strip()
        verdict = f"exits with code {code}" if code > 0 else f"is terminated by signal {-code}"
        return ProgramRefusal(name, command[0], verdict, output[:_OUTPUT], code, *named_line(output, name, texts))

    def _output(self, arguments: list[str], folder: str) -> tuple[int, str]:
        with subprocess.Popen(
            arguments,
            cwd=folder,
            env={**os.environ, "PATH": self._path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            start_new_session=True,  # so that what it starts can be ended with it
        ) as process:
            with self._lock:
                self._running.add(process)
                if self._stopped:
                    kill_process(process)
            try:
                return process_output(process, time.monotonic() + self._seconds)
            finally:
                with self._lock:
                    self._running.discard(process)
                kill_process(process)  # what it has started and left behind, too


def mounted_files(applied: Applied, texts: _Texts, pod: Any) -> dict[str, str]:
    """Where the containers see the config files: path in the container to file, such as /etc/envoy/envoy.yaml.

    A folder that holds all the files has the value "".
    """
    spec = pod.get("spec") or {}
    names = {generated.name for generated in applied.files}
    mounted: dict[str, str] = {}
    volumes = {v["name"] for v in spec.get("volumes") or [] if _holds_files(v, names, texts)}
    for field_ in ("initContainers", "containers"):
        for container in spec.get(field_) or []:
            for mount in container.get("volumeMounts") or []:
                path, sub = str(mount.get("mountPath", "")).rstrip("/"), mount.get("subPath")
                if mount.get("name") in volumes:
                    mounted |= {path: sub} if sub in texts else {path: "", **{f"{path}/{file}": file for file in texts}}
    return mounted


def _holds_files(volume: Any, config_maps: set[str], texts: _Texts) -> bool:
    """Whether a volume is one of the template's config files: of its ConfigMap, or of annotations."""
    items = (volume.get("downwardAPI") or {}).get("items") or []
    by_config_map = any(uses_config_map({"spec": {"volumes": [volume]}}, name) for name in config_maps)
    return by_config_map or any(item.get("path") in texts for item in items)


def _moved(text: str, places: _Texts) -> str:
    """A text with the paths of the container replaced by those where the files are now."""
    if not places:
        return text
    longest_first = "|".join(re.escape(place) for place in sorted(places, key=len, reverse=True))
    # a folder only where nothing, or a pattern, is behind it: its other files are not ours
    return re.sub(rf"(?<![\w/.-])(?:{longest_first})(?![\w.-]|/[\w.])", lambda path: places[path[0]], text)
