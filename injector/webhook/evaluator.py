"""Asks the core for its verdict, and has one for every failure: whatever happens, a readable review gets an answer.

Where the injector itself fails, the table of reasons decides as it does about everything else: under `enabled` the pod
starts without its sidecar, marked and with a warning, under `required` it is refused.

When a namespace's labels cannot be learned (the store does not know it, or as one from which no review would come, and
the API server does not answer), `/mutate` goes by `enabled` or by what the store says: the pod starts. `/validate`,
which is only registered for required namespaces, goes by `required`: a pod that lacks nothing passes, any other is
refused. So nothing is lost by an API server that is slow, and the guarantee holds all the same.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import structlog

from injector.errors import InjectionError
from injector.injection import Injection, failed_injection
from injector.pods.context import Namespace, Object, Request
from injector.pods.decision import Decision, decide, is_required
from injector.reasons import Effect, Reason
from injector.telemetry import where_it_failed
from injector.templates.snapshot import Snapshot
from injector.webhook.record import Note, object_name
from injector.webhook.review import AdmissionResponse, audit_annotations

#: `inject` or `guard`.
Core = Callable[[Object, Namespace, Snapshot, Request], Injection]

#: Reasons that a webhook's own selectors contradict: had the API server seen it so, no review would have come.
DOUBTFUL = frozenset({Reason.NOT_REQUESTED, Reason.NAMESPACE_DISABLED})
#: Reasons that may be gone with the next try: such an answer is not kept.
PASSING = frozenset({Reason.INTERNAL_ERROR, Reason.NOT_READY, Reason.FILES_FAILED})


class Evaluator:
    """Calls the core and turns what it says into verdicts."""

    def __init__(self, core: Core, logger: structlog.typing.FilteringBoundLogger) -> None:
        self._core = core
        self._logger = logger

    def judge(self, pod: Object, namespace: Namespace, snapshot: Snapshot, request: Request) -> Injection:
        """The core's verdict; Reason.INTERNAL_ERROR when it raises, with a log line that quotes nothing of the pod."""
        try:
            return self._core(pod, namespace, snapshot, request)
        except Exception as error:
            self._logger.error(
                "injection-failed",
                error=type(error).__name__,
                where=where_it_failed(error),
                namespace=namespace.name,
                pod=object_name(pod),
                generation=snapshot.generation,
            )
            problem = InjectionError(Reason.INTERNAL_ERROR, f"{type(error).__name__}; the injector's log says where")
        return self.fail(pod, namespace, snapshot, request, problem)

    def fail(
        self, pod: Object, namespace: Namespace, snapshot: Snapshot, request: Request, error: InjectionError
    ) -> Injection:
        """The verdict on a pod that could not be injected for a reason that lies outside of the core.

        A pod that is not to be injected anyway is let through as ever.
        """
        try:
            decision = decide(pod, namespace, snapshot.settings, request)
            if decision.inject:
                return failed_injection(pod, decision, snapshot, error)
            return _bare(pod, decision, decision.reason, Effect.SKIP, snapshot)
        except Exception as another:
            self._logger.error("verdict-failed", error=type(another).__name__, where=where_it_failed(another))
        required = is_required(namespace, snapshot.settings)
        effect = Effect.REFUSE if required else Effect.SKIP
        return _bare(pod, Decision(error.reason, required, ()), error.reason, effect, snapshot, str(error))


def _bare(
    pod: Object, decision: Decision, reason: Reason, effect: Effect, snapshot: Snapshot, message: str = ""
) -> Injection:
    """A verdict that leaves the pod as it is."""
    message = f"{reason}: {message}" if message else reason.sentence
    return Injection(
        decision=decision,
        reason=reason,
        effect=effect,
        message=message,
        object=pod,
        generation=snapshot.generation,
        warnings=(f"no sidecar: {message}",) if reason in PASSING and effect is not Effect.REFUSE else (),
    )


def note_of(injection: Injection) -> Note:
    """What logs and metrics tell of an injection."""
    return Note(
        reason=injection.reason,
        effect=injection.effect,
        templates=tuple(name for name, _ in injection.templates),
        generation=injection.generation,
    )


def verdict_of(injection: Injection, *, patching: bool = True) -> AdmissionResponse:
    """What the API server is told of an injection; a validating webhook may not patch."""
    return AdmissionResponse(
        allowed=injection.allowed,
        patch=msgspec.json.encode(injection.patch) if injection.patch and patching else b"",
        message=injection.message,
        code=injection.code,
        warnings=injection.warnings,
        audit=audit_annotations(injection.reason.label, injection.templates, injection.generation),
    )
