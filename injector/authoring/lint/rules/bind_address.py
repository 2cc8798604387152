"""A rule about the addresses that programs listen on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

from injector.authoring.lint.rules._values import asked_ports, last_field, leaves, port_numbers
from injector.authoring.lint.rules.envoy_config import bindings
from injector.authoring.lint.subject import Finding, Findings, Rendering, Subject
from injector.diagnostics import Path, Place
from injector.pods.context import string_field

SEVERITY = "error"

#: nginx's and HAProxy's directives, and options such as `--http-address=127.0.0.1:4180`.
_LISTENS = re.compile(
    r"(?:\blisten|\bbind|address|\blisten[-_a-z]*|\baddr)\b[\"']?\s*[:= ]\s*[\"']?(?:https?://)?"
    r"(?P<host>\[[0-9a-fA-F:]*\]|[A-Za-z0-9.*-]+)?:?(?P<port>[0-9]{1,5})\b",
    re.IGNORECASE,
)
#: An address as a value of YAML or JSON, such as `endpoint: 127.0.0.1:13133`, under a key of such a name.
_ADDRESS = re.compile(r"(?:https?://)?(?P<host>\[[0-9a-fA-F:]*\]|[A-Za-z0-9.*-]*):(?P<port>[0-9]{1,5})/?\Z")
_KEY = re.compile(r"listen|bind|addr|endpoint", re.IGNORECASE)
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]", "::1"})


def bind_address(subject: Subject) -> Findings:
    """A program listens only on the loopback address, and the kubelet probes it.

    The kubelet sends its probes to the pod's own address. A program that listens only on 127.0.0.1 does not get them.
    So the startup probe never succeeds, and the containers after the sidecar never start. `envoy --mode validate` and
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
        # nginx.conf.j2
        events {}
        http {
            server { listen {{ params.port }}; }
        }
    """
    for rendering in subject.usual:
        probed = {
            port_numbers(container).get(port) if isinstance(port, str) else port
            for _, container in rendering.containers()
            for _, port in asked_ports(container)
        }
        for port in probed - {None}:
            bound = [(host, place) for host, number, place in _bindings(rendering) if number == port]
            if bound and all(host in _LOOPBACK for host, _ in bound):
                host, place = bound[0]
                yield Finding(
                    f"port {port} is bound to {host} alone, which kubelet's probes cannot reach",
                    place(),
                    "bind it to every address, or probe by exec",
                )


def _bindings(rendering: Rendering) -> Iterator[tuple[str, int, Callable[[], Place]]]:
    """Host, port and a function that finds the place, for all that the files and the arguments bind; host "" is every
    address. To find a place takes a render of its own, and most places are never asked for.
    """
    for file in rendering.files.values():
        if isinstance(file.value, str):
            start = 0
            for line in file.value.split("\n"):
                for host, port, column in _listens(line):
                    yield host, port, partial(file.place_of, start + column)
                start += len(line) + 1
        else:
            for host, port, path in (*bindings(file.value), *_addresses(file.value)):
                yield host, port, partial(file.place, path)
    for container_path, container in rendering.sidecars():
        for field in ("command", "args", "env"):
            for path, word in leaves(container.get(field), (*container_path, field)):
                for host, port, _ in _listens(string_field(word)):
                    yield host, port, partial(rendering.overlay.place, path)


def _listens(text: str) -> Iterator[tuple[str, int, int]]:
    """Host, port and offset of each directive or option in a text that binds an address."""
    for listen in _LISTENS.finditer(text):
        yield listen["host"] or "", int(listen["port"]), listen.start()


def _addresses(config: object) -> Iterator[tuple[str, int, Path]]:
    """Host, port and path of each address in a YAML or JSON file whose key says that it is one to bind."""
    for path, value in leaves(config):
        address = _KEY.search(last_field(path)) and _ADDRESS.match(string_field(value))
        if address:
            yield address["host"], int(address["port"]), path
