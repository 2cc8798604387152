"""Before an installation: whether this cluster will take it, and whether this person may install it."""

from __future__ import annotations

from collections import Counter
from itertools import product

from injector.cli.checks import api_server
from injector.cli.checks.check_context import CheckContext, CheckVerdicts, Section, bad, good, some, warning
from injector.cli.checks.granted_permissions import requests, review
from injector.cli.checks.namespace_labels import labels_of, own_labels
from injector.cli.checks.other_webhooks import goes_by
from injector.cluster.blocking_client import ClusterError
from injector.cluster.installation import API, GROUP, KINDS, RESOURCES, Installation, configuration_path
from injector.cluster.permissions import permissions
from injector.settings import Settings

_PLUGINS = ("MutatingAdmissionWebhook", "ValidatingAdmissionWebhook")
_OWN = (
    ("", ("serviceaccounts", "services", "secrets", "configmaps")),
    ("apps", ("deployments",)),
    ("policy", ("poddisruptionbudgets",)),
    ("rbac.authorization.k8s.io", ("roles", "rolebindings")),
)
_EVERYWHERE = (
    ("rbac.authorization.k8s.io", ("clusterroles", "clusterrolebindings")),
    (GROUP, RESOURCES),
)
_SELF = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_LEVEL = "pod-security.kubernetes.io/enforce"


def plugins(context: CheckContext) -> CheckVerdicts:
    """Webhooks are called by two admission plugins, on by default. Where the API server is a pod, its flags show."""
    context.live.get(API, "the API of webhooks")
    query = {"labelSelector": "component=kube-apiserver"}
    try:
        pods = list(context.live.objects("/api/v1/namespaces/kube-system/pods", query))
    except ClusterError:
        pods = []
    arguments = [
        word
        for pod in pods
        for container in pod["spec"]["containers"]
        for word in (*(container.get("command") or ()), *(container.get("args") or ()))
    ]
    flag = "--disable-admission-plugins="
    off = {plugin for word in arguments if word.startswith(flag) for plugin in word.removeprefix(flag).split(",")}
    for plugin in _PLUGINS:
        if plugin in off:
            to_do = f"take it out of {flag.rstrip('=')} of kube-apiserver"
            kind = "mutating" if plugin.startswith("Mutating") else "validating"
            text = f"admission plugin {plugin} is switched off: no {kind} webhook is called"
            yield bad("admission-plugin", text, to_do)
    if not off & set(_PLUGINS):
        yield good("admission-plugin", "admission webhooks are enabled")


def person(context: CheckContext) -> CheckVerdicts:
    """Whether you may create what the chart creates, and grant its permissions: for this you need them, or `escalate`.

    https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping
    """
    namespace = context.namespace
    attributes = [{"group": "", "resource": "namespaces", "verb": "create"}]
    for (group, resources), verb in product(_OWN, ("create", "patch")):
        attributes += [{"group": group, "resource": r, "verb": verb, "namespace": namespace} for r in resources]
    for (group, resources), verb in product(_EVERYWHERE, ("create", "patch")):
        attributes += [{"group": group, "resource": r, "verb": verb} for r in resources]
    escalate = [{"group": "rbac.authorization.k8s.io", "resource": "clusterroles", "verb": "escalate"}]
    granted = [a for line in permissions(Installation(namespace=namespace)) for a in requests(line, namespace)]
    everything = [*attributes, *escalate, *granted]
    answers = context.live.answers(_SELF, [review("SelfSubjectAccessReview", a) for a in everything])
    allowed = [bool(answer.get("status", {}).get("allowed")) for answer in answers]
    denied = [a for a, ok in zip(everything, allowed, strict=True) if not ok]
    missing = [a for a in denied if a in attributes]
    if not allowed[len(attributes)]:
        missing += [a for a in denied if a in granted]
    if missing:
        actions = list(dict.fromkeys(f"{a['verb']} {a['resource']}" for a in missing))
        to_do = "install as an admin of the cluster (ClusterRole cluster-admin)"
        yield bad("may-install", f"you may not {', '.join(actions)}", to_do, missing=actions)
    else:
        yield good("may-install", "you may create what an installation needs, and grant its permissions")


def label(context: CheckContext) -> CheckVerdicts:
    """Who already uses the namespace label of a new installation."""
    name = Settings().namespace_label
    rivals = [
        f"{configuration['metadata']['name']}: {entry['name']}"
        for configuration in context.live.objects(configuration_path(KINDS[0]))
        for entry in configuration.get("webhooks") or ()
        if configuration not in context.configurations and goes_by(entry, name)
    ]
    counts = Counter(labels_of(namespace).get(name.key) for namespace in context.namespaces)
    totals = ", ".join(f"{name.key}={value}: {count}" for value, count in sorted(counts.items(), key=str) if value)
    to_do = "choose another one: namespaceLabel in the settings (docs/settings.md)"
    if context.configurations:
        message = f"an injector is installed already, in namespace {context.namespace}"
        yield warning("installed", message, "check it with injector check (without --pre); change it with helm upgrade")
    elif rivals:
        yield bad("label-free", f"label {name.key} is used by {', '.join(rivals)}", to_do)
    elif totals:
        who = f"their new pods will be injected if the value is {name.enabled} or {name.required}"
        text = f"namespaces have label {name.key} already ({totals}): {who}"
        yield warning("label-free", text, f"remove the label where you do not want that, or {to_do}")
    else:
        yield good("label-free", f"label {name.key} is free")


def pod_security(context: CheckContext) -> CheckVerdicts:
    """https://kubernetes.io/docs/concepts/security/pod-security-admission/: the injector runs under `restricted`."""
    own = own_labels(context)
    if own is None:
        yield good("pod-security", f"namespace {context.namespace} does not exist yet")
    else:
        level = own.get(_LEVEL, "the cluster's default")
        yield good(
            "pod-security",
            f"namespace {context.namespace} exists, with Pod Security {level}: the injector complies",
        )
    strict = [
        namespace["metadata"]["name"]
        for namespace in context.namespaces
        if labels_of(namespace).get(_LEVEL) in ("baseline", "restricted")
        and namespace["metadata"]["name"] != context.namespace
    ]
    if strict:
        yield warning(
            "pod-security",
            f"in namespace {some(strict)}, Pod Security refuses sidecars that need NET_ADMIN",
            "use templates there that need no privilege, such as the gallery's envoy with intercept: ports",
            namespaces=strict,
        )


SECTIONS = (
    api_server.SECTION,
    Section("before-installation", (plugins, person, label, pod_security)),
)
