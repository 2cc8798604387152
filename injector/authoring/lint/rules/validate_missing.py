"""A config file has no `validate`, although its program can check the file.

`validate` is a command with which the real program checks the file, without serving anything. `injector test` runs it
on the files that the template renders. Without `validate`, you notice a wrong directive only when a pod does not start.

Source: each program's manual: `nginx -t`, `envoy --mode validate` and so on.

Bad:
    # template.yaml
    description: nginx in front of the app.
    files:
      nginx.conf: {}
    # nginx.conf.j2
    events {}
    http { client_max_bodysize 1m; }
    # overlay.yaml.j2
    spec:
      containers:
      - name: proxy
        image: example.com/nginx:1.2
        volumeMounts:
        - {name: proxy-config, mountPath: /etc/nginx, readOnly: true}
      volumes:
      - name: proxy-config
        configMap: {name: "{{ files.configmap }}"}

Good:
    # template.yaml
    description: nginx in front of the app.
    files:
      nginx.conf: {validate: [nginx, -t, -q, -e, stderr, -c, "{path}"]}
    # nginx.conf.j2
    events {}
    http { client_max_body_size 1m; }
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from injector.authoring.lint.subject import Finding, Subject

SEVERITY = "warning"

#: Names of config files, and the command that checks one.
_KNOWN = (
    (re.compile(r"nginx\.conf\Z"), '[nginx, -t, -q, -e, stderr, -c, "{path}"]'),
    (re.compile(r"(?:envoy|bootstrap)\.(?:ya?ml|json)\Z"), '[envoy, --mode, validate, -c, "{path}"]'),
    (re.compile(r"fluent-?bit\.(?:conf|ya?ml)\Z"), '[fluent-bit, --dry-run, -c, "{path}"]'),
    (re.compile(r"(?:fluentd?|td-agent)\.conf\Z"), '[fluentd, --dry-run, -c, "{path}"]'),
    (re.compile(r"haproxy\.(?:cfg|conf)\Z"), '[haproxy, -c, -f, "{path}"]'),
    (re.compile(r"prometheus\.ya?ml\Z"), '[promtool, check, config, "{path}"]'),
    (re.compile(r"Caddyfile\Z"), '[caddy, validate, --adapter, caddyfile, --config, "{path}"]'),
    (re.compile(r"vector\.(?:ya?ml|toml|json)\Z"), '[vector, validate, --no-environment, "{path}"]'),
    (re.compile(r"otel(?:col)?(?:-config)?\.ya?ml\Z"), '[otelcol, validate, --config, "{path}"]'),
    (re.compile(r"(?:httpd|apache2?)\.conf\Z"), '[httpd, -t, -f, "{path}"]'),
)


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each file of a known program."""
    for file in subject.template.files.values():
        command = next((command for name, command in _KNOWN if name.match(file.name)), None)
        if command is not None and not file.validate:
            yield Finding(
                f"no command validates {file.name} before a pod uses it",
                subject.manifest(("files", file.name)),
                f"add validate: {command}",
            )
