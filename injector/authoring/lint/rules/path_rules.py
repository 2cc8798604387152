"""Rules about what a template does to objects at a path."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from injector.authoring.lint.subject import Finding, Findings, ObjectRendering, RenderedSource, Subject
from injector.diagnostics import Path
from injector.errors import InjectionError
from injector.pods.context import Object, mapping
from injector.reasons import Reason
from injector.templates.template import OVERLAY

SEVERITY = "warning"


def never_acts(subject: Subject) -> Findings:
    """A template for a webhook path did nothing for any object that the linter tried: no refusal, warning or change.

    A template for a path should refuse an object, warn of it, or fill in a field. If it never does, the API server
    calls the injector for nothing. Each request that the template's key `for` names has to wait for the injector's
    answer. The linter tries sample objects of the resources that `for` names, with the parameters at their limits,
    and the objects of the template's test cases. The sample objects have only a name and a few fields. The most
    frequent cause is a condition with a misspelt field. If the template is right, write a test case with an object
    that the template refuses, warns of or changes.

    Bad:
        # template.yaml
        description: Every Service has a label team.
        for: {resources: [services], operations: [CREATE, UPDATE]}
        # overlay.yaml.j2
        {% if object.labels.team | default("somebody") == "" %}{{ deny("label it with its team") }}{% endif %}

    Good:
        # overlay.yaml.j2
        {% if object.metadata.labels.team | default("") == "" %}{{ deny("label it with its team") }}{% endif %}

    Proof: nothing happens, so an API server reports nothing.
    """
    renderings = subject.objects
    if (
        not renderings
        or subject.failures
        or not subject.template.why_not_injected
        or any(rendering.acts for rendering in renderings)
    ):
        return
    yield Finding(
        f"the template does nothing for any of {len(renderings)} sample requests: no refusal, warning or change",
        subject.line_place(OVERLAY, 1, 1),
        "look at its conditions, or write a case with an object for which it does something",
    )


def open_policy(subject: Subject) -> Findings:
    """An object that a policy checks may set the parameters of the policy.

    A policy is a template that refuses objects and adds nothing. If a parameter has no `from`, an annotation of the
    object can set the parameter, and this value overrides those of the namespace and the settings. So the author of
    an object that the policy would refuse can make the policy allow the object. An annotation with a value that the
    schema does not allow makes the template fail, and with `failurePolicy: Ignore` the object is then admitted.
    Write `from: [settings]`. If everybody who may change a namespace may also decide about the parameter, write
    `from: [namespace, settings]`.

    Bad:
        # template.yaml
        description: No Service of a type that is not wanted.
        for: {resources: [services], operations: [CREATE, UPDATE]}
        parameters:
          types:
            type: array
            items: {type: string, enum: [ClusterIP, NodePort, LoadBalancer, ExternalName]}
            default: [ClusterIP]
            description: Types that a Service may have.
        # overlay.yaml.j2
        {% if object.spec.type | default("") not in params.types %}{{ deny("its type is not wanted here") }}{% endif %}

    Good:
        # template.yaml
        description: No Service of a type that is not wanted.
        for: {resources: [services], operations: [CREATE, UPDATE]}
        parameters:
          types:
            type: array
            items: {type: string, enum: [ClusterIP, NodePort, LoadBalancer, ExternalName]}
            default: [ClusterIP]
            from: [settings]
            description: Types that a Service may have.

    Proof: the API server admits the object in both cases.
    """
    renderings = subject.objects
    denies = any(rendering.injection.reason is Reason.DENIED for rendering in renderings)
    if not denies or any(rendering.overlay is not None and rendering.overlay.value for rendering in renderings):
        return
    for parameter in subject.parameters:
        if "pod" in parameter.setters:
            yield Finding(
                f"an annotation of the object can set the parameter `{parameter.name}`, so the object's author can "
                "change what the policy allows",
                subject.manifest(("parameters", parameter.name)),
                "at this parameter, write `from: [settings]` or `from: [namespace, settings]`",
            )


def selector_everything(subject: Subject) -> Findings:
    """The template's selector matches every pod.

    A pod gets the templates whose `selector` matches it, if neither the pod nor its namespace names a template. An
    empty selector matches every pod, so each of these pods gets this sidecar, in every namespace that the
    template's `namespaces` allows. If users are to name the template themselves, remove the key `selector`. If all
    pods are to get the template, remove the key as well, and let an admin list the template under `templates` in
    the settings.

    Source: Kubernetes docs, "Labels and Selectors": an empty label selector matches all objects.

    Bad:
        # template.yaml
        description: Ships the app's logs.
        selector: {}
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2

    Good:
        # template.yaml
        description: Ships the app's logs.
        selector: {matchLabels: {shipper.example.com/logs: "true"}}
    """
    selector = subject.template.selector
    if subject.template.why_not_injected:  # at a path a selector only says which objects are meant
        return
    if selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield Finding(
            (
                "an empty selector matches every pod: each pod gets this template if neither the pod nor its "
                "namespace names templates"
            ),
            subject.manifest(("selector",)),
            "name a label, or leave the key out",
        )


def whole_list(subject: Subject) -> Findings:
    """The overlay sets a list in an object that is not a pod, and the object may have a list of its own there.

    The injector knows the merge keys of lists in pods, but not in other kinds. So the injector does not merge such a
    list: if the object has the list, it keeps this list and gets none of the overlay's elements, and the author of the
    object sees a warning. Write the list only if the object has none (`is not defined`). Or use `!replace`, with a list
    that also contains the object's own elements.

    Bad:
        # template.yaml
        description: Who may reach a load balancer.
        for: {resources: [services]}
        # overlay.yaml.j2
        spec:
          loadBalancerSourceRanges: [10.0.0.0/8]

    Good:
        # overlay.yaml.j2
        {% if object.spec.loadBalancerSourceRanges is not defined %}
        spec:
          loadBalancerSourceRanges: [10.0.0.0/8]
        {% endif %}

    Proof: the object stays as its author wrote it, and the API server accepts it.
    """
    for rendering in subject.objects:
        if rendering.overlay is None or rendering.asked.is_pod:
            continue
        for path in _lists(rendering.overlay.value, ()):
            if _stays(subject, rendering, path):
                yield Finding(
                    f"{'.'.join(map(str, path))} does not merge: an object that already has this list gets "
                    "nothing from the template",
                    rendering.overlay.place(path, key=True),
                    "write the list only if the object does not have it, or use !replace",
                )


def _lists(value: Any, path: Path) -> Iterator[Path]:
    """The paths of lists that are filled in. A list inside another list, or behind `!replace`, is not one of them."""
    if type(value) is dict:
        for key, part in value.items():
            yield from _lists(part, (*path, key))
    elif type(value) is list:
        yield path


def _stays(subject: Subject, rendering: ObjectRendering, path: Path) -> bool:
    """Whether the list is still there for an object that has one of its own."""
    if rendering.context is None:
        return False
    context = msgspec.structs.replace(rendering.context, object=_with(rendering.context.object, path, ["of its own"]))
    try:
        value: Any = RenderedSource(subject.template, context).value
    except InjectionError:
        return False
    for step in path:
        value = mapping(value).get(step)
    return type(value) is list


def _with(obj: Object, path: Path, value: Any) -> Object:
    head, *rest = path
    return {**obj, str(head): _with(mapping(obj.get(str(head))), tuple(rest), value) if rest else value}
