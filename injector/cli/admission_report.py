"""The line of a report about what was said of an object at the settings' `paths`."""

from __future__ import annotations

from dataclasses import replace

from injector.cli.admission import Admission, Answer
from injector.cli.report import Line, Outcome, line_for
from injector.errors import DENIED_CODE
from injector.pods.context import Object
from injector.reasons import Reason


def admission_line(admission: Admission, obj: Object, place: str, about: str = "") -> Line | None:
    """What became of an object: refused, amended, or else left as it is, and why. None where no template is for it."""
    answers = [a for a in admission.answers if a.result.reason is not Reason.NOT_FOR_TEMPLATES]
    if not answers:
        return None
    telling = telling_of(answers)
    result = telling.result
    outcome: Outcome = "skipped"
    if not result.allowed:
        outcome = "refused"
    elif result.patch:
        outcome = "amended"
    elif result.reason is Reason.NOTHING_TO_ADD:
        outcome = "unchanged"
    message = result.message.removeprefix(f"{result.reason}: ")
    if not result.allowed and result.code != DENIED_CODE:
        message += f", HTTP {result.code}"
    warnings = [w for a in answers for w in a.result.warnings if a is not telling or outcome != "skipped"]
    if outcome == "skipped" and result.warnings:
        message = f"let through as it is: {message}"
    warnings += user_hints(admission)
    amended = outcome == "amended"
    templates = _templates([a for a in answers if not amended or a.result.patch])
    if outcome == "unchanged":
        message = f"{result.reason.sentence} ({', '.join(templates)})"
    return replace(
        line_for(obj, admission.namespace.name, outcome, place),
        reason="" if amended else str(result.reason),
        message="" if amended else message,
        templates=templates,
        warnings=tuple(dict.fromkeys(warnings)),
        about=about,
        paths=tuple(dict.fromkeys(answer.path for answer in answers)),
    )


def user_hints(admission: Admission) -> list[str]:
    """A sentence where templates that look at who asks refused something, or failed, and nobody has said who asks."""
    if admission.asked.review.get("userInfo"):
        return []
    for answer in admission.answers:
        if answer.result.allowed and answer.result.reason is not Reason.TEMPLATE_FAILED:
            continue
        templates = admission.snapshot.catalog.found(answer.at.templates)
        programs = [t.program for t in templates if t.applies_to.covers(admission.asked.request)]
        if any(program.may_read("user") or program.may_read("request", "userInfo") for program in programs):
            return ["who asks is not known here; --user NAME and --group NAME say it"]
    return []


def telling_of(answers: list[Answer]) -> Answer:
    """The answer that says most about what became of the object."""
    for answer in answers:
        if not answer.result.allowed:
            return answer
    for answer in answers:
        if answer.result.patch:
            return answer
    for answer in answers:
        if answer.result.reason is Reason.NAMESPACE_IGNORED:
            return answer
    # what was let through although something failed says more than that nothing was added
    return next((a for a in answers if a.result.reason is not Reason.NOTHING_TO_ADD), answers[0])


def _templates(answers: list[Answer]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for answer in answers for name, _ in answer.result.templates))
