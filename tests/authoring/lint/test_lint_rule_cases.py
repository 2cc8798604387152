"""What rules find beyond their examples, and what they leave alone: each case an overlay and its answers."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.authoring.lint.support import found, write

_HEAD = "spec:\n  containers:\n  - name: tool\n    image: example.com/tool:1\n"
_MANIFEST = (
    "description: A tool.\nparameters:\n  port: {type: integer, format: port, default: 19901, description: Port.}\n"
)


class Case(NamedTuple):
    """`text` goes on after the container's image, or is the whole overlay where it begins with `spec` or `metadata`.

    `lines` are those at which the rule finds something, in order, each as often as it does.
    """

    rule: str
    what: str
    text: str
    lines: list[int]
    files: dict[str, str] = {}  # noqa: RUF012  nobody changes it

    @property
    def sources(self) -> dict[str, str]:
        """The files that lie over those of the clean template."""
        overlay = self.text if self.text.startswith(("spec", "metadata")) else _HEAD + self.text
        return {**self.files, "overlay.yaml.j2": overlay}


_FAMILY = """\
description: A tool.
parameters:
  token-*:
    type: object
    additionalProperties: {type: string, maxLength: 9}
    description: Tokens.
"""


def _files(name: str, text: str, manifest: str = "") -> dict[str, str]:
    """A config file, declared and mounted nowhere: that is another rule's."""
    declared = manifest or _MANIFEST
    return {"template.yaml": f"{declared}files:\n  {name}: {{}}\n", f"{name}.j2": textwrap.dedent(text)}


def _string(name: str, more: str) -> str:
    return f"description: A tool.\nparameters:\n  {name}: {{type: string, {more}, description: Text.}}\n"


_TLS = "{name: a, secret: {secretName: a, items: [{key: c, path: tls.crt}, {key: k, path: tls.key}]}}"
_FILTER = "type.googleapis.com/envoy.extensions.filters"
_ROUTER = f'{{name: r, typed_config: {{"@type": {_FILTER}.http.router.v3.Router}}}}'
_ENVOY = """\
    static_resources:
      listeners:
      - name: in
        address: {{socket_address: {{address: {address}, port_value: 19901}}}}
        {more}
        filter_chains:
        - filters:
          - name: http
            typed_config:
              "@type": {filter}.network.http_connection_manager.v3.HttpConnectionManager
              route_config:
                virtual_hosts: [{{name: a, domains: [a], routes: [{{match: {{prefix: /}}, route: {{cluster: app}}}}]}}]
              http_filters: [{filters}]
      clusters:
      - name: app
        type: {type}
"""


def _envoy(**parts: str) -> dict[str, str]:
    given = {
        "address": "0.0.0.0",
        "more": "drain_type: DEFAULT",
        "filters": _ROUTER,
        "type": "STATIC",
        "filter": _FILTER,
    }
    return _files("envoy.yaml", textwrap.dedent(_ENVOY).format(**{**given, **parts}))


_PROBED = "    ports: [{name: tool-http, containerPort: 19901}]\n    startupProbe: {tcpSocket: {port: tool-http}}\n"

_VOLUME = "  volumes:\n  - {name: a-conf, configMap: {name: '{{ files.configmap }}'}}\n"


def _mounted(more: str) -> str:
    return f"    volumeMounts: [{{name: a-conf, {more}mountPath: /etc/a, readOnly: true}}]\n{_VOLUME}"


_TYPED = """\
description: A tool.
parameters:
  debug: {type: boolean, default: false, description: A flag.}
  level: {type: string, enum: [info, warn], default: info, description: A level.}
  port: {type: integer, minimum: 1, maximum: 9, default: 1, description: A port.}
  hosts: {type: array, items: {type: string, maxLength: 9}, maxItems: 3, default: [], description: Hosts.}
  note: {type: string, maxLength: 9, description: A note.}
"""
_OF_TYPES = {"template.yaml": _TYPED}


def _if(condition: str) -> str:
    return f"{{% if {condition} %}}\n    tty: true\n{{% endif %}}\n"


CASES = [
    *(
        Case("parameter-type", condition, _if(condition), [5], _OF_TYPES)
        for condition in (
            'params.debug == "true"',
            '"no" != params.debug',
            'params.debug in ["yes", "on"]',
            'params.port == "8"',
            'params.port == ""',
            'params.hosts == ""',
            'params.hosts == "a"',
            "params.note == 5",
            "params.note == true",
            'params.level == "warning"',
            'params.level not in ["debug"]',
            "params.level.name is defined",
            'params["port"].number | default(1)',
            "params.hosts.first is defined",
        )
    ),
    *(
        Case("parameter-type", f"right: {condition}", _if(condition), [], _OF_TYPES)
        for condition in (
            "params.debug == true",
            "params.debug == 1",
            "params.debug is none or params.port == 8.0",
            "params.note == none",
            'params.note == "true"',
            'params.level in ["warn", "warning"]',
            'params.level.startswith("i") and params.level[0] == "i"',
            'params.hosts[0] | default("") == "a"',
            'params.hosts == [] or "a" in params.hosts',
            "params.port > 5 and params.port in [1, 2]",
            'pod.metadata.name | default("") == "true"',
        )
    ),
    Case(
        "parameter-type",
        "keywords of another type, and booleans among strings",
        "",
        [2, 3],
        {
            "template.yaml": "parameters:\n  a: {type: integer, pattern: a, default: 1}\n"
            "  b: {type: string, enum: [on, off, auto], default: auto}\n"
        },
    ),
    Case(
        "parameter-type",
        "tests whether a parameter is defined",
        "{% if params.level is defined and params.level is not undefined and object.x is defined %}\n"
        "    tty: true\n{% endif %}\n",
        [5, 5],
        _OF_TYPES,
    ),
    Case(
        "parameter-type",
        "an operation in small letters, and a user",
        "metadata: {}\n"
        '{% if request.operation == "create" or operation in ["UPDATE", "patch"] %}{{ deny("a") }}{% endif %}\n'
        '{% if user == "a" or user.username == "a" or operation == "CREATE" %}{{ deny("b") }}{% endif %}\n',
        [2, 2, 3],
        {"template.yaml": "description: A.\nfor: {resources: [services]}\n"},
    ),
    *(
        Case("plain-reference", text, f"    workingDir: {text}\n", [5], _OF_TYPES)
        for text in (
            "${params.level}",
            '"/a/${var.level}/b"',
            "$(params.level)",
            "<%= params.level %>",
            "{params.level}",
            "$params.level",
            "${{ params.level }}",
            '"--level=${{ params.level }}"',
        )
    ),
    *(
        Case("plain-reference", f"right: {text}", f"    workingDir: '{text}'\n", [], _OF_TYPES)
        for text in (
            "{{ params.level }}",
            "${OTHER}",
            "$(LEVEL)",
            "${params.other}",
            "{% raw %}${params.level}{% endraw %}",
            "a${{ params.level }}b",
            "/params.level/{{ params.level }}",
        )
    ),
    *(
        Case("unlikely-value", text, f"    {text}\n", [5])
        for text in (
            "resources: {limits: {memory: 256}}",
            "resources: {limits: {memory: 512m}}",
            "resources: {requests: {ephemeral-storage: '100'}}",
            "resources: {requests: {cpu: 100}}",
            "resources: {requests: {cpu: 10M}}",
            'workingDir: a"',
            "command: [a, '|', b]",
            "livenessProbe: {exec: {command: [a, '&&', b]}}",
            "command: [sh, -c, a, --b, c]",
            "command: [sleep 3600]",
            "command: [sh, -level info]",
            "args: [--level info]",
            "workingDir: #a",
            "env: [{name: A, value: a}, {name: A, value: b}]",
            "ports: [{containerPort: 80, name: a}, {containerPort: 80, protocol: TCP}]",
            "securityContext: {capabilities: {add: [CAP_NET_ADMIN]}}",
            "securityContext: {capabilities: {drop: [all]}}",
            "workingDir: \u201c/a\u201d",
        )
    ),
    *(
        Case("unlikely-value", f"right: {text}", f"    {text}\n", [])
        for text in (
            "resources: {limits: {memory: 1048576}}",
            "resources: {limits: {memory: 1Ki}}",
            "resources: {limits: {memory: 0}}",
            "resources: {requests: {cpu: 2}}",
            "resources: {requests: {cpu: 100m}}",
            "resources: {requests: {example.com/gpu: 100}}",
            "command: [sh, -c, sleep 3600]",
            "command: [sh, -c, sleep 3600 && a, a]",
            "command: [sh, -c, '\"$@\"', sh, a]",
            "command: [find, /a, -exec, a, '{}', ;]",
            "command: [python, -c, a, b]",
            "workingDir: \"'a'\"",
            "args: [a b', '\"']",
            "args: [--level=info, -Da=b -Dc=d, --flag, a b]",
            "workingDir: # a comment\n      /a",
            "ports: [{containerPort: 53}, {containerPort: 53, protocol: UDP}]",
            "securityContext: {capabilities: {add: [NET_ADMIN], drop: [ALL]}}",
            "securityContext: {capabilities: {drop: [KILL]}}",
            "resources: #limits\n      limits: {cpu: 1}",
            "resources: #limits\n{% if true %}\n      limits: {cpu: 1}\n{% endif %}",
            "workingDir: |-\n      a: #b",
        )
    ),
    *(
        Case("unlikely-value", text, f"    tty: true\n  {text}\n", [6])
        for text in (
            "volumes: [{name: a, emptyDir: {medium: memory}}]",
            "volumes: [{name: a, hostPath: {path: /a, type: directory}}]",
            "tolerations: [{key: a, operator: Exist}]",
            "tolerations: [{key: a, effect: NoScedule}]",
            "dnsPolicy: clusterFirst",
        )
    ),
    *(
        Case("unlikely-value", f"right: {text}", f"    tty: true\n  {text}\n", [])
        for text in (
            "volumes: [{name: a, emptyDir: {medium: HugePages-2Mi}}]",
            "volumes: [{name: a, hostPath: {path: /a, type: ''}}]",
            "tolerations: [{operator: Exists, effect: NoExecute}]",
        )
    ),
    *(
        Case("joined-lines", repr(text), f"    args:\n    - a\n{text}", lines)
        for text, lines in (
            ("    {%- if native %}\n    - b\n    {%- endif %}\n", [7, 9]),
            ("    {% if native -%}\n    - b\n    {% endif %}\n", [7]),
            ("    - b {# c #}\n    - d\n", [7]),
            ("    - b{% if native %}c{% endif %}\n    - d\n", [7]),
            ("    {% if native %}\n    - b\n    {% endif %}\n    - c\n", []),
            ("    {% if native %}\n    {%- set x = 1 %}\n    - b\n    {% endif %}\n", []),
            ('    {% if native %}{{ warn("a") }}{% endif %}\n    - b\n', []),
            ("    - b{% if native %}c{% endif %}d\n    - e\n", []),
            ("    {% macro m() %}e{% endmacro %}\n    - {{ m() }}\n", []),
            ("    # {{ native }}\n    - b{% if native %}c{% endif %}\n", []),
        )
    ),
    *(
        Case("deprecated-field", text, text, lines)
        for text, lines in (
            ("  serviceAccount: a\n", [5]),
            ("  serviceAccountName: a\n", []),
            ("    lifecycle: {preStop: {tcpSocket: {port: 80}}}\n    startupProbe: {tcpSocket: {port: 80}}\n", [5]),
            ("  volumes:\n  - {name: a, gitRepo: {repository: a}}\n  - {name: b, emptyDir: {}}\n", [6]),
        )
    ),
    *(
        Case("parameter-type", f"a field of a pod: {text}", f"    args: ['{{{{ {text} }}}}']\n", lines)
        for text, lines in (
            ("pod.metadata.lables.app | default(1)", [5]),
            ('object["spec"].servicAccountName | default(1)', [5]),
            ("pod.labels.app | default(1)", [5]),
            ("pod.metadta.labels | default({}) | length", [5]),
            ("pod.metadata.labels.lables.app | default(1)", []),
            ("pod.spec.securityContext.runAsUser | default(pod.status.a | default(pod.spec.b)) | default(1)", []),
            ("pod.metadata.labels.get(1, pod.kind)", []),
            ("container.imagePullPolcy | default(1)", [5]),
            ("(pod.spec.containers | first).lables | default(container.lables) | default(1)", []),
        )
    ),
    *(
        Case("renders", f"statements of nginx: {text!r}", "", lines, _files("a.nginx", text))
        for text, lines in (
            ("server {\n  listen 8080\n  root /a;\n}\n", [2]),
            ("server {\n  listen 8080 # a\n\n  location / {\n    root /a;\n  }\n}\n", [2]),
            ("user a\nevents {}\n", [1]),
            ("server { listen 8080; root /a }\n", [1]),
            ("server {\n  root '/a b'\n}\n", [2]),
            ("server {\n  root /a;\n  if ($b = c)\n  {\n    return 403 d;\n  }\n}\n", []),
            ("log_format a\n  'b'\n  'c';\nallow all;\n", []),
            ("server_name a\n  b.example\n  d e;\n", []),
            ("proxy_next_upstream error\n    http_500 http_502;\n", []),
            ('map $a ${b} {\n  default 0;\n  ~^x{1} 1;\n  \'\' "\\";";\n}\n', []),
            ("location / { content_by_lua_block { local a = 1 } }\n", []),
            ("server {\n  listen 8080\n  location = / {\n    root /a;\n  }\n}\n", [2]),
            ("server {\n  listen 8080\n  location = /\n  {\n    root /a;\n  }\n}\n", [2]),
            ("server {\n  location\n    /a {\n    root /a;\n  }\n}\n", []),
        )
    ),
    *(
        Case("renders", f"lines of an env file: {text!r}", "", lines, _files("a.env", text))
        for text, lines in (
            ("A=1\nB: 2\n", [2]),
            ("A\n", [1]),
            ("# a\n\nexport A=1\nB='c\nd'\n", []),
            ("A=1\nB = 2\n", [2]),
            ("A= 1\n", [1]),
            ("A= \nB= # b\nC='d = e'\nF=g = h\n  # i = j\n", []),
        )
    ),
    *(
        Case("renders", f"lines of an INI file: {text!r}", "", lines, _files("a.ini", text))
        for text, lines in (
            ("[a]\nb = 1\n[c\nd = 2\n", [3]),
            ('[a "b"]\n\tc\nc\nd: [1\n', []),
            ("a = 0\n[b] ; b\nc =\n  [1,\n  2]\nc =\n[d]\n", []),
        )
    ),
    *(
        Case("renders", f"a script: {text!r}", "", lines, _files("a.sh", text))
        for text, lines in (
            ("if a; then\n  b\n", [2]),
            ("#!/bin/sh -e\nwhile a; do\n  b\nfi\n", [4]),
            ("#!/bin/sh\nb\nfor a in b; do\n  c\n\n", [4]),
            ("if a; then\n  b=(1 2)\n  c < <(d)\nfi\n", []),
            ("#!/bin/sh\ncat <<E\nif '\nE\n", []),
            ("#!/usr/bin/env python3\nif a:\n  b()\n", []),
        )
    ),
    *(
        Case("variable-reference", text, f"    {text}\n    env: [{{name: PORT, value: '1'}}]\n", lines)
        for text, lines in (
            ('args: ["--a=${PORT}"]', [5]),
            ('args: [a, "$PORT"]', [5]),
            ('args: ["--a=${OTHER}", "$$PORT", "$(PORT)"]', []),
            ('args: ["--a=$other", "{print $NF}"]', []),
            ('args: ["--a=$OTHER"]', [5]),
            ("workingDir: $(OTHER)", []),
            ('command: [a, "$HOME/b"]', [5]),
            ('livenessProbe: {exec: {command: [a, "$HOME"]}}', [5]),
            ("volumeMounts: [{name: a, mountPath: /a, subPath: $(PORT)}]", [5]),
            ("volumeMounts: [{name: a, mountPath: /a/$(PORT)}, {name: a, mountPath: /b, subPathExpr: $(PORT)}]", [5]),
            ('command: [sh, -c, "cd $HOME"]', []),
            ('command: [sh, -c, "exec a $PORT"]', []),
        )
    ),
    *(
        Case(
            "file-path",
            f"within the folder: {path}",
            f"    args: [--config={path}]\n    volumeMounts:\n    - {{name: c, mountPath: /etc/tool}}\n"
            "    - {name: d, mountPath: /etc/tool/d}\n"
            '  volumes:\n  - {name: c, configMap: {name: "{{ files.configmap }}"}}\n  - {name: d, emptyDir: {}}\n',
            lines,
            _files("tool.yaml", "a: 1\n"),
        )
        for path, lines in (
            ("/etc/tool/config.yaml", [5]),
            ("/etc/tool/tool.yaml", []),
            ("/etc/tool", []),
            ("/etc/tool/d/x.yaml", []),
            ("/etc/other/config.yaml", []),
        )
    ),
    Case(
        "schema",
        "a duration by parameter",
        "    startupProbe: {periodSeconds: {{ params.period }}, exec: {command: [a]}}\n",
        [5],
        {
            "template.yaml": "description: A.\nparameters:\n"
            "  period: {type: string, format: duration, default: 2s, description: A.}\n"
        },
    ),
    Case(
        "file-path",
        "a projected volume has files of others",
        "    args: [--token=/etc/tool/token]\n    volumeMounts: [{name: c, mountPath: /etc/tool}]\n"
        '  volumes:\n  - name: c\n    projected: {sources: [{configMap: {name: "{{ files.configmap }}"}}, '
        "{serviceAccountToken: {path: token}}]}\n",
        [],
        _files("tool.yaml", "a: 1\n"),
    ),
    *(
        Case("variable-reference", f"of a script: {text}", f"    {text}\n    env: [{{name: A, value: b}}]\n", lines)
        for text, lines in (
            ("command: [perl, -e, 'print $A']", []),
            ("command: [python, -c, 'print(\"$(LOST)\")']", [5]),
            ("command: [sh, -c, 'echo $(LOST)']", []),
        )
    ),
    Case("image-name", "two tags", '  - {name: b, image: "a/b:1:1"}\n', [5]),
    Case(
        "parameter-type",
        "texts beside or",
        '{% if workload.kind == "Job" or "CronJob" or workload.name == "a" or "b" %}\n    tty: true\n{% endif %}\n'
        '{% if workload.name == "a" or workload.name == "b" %}\n    stdin: {{ workload.name == "a" and native }}\n'
        '{% endif %}\n    workingDir: {{ workload.name or "a" }}\n',
        [5],
    ),
    *(
        Case("renders", f"braces of {name}: {text}", "", lines, _files(name, text))
        for name, text, lines in (
            ("a.hcl", "x = 1\na {\n  b = 1\n", [2]),
            ("a.hcl", "a {\n  b = 1\n}\n}\n", [4]),
            ("a.hcl", 'a {\n  b = "{"  # {\n  // {\n  /* { */\n  c = <<EOF\n{\nEOF\n}\n', []),
            ("nginx.conf", "events {}\nhttp {\n", [2]),
            ("nginx.conf", "http {\n  set $a '{';  # {\n  set $b ${a};\n}\n", []),
        )
    ),
    Case(
        "unlikely-value",
        "texts where lists are meant",
        "",
        [1, 2, 3],
        _files(
            "a.yaml",
            """\
            a: [{{ params.hosts | join(", ") }}]
            b: {{ params.hosts | tojson }}
            c: {d: [1, {{ params.hosts | tojson }}]}
            e: "{{ params.hosts | tojson }}"
            f: {{ params.hosts | join(", ") }}
            g: [a, {{ params.hosts | join(", ") }}]
            h: "[{{ params.hosts | join(", ") }}]"
            """,
            "description: A.\nparameters:\n  hosts: {type: array, items: {type: string, maxLength: 9}, default: [a]}\n",
        ),
    ),
    Case(
        "unlikely-value",
        "JSON in an overlay",
        "    env:\n    - name: A\n      value: {{ params.level | tojson }}\n"
        "    - name: B\n      value: {{ params.hosts | tojson }}\n",
        [7],
        {
            "template.yaml": "description: A.\nparameters:\n  level: {type: string, default: a, maxLength: 9}\n"
            "  hosts: {type: array, items: {type: string, maxLength: 9}, default: [a]}\n"
        },
    ),
    Case(
        "unlikely-value",
        "the place of a value that a parameter gives",
        "    resources: {limits: {memory: '{{ params.memory }}'}}\n",
        [5],
        {"template.yaml": "description: A.\nparameters:\n  memory: {type: string, format: quantity, default: 64m}\n"},
    ),
    Case(
        "mount-without-volume",
        "the name is a value",
        "    volumeMounts:\n    - {name: {{ params.image }}, mountPath: /a}\n",
        [],
    ),
    Case(
        "mount-without-volume",
        "of the app's containers",
        "  - name: '*'\n    volumeMounts:\n    - {name: a, mountPath: /a}\n",
        [7],
    ),
    Case("mount-without-volume", "a device", "    volumeDevices:\n    - {name: a, devicePath: /dev/a}\n", [6]),
    Case(
        "unused-volume",
        "the app mounts it",
        "  - name: '*'\n    volumeMounts: [{name: a, mountPath: /a}]\n  volumes:\n  - {name: a, emptyDir: {}}\n",
        [],
    ),
    Case(
        "file-mode",
        "decimals that were meant for octals, and others",
        "  volumes:\n"
        "  - {name: a, secret: {secretName: a, defaultMode: 440}}\n"
        "  - {name: b, configMap: {name: b, items: [{key: k, path: p, mode: 500}]}}\n"
        "  - {name: c, projected: {defaultMode: 420, sources: [{secret: {name: c, items: [{key: k, path: p,"
        " mode: 256}]}}]}}\n"
        "  - {name: d, secret: {secretName: d, defaultMode: 0440}}\n",
        [6, 7],
    ),
    Case(
        "file-as-folder",
        "by subPath, the folder, and a folder that is meant",
        "    args: [--key=/b/tls.key/tls.key]\n"
        "    volumeMounts:\n"
        "    - {name: a, mountPath: /etc/a/tls.crt, subPath: tls.crt}\n"
        "    - {name: a, mountPath: /etc/b}\n"
        "    - {name: a, mountPath: /b/tls.key}\n"
        "    - {name: c, mountPath: /etc/tls.crt}\n"
        f"  volumes:\n  - {_TLS}\n  - {{name: c, configMap: {{name: c}}}}\n",
        [],
    ),
    Case(
        "file-as-folder",
        "files of a Secret, and the only file under another name",
        "    volumeMounts:\n"
        "    - {name: a, mountPath: /etc/a/tls.crt}\n"
        "    - {name: b, mountPath: /etc/b/tool.conf}\n"
        f"  volumes:\n  - {_TLS}\n  - {{name: b, configMap: {{name: b, items: [{{key: k, path: own.conf}}]}}}}\n",
        [6, 7],
    ),
    *(
        Case(
            "not-executable",
            f"{what}",
            f"    {text}\n    volumeMounts: [{{name: a, mountPath: /a}}, {{name: b, mountPath: /a/b}}]\n"
            f"  volumes:\n  - {{name: a, configMap: {{name: a{mode}}}}}\n  - {{name: b, emptyDir: {{}}}}\n",
            lines,
        )
        for what, text, mode, lines in (
            ("a command", "command: [/a/run]", "", [5]),
            ("behind tini", "command: [tini, -g, --, /a/run]", "", [5]),
            ("in a shell", "command: [sh, -ec, exec /a/run --all]", "", [5]),
            ("a probe", "livenessProbe: {exec: {command: [/a/run]}}", "", [5]),
            ("a mode of no use", "command: [/a/run]", ", defaultMode: 0444", [5]),
            ("a mode", "command: [/a/run]", ", defaultMode: 0555", []),
            ("an item's mode", "command: [/a/run]", ", items: [{key: k, path: run, mode: 0500}]", []),
            ("another item's mode", "command: [/a/b.sh]", ", items: [{key: k, path: run, mode: 0500}]", []),
            ("read by a shell", "command: [sh, /a/run]", "", []),
            ("read by a shell in a shell", 'command: [sh, -c, "sh /a/run; . /a/run"]', "", []),
            ("an argument", "args: [/a/run.conf]", "", []),
            ("of the image", "command: [/usr/bin/run, /a/run.conf]", "", []),
            ("of another volume below", "command: [/a/b/run]", "", []),
        )
    ),
    Case("port-conflict", "below 1024", "    ports: [{name: tool-a, containerPort: 514}]\n", [5]),
    Case(
        "port-conflict",
        "a default",
        "    ports: [{name: tool-a, containerPort: {{ params.port }}}]\n",
        [5],
        {"template.yaml": _MANIFEST.replace("19901", "9090")},
    ),
    Case("fixed-port", "a value", "    ports: [{name: tool-a, containerPort: {{ params.port }}}]\n", []),
    Case("fixed-port", "a value in quotes", '    ports: [{name: tool-a, containerPort: "{{ params.port }}"}]\n', []),
    Case(
        "fixed-port",
        "an init container may have any",
        "  initContainers:\n  - {name: a, image: a:1, ports: [{containerPort: 80}]}\n",
        [],
    ),
    Case("probe-port", "a hook", "    lifecycle: {preStop: {httpGet: {path: /, port: stop}}}\n", [5]),
    Case("probe-port", "another host", "    startupProbe: {httpGet: {host: a.example, path: /, port: web}}\n", []),
    Case(
        "undeclared-port", "grpc", "    ports: [{containerPort: 19901}]\n    startupProbe: {grpc: {port: 19902}}\n", [6]
    ),
    Case("undeclared-port", "exec", "    startupProbe: {exec: {command: [ready]}}\n", []),
    Case("run-as-root", "said of the whole pod", "  securityContext: {runAsNonRoot: true}\n", []),
    Case(
        "run-as-root",
        "set-up",
        "    securityContext: {runAsNonRoot: true}\n"
        "  initContainers:\n"
        "  - name: a\n"
        "    image: a:1\n"
        "    securityContext: {runAsUser: 0, runAsNonRoot: true}\n",
        [9],
    ),
    Case("privilege-escalation", "privileged, told once", "    securityContext: {privileged: true}\n", [5]),
    Case(
        "added-capabilities",
        "each on its line",
        "    securityContext:\n"
        "      capabilities:\n"
        "        add:\n"
        "        - NET_BIND_SERVICE\n"
        "        - NET_RAW\n"
        "        - SYS_TIME\n",
        [9, 10],
    ),
    Case(
        "added-capabilities",
        "of the app's containers",
        "  - name: '*'\n    securityContext: {capabilities: {add: [SYS_TIME]}}\n",
        [6],
    ),
    Case(
        "pod-security",
        "a host port",
        "    securityContext: {capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}}\n"
        "    ports:\n"
        "    - {containerPort: 19901, hostPort: 80}\n",
        [7],
    ),
    Case(
        "pod-security",
        "of the app's containers nothing is asked",
        "    securityContext: {capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}}\n"
        "  - {name: '*', env: [{name: A, value: b}]}\n",
        [],
    ),
    Case(
        "pod-security",
        "an init container of the app",
        "spec:\n  initContainers:\n  - {name: '*', imagePullPolicy: !replace Always}\n",
        [],
    ),
    Case("host-namespaces", "one for all processes", "  shareProcessNamespace: true\n", [5]),
    Case("host-namespaces", "said to be off", "  hostNetwork: false\n", []),
    Case("secret-in-config", "a variable", "    env:\n    - {name: DB_PASSWORD, value: hunter2}\n", [6]),
    Case(
        "secret-in-config",
        "a path",
        "    env:\n    - {name: DB_PASSWORD, value: /secrets/db}\n    - {name: TOKEN_FILE, value: a}\n",
        [],
    ),
    Case("secret-in-config", "a key that is written out", "", [1], _files("a.conf", "key AKIAABCDEFGHIJKLMNOP\n")),
    Case(
        "secret-in-config",
        "in a file",
        "",
        [1],
        _files("a.conf", "token {{ params.api_token }}\n", _string("api-token", "pattern: '^[a-z]*$', default: a")),
    ),
    Case(
        "secret-in-config",
        "the name of a Secret",
        "    envFrom:\n    - secretRef:\n        name: {{ params.client_secret }}\n",
        [],
        {"template.yaml": _string("client-secret", "maxLength: 9, default: a")},
    ),
    Case(
        "secret-in-config",
        "only asked about",
        "{% if params.api_token %}\n    env: []\n{% endif %}\n",
        [],
        {"template.yaml": _string("api-token", "maxLength: 9, default: a")},
    ),
    Case(
        "secret-in-config",
        "a family in a loop",
        "    env:\n    {% for n, v in params.token | dictsort %}\n    - {name: 'A_{{ n }}', value: '{{ v }}'}\n"
        "    {% endfor %}\n",
        [7],
        {"template.yaml": _FAMILY},
    ),
    Case(
        "unquoted-text-value",
        "a family in a loop",
        "",
        [2, 6],
        _files(
            "a.conf",
            "{% for name, value in params.token | dictsort %}\n{{ value }}\n{% endfor %}\n"
            "{% for name in params.token %}\na {{ name }}\nb {{ params.token[name] }}\n"
            "c {{ params.token[name] | quote }}\n{% endfor %}\n",
            _FAMILY,
        ),
    ),
    Case(
        "unquoted-text-value",
        "a format",
        "",
        [],
        _files("a.conf", "a {{ params.x }}\n", _string("x", "format: image, default: 'a:1'")),
    ),
    Case(
        "unquoted-text-value",
        "a pattern",
        "",
        [],
        _files("a.conf", "a {{ params.x }}\n", _string("x", "pattern: '^[a-z]+$', default: a")),
    ),
    Case(
        "unquoted-text-value",
        "a pattern that takes blanks",
        "",
        [2],
        _files("a.conf", "b\na {{ params.x }}\n", _string("x", "pattern: '^[a-z ]+$', default: a")),
    ),
    Case(
        "unquoted-text-value",
        "choices",
        "",
        [1],
        _files("a.conf", "a {{ params.x }}\n", _string("x", "enum: [a, 'b c'], default: a")),
    ),
    Case(
        "unquoted-text-value",
        "a document",
        "",
        [],
        _files("a.yaml", "a: {{ params.x }}\n", _string("x", "maxLength: 9, default: a")),
    ),
    *(
        Case(
            rule,
            f"a string without quotes in {name}",
            "",
            lines,
            _files(name, text, _string("x", "pattern: '^[a-z]+$', default: a")),
        )
        for rule, name, text, lines in [
            ("renders", "a.toml", "b = {{ params.x }}\nc = {{ params.x | quote }}\nd = [{{ params.x }}]\n", [1, 3]),
            ("renders", "a.xml", "<a>{{ params.x }}</b>\n", [1]),
            ("unquoted-text-value", "a.hcl", 'b = {{ params.x }}\nc = "{{ params.x }}"\n', [1]),
            ("unquoted-text-value", "a.lua", "b = {{ params.x }}\nc = {{ params.x | quote }}\n", [1]),
        ]
    ),
    Case("app-container", "a likely name", "  - {name: web, image: a:1}\n", [5]),
    Case("app-container", "PATH", "  - name: '*'\n    env:\n    - {name: PATH, value: /a}\n", [7]),
    Case("pod-fields", "a policy without a container", "spec:\n  nodeSelector: {a: b}\n", []),
    Case("pod-fields", "with one", "  nodeSelector: {a: b}\n", [5]),
    Case("defaulted-field", "of the app's containers", "  - name: '*'\n    imagePullPolicy: Always\n", [6]),
    Case("defaulted-field", "insisted on", "  - name: '*'\n    imagePullPolicy: !replace Always\n", []),
    Case("defaulted-field", "of its own container", "    imagePullPolicy: Always\n", []),
    Case("atomic-list", "of the pod", "  dnsConfig:\n    nameservers: [10.0.0.1]\n", [6]),
    Case("atomic-list", "one that merges", "  tolerations: [{key: a, operator: Exists}]\n", []),
    Case("atomic-list", "of its own container", "    args: [a]\n", []),
    Case("atomic-list", "which of the app's", "  - name: '*'\n    only: [web]\n    env: [{name: A, value: b}]\n", []),
    Case("replace", "an image", "  - name: '*'\n    image: !replace a:1\n", [6]),
    Case("replace", "one value", "  - name: '*'\n    imagePullPolicy: !replace Always\n", []),
    Case("replace", "in its own container", "    args: !replace [a]\n", []),
    Case("replace", "a whole list", "  tolerations: !replace\n  - {operator: Exists}\n", [5]),
    Case(
        "job-blocked",
        "fail() is an answer too",
        "{% if not native and completes %}{{ fail('not here') }}{% endif %}\n",
        [],
    ),
    *(
        Case(
            "job-blocked",
            f"for Jobs alone: {jobs}",
            f"{{% if {jobs} %}}{{{{ {call}('no Jobs') }}}}{{% endif %}}\n",
            [5],
        )
        for jobs, call in (
            ('not native and workload.kind in ["Job", "CronJob"]', "warn"),
            ("not native and params.port and workload.kind in ('CronJob','Job')", "fail"),
        )
    ),
    Case(
        "job-blocked",
        "of Jobs in another matter",
        "    tty: {{ workload.kind in ['Job', 'CronJob'] }}\n"
        "{% if not native and completes %}{{ warn('no') }}{% endif %}\n",
        [],
    ),
    Case("job-blocked", "a warning that Deployments get too", "{{ warn('hello') }}\n", [3]),
    Case(
        "job-blocked",
        "never native",
        "    restartPolicy: Never\n{% if not native and workload.kind == 'Job' %}{{ fail('no Jobs') }}{% endif %}\n",
        [5],
    ),
    Case("termination", "a port for metrics", "    ports: [{name: tool-metrics, containerPort: 19901}]\n", []),
    Case("termination", "no port", "", []),
    Case(
        "grace-period",
        "as plain containers only",
        "{% if not native %}\n    lifecycle: {preStop: {sleep: {seconds: 40}}}\n{% endif %}\n",
        [6],
    ),
    Case(
        "variable-reference",
        "for a shell, with names from elsewhere",
        '    args: ["$HOME/a"]\n    envFrom: [{configMapRef: {name: a}}]\n',
        [5],
    ),
    Case(
        "variable-reference",
        "for a shell, in a variable",
        '    env:\n    - {name: A, value: b}\n    - {name: B, value: "$A:$OTHER"}\n',
        [7],
    ),
    Case(
        "variable-reference", "further down", "    env:\n    - {name: A, value: $(B)}\n    - {name: B, value: b}\n", [6]
    ),
    Case("variable-reference", "further up", "    env:\n    - {name: B, value: b}\n    - {name: A, value: $(B)}\n", []),
    Case("variable-reference", "a dollar sign", "    args: [$$(B)]\n", []),
    Case("variable-reference", "a shell", "    command: [/bin/sh, -c, echo $(hostname)]\n", []),
    Case("variable-reference", "a Service's", "    args: [$(KUBERNETES_SERVICE_HOST)]\n", []),
    Case(
        "variable-reference", "names from elsewhere", "    args: [$(B)]\n    envFrom: [{configMapRef: {name: a}}]\n", []
    ),
    *(
        Case("renders", what, text, lines)
        for what, text, lines in [
            ("no blank is needed", "    resources: {limits:{cpu: 1}}\n", []),
            (
                "colons in values",
                "    args: [a:b, 'c:{d:e}', \"{f:g}\"] # {h:i}\n    command: ['{{ {'a': 1}.a }}']\n",
                [],
            ),
            ("an item without its name", "    env:\n    - {name: A, value: b}\n    - {value: c}\n", [7]),
            ("an item without its port", "    ports:\n    - {name: a}\n", [6]),
            ("a mapping for a list, which schema tells", "  - {name: '*', env: {A: b}}\n", []),
            ("a mount without a volume", "    volumeMounts: [{name: a, mountPath: /a}]\n", []),
        ]
    ),
    Case("image-name", "capital letters", "spec:\n  containers:\n  - {name: tool, image: 'Redis Cache:1:x'}\n", [3]),
    Case("image-name", "a dollar", "spec:\n  initContainers:\n  - {name: tool, image: $redis:7}\n", [3]),
    Case("image-name", "somebody's value", "    command: [a]\n", []),
    Case("request-above-limit", "in other units", "    resources: {requests: {cpu: 1}, limits: {cpu: 999m}}\n", [5]),
    Case("request-above-limit", "the limit itself", "    resources: {requests: {cpu: 1}, limits: {cpu: 1000m}}\n", []),
    Case("request-above-limit", "no quantity", "    resources: {requests: {cpu: a}, limits: {cpu: 1}}\n", []),
    Case("app-container", "a program's name", "  - {name: redis, image: a:1}\n", [5]),
    Case("app-container", "a proxy's name", "  - {name: envoy, image: a:1}\n", []),
    Case("atomic-list", "no list of Kubernetes", "  tolerationss: [{key: a}]\n", []),
    Case("pod-name", "a label", "metadata:\n  labels: {name: a}\n" + _HEAD, []),
    Case("pod-name", "a namespace", "metadata:\n  namespace: a\n" + _HEAD, [2]),
    Case(
        "set-in-loop",
        "in a condition",
        "{% set n = 0 %}\n{% for a in containers %}{% if a %}{% set n = n + 1 %}{% endif %}{% endfor %}\n",
        [6],
    ),
    Case("set-in-loop", "of the loop's own name", "{% for a in containers %}{% set a = a.name %}{% endfor %}\n", []),
    Case(
        "set-in-loop", "of this round", "{% for a in containers %}{% set b = a %}{% set b = b.name %}{% endfor %}\n", []
    ),
    *(
        Case(rule, what, text, lines, _files("a.conf", "a\n"))
        for rule, what, text, lines in [
            ("unmounted-files", "a volume that nobody mounts", _VOLUME, [6]),
            ("unused-volume", "a volume that nobody mounts, told elsewhere", _VOLUME, []),
            ("unmounted-files", "a part that is not there", _mounted("subPath: b.conf, "), [7]),
            ("unmounted-files", "a part", _mounted("subPath: a.conf, "), []),
            ("unmounted-files", "mounted", _mounted(""), []),
            ("file-path", "elsewhere", "    command: [a, -c, /b/a.conf]\n" + _mounted(""), [5]),
            ("file-path", "copied", "    command: [cp, /b/a.conf, /etc/a/]\n" + _mounted(""), []),
            ("file-path", "a URL", "    command: [a, 'http://b/a.conf']\n" + _mounted(""), []),
            ("file-path", "another's", "    command: [a, /b/a.conf]\n" + _VOLUME, []),
        ]
    ),
    *(
        Case("shell-injection", what, f"    command: {command}\n", lines, {"template.yaml": _string("x", schema)})
        for what, command, schema, lines in [
            ("no quotes", "[sh, -c, 'echo {{ params.x }}']", "maxLength: 9, default: a", [5]),
            ("no quotes, letters", "[sh, -c, 'echo {{ params.x }}']", "pattern: '^[a-z ]+$', default: a", []),
            ("no quotes, a format", "[sh, -c, 'echo {{ params.x }}']", "format: image, default: 'a:1'", []),
            ("no quotes, choices", "[sh, -c, 'echo {{ params.x }}']", "enum: [a, 'b;c'], default: a", [5]),
            ("a line", '[sh, -c, "echo {{ params.x }}"]', "pattern: '^[a-z\\n]+$', default: a", [5]),
            (
                "quotes that hold",
                "[sh, -c, \"echo '{{ params.x }}'\"]",
                "pattern: '^[a-z;$]+$', default: a",
                [],
            ),
            ("quotes that expand", "[sh, -c, 'echo \"{{ params.x }}\"']", "pattern: '^[a-z$]+$', default: a", [5]),
            ("a comment", "[sh, -c, '# {{ params.x }}']", "pattern: '^[a-z;]+$', default: a", []),
            ("within a program", "[/usr/bin/env, python3, -uc, 'f({{ params.x }})']", "maxLength: 9, default: a", [5]),
            ("an option with a word", "[bash, -eo, pipefail, -c, '{{ params.x }}']", "maxLength: 9, default: a", [5]),
            ("a file that is run", "[sh, /run.sh, -c, '{{ params.x }}']", "maxLength: 9, default: a", []),
            ("another name", "[sh, -c, '{{ [params.x, 1] | join }}']", "maxLength: 9, default: a", [5]),
            ("quoted", "[sh, -c, 'echo {{ params.x | shell_quote }}']", "maxLength: 9, default: a", []),
            ("an argument", "[sh, -c, 'echo $1', sh, '{{ params.x }}']", "maxLength: 9, default: a", []),
            ("no script", "[tool, -c, '{{ params.x }}']", "maxLength: 9, default: a", []),
        ]
    ),
    Case(
        "shell-injection",
        "a hook, and a branch that opens with the value",
        "{% if params.x %}\n    lifecycle: {preStop: {exec: {command: [sh, -c, 'a {{ params.x }}']}}}\n{% endif %}\n",
        [6],
        {"template.yaml": _string("x", "maxLength: 9")},
    ),
    Case(
        "shell-injection",
        "within a list",
        "    command: [sh, -c, 'a {{ params.x[0] }}']\n",
        [5],
        {"template.yaml": "parameters: {x: {type: array, items: {type: string}, minItems: 1, default: [a]}}\n"},
    ),
    Case(
        "shell-injection",
        "within a mapping, the second of its parts",
        "    startupProbe: {exec: {command: [sh, -c, 'a {{ params.x.b }}']}}\n",
        [5],
        {
            "template.yaml": "parameters: {x: {type: object, properties: {a: {type: string}, b: {type: string}},"
            " default: {a: c, b: d}}}\n"
        },
    ),
    Case("bind-address", "an argument", _PROBED + "    args:\n    - --http-address=127.0.0.1:19901\n", [8]),
    Case("bind-address", "every address", _PROBED + "    args:\n    - --http-address=0.0.0.0:19901\n", []),
    Case("bind-address", "both", _PROBED + "    args: ['--address=127.0.0.1:19901', '--address=:19901']\n", []),
    Case("bind-address", "another port", _PROBED + "    args: ['--address=127.0.0.1:19902']\n", []),
    Case(
        "bind-address",
        "the line that was rendered, of two that begin alike",
        _PROBED,
        [4],
        _files(
            "a.conf",
            "{% if false %}\nlisten 127.0.0.1:1;\n{% endif %}\nlisten 127.0.0.1:{{ 19901 }};\n",
        ),
    ),
    Case("bind-address", "what is called", _PROBED, [], _files("a.conf", "server 127.0.0.1:19901;\n")),
    Case(
        "bind-address",
        "a key of YAML",
        _PROBED,
        [3],
        _files("a.yaml", "extensions:\n  health:\n    endpoint: localhost:19901\n"),
    ),
    Case("bind-address", "a key of YAML, every address", _PROBED, [], _files("a.yaml", "listen: ':19901'\n")),
    Case("bind-address", "Envoy", _PROBED, [4], _envoy(address="127.0.0.1")),
    Case("bind-address", "Envoy on every address", _PROBED, [], _envoy()),
    Case("validate-missing", "a file of nobody's", "", [], _files("tool.conf", "a\n")),
    Case("validate-missing", "Envoy's", "", [5], _envoy()),
    Case("envoy-config", "all is well", "", [], _envoy()),
    Case("envoy-config", "an address of nobody", "", [4], _envoy(address="10.1.2.3")),
    Case("envoy-config", "every address, IPv6", "", [], _envoy(address="'::'")),
    Case("envoy-config", "no filter", "", [13], _envoy(filters="")),
    Case("envoy-config", "nobody knows where to", "", [12], _envoy(type="ORIGINAL_DST")),
    Case("envoy-config", "somebody knows where to", "", [], _envoy(type="ORIGINAL_DST", more="use_original_dst: true")),
    Case(
        "mount-hides",
        "one file",
        "    volumeMounts: [{name: a, mountPath: /etc, subPath: a}]\n  volumes: [{name: a, emptyDir: {}}]\n",
        [],
    ),
    Case(
        "mount-hides",
        "of the app's containers",
        "  - name: '*'\n    volumeMounts:\n    - {name: a, mountPath: /usr/}\n  volumes: [{name: a, emptyDir: {}}]\n",
        [7],
    ),
    Case("pod-label", "one that Kubernetes recommends", "metadata:\n  labels: {app.kubernetes.io/name: a}\n", [2]),
    Case("pod-label", "an annotation", "metadata:\n  annotations: {app: a}\n", []),
    Case(
        "field-path",
        "a label",
        "    env:\n    - {name: A, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['a']\"}}}\n",
        [],
    ),
    Case(
        "field-path",
        "all labels",
        "    env:\n    - {name: A, valueFrom: {fieldRef: {fieldPath: metadata.labels}}}\n",
        [6],
    ),
    Case(
        "field-path",
        "all labels in a file",
        "  volumes:\n  - {name: a, downwardAPI: {items: [{path: a, fieldRef: {fieldPath: metadata.labels}}]}}\n",
        [],
    ),
    Case(
        "field-path",
        "the node in a file",
        "  volumes:\n  - {name: a, downwardAPI: {items: [{path: a, fieldRef: {fieldPath: spec.nodeName}}]}}\n",
        [6],
    ),
    Case(
        "field-path",
        "a limit",
        "    env:\n    - {name: A, valueFrom: {resourceFieldRef: {resource: limits.cpus}}}\n",
        [6],
    ),
    Case(
        "slow-start",
        "a delay",
        "    startupProbe: {exec: {command: [a]}, periodSeconds: 1, initialDelaySeconds: 20}\n",
        [5],
    ),
    Case(
        "selector-everything",
        "an expression",
        "",
        [],
        {"template.yaml": _MANIFEST + "selector: {matchExpressions: [{key: a, operator: Exists}]}\n"},
    ),
    Case(
        "overridable",
        "a part of a field",
        "",
        [4],
        {"template.yaml": _MANIFEST + "overridable: [resources.limits]\n"},
    ),
    Case(
        "size",
        "annotations below what a pod's have, and above three quarters of it",
        'metadata:\n  annotations:\n    note: "{% for _ in range(7000) %}0123456789 0123456789 01234567{% endfor %}"\n',
        [2],
    ),
]


def test_an_overlay_without_a_line(tmp_path: Path) -> None:
    assert {p.code for p in found(write(tmp_path, {"overlay.yaml.j2": ""}))} == {"parameter-unused"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule}: {case.what}")
def test_what_is_found(case: Case, tmp_path: Path) -> None:
    problems = found(write(tmp_path, case.sources))
    assert [p for p in problems if p.code == "template"] == []
    assert [p.place.line for p in problems if p.code == case.rule] == case.lines
