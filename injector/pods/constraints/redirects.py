"""The user whose traffic a redirect spares is its sidecar's alone.

What a redirect sends to the sidecar must not be what the sidecar itself sends, and a ruleset tells the two apart by the
user of the process. So what another container of that user sends goes by the sidecar. The API server does not mind.
"""

from __future__ import annotations

from collections.abc import Iterable

from injector.budget import charge
from injector.pods.constraints.pod_view import ContainerView, PodView, Violations, violation
from injector.pods.context import mapping_at
from injector.reasons import Reason


def find_spared(parts: PodView, redirects: Iterable[tuple[str, str]]) -> Violations:
    """The containers with the user of the sidecar of a redirect, of all that run once the redirect is there.

    `redirects` are pairs of the init container that sets one up, and its sidecar. Where nobody says a container's user,
    the image does, and that is not known here.
    """
    places = {container.name: number for number, container in enumerate(parts.containers)}
    for setup, sidecar in redirects:
        if not places.keys() >= {setup, sidecar}:
            continue
        user = _user(parts, parts.containers[places[sidecar]])
        charge(len(places))
        for number, container in enumerate(parts.containers):
            redirected = (container.stays or number > places[setup]) and container.name not in (setup, sidecar)
            if redirected and user is not None and _user(parts, container) == user:
                yield violation(
                    Reason.CONFLICT,
                    container.path,
                    f"it runs as user {user}, as {sidecar} does, and the traffic of this user is not redirected",
                    "give one of the two another runAsUser",
                    field="runAsUser",
                    value=user,
                    sidecar=sidecar,
                )


def _user(parts: PodView, container: ContainerView) -> object:
    """The user of a container, as it or its pod says; None where neither does."""
    user = mapping_at(container.body, "securityContext").get("runAsUser")
    return mapping_at(parts.spec, "securityContext").get("runAsUser") if user is None else user
