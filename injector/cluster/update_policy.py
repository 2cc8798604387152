"""What keeps a running sidecar as it is: a ValidatingAdmissionPolicy for `required` namespaces, and its binding.

The webhooks see pods when they are created. Later whoever may update pods can set another image, resize a container,
change an annotation that a sidecar reads, or join a container of his own. The API server refuses that by itself,
because the receipt names what belongs to the sidecars. CEL reads no JSON, so the receipt is split as a text, at the
quotes of its pointers, and once for all containers: with its budget spent an expression refuses every update.
https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.cluster.entries import condition, namespaces_selected, string_expression, webhook_rule, words
from injector.cluster.installation import API_VERSION, Installation
from injector.pods.context import Object
from injector.settings import Settings
from injector.templates.template import AppliesTo

#: Whether an ephemeral container targets no sidecar and mounts none of its volumes.
_APART = (
    "!(c.?targetContainerName.orValue('') in variables.initContainers) && "
    "!(c.?targetContainerName.orValue('') in variables.containers) && "
    "c.?volumeMounts.orValue([]).all(m, !(m.name in variables.volumes))"
)


def update_policy(settings: Settings, installation: Installation) -> tuple[Object, Object]:
    """The policy and its binding for an installation."""
    name = f"{installation.name}-updates"
    receipt = string_expression(settings.receipt_key)
    resized = ["pods/resize"] if settings.required.resources != "any" else []
    policy = {
        "apiVersion": API_VERSION,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "matchPolicy": "Equivalent",
                "namespaceSelector": namespaces_selected(
                    settings, installation, "In", settings.namespace_label.required
                ),
                "resourceRules": [
                    webhook_rule(
                        AppliesTo(resources=("pods", "pods/ephemeralcontainers", *resized), operations=("UPDATE",))
                    )
                ],
            },
            "matchConditions": [condition("has-a-receipt", f"oldObject.metadata.?annotations[?{receipt}].hasValue()")],
            "variables": [
                condition("before", "oldObject.metadata.?annotations.orValue({})"),
                condition("after", "object.metadata.?annotations.orValue({})"),
                condition("receipt", f"variables.before[{receipt}]"),
                *(_named(field) for field in ("initContainers", "containers", "volumes")),
                condition("joined", "oldObject.spec.?ephemeralContainers.orValue([]).map(c, c.name)"),
            ],
            "validations": [
                *(_same_containers(field) for field in ("initContainers", "containers")),
                _same_annotations(settings),
                *_same_label(settings.status_label),
                _validation(
                    f"object.spec.?ephemeralContainers.orValue([]).all(c, c.name in variables.joined || ({_APART}))",
                    "no ephemeral container may target the sidecars of this pod or mount their volumes: the namespace "
                    "requires the sidecars",
                ),
            ],
        },
    }
    return policy, {
        "apiVersion": API_VERSION,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }


def _validation(expression: str, message: str) -> Object:
    """Messages are short and of one line: the API server drops others."""
    return {"expression": expression, "message": message, "reason": "Forbidden"}


def _named(field: str) -> Object:
    """The variable with the names of the parts that the receipt names as a whole, not only one of their fields."""
    names = """.map(p, p.split('"')[0]).filter(p, !p.contains('/'))"""
    return condition(field, f"variables.receipt.split('\"/spec/{field}/'){names}")


def _same_containers(field: str) -> Object:
    ours = f".?{field}.orValue([]).filter(c, c.name in variables.{field})"
    return _validation(
        f"oldObject.spec{ours} == object.spec{ours}",
        "the sidecars of this pod cannot be changed: its namespace requires them",
    )


def _same_annotations(settings: Settings) -> Object:
    """The mark, the receipt, and config files that a downwardAPI volume reads."""
    free = words((settings.inject_key, settings.templates_key))
    ours = f"k.startsWith({string_expression(f'{settings.prefix}/')}) && !(k in {free})"
    unchanged = f"variables.before.all(k, !({ours}) || variables.after[?k].orValue('') == variables.before[k])"
    added = f"variables.after.all(k, !({ours}) || k in variables.before)"
    return _validation(f"{unchanged} && {added}", "the injector's annotations of this pod cannot be changed")


def _same_label(key: str) -> Iterator[Object]:
    """The label that says what the mark says; nothing where there is none."""
    if key:
        value = f"metadata.?labels[?{string_expression(key)}].orValue('')"
        before, after = f"oldObject.{value}", f"object.{value}"
        yield _validation(f"{before} == {after}", f"the label {key} of this pod cannot be changed")
