"""What the webhook configurations should be, from the settings; the chart says the same in its own language. And what
keeps a running sidecar as it is: a ValidatingAdmissionPolicy for `required` namespaces, and its binding.

The fields are those of https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/; the
page docs/serving.md explains each. Only `caBundle` is missing here: it belongs to the certificates. In the expressions,
which are CEL, `?` marks an optional field: https://kubernetes.io/docs/reference/using-api/cel/

The webhooks see pods when they are created. Later whoever may update pods can set another image, resize a container,
change an annotation that a sidecar reads, or join a container of his own. The API server refuses that by itself,
because the receipt names what belongs to the sidecars. CEL reads no JSON, so the receipt is split as a text, at the
quotes of its pointers, and once for all containers: with its budget spent an expression refuses every update.
https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from injector.cluster.installation import API_VERSION, Installation
from injector.pods.context import Object, filled, mapping_at, mappings_at
from injector.settings import Settings
from injector.templates.snapshot import Catalog
from injector.templates.template import AppliesTo


def string_expression(value: str) -> str:
    """A CEL string."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def words(values: Iterable[str]) -> str:
    """A CEL list of strings."""
    return f"[{', '.join(map(string_expression, values))}]"


def in_any_case(field: str, key: str) -> str:
    """The value of an annotation or label in lower case, "" where there is none; `field` is `annotations` or `labels`.

    The settings' words for yes and no are in lower case.
    """
    return f"object.metadata.?{field}[?{string_expression(key)}].orValue('').lowerAscii()"


def selected(selector: Entry) -> str:
    """Whether the pod's labels match a LabelSelector; an empty one matches all.

    https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
    """
    parts = [_expression(key, "In", [value]) for key, value in sorted(mapping_at(selector, "matchLabels").items())]
    parts += [
        _expression(e["key"], e["operator"], e.get("values") or ()) for e in mappings_at(selector, "matchExpressions")
    ]
    return " && ".join(parts) or "true"


def _expression(key: str, operator: str, values: Iterable[str]) -> str:
    label = f"object.metadata.?labels[?{string_expression(key)}]"
    # Not by optMap, which reads better: Kubernetes 1.30 refuses an expression that has it twice.
    match operator:
        case "In":
            return f"({label}.hasValue() && {label}.value() in {words(values)})"
        case "NotIn":
            return f"!({label}.hasValue() && {label}.value() in {words(values)})"
        case "Exists":
            return f"{label}.hasValue()"
        case _:
            return f"!{label}.hasValue()"


#: One webhook of a configuration, as in its manifest.
Entry = dict[str, Any]

_NO_TEMPLATES = Catalog()


def webhook_rule(covered: AppliesTo, scope: str = "Namespaced") -> Entry:
    """A rule of a webhook configuration, for these requests."""
    return {
        "apiGroups": list(covered.api_groups),
        "apiVersions": list(covered.api_versions),
        "operations": list(covered.operations),
        "resources": list(covered.resources),
        "scope": scope,
    }


_CHANGES = ("CREATE", "UPDATE")
_PODS = [webhook_rule(AppliesTo())]
_WORKLOADS = [
    webhook_rule(
        AppliesTo(
            ("apps",), resources=("deployments", "statefulsets", "daemonsets", "replicasets"), operations=_CHANGES
        )
    ),
    webhook_rule(AppliesTo(("batch",), resources=("jobs", "cronjobs"), operations=_CHANGES)),
]
_CONFIG_MAPS = [webhook_rule(AppliesTo(resources=("configmaps",), operations=(*_CHANGES, "DELETE")))]


def condition(name: str, expression: str) -> Entry:
    """An expression under its name: a condition of a webhook or a policy, or a policy's variable."""
    return {"name": name, "expression": expression}


#: A trial takes longer than a pod's review, and only who applies a template waits for it.
_SOURCES_SECONDS = 10
_NOT_A_MIRROR_POD = condition(
    "not-a-mirror-pod", "!(object.metadata.?annotations[?'kubernetes.io/config.mirror'].hasValue())"
)
#: A ReplicaSet of a Deployment, a Job of a CronJob: nobody reads the warnings that its controller is given.
_NOT_OF_A_CONTROLLER = condition(
    "not-of-a-controller", "!object.metadata.?ownerReferences.orValue([]).exists(o, o.?controller.orValue(false))"
)
#: A new status is nothing new. What stands on the workload itself is: people put there by mistake what is for its pods.
_SOMETHING_IS_NEW = condition(
    "something-is-new",
    " || ".join(
        (
            "request.operation == 'CREATE'",
            "object.spec != oldObject.spec",
            "object.metadata.?annotations.orValue({}) != oldObject.metadata.?annotations.orValue({})",
            "object.metadata.?labels.orValue({}) != oldObject.metadata.?labels.orValue({})",
        )
    ),
)


class Entries(NamedTuple):
    """The entries of the mutating and of the validating configuration, in their order."""

    mutating: tuple[Entry, ...]
    validating: tuple[Entry, ...]


def entries(settings: Settings, installation: Installation, catalog: Catalog = _NO_TEMPLATES) -> Entries:
    """The webhook entries for these settings: those of the namespace label, then one for each of the settings' `paths`.

    `catalog` has the templates of the paths. A path with a template that is not in it gets no entry, because nobody
    knows for which objects the API server would have to call the path. The entries have all fields that the API server
    would default, except `matchPolicy`, `objectSelector`, `matchConditions` of a path's entry, and
    `clientConfig.caBundle`.
    """
    label, server = settings.namespace_label, settings.server
    mutate, validate, advise = server.mutate_paths[0], server.validate_paths[0], server.advise_paths[0]

    def entry(path: str, name: str, policy: str, conditions: list[Entry], operator: str, *values: str) -> Entry:
        return {
            **_entry(installation, path, _WORKLOADS if path == advise else _PODS),
            "sideEffects": "NoneOnDryRun" if path == mutate else "None",
            **({"reinvocationPolicy": "IfNeeded"} if path == mutate else {}),
            "name": installation.entry_name(name),
            "failurePolicy": policy,
            "namespaceSelector": namespaces_selected(settings, installation, operator, *values),
            "matchConditions": conditions,
        }

    no, opted_in = [_NOT_A_MIRROR_POD], [_NOT_A_MIRROR_POD, _asks_for_it(settings)]
    for kind in ("annotation", "label"):
        says_no = f"{in_any_case(f'{kind}s', settings.inject_key)} in {words(settings.no_values)}"
        no.append(condition(f"{kind}-does-not-say-no", f"!({says_no})"))
    labels, news = (label.enabled, label.required, label.disabled), [_NOT_OF_A_CONTROLLER, _SOMETHING_IS_NEW]
    return Entries(
        mutating=(
            entry(mutate, "enabled", installation.enabled_failure_policy, no, "In", label.enabled),
            entry(mutate, "required", "Fail", [_NOT_A_MIRROR_POD], "In", label.required),
            entry(mutate, "opted-in", installation.opted_in_failure_policy, opted_in, "NotIn", *labels),
            *_path_entries("mutating", settings, installation, catalog),
        ),
        validating=(
            entry(validate, "guard", "Fail", [_NOT_A_MIRROR_POD], "In", label.required),
            entry(advise, "advice", "Ignore", news, "In", label.enabled, label.required),
            _sources_entry(settings, installation),
            *_path_entries("validating", settings, installation, catalog),
        ),
    )


def _sources_entry(settings: Settings, installation: Installation) -> Entry:
    """The entry for the ConfigMaps that a reload reads: templates, by their label, and the settings, by their name.

    Not by an objectSelector, which is what a pause puts on an entry.
    """
    label = f"o.metadata.?labels[?{string_expression(settings.template_label)}].orValue('') == 'true'"
    name = f"o.metadata.name == {string_expression(installation.name)}"
    expression = f"[object, oldObject].exists(o, o != null && ({label} || {name}))"
    return {
        **_entry(installation, settings.server.trial_paths[0], _CONFIG_MAPS),
        "timeoutSeconds": _SOURCES_SECONDS,
        "name": installation.entry_name("sources"),
        "failurePolicy": "Ignore",
        "sideEffects": "None",
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": installation.namespace}},
        "matchConditions": [condition("template-or-settings", expression)],
    }


def _path_entries(kind: str, settings: Settings, installation: Installation, catalog: Catalog) -> Iterator[Entry]:
    """The entries of the settings' paths in one of the two configurations, in the settings' order.

    The scope is `*`: a template names resources, and only the API server knows whether their objects are in namespaces.
    """
    for path, at in settings.paths.items():
        if at.type != kind or catalog.missing(at.templates):
            continue
        requests = dict.fromkeys(template.applies_to for template in catalog.found(at.templates))
        entry = _entry(installation, path, [webhook_rule(covered, "*") for covered in requests]) | {
            "name": installation.path_entry(path),
            "failurePolicy": at.failure_policy,
            "sideEffects": "None",
            "namespaceSelector": namespaces_selected(settings, installation),
        }
        yield entry | ({"reinvocationPolicy": "IfNeeded"} if kind == "mutating" else {})


def _entry(installation: Installation, path: str, rules: list[Entry]) -> Entry:
    """What the entries of one path have in common."""
    service = {"name": installation.name, "namespace": installation.namespace, "path": path, "port": installation.port}
    return {
        "clientConfig": {"service": service},
        "rules": rules,
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": installation.timeout_seconds,
    }


def namespaces_selected(settings: Settings, installation: Installation, operator: str = "", *values: str) -> Entry:
    """The namespaceSelector: checks the label, leaves out the ignored namespaces, and stays within the allowed ones.

    Without an operator the label is not checked. Cluster-scoped objects always match.
    """
    left_alone = settings.ignoring(installation.namespace).ignored_namespaces
    more = installation.namespaces or {}
    label = {"key": settings.namespace_label.key, "operator": operator, "values": list(values)}
    return {
        "matchExpressions": [
            *([label] if operator else ()),
            {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": list(left_alone)},
            *more.get("matchExpressions", ()),
        ]
    } | filled({"matchLabels": more.get("matchLabels")})


def _asks_for_it(settings: Settings) -> Entry:
    """The pod says yes, or `alwaysSelector` selects it; other pods of unlabelled namespaces cause no call.

    With `podDefault: named` a pod says yes by naming its templates.
    """
    yes = words(settings.yes_values)
    says_yes = [f"{in_any_case(field, settings.inject_key)} in {yes}" for field in ("annotations", "labels")]
    if settings.pod_default == "named":
        says_yes.append(f"{in_any_case('annotations', settings.templates_key)} != ''")
    if settings.always_selector is None:
        return condition("annotation-or-label-says-yes", " || ".join(says_yes))
    always = selected(settings.always_selector)
    return condition("says-yes-or-is-always-selected", " || ".join([*says_yes, f"({always})"]))


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
