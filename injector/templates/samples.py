"""What a new template is tried with: sample pods, few, and each unlike the others where templates trip; and for what
is not the creation of a pod a request of each operation that it is for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice, product
from typing import Any

from injector.pods.context import Cluster, Namespace, Object, Workload
from injector.pods.resource_kinds import Resource, request_fields
from injector.templates.parameter_values import value_of
from injector.templates.template import UNSET, JsonSchema, Parameter, Template
from injector.templates.variables import Context, tcp_ports

_WEB = {"name": "web", "image": "example.com/web:1", "ports": [{"containerPort": 8080, "name": "http"}]}
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

_APP = frozenset(("web", "metrics", "migrate"))
_PODS = Resource("", "v1", "pods")
#: How many requests are tried that are not the creation of a pod.
_OBJECTS = 12

_VALUES = {
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
    """Each sample pod in a namespace, and whatever else the template is for.

    Parameters are at their defaults, or at a likely value where they are required.
    """
    params = {}
    for parameter in template.parameters.values():
        value = None
        if parameter.default is not UNSET:
            value = parameter.default
        elif parameter.required:
            value = sample_value(parameter)
            if value is UNSET:
                return
        params[parameter.variable] = value
    if template.applies_to.pods_created:
        yield from _pods(template, params)
    yield from _objects(template, params)


def _pods(template: Template, params: Object) -> Iterator[Context]:
    for number, pod in enumerate(SAMPLES):
        containers = pod["spec"]["containers"]
        yield Context(
            params=params,
            object=pod,
            namespace=Namespace("sample", {"injection": "enabled"} if number else {}, {}),
            workload=Workload("Deployment", "web", None) if number else Workload("Pod", "bare", None),
            containers=containers,
            ports=tuple(tcp_ports(containers)),
            app=_APP,
            cluster=Cluster(),
            native=number % 2 == 0,
            configmap=f"{template.name}-0123456789ab",
            request=_request(_PODS, pod, "CREATE"),
        )


def _objects(template: Template, params: Object) -> Iterator[Context]:
    """A request of each operation on the first few resources, about an object that says next to nothing."""
    covered = template.applies_to
    kinds = [Resource(covered.api_groups[0], covered.api_versions[0], name) for name in covered.resources]
    for resource, operation in islice(product(kinds, covered.operations), _OBJECTS):
        if covered.pods_created and (resource.name, operation) == ("pods", "CREATE"):
            continue
        obj = SAMPLES[2] if resource.is_pods else sample_object(resource)
        deleted = operation == "DELETE"
        yield Context(
            params=params,
            object={} if deleted else obj,
            namespace=Namespace("sample"),
            workload=Workload(obj.get("kind", "Pod"), "sample", None),
            containers=() if deleted else obj["spec"].get("containers", ()),
            app=_APP if resource.is_pods and not deleted else frozenset(),
            old_object=obj if operation in ("UPDATE", "DELETE") else {},
            configmap=f"{template.name}-0123456789ab",
            request=_request(resource, obj, operation),
        )


def sample_object(resource: Resource) -> Object:
    """An object of a resource that says next to nothing. The kind is a likely one: a resource does not tell it."""
    version = f"{resource.group}/{resource.version}".lstrip("/")
    kind = re.sub("(?<=[sx])es$|s$", "", re.sub("ies$", "y", resource.name.partition("/")[0])).capitalize()
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "sample", "namespace": "sample"}, "spec": {}}


def _request(resource: Resource, obj: Object, operation: str) -> Object:
    return request_fields(resource, obj, "sample", operation) | {"userInfo": {"username": "sample", "groups": []}}


def has_example(parameter: Parameter) -> bool:
    """Whether its author gives a value to try it with."""
    schemas = [parameter.schema, *([parameter.member.schema] if parameter.member else [])]
    return any({"examples", "enum", "const"} & schema.keys() for schema in schemas)


def _names(schema: JsonSchema) -> Iterator[str]:
    """What the author says that a key may be."""
    names = schema.get("propertyNames")
    if isinstance(names, Mapping):
        yield from (name for key in ("examples", "enum") for name in names.get(key, ()) if isinstance(name, str))


def sample_value(parameter: Parameter) -> Any:
    """A value that a parameter takes: an example, one of its choices, or a plain one; UNSET where none of these is."""
    schema = parameter.schema
    candidates = [*schema.get("examples", ()), *schema.get("enum", ())]
    if parameter.member is not None and (value := sample_value(parameter.member)) is not UNSET:
        candidates += [{name: value} for name in (*_names(schema), "sample")]
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
