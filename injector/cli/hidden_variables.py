"""Variables of the app that come by `envFrom`, and that those of its templates hide: `env` is before `envFrom`.

Which variables a ConfigMap or a Secret brings, only its data says.
https://kubernetes.io/docs/tasks/configure-pod-container/configure-pod-configmap/
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from injector.injection import Injection
from injector.pods.context import Object, mapping_at, mappings_at
from injector.pods.env_order import may_bring
from injector.pods.fields import CONTAINER_LISTS
from injector.pods.overlay import name_of
from injector.reasons import Effect

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


def hidden_variables(pod: Object, result: Injection, namespace: str, known: Keys | None) -> Iterator[str]:
    """A sentence for each variable that a template sets in a container of the app, and so hides one that comes by the
    container's `envFrom`; where the keys are not known (None), for each that may come so.
    """
    if result.effect is not Effect.INJECT:  # the pod may have any shape then
        return
    for field in CONTAINER_LISTS:
        after = {container["name"]: container for container in mappings_at(result.object["spec"], field)}
        for container in mappings_at(pod["spec"], field):
            own = {variable.get("name") for variable in mappings_at(container, "env")}
            new = [v["name"] for v in mappings_at(after.get(container["name"], {}), "env") if v["name"] not in own]
            for name, source in product(new, mappings_at(container, "envFrom")):
                kind, ref = next(((kind, mapping_at(source, f)) for f, kind in _KINDS.items() if f in source), ("", {}))
                keys = None if known is None else known.get((kind, namespace, str(ref.get("name"))), ())
                key = name.removeprefix(str(source.get("prefix") or ""))
                if may_bring(source, name) and (keys is None or key in keys):
                    comes = "if that comes" if keys is None else "that comes"
                    yield (
                        f"variable {name} in container {container['name']} is the template's, and hides the app's own "
                        f"{comes} by envFrom from {kind} {ref.get('name')}; to keep the app's, write it in env"
                    )
