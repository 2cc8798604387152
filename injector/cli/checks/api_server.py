"""The API server: that it answers, is new enough, and agrees with this machine about the time."""

from __future__ import annotations

from datetime import UTC, datetime

from injector.cli.checks.check_context import CheckContext, CheckVerdicts, Section, bad, good, warning
from injector.pods.context import OLDEST
from injector.pods.fields import NEWEST

_NATIVE = (1, 29)  # restartable init containers are on by default: Kubernetes docs, "Sidecar Containers"
_AUTO = (1, 32)  # from here on `nativeSidecars: auto` means native, as kubelets may be three minors behind
_SKEW = 30  # seconds


def version(context: CheckContext) -> CheckVerdicts:
    """matchConditions are stable from 1.30 on, and the webhooks rely on them; what comes after NEWEST is unknown."""
    version = context.live.cluster().version
    text = "{}.{}".format(*version)
    if version < OLDEST:
        need = "{}.{}".format(*OLDEST)
        yield bad(
            "version",
            f"Kubernetes {text} is too old: webhooks need matchConditions, which are stable from {need} on",
            f"upgrade the cluster to {need} or newer",
        )
    elif version > NEWEST:
        newest = "{}.{}".format(*NEWEST)
        yield warning(
            "version",
            f"Kubernetes {text} is newer than {newest}, the newest that this injector knows",
            f"look for a newer injector; templates may not use fields that are newer than {newest}",
        )
    else:
        yield good("version", f"{context.live.host} answers; Kubernetes {text} has matchConditions", version=text)


def native_sidecars(context: CheckContext) -> CheckVerdicts:
    """Which form sidecars get by the setting `nativeSidecars`; before an installation by its default."""
    version = context.live.cluster().version
    chosen = context.settings.native_sidecars if context.configurations else "auto"
    if version < _NATIVE:
        return
    if chosen == "always" or (chosen == "auto" and version >= _AUTO):
        yield good("native-sidecars", f"sidecars are native: restartable init containers (nativeSidecars: {chosen})")
    elif chosen == "never":
        yield good("native-sidecars", "sidecars are plain containers, as the settings say (nativeSidecars: never)")
    else:
        yield warning(
            "native-sidecars",
            (
                "this cluster supports native sidecars, but the injector uses them by default only from Kubernetes "
                "1.32 on: sidecars are plain containers"
            ),
            (
                "if all kubelets are 1.29 or newer, set nativeSidecars: always; without native sidecars, Jobs do "
                "not end by themselves"
            ),
        )


def clock(context: CheckContext) -> CheckVerdicts:
    """Certificates made here get their dates from this machine's clock; the API server checks them with its own."""
    now = datetime.now(UTC)
    context.live.cluster()  # an answer of this moment
    server_time = context.live.clock
    if server_time is None:
        return
    behind = (server_time - now).total_seconds()
    if abs(behind) > _SKEW:
        text = f"the API server's clock is {abs(behind):.0f} s {'ahead of' if behind > 0 else 'behind'} this machine's"
        to_do = "let both follow the same time servers (NTP); certificates made here may not be valid there yet"
        yield warning("clock", text, to_do)
    else:
        yield good("clock", "the API server's clock agrees with this machine's")


SECTION = Section("kubernetes-api", (version, native_sidecars, clock))
