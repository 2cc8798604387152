"""Rules about containers that do not start, or whose pod is refused."""

from __future__ import annotations

import re
from decimal import Decimal
from itertools import chain
from typing import Any

from injector.authoring.lint.rules._scripts import commands, interpreter
from injector.authoring.lint.rules._values import asked_ports, leaves, numbered, port_numbers, rendered_for, word_list
from injector.authoring.lint.subject import Finding, Findings, OverlayMistakes, Subject
from injector.names import hint, respelling, shortened, to_write
from injector.pods.context import Object, mapping, mappings, string_field
from injector.pods.fields import CONTAINER
from injector.pods.overlay import plain_mapping
from injector.pods.quantity import parse_quantity
from injector.templates.parameter_keywords import FORMATS

SEVERITY = "error"

#: A name with its scheme, and the tag.
_NAME_AND_TAG = re.compile(r"(?:\w+://)?(.*?)(:[^/:]*)?\Z")
#: A tag behind a tag; a port is followed by a slash.
_TWO_TAGS = re.compile(r":[\w.-]+:[\w.-]+\Z")


def image_name(subject: Subject) -> Findings:
    """An image's name is not a valid image reference.

    The rule checks the images that the template renders with its defaults. A reference has the form
    `[host[:port]/]name[:tag][@digest]`, with a name in small letters. To check the values of a parameter in the same
    way, declare `format: image`.

    Why: the API server accepts any text as an image, but the kubelet does not: the sidecar stays in the state
    InvalidImageName, and the app, which waits for the sidecar, never starts.
    https://github.com/distribution/reference/blob/main/reference.go

    Bad:
        # overlay.yaml.j2
        spec:
          containers:
          - name: tool
            image: $registry/tool:1.2.3

    Good:
        # overlay.yaml.j2
        spec:
          containers:
          - name: tool
            image: registry.example:5000/tool:1.2.3

    Proof: the kubelet reads the name, and a control plane without nodes has no kubelet.
    """
    form = FORMATS["image"]
    for rendering in subject.usual:
        for path, container in rendering.every_container():
            image = container.get("image")
            if isinstance(image, str) and image and not form.allows(image):
                better = _NAME_AND_TAG.sub(lambda parts: parts[1].lower() + (parts[2] or ""), image)
                help_ = to_write(next(filter(form.allows, (better,)), form.words))
                yield rendering.finding(
                    f"image {shortened(image, 80)} is not an image reference",
                    (*path, "image"),
                    "it has two tags; write one"
                    if _TWO_TAGS.search(image)
                    else f"{help_}; to check a parameter for this, set `format: image`",
                )


def request_above_limit(subject: Subject) -> Findings:
    """A container requests more than its limit.

    The rule checks the template's own containers, with the defaults of the parameters.

    Why: the API server refuses a container whose request is above its limit. So the injector lowers the request to the
    limit, and warns at each injection. The sidecar then gets less than the template says.
    https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/

    Bad:
        # overlay.yaml.j2
        spec:
          containers:
          - name: tool
            image: {{ params.image }}
            resources:
              requests: {cpu: 10m, memory: 128Mi}
              limits: {memory: 64Mi}

    Good:
        # overlay.yaml.j2
        spec:
          containers:
          - name: tool
            image: {{ params.image }}
            resources:
              requests: {cpu: 10m, memory: 64Mi}
              limits: {memory: 128Mi}
    """
    for rendering in subject.usual:
        for path, container in rendering.containers():
            resources = plain_mapping(container.get("resources"))
            limits = plain_mapping(resources.get("limits"))
            for name, request in plain_mapping(resources.get("requests")).items():
                requested, most = _amount(request), _amount(limits.get(name))
                if requested is not None and most is not None and requested > most:
                    yield rendering.finding(
                        f"container `{container.get('name')}` has the {name} request {request}, but the {name} "
                        f"limit is {limits[name]}",
                        (*path, "resources", "requests", name),
                        "raise the limit, or request less",
                    )


def _amount(value: Any) -> Decimal | None:
    try:
        return parse_quantity(value)
    except ValueError:
        return None


def probe_port(subject: Subject) -> Findings:
    """A probe or a hook names a port that its container does not have.

    The kubelet looks up the name among the container's own ports. The API server accepts any name, but if the container
    has no port of this name, the probe always fails. If the startupProbe of a native sidecar fails, the app never
    starts.

    Source: Kubernetes docs, "Configure Liveness, Readiness and Startup Probes": a named port is a ContainerPort's name.

    Bad:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            ports:
            - {name: shipper-health, containerPort: {{ params.port }}}
            startupProbe:
              httpGet: {path: /health, port: shipper-ready}

    Good:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            ports:
            - {name: shipper-health, containerPort: {{ params.port }}}
            startupProbe:
              httpGet: {path: /health, port: shipper-health}
    """
    for rendering in subject.renderings:
        for path, container in rendering.containers():
            names = port_numbers(container)
            for port_path, port in asked_ports(container):
                if isinstance(port, str) and port not in names and not port.isdecimal():
                    rest = hint(port, names, "its ports are")
                    yield rendering.finding(
                        f"container `{container.get('name')}` has no port {shortened(port)}{rest}",
                        (*path, *port_path),
                        "name one of its ports, add one with this name, or give the number",
                        **respelling(port, names),
                    )


_SHORT = 1


def grace_period(subject: Subject) -> Findings:
    """A preStop hook sleeps longer than the termination grace period of some pods.

    The API server refuses a pod whose `preStop.sleep` is longer than its `terminationGracePeriodSeconds`. Some pods,
    such as those of tests and batch jobs, have a grace period of 0 or 1 seconds, so they would get no sidecar. Let the
    hook sleep for the smaller one of two numbers: the seconds that you want, and the pod's
    `terminationGracePeriodSeconds`.

    Source: Kubernetes docs, "Container Lifecycle Hooks", Sleep action; API validation of SleepAction.

    Bad:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            lifecycle:
              preStop: {sleep: {seconds: 10}}

    Good:
        # overlay.yaml.j2
        {% set delay = [10, pod.spec.terminationGracePeriodSeconds | default(30)] | min %}
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
        {% if delay > 0 %}
            lifecycle:
              preStop: {sleep: {seconds: {{ delay }}}}
        {% endif %}
    """
    for rendering in subject.usual:
        overlays = (
            rendered_for(subject, rendering.context, native=n, terminationGracePeriodSeconds=_SHORT)
            for n in (True, False)
        )
        for overlay in chain.from_iterable(overlays):
            for path, container in overlay.sidecars():
                sleep = mapping(mapping(mapping(container.get("lifecycle")).get("preStop")).get("sleep"))
                seconds = sleep.get("seconds")
                if isinstance(seconds, int) and seconds > _SHORT:
                    yield Finding(
                        f"pods whose terminationGracePeriodSeconds is below {seconds} are refused with this hook",
                        overlay.place((*path, "lifecycle", "preStop", "sleep", "seconds")),
                        (
                            "write seconds: {{ [SECONDS, pod.spec.terminationGracePeriodSeconds | default(30)] | min }}"
                            ", with your number in place of SECONDS"
                        ),
                    )


#: `$$` is a dollar sign.
_REFERENCE = re.compile(r"(?<!\$)(?:\$\$)*\$\(([A-Za-z_][A-Za-z0-9_]*)\)")
#: The same as a shell has it.
_OF_SHELL = re.compile(r"(?<!\$)\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
#: A variable of the environment, whoever defines it; those of awk and jq are shorter.
_CAPITALS = re.compile(r"[A-Z][A-Z0-9_]{2,}\Z")
#: The fields that are replaced, by those in whose place they stand.
_EXPANDING = {"subPath": "subPathExpr"}
#: The places where Kubernetes replaces `$(NAME)`.
_EXPANDED = word_list(
    """
    Container.command[] Container.args[] EnvVar.value VolumeMount.subPathExpr ExecAction.command[]
    """
)
#: What kubelet adds for the services of a namespace.
_OF_SERVICES = re.compile(r".*_(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT(?:_[0-9]+_[A-Z_]+)?)\Z")


def variable_reference(subject: Subject) -> Findings:
    """`$(NAME)` refers to a variable that the container does not have, or defines only later.

    Kubernetes replaces `$(NAME)` by the value of the variable NAME in commands, in arguments, in `subPathExpr` and in
    the values of later variables, and nowhere else. If it does not know the name, it changes nothing, and the program
    gets the text `$(NAME)`. Kubernetes expands variables in the order of the list, so define a variable before another
    one refers to it. `$NAME` and `${NAME}` are for a shell; Kubernetes does not replace them. The rule reports them if
    the container has such a variable, or if a command has `$NAME` in capital letters, unless the command runs a shell.

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
    for rendering in subject.overlays:
        for path, container in rendering.containers():
            names = [string_field(variable.get("name")) for variable in mappings(container.get("env"))]
            faults = [*_of_shells(container, names), *_elsewhere(container, names)]
            if not container.get("envFrom"):  # whose names nobody knows here
                faults += _references(container, names)
            for word_path, message, help_ in faults:
                yield rendering.finding(message, (*path, *word_path), help_)


def _of_shells(container: Object, names: list[str]) -> OverlayMistakes:
    """Path, message and help for each reference to a variable that only a shell replaces."""
    values = [(("env", index, "value"), variable.get("value")) for index, variable in numbered(container.get("env"))]
    main, *others = commands(container)
    for words in ([*main, *values], *others):
        if any(interpreter(string_field(word)) for _, word in words):
            continue  # a $ is the script's
        for path, word in words:
            for match in _OF_SHELL.finditer(string_field(word)):
                name, alone = (
                    match[1] or match[2],
                    match[2] or "",
                )  # who expands ${NAME} itself may have it from its image
                if name in names or ("env" not in path and _CAPITALS.match(alone)):
                    message = (
                        f"Kubernetes does not replace {match[0]}, only $({name}); {match[0]} works only in a shell"
                    )
                    yield path, message, f"write $({name})" + f", and add {name} to env" * (name not in names)


def _elsewhere(container: Object, names: list[str]) -> OverlayMistakes:
    """Path, message and help for each reference to a variable of the container where Kubernetes replaces none."""
    for path, text in leaves(container):
        field = CONTAINER.at(path)
        reference = _REFERENCE.search(string_field(text))
        if field.address not in _EXPANDED and reference and reference[1] in names:
            help_ = to_write(_EXPANDING.get(field.name), "write the value itself")
            yield path, f"Kubernetes does not replace {reference[0]} in {field.name}", help_


def _references(container: Object, names: list[str]) -> OverlayMistakes:
    """Path, message and help for each reference that nothing answers."""
    env = [(("env", i, "value"), variable.get("value"), names[:i]) for i, variable in numbered(container.get("env"))]
    command = [(path, word, names) for path, word in next(commands(container))]
    if any(interpreter(string_field(word)) == "sh" for _, word, _ in command):
        command = []  # there it runs a command
    for path, word, known in (*env, *command):
        for name in _REFERENCE.findall(string_field(word)):
            if name in known or _OF_SERVICES.match(name):
                continue
            problem = f"there is no such variable{hint(name, known)}"
            to_do = f"add {name} to env; for a literal $ write $$"
            if name in names:
                problem, to_do = "the variable is further down", "move the variable up"
            yield path, f"$({name}) stays as it is: {problem}", to_do
