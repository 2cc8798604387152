"""With `repair`: whether a replica replaces pods that lack their sidecars, or why it has stopped."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from injector.cli.checks.check_context import CheckContext, CheckVerdicts, Section, good, warning
from injector.cli.repair_lease import lease_of, rests_on
from injector.cluster.rollout.lease_brake import RESTING_KEY, STOPPED_KEY
from injector.pods.context import Object, mapping_at

#: How long ago a holder may have renewed the Lease: much longer than a Lease lasts, as clocks differ.
_LONGEST = timedelta(minutes=1)


def repair(context: CheckContext) -> CheckVerdicts:
    """What stands on the Lease."""
    settings = context.settings.repair
    if settings.mode == "off":
        return
    namespace, name = context.namespace, settings.lease
    lease = lease_of(context.live, context.settings, namespace)
    cause = mapping_at(lease["metadata"], "annotations").get(STOPPED_KEY)
    for text in rests_on(lease):
        command = f"kubectl annotate lease {name} -n {namespace} {RESTING_KEY}-"
        yield warning("repair", text, f"to end all rests now, run {command}", lease=name, command=command)
    holder = holder_of(lease, context.live.clock or datetime.now(UTC))
    if cause:
        text = f"pods that lack their sidecars are not replaced any more: {cause}"
        command = f"kubectl annotate lease {name} -n {namespace} {STOPPED_KEY}-"
        yield warning("repair", text, f"when this is mended, run {command}", lease=name, cause=cause, command=command)
    elif not holder:
        yield warning(
            "repair",
            f"pods that lack their sidecars are not replaced: no replica holds Lease {namespace}/{name}",
            "restart the injector's pods, as they read this setting at their start; if this remains, look for "
            "lease-trouble in their log",
            lease=name,
        )
    else:
        yield good("repair", f"{holder} replaces pods that lack their sidecars", lease=name, holder=holder)


def holder_of(lease: Object, now: datetime) -> str:
    """Who holds a Lease; "" if nobody does, or has not renewed it for long."""
    spec = mapping_at(lease, "spec")
    renewed = str(spec.get("renewTime") or datetime.min.replace(tzinfo=UTC))
    if datetime.fromisoformat(renewed) < now - _LONGEST:
        return ""
    return str(spec.get("holderIdentity") or "")


SECTION = Section("repair", (repair,))
