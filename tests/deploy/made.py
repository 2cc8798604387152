"""What is made from the chart and from the code, as it should be."""

from __future__ import annotations

import json
from typing import Any

from injector.authoring.manifest_writer import dump_yaml
from injector.authoring.schemas import schema_of
from injector.cluster.installation import Installation
from injector.cluster.permissions import permissions
from injector.cluster.update_policy import update_policy
from injector.loading.template_folders import gallery_path, read_gallery
from injector.settings import parse_settings
from injector.templates.kubernetes_yaml import load_manifest
from tests.deploy.helm import CHART, NAME, Helm
from tests.deploy.values import values

#: What the webhook entries and the Deployment are made of: a null may not take it away.
_NEEDED = (
    "prefix", "namespaceLabel", "yesValues", "noValues", "ignoredNamespaces", "server"
)  # fmt: skip
_NEEDED_OF = {
    "namespaceLabel": ("key", "enabled", "required", "disabled"),
    "server": ("port", "metricsPort", "mutatePaths", "validatePaths", "advisePaths", "trialPaths", "drainSeconds"),
}
#: Settings that the chart writes, of certificates.source and the names of its objects, by their section.
_THE_CHART_S_OWN = {
    "certificates": ("source", "secret", "service", "webhooks", "lease"),
    "repair": ("lease",),
    "gallery": ("configMap",),
}
#: Helm's regular expressions know no lookahead.
_PREFIX = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
_PATH = r"^(/[-A-Za-z0-9._~]+)+$"

_SHIPPED_HEAD = """\
# What the shipped templates are for, made by `make manifests` of their template.yaml; {} is the creation of pods. The
# rules of the webhook entries of settings.paths are made of it.
"""

_POLICY_HEAD = """\
{{- /* Made by `make manifests` of injector/cluster/entries.py, as `injector guard --policy` writes it. */}}
{{- if .Values.updatePolicy.enabled }}
{{- $settings := .Values.settings }}
{{- $name := include "injector.name" . }}
"""

INSTALL_HEAD = f"""\
# The whole installation, made from deploy/chart by `make manifests`; docs/installing.md says how it is used.
# Nothing is published: put the name of your image in the place of registry.example/{NAME}.
apiVersion: v1
kind: Namespace
metadata:
  name: {NAME}
  labels:
    app.kubernetes.io/name: {NAME}
    pod-security.kubernetes.io/enforce: restricted
    pod-security.kubernetes.io/warn: restricted
    pod-security.kubernetes.io/audit: restricted
"""


def install_manifest(helm: Helm) -> str:
    """deploy/install.yaml: the namespace, and what the chart renders to; Helm 4 ends each part with a blank line."""
    return INSTALL_HEAD + helm.text(namespace=NAME).replace("\n\n---\n", "\n---\n")


def settings_section() -> dict[str, Any]:
    """`settings` of the values' schema: what the settings file may hold, but for what the chart itself writes."""
    schema = schema_of("settings")
    properties: dict[str, Any] = schema["properties"]
    properties["prefix"] |= {"pattern": _PREFIX, "maxLength": 180}
    for section, own in _THE_CHART_S_OWN.items():
        for key in own:
            del properties[section]["properties"][key]
    for port in ("port", "metricsPort"):
        properties["server"]["properties"][port]["minimum"] = 1  # a Service cannot lead to one that is not known
    for paths in ("mutatePaths", "validatePaths", "advisePaths", "trialPaths"):
        properties["server"]["properties"][paths] |= {"minItems": 1}
    for section, needed in _NEEDED_OF.items():
        properties[section]["required"] = list(needed)
    properties["paths"]["propertyNames"] = {"pattern": _PATH}
    at = properties["paths"]["additionalProperties"]
    at["properties"]["templates"]["minItems"], at["required"] = 1, ["templates"]
    return {
        "description": "The settings file: docs/settings.md.",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "required": list(_NEEDED),
    }


def values_schema() -> str:
    """values.schema.json: written by hand, its `settings` by the code."""
    schema = json.loads((CHART / "values.schema.json").read_text())
    schema["properties"]["settings"] = settings_section()
    return json.dumps(schema, indent=2) + "\n"


def shipped_for() -> str:
    """shipped-for.yaml of the chart: `for` of each template of the gallery, {} where it says nothing."""
    lines = (
        f"{name}: {json.dumps(load_manifest(files['template.yaml']).get('for') or {})}\n"
        for name, files in sorted(read_gallery(gallery_path()).items())
    )
    return _SHIPPED_HEAD + "".join(lines)


#: How the rule about the label ends, behind its key.
_LABEL_END = " of this pod cannot be changed\n    reason: Forbidden\n"


def update_policy_template() -> str:
    """update-policy.yaml of the chart: the policy and its binding, with the chart's words where values differ."""
    settings = parse_settings({"prefix": "prefix.made", "templatesKey": "templates.made", "statusLabel": "label.made"})
    policy, binding = update_policy(settings, Installation(name="name.made"))
    policy["spec"]["matchConstraints"]["namespaceSelector"] = "namespaces.made"
    for found in (policy, binding):
        found["metadata"]["labels"] = "labels.made"
    text = dump_yaml(policy) + "---\n" + dump_yaml(binding)
    for made, chart in {
        "prefix.made": "{{ $settings.prefix }}",
        "templates.made": '{{ $settings.templatesKey | default (printf "%s/templates" $settings.prefix) }}',
        "  - expression: oldObject.metadata.?labels": '  {{- if ne (dig "statusLabel" "default" $settings) "" }}\n'
        "  - expression: oldObject.metadata.?labels",
        f"label.made{_LABEL_END}": f"label.made{_LABEL_END}  {{{{- end }}}}\n",
        "label.made": '{{ $settings.statusLabel | default (printf "%s/status" $settings.prefix) }}',
        "name.made": "{{ $name }}",
        " labels.made": '\n    {{- include "injector.labels" . | nindent 4 }}',
        " namespaces.made": '\n      {{- include "injector.namespaces" '
        '(list . "In" (list $settings.namespaceLabel.required)) | trim | nindent 6 }}',
        "      - pods/resize\n": '      {{- if ne (dig "required" "resources" "" $settings) "any" }}\n'
        "      - pods/resize\n      {{- end }}\n",
    }.items():
        assert made in text
        text = text.replace(made, chart)
    return _POLICY_HEAD + text + "{{- end }}\n"


def alerts() -> str:
    """The alerts in docs/operations.md: the chart's, without the head of the file."""
    head, start, rules = (CHART / "alerts.yaml").read_text().partition("groups:\n")
    assert all(line.startswith("#") for line in head.splitlines())
    return start + rules


def values_table() -> str:
    """The table in docs/values.md: the chart's values but for the injector's settings, which have a page."""
    rows = ["| value | default | what it does |", "| --- | --- | --- |"]
    for path, default, description in (value for value in values() if not value.path.startswith("settings.")):
        rows.append(f"| `{path}` | `{_json(default)}` | {description.rstrip('.')} |")
    return "\n".join(rows) + "\n"


def permissions_table() -> str:
    """The table of permissions in docs/installing.md."""
    rows = ["| feature | on | verbs | names | where |", "| --- | --- | --- | --- | --- |"]
    for line in permissions(Installation()):
        on = ", ".join(f"`{resource}`" for resource in line.resources)
        names = ", ".join(f"`{name}`" for name in line.names) or "all"
        where = "everywhere" if line.everywhere else "its own namespace"
        rows.append(f"| {line.feature} | {on} | {', '.join(line.verbs)} | {names} | {where} |")
    return "\n".join(rows) + "\n"


def _json(default: Any) -> str:
    return json.dumps(default).replace("|", r"\|")
