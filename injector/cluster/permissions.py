"""The table of permissions: what the injector's service account may do, each line with the feature that needs it.

The chart's ClusterRole and Role say the same, and nothing else. Rules: https://kubernetes.io/docs/reference/access-authn-authz/rbac/
(`create` cannot be limited to names, as the name is not known when the request is judged; `list` and `watch` can,
for requests with the field selector `metadata.name`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Literal, NamedTuple

from injector.cluster.installation import GROUP, RESOURCES, Installation
from injector.pods.context import filled

#: Where the certificate comes from: the setting `certificates.source`.
CertificateSourceName = Literal["files", "builtin", "cert-manager", "csr"]


class Permission(NamedTuple):
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


def _line(verbs: str, resources: str, feature: str, reason: str, **more: Any) -> Permission:
    """A line from its words."""
    return Permission(tuple(resources.split()), tuple(verbs.split()), feature, reason, **more)


_own_line = partial(_line, everywhere=False)
_optional_line = partial(_line, optional=True)


def permissions(
    installation: Installation,
    source: CertificateSourceName = "builtin",
    *,
    retry_refused: bool = False,
    repair: bool = False,
    team_templates: bool = False,
) -> tuple[Permission, ...]:
    """All lines for an installation whose certificate comes from `source`; first those that hold everywhere."""
    built_in = source == "builtin"
    lines = (
        *_EVERYWHERE,
        *(_RETRIES if retry_refused else ()),
        *(_repair(installation) if repair else ()),
        *(_TEAM_TEMPLATES if team_templates else ()),
        *(_bundles(installation) if built_in else ()),
        _TEMPLATES,
        *(_certificates(installation) if built_in else ()),
    )
    return tuple(sorted(lines, key=lambda line: not line.everywhere))


_EVERYWHERE = (
    _line(
        "get list watch",
        "namespaces",
        "injection",
        "to read labels and annotations of namespaces, and to notice when they change",
    ),
    _line(
        "create",
        "configmaps",
        "config files",
        "config files of sidecars in the pods' namespaces, owned by the pods' controllers; and the kept gallery",
    ),
    _optional_line(
        "get",
        "configmaps",
        "comparison of config files",
        "to see whether the injector made a ConfigMap whose name is already in use",
    ),
    _optional_line(
        "list watch",
        "resourcequotas limitranges",
        "checking quotas beforehand",
        "to know beforehand that a quota or a limit range would refuse the pod with its sidecar",
    ),
    _optional_line(
        "create",
        "events",
        "Events",
        "to write Events on a pod's owner that say why the pod runs without its sidecar or was refused",
        group="events.k8s.io",
    ),
)
_TEAM_TEMPLATES = (
    _optional_line(
        "get list watch",
        "configmaps",
        "teams' templates",
        "templates of teams in the namespaces that `teamTemplates` selects; RBAC cannot limit it to a label",
    ),
)
_RETRY = (
    "to make controllers try again after an outage; a ValidatingAdmissionPolicy denies the injector every other "
    "change to them"
)
_RETRIES = (
    _optional_line(
        "list watch",
        "events",
        "retries",
        "to find controllers whose pods were refused during an outage",
        group="events.k8s.io",
    ),
    _optional_line(
        "get patch", "replicasets/status statefulsets/status daemonsets/status", "retries", _RETRY, group="apps"
    ),
    _optional_line("get patch", "jobs/status", "retries", _RETRY, group="batch"),
)
_LEASES = "coordination.k8s.io"
_CREATED = "to create the object, and to create it again after it was deleted; RBAC cannot limit create to a name"
_TEMPLATES = _own_line(
    "list watch",
    "configmaps",
    "template ConfigMaps",
    "templates that are ConfigMaps of this namespace, and the kept gallery",
)


def _bundles(installation: Installation) -> Iterator[Permission]:
    yield _line(
        "get list watch patch",
        " ".join(RESOURCES),
        "caBundle",
        "to write the built-in authority's certificate into each caBundle, and to write it again if it is overwritten",
        group=GROUP,
        names=(installation.name,),
    )


def _certificates(installation: Installation) -> Iterator[Permission]:
    certificates = "built-in certificates"
    yield _own_line(
        "get list watch update",
        "secrets",
        certificates,
        "the built-in authority's certificates and keys",
        names=(f"{installation.name}-certificates",),
    )
    yield _own_line("create", "secrets", certificates, _CREATED)
    yield _own_line(
        "get update",
        "leases",
        "leader",
        "to choose the replica that renews the certificates",
        group=_LEASES,
        names=(installation.name,),
    )
    yield _own_line("create", "leases", "leader", _CREATED, group=_LEASES)


def _repair(installation: Installation) -> Iterator[Permission]:
    optional = partial(_optional_line, feature="repair")
    yield optional(
        "get list",
        "pods",
        reason="to find pods that lack their sidecars, and to see whether their successors are healthy",
    )
    yield optional(
        "create", "pods/eviction", reason="to evict pods that lack their sidecars; PodDisruptionBudgets count"
    )
    yield optional(
        "get",
        "deployments statefulsets daemonsets replicasets",
        reason="to see whether a workload is paused, scaled to zero or healthy",
        group="apps",
    )
    yield optional("get", "rollouts", reason="the same of Argo Rollouts", group="argoproj.io")
    yield optional(
        "get",
        "mutatingwebhookconfigurations",
        reason="to see for which pods the injector is called, and whether it is paused",
        group=GROUP,
        names=(installation.name,),
    )
    yield optional(
        "get update patch",
        "leases",
        reason="to choose the replica that evicts, and to write down why it has stopped",
        group=_LEASES,
        names=(f"{installation.name}-repair",),
        everywhere=False,
    )
    yield optional("create", "leases", reason=_CREATED, group=_LEASES, everywhere=False)
