"""Rules about a sidecar's container."""

from __future__ import annotations

import re

from injector.authoring.lint.rules._values import keys_to_add, rendered_for
from injector.authoring.lint.subject import Finding, Findings, Subject
from injector.pods.context import mapping, mappings, string_field
from injector.pods.overlay import plain, plain_mapping

SEVERITY = "warning"


def image_tag(subject: Subject) -> Findings:
    """An image has no tag, or the tag `latest`.

    For Kubernetes, an image without a tag has the tag `latest`. The rule checks the defaults of parameters, and not the
    values that a user sets.

    Why: with `latest`, two pods of one Deployment may run different versions, a restart may bring a new version, and a
    rollback does not bring back the old one. With this tag, `imagePullPolicy` is Always by default, so the kubelet asks
    the registry at each start, and no pod starts while the registry is down.
    https://kubernetes.io/docs/concepts/containers/images/

    Bad:
        # overlay.yaml.j2
        spec:
          containers:
          - name: tool
            image: registry.example:5000/tool

    Good:
        # overlay.yaml.j2
        spec:
          containers:
          - name: tool
            image: registry.example:5000/tool:1.2.3
    """
    for rendering in subject.renderings:
        for path, container in rendering.containers():
            image = container.get("image")
            if not isinstance(image, str) or not image or image in rendering.given.values():
                continue
            fault = _wrong(image)
            if fault:
                yield rendering.finding(f"image {image} {fault}", (*path, "image"), "name a version, or a digest")


def _wrong(image: str) -> str:
    name = image.rpartition("/")[2]
    if "@" in name:
        return ""
    tag = name.partition(":")[2]
    if not tag:
        return "has no tag, which means latest"
    return "has the tag latest, which can refer to a different image later" if tag == "latest" else ""


def read_only_root(subject: Subject) -> Findings:
    """A container may write to its root file system.

    Files that a container writes there are lost at the next restart, and may fill the node's disk. An attacker in the
    container could also change the program. Set `readOnlyRootFilesystem: true`, and mount an emptyDir with a
    `sizeLimit` where the program has to write. To find these folders, run the program with the read-only file system.

    Source: Kubernetes docs, "Configure a Security Context for a Pod or Container".

    Bad:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2

    Good:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            securityContext: {readOnlyRootFilesystem: true}
            volumeMounts:
            - {name: shipper-temp, mountPath: /tmp}
          volumes:
          - name: shipper-temp
            emptyDir: {sizeLimit: 16Mi}

    Proof: no Pod Security level requires a read-only root file system, and the API server does not see what a container
    writes.
    """
    for rendering in subject.usual:
        for path, container in rendering.containers():
            security = plain_mapping(container.get("securityContext"))
            writes = any(mount.get("readOnly") is not True for mount in mappings(plain(container.get("volumeMounts"))))
            if security.get("readOnlyRootFilesystem") is not True:
                yield rendering.finding(
                    f"container `{container.get('name')}` can write to its root file system",
                    (*path, "securityContext", "readOnlyRootFilesystem"),
                    "set readOnlyRootFilesystem: true, and mount an emptyDir with a sizeLimit where it has to write",
                    unsafe=not writes,
                    **keys_to_add(rendering.overlay.plain, (*path, "securityContext", "readOnlyRootFilesystem"), True),
                )


def resources(subject: Subject) -> Findings:
    """A container requests no CPU or no memory.

    The rule reports a container without `resources.requests` for cpu or memory. A limit without a request is enough,
    because Kubernetes then uses the limit as the request.

    Why: in a namespace with a ResourceQuota for requests the API server would refuse a pod that has such a container,
    so the injection fails. A HorizontalPodAutoscaler cannot calculate the utilisation of such a pod. And when a node is
    short of CPU or memory, a container without requests suffers first.
    https://kubernetes.io/docs/concepts/policy/resource-quotas/

    Bad:
        # overlay.yaml.j2
        spec:
          containers:
          - name: tool
            image: {{ params.image }}
            resources:
              limits: {memory: 64Mi}

    Good:
        # overlay.yaml.j2
        spec:
          containers:
          - name: tool
            image: {{ params.image }}
            resources:
              requests: {cpu: 10m, memory: 32Mi}
              limits: {memory: 64Mi}
    """
    for rendering in subject.renderings:
        if mapping(rendering.after.get("spec")).get("resources"):
            continue  # the pod as a whole has its budget
        for path, container in rendering.containers():
            resources = plain_mapping(container.get("resources"))
            amounts = {**plain_mapping(resources.get("limits")), **plain_mapping(resources.get("requests"))}
            missing = [name for name in ("cpu", "memory") if name not in amounts]
            if missing:
                yield rendering.finding(
                    f"container `{container.get('name')}` has no request for {' and '.join(missing)}",
                    (*path, "resources"),
                    "add resources: {requests: {cpu: ..., memory: ...}}, from parameters",
                    key=True,
                )


_ASIDE = re.compile(r"metric|stat|prom|health|ready|live|probe|admin|debug|info|monitor|telemetry", re.IGNORECASE)


def termination(subject: Subject) -> Findings:
    """As a plain container, a sidecar that carries the app's traffic stops before the app has answered all requests.

    Native sidecars stop after the app. But plain containers all get the signal to stop at the same time, so the sidecar
    is gone while the app still answers its last requests. If a preStop hook of the sidecar sleeps, the sidecar gets the
    signal later. The template needs this hook only if `native` is false, which means that sidecars are plain
    containers. The rule ignores sidecars whose ports are only for metrics and health.

    Source: Kubernetes docs, "Pod Lifecycle", Termination of Pods, and "Sidecar Containers".

    Bad:
        # overlay.yaml.j2
        spec:
          containers:
          - name: proxy
            image: example.com/proxy:1.2
            ports:
            - {name: proxy-http, containerPort: {{ params.port }}}

    Good:
        # overlay.yaml.j2
        spec:
          containers:
          - name: proxy
            image: example.com/proxy:1.2
            ports:
            - {name: proxy-http, containerPort: {{ params.port }}}
        {% set delay = [10, pod.spec.terminationGracePeriodSeconds | default(30)] | min %}
        {% if not native and delay > 0 %}
            lifecycle:
              preStop: {sleep: {seconds: {{ delay }}}}
        {% endif %}
    """
    for rendering in subject.usual:
        for overlay in rendered_for(subject, rendering.context, kind="Deployment", native=False):
            for path, container in overlay.sidecars():
                names = [string_field(port.get("name")) for port in mappings(container.get("ports"))]
                has_traffic = not all(map(_ASIDE.search, names))
                if has_traffic and not mapping(container.get("lifecycle")).get("preStop"):
                    yield Finding(
                        f"where container `{container.get('name')}` is a plain container, it stops together with the "
                        "app, and so is gone while the app answers its last requests",
                        overlay.place((*path, "name")),
                        "add a preStop hook that sleeps, inside {% if not native %}",
                    )


#: A condition for the sidecars of Jobs alone that do not end, as templates had it before there was `completes`.
_OF_JOBS = re.compile(
    r"""\bnot native\b[^%]*?(workload\.kind\s+in\s*[\[(]\s*(["'])(?:Cron)?Job\2\s*,\s*(["'])(?:Cron)?Job\3\s*[\])])"""
)


def job_blocked(subject: Subject) -> Findings:
    """The template does not warn that a Job never completes if this sidecar is a plain container.

    A Job completes when all containers of its pod have ended. A native sidecar does not count, but a plain container
    does. A sidecar is a plain container if the cluster has no native sidecars, or if the setting `nativeSidecars` is
    `never`. In a template, `native` is then false: call warn() or fail() for a pod that completes. If the template
    itself sets a `restartPolicy` other than Always for the container, the container is plain in every cluster.

    Not only Jobs have such pods, but also Argo Workflows, Tekton, Airflow, Spark and CI runners: `completes` is true
    for each of them. A warning for Jobs alone, with `workload.kind in ["Job", "CronJob"]`, is enough for the rule, and
    a note has `completes` as its fix.

    Source: Kubernetes docs, "Sidecar Containers", Jobs with sidecar containers; "Pod Lifecycle", Container restarts.

    Bad:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2

    Good:
        # overlay.yaml.j2
        {% if not native and completes %}
          {{ warn("the shipper does not end by itself here, so this pod will not complete") }}
        {% endif %}
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
    """
    for file in subject.parsed:
        for jobs in _OF_JOBS.finditer(file.text):
            message, fields = (
                "this is for Jobs alone, and other pods complete as well",
                {"replace": (jobs[1], "completes")},
            )
            yield subject.finding(message, file.name, jobs.start(1), "write completes", severity="note", **fields)
    for rendering in subject.usual:
        context = rendering.context
        plain = next(rendered_for(subject, context, native=False, kind="Deployment", restartPolicy="Always"), None)
        for job in rendered_for(subject, context, native=False, kind="Job", restartPolicy="Never"):
            if plain is not None and not set(plain.warnings).issuperset(job.warnings):
                continue
            for path, container in job.sidecars():
                yield Finding(
                    f"if container `{container.get('name')}` is a plain container, a Job with this sidecar never ends, "
                    "and no warning is given",
                    job.place((*path, "name")),
                    "call warn() or fail() in {% if not native and completes %}",
                )
        for path, container in rendering.sidecars():
            if container.get("restartPolicy", "Always") != "Always":
                yield rendering.finding(
                    f"with this restartPolicy, container `{container.get('name')}` is never a native sidecar, "
                    "so a Job with this sidecar never ends",
                    (*path, "restartPolicy"),
                    "leave restartPolicy out",
                )
