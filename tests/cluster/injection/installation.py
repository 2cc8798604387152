"""The injector as a cluster has it: with a service account that may do what it has to, and its webhooks."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.cluster.api import ApiError, Object
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import webhook, webhook_configuration
from tests.cluster.processes import eventually
from tests.cluster.server import InjectorServer

PREFIX = "sidecar.injector"
INJECT = f"{PREFIX}/inject"
TEMPLATES = f"{PREFIX}/templates"
STATUS = f"{PREFIX}/status"
REASON = f"{PREFIX}/reason"
RECEIPT = f"{PREFIX}/receipt"

#: The label of namespaces that belong to a test's own server.
ELSEWHERE = "test/other-injector"

LABELLED = "labelled.sidecar-injector.test"
ASKED = "asked.sidecar-injector.test"
GUARD = "guard.sidecar-injector.test"

_RBAC = "rbac.authorization.k8s.io"


def says(values: Iterable[str]) -> str:
    """A matchCondition's expression: the pod's annotation or label has one of these values, in any case."""
    wanted = json.dumps(list(values))
    return " || ".join(
        f"(has(object.metadata.{where}) && '{INJECT}' in object.metadata.{where}"
        f" && object.metadata.{where}['{INJECT}'].lowerAscii() in {wanted})"
        for where in ("annotations", "labels")
    )


def service_account(control_plane: ControlPlane, namespace: str, *, config_maps: bool = True) -> Path:
    """The kubeconfig of a new service account that may read what the injector reads.

    With `config_maps` it may create ConfigMaps everywhere as well.
    """
    api, name = control_plane.api, f"injector-{namespace}"
    reads: list[tuple[str, list[str]]] = [
        ("namespaces", ["get", "list", "watch"]),
        ("resourcequotas", ["list", "watch"]),
        ("limitranges", ["list", "watch"]),
    ]
    rules = [{"apiGroups": [""], "resources": [resource], "verbs": verbs} for resource, verbs in reads]
    if config_maps:
        rules.append({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "get"]})
    own = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]}]
    version = f"{_RBAC}/v1"
    api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "injector"}}, namespace)
    subjects = [{"kind": "ServiceAccount", "name": "injector", "namespace": namespace}]
    metadata = {"name": name}
    for kind, where, granted in (("ClusterRole", None, rules), ("Role", namespace, own)):
        api.create({"apiVersion": version, "kind": kind, "metadata": metadata, "rules": granted}, where)
        binding = {"roleRef": {"apiGroup": _RBAC, "kind": kind, "name": name}, "subjects": subjects}
        api.create({"apiVersion": version, "kind": f"{kind}Binding", "metadata": metadata, **binding}, where)
    return control_plane.kubeconfig_for_service_account(namespace, "injector")


def remove_rights(control_plane: ControlPlane, namespace: str) -> None:
    """Take back what `service_account` gave to all namespaces; the rest goes with its namespace."""
    for kind in ("ClusterRoleBinding", "ClusterRole"):
        control_plane.api.delete(kind, f"injector-{namespace}")


def configurations(server: InjectorServer) -> tuple[Object, Object]:
    """The webhooks of an installation: the mutating ones and the guard of `required` namespaces.

    They fail closed, so that no call that failed goes by unseen. A pod's own no is not filtered out, so that it is
    the injector which reads it.
    """
    not_elsewhere = {"key": ELSEWHERE, "operator": "DoesNotExist"}

    def selector(*expressions: Object) -> Object:
        return {"matchExpressions": [*expressions, not_elsewhere]}

    ours = {"key": "injection", "operator": "In", "values": ["enabled", "required"]}
    nobodys = {"key": "injection", "operator": "NotIn", "values": ["enabled", "required", "disabled"]}
    guarded = {"key": "injection", "operator": "In", "values": ["required"]}
    again: Object = {"reinvocationPolicy": "IfNeeded"}
    labelled = webhook(LABELLED, server.client_config(), namespaceSelector=selector(ours), **again)
    yes = {"name": "says-yes", "expression": says(["true", "yes", "y", "on", "enabled"])}
    asked = webhook(ASKED, server.client_config(), namespaceSelector=selector(nobodys), matchConditions=[yes], **again)
    guard = webhook(GUARD, server.client_config("/validate"), namespaceSelector=selector(guarded))
    return (
        webhook_configuration("injector", labelled, asked),
        webhook_configuration("injector", guard, validating=True),
    )


class Log:
    """What a server tells of the reviews that it answered."""

    def __init__(self, server: InjectorServer) -> None:
        self._server = server

    def lines(self, **fields: Any) -> list[Object]:
        """All lines with these fields' values, oldest first."""
        found = []
        for line in self._server.log.split("\n"):
            if line.startswith("{") and line.endswith("}"):
                told: Object = json.loads(line)
                if all(told.get(field) == value for field, value in fields.items()):
                    found.append(told)
        return found

    def reviews(self, namespace: str, path: str = "mutate", **fields: Any) -> list[Object]:
        """The lines about reviews of this namespace's pods."""
        return self.lines(event="review", namespace=namespace, path=path, **fields)

    def reason(self, namespace: str, pod: str, path: str = "mutate") -> str:
        """The reason of the first review of this pod; lines are written a moment after the answer, so wait for it.

        There may be another: the API server calls again when its own plugins change what was injected.
        """
        lines = eventually(f"the review of {pod} is in the log", lambda: self.reviews(namespace, path, pod=pod))
        return str(lines[0]["reason"])


# ------------------------------------------------------------ what a test looks at in pods


def names(pod: Object, field: str = "containers") -> list[str]:
    """The names of a pod's containers, in order."""
    return [container["name"] for container in pod["spec"].get(field, [])]


def container(pod: Object, name: str) -> Object:
    """The container of that name, from either list."""
    spec = pod["spec"]
    (found,) = (c for c in (*spec.get("initContainers", []), *spec["containers"]) if c["name"] == name)
    result: Object = found
    return result


def env(container: Object) -> dict[str, str | None]:
    """A container's variables."""
    return {variable["name"]: variable.get("value") for variable in container.get("env", [])}


def notes(pod: Object) -> dict[str, str]:
    """A pod's annotations."""
    found: dict[str, str] = pod["metadata"].get("annotations", {})
    return found


def generated(control_plane: ControlPlane, namespace: str) -> list[Object]:
    """The ConfigMaps that the injector has made in a namespace."""
    return control_plane.api.list("ConfigMap", namespace, labelSelector=f"{PREFIX}/generated")


def refusal(control_plane: ControlPlane, obj: Object, namespace: str, *, dry_run: bool = False) -> str:
    """What the API server says when it refuses the object, as it should, and for good reason: with 403."""
    try:
        control_plane.api.create(obj, namespace, dry_run=dry_run)
    except ApiError as error:
        assert (error.code, error.reason) == (403, "Forbidden"), error
        return error.message
    raise AssertionError(f"{obj['kind']} {obj['metadata']['name']} was not refused")


def forged_receipt(**claims: object) -> str:
    """A receipt as somebody writes it by hand, for the templates `proxy` and `logger`."""
    return json.dumps({"version": 1, "generation": "0", "templates": {"proxy": "0", "logger": "0"}, **claims})
