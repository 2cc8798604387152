"""Which resource an object is and what would be asked about it, where no API server says so: in a manifest, in a case.

The kind leads to its plural by the guess of Kubernetes' own apimachinery, `UnsafeGuessKindToResource`
(https://pkg.go.dev/k8s.io/apimachinery/pkg/api/meta#UnsafeGuessKindToResource). It guesses wrong where the plural is
another (`gateways`, `network-attachment-definitions`), so what somebody wrote down goes first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from injector.pods.context import Object, filled, mapping_at
from injector.pods.kubernetes_fields import CLUSTER_SCOPED


class Resource(NamedTuple):
    """A resource as rules of webhook configurations name it: in the plural, "" for the core group."""

    group: str
    version: str
    name: str

    @property
    def is_pods(self) -> bool:
        """Whether its objects are pods, or what is below them."""
        return self.group == "" and self.name.partition("/")[0] == "pods"

    @property
    def is_namespaces(self) -> bool:
        """Whether its objects are the Namespaces."""
        return (self.group, self.name) == ("", "namespaces")


#: The resources that lie in no namespace, by group (`kubectl api-resources --namespaced=false`): the API server's, one
#: that it has behind a gate, and what OpenShift makes projects of.
_IN_NO_NAMESPACE = {
    group: names.split(", ")
    for line in CLUSTER_SCOPED.replace("\n ", "").splitlines()
    for group, _, names in [line.partition(": ")]
}
_IN_NO_NAMESPACE["certificates.k8s.io"].append("clustertrustbundles")
_IN_NO_NAMESPACE["project.openshift.io"] = ["projectrequests", "projects"]


def resource_of(obj: Object, resources: Iterable[Resource] = ()) -> Resource:
    """The resource of an object: the one of `resources` that its apiVersion and kind fit, or else a guess.

    For groups without a dot, which are Kubernetes' own, only the guess is used: their plurals are regular, and
    `service` in `resources` is a mistake. Raises ValueError for an object without apiVersion or kind.
    """
    version, kind = obj.get("apiVersion"), obj.get("kind")
    if not isinstance(version, str) or not version or not isinstance(kind, str) or not kind:
        raise ValueError("an object has to have an apiVersion and a kind")
    group, _, number = version.rpartition("/")
    for resource in resources if "." in group else ():
        if resource[:2] == (group, number) and "/" not in resource.name and _fits(resource.name, kind.lower()):
            return resource
    return Resource(group, number, _plural(kind.lower()))


def in_a_namespace(resource: Resource) -> bool:
    """Whether objects of a resource lie in a namespace; taken for granted where it is not one of Kubernetes' own."""
    return resource.name.partition("/")[0] not in _IN_NO_NAMESPACE.get(resource.group, ())


def lies_in(resource: Resource, obj: Object, default: str = "") -> str:
    """The namespace of a request about an object; `default` where it has to lie in one and names none.

    "" for what lies in none; a Namespace's own name, as the API server has it.
    """
    fields = mapping_at(obj, "metadata")
    if resource.is_namespaces:
        return str(fields.get("name") or "")
    return str(fields.get("namespace") or default) if in_a_namespace(resource) else ""


def request_fields(resource: Resource, obj: Object, namespace: str, operation: str) -> Object:
    """The request of an AdmissionReview, less its two objects, as far as it can be told without an API server.

    https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#request
    """
    name, _, below = resource.name.partition("/")
    group_version = {"group": resource.group, "version": resource.version}
    kind, target = {**group_version, "kind": obj.get("kind") or ""}, {**group_version, "resource": name}
    return {
        "uid": "00000000-0000-0000-0000-000000000000",
        "kind": kind,
        "resource": target,
        **filled({"subResource": below, "requestSubResource": below}),
        "requestKind": kind,
        "requestResource": target,
        "name": mapping_at(obj, "metadata").get("name") or "",
        "namespace": namespace,
        "operation": operation,
        "userInfo": {},
        "options": {"apiVersion": "meta.k8s.io/v1", "kind": f"{operation.capitalize()}Options"},
        "dryRun": False,
    }


def _fits(plural: str, kind: str) -> bool:
    """Whether a plural that somebody wrote is one of a kind, both in small letters."""
    return plural.replace("-", "").replace(".", "") in (kind, f"{kind}s", f"{kind}es", _plural(kind))


def _plural(kind: str) -> str:
    if kind.endswith("endpoints"):
        return kind
    if kind.endswith("s"):
        return f"{kind}es"
    return f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
