"""What the API server's own plug-ins put into a sidecar between two calls: a later call must not lose it.

The ServiceAccount plugin mounts the token into every container, the LimitRanger fills in requests and limits. Both run
again after a webhook changed the pod, but not after the webhook's second call.
https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/
"""

from __future__ import annotations

from typing import Any

from injector.pods.context import Object
from injector.pods.defaults import TOKEN_PATH, is_token_mount
from injector.pods.merge_keys import CONTAINER_LISTS


def with_plugins_additions(made: Object, before: Object) -> Object:
    """A pod that was made afresh, its containers with what the plug-ins had added to those of the same name before."""
    old = {c.get("name"): c for field in CONTAINER_LISTS for c in before["spec"].get(field) or []}
    spec = dict(made["spec"])
    for field in CONTAINER_LISTS:
        if spec.get(field):
            spec[field] = [_with(c, old[c["name"]]) if c["name"] in old else c for c in spec[field]]
    return {**made, "spec": spec}


def _with(container: Object, old: Object) -> Object:
    mounts: list[Any] = container.get("volumeMounts") or []
    token = [mount for mount in old.get("volumeMounts") or [] if is_token_mount(mount)]
    changed: Object = {}
    if token and not any(mount.get("mountPath") == TOKEN_PATH for mount in mounts):
        changed["volumeMounts"] = [*mounts, *token]
    resources, filled = container.get("resources") or {}, old.get("resources") or {}
    both = {
        kind: {**(filled.get(kind) or {}), **(resources.get(kind) or {})}
        for kind in ("limits", "requests")
        if filled.get(kind)
    }
    if any(both[kind] != resources.get(kind) for kind in both):
        changed["resources"] = {**resources, **both}
    return {**container, **changed} if changed else container
