"""Rules about what an overlay does to the app's own pod."""

from __future__ import annotations

from injector.authoring.lint.rules._values import APPS, PROGRAMS, numbered, word_list
from injector.authoring.lint.rules._whole_object import MERGED, whole_object
from injector.authoring.lint.subject import Findings, Rendering, Subject
from injector.names import did_you_mean, nearest
from injector.pods.context import mappings
from injector.pods.fields import CONTAINER_LISTS, fields_of
from injector.pods.overlay import plain_mapping
from injector.templates.template import OVERLAY

SEVERITY = "warning"

_FIELDS = word_list(
    """
    image command args workingDir ports startupProbe readinessProbe livenessProbe lifecycle restartPolicy stdin
    tty
    """
)
_VARIABLES = word_list("HOME HOST HOSTNAME LD_LIBRARY_PATH LD_PRELOAD PATH PORT PWD SHELL USER")


def app_container(subject: Subject) -> Findings:
    """The overlay changes the app's containers in a way that the template's author probably did not intend.

    The rule finds four mistakes:

    - A sidecar has a name that apps use, such as `app`, `web` or `redis`. If the pod has a container of this name, the
      injector patches that container and adds no sidecar. If it is the pod's only container, the injection fails.
    - A loop writes a container for each of the pod's containers. The injector then treats each container of the app as
      a sidecar. Instead write one container named `"*"`, which stands for all containers of the app, or, with `only:`
      or `except:`, for some of them.
    - `"*"` has a field that belongs to one program, such as an image, a command, a port or a probe. Every container of
      the app that does not have this field gets it. For example, an app that relies on the command of its image would
      run the template's command instead.
    - `"*"` has a variable such as PATH or HOME. The app's image may set this variable, and the injector cannot see
      that. So the app gets the template's value in place of the image's value.

    Source: docs/templates.md, "Merge: fill in, do not overwrite"; Kubernetes docs, "Define a Command and Arguments for
    a Container": the command in the pod replaces the command in the image.

    Bad:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
          - name: "*"
            args: [--log-folder, /logs]

    Good:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
          - name: "*"
            env:
            - {name: LOG_FOLDER, value: /logs}
    """
    template = subject.template.name
    for rendering in subject.renderings:
        spec = plain_mapping(rendering.pod.get("spec"))
        own = {str(container.get("name")) for list_ in CONTAINER_LISTS for container in mappings(spec.get(list_))}
        for path, container in rendering.containers():
            name = str(container.get("name"))
            place = rendering.overlay.place((*path, "name"))
            if "{{" in place.text and name in own:
                yield rendering.finding_at(
                    (
                        "the template names a container of the app here, so the injector treats that container as "
                        "the template's own sidecar"
                    ),
                    place,
                    (
                        'do not loop over the containers: write one container with the name "*", and limit it with '
                        "`only:` or `except:`"
                    ),
                )
            elif name in APPS or name in PROGRAMS:
                better = f"{template}-{name}" if name in PROGRAMS else template
                if name == template:
                    better = f"{name}-sidecar"
                yield rendering.finding_at(
                    (
                        f"many apps have a container called `{name}`: in their pods the template would change that "
                        "container, and add none of its own"
                    ),
                    place,
                    f"rename the template's container to `{better}`",
                )
        yield from _everywhere(rendering)


def _everywhere(rendering: Rendering) -> Findings:
    for path, container in rendering.everywhere():
        for field in _FIELDS:
            if field in container:
                yield rendering.finding(
                    f'"*" stands for every container of the app: each one that has no `{field}` gets this `{field}`',
                    (*path, field),
                    f'leave {field} out, or limit "*" to one container with `only: [NAME]`',
                    key=True,
                )
        for index, variable in numbered(container.get("env")):
            if variable.get("name") in _VARIABLES:
                yield rendering.finding(
                    f'"*" overwrites the value of {variable["name"]} that the app\'s image sets',
                    (*path, "env", index, "name"),
                    "use a variable of the template's own",
                )


#: What a container has as well.
_OF_CONTAINER = (*fields_of("Container"), *fields_of("SecurityContext"))
_NO_FIELD = (
    "a container does not have this field, so it cannot be set for the sidecar alone: leave it out, or put it into "
    "a template that adds no container"
)

_SPEC = word_list(
    """
    activeDeadlineSeconds affinity automountServiceAccountToken dnsConfig hostUsers hostname nodeName
    nodeSelector os priorityClassName resources runtimeClassName setHostnameAsFQDN subdomain
    topologySpreadConstraints
    """
)


def pod_fields(subject: Subject) -> Findings:
    """The overlay sets a field of the whole pod, so it also applies to the app, but only the sidecar needs it.

    `spec.securityContext`, `nodeSelector`, `affinity` and similar fields apply to the app as well. For example, if
    `runAsUser: 101` is in the pod's securityContext, the app also runs as user 101, and perhaps cannot read its own
    files. Set what the sidecar needs in its container. If the field really is for the whole pod, put it into a template
    without a container, or disable this rule with a reason.

    Source: Kubernetes docs, "Configure a Security Context for a Pod or Container": settings of the pod apply to all its
    containers.

    Bad:
        # overlay.yaml.j2
        spec:
          securityContext: {runAsUser: 101, runAsNonRoot: true}
          containers:
          - name: shipper
            image: example.com/shipper:1.2

    Good:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            securityContext: {runAsUser: 101, runAsNonRoot: true}
    """
    for rendering in subject.renderings:
        if next(rendering.containers(), None) is not None:
            spec = rendering.overlay.spec
            fields = [("spec", field) for field in _SPEC if field in spec]
            security = plain_mapping(spec.get("securityContext"))
            for path in (*fields, *(("spec", "securityContext", field) for field in security)):
                yield rendering.finding(
                    f"{'.'.join(map(str, path))} also applies to the app's containers",
                    path,
                    "set it on the sidecar's container" if path[-1] in _OF_CONTAINER else _NO_FIELD,
                    key=True,
                )


_RECOMMENDED = "app.kubernetes.io/"


def pod_label(subject: Subject) -> Findings:
    """The overlay gives pods a label that Services often select: one without a prefix, or with `app.kubernetes.io/`.

    If the overlay has the label `app`, every pod without this label gets it. Then Services, NetworkPolicies and
    PodDisruptionBudgets that select this label apply to the pod as well, and the pod may get the traffic of another
    app. Begin the template's label with a prefix of its own, as in `shipper.example.com/version`. If nothing selects
    the label, use an annotation instead.

    Source: Kubernetes docs, "Labels and Selectors", and "Service": the pods of a Service are all pods that its selector
    matches.

    Bad:
        # overlay.yaml.j2
        metadata:
          labels: {app: shipper}
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2

    Good:
        # overlay.yaml.j2
        metadata:
          labels: {example.com/shipper: "true"}
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
    """
    for rendering in subject.renderings:
        for key in plain_mapping(rendering.overlay.metadata.get("labels")):
            if isinstance(key, str) and ("/" not in key or key.startswith(_RECOMMENDED)):
                yield rendering.finding(
                    f'the label "{key}" is for the pod\'s author: Services and controllers select pods by it',
                    ("metadata", "labels", key),
                    "give it a prefix, as in example.com/name, or make it an annotation",
                    key=True,
                )


def ignored_field(subject: Subject) -> Findings:
    """The overlay has a field beside `metadata` and `spec`.

    An overlay is a part of a pod. The injector merges only its `metadata` and its `spec`. `apiVersion`, `kind`,
    `status` and every other field beside them have no effect.

    Why: somebody who writes such a field, for example a Deployment's `replicas`, expects an effect, and gets no error.

    Bad:
        # overlay.yaml.j2
        apiVersion: v1
        kind: Pod
        spec:
          containers:
          - name: tool
            image: {{ params.image }}

    Good:
        # overlay.yaml.j2
        spec:
          containers:
          - name: tool
            image: {{ params.image }}

    Proof: the field is not merged, so it never reaches an API server.
    """
    for rendering in subject.renderings:
        if whole := whole_object(rendering):
            yield from whole.get("ignored-field", ())
            continue
        for field in plain_mapping(rendering.overlay.value):
            if field not in MERGED:
                near, place = nearest(str(field), MERGED), rendering.overlay.place((field,), key=True)
                yield rendering.finding_at(
                    f"{field} is ignored: only metadata and spec are merged into a pod",
                    place,
                    did_you_mean(near, _to_do(str(field), place.file)),
                    about=str(field),
                    value=str(field),
                    nearest=near,
                )


def home_of(field: str) -> str:
    """The part of a pod that has a field; "" for none."""
    parts = (("metadata", "ObjectMeta"), ("spec", "PodSpec"))
    return next((name for name, kind in parts if field in fields_of(kind)), "")


def _to_do(field: str, file: str) -> str:
    """What to do about a field that a file of the template writes beside `spec`."""
    if file != OVERLAY:
        return f"indent each line of {file} to match the place where the file is included"
    home = home_of(field)
    return f"write it below `{home}:`" if home else "leave it out"
