"""Rules about the probes of a sidecar."""

from __future__ import annotations

from injector.authoring.lint.rules._values import asked_ports, declared
from injector.authoring.lint.subject import Findings, Subject
from injector.pods.context import mapping_at

SEVERITY = "warning"

#: What Kubernetes takes when a probe does not say.
_DEFAULT_SECONDS = 10
_MOST_SECONDS = 3
_HELP = {
    "periodSeconds": "write periodSeconds: 1, and for failureThreshold the number of seconds that the start may take",
    "initialDelaySeconds": "leave initialDelaySeconds out",
}


def startup_probe(subject: Subject) -> Findings:
    """A sidecar has no startupProbe, and no parameter adds one.

    Why: native sidecars start before the app. The containers after a sidecar wait for its `startupProbe` and for the
    end of its `postStart` hook, but not for its `readinessProbe`. With neither of them the app starts before its proxy
    listens, and the app's first connections fail.
    https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/

    An app that does not use its sidecar in its first moments does not need to wait. But whoever uses the template may
    know better: add the startupProbe if a parameter says so, such as `wait`.

    Bad:
        # overlay.yaml.j2
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
            startupProbe:
              httpGet: {path: /ready, port: {{ params.port }}}
              periodSeconds: 1
              failureThreshold: 60

    Proof: the API server accepts a sidecar without a probe; the mistake is a race between two programs, which a
    test would not always see.
    """
    holding = {
        path
        for rendering in subject.renderings
        for path, container in rendering.sidecars()
        if "startupProbe" in container or "postStart" in mapping_at(container, "lifecycle")
    }
    for rendering in subject.renderings:
        for path, container in rendering.sidecars():
            if path not in holding:
                yield rendering.finding(
                    f"container `{container.get('name')}` has no startupProbe, so the app does not wait for it",
                    path,
                    "add a startupProbe (httpGet, tcpSocket, grpc or exec) with a short periodSeconds",
                )


def slow_start(subject: Subject) -> Findings:
    """A startupProbe has a long period or a long initial delay, and so delays the app.

    The containers after a native sidecar wait until its startupProbe has succeeded. The kubelet probes once at the
    start, when most programs do not listen yet, and then once in every `periodSeconds`, which is 10 by default. So
    even a proxy that is ready after 0.2 s delays every start of the pod by ten seconds. Write `periodSeconds: 1`,
    and use `failureThreshold` to say how many seconds the start may take.

    Source: Kubernetes docs, "Sidecar Containers", and "Configure Liveness, Readiness and Startup Probes".

    Bad:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            ports:
            - {name: shipper-http, containerPort: {{ params.port }}}
            startupProbe:
              httpGet: {path: /health, port: {{ params.port }}}

    Good:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            ports:
            - {name: shipper-http, containerPort: {{ params.port }}}
            startupProbe:
              httpGet: {path: /health, port: {{ params.port }}}
              periodSeconds: 1
              failureThreshold: 60

    Proof: the kubelet probes, and a control plane without nodes has no kubelet.
    """
    for rendering in subject.usual:
        for path, container in rendering.sidecars():
            probe = container.get("startupProbe")
            if not isinstance(probe, dict):
                continue
            for field, default in (("periodSeconds", _DEFAULT_SECONDS), ("initialDelaySeconds", 0)):
                seconds = probe.get(field, default)
                if isinstance(seconds, int) and seconds > _MOST_SECONDS:
                    yield rendering.finding(
                        f"{field} {seconds} holds back the app for up to {seconds} s more than the sidecar needs",
                        (*path, "startupProbe", field),
                        _HELP[field],
                        key=field in probe,
                    )


def readiness_probe(subject: Subject) -> Findings:
    """A sidecar in front of the app has no readinessProbe.

    The rule checks sidecars that declare ports, in templates with a parameter for the app's port or for an
    upstream. A log shipper or an exporter beside the app needs no readinessProbe: if this probe failed, Services
    would send no more requests to the app.

    Why: a Service sends requests to every pod whose readinessProbes succeed. If the sidecar in front of the app
    hangs or is overloaded, clients get errors, although other replicas could answer.
    https://kubernetes.io/docs/concepts/configuration/liveness-readiness-startup-probes/

    Bad:
        # template.yaml
        description: A tool.
        parameters:
          app-port: {type: integer, format: port, default: 8080, description: Port of the app.}
        # overlay.yaml.j2
        spec:
          containers:
          - name: tool
            image: tool:1
            args: ["--upstream=127.0.0.1:{{ params.app_port }}"]
            ports:
            - {name: tool-http, containerPort: 18080}

    Good:
        # overlay.yaml.j2
        spec:
          containers:
          - name: tool
            image: tool:1
            args: ["--upstream=127.0.0.1:{{ params.app_port }}"]
            ports:
            - {name: tool-http, containerPort: 18080}
            readinessProbe:
              httpGet: {path: /ready, port: 18080}

    Proof: the API server accepts a sidecar without a probe; the mistake shows only when the program hangs.
    """
    names = subject.template.parameters  # by which a template sends something to the app
    if not any(name.startswith("upstream") or (name.startswith("app-") and "port" in name) for name in names):
        return
    for rendering in subject.renderings:
        for path, container in rendering.sidecars():
            if container.get("ports") and "readinessProbe" not in container:
                yield rendering.finding(
                    f"container `{container.get('name')}` stands in front of the app and has no readinessProbe",
                    path,
                    "add one, so that a pod whose sidecar does not answer gets no traffic from its Service",
                )


def undeclared_port(subject: Subject) -> Findings:
    """A probe or a hook uses a port that its container does not declare.

    The injector compares the ports that the sidecar declares with the ports of the app, and reports a conflict. It
    cannot compare a port that is not declared. If the app listens on such a port, one of the two containers does
    not start, or the kubelet probes the app instead of the sidecar.

    Source: Kubernetes docs, "Pods", Pod networking: the containers of a pod share their ports.

    Bad:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            startupProbe:
              httpGet: {path: /health, port: {{ params.port }}}

    Good:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            ports:
            - {name: shipper-health, containerPort: {{ params.port }}}
            startupProbe:
              httpGet: {path: /health, port: {{ params.port }}}
    """
    for rendering in subject.usual:
        for path, container in rendering.containers():
            for port_path, port in asked_ports(container):
                if isinstance(port, int) and port not in declared(container):
                    yield rendering.finding(
                        f"container `{container.get('name')}` does not declare port {port}, which the kubelet probes",
                        (*path, *port_path),
                        "add it to the container's ports, so that the injector can report a conflict with the "
                        "same port in a pod",
                    )
