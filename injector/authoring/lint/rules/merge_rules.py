"""Rules about how an overlay is merged with what a pod has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from injector.authoring.cases.document import nested_values
from injector.authoring.lint.pod_schema import UNKNOWN_FIELD, deprecated_fields, known_errors
from injector.authoring.lint.rules._values import last_field, leaves, word_list
from injector.authoring.lint.subject import Findings, RenderedSource, Rendering, Subject
from injector.authoring.refusal_location import value_at
from injector.diagnostics import Path
from injector.pods.context import sequence
from injector.pods.fields import CONTAINER, CONTAINER_LISTS, POD, SPEC, Field
from injector.pods.overlay import EVERY_CONTAINER, SELECTING, Replace, bare_value, name_of, plain_mapping

SEVERITY = "warning"


def atomic_list(subject: Subject) -> Findings:
    """The overlay sets a list that does not merge, and the pod may have a list of its own there.

    A list without a merge key is not merged. If the pod has the list, the pod's list stays, and the pod gets none of
    the overlay's elements. With `!replace`, the overlay's list replaces the pod's list. So one of the two lists is
    lost. This loss does no harm in a container of the template itself. It does harm in a field of the whole pod and in
    `"*"`. Volumes, variables, ports, tolerations and the other lists in the merge table of "Writing templates" do
    merge.

    Source: Kubernetes API reference, the list types (`x-kubernetes-list-type: atomic`).

    Bad:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
          - name: "*"
            securityContext:
              capabilities: {drop: [NET_RAW]}

    Good:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            securityContext:
              capabilities: {drop: [NET_RAW]}
    """
    for rendering in subject.renderings:
        # none where nobody knows them
        errors = known_errors(rendering.after, subject.kubernetes)
        unknown = {error.path[-1] for error in errors if error.code == UNKNOWN_FIELD}
        for path, replaced in _shared(rendering):
            if unknown.intersection(path):
                continue  # no list at all: the rule schema tells what it may be
            loser = (
                "the list that a pod already has is lost"
                if replaced
                else "a pod that already has this list keeps its own, and no item of this template is added"
            )
            fields = [str(step) for step in path[-2:] if isinstance(step, str)]
            list_ = ".".join(fields if len(fields) > 1 else ['"*"', *fields])
            yield rendering.finding(
                f"{list_} does not merge: {loser}",
                path,
                "let the pod's author set it. Or, if you know that no pod sets this list, disable this rule and "
                "say how you know",
                key=True,
            )


def _shared(rendering: Rendering) -> Iterator[tuple[Path, bool]]:
    """The lists that the overlay shares with the app, and whether `!replace` stands there."""
    spec = rendering.overlay.spec
    for field, value in spec.items():
        if field not in (*CONTAINER_LISTS, "volumes"):
            yield from _lists(value, ("spec", field), SPEC.fields[field])
    for index, item in enumerate(sequence(bare_value(spec.get("containers")))):
        if name_of(item) == EVERY_CONTAINER:
            fields = {key: value for key, value in plain_mapping(item).items() if key not in SELECTING}
            yield from _lists(fields, ("spec", "containers", index), CONTAINER)


def _lists(value: Any, path: Path, field: Field) -> Iterator[tuple[Path, bool]]:
    bare = bare_value(value)
    if isinstance(bare, dict):
        for key, part in bare.items():
            yield from _lists(part, (*path, key), field.fields[key])
    elif isinstance(bare, list) and not field.aligned:
        yield path, isinstance(value, Replace)


def default_weakens(subject: Subject) -> Findings:
    """The tag `!default` lets a pod of a `required` namespace keep its own value in place of the template's.

    In a `required` namespace the injector refuses a pod that changes the sidecars, their volumes, or the variables,
    mounts and ports that `"*"` gives the app. With `!default` the injector allows the pod's own value at these places,
    so an application team can turn off what the sidecar is for. Remove the tag `!default`. If you want to let pods
    change a field of the sidecar, list the field in `overridable`, or disable this rule on the line.

    Source: docs/templates.md, "Merge: fill in, do not overwrite".

    Bad:
        # template.yaml
        description: Sends the app's traffic through a proxy.
        # overlay.yaml.j2
        spec:
          containers:
          - name: proxy
            image: example.com/proxy:1.2
          - name: "*"
            env:
            - !default {name: HTTPS_PROXY, value: "http://127.0.0.1:3128"}

    Good:
        # overlay.yaml.j2
        spec:
          containers:
          - name: proxy
            image: example.com/proxy:1.2
          - name: "*"
            env:
            - {name: HTTPS_PROXY, value: "http://127.0.0.1:3128"}

    Proof: the API server accepts both; the tests of `!default` show what happens in a `required` namespace.
    """
    for rendering in subject.overlays:
        rendered = rendering.overlay.rendered
        for path in rendered.default_paths if rendered is not None else ():
            if _guaranteed(rendering.overlay, path, subject.template.overridable):
                yield rendering.finding(
                    f"with !default, a pod can override {last_field(path)} even in a required namespace",
                    path,
                    "remove the tag, or list the field as overridable",
                )


def _guaranteed(overlay: RenderedSource, path: Path, overridable: frozenset[str]) -> bool:
    """Whether a `required` namespace insists on what an overlay has there."""
    if path[:2] == ("spec", "volumes"):
        return True
    if path[0] != "spec" or path[1] not in CONTAINER_LISTS:
        return False
    field = path[3] if len(path) > 3 else ""
    container = overlay.spec[str(path[1])][path[2]]
    if name_of(container) == EVERY_CONTAINER:
        return not field or CONTAINER.fields[str(field)].aligned
    return field not in overridable


OF_PODS = word_list(
    """
    dnsPolicy enableServiceLinks preemptionPolicy restartPolicy schedulerName serviceAccountName
    terminationGracePeriodSeconds
    """
)
OF_CONTAINERS = ("imagePullPolicy", "terminationMessagePath", "terminationMessagePolicy")


def defaulted_field(subject: Subject) -> Findings:
    """The overlay fills in a field that the API server has already filled in, so the overlay's value has no effect.

    The API server writes its defaults into a pod before it calls a webhook: `terminationGracePeriodSeconds: 30`,
    `restartPolicy: Always`, an `imagePullPolicy` in every container. The injector keeps a value that the pod already
    has. So the overlay's value has an effect with the command `injector inject`, but not in a cluster. Write `!replace`
    if the value must apply (for `restartPolicy` and other fields that change the app, the rule `replace` then asks for
    a reason). Otherwise remove the field.

    Source: Kubernetes API reference, PodSpec and Container, defaults; docs, "Dynamic Admission Control".

    Bad:
        # overlay.yaml.j2
        spec:
          terminationGracePeriodSeconds: 60
          containers:
          - name: shipper
            image: example.com/shipper:1.2

    Good:
        # overlay.yaml.j2
        spec:
          terminationGracePeriodSeconds: !replace 60
          containers:
          - name: shipper
            image: example.com/shipper:1.2
    """
    for rendering in subject.overlays:
        for path in _filled(rendering):
            yield rendering.finding(
                f"in a cluster, the API server always fills in {path[-1]} first, so the value from the template "
                "is ignored",
                path,
                "write `!replace` before the value, or leave the field out",
                key=True,
            )


def _filled(rendering: Rendering) -> Iterator[Path]:
    spec = rendering.overlay.spec
    for field in OF_PODS:
        if field in spec and not isinstance(spec[field], Replace):
            yield "spec", field
    for index, item in enumerate(sequence(bare_value(spec.get("containers")))):
        if name_of(item) == EVERY_CONTAINER and isinstance(item, dict):
            for field in OF_CONTAINERS:
                if field in item and not isinstance(item[field], Replace):
                    yield "spec", "containers", index, field


def deprecated_field(subject: Subject) -> Findings:
    """The overlay sets a field that is deprecated in Kubernetes.

    The rule reports each field that the schema of the Kubernetes version calls deprecated, and says what the schema
    recommends. `--kubernetes-version` names the version.

    Why: the field may have no effect. For example, the API server reads `serviceAccount` only if the pod has no
    `serviceAccountName`, and it does not check a `tcpSocket` in a lifecycle hook, which then fails.

    Source: Kubernetes API reference, the descriptions of the fields.

    Bad:
        # overlay.yaml.j2
        spec:
          serviceAccount: shipper
          containers:
          - name: shipper
            image: example.com/shipper:1.2

    Good:
        # overlay.yaml.j2
        spec:
          serviceAccountName: !replace shipper
          containers:
          - name: shipper
            image: example.com/shipper:1.2

    Proof: the API server accepts a deprecated field.
    """
    deprecations = deprecated_fields(subject.kubernetes)
    checked: set[Path] = set()
    for rendering in subject.overlays:
        written = {path[:end] for path, _ in leaves(rendering.overlay.value) for end in range(2, len(path) + 1)}
        for path in sorted(written - checked, key=str):
            if to_do := deprecations.get(POD.at(path).address):
                message = f"Kubernetes calls {path[-1]} deprecated"
                yield rendering.finding(message, path, to_do, key=True, about=path[-1])
        checked |= written


_CONTAINERS = (("spec", "containers"), ("spec", "initContainers"))
_IDENTITY = word_list(
    """
    hostNetwork hostPID hostname image name nodeName restartPolicy runAsGroup runAsUser serviceAccountName
    """
)


def replace(subject: Subject) -> Findings:
    """A `!replace` removes more than one value of the app, or changes the app's program, user or service account.

    In front of most single values, such as that of `imagePullPolicy`, the tag `!replace` does no harm: the receipt
    keeps the old value. In front of a list or a mapping, it removes everything that the pod's author wrote there, such
    as variables that the app needs. In front of the value of a field such as `image`, `runAsUser` or `restartPolicy`,
    it changes the app's program, user or service account, or how the pod runs. Write the tag only before the single
    value that you want to replace.

    Source: docs/templates.md, "Merge: fill in, do not overwrite".

    Bad:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
          - name: "*"
            env: !replace
            - {name: LOG_FOLDER, value: /logs}

    Good:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
          - name: "*"
            env:
            - {name: LOG_FOLDER, value: !replace /logs}
    """
    for rendering in subject.overlays:
        overlay = plain_mapping(rendering.overlay.value)
        for path, tagged in nested_values({key: overlay[key] for key in ("metadata", "spec") if key in overlay}):
            # in a sidecar of the template's own it replaces nothing of the app's
            is_own = (
                path[:2] in _CONTAINERS and len(path) > 2 and name_of(value_at(overlay, path[:3])) != EVERY_CONTAINER
            )
            if not isinstance(tagged, Replace) or is_own:
                continue
            value = tagged.value
            if isinstance(value, dict | list):
                message = f"!replace takes away all that the pod's author wrote in {path[-1]}"
            elif path[-1] in _IDENTITY:
                message = f"!replace of {path[-1]} changes the app itself: its program, user or account"
            else:
                continue
            yield rendering.finding(message, path, "write !replace only before the one value that has to change")
