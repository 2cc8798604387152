"""Variables of the app that come by `envFrom`, and that those of its templates hide: `env` is before `envFrom`.

Which variables a ConfigMap or a Secret brings, only its data says.
https://kubernetes.io/docs/tasks/configure-pod-container/configure-pod-configmap/
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from injector.diagnostics import spoken_path
from injector.injection import Injection
from injector.pods.context import Object, mapping, mapping_at, mappings_at
from injector.pods.env_order import may_bring
from injector.pods.keyed_pointers import PointerIndex, path_of, steps_to
from injector.pods.overlay import name_of
from injector.pods.receipt import read_receipt
from injector.settings import Settings

#: By kind, namespace and name of a ConfigMap or a Secret the keys that it has.
Keys = dict[tuple[str, str, str], Object]
_KINDS = {"configMapRef": "ConfigMap", "secretRef": "Secret"}


def keys_in(objects: Iterable[tuple[Object, str]]) -> Keys:
    """What the ConfigMaps and Secrets among these objects, each with its namespace, bring."""
    return {
        (obj["kind"], namespace, str(name_of(obj.get("metadata")))): mapping_at(obj, "data")
        | mapping_at(obj, "stringData")
        for obj, namespace in objects
        if obj.get("kind") in _KINDS.values()
    }


def hidden_variables(
    pod: Object, result: Injection, namespace: str, settings: Settings, known: Keys | None
) -> Iterator[str]:
    """A sentence for each variable that a template sets in a container of the app, and so hides one that comes by the
    container's `envFrom`; where the keys are not known (None), for each that may come so.
    """
    receipt, places = read_receipt(result.object, settings), PointerIndex(pod)
    for pointer in receipt.added if receipt else ():
        container, (*_, field, name) = pointer.rsplit("/", 2)[0], ("", "", *steps_to(pointer))
        for source in mappings_at(mapping(places.at(container)), "envFrom") if field == "env" else ():
            kind, ref = next(
                ((kind, mapping_at(source, key)) for key, kind in _KINDS.items() if key in source), ("", {})
            )
            keys = known and known.get((kind, namespace, str(ref.get("name"))), {})
            if may_bring(source, name) and (keys is None or name.removeprefix(source.get("prefix") or "") in keys):
                yield (
                    f"variable {name} in {spoken_path(path_of(container))} is the template's, and hides the app's own "
                    f"that {'may come' if keys is None else 'comes'} by envFrom from {kind} {ref.get('name')}; to keep "
                    "the app's, write it in env"
                )
