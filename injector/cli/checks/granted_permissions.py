"""What the injector's service account may do, against the table of what it needs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from injector.cli.checks.check_context import INSTALL, CheckContext, CheckVerdicts, Section, bad, good, warning
from injector.cluster.blocking_client import ClusterError
from injector.cluster.permissions import Permission, permissions
from injector.diagnostics import Diagnostic
from injector.names import flow_value
from injector.pods.context import Object, filled

_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


def service_account(context: CheckContext) -> CheckVerdicts:
    """SubjectAccessReviews: https://kubernetes.io/docs/reference/access-authn-authz/authorization/."""
    namespace = context.namespace
    account = str(context.pod_spec.get("serviceAccountName") or context.installation.name)
    if not context.is_there("/api/v1", "serviceaccounts", account):
        yield bad("service-account", f"there is no service account {namespace}/{account}", INSTALL, account=account)
        return
    settings = context.settings
    lines = permissions(
        context.installation,
        settings.certificates.source,
        retry_refused=settings.retry_refused,
        repair=settings.repair.mode == "missing",
        team_templates=settings.team_templates.namespaces is not None,
    )
    user = f"system:serviceaccount:{namespace}:{account}"
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"]
    questions = [(line, attributes) for line in lines for attributes in requests(line, namespace)]
    bodies = [review("SubjectAccessReview", a, {"user": user, "groups": groups}) for _, a in questions]
    try:
        answers = context.live.answers(_REVIEWS, bodies, subject="asking what the service account may do")
    except ClusterError as error:
        if error.status != 403:
            raise
        to_do = "run the command as a user who may create subjectaccessreviews (an admin)"
        yield warning("permissions", f"not checked: {error}", to_do)
        return
    answered = list(zip(questions, answers, strict=True))
    denied = [question for question, answer in answered if not answer.get("status", {}).get("allowed")]
    for line in lines:
        yield _verdict(line, [attributes for its, attributes in denied if its is line], f"{namespace}/{account}")


def _verdict(line: Permission, denied: list[Object], account: str) -> Diagnostic:
    check = f"permission {line.feature}"
    if not denied:
        return good(check, f"{line.feature}: may {permission_words(line)}")
    actions = ", ".join(dict.fromkeys(f"{a['verb']} {a['resource']}" for a in denied))
    kind, scope = ("ClusterRole", "all namespaces") if line.everywhere else ("Role", "its own namespace")
    text = f"{line.feature}: service account {account} may not {actions} in {scope} ({line.reason})"
    rule = f"add the rule {flow_value(line.rule())} to the injector's {kind}"
    to_do = f"apply the chart again, or {rule}, and make sure that a {kind}Binding binds this {kind}"
    if line.optional:
        return warning(check, f"{text}; the injector works without this feature", to_do, role=kind)
    return bad(check, text, to_do, role=kind)


def permission_words(line: Permission) -> str:
    """`get, list namespaces`, with the names that it is limited to."""
    only = f" named {', '.join(line.names)}" if line.names else ""
    return f"{', '.join(line.verbs)} {', '.join(line.resources)}{only}"


def requests(line: Permission, namespace: str) -> Iterator[Object]:
    """The resourceAttributes of every single right in a line."""
    for resource, verb, name in product(line.resources, line.verbs, line.names or ("",)):
        limits = {"namespace": "" if line.everywhere else namespace, "name": name}
        yield {"group": line.group, "resource": resource, "verb": verb} | filled(limits)


def review(kind: str, attributes: Object, more: Object | None = None) -> Object:
    """A SubjectAccessReview or a SelfSubjectAccessReview."""
    spec = {"resourceAttributes": attributes, **(more or {})}
    return {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}


SECTION = Section("permissions", (service_account,))
