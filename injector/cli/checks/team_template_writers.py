"""Who may write the templates of teams: with the setting `teamTemplates`, everybody who may write ConfigMaps there."""

from __future__ import annotations

from collections import defaultdict

from injector.cli.checks.check_context import CheckContext, CheckVerdicts, good, some, warning
from injector.cluster.namespaces import namespace_of
from injector.pods.context import Object, mappings_at, sequence
from injector.pods.shape import string_map
from injector.templates.team import may_have_templates

_RBAC = "/apis/rbac.authorization.k8s.io/v1"
#: The label of bindings that Kubernetes makes, for its own parts and for those who may do everything.
_BOOTSTRAPPING = "kubernetes.io/bootstrapping"
#: Pods, and what is made into pods, by their API groups.
_PODS = {
    "": ("pods", "replicationcontrollers"),
    "apps": ("deployments", "statefulsets", "daemonsets", "replicasets"),
    "batch": ("jobs", "cronjobs"),
}


def team_template_writers(context: CheckContext) -> CheckVerdicts:
    """One line. Who writes a ConfigMap that pods name has code in these pods, also if he may not create pods."""
    if context.settings.team_templates.namespaces is None:
        return
    spaces = sorted(
        namespace.name
        for namespace in map(namespace_of, context.namespaces)
        if may_have_templates(namespace, context.settings)
    )
    writers, makers = _who_writes({"": ("configmaps",)}, context), _who_writes(_PODS, context)
    others = [(subject, space) for space in spaces for subject in sorted(writers[space] - writers[""])]
    without_pods = [
        *sorted(writers[""] - makers[""]),
        *(f"{subject} in {space}" for subject, space in others if subject not in makers[""] | makers[space]),
    ]
    data = {"everywhere": sorted(writers[""]), "others": [f"{subject} in {space}" for subject, space in others]}
    text = (
        f"namespaces that may have templates of their own: {len(spaces)}; who may write ConfigMaps in all of them: "
        f"{some(data['everywhere']) or 'nobody'}; in one of them: {some(data['others']) or 'nobody'}; "
        f"of these, who may not create pods: {some(without_pods) or 'nobody'}"
    )
    if without_pods:
        to_do = (
            "nothing to do if they may run code in the pods that name such a template; else take this permission "
            "away, or pin the templates in the pods (injector templates --team NAMESPACE)"
        )
        yield warning("team-template-writers", text, to_do, **data, withoutPods=without_pods)
    else:
        yield good("team-template-writers", text, **data)


def _who_writes(resources: dict[str, tuple[str, ...]], context: CheckContext) -> defaultdict[str, set[str]]:
    """Who may create or change objects, by the namespace where, "" for all; but Kubernetes itself, and the injector.

    `resources` are names of resources by their API group.
    """
    roles, subjects = set[tuple[str, str]](), defaultdict[str, set[str]](set)
    for path in ("clusterroles", "roles"):
        allowing = (role for role in context.live.objects(f"{_RBAC}/{path}") if _allows_to_write(role, resources))
        roles |= {(role["metadata"].get("namespace", ""), role["metadata"]["name"]) for role in allowing}
    for path in ("clusterrolebindings", "rolebindings"):
        for binding in context.live.objects(f"{_RBAC}/{path}"):
            space, reference = binding["metadata"].get("namespace", ""), binding["roleRef"]
            key = ("" if reference["kind"] == "ClusterRole" else space, reference["name"])
            if key in roles and _BOOTSTRAPPING not in string_map(binding, "labels"):
                subjects[space] |= {
                    "/".join(filter(None, (each["kind"], each.get("namespace"), each["name"])))
                    for each in mappings_at(binding, "subjects")
                    if each.get("namespace") != context.namespace
                }
    return subjects


def _allows_to_write(role: Object, resources: dict[str, tuple[str, ...]]) -> bool:
    return any(
        {group, "*"} & {*sequence(rule.get("apiGroups"))}
        and {*names, "*"} & {*sequence(rule.get("resources"))}
        and {"create", "update", "patch", "*"} & {*sequence(rule.get("verbs"))}
        for rule in mappings_at(role, "rules")
        for group, names in resources.items()
    )
