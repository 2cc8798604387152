"""The namespaces' labels: how many have which value, which are misspelt, and which have no effect."""

from __future__ import annotations

from collections import Counter, defaultdict

from injector.cli.checks.check_context import CheckContext, CheckVerdicts, Section, bad, good, some, warning
from injector.cli.checks.team_template_writers import team_template_writers
from injector.cluster.installation import is_paused
from injector.names import nearest
from injector.pods.context import Object
from injector.pods.selectors import matches
from injector.settings import Settings


def labels(context: CheckContext) -> CheckVerdicts:
    """Counts per value of the label."""
    settings = context.settings
    label = settings.namespace_label
    counts = Counter(labels_of(namespace).get(label.key, "") for namespace in context.namespaces)
    totals = {value: counts[value] for value in (label.enabled, label.required, label.disabled)}
    message = ", ".join(f"{label.key}={value}: {count}" for value, count in totals.items())
    if totals[label.enabled] or totals[label.required] or settings.always_selector is not None:
        yield good("namespace-labels", f"namespaces: {message}; without the label: {counts['']}", **totals)
    else:
        yield warning(
            "namespace-labels",
            f"no namespace enables injection ({message}); only pods that ask for sidecars get them",
            f"kubectl label namespace NAME {label.key}={label.enabled}",
            **totals,
        )
    for namespace in context.namespaces:
        yield from misspelt(namespace["metadata"]["name"], labels_of(namespace), settings)


def misspelt(name: str, present: dict[str, str], settings: Settings) -> CheckVerdicts:
    """What is wrong with the labels of one namespace."""
    label = settings.namespace_label
    allowed = (label.enabled, label.required, label.disabled)
    value = present.get(label.key)
    if value in (label.enabled, label.required) and name in settings.ignored_namespaces:
        yield warning(
            "namespace-ignored",
            f"namespace {name} has {label.key}={value}, but the injector ignores it (ignoredNamespaces)",
            f"kubectl label namespace {name} {label.key}-",
            namespace=name,
        )
    elif value is not None and value not in allowed:
        near = nearest(value, allowed)
        text = f"namespace {name} has {label.key}={value}, which means nothing: its pods are not injected"
        to_do = f"kubectl label namespace {name} --overwrite {label.key}={near or '|'.join(allowed)}"
        more = {"label": f"{label.key}={near}"} if near else {}
        yield (bad if near else warning)("namespace-label", text, to_do, namespace=name, **more)
    elif value is None:
        key = nearest(label.key, present, cutoff=0.85)
        if key is not None and present[key] in allowed:
            label_meant = f"{label.key}={present[key]}"
            text = f"namespace {name} has {key}={present[key]}, but the injector's label is {label.key}"
            to_do = f"kubectl label namespace {name} {key}- {label_meant}"
            yield bad("namespace-label", f"{text}: its pods are not injected", to_do, namespace=name, label=label_meant)


def outside(context: CheckContext) -> CheckVerdicts:
    """Namespaces that ask for sidecars, where the admin has limited the webhooks to others."""
    label = context.settings.namespace_label
    to_do = "give it the labels in webhooks.namespaceSelector of the chart, or remove its injection label"
    for value, verdict in ((label.enabled, warning), (label.required, bad)):
        names = [
            namespace["metadata"]["name"] for namespace in labelled(context, value) if not within(context, namespace)
        ]
        if names:
            text = f"{label.key}={value} has no effect in namespace {some(names)}: no webhook selects it"
            yield verdict("namespace-outside", text, to_do, namespaces=names)


def labelled(context: CheckContext, *values: str) -> list[Object]:
    """The namespaces whose injection label has one of these values, but those that the injector ignores."""
    settings = context.settings
    return [
        namespace
        for namespace in context.namespaces
        if labels_of(namespace).get(settings.namespace_label.key) in values
        and namespace["metadata"]["name"] not in settings.ignored_namespaces
    ]


def within(context: CheckContext, namespace: Object) -> bool:
    """Whether the webhooks may be called for it, by what the admin asks of namespaces besides the settings' label."""
    return matches(context.installation.namespaces or {}, labels_of(namespace))


def guarded(context: CheckContext) -> CheckVerdicts:
    """Every `required` namespace has its two entries: the one that injects and the one that looks again."""
    label = context.settings.namespace_label
    required = [namespace for namespace in labelled(context, label.required) if within(context, namespace)]
    without = defaultdict(list)
    for namespace in required:
        for short in ("required", "guard"):
            name = context.installation.entry_name(short)
            entry = context.entries.get(name)
            if reason := _missing(entry, labels_of(namespace)):
                paused = entry is not None and is_paused(entry)
                without[f"entry {name} {reason}", paused].append(namespace["metadata"]["name"])
    for (reason, paused), names in without.items():
        yield bad(
            "required-guarded",
            f"{label.required} is not enforced in namespace {some(names)}: {reason}",
            "injector resume" if paused else "apply the injector's webhook configurations again",
            namespaces=names,
        )
    if required and not without:
        yield good("required-guarded", f"each of {len(required)} {label.required} namespaces has its guard")


def _missing(entry: Object | None, present: dict[str, str]) -> str:
    """Why an entry does nothing for a namespace with these labels; "" if it does."""
    if entry is None:
        return "is missing"
    if is_paused(entry):
        return "is paused"
    if not matches(entry.get("namespaceSelector") or {}, present):
        return "does not select the namespace"
    return "" if entry.get("failurePolicy", "Fail") == "Fail" else "lets pods through when it fails"


def labels_of(namespace: Object) -> dict[str, str]:
    """A namespace's labels."""
    return namespace["metadata"].get("labels") or {}


def own_labels(context: CheckContext) -> dict[str, str] | None:
    """The labels of the injector's namespace; None where there is no such namespace."""
    own = (labels_of(space) for space in context.namespaces if space["metadata"]["name"] == context.namespace)
    return next(own, None)


SECTION = Section("namespaces", (labels, outside, guarded, team_template_writers))
