"""What `injector pause` and `injector resume` have in common: the webhook configurations, and who is at work."""

from __future__ import annotations

from injector.cluster.blocking_client import BlockingClient, ClusterError
from injector.cluster.installation import configuration_path, service_namespaces
from injector.cluster.pause import MANAGER
from injector.pods.context import Object


def configurations(live: BlockingClient, namespace: str | None) -> tuple[Object, ...]:
    """The webhook configurations of the injector in `namespace`; without it there may be one injector only.

    Raises ClusterError when there are none.
    """
    where = namespace or live.installation()
    found = tuple(c for c in live.webhooks() if where in service_namespaces(c))
    if not found:
        raise ClusterError(f"{live.host} has no webhooks of an injector in namespace {where}; -n names another one")
    return found


def configuration_name(configuration: Object) -> str:
    """Kind and name, for people."""
    return f"{configuration['kind']} {configuration['metadata']['name']}"


def apply(live: BlockingClient, change: Object, what: str) -> Object:
    """Do what `pausing` or `resuming` says; the configuration as it is then. `what` is for the error: `pause NAME`."""
    return live.apply(configuration_path(change["kind"], change["metadata"]["name"]), change, MANAGER, what=what)


def whoami(live: BlockingClient) -> str:
    """The user's name as the API server knows it; "somebody" where it does not say."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    try:
        found = live.send("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body)
    except ClusterError:
        return "somebody"
    return str(found.get("status", {}).get("userInfo", {}).get("username") or "somebody")
