"""Annotations of a pod that change nothing: of templates which it does not get, and of a name that is nearly ours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from injector.injection import Injection
from injector.names import cut, nearest
from injector.pods.context import Namespace, Object
from injector.pods.shape import string_map
from injector.reasons import Effect, Reason
from injector.templates.choice import origins_of
from injector.templates.families import declared_parameter
from injector.templates.snapshot import Snapshot

#: A domain of a sidecar injector's.
_INJECTS = re.compile(r"inject", re.IGNORECASE)
#: Annotations of one template that are named.
_SHOWN = 2


def idle_annotations(
    pod: Object, result: Injection, namespace: Namespace, snapshot: Snapshot, names: Sequence[str] | None
) -> Iterator[str]:
    """A sentence for each template that annotations set parameters of, where the pod gets others.

    `names` are the templates of the command line. Those at paths are left alone: a pod's annotations set their
    parameters too.
    """
    settings, catalog = snapshot.settings, snapshot.catalog
    annotations, ending = string_map(pod, "annotations"), settings.parameter_suffix("")
    found: dict[str, list[str]] = {}
    for key in annotations:
        if (at := key.find(ending)) > 0:
            found.setdefault(key[:at], []).append(key)
    done = (Reason.ALREADY_INJECTED, Reason.NOTHING_TO_ADD)
    undecided = result.effect is Effect.SKIP and result.reason not in done
    if not found or undecided or result.reason is Reason.MALFORMED_POD:
        return
    required, at_paths = result.decision.required, {name for one in settings.paths.values() for name in one.templates}
    chosen = origins_of(pod, namespace, settings, catalog, required=required)
    wanted = chosen if names is None else dict.fromkeys(names)
    gets = [name for name, _ in result.templates] or list(wanted)
    others = {*chosen, *wanted, *gets, *at_paths}
    idle = [name for name in found if name in catalog.injected_names and name not in others]
    if not gets or not all(name in catalog.injected_names for name in gets):
        return
    option = f"{settings.templates_key}: " if names is None else "--templates "
    both = ",".join((*gets, *idle))
    free = names is None and not required and settings.templates_key not in annotations
    for name in idle:
        keys, more = [cut(key, 120) for key in found[name][:_SHOWN]], len(found[name]) - _SHOWN
        which = f"{', '.join(keys)} and {more} more" if more > 0 else " and ".join(keys)
        several, have = ("s", "have") if len(keys) > 1 else ("", "has")
        if free and len(gets) == len(idle) == 1:
            write = f"to get {name}, write {option}{name}; to get both, write {option}{both}"
        else:
            write = f"to also get {name}, write {option}{both}"
        yield f"pod annotation{several} {which} {have} no effect, because the pod gets only {', '.join(gets)}; {write}"


def foreign_names(pod: Object, result: Injection, snapshot: Snapshot) -> Iterator[str]:
    """A sentence for each annotation whose name is nearly one of ours, and for those of our prefix that are none."""
    settings, catalog = snapshot.settings, snapshot.catalog
    ours = (settings.inject_key, settings.templates_key)
    known = (*ours, settings.status_key, settings.reason_key, settings.receipt_key)
    told = {warning.fields.get("key") for warning in result.warnings}
    annotations = string_map(pod, "annotations")
    for key in annotations:
        domain, _, name = key.rpartition("/")
        template = catalog.get(domain)
        if key in told or key in known:
            continue
        if template is not None and declared_parameter(template.parameters, name):
            yield f"pod annotation {key} has no effect; write {settings.parameter_suffix(domain)}{name}"
        elif domain == settings.prefix and settings.status_key not in annotations:
            yield (
                f"pod annotation {cut(key, 120)} has no effect; write {' or '.join(ours)}, or, to set a parameter, "
                f"{settings.parameter_suffix('<template>')}<name>"
            )
        elif _INJECTS.search(domain or name) and not domain.endswith(settings.prefix):
            near = nearest(name, [one.rpartition("/")[2] for one in ours], cutoff=0.75)
            meant = next((one for one in ours if near and one.endswith(f"/{near}")), None)
            if meant:
                yield f"pod annotation {cut(key, 120)} has no effect; for this injector write {meant}"
