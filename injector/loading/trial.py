"""Trying a new template before it is accepted: it is compiled and rendered against sample pods in a child process.

The limits on memory and processor time end only the child, not the process that started it.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import msgspec

from injector.diagnostics import Diagnostic
from injector.errors import InjectionError, LimitError, TemplateError
from injector.library_messages import ran_out_of_memory
from injector.loading.limits import address_space, limited, set_limit
from injector.names import cut
from injector.reasons import Reason
from injector.templates.load import load_template
from injector.templates.render import RenderError, render_files, render_overlay
from injector.templates.samples import sample_contexts

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
    """What the child found wrong with a template: nothing is a pass."""

    name: str
    problems: list[Diagnostic] = []


_NO_VERDICT = "the process that tries templates ended before it reported on this template; try again"


def try_templates(
    templates: Mapping[str, Mapping[str, str]], origins: Mapping[str, str] | None = None
) -> dict[str, TemplateError]:
    """Try templates, given as their sources by name, in a child process; the errors of those that fail, by name.

    `origins` says for people where they came from.
    """
    origins = origins or {}
    failed: dict[str, TemplateError] = {}
    left = dict(templates)
    while left:
        verdicts, died = _child(left)
        for verdict in verdicts:
            left.pop(verdict.name, None)
            if verdict.problems:
                origin = origins.get(verdict.name) or verdict.name
                failed[verdict.name] = TemplateError.of(
                    verdict.name, *(problem.of(origin) for problem in verdict.problems)
                )
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
    command = [sys.executable, "-m", "injector.loading.trial"]
    cause = ""
    try:
        process = subprocess.run(
            command,
            input=msgspec.json.encode(templates),
            capture_output=True,
            timeout=timeout,
            env=environment,
            check=False,
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
    """Try a template in this process, without limits."""
    try:
        template = load_template(name, sources)
    except TemplateError as error:
        return TrialResult(name, list(error.diagnostics))
    failures: list[RenderError] = []
    contexts = list(sample_contexts(template))
    for context in contexts:
        try:
            render_overlay(template, context)
            render_files(template, context)
        except RenderError as error:
            if template.applies_to.pods_created:  # what other objects look like is not known here
                if error.undefined:
                    return _refused(name, error)
                failures.append(error)
        except InjectionError as error:
            if error.reason not in (Reason.NOT_SERVED, Reason.DENIED, Reason.BAD_PARAMETER):
                raise
    return TrialResult(name) if len(failures) < len(contexts) or not failures else _refused(name, failures[0])


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
        resource.setrlimit(
            resource.RLIMIT_CPU, (seconds if hard == resource.RLIM_INFINITY else min(seconds, hard), hard)
        )
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
        _say(TrialResult(name, [replace(problem, mistake=()) for problem in verdict.problems]))  # no author reads these


def _say(line: str | TrialResult) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(line, enc_hook=dict) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    trial_main()
