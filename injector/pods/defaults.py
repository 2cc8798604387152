"""What the API server adds to a pod and leaves out of it: the differences that mean nothing.

A pod that was injected comes back, on reinvocation and at the validating guard, with defaults filled in, zero values
gone and quantities rewritten. Sources: Kubernetes API reference (defaults of core/v1), the defaulting functions
`pkg/apis/core/v1/defaults.go`, `omitempty` of the Go types, and the LimitRanger and ServiceAccount admission plugins.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from injector.pods.context import Object
from injector.pods.merge_keys import CONTAINER_LISTS, escape, is_aligned, steps_of
from injector.pods.quantity import parse_quantity

#: Where the ServiceAccount admission plugin mounts the token in every container.
TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105

#: The ConfigMaps of authorities that are put beside the token in each namespace; the second one is OpenShift's.
_AUTHORITIES = frozenset({"kube-root-ca.crt", "openshift-service-ca.crt"})

_PULL = ("Always", "IfNotPresent")  #: by the image's tag, or AlwaysPullImages
_MODE = (0o644,)

#: (the field that holds it or None for any, field): the values that are filled in.
DEFAULTS: dict[tuple[str | None, str], tuple[Any, ...]] = {
    (None, "terminationMessagePath"): ("/dev/termination-log",),
    (None, "terminationMessagePolicy"): ("File",),
    (None, "imagePullPolicy"): _PULL,
    ("image", "pullPolicy"): _PULL,
    (None, "timeoutSeconds"): (1,),
    (None, "periodSeconds"): (10,),
    (None, "successThreshold"): (1,),
    (None, "failureThreshold"): (3,),
    ("httpGet", "path"): ("/",),
    ("httpGet", "scheme"): ("HTTP",),
    ("grpc", "service"): ("",),
    ("ports", "protocol"): ("TCP",),
    ("configMap", "defaultMode"): _MODE,
    ("secret", "defaultMode"): _MODE,
    ("downwardAPI", "defaultMode"): _MODE,
    ("projected", "defaultMode"): _MODE,
    ("serviceAccountToken", "expirationSeconds"): (3600,),
    ("fieldRef", "apiVersion"): ("v1",),
    ("resourceFieldRef", "divisor"): ("0", 0),
    ("hostPath", "type"): ("",),
    ("iscsi", "iscsiInterface"): ("default",),
    ("securityContext", "procMount"): ("Default",),
    ("spec", "volumeMode"): ("Filesystem",),  # of an ephemeral volume's claim
    ("metadata", "creationTimestamp"): (None,),
}

#: Fields whose zero (false, 0, "") the API server leaves out. For all others, absent and zero are two things.
ZERO_IS_ABSENT = frozenset(
    {
        "stdin",
        "stdinOnce",
        "tty",
        "readOnly",
        "hostNetwork",
        "hostPID",
        "hostIPC",
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
        "hostPort",
        "hostIP",
        "subPath",
        "subPathExpr",
        "medium",
        "value",
        "prefix",
        "workingDir",
        "name",
        "protocol",
        "scheme",
        "path",
        "host",
        "service",
        "defaultMode",
    }
)

#: Maps that are left out when they are empty. Other empty objects say something: `emptyDir: {}`.
_EMPTY_IS_ABSENT = frozenset({"annotations", "labels", "nodeSelector", "limits", "requests", "matchLabels"})

#: Fields (or maps) whose values are quantities; the API server writes `0.5` as `500m`.
_QUANTITIES = frozenset({"limits", "requests", "sizeLimit", "divisor", "overhead"})


def means_nothing(field: str, value: Any) -> bool:
    """Whether writing this value into an absent field changes nothing for Kubernetes."""
    kind = type(value)
    if kind is dict:
        return not value and field in _EMPTY_IS_ABSENT
    if kind is list:
        return not value
    return value is None or (not value and field in ZERO_IS_ABSENT)


def mismatches(
    actual: Any, wanted: Any, field: str, parent: str, pointer: str, *, exact: bool
) -> Iterator[tuple[str, Any, Any]]:
    """Where `actual` does not say what `wanted` says: (keyed pointer, actual value, wanted value); absent is None.

    `field` is the name of the field compared and `parent` that of the one that holds it. With `exact` what `actual`
    says beyond `wanted` counts too, unless it is a default that Kubernetes fills in.
    """
    if actual is wanted:
        return
    kind = type(wanted)
    if kind is dict and type(actual) is dict:
        yield from _in_map(actual, wanted, field, pointer, exact)
    elif kind is list and type(actual) is list:
        yield from _in_list(actual, wanted, field, pointer, exact)
    elif not _equal(actual, wanted, field, parent):
        yield pointer, actual, wanted


def _in_map(
    actual: dict[str, Any], wanted: dict[str, Any], field: str, pointer: str, exact: bool
) -> Iterator[tuple[str, Any, Any]]:
    for key, value in wanted.items():
        have = actual.get(key)
        if have is None:
            if not means_nothing(key, value) and not _is_default(field, key, value):
                yield f"{pointer}/{escape(key)}", None, value
        elif have is not value:
            yield from mismatches(have, value, key, field, f"{pointer}/{escape(key)}", exact=exact)
    if exact:
        for key, have in actual.items():
            if wanted.get(key) is None and not may_be_filled_in(field, key, have, actual):
                yield f"{pointer}/{escape(key)}", have, None


def _in_list(
    actual: list[Any], wanted: list[Any], field: str, pointer: str, exact: bool
) -> Iterator[tuple[str, Any, Any]]:
    if not is_aligned(field):
        same = len(actual) == len(wanted) and not any(
            next(mismatches(have, value, field, field, "", exact=True), None)
            for have, value in zip(actual, wanted, strict=True)
        )
        if not same:
            yield pointer, actual, wanted
        return
    have_at = dict(zip(steps_of(actual, field), actual, strict=True))
    want_at = dict(zip(steps_of(wanted, field), wanted, strict=True))
    for step, value in want_at.items():
        here = f"{pointer}/{escape(step)}"
        if step in have_at:
            yield from mismatches(have_at[step], value, field, field, here, exact=exact)
        else:
            yield here, None, value
    if exact:
        for step, have in have_at.items():
            if step not in want_at and not (field == "volumeMounts" and is_token_mount(have)):
                yield f"{pointer}/{escape(step)}", have, None


def may_be_filled_in(parent: str, field: str, value: Any, beside: dict[str, Any]) -> bool:
    """Whether Kubernetes itself may have put this value into a field that nobody set.

    `beside` is the object that holds it: with the node's network a container port becomes its host port.
    """
    if means_nothing(field, value) or value == {} or _is_default(parent, field, value):
        return True
    if parent in ("limits", "requests", "resources"):  # LimitRanger; requests from limits
        return field != "claims"
    if field == "resources":
        return type(value) is dict and "claims" not in value
    if field == "volumeMounts":
        return type(value) is list and all(is_token_mount(mount) for mount in value)
    return field == "hostPort" and value == beside.get("containerPort")


def without_fillings(value: Any, field: str = "", parent: str = "") -> Any:
    """A value without what Kubernetes itself may have put into it or written in another way, quantities among that.

    The same for a part as it was sent and as it comes back. `field` and `parent` as in `mismatches`.
    """
    kind = type(value)
    if kind is dict:
        return {
            key: without_fillings(item, key, field)
            for key, item in value.items()
            if key not in _QUANTITIES and not may_be_filled_in(field, key, item, value)
        }
    if kind is list:
        return [
            without_fillings(item, field, field)
            for item in value
            if not (field == "volumeMounts" and is_token_mount(item))
        ]
    return value


def is_token_mount(mount: Any) -> bool:
    """Whether this is the service account token's mount as the ServiceAccount plugin adds it to every container."""
    return (
        type(mount) is dict
        and mount.get("mountPath") == TOKEN_PATH
        and str(mount.get("name")).startswith("kube-api-access-")
        and not mount.keys() - {"name", "mountPath", "readOnly"}
    )


def is_token_volume(volume: Any) -> bool:
    """Whether a volume holds nothing but what the ServiceAccount plugin puts into its own, no content of an author's.

    https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/#bound-service-account-token-volume
    """
    projected = volume.get("projected") if type(volume) is dict else None
    if type(projected) is not dict:
        return False
    sources = projected.get("sources")
    return all(map(_is_of_plugin, sources if type(sources) is list else ()))


def _is_of_plugin(source: Any) -> bool:
    match source:
        case {"configMap": {"name": name}}:
            return name in _AUTHORITIES
        case {"downwardAPI": {"items": [{"path": path}]}}:
            return bool(path == "namespace")
        case {"secret": _} | {"configMap": _} | {"downwardAPI": _}:
            return False
    return True


def _is_default(parent: str, field: str, value: Any) -> bool:
    allowed = DEFAULTS.get((parent, field), DEFAULTS.get((None, field), ()))
    return any(value == default and type(value) is type(default) for default in allowed)


def _equal(actual: Any, wanted: Any, field: str, parent: str) -> bool:
    if type(actual) is type(wanted) and actual == wanted:
        return True
    if means_nothing(field, wanted) and means_nothing(field, actual):
        return True
    if field in _QUANTITIES or parent in _QUANTITIES:
        try:
            return parse_quantity(actual) == parse_quantity(wanted)
        except ValueError:
            return False
    return False


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
