"""A rule about secrets."""

from __future__ import annotations

import re

from injector.authoring.lint.rules._reading import uses_in_holes
from injector.authoring.lint.rules._values import in_containers
from injector.authoring.lint.subject import Finding, Findings, Rendering, Subject
from injector.pods.context import string_field
from injector.templates.template import FAMILY, Parameter

SEVERITY = "error"

_WORDS = r"password|passwd|passphrase|token|(?:api|private|secret|access|signing|encryption)[-_]?key|credentials?"
#: A name that ends with what it holds: `client-secret`, and not `secret-name` or `token-file`. A parameter that is
#: just called `secret` mostly names one.
_SECRET = re.compile(rf"(?:^|.*[-_])(?:{_WORDS}|(?<=[-_])secret)\Z", re.IGNORECASE)
_REFERENCE = re.compile(r"secretKeyRef|secretName|secretRef")
#: What begins a key of a well-known kind.
_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36}\b")
_HELP = (
    "put the value into a Secret, and refer to the Secret by secretKeyRef, or mount it; a parameter may hold its name"
)


def secret_in_config(subject: Subject) -> Findings:
    """A password or key is in a parameter, a variable or a config file.

    Parameters are annotations, config files are ConfigMaps, and values of variables are in the pod. So everybody who
    may read pods and ConfigMaps can read a password in them. For example, the role `view` may read pods and ConfigMaps,
    but not Secrets. The password is also in plain text in etcd, in backups and in audit logs. Instead, put the password
    into a Secret, and let a parameter have the Secret's name as its value. In the overlay, refer to this Secret with
    `secretKeyRef`, or mount it.

    Source: Kubernetes docs, "Good practices for Kubernetes Secrets", and "Using RBAC Authorization", User-facing roles.

    Bad:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            env:
            - {name: API_TOKEN, value: "{{ params.api_token }}"}
        # template.yaml
        description: Ships the app's logs.
        parameters:
          api-token: {type: string, maxLength: 100, default: changeme, description: Token of the log server.}

    Good:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            env:
            - name: API_TOKEN
              valueFrom: {secretKeyRef: {name: "{{ params.secret_name }}", key: token}}
        # template.yaml
        description: Ships the app's logs.
        parameters:
          secret-name: {type: string, format: dns-label, default: shipper, description: Secret with the key token.}
    """
    secret = {p.variable: p.name for p in subject.parameters if _is_secret(p)}
    for file, text in subject.sources.items():
        lines = text.split("\n")
        for use in uses_in_holes(text) if file.endswith(".j2") else ():
            place = subject.template.program.place(file, use.offset)
            near = lines[max(0, place.line - 3) : place.line]
            if use.variable in secret and use.part != "item" and not any(_REFERENCE.search(line) for line in near):
                message = f"{secret[use.variable]} is a secret, and everybody who can read pods can read its value here"
                yield Finding(message, place, _HELP)
        for number, line in enumerate(lines if file.endswith(".j2") else [], 1):
            if key := _KEY.search(line):
                yield Finding(
                    "a private key or an access key is in plain text here",
                    subject.line_place(file, number, key.start() + 1),
                    _HELP,
                )
    for rendering in subject.overlays:
        yield from _variables(rendering)


def _variables(rendering: Rendering) -> Findings:
    for path, variable in in_containers(rendering, "env"):
        name, value = string_field(variable.get("name")), string_field(variable.get("value"))
        # it may be the secret itself: no path, and no reference to another variable
        if _SECRET.match(name) and value and not value.startswith(("/", "$(")):
            place = rendering.overlay.place((*path, "value"))
            if "params." not in place.text:  # told above
                message = f"the name {name} suggests a secret, and its value is in the pod in plain text"
                yield rendering.finding_at(message, place, _HELP)


def _is_secret(parameter: Parameter) -> bool:
    """Whether a parameter is a secret, by its mark or its name.

    A switch or a number is not; a DNS label names a Secret.
    """
    if parameter.secret:
        return True
    is_named = _SECRET.match(parameter.name.removesuffix(FAMILY)) is not None
    parameter = parameter.member or parameter
    return is_named and parameter.type == "string" and parameter.schema.get("format") not in ("dns-label", "duration")
