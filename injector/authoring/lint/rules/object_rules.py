"""Rules about the requests that a template at a path is for."""

from __future__ import annotations

from injector.authoring.lint.subject import Finding, Findings, Subject
from injector.names import flow_value, hint
from injector.templates.template import OVERLAY

SEVERITY = "error"


def deleted_object(subject: Subject) -> Findings:
    """The template reads `object`, and is only for deletions.

    In a DELETE request, `object` is {}, and `oldObject` is the object to delete. So a condition on `object` gives
    the same result for every object.

    Source: Kubernetes docs, "Dynamic Admission Control", the request of an AdmissionReview: `object` is null for
    DELETE.

    Bad:
        # template.yaml
        description: Keeps claims with the label keep=yes.
        for: {resources: [persistentvolumeclaims], operations: [DELETE]}
        # overlay.yaml.j2
        {% if object.metadata.labels.keep | default("no") == "yes" %}{{ deny("it has the label keep=yes") }}{% endif %}
        {{ warn("its volume may be deleted too") }}

    Good:
        # overlay.yaml.j2
        {% if oldObject.metadata.labels.keep | default("no") == "yes" %}{{ deny("it has the label keep=yes") }}{% endif %}
        {{ warn("its volume may be deleted too") }}

    Proof: the API server's reference says which objects a review contains, and no API server refuses such a template.
    """  # noqa: E501
    read = sorted({"object", "pod"} & subject.template.program.names)
    if read and set(subject.template.applies_to.operations) == {"DELETE"}:
        place = next((p for name in ("object.", "pod.", *read) if (p := subject.search(OVERLAY, name)).line), None)
        yield Finding(
            "the template is only for DELETE, where `object` is always {}",
            place or subject.line_place(OVERLAY, 1, 1),
            "read `oldObject`, the object that is deleted",
        )


def old_object(subject: Subject) -> Findings:
    """The template reads `oldObject`, and is not for UPDATE or DELETE.

    Only UPDATE and DELETE requests have an `oldObject`. In CREATE and CONNECT requests it is {}. Without
    `operations`, the key `for` is only for CREATE. Either add an operation to `for`, or read `object`.

    Source: Kubernetes docs, "Dynamic Admission Control", the request of an AdmissionReview: `oldObject` is
    populated for DELETE and UPDATE.

    Bad:
        # template.yaml
        description: The class of an Ingress stays.
        for: {apiGroups: [networking.k8s.io], resources: [ingresses]}
        # overlay.yaml.j2
        {% if object.spec.ingressClassName | default("") != oldObject.spec.ingressClassName | default("") %}
        {{ deny("the class of an Ingress stays as it is") }}
        {% endif %}
        metadata: {labels: {class: kept}}

    Good:
        # template.yaml
        description: The class of an Ingress stays.
        for: {apiGroups: [networking.k8s.io], resources: [ingresses], operations: [UPDATE]}

    Proof: the API server's reference says which objects a review contains, and no API server refuses such a template.
    """
    operations = subject.template.applies_to.operations
    if "oldObject" in subject.template.program.names and not {"UPDATE", "DELETE"}.intersection(operations):
        yield Finding(
            f"the template is only for {' and '.join(operations)}, where `oldObject` is always {{}}",
            subject.search(OVERLAY, "oldObject"),
            "name UPDATE or DELETE in `for`, or read `object`",
        )


#: What is in the groups without a dot, with the versions that are served: https://kubernetes.io/docs/reference/kubernetes-api/
_GROUPS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    group: (frozenset(versions.split()), frozenset(resources.split()))
    for group, versions, resources in (
        (
            "",
            "v1",
            "bindings componentstatuses configmaps endpoints events limitranges namespaces nodes "
            "persistentvolumeclaims persistentvolumes pods podtemplates replicationcontrollers "
            "resourcequotas secrets serviceaccounts services",
        ),
        ("apps", "v1", "controllerrevisions daemonsets deployments replicasets statefulsets"),
        ("autoscaling", "v1 v2", "horizontalpodautoscalers"),
        ("batch", "v1", "cronjobs jobs"),
        ("policy", "v1", "poddisruptionbudgets"),
    )
}

_ADMISSION = "admissionregistration.k8s.io"


def unknown_resource(subject: Subject) -> Findings:
    """`for` names a resource that does not exist, or for which the API server calls no webhook.

    A webhook entry may name any resource. If the resource does not exist, the API server never calls the webhook, so a
    policy allows everything, and there is no error. The rule checks the API groups of Kubernetes that have no dot in
    their names, because no other project can add resources to these groups. Names of resources are plurals. Most
    resources that create pods are in the groups `apps` and `batch`.

    For resources of the group admissionregistration.k8s.io the API server calls no webhook, because a webhook could
    lock everybody out.

    Source: Kubernetes API reference, `rules` of a webhook; CustomResourceDefinition v1: its group has a dot.

    Bad:
        # template.yaml
        description: Every Deployment has a label team.
        for: {resources: [deployments]}
        # overlay.yaml.j2
        {% if object.metadata.labels.team | default("") == "" %}{{ deny("label it with its team") }}{% endif %}

    Good:
        # template.yaml
        description: Every Deployment has a label team.
        for: {apiGroups: [apps], resources: [deployments]}

    Proof: the API server does not call the webhook, and does not report that.
    """
    covered = subject.template.applies_to
    if covered.api_groups == (_ADMISSION,):
        yield Finding(
            f"the API server calls no webhook for the resources of {_ADMISSION}",
            subject.manifest(("for", "apiGroups")),
            "use RBAC to limit who can write them",
        )
        return
    for position, group in enumerate(covered.api_groups):
        if "." not in group and group not in _GROUPS:
            yield Finding(
                f"{group} is not an API group",
                subject.manifest(("for", "apiGroups", position)),
                (
                    'write "" for the core group; other valid groups are apps, autoscaling, batch, policy, and all '
                    "names with a dot"
                ),
            )
    if not _GROUPS.keys() >= set(covered.api_groups):
        return
    for position, resource in enumerate(covered.resources):
        name = resource.partition("/")[0]
        of_groups = [_GROUPS[group] for group in covered.api_groups]
        if any(name in resources and not served.isdisjoint(covered.api_versions) for served, resources in of_groups):
            continue
        versions = ", ".join(covered.api_versions)
        groups = " or ".join(group or "the core group" for group in covered.api_groups)
        yield Finding(
            f"{resource} is not a resource of {groups} in {versions}",
            subject.manifest(("for", "resources", position)),
            _advice(name, covered.api_groups),
        )


def _advice(name: str, groups: tuple[str, ...]) -> str:
    for group, (versions, resources) in _GROUPS.items():
        if name in resources:
            api_groups = [] if group in groups else [f"apiGroups: [{flow_value(group)}]"]
            return f"write {', '.join([*api_groups, f'apiVersions: [{sorted(versions)[0]}]'])}"
    names = sorted(set().union(*(resources for _, resources in _GROUPS.values())))
    return f"`kubectl api-resources` lists what there is{hint(name, names)}"
