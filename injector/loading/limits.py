"""Limits on processor time and memory for what is done with a template that nobody has tried yet.

A render has a budget of its own (`holes.Run`); what lies outside of it has none: regular expressions in schemas, the
compiling of large files, YAML. The limits hold only in the main thread of a process, where the command line and the
trial's child process work. A server loads templates in other threads, after their trial.
"""

from __future__ import annotations

import contextlib
import gc
import resource
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import thread_time
from types import FrameType

from injector.errors import TOO_LARGE, LimitError, TemplateError
from injector.templates.load import load_template
from injector.templates.template import Template

#: Seconds of processor time, and bytes on top of what the process has.
SECONDS = 0.45
MEMORY = 160 * 1024 * 1024
_AGAIN = 0.1
_STATM = Path("/proc/self/statm")

TOO_SLOW = "the template takes too much time; look for long loops, and for filters over large values"


@contextlib.contextmanager
def limited(template: str, origin: str = "", seconds: float = SECONDS, memory: int = MEMORY) -> Iterator[None]:
    """Do something with a template within limits.

    Raises TemplateError, rule `limit`, if a limit is reached. Inside another `limited`, and outside of the main thread,
    it sets no limits.
    """
    try:
        with _limits(seconds, memory):
            yield
    except LimitError as error:
        raise TemplateError(template, str(error), rule="limit", origin=origin) from None
    except MemoryError:
        raise TemplateError(template, TOO_LARGE, rule="limit", origin=origin) from None


def load_within_limits(name: str, sources: Mapping[str, str], origin: str = "") -> Template:
    """What `load_template` gives, within limits."""
    import jsonschema  # noqa: F401  what checks schemas takes long to import, and that is not the template's time

    with limited(name, origin):
        return load_template(name, sources, origin)


@contextlib.contextmanager
def _limits(seconds: float, memory: int) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread() or signal.getitimer(signal.ITIMER_PROF)[0]:
        yield
        return
    armed = [True]
    end = thread_time() + seconds

    def stop(_signal: int, frame: FrameType | None) -> None:
        if not armed:
            return
        if (left := end - thread_time()) > 0:
            # the timer counts in ticks of the clock, and the time of other threads
            signal.setitimer(signal.ITIMER_PROF, max(left, 0.01), _AGAIN)
        # between here and what is done nobody would take it for what it is; if that goes on it comes again
        elif not (frame and frame.f_code.co_filename == contextlib.__file__):
            raise LimitError(TOO_SLOW)

    before = resource.getrlimit(resource.RLIMIT_AS)
    handler = signal.signal(signal.SIGPROF, stop)
    collecting = gc.isenabled()
    try:
        try:
            gc.disable()  # a collection goes through all that the process has, on the template's time
            set_limit(resource.RLIMIT_AS, address_space() + memory)
            # again and again: something on the way may take the error for one of its own
            signal.setitimer(signal.ITIMER_PROF, seconds, _AGAIN)
            yield
        finally:
            armed.clear()  # a signal that comes until the timer is off again does nothing
    finally:
        # one that came within the line above has left it with an error: it is done here again
        armed.clear()
        try:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, handler)
        finally:
            resource.setrlimit(resource.RLIMIT_AS, before)
            if collecting:
                gc.enable()


def address_space() -> int:
    """Bytes of address space that this process has by now (Linux; elsewhere a generous guess)."""
    try:
        return int(_STATM.read_bytes().split()[0]) * resource.getpagesize()
    except OSError:
        return 1024 * 1024 * 1024


def set_limit(kind: int, value: int) -> None:
    """Lower a limit of this process; one that is lower already stays."""
    soft, hard = resource.getrlimit(kind)
    limits = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
    try:
        resource.setrlimit(kind, (min([value, *limits]), hard))
    except (ValueError, OSError):
        # macOS takes no limit on address space; the time limits hold there, and clusters run Linux
        if sys.platform.startswith("linux"):
            raise
