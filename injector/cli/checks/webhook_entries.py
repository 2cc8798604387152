"""The webhook configurations: every entry there, as it should be, and not switched off; and the settings' `paths`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from injector.authoring.template_summary import only_judges
from injector.cli.checks.check_context import INSTALL, CheckContext, CheckVerdicts, Section, bad, good, warning
from injector.cli.checks.entry_differences import entry_differences
from injector.cluster.entries import entries
from injector.cluster.installation import API, INSTALLATION, KINDS, is_paused, words_of_pause
from injector.cluster.update_policy import update_policy
from injector.pods.context import Object

_APPLY = "apply the chart (helm upgrade) or your webhooks.yaml again; settings and webhooks must match"
#: Without these entries pods lack nothing.
_DISPENSABLE = ("advice", "sources", "team-sources")


def registered(context: CheckContext) -> CheckVerdicts:
    """Both configurations, with the label by which every command finds them."""
    present = {configuration["kind"] for configuration in context.configurations}
    for kind in KINDS:
        if kind in present:
            yield good("registered", f"{kind} is registered for the injector in namespace {context.namespace}")
        elif not context.of_somebody_else:
            yield bad(
                "registered",
                f"no {kind} with label {INSTALLATION} calls a Service in namespace {context.namespace}",
                INSTALL,
            )


def as_they_should_be(context: CheckContext) -> CheckVerdicts:
    """Each entry against `injector.cluster.entries`."""
    if not context.entries:
        return
    if context.of_somebody_else:
        text = f"entries not compared with the settings, because they are not the chart's: {', '.join(context.entries)}"
        to_do = "nothing to do if these entries cover the pods that you want; `required` needs the chart's entries"
        yield warning("entry", text, to_do)
        return
    made = entries(context.settings, context.installation, context.path_templates)
    expected = dict(_by_kind(zip(KINDS, made, strict=True)))
    present = dict(_by_kind((c["kind"], c.get("webhooks") or ()) for c in context.configurations))
    for (kind, name), entry in expected.items():
        short = name.partition(".")[0]
        verdict = warning if short in _DISPENSABLE else bad
        live = present.get((kind, name))
        if live is None:
            yield verdict(f"entry {short}", f"entry {name} is missing", _APPLY)
            continue
        differences = list(entry_differences(live, entry))
        for field, difference in differences:
            yield verdict(f"entry {short}", f"entry {name}: {difference}", _APPLY, field=field)
        if not differences:
            yield good(f"entry {short}", f"entry {name} is as it should be")
    of_paths = set(map(context.installation.path_entry, context.settings.paths))
    names = {name for _, name in expected}
    for kind, name in sorted(present.keys() - expected.keys()):
        if name in of_paths - names:
            continue  # `paths` says why nothing can be told of it
        to_do = "neither the settings nor this version ask for it; remove it if it was not added on purpose"
        text = f"entry {name} of {kind} calls the injector as well"
        yield warning("entry", text, to_do, entry=name, kind=kind)


def _by_kind(configurations: Iterable[tuple[str, Iterable[Object]]]) -> Iterator[tuple[tuple[str, str], Object]]:
    """Entries by the kind of their configuration and their name."""
    return (((kind, entry["name"]), entry) for kind, entries in configurations for entry in entries)


def paths(context: CheckContext) -> CheckVerdicts:
    """A line for each path.

    If a template is missing, its `for` is not known, so the entry's rules are not known either.
    """
    settings = context.settings
    for path, at in settings.paths.items():
        unknown = context.path_templates.missing(at.templates)
        subject = f"path {path} ({at.type}, failurePolicy {at.failure_policy})"
        if unknown:
            meanwhile = "refused" if at.failure_policy == "Fail" else "let through with a warning"
            names = " and ".join(unknown[:3])
            yield bad(
                f"path {path}",
                (
                    f"{subject}: template {names} cannot be loaded, so this path's webhook entry cannot be checked; "
                    f"requests at the path are {meanwhile}"
                ),
                f"if ConfigMap {unknown[0]} does not exist, apply it to namespace {context.namespace} with label "
                f"{settings.template_label}=true; if it exists, correct it; or correct paths in the settings",
                templates=list(at.templates),
            )
        else:
            templates = context.path_templates.found(at.templates)
            text = "; ".join(f"{template.name} for {template.applies_to.words}" for template in templates)
            yield good(f"path {path}", f"{subject}: {text}", templates=list(at.templates))
            for template in templates:
                if at.type == "validating" and not only_judges(template):
                    name = template.name
                    text = f"path {path} (validating): template {name} changes objects, which fails at such a path"
                    yield warning(f"path {path}", text, "list it at a path of type mutating", templates=[name])


def choices(context: CheckContext) -> CheckVerdicts:
    """What an admin may choose, and what follows from it."""
    chosen = context.installation
    if not context.entries:
        return
    for entry, policy in (("enabled", chosen.enabled_failure_policy), ("opted-in", chosen.opted_in_failure_policy)):
        if policy == "Fail" and chosen.entry_name(entry) in context.entries:
            yield warning(
                "failure-policy",
                f"entry {chosen.entry_name(entry)} has failurePolicy Fail: its pods do not start while the injector "
                "is down",
                "use Ignore; set the label value `required` on each namespace that needs Fail",
            )
    if chosen.timeout_seconds > 10:
        text = f"timeoutSeconds is {chosen.timeout_seconds}: the creation of each pod may wait that long"
        yield warning("timeout", text, "use 5")


def paused(context: CheckContext) -> CheckVerdicts:
    """`injector pause`, as a whole or for some entries."""
    for configuration in context.configurations:
        entries = configuration.get("webhooks") or ()
        off = [entry["name"] for entry in entries if is_paused(entry)]
        if off:
            pause = words_of_pause(configuration)
            text = f"{configuration['kind']}: paused {pause}, so that the API server does not call {', '.join(off)}"
            yield warning("paused", text, "injector resume", entries=off, pause=pause)
        for entry in entries:
            if not is_paused(entry) and entry.get("objectSelector"):
                text = f"entry {entry['name']} has an objectSelector: the injector sees only objects that match it"
                yield bad("object-selector", text, _APPLY, field="objectSelector")
    if context.entries and not any(map(is_paused, context.entries.values())):
        yield good("paused", "no entry is paused")


def updates(context: CheckContext) -> CheckVerdicts:
    """The policy that keeps running sidecars, where one is installed: bound, and as these settings make it.

    A policy that was installed without the chart does not know the labels by which the chart limits namespaces.
    """
    if not context.entries or context.of_somebody_else:
        return
    chosen = context.installation
    policies = [update_policy(context.settings, settings)[0] for settings in (chosen, replace(chosen, namespaces=None))]
    name = policies[0]["metadata"]["name"]
    live = context.live.found(f"{API}/validatingadmissionpolicies/{name}")
    if live is None:
        return
    to_do = "create it again with updatePolicy.enabled of the chart, or with injector guard --policy and these settings"
    if context.live.found(f"{API}/validatingadmissionpolicybindings/{name}") is None:
        yield warning("updates", f"ValidatingAdmissionPolicy {name} has no binding: it has no effect", to_do)
    elif not any(_has(live["spec"], policy["spec"]) for policy in policies):
        yield warning("updates", f"ValidatingAdmissionPolicy {name} does not match these settings", to_do)
    else:
        yield good("updates", f"ValidatingAdmissionPolicy {name} is as it should be")


def _has(live: Object, expected: Object) -> bool:
    """Whether these fields are there; the API server fills in others."""
    return all(
        _has(live.get(field) or {}, value) if field == "matchConstraints" else live.get(field) == value
        for field, value in expected.items()
    )


SECTION = Section("webhooks", (registered, as_they_should_be, paths, choices, paused, updates))
