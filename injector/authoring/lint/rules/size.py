"""The template renders almost as much as Kubernetes can store.

All config files that a template renders for a pod are in one ConfigMap, which can have at most 1 MiB. The config files
are annotations instead if the template has `delivery: annotation`, or if the pod has no controller. The annotations of
a pod can have at most 256 KiB in total. The linter renders the template with each parameter at the limits of its
schema. The rule reports the template if it then renders more than three quarters of one of these sizes.

Why: the API server refuses a ConfigMap or a pod that is too large. The first to see the error is the team that sets the
longest value, such as a long list.
https://kubernetes.io/docs/concepts/configuration/configmap/

Bad:
    # template.yaml
    description: A tool.
    delivery: annotation
    files:
      tool.conf: {}
    # tool.conf.j2
    {% for number in range(9000) %}
    server 10.0.0.1 weight=100 {{ number }};
    {% endfor %}
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: tool:1
        volumeMounts:
        - {name: tool-config, mountPath: /etc/tool, readOnly: true}
      volumes:
      - name: tool-config
        configMap: {name: "{{ files.configmap }}"}

Good:
    # tool.conf.j2
    {% for number in range(90) %}
    server 10.0.0.1 weight=100 {{ number }};
    {% endfor %}
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.subject import Finding, Rendering, Subject

SEVERITY = "warning"

#: Bytes of a ConfigMap (Kubernetes documentation, "ConfigMaps") and of all annotations of an object (its validation).
_CONFIG_MAP = 1024 * 1024
_ANNOTATIONS = 256 * 1024
_SHARE = 0.75


def check(subject: Subject) -> Iterator[Finding]:
    """The largest rendering that comes near a limit, by files and by annotations."""
    if not subject.renderings:
        return
    largest = max(subject.renderings, key=_files)
    size = _files(largest)
    if size > _SHARE * _CONFIG_MAP:
        name = max(largest.files, key=lambda file: len(largest.files[file].text))
        yield Finding(
            (
                f"the config files are {size // 1024} KiB in total, more than three quarters of the "
                f"{_CONFIG_MAP // 1024} KiB that a ConfigMap may have"
            ),
            subject.manifest(("files", name)),
            f"limit the size of the parameters, or write smaller files (found with this sample: {largest.title})",
        )
    heaviest = max(subject.renderings, key=_annotations)
    size = _annotations(heaviest)
    if size > _SHARE * _ANNOTATIONS:
        yield Finding(
            (
                f"the pod's annotations are {size // 1024} KiB in total, more than three quarters of the "
                f"{_ANNOTATIONS // 1024} KiB that a pod may have"
            ),
            subject.manifest(("delivery",)) if subject.template.files else heaviest.overlay.place(("metadata",)),
            (
                "limit the size of the parameters, or write smaller files; a pod without a controller gets its files "
                f"in annotations, whatever `delivery` says (found with this sample: {heaviest.title})"
            ),
        )


def _files(rendering: Rendering) -> int:
    return sum(len(file.text.encode()) for file in rendering.files.values())


def _annotations(rendering: Rendering) -> int:
    annotations = (rendering.after.get("metadata") or {}).get("annotations") or {}
    return sum(len(f"{key}{value}".encode()) for key, value in annotations.items())
