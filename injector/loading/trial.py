"""Limits for what is done with a template that nobody has tried yet, and its trial before it is accepted: it is
compiled and rendered against sample pods in a child process, so that limits end only the child.

A render has a budget of its own (`holes.Run`); what lies outside of it has none: regular expressions in schemas, the
compiling of large files, YAML. `limited` bounds its processor time and memory, in the main thread of a process alone,
where the command line and the trial's child process work. A server loads templates in other threads, after their trial.
"""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from time import thread_time
from types import FrameType

import msgspec

from injector.budget import TOO_LARGE, LimitError
from injector.diagnostics import Diagnostic, Path as FieldPath, Severity
from injector.errors import InjectionError, TemplateError
from injector.library_messages import ran_out_of_memory
from injector.names import TEAM, cut, kind_of
from injector.pods.constraints.container_fields import TYPE_WORDS
from injector.pods.fitting import volumes_of
from injector.pods.merge import merge
from injector.pods.overlay import Overlay
from injector.pods.shape import known_part, mistyped_fields, unknown_fields
from injector.pods.sidecars import Placement
from injector.reasons import Reason
from injector.settings import Settings
from injector.templates.load import load_template
from injector.templates.render import Rendered, RenderError, Trace, render_files, render_overlay
from injector.templates.samples import sample_contexts
from injector.templates.team import check_own_parts, load_team_template
from injector.templates.template import Template
from injector.templates.variables import Context

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


#: What a template may take on top of what the child itself takes, where its own limits do not reach it, and how long
#: all of it may take.
_MEMORY = 192 * 1024 * 1024
_CPU_SECONDS = 4
#: Seconds of processor time for one template: it is loaded, and rendered for each sample pod.
_TEMPLATE_SECONDS = 0.8
_WALL_SECONDS = 10
#: The server's reviews go before.
_NICE = 10


class TrialResult(msgspec.Struct):
    """What the child found wrong with a template: no problem is a pass, with `warnings` of what Kubernetes drops."""

    name: str
    problems: list[Diagnostic] = []
    warnings: list[Diagnostic] = []


#: The most problems that a trial reports of one template: whoever tries it may keep them, for many templates.
MOST_PROBLEMS = 20
#: Reasons that lie in the sample pod.
_OF_PODS = (Reason.NOT_SERVED, Reason.DENIED, Reason.BAD_PARAMETER, Reason.CONFLICT, Reason.INVALID_POD)
_NO_FIELD = "Kubernetes has no such field, and drops it"
_NO_VERDICT = "the process that tries templates ended before it reported on this template; try again"


def try_templates(
    templates: Mapping[str, Mapping[str, str]],
    origins: Mapping[str, str] | None = None,
    warnings: list[Diagnostic] | None = None,
) -> dict[str, TemplateError]:
    """Try templates, given as their sources by name, in a child process; the errors of those that fail, by name.

    `origins` says for people where they came from; what there is to say of those that pass is added to `warnings`.
    """
    origins = origins or {}
    failed: dict[str, TemplateError] = {}
    left = dict(templates)
    while left:
        verdicts, died = _child(left)
        for verdict in verdicts:
            left.pop(verdict.name, None)
            origin = origins.get(verdict.name) or verdict.name
            if warnings is not None:
                warnings += (warning.of(origin) for warning in verdict.warnings)
            if verdict.problems:
                problems = (problem.of(origin) for problem in verdict.problems)
                failed[verdict.name] = TemplateError.of(verdict.name, *problems)
        # what the child was at when it died is at fault; the others get another child
        causes = dict.fromkeys(left, _NO_VERDICT) if died is None else dict([died])
        for name, cause in causes.items():
            left.pop(name, None)
            failed[name] = TemplateError(name, cause, rule="limit", origin=origins.get(name, ""))
    return failed


def _child(templates: Mapping[str, Mapping[str, str]]) -> tuple[list[TrialResult], tuple[str, str] | None]:
    """Run the child: the verdicts it reached, and the template it died of, with why."""
    root = str(Path(__file__).resolve().parents[2])
    path = os.environ.get("PYTHONPATH")
    environment = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{path}" if path else root}
    timeout = _WALL_SECONDS + 3 * _CPU_SECONDS * len(templates)
    command, given = [sys.executable, "-m", "injector.loading.trial"], msgspec.json.encode(templates)
    cause = ""
    try:
        process = subprocess.run(
            command, input=given, capture_output=True, timeout=timeout, env=environment, check=False
        )
        output = process.stdout
        if process.returncode < 0:
            cause = f"was killed by signal {-process.returncode}: the template takes too much time or memory"
        elif process.returncode:
            memory = ": the template takes too much memory" if ran_out_of_memory(process.stderr) else ""
            cause = f"ended with exit code {process.returncode}{memory}"
    except subprocess.TimeoutExpired as expired:
        output = expired.stdout or b""
        cause = f"did not end within {timeout} s"
    verdicts: list[TrialResult] = []
    at = ""
    for line in output.splitlines():
        try:
            report = msgspec.json.decode(line, type=str | TrialResult)
            if isinstance(report, str):
                at = report
            else:
                verdicts.append(report)
                at = ""
        except msgspec.MsgspecError:
            break
    died = at, f"the process that tries the template with sample pods {cause}"
    return verdicts, died if at and cause else None


def try_one(name: str, sources: Mapping[str, str]) -> TrialResult:
    """Try a template in this process, without limits; of a team's, `./name`, also what it may give a pod."""
    of_team = name.startswith(TEAM)
    try:
        template = load_team_template(name.removeprefix(TEAM), sources, "") if of_team else load_template(name, sources)
    except TemplateError as error:
        return TrialResult(name, list(error.diagnostics))
    failures: list[RenderError] = []
    overlays: list[tuple[Context, Overlay]] = []
    contexts = list(sample_contexts(template))
    for context in contexts:
        try:
            rendered = render_overlay(template, context)
            render_files(template, context)
            overlays.append((context, rendered.overlay))
            if of_team:
                _check_own_parts(template, context, rendered)
        except RenderError as error:
            if template.applies_to.pods_created:  # what other objects look like is not known here
                if error.undefined:
                    return _refused(name, error)
                failures.append(error)
        except InjectionError as error:
            if error.reason is Reason.TEMPLATE_NOT_ALLOWED:
                path = tuple(map(str, error.diagnostic.path))
                place = Trace(template, context).place(path)
                return TrialResult(name, [replace(error.diagnostic, code="overlay", path=path, place=place)])
            if error.reason not in _OF_PODS:
                raise
    if failures and len(failures) == len(contexts):
        return _refused(name, failures[0])
    return _of_kubernetes(name, template, overlays)


def _of_kubernetes(name: str, template: Template, overlays: Iterable[tuple[Context, Overlay]]) -> TrialResult:
    """What Kubernetes makes of what a template renders for sample pods: a field that it does not have is dropped, and a
    value of another type refused.

    An error is what leaves no sample pod as its author meant it: nothing of any overlay is kept, or each is refused.
    """
    result, paths = TrialResult(name), set[FieldPath]()
    if not template.applies_to.only_pods:
        return result
    overlays = [(context, overlay) for context, overlay in overlays if overlay.get("spec") or overlay.get("metadata")]
    is_lost = not any(known_part(overlay) for _, overlay in overlays)
    is_refused = all(next(mistyped_fields(overlay), None) for _, overlay in overlays)
    more = "; nothing of the overlay is left" if is_lost else ""
    for context, overlay in overlays:
        differing = [(is_lost, path, f"{_NO_FIELD}{more}") for path, _, _ in unknown_fields(overlay)]
        for path, field, value in mistyped_fields(overlay):
            differing.append((is_refused, path, f"it is {kind_of(value)}; it has to be {TYPE_WORDS[field.kind]}"))
        for is_error, path, message in differing:
            if path not in paths:
                paths.add(path)
                place, fields = Trace(template, context).place(path), {"template": name}
                severity: Severity = "error" if is_error else "warning"
                problem = Diagnostic("schema", severity, message, path=path, place=place, fields=fields)
                (result.problems if is_error else result.warnings).append(problem)
    return result


def _check_own_parts(template: Template, context: Context, rendered: Rendered) -> None:
    """Refuse what a team's template gives a sample pod and may not, whatever the sample calls its parts."""
    own = {*rendered.containers, *volumes_of(rendered.overlay)}
    spec = {
        name: [part for part in value if part["name"] not in own] if type(value) is list else value
        for name, value in context.object["spec"].items()
    }
    pod, placement = {**context.object, "spec": spec}, Placement.of(context.native, [template.redirects])
    merged = merge(pod, rendered.overlay, app=context.app, placement=placement)
    check_own_parts(template, rendered.containers, pod, pod, merged.pod, frozenset(), Settings())


def _refused(name: str, error: RenderError) -> TrialResult:
    message = f"{error.diagnostic.message} (tried with a sample pod)"
    return TrialResult(name, [replace(error.diagnostic, code=error.rule, message=message, place=error.place)])


def trial_main() -> None:
    """The child: sources as JSON on standard input; on standard output, as JSON, each name, and then its verdict."""
    templates = msgspec.json.decode(sys.stdin.buffer.read(), type=dict[str, dict[str, str]])
    set_limit(resource.RLIMIT_AS, address_space() + _MEMORY)
    set_limit(resource.RLIMIT_CORE, 0)
    os.nice(_NICE)
    for name, sources in templates.items():
        used = resource.getrusage(resource.RUSAGE_SELF)
        # the last limit, for code that the inner limit cannot interrupt: it ends the process
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        seconds = int(used.ru_utime + used.ru_stime) + 1 + _CPU_SECONDS
        most = seconds if hard == resource.RLIM_INFINITY else min(seconds, hard)
        resource.setrlimit(resource.RLIMIT_CPU, (most, hard))
        _say(name)
        try:
            with limited(name, seconds=_TEMPLATE_SECONDS):
                verdict = try_one(name, sources)
        except TemplateError as error:
            verdict = TrialResult(name, list(error.diagnostics))
        except LimitError as error:
            verdict = TrialResult(name, [Diagnostic("limit", "error", str(error))])
        except RecursionError:
            verdict = TrialResult(name, [Diagnostic("limit", "error", "the template is nested too deeply")])
        except Exception as error:  # this template's fault or ours: the others are tried all the same
            message = cut(f"the injector itself failed while it tried the template: {type(error).__name__}: {error}")
            verdict = TrialResult(name, [Diagnostic("value", "error", message)])
        problems = [replace(problem, mistake=()) for problem in verdict.problems[:MOST_PROBLEMS]]  # no author reads it
        _say(TrialResult(name, problems, verdict.warnings[:MOST_PROBLEMS]))


def _say(line: str | TrialResult) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(line, enc_hook=dict) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    trial_main()
