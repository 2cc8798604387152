"""OpenShift's range of user IDs of a namespace, and sidecars that run as another user.

OpenShift writes the range into an annotation of each namespace. Of the security context constraints (SCCs) that
everybody may use, each refuses a pod with a container whose user is outside of the range.
Source: OpenShift documentation, "Managing security context constraints".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from injector.diagnostics import Diagnostic
from injector.errors import Effect
from injector.injection import Applied, Injection
from injector.pods.context import Namespace, Object, mapping
from injector.pods.fields import CONTAINER_LISTS
from injector.settings import Settings

RANGE_KEY = "openshift.io/sa.scc.uid-range"
#: What to do about a user that no parameter sets.
OTHER_SCC = "let the pod's service account use an SCC that allows it, or choose another template"
_RANGE = re.compile(r"([0-9]{1,10})(?:/([0-9]{1,10})|-([0-9]{1,10}))\Z")


def user_range(annotations: Mapping[str, str]) -> range | None:
    """The user IDs that a namespace's pods may have: `1000680000/10000` is the first one and how many there are.

    None for a namespace that is not one of OpenShift's.
    """
    ids = _RANGE.match(annotations.get(RANGE_KEY, ""))
    if not ids:
        return None
    first = int(ids[1])
    return range(first, first + int(ids[2]) if ids[2] else int(ids[3]) + 1)


def users_outside(result: Injection, namespace: Namespace, settings: Settings) -> Iterator[Diagnostic]:
    """One warning for each template with a container that runs as a user outside of the namespace's range."""
    users = user_range(namespace.annotations)
    if users is None or result.effect is not Effect.INJECT:
        return
    for applied in result.applied:
        outside = {name: user for name, user in _users(result.object, applied) if user not in users}
        if not outside:
            continue
        who = ", ".join(f"{name} as user {user}" for name, user in outside.items())
        message = (
            f"OpenShift: namespace {namespace.name} is for users {users.start} to {users.stop - 1}, and template "
            f"{applied.template.name} runs {who}; only an SCC of the pod's service account can allow that"
        )
        keys = [
            f"{settings.parameter_suffix(applied.template.name)}{parameter.name}"
            for parameter in applied.template.parameters.values()
            if parameter.type == "integer" and "user" in parameter.name
            if applied.parameters.values[parameter.variable] in (None, *outside.values())
        ]
        help_ = f'annotate the namespace with {keys[0]}="{users.start}"' if keys else OTHER_SCC
        fields = {"template": applied.template.name, "containers": outside, "first": users.start, "keys": keys}
        yield Diagnostic("openshift-user-range", "warning", message, help_, fields=fields)


def _users(pod: Object, applied: Applied) -> Iterator[tuple[str, int]]:
    """The user of each container of a template, where the container names one."""
    for field in CONTAINER_LISTS:
        for container in pod["spec"].get(field) or []:
            user = mapping(container.get("securityContext")).get("runAsUser")
            if container["name"] in applied.containers and type(user) is int:
                yield container["name"], user
