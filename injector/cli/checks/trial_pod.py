"""A pod, really injected: created by server-side dry run, so that all but the storing happens."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from contextlib import suppress

from injector.advice import help_for
from injector.cli.checks.check_context import CheckContext, CheckVerdicts, Section, bad, good, some, warning
from injector.cli.checks.namespace_labels import labelled, within
from injector.cli.live_setup import live_snapshot
from injector.cli.pages import page_to_open
from injector.cli.pod_remarks import OTHER_SCC, RANGE_KEY, user_range, users_outside
from injector.cluster.blocking_client import ClusterError
from injector.cluster.installation import is_paused
from injector.cluster.namespaces import namespace_of
from injector.diagnostics import Diagnostic, page_address
from injector.errors import SettingsError
from injector.inject import inject
from injector.pods.context import Object
from injector.pods.receipt import read_receipt
from injector.pods.shape import string_map
from injector.reasons import Effect
from injector.settings import Settings
from injector.templates.snapshot import Snapshot

_RUNS = 5


def injected(context: CheckContext) -> CheckVerdicts:
    """One namespace of `enabled` and one of `required`: the first by name that the webhooks are called for."""
    label = context.settings.namespace_label
    if any(map(is_paused, context.entries.values())):
        yield warning("injection", "no pod was tried, because webhook entries are paused", "injector resume")
        return
    namespaces = [
        namespace
        for value in (label.enabled, label.required)
        for namespace in [n for n in labelled(context, value) if within(context, n)][:1]
    ]
    for namespace in namespaces:
        yield from _try(context, namespace)
    if not namespaces:
        to_do = f"kubectl label namespace NAME {label.key}={label.enabled}, then check again"
        yield warning("injection", "no pod was tried: no namespace has its pods injected", to_do)


def _try(context: CheckContext, namespace: Object) -> CheckVerdicts:
    name, settings = namespace["metadata"]["name"], context.settings
    pod, seconds = plain_pod(settings), []
    try:
        for _ in range(_RUNS):
            begin = time.perf_counter()
            path = f"/api/v1/namespaces/{name}/pods"
            pod_made = context.live.send(
                "POST", path, pod, {"dryRun": "All"}, subject=f"a pod in namespace {name} (dry run)"
            )
            seconds.append(time.perf_counter() - begin)
    except ClusterError as error:
        if error.no_permission:
            to_do = f"run the command as a user who may create pods in namespace {name}"
            yield warning("injection", f"no pod was tried: {error}", to_do)
        else:
            see = "see the failed lines above. If there are none, see the injector's log at the time of this check"
            yield bad("injection", str(error), _way_out(context, namespace, pod) or see, namespace=name)
        return
    milliseconds = round(statistics.median(seconds) * 1000, 1)
    mark = string_map(pod_made, "annotations").get(settings.status_key)
    receipt = read_receipt(pod_made, settings)
    if mark == "injected" and receipt is not None:
        with_templates = ", ".join(receipt.templates) or "no template"
        yield good(
            "injection",
            f"a pod in namespace {name} is injected with {with_templates}; median of {_RUNS} dry runs "
            f"{milliseconds:.1f} ms, including all other work of the API server",
            namespace=name,
            milliseconds=milliseconds,
        )
        yield from _behind(context, receipt.templates)
    elif mark == "failed":
        reason = string_map(pod_made, "annotations").get(settings.reason_key, "no reason given")
        page = f"{page_to_open(page_address('reasons'))} says what to do about that reason"
        to_do = _way_out(context, namespace, pod) or page
        yield bad("injection", f"a pod in namespace {name} starts without its sidecar: {reason}", to_do, namespace=name)
    else:
        yield _untouched(context, namespace, pod)


def _way_out(context: CheckContext, namespace: Object, pod: Object) -> str:
    """What to do about what a replay shows to go wrong, as `injector explain` says it; "" where it shows nothing."""
    with suppress(ClusterError, SettingsError):
        return next(map(help_for, inject(pod, namespace_of(namespace), _snapshot(context)).failures), "")
    return ""


def _behind(context: CheckContext, used: dict[str, str]) -> CheckVerdicts:
    """Whether the injector that answered has other templates in use than the cluster has: its reload was refused."""
    now: dict[str, list[str]] = {}
    for template in _snapshot(context).catalog:
        now.setdefault(template.name, []).append(template.digest)
    for name, digest in used.items():
        if digest not in now.get(name, ()):
            yield warning(
                "template-in-use",
                f"the injector uses template {name} {digest}, the cluster has "
                f"{' and '.join(now.get(name, ('none of that name',)))}",
                (
                    "wait a few seconds; if this warning remains, search the injector's log for snapshot-refused (the "
                    "metric injector_reload_failing is then 1)"
                ),
                template=name,
            )


def _snapshot(context: CheckContext) -> Snapshot:
    return live_snapshot(context.live, context.namespace, context.settings)[0]


def _untouched(context: CheckContext, namespace: Object, pod: Object) -> Diagnostic:
    """Whether a pod without sidecars was to be expected, by a replay with the current settings and templates."""
    name = namespace["metadata"]["name"]
    replay = inject(pod, namespace_of(namespace), _snapshot(context))
    if replay.effect is Effect.SKIP:
        to_do = "no action is needed if you want that; injector explain -f POD.yaml shows every step"
        text = f"a plain pod in namespace {name} gets no sidecar: {replay.message}"
        return warning("injection", text, to_do, namespace=name)
    return bad(
        "injection",
        f"a pod in namespace {name} comes back untouched: the API server did not call the injector, or the call failed",
        (
            "see the failed lines above. If there are none, see the API server's log, and the annotation "
            "failed-open in its audit log"
        ),
        namespace=name,
    )


def plain_pod(settings: Settings) -> Object:
    """A pod that every namespace takes, under Pod Security `restricted` and with a quota too. It is never run."""
    yes = (
        {settings.inject_key: settings.yes_values[0]}
        if settings.pod_default != "inject" and settings.yes_values
        else {}
    )
    small = {"cpu": "1m", "memory": "1Mi"}
    container = {
        "name": "app",
        "image": "registry.k8s.io/pause:3.10",
        "ports": [{"containerPort": 8080}],
        "resources": {"requests": small, "limits": small},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    security = {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "injector-check-", "annotations": yes},
        "spec": {"containers": [container], "securityContext": security},
    }


def user_ranges(context: CheckContext) -> CheckVerdicts:
    """On OpenShift, namespaces that are not for the users of the sidecars which a plain pod would get there."""
    settings = context.settings
    label = settings.namespace_label
    limited = [
        namespace_of(namespace)
        for namespace in labelled(context, label.enabled, label.required)
        if within(context, namespace) and user_range(string_map(namespace, "annotations")) is not None
    ]
    if not limited:
        return
    snapshot = _snapshot(context)
    names, keys = defaultdict(list), {}
    for namespace in limited:
        result = inject(plain_pod(settings), namespace, snapshot)
        for outside in users_outside(result, namespace, settings):
            template = outside.fields["template"]
            names[template].append(namespace.name)
            keys[template] = outside.fields["keys"]
    for template, namespaces in names.items():
        yield warning(
            "openshift-user-range",
            f"template {template} runs as users that OpenShift does not expect in namespace {some(namespaces)}",
            f"annotate each with {keys[template][0]}=NUMBER, the first of its {RANGE_KEY}"
            if keys[template]
            else OTHER_SCC,
            template=template,
            namespaces=namespaces,
            keys=keys[template],
        )


SECTION = Section("injection", (injected, user_ranges))
