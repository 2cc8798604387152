"""`$(NAME)` refers to a variable that the container does not have, or defines only later.

Kubernetes replaces `$(NAME)` by the value of the variable NAME in commands, in arguments and in the values of later
variables. If it does not know the name, it changes nothing, and the program gets the text `$(NAME)`. Kubernetes expands
variables in the order of the list, so define a variable before another one refers to it. `$NAME` and `${NAME}` are for
a shell; Kubernetes does not replace them.

Source: Kubernetes docs, "Define Dependent Environment Variables", and API reference, Container: args, command.

Bad:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
        args: ["--node=$(NODE_NAME)"]

Good:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
        args: ["--node=$(NODE_NAME)"]
        env:
        - name: NODE_NAME
          valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from injector.authoring.lint.rules._scripts import interpreter
from injector.authoring.lint.rules._values import numbered
from injector.authoring.lint.subject import Finding, Subject
from injector.diagnostics import Path
from injector.names import hint
from injector.pods.constraints.pod_view import mappings, sequence, string_field
from injector.pods.context import Object

SEVERITY = "error"

#: `$$` is a dollar sign.
_REFERENCE = re.compile(r"(?<!\$)(?:\$\$)*\$\(([A-Za-z_][A-Za-z0-9_]*)\)")
#: The same as a shell has it.
_OF_SHELL = re.compile(r"(?<!\$)\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
#: What kubelet adds for the services of a namespace.
_OF_SERVICES = re.compile(r".*_(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT(?:_[0-9]+_[A-Z_]+)?)\Z")


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each reference."""
    for rendering in subject.renderings:
        for path, container in rendering.containers():
            if container.get("envFrom"):
                continue  # whose names nobody knows here
            names = [string_field(variable.get("name")) for variable in mappings(container.get("env"))]
            for word_path, name, written in _of_shells(container, names):
                yield Finding(
                    f"Kubernetes does not replace {written}, only $({name}); {written} works only in a shell",
                    rendering.overlay.place((*path, *word_path)),
                    f"write $({name})",
                )
            for word_path, name, variables in _references(container, names):
                later = name in names
                yield Finding(
                    f"$({name}) stays as it is: "
                    + (
                        "the variable is further down" if later else f"there is no such variable{hint(name, variables)}"
                    ),
                    rendering.overlay.place((*path, *word_path)),
                    "move the variable up" if later else f"add {name} to env; for a literal $ write $$",
                )


def _of_shells(container: Object, names: list[str]) -> Iterator[tuple[Path, str, str]]:
    """Path, name, and the text of every reference to a variable of the container that only a shell replaces."""
    command = _words(container)
    if any(interpreter(word) for _, _, word in command):
        return  # a $ is the script's
    for field, index, word in command:
        for match in _OF_SHELL.finditer(word):
            if (name := match[1] or match[2]) in names:
                yield (field, index), name, match[0]


def _words(container: Object) -> list[tuple[str, int, str]]:
    """Field, index and text of each word of a command."""
    return [
        (field, i, string_field(w))
        for field in ("command", "args")
        for i, w in enumerate(sequence(container.get(field)))
    ]


def _references(container: Object, names: list[str]) -> Iterator[tuple[Path, str, list[str]]]:
    """Path, name, and the names known there, of every reference that nothing answers."""
    for index, variable in numbered(container.get("env")):
        for name in _REFERENCE.findall(string_field(variable.get("value"))):
            if name not in names[:index] and not _OF_SERVICES.match(name):
                yield ("env", index, "value"), name, names[:index]
    command = _words(container)
    if any(interpreter(word) == "sh" for _, _, word in command):
        return  # there it runs a command
    for field, index, word in command:
        for name in _REFERENCE.findall(word):
            if name not in names and not _OF_SERVICES.match(name):
                yield (field, index), name, names
