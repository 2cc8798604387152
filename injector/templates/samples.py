"""The sample pods that a new template is tried with: few, and each unlike the others where templates trip."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from injector.pods.context import Cluster, Namespace, Object, Workload
from injector.templates.render import Context
from injector.templates.schema import value_of
from injector.templates.template import UNSET, Parameter, Template

_WEB: Object = {"name": "web", "image": "example.com/web:1", "ports": [{"containerPort": 8080, "name": "http"}]}
_METRICS: Object = {
    "name": "metrics",
    "image": "example.com/metrics:1",
    "ports": [{"containerPort": 9090}, {"containerPort": 53, "protocol": "UDP"}],
    "env": [{"name": "A", "value": "b"}],
    "resources": {"requests": {"cpu": "10m"}},
}
_META: Object = {"generateName": "web-6d4cf56db6-", "labels": {"app": "web"}}

#: Pods as the API server would send them.
SAMPLES: tuple[Object, ...] = (
    {"metadata": {"name": "bare"}, "spec": {"containers": [{"name": "web", "image": "example.com/web:1"}]}},
    {"metadata": _META, "spec": {"containers": [_WEB]}},
    {
        "metadata": {**_META, "annotations": {"example.com/note": "a: b\n- c"}},
        "spec": {
            "containers": [_WEB, _METRICS],
            "initContainers": [{"name": "migrate", "image": "example.com/web:1"}],
            "volumes": [{"name": "data", "emptyDir": {}}],
            "securityContext": {"runAsNonRoot": True, "runAsUser": 1000},
            "serviceAccountName": "web",
            "terminationGracePeriodSeconds": 60,
        },
    },
    {"metadata": _META, "spec": {"containers": [_WEB], "hostNetwork": True}},
)

_VALUES: dict[str, Any] = {
    "string": "sample",
    "integer": 8080,
    "number": 1.5,
    "boolean": True,
    "array": [],
    "object": {},
}
_FORMATS = {
    "quantity": "64Mi",
    "duration": "10s",
    "cidr": "10.0.0.0/8",
    "port": 8080,
    "dns-label": "sample",
    "image": "example.com/sample:1",
}


def sample_contexts(template: Template) -> Iterator[Context]:
    """Each sample pod in a namespace, with the parameters at their defaults, or at a likely value where required."""
    params: dict[str, Any] = {}
    for parameter in template.parameters.values():
        value = None
        if parameter.default is not UNSET:
            value = parameter.default
        elif parameter.required:
            value = sample_value(parameter)
            if value is UNSET:
                return
        params[parameter.variable] = value
    if not template.applies_to.pods_created:
        yield from _objects(template, params)
        return
    for number, pod in enumerate(SAMPLES):
        containers = pod["spec"]["containers"]
        declared = [port for container in containers for port in container.get("ports", ())]
        ports = [port["containerPort"] for port in declared if port.get("protocol", "TCP") == "TCP"]
        yield Context(
            params=params,
            object=pod,
            namespace=Namespace("sample", {"injection": "enabled"} if number else {}, {}),
            workload=Workload("Deployment", "web", None) if number else Workload("Pod", "bare", None),
            containers=containers,
            ports=ports,
            cluster=Cluster(),
            native=number % 2 == 0,
            configmap=f"{template.name}-0123456789ab",
        )


def _objects(template: Template, params: dict[str, Any]) -> Iterator[Context]:
    """A request of each operation that a template is for, about an object that says next to nothing."""
    pods = template.applies_to.only_pods
    for operation in template.applies_to.operations:
        obj: Object = SAMPLES[2] if pods else {"metadata": {"name": "sample", "namespace": "sample"}, "spec": {}}
        gone = operation == "DELETE"
        yield Context(
            params=params,
            object={} if gone else obj,
            namespace=Namespace("sample"),
            workload=Workload("", "sample", None),
            containers=obj["spec"].get("containers", ()),
            old_object={} if operation == "CREATE" else obj,
            request={"operation": operation, "userInfo": {"username": "sample", "groups": []}},
        )


def sample_value(parameter: Parameter) -> Any:
    """A value that a parameter takes: an example, one of its choices, or a plain one; UNSET where none of these is."""
    schema = parameter.schema
    candidates = [*schema.get("examples", ()), *schema.get("enum", ())]
    candidates += [schema[key] for key in ("const", "minimum", "maximum") if key in schema]
    if schema.get("format") in _FORMATS:
        candidates.append(_FORMATS[schema["format"]])
    candidates.append(_VALUES[parameter.type])
    for candidate in candidates:
        try:
            return value_of(parameter, candidate)
        except ValueError:
            continue
    return UNSET
