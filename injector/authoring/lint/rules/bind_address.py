"""A program listens only on the loopback address, and the kubelet probes it.

The kubelet sends its probes to the pod's own address. A program that listens only on 127.0.0.1 does not get them. So
the startup probe never succeeds, and the containers after the sidecar never start. `envoy --mode validate` and
`nginx -t` do not find this mistake.

Source: Kubernetes docs, "Pod Lifecycle", Probes: HTTP and TCP probes go to the pod's IP address.

Bad:
    # template.yaml
    description: nginx beside the app.
    parameters:
      port: {type: integer, format: port, minimum: 1024, maximum: 65535, default: 18081, description: Its port.}
    files:
      nginx.conf: {validate: [nginx, -t, -q, -e, stderr, -c, "{path}"]}
    # nginx.conf.j2
    events {}
    http {
        server { listen 127.0.0.1:{{ params.port }}; }
    }
    # overlay.yaml.j2
    spec:
      containers:
      - name: proxy
        image: example.com/nginx:1.2
        ports:
        - {name: proxy-health, containerPort: {{ params.port }}}
        startupProbe:
          tcpSocket: {port: {{ params.port }}}
        volumeMounts:
        - {name: proxy-config, mountPath: /etc/nginx, readOnly: true}
      volumes:
      - name: proxy-config
        configMap: {name: "{{ files.configmap }}"}

Good:
    # template.yaml
    description: nginx beside the app.
    parameters:
      port: {type: integer, format: port, minimum: 1024, maximum: 65535, default: 18081, description: Its port.}
    files:
      nginx.conf: {validate: [nginx, -t, -q, -e, stderr, -c, "{path}"]}
    # nginx.conf.j2
    events {}
    http {
        server { listen {{ params.port }}; }
    }
    # overlay.yaml.j2
    spec:
      containers:
      - name: proxy
        image: example.com/nginx:1.2
        ports:
        - {name: proxy-health, containerPort: {{ params.port }}}
        startupProbe:
          tcpSocket: {port: {{ params.port }}}
        volumeMounts:
        - {name: proxy-config, mountPath: /etc/nginx, readOnly: true}
      volumes:
      - name: proxy-config
        configMap: {name: "{{ files.configmap }}"}
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

from injector.authoring.lint.rules._envoy import bindings
from injector.authoring.lint.rules._probes import asked_ports, port_numbers
from injector.authoring.lint.rules._values import leaves, usual
from injector.authoring.lint.subject import Finding, Rendering, Subject
from injector.diagnostics import Path, Place

SEVERITY = "error"

#: nginx's and HAProxy's directives, and options such as `--http-address=127.0.0.1:4180`.
_LISTENS = re.compile(
    r"(?:\blisten|\bbind|address|\blisten[-_a-z]*|\baddr)\b[\"']?\s*[:= ]\s*[\"']?(?:https?://)?"
    r"(?P<host>\[[0-9a-fA-F:]*\]|[A-Za-z0-9.*-]+)?:?(?P<port>[0-9]{1,5})\b",
    re.IGNORECASE,
)
#: The same as a value of YAML or JSON, such as `endpoint: 127.0.0.1:13133`, under a key of such a name.
_ADDRESS = re.compile(r"(?:https?://)?(?P<host>\[[0-9a-fA-F:]*\]|[A-Za-z0-9.*-]*):(?P<port>[0-9]{1,5})/?\Z")
_KEY = re.compile(r"listen|bind|addr|endpoint", re.IGNORECASE)
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]", "::1"})


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each place where a port that kubelet asks is bound to the loopback address and nowhere else."""
    for rendering in usual(subject):
        asked = {number for _, container in rendering.containers() for number in _asked(container)}
        for port in asked:
            bound = [(host, place) for host, number, place in _bindings(rendering) if number == port]
            if bound and all(host in _LOOPBACK for host, _ in bound):
                host, place = bound[0]
                yield Finding(
                    f"port {port} is bound to {host} alone, which kubelet's probes cannot reach",
                    place(),
                    "bind it to every address, or probe by exec",
                )


def _asked(container: dict[str, object]) -> Iterator[int]:
    names = port_numbers(container)
    for _, port in asked_ports(container):
        number = names.get(port) if isinstance(port, str) else port
        if number is not None:
            yield number


def _bindings(rendering: Rendering) -> Iterator[tuple[str, int, Callable[[], Place]]]:
    """Host, port and a function that finds the place, for all that the files and the arguments bind; host "" is every
    address. To find a place takes a render of its own, and most places are never asked for.
    """
    for rendered in rendering.files.values():
        if isinstance(rendered.value, str):
            start = 0
            for line in rendered.value.split("\n"):
                for found in _LISTENS.finditer(line):
                    yield found["host"] or "", int(found["port"]), partial(rendered.place_of, start + found.start())
                start += len(line) + 1
        else:
            for host, port, path in bindings(rendered.value):
                yield host, port, partial(rendered.place, path)
            for path, value in leaves(rendered.value):
                address = _ADDRESS.match(value) if isinstance(value, str) and _KEY.search(_key(path)) else None
                if address is not None:
                    yield address["host"], int(address["port"]), partial(rendered.place, path)
    for path, container in rendering.sidecars():
        for field in ("command", "args", "env"):
            for where, word in leaves(container.get(field), (*path, field)):
                for found in _LISTENS.finditer(word) if isinstance(word, str) else ():
                    yield found["host"] or "", int(found["port"]), partial(rendering.overlay.place, where)


def _key(path: Path) -> str:
    """The nearest key that leads to a value."""
    return next((step for step in reversed(path) if isinstance(step, str)), "")
