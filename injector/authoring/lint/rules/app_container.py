"""The overlay changes the app's containers in a way that the template's author probably did not intend.

The rule finds four mistakes:

- A sidecar has a name that apps use, such as `app`, `web` or `redis`. If the pod has a container of this name, the
  injector patches that container and adds no sidecar. If it is the pod's only container, the injection fails.
- A loop writes a container for each of the pod's containers. The injector then treats each container of the app as a
  sidecar. Instead write one container named `"*"`, which stands for all containers of the app, or, with `only:` or
  `except:`, for some of them.
- `"*"` has a field that belongs to one program, such as an image, a command, a port or a probe. Every container of the
  app that does not have this field gets it. For example, an app that relies on the command of its image would run the
  template's command instead.
- `"*"` has a variable such as PATH or HOME. The app's image may set this variable, and the injector cannot see that. So
  the app gets the template's value in place of the image's value.

Source: docs/templates.md, "Merge: fill in, do not overwrite"; Kubernetes docs, "Define a Command and Arguments for a
Container": the command in the pod replaces the command in the image.

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

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.rules._names import APPS, PROGRAMS
from injector.authoring.lint.rules._values import numbered
from injector.authoring.lint.subject import Finding, Rendering, Subject
from injector.pods.constraints.pod_view import mappings
from injector.pods.fields import CONTAINER_LISTS
from injector.pods.overlay import plain_mapping

SEVERITY = "warning"

_FIELDS = (
    "image",
    "command",
    "args",
    "workingDir",
    "ports",
    "startupProbe",
    "readinessProbe",
    "livenessProbe",
    "lifecycle",
    "restartPolicy",
    "stdin",
    "tty",
)
_VARIABLES = frozenset(
    {"HOME", "HOST", "HOSTNAME", "LD_LIBRARY_PATH", "LD_PRELOAD", "PATH", "PORT", "PWD", "SHELL", "USER"}
)


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each name, field and variable."""
    for rendering in subject.renderings:
        for path, container in rendering.containers():
            name = str(container.get("name"))
            place = rendering.overlay.place((*path, "name"))
            if "{{" in place.text and name in _brought(rendering):
                yield Finding(
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
                yield Finding(
                    (
                        f"many apps have a container called `{name}`: in their pods the template would change that "
                        "container, and add none of its own"
                    ),
                    place,
                    f"rename the template's container to `{_better(name, subject.template.name)}`",
                )
        yield from _everywhere(rendering)


def _brought(rendering: Rendering) -> set[str]:
    """The names of the pod's own containers."""
    spec = plain_mapping(rendering.pod.get("spec"))
    return {str(container.get("name")) for field in CONTAINER_LISTS for container in mappings(spec.get(field))}


def _better(name: str, template: str) -> str:
    """A name that no app's container has."""
    if name == template:
        return f"{name}-sidecar"
    return f"{template}-{name}" if name in PROGRAMS else template


def _everywhere(rendering: Rendering) -> Iterator[Finding]:
    for path, container in rendering.everywhere():
        for field in _FIELDS:
            if field in container:
                yield Finding(
                    f'"*" stands for every container of the app: each one that has no `{field}` gets this `{field}`',
                    rendering.overlay.place((*path, field), key=True),
                    f'leave {field} out, or limit "*" to one container with `only: [NAME]`',
                )
        for index, variable in numbered(container.get("env")):
            if variable.get("name") in _VARIABLES:
                yield Finding(
                    f'"*" overwrites the value of {variable["name"]} that the app\'s image sets',
                    rendering.overlay.place((*path, "env", index, "name")),
                    "use a variable of the template's own",
                )
