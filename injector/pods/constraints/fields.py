"""Plain fields of containers: there when Kubernetes wants them, and of its types.

An environment variable's value that is a number is the classic: YAML makes one of `value: 8080`, and the API server
answers 400. Rules: Kubernetes API reference, Container and EnvVar.
"""

from __future__ import annotations

from injector.pods.constraints.parts import Container, Parts, Violations, chosen, invalid, mapping, sequence, shown
from injector.pods.context import Object

_ENUMS = {
    "imagePullPolicy": ("Always", "IfNotPresent", "Never"),
    "terminationMessagePolicy": ("File", "FallbackToLogsOnError"),
}
_ENV_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_BULK_SOURCES = ("configMapRef", "secretRef")
_HELD_BACK = ("livenessProbe", "readinessProbe", "startupProbe", "lifecycle")


def find(parts: Parts) -> Violations:
    """What is wrong with the plain fields of touched containers."""
    for container in parts.touched:
        body = container.body
        image = body.get("image")
        if not isinstance(image, str) or not image or image != image.strip():
            yield invalid(f"{container.path}.image is {shown(image)}; name an image")
        for field, allowed in _ENUMS.items():
            value = body.get(field)
            if value is not None and value not in allowed:
                yield invalid(f"{container.path}.{field} is {shown(value)}; allowed: {', '.join(allowed)}")
        for field in ("command", "args"):
            for item in sequence(body.get(field)):
                if not isinstance(item, str):
                    yield invalid(f"{container.path}.{field} has {shown(item)}, which is no string; put it in quotes")
        if container.list_name == "initContainers" and body.get("restartPolicy") is None:
            for field in chosen(body, _HELD_BACK):
                yield invalid(f"{container.path}.{field}: an init container that ends has none; drop it")
        yield from _environment(container)


def _environment(container: Container) -> Violations:
    for variable in sequence(container.body.get("env")):
        if isinstance(variable, dict):
            yield from _variable(f"{container.path}.env", variable)
    for bulk in sequence(container.body.get("envFrom")):
        if isinstance(bulk, dict) and len(chosen(bulk, _BULK_SOURCES)) != 1:
            yield invalid(f"{container.path}.envFrom: an entry needs one of {', '.join(_BULK_SOURCES)}")


def _variable(where: str, variable: Object) -> Violations:
    name, value, source = variable.get("name"), variable.get("value"), variable.get("valueFrom")
    # Relaxed names (stable since 1.34): printable ASCII other than "=".
    if not isinstance(name, str) or not name or "=" in name or not (name.isascii() and name.isprintable()):
        yield invalid(f"{where}: {shown(name)} is no name of an environment variable")
        return
    if value is not None and not isinstance(value, str):
        yield invalid(f"{where}[{name}].value is {shown(value)}, which is no string; put it in quotes")
    if source is not None:
        if value:
            yield invalid(f"{where}[{name}] has both value and valueFrom; keep one")
        sources = chosen(mapping(source), _ENV_SOURCES)
        if len(sources) != 1:
            found = " and ".join(sources) or "no source"
            yield invalid(f"{where}[{name}].valueFrom has {found}; it needs exactly one")
