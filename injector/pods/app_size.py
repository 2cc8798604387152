"""What an app asks for by itself: the figures by which a template sizes its sidecar.

Rules: Kubernetes docs, "Resource Management for Pods and Containers", "Assign Pod-level CPU and memory resources".
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial

from injector.budget import charge
from injector.pods.context import Object, mapping_at, mappings_at
from injector.pods.fields import CONTAINER_LISTS
from injector.pods.quantity import add_quantities, extreme_quantity

#: Always there, null where nobody sets them; another resource is there only if somebody sets it.
_RESOURCES = dict.fromkeys(("cpu", "memory", "ephemeral-storage"))
_Combine = Callable[[Sequence[str]], str]
_largest: _Combine = partial(extreme_quantity, largest=True)


def app_size(spec: Object, app: Collection[str]) -> Object:
    """What the containers with the names in `app` ask for: `resources`, all together, and `largest`, the largest.

    Both have `requests` and `limits` by resource, in Kubernetes' canonical form. A container's limit is its request
    too where it sets none. What the pod sets for all its containers counts in place of their sum. Of init containers
    only the restartable ones count, as the others end before the app runs. What is no quantity is left out.
    """
    running = [
        mapping_at(container, "resources")
        for field in CONTAINER_LISTS
        for container in mappings_at(spec, field)
        if container.get("name") in app and (field == "containers" or container.get("restartPolicy") == "Always")
    ]
    limits = [_quantities(resources, "limits") for resources in running]
    requests = [{**each, **_quantities(resources, "requests")} for each, resources in zip(limits, running, strict=True)]
    whole = mapping_at(spec, "resources")
    whole_limits, whole_requests = _quantities(whole, "limits"), _quantities(whole, "requests")
    return {
        "resources": {
            "requests": {**_RESOURCES, **whole_limits, **_combined(requests, add_quantities), **whole_requests},
            "limits": {**_RESOURCES, **_combined(limits, add_quantities), **whole_limits},
        },
        "largest": {
            "requests": {**_RESOURCES, **whole_limits, **whole_requests, **_combined(requests, _largest)},
            "limits": {**_RESOURCES, **whole_limits, **_combined(limits, _largest)},
        },
    }


def _quantities(resources: Object, side: str) -> dict[str, str]:
    quantities = {}
    entries = mapping_at(resources, side)
    charge(1 + len(entries))
    for name, quantity in entries.items():
        with suppress(ValueError):
            quantities[name] = add_quantities([quantity])
    return quantities


def _combined(asks: Sequence[dict[str, str]], combine: _Combine) -> dict[str, str]:
    by_resource: dict[str, list[str]] = {}
    for ask in asks:
        for name, quantity in ask.items():
            by_resource.setdefault(name, []).append(quantity)
    return {name: combine(quantities) for name, quantities in by_resource.items()}
