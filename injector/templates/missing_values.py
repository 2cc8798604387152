"""What to say of something in an expression that is not there: what there is, or how to do without it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from injector.names import WANTED, hint, kind_of, nearest
from injector.pods.fields import POD, fields_of
from injector.templates.expression_errors import dotted_key
from injector.templates.sandbox_operations import DICT_METHODS, LIST_METHODS, STRING_METHODS
from injector.templates.template import Parameter, Template

#: The values that always have the same names in them.
_FIXED = {
    "files": ("configmap",),
    "namespace": ("name", "labels", "annotations"),
    "workload": ("kind", "name"),
    "cluster": ("version", "domain"),
}
_PODS = ("pod", "object")
#: What a value of a list is, where people take it for something else.
_ITEMS = {
    "ports": "ports is a list of numbers; write ports[0], or {% for port in ports %}",
    **{
        name: f"{name} is a list; write {name}[0].name, or {{% for one in {name} %}} and {{{{ one.name }}}}"
        for name in ("containers", "app_containers")
    },
}
_METHODS: dict[type, frozenset[str]] = {dict: DICT_METHODS, list: LIST_METHODS, str: STRING_METHODS}
#: Where a workload has the spec of its pod, by resource.
_PODS_OF = dict.fromkeys(("deployments", "statefulsets", "daemonsets", "replicasets", "jobs"), "spec.template.spec") | {
    "cronjobs": "spec.jobTemplate.spec.template.spec"
}
#: The objects of a review, which have variables of their own.
_OBJECTS = ("object", "oldObject")
_LOOP = ("index", "index0", "first", "last", "length", "previtem", "nextitem")


def missing(expression: str, name: str, owner: Any, template: Template) -> str:
    """What to say of `name`, which `owner` does not have; "" where there is no more to say than that.

    `expression` is the text of the expression that asks for it, in a file of the template.
    """
    if dotted := dotted_key(expression, name):
        return dotted
    if name in _OBJECTS and isinstance(owner, dict) and "operation" in owner:
        return f"`request` has no `{name}` here; write {name} in place of request.{name}"
    path, base = _path(expression, name)
    if not base:
        return ""
    near = nearest(name, [key for key in owner if isinstance(key, str)]) if isinstance(owner, dict) else None
    if near and base not in _FIXED:
        return ""
    if name in _METHODS.get(type(owner), ()):
        return f"`{name}` is a method here; write {base}.{name}()"
    if base == "loop":
        return f"`loop` has no `{name}`{hint(name, _LOOP)}"
    root, _, variable = base.partition(".")
    parameters = {parameter.variable: parameter for parameter in template.parameters.values()}
    if root == "params" and variable in parameters:
        return of_parameter(parameters[variable], base, name, path)
    if base == "files" and not nearest(name, _FIXED["files"]):
        file = template.files.get(name)
        text = (
            f'; for the text of this file write {{% include "{file.template}" %}}'
            if file
            else "; write files.configmap"
        )
        return f"`files` has only the key `configmap`, the name of the ConfigMap with the config files{text}"
    if base in _FIXED and name in _FIXED:
        return f"`{base}` has no `{name}`; write {name}.name"
    if base in _FIXED:
        return f"`{base}` has no `{name}`{hint(name, _FIXED[base])}"
    of_pod = template.applies_to.only_pods and root in _PODS
    if of_pod and root == base:
        return _in_pod(base, name)
    if base in _ITEMS and not name.isdecimal():
        return _ITEMS[base]
    workloads = [resource for resource in template.applies_to.resources if resource in _PODS_OF]
    if base == "object.spec" and workloads and name in fields_of("PodSpec"):
        return f"{workloads[0]} have no `{base}.{name}`; write object.{_PODS_OF[workloads[0]]}.{name}"
    if not isinstance(owner, dict | list):
        return f"`{base}` is {kind_of(owner)}, and has nothing named `{name}`; write {{{{ {base} }}}}"
    if isinstance(owner, list) and not name.lstrip("-").isdecimal():
        return f"`{base}` is a list, and has nothing named `{name}`; write {base}[0], or a loop over its items"
    if of_pod:
        fields = POD.at(re.findall(r"\w+", base)[1:]).fields.notations
        if name not in fields and (near_field := nearest(name, fields)):
            return f"a pod has no field {name} here; did you mean {near_field}?"
        return (
            f"this pod has no `{path.removeprefix(f'{root}.')}`; write {path} | default(...), or leave the line out "
            f"with {{% if {path} is defined %}}"
        )
    return ""


def of_parameter(parameter: Parameter, base: str, name: str, path: str) -> str:
    """What to say of `name`, which is asked of a parameter that stands there as `base`; `path` is all of it."""
    if parameter.type == "object":
        properties = parameter.schema.get("properties")
        if isinstance(properties, Mapping) and properties and name not in properties and parameter.member is None:
            return (
                f"the parameter `{parameter.name}` has no `{name}`{hint(name, map(str, properties), 'its schema has')}"
            )
        return f"the parameter `{parameter.name}` has no key `{name}` here; write {path} | default(...)"
    is_a = f"the parameter `{parameter.name}` is {WANTED[parameter.type]} (type: {parameter.type} in template.yaml)"
    if parameter.type == "array":
        if name.lstrip("-").isdecimal():
            return ""
        return f"{is_a}, and has nothing named `{name}`; write {base}[0], or {{% for item in {base} %}}"
    more = f"{parameter.name}-{name.replace('_', '-').lower()}"
    return f"{is_a}, and has nothing named `{name}`; write {{{{ {base} }}}}, or declare a parameter `{more}`"


def _in_pod(root: str, name: str) -> str:
    """Where a pod has a field that people write right behind `pod`."""
    for part, kind in (("metadata", "ObjectMeta"), ("spec", "PodSpec")):
        if name in fields_of(kind):
            return f"{root} has only metadata and spec; write {root}.{part}.{name}"
    return f"{root} has only metadata and spec; write {root}.metadata... or {root}.spec..."


def _path(expression: str, name: str) -> tuple[str, str]:
    """The path to `name` in an expression, as it stands there to its end, and the part before the name."""
    step = rf"(?:\.{re.escape(name)}\b|\[(?:['\"]{re.escape(name)}['\"]|{re.escape(name)})\])"
    match = re.search(rf"([A-Za-z_][\w.\[\]\"'/-]*?)({step}(?:\.\w+(?!\w*\()|\[[^\[\]]*\])*)", expression)
    return (match[0], match[1]) if match else ("", "")
