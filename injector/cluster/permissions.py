"""The table of permissions: what the injector's service account may do, each line with the feature that needs it.

The chart's ClusterRole and Role say the same, and nothing else. Rules: https://kubernetes.io/docs/reference/access-authn-authz/rbac/
(`create` cannot be limited to names, as the name is not known when the request is judged; `list` and `watch` can,
for requests with the field selector `metadata.name`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from injector.cluster.installation import GROUP, RESOURCES, Installation
from injector.pods.context import filled

#: Where the certificate comes from: the setting `certificates.source`.
CertificateSourceName = Literal["files", "builtin", "cert-manager", "csr"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """One line: verbs on resources of a group, in all namespaces and cluster-scoped, or in the injector's namespace.

    `names` limits it to objects of these names; empty: all. `feature` is what does not work without it. If `optional`,
    the injector runs without the feature. `reason` is one line for people.
    """

    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    feature: str
    reason: str
    group: str = ""
    everywhere: bool = True
    names: tuple[str, ...] = ()
    optional: bool = False

    def rule(self) -> dict[str, list[str]]:
        """The line as a rule of a ClusterRole or Role."""
        rule = {"apiGroups": [self.group], "resources": list(self.resources), "verbs": list(self.verbs)}
        return rule | filled({"resourceNames": list(self.names)})


def permissions(
    installation: Installation, source: CertificateSourceName = "builtin", *, retry_refused: bool = False
) -> tuple[Permission, ...]:
    """All lines for an installation whose certificate comes from `source`; first those that hold everywhere."""
    everywhere, own = [*_EVERYWHERE, *(_RETRIES if retry_refused else ())], [*_OWN]
    if source == "builtin":
        everywhere.append(
            Permission(
                group=GROUP,
                resources=RESOURCES,
                verbs=("get", "list", "watch", "patch"),
                names=(installation.name,),
                feature="caBundle",
                reason=(
                    "to write the built-in authority's certificate into each caBundle, and to write it again if it is "
                    "overwritten"
                ),
            )
        )
        own += _certificates(installation)
    return (*everywhere, *own)


_EVERYWHERE = (
    Permission(
        resources=("namespaces",),
        verbs=("get", "list", "watch"),
        feature="injection",
        reason=("to read labels and annotations of namespaces, and to notice when they change"),
    ),
    Permission(
        resources=("configmaps",),
        verbs=("create",),
        feature="config files",
        reason="config files of sidecars: ConfigMaps in the pods' namespaces, owned by the pods' controllers",
    ),
    Permission(
        resources=("configmaps",),
        verbs=("get",),
        optional=True,
        feature="comparison of config files",
        reason="to see whether the injector made a ConfigMap whose name is already in use",
    ),
    Permission(
        resources=("resourcequotas", "limitranges"),
        verbs=("list", "watch"),
        optional=True,
        feature="checking quotas beforehand",
        reason="to know beforehand that a quota or a limit range would refuse the pod with its sidecar",
    ),
    Permission(
        group="events.k8s.io",
        resources=("events",),
        verbs=("create",),
        optional=True,
        feature="Events",
        reason="to write Events on a pod's owner that say why the pod runs without its sidecar or was refused",
    ),
)
_RETRY = (
    "to make controllers try again after an outage; a ValidatingAdmissionPolicy denies the injector every other "
    "change to them"
)
_RETRIES = (
    Permission(
        group="events.k8s.io",
        resources=("events",),
        verbs=("list", "watch"),
        optional=True,
        feature="retries",
        reason="to find controllers whose pods were refused during an outage",
    ),
    Permission(
        group="apps",
        resources=("replicasets/status", "statefulsets/status", "daemonsets/status"),
        verbs=("get", "patch"),
        optional=True,
        feature="retries",
        reason=_RETRY,
    ),
    Permission(
        group="batch",
        resources=("jobs/status",),
        verbs=("get", "patch"),
        optional=True,
        feature="retries",
        reason=_RETRY,
    ),
)
_OWN = (
    Permission(
        resources=("configmaps",),
        verbs=("list", "watch"),
        everywhere=False,
        feature="template ConfigMaps",
        reason="templates that are ConfigMaps of this namespace",
    ),
)


def _certificates(installation: Installation) -> tuple[Permission, ...]:
    deleted = "to create the object, and to create it again after it was deleted; RBAC cannot limit create to a name"
    return (
        Permission(
            resources=("secrets",),
            verbs=("get", "list", "watch", "update"),
            names=(f"{installation.name}-certificates",),
            everywhere=False,
            feature="built-in certificates",
            reason="the built-in authority's certificates and keys",
        ),
        Permission(
            resources=("secrets",),
            verbs=("create",),
            everywhere=False,
            feature="built-in certificates",
            reason=deleted,
        ),
        Permission(
            group="coordination.k8s.io",
            resources=("leases",),
            verbs=("get", "update"),
            names=(installation.name,),
            everywhere=False,
            feature="leader",
            reason="to choose the replica that renews the certificates",
        ),
        Permission(
            group="coordination.k8s.io",
            resources=("leases",),
            verbs=("create",),
            everywhere=False,
            feature="leader",
            reason=deleted,
        ),
    )
