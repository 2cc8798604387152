"""Controllers whose last pod was refused, as the injector did not answer, and that wait to try again."""

from __future__ import annotations

from collections import defaultdict

from injector.cli.checks.check_context import CheckContext, CheckVerdicts, Section, good, some, warning
from injector.cli.fleet import waiting_controllers
from injector.cluster.installation import API


def waiting(context: CheckContext) -> CheckVerdicts:
    """A line for each namespace with such controllers. Other checks say why the injector does not answer."""
    by_namespace = defaultdict(list)
    for controller in waiting_controllers(context.live, {c["metadata"]["name"] for c in context.configurations}):
        by_namespace[controller.creation.namespace].append(controller.words)
    for namespace, names in sorted(by_namespace.items()):
        yield warning(
            "waiting",
            f"namespace {namespace}: the injector did not answer, and controllers wait before they create pods again, "
            f"for 17 minutes at most: {some(names)}",
            f"run injector list -n {namespace}: it prints, for each controller, a command that makes it retry at once",
            namespace=namespace,
            controllers=names,
        )
    if not by_namespace:
        yield good("waiting", "no controller is waiting for the injector")


def policy(context: CheckContext) -> CheckVerdicts:
    """With `retryRefused`: whether the policy that limits this permission exists."""
    if not context.settings.retry_refused:
        return
    name = f"{context.installation.name}-retries"
    kinds = ("validatingadmissionpolicies", "validatingadmissionpolicybindings")
    if all(context.live.found(f"{API}/{kind}/{name}") for kind in kinds):
        yield good(
            "retry-policy",
            f"ValidatingAdmissionPolicy {name} is in force: it lets the injector only make controllers retry",
        )
    else:
        yield warning(
            "retry-policy",
            f"ValidatingAdmissionPolicy {name} or its binding is missing: the injector may change the status, labels "
            "and owners of workloads",
            "apply the chart again with settings.retryRefused, or switch that setting off",
        )


SECTION = Section("waiting-controllers", (waiting, policy))
