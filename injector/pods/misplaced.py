"""Annotations and labels of the injector that stand on a workload instead of its pods: a mistake easily made."""

from __future__ import annotations

from collections.abc import Iterator

from injector.pods.context import Object
from injector.pods.workloads import pod_template
from injector.settings import Settings


def misplaced(obj: Object, settings: Settings) -> Iterator[str]:
    """A sentence for each of them; none for a Pod, on which they count, nor for parameters of templates at paths."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or pod_template(obj) is obj:
        return
    name = metadata.get("name") or metadata.get("generateName") or "without a name"
    here = f"{str(obj.get('kind') or 'object').lower()}/{name}"
    at_paths = tuple(settings.parameter_suffix(name) for at in settings.paths.values() for name in at.templates)
    for field in ("annotations", "labels"):
        entries = metadata.get(field)
        for key in entries if isinstance(entries, dict) else ():
            if str(key).partition("/")[0].endswith(settings.prefix) and not str(key).startswith(at_paths):
                yield f"{key} stands on {here} itself and does not count; put it into its pod template"
