"""When something was last changed, as the API server noted it in `metadata.managedFields`.

https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
"""

from __future__ import annotations

from injector.pods.context import Object, mapping, mappings, string_field


def last_change(obj: Object, field: tuple[str, ...]) -> str:
    """When a field of an object was last changed, given as its steps in `managedFields`; "" where nobody noted it."""
    times = [""]
    for entry in mappings(obj["metadata"].get("managedFields")):
        managed = entry.get("fieldsV1")
        for step in field:
            managed = mapping(managed).get(step)
        if managed is not None:
            times.append(string_field(entry.get("time")))
    return max(times)
