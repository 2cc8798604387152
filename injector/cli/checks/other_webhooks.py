"""Other webhooks that change new pods: who comes when, who sees what, and who wants the same."""

from __future__ import annotations

from injector.cli.checks.check_context import CheckContext, CheckVerdicts, Section, bad, good, warning
from injector.cli.checks.namespace_labels import own_labels
from injector.cli.live_setup import covers
from injector.cluster.installation import KINDS, configuration_path
from injector.pods.context import Object, Request
from injector.pods.selectors import matches
from injector.settings import NamespaceLabel


def others(context: CheckContext) -> CheckVerdicts:
    """https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#reinvocation-policy.

    The API server calls configurations in the order of their names, which is not promised; where it matters, only
    reinvocation helps.
    """
    ours = {c["metadata"]["name"] for c in context.configurations if c["kind"].startswith("Mutating")}
    label = context.settings.namespace_label
    own = own_labels(context) or {}
    count = 0
    for configuration in context.live.objects(configuration_path(KINDS[0])):
        name = configuration["metadata"]["name"]
        entries = [
            e
            for e in configuration.get("webhooks") or ()
            if any(covers(rule, Request()) for rule in e.get("rules") or ())
        ]
        if name in ours or not entries:
            continue
        count += 1
        yield from in_order(name, entries, min(ours, default=""), label)
        for entry in entries:  # one that can keep the injector's own pods from starting
            if entry.get("failurePolicy", "Fail") == "Fail" and matches(entry.get("namespaceSelector") or {}, own):
                yield warning(
                    "other-webhooks",
                    f"{name}: {entry['name']} has failurePolicy Fail and covers namespace {context.namespace}: while "
                    "that webhook is down, the injector's pods cannot start",
                    f"leave namespace {context.namespace} out of its namespaceSelector",
                )
    if not count:
        yield good("other-webhooks", "no other mutating webhook is called for new pods")


def in_order(name: str, entries: list[Object], ours: str, label: NamespaceLabel) -> CheckVerdicts:
    """What another configuration's entries see of the sidecars; `ours` is the name of the injector's configuration."""
    rivals = [entry["name"] for entry in entries if goes_by(entry, label)]
    if rivals:
        yield bad(
            "second-injector",
            f"{name}: {', '.join(rivals)} also selects by label {label.key}: two injectors for the same namespaces",
            (
                "remove one of the two injectors, or give one of them another label (for this one: namespaceLabel in "
                "the settings, and apply its webhook configurations again)"
            ),
        )
        return
    order = "after the injector, which is called again" if name > ours else "before the injector"
    if name <= ours and any(entry.get("reinvocationPolicy") != "IfNeeded" for entry in entries):
        order = "before the injector, and is not called again: it sees no sidecars"
    yield good("other-webhooks", f"{name} also changes new pods, {order}")


def goes_by(entry: Object, label: NamespaceLabel) -> bool:
    """Whether an entry selects namespaces by our label and the values that switch injection on."""
    selector = entry.get("namespaceSelector") or {}
    on = {label.enabled, label.required}
    if selector.get("matchLabels", {}).get(label.key) in on:
        return True
    for expression in selector.get("matchExpressions") or ():
        if expression.get("key") == label.key and expression.get("operator") in ("In", "Exists"):
            return expression["operator"] == "Exists" or bool(on & set(expression.get("values") or ()))
    return False


SECTION = Section("other-webhooks", (others,))
