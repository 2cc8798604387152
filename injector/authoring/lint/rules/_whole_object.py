"""An overlay that is a whole object, as somebody pastes a manifest: what is said of it, once."""

from __future__ import annotations

from collections.abc import Mapping

from injector.authoring.lint.subject import Finding, Rendering
from injector.diagnostics import Path, spoken_path
from injector.pods.overlay import plain, plain_mapping

#: What the injector merges of an overlay.
MERGED = ("metadata", "spec")
#: What only one Pod has in its metadata.
_OF_ONE_POD = ("name", "generateName", "namespace", "uid", "resourceVersion", "creationTimestamp", "managedFields")


def whole_object(rendering: Rendering) -> Mapping[str, tuple[Finding, ...]]:
    """The finding about an overlay that has apiVersion and kind, by the one rule that tells it; of others nothing."""
    overlay = plain_mapping(rendering.overlay.value)
    if "apiVersion" not in overlay or "kind" not in overlay:
        return {}
    kind, metadata = plain(overlay["kind"]), plain_mapping(overlay.get("metadata"))
    own = [field for field in metadata if field in _OF_ONE_POD]
    paths: list[Path] = [(field,) for field in overlay if field not in MERGED]
    paths += [("metadata",)] if own and len(own) == len(metadata) else [("metadata", field) for field in own]
    message = f"the overlay is a whole {kind}; it has to be a part of a pod, of which metadata and spec are merged"
    to_do = f"remove {', '.join(map(spoken_path, paths))}"
    remove = tuple(rendering.overlay.place(path, key=True) for path in paths if kind == "Pod")
    place, rule = rendering.overlay.place(("kind",), key=True), "pod-name" if own else "ignored-field"
    return {rule: (rendering.finding_at(message, place, to_do, about="kind", value=kind, remove=remove),)}
