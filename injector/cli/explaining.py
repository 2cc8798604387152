"""The explanation of one object: its injection, and what is said of it at the settings' `paths`, replayed."""

from __future__ import annotations

from injector.cli.admission import Admission, admit_pod, asked_about_pod
from injector.cli.admission_report import user_hints
from injector.cli.explanation import Explanation
from injector.cli.objects import name_of
from injector.cli.path_explanation import EntryOf, PathTrail, trails_of
from injector.cli.sources import Sources
from injector.inject import inject
from injector.injection import Injection
from injector.paths.asking import named_resources
from injector.pods.context import Namespace, Object
from injector.pods.kinds import Resource, resource_of
from injector.pods.shape import string_map
from injector.pods.workloads import pod_template, workload_of_object
from injector.reasons import Reason
from injector.templates.choice import misspelt
from injector.templates.snapshot import Snapshot


def is_asked_about(obj: Object, snapshot: Snapshot) -> bool:
    """Whether a template at a path is for objects of this kind, in whatever namespace and with whatever labels."""
    templates = snapshot.catalog.found(name for at in snapshot.settings.paths.values() for name in at.templates)
    named = list(named_resources(templates))
    try:
        return resource_of(obj, named) in named
    except ValueError:
        return False


def explanation_of(
    obj: Object,
    namespace: Namespace,
    sources: Sources,
    origin: str,
    notes: list[str],
    templates: list[str] | None = None,
    *,
    user: Object,
    resource: Resource | None = None,
    entry_of: EntryOf | None = None,
) -> Explanation:
    """Replay all that is decided about an object. `templates` are those of the command line, None for none.

    `resource` is what the API server says that it is, None for a guess; `entry_of` tells of a path's webhook entry.
    """
    settings, pod = sources.settings, pod_template(obj)
    trails: tuple[PathTrail, ...] = ()
    admission = None
    if settings.paths and obj.get("kind") != "Pod":
        arguments = (namespace, sources.snapshot, sources.overrides, user, resource)
        admission = Admission.of_object(obj, *arguments)
        if admission is not None:
            trails = trails_of(admission, "", entry_of)
            notes = [*user_hints(admission), *notes]
    if pod is None:
        where = namespace if admission is None else admission.namespace
        told = {warning for trail in trails if trail.result for warning in trail.result.warnings}
        kept = tuple(note for note in notes if note not in told)
        return Explanation(name_of(obj), origin, where, None, settings, kept, trails)

    def injected(pod: Object) -> Injection:
        workload = None if obj.get("kind") == "Pod" else workload_of_object(obj)
        overrides = sources.overrides
        return inject(pod, namespace, sources.snapshot, names=templates, overrides=overrides, workload=workload)

    result = injected(pod)
    applied = [applied.template for applied in result.applied]
    if settings.paths and result.allowed and result.reason is not Reason.MALFORMED_POD:
        asked = asked_about_pod(obj, result.object, namespace.name, user)
        of_pod = Admission(asked, namespace, sources.snapshot, sources.overrides)
        admit_pod(obj, result.object, of_pod, user, injected)
        of_pods = trails_of(of_pod, "" if obj.get("kind") == "Pod" else "its pods", entry_of)
        # where nothing is for the object itself, its pods are all that there is to tell
        trails = (*(trail for trail in trails if trail.asked), *of_pods)
        notes = [*user_hints(of_pod), *notes]
        applied += [a.template for trail in of_pods if trail.result is not None for a in trail.result.applied]
    for what in ("annotation", "label"):
        notes += misspelt(f"pod {what}", string_map(pod, f"{what}s"), settings, applied)
    kept = tuple(note for note in notes if note not in result.warnings)
    return Explanation(name_of(obj), origin, namespace, result, settings, kept, trails)
