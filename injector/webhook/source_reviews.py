"""A wrong template or wrong settings are refused when they are applied to the cluster, and not only at the reload.

What is wrong with the object by itself is refused, by the functions that a reload uses. What lies in its relation to
others is a warning: a parameter can be renamed in template and settings in either order, and one template mended while
another is broken. The webhook's entry has `failurePolicy: Ignore`: without it, the reload decides as it always does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import structlog

from injector import __version__
from injector.cluster.template_maps import is_template_map, template_files
from injector.diagnostics import Diagnostic
from injector.errors import InjectorError, SettingsError, TemplateError
from injector.loading.shipped import load_shipped, try_new
from injector.names import shortened
from injector.pods.context import Namespace, Object, mapping_at
from injector.pods.shape import string_map
from injector.settings import SETTINGS_KEY, Settings
from injector.telemetry import Metrics, where_it_failed
from injector.templates.choice import names_in
from injector.templates.load import TemplateSources
from injector.templates.snapshot import SnapshotError, build_snapshot, is_of_template
from injector.webhook.record import object_name
from injector.webhook.review import AdmissionResponse, Review, answer_head, answer_tail, optional_object, read_review
from injector.webhook.snapshot_manager import SnapshotManager
from injector.webhook.snapshot_sources import read_settings
from injector.webhook.team_templates import TeamTemplates

#: Reviews that are tried or wait for their turn: more than these would not have it in time.
_MOST_WAITING = 8
#: The most mistakes that a refusal names; it is read in one line of a terminal.
_MOST_NAMED = 3
#: Characters for the names of namespaces in a warning.
_NAMES = 60
#: The chart's label on what it makes, which says by which version it was made.
_CHART, _CHART_NAME = "helm.sh/chart", "sidecar-injector-"
_THIS_CHART = f"{_CHART_NAME}{__version__}".replace("+", "_")
#: The HTTP status for an object that is valid in form and wrong in content.
_UNPROCESSABLE = 422
_NOT_TRIED = Diagnostic(
    "not-tried", "warning", "it was not tried in time", "the injector tries it at its reload; see its log and Events"
)
_SETTINGS_DELETED = Diagnostic(
    "settings-deleted", "warning", "without its settings the injector uses its defaults from the next start on"
)


class _Findings(NamedTuple):
    """What is wrong with an object by itself, and what there is to say of its relation to others."""

    errors: tuple[Diagnostic, ...] = ()
    related: tuple[Diagnostic, ...] = ()


class SourceReviews:
    """The handler of `server.trialPaths`. `namespaces` gives those of the cluster as far as they are known.

    One trial runs at a time, in a process of its own, so that the reviews of pods need not wait for it.
    """

    def __init__(
        self,
        snapshots: SnapshotManager,
        namespaces: Callable[[], Iterable[Namespace]],
        metrics: Metrics,
        logger: structlog.typing.FilteringBoundLogger,
        team_templates: TeamTemplates | None = None,
    ) -> None:
        self._snapshots = snapshots
        self._namespaces = namespaces
        self._metrics = metrics
        self._logger = logger
        self._team_templates = team_templates
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def __call__(self, body: bytes, seconds: float) -> bytes:
        """Answer an AdmissionReview about a ConfigMap within `seconds`. Raises ReviewError for an unreadable one."""
        review = read_review(body)
        new, old = optional_object(bytes(review.request.object)), optional_object(bytes(review.request.old_object))
        own = self._snapshots.own_namespace in ("", review.request.namespace)
        try:
            findings = await (self._findings(new, old, seconds) if own else self._findings_of_team(new, old, seconds))
        except TimeoutError:
            findings = _Findings(related=(_NOT_TRIED,))
        except Exception as error:
            self._logger.error("source-review-failed", error=type(error).__name__, where=where_it_failed(error))
            findings = _Findings(related=(_NOT_TRIED,))
        response = self._response(new, findings)
        self._record(review, new or old, findings, response)
        return answer_head(review) + answer_tail(response)

    async def _findings(self, new: Object, old: Object, seconds: float) -> _Findings:
        settings = self._snapshots.current.settings
        if _content(new, settings) == _content(old, settings):
            return _Findings()
        return await self._in_turn(lambda: self._tried(new, old), seconds)

    async def _findings_of_team(self, new: Object, old: Object, seconds: float) -> _Findings:
        """What is wrong with a template of a team; its trial waits for no trial of the cluster's templates."""
        settings, name = self._snapshots.current.settings, object_name(new)
        if (
            self._team_templates is None
            or not is_template_map(new, settings)
            or _content(new, settings) == _content(old, settings)
        ):
            return _Findings()
        async with asyncio.timeout(seconds):
            mistake = await self._team_templates.mistake(name, new, settings)
        return _Findings(tuple(error.diagnostic for error in mistake.all) if mistake else ())

    async def _in_turn(self, trial: Callable[[], _Findings], seconds: float) -> _Findings:
        """Run a trial in a thread when no other runs. Raises TimeoutError; a trial that runs then keeps its turn."""
        if self._waiting >= _MOST_WAITING:
            raise TimeoutError
        self._waiting += 1
        try:
            async with asyncio.timeout(seconds):
                await self._turn.acquire()
                running = asyncio.get_running_loop().run_in_executor(None, trial)
                running.add_done_callback(self._end_turn)
                return await asyncio.shield(running)
        finally:
            self._waiting -= 1

    def _end_turn(self, running: asyncio.Future[_Findings]) -> None:
        self._turn.release()
        if not running.cancelled():
            running.exception()  # whoever waited for it has it, if anybody still does

    # -- what a reload would say; runs in a thread --

    def _tried(self, new: Object, old: Object) -> _Findings:
        current, name = self._snapshots.current, object_name(new or old)
        sources: TemplateSources = {template.own_name: template.sources for template in current.catalog}
        if is_template_map(new, current.settings):
            files = {name: template_files(new, current.settings)}
            names = self._snapshots.sources({**self._snapshots.in_cluster, **files})
            sources = {n: sources[n] for n in names if n in sources} | files  # what was refused is not in use
            return self._build(current.settings, sources, TemplateError, name)
        if is_template_map(old, current.settings):
            return self._removal(name, sources)
        return self._settings(new, sources) if new else _Findings(related=(_SETTINGS_DELETED,))

    def _removal(self, name: str, sources: TemplateSources) -> _Findings:
        """Only warnings: whoever deletes something may have to."""
        settings, in_cluster = self._snapshots.current.settings, dict(self._snapshots.in_cluster)
        in_cluster.pop(name, None)
        without = self._snapshots.sources(in_cluster)
        rest = {n: f if n == name else sources[n] for n, f in without.items() if n == name or n in sources}
        findings = self._build(settings, rest)
        if name in without:
            return findings
        return findings._replace(related=(*findings.related, *_in_use(name, self._namespaces(), settings)))

    def _settings(self, new: Object, sources: TemplateSources) -> _Findings:
        try:
            text = mapping_at(new, "data").get(SETTINGS_KEY)
            if text is None:
                raise SettingsError(f"the ConfigMap has no key {SETTINGS_KEY}")
            settings = read_settings(text, SETTINGS_KEY)
        except SettingsError as error:
            return _Findings(errors=error.diagnostics or (Diagnostic("settings", "error", str(error)),))
        return self._build(settings.ignoring(self._snapshots.own_namespace), sources, SettingsError)

    def _build(
        self, settings: Settings, sources: TemplateSources, own: type[InjectorError] | tuple[()] = (), name: str = ""
    ) -> _Findings:
        """Build a snapshot as a reload does. The mistakes of what is applied are of the class `own`; `name` is that of
        a template.
        """
        current = self._snapshots.current
        origins = {name: f"configmap/{name}" for name in sources}
        mistakes: tuple[InjectorError, ...] = ()
        try:
            warnings = build_snapshot(
                settings, sources, current.cluster, current, origins=origins, trial=try_new, load=load_shipped
            ).warnings
        except SnapshotError as error:
            mistakes, warnings = error.errors, error.warnings
        errors: list[Diagnostic] = []
        related: list[Diagnostic] = []
        for mistake in mistakes:
            relation = isinstance(mistake, SettingsError) and mistake.templates
            alone = isinstance(mistake, own) and not relation
            (errors if alone else related).extend(_diagnostics(mistake))
        known = frozenset(warning for warning in current.warnings if not is_of_template(warning, {name}))
        related += (warning for warning in warnings if warning not in known)
        return _Findings(tuple(errors), tuple(related))

    # -- answer and record --

    def _response(self, new: Object, findings: _Findings) -> AdmissionResponse:
        settings = self._snapshots.current.settings
        mistakes, related = (tuple(map(_sentence, diagnostics)) for diagnostics in findings)
        if not findings.errors:
            return AdmissionResponse(allowed=True, warnings=related)
        if cause := _why_admitted(new, settings):
            return AdmissionResponse(allowed=True, warnings=(f"not refused, as {cause}", *mistakes, *related))
        more = [f"{len(findings.errors) - _MOST_NAMED} more mistakes"] if len(findings.errors) > _MOST_NAMED else []
        lint = "`injector lint FOLDER` says more; " if is_template_map(new, settings) else ""
        to_do = f'{lint}to apply it all the same, set its annotation {settings.unchecked_key} to "true"'
        message = f"{'; '.join([*mistakes[:_MOST_NAMED], *more])}. {to_do}"
        return AdmissionResponse(allowed=False, code=_UNPROCESSABLE, message=message, warnings=related)

    def _record(self, review: Review, obj: Object, findings: _Findings, response: AdmissionResponse) -> None:
        outcome = "accepted" if response.allowed else "refused"
        if _NOT_TRIED in findings.related:
            outcome = _NOT_TRIED.code
        self._metrics.source_reviews.cell(outcome).value += 1
        self._logger.info(
            "source-review",
            uid=review.request.uid,
            config_map=object_name(obj),
            operation=review.request.operation[:16],
            outcome=outcome,
            codes=[diagnostic.code for diagnostic in (*findings.errors, *findings.related)],
            dry_run=bool(review.request.dry_run),
        )


def _content(obj: Object, settings: Settings) -> tuple[object, ...]:
    """What a reload reads of a ConfigMap, {} for none."""
    return bool(obj), is_template_map(obj, settings), template_files(obj, settings)


def _diagnostics(error: InjectorError) -> tuple[Diagnostic, ...]:
    """What one error of a SnapshotError says."""
    if isinstance(error, TemplateError):
        return (error.diagnostic,)
    return error.diagnostics if isinstance(error, SettingsError) else ()


def _in_use(name: str, namespaces: Iterable[Namespace], settings: Settings) -> Iterator[Diagnostic]:
    """The namespaces whose annotation names a template."""
    users = sorted(n.name for n in namespaces if name in names_in(n.annotations.get(settings.templates_key, "")))
    if users:
        message = f"namespaces name the template {name}: {shortened(', '.join(users), _NAMES)}"
        yield Diagnostic("template-in-use", "warning", message, fields={"template": name, "namespaces": users})


def _why_admitted(obj: Object, settings: Settings) -> str:
    """Why an object is admitted whatever is wrong with it; "" where there is no such reason."""
    if string_map(obj, "annotations").get(settings.unchecked_key, "").lower() in settings.yes_values:
        return f"annotation {settings.unchecked_key} says so"
    chart = string_map(obj, "labels").get(_CHART, _THIS_CHART)
    if chart != _THIS_CHART and chart.startswith(_CHART_NAME):
        return f"it belongs to {chart}, and this is {_THIS_CHART}"
    return ""


def _sentence(diagnostic: Diagnostic) -> str:
    return f"{diagnostic.located} [{diagnostic.code}]"
