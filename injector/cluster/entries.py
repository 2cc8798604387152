"""What the webhook configurations should be, from the settings; the chart says the same in its own language.

The fields are those of https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/; the
page docs/serving.md explains each. Only `caBundle` is missing here: it belongs to the certificates. In the expressions,
which are CEL, `?` marks an optional field: https://kubernetes.io/docs/reference/using-api/cel/
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from injector.cluster.installation import Installation
from injector.pods.context import filled, mapping_at, mappings_at
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
            *_team_sources_entry(settings, installation),
            *_path_entries("validating", settings, installation, catalog),
        ),
    )


def _sources_entry(settings: Settings, installation: Installation) -> Entry:
    """The entry for the ConfigMaps that a reload reads: templates, by their label, and the settings, by their name.

    Not by an objectSelector, which is what a pause puts on an entry.
    """
    name = f"o.metadata.name == {string_expression(installation.name)}"
    expression = f"[object, oldObject].exists(o, o != null && ({_is_template('o', settings)} || {name}))"
    return {
        **_trial_entry(installation, settings, (*_CHANGES, "DELETE")),
        "name": installation.entry_name("sources"),
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": installation.namespace}},
        "matchConditions": [condition("template-or-settings", expression)],
    }


def _team_sources_entry(settings: Settings, installation: Installation) -> Iterator[Entry]:
    """The entry for templates of teams, where there may be some."""
    if (selector := settings.team_templates.namespaces) is not None:
        yield {
            **_trial_entry(installation, settings, _CHANGES),
            "name": installation.entry_name("team-sources"),
            "namespaceSelector": _all_of(settings.ignoring(installation.namespace).ignored_namespaces, selector),
            "matchConditions": [condition("template", _is_template("object", settings))],
        }


def _is_template(obj: str, settings: Settings) -> str:
    """Whether the label of an object says that it is a template."""
    return f"{obj}.metadata.?labels[?{string_expression(settings.template_label)}].orValue('') == 'true'"


def _trial_entry(installation: Installation, settings: Settings, operations: tuple[str, ...]) -> Entry:
    """What the entries have in common that try ConfigMaps."""
    return {
        **_entry(
            installation,
            settings.server.trial_paths[0],
            [webhook_rule(AppliesTo(resources=("configmaps",), operations=operations))],
        ),
        "timeoutSeconds": _SOURCES_SECONDS,
        "failurePolicy": "Ignore",
        "sideEffects": "None",
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
    label = {"key": settings.namespace_label.key, "operator": operator, "values": list(values)}
    return _all_of(left_alone, installation.namespaces or {}, *([label] if operator else ()))


def _all_of(left_alone: Iterable[str], more: Entry, *expressions: Entry) -> Entry:
    """The selector of namespaces that these expressions and the selector `more` match, without some by name."""
    return {
        "matchExpressions": [
            *expressions,
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
