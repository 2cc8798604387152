"""What is in a cluster, by kind, namespace and name: to be compared before and after."""

from __future__ import annotations

import json

from tests.cluster.controlplane import ControlPlane
from tests.cluster.processes import eventually
from tests.deploy.helm import NAME

#: What comes and goes by itself.
PASSING = ("events", "leases", "endpointslices", "endpoints", "nodes", "ipaddresses")


def everything(control_plane: ControlPlane) -> set[str]:
    """Every object of the cluster, but for what passes and for namespaces that are being deleted."""
    kinds = control_plane.kubectl("api-resources", "--verbs=list", "-o", "name").stdout.split()
    wanted = ",".join(kind for kind in kinds if not kind.startswith(PASSING))
    items = json.loads(control_plane.kubectl("get", wanted, "-A", "-o", "json").stdout)["items"]
    items += [{"kind": "Lease", **lease} for lease in control_plane.api.list("Lease") if NAME in str(lease["metadata"])]
    going = {item["metadata"]["name"] for item in items if item["metadata"].get("deletionTimestamp")}
    return {
        "/".join((item["kind"], where, item["metadata"]["name"]))
        for item in items
        if (where := item["metadata"].get("namespace", "")) not in going and item["metadata"]["name"] not in going
    }


def settled(control_plane: ControlPlane) -> set[str]:
    """The same, once what other tests have left is gone: three looks one after the other find the same."""
    looks: list[set[str]] = []

    def look() -> set[str] | None:
        looks.append(everything(control_plane))
        return looks[-1] if len(looks) > 2 and looks[-1] == looks[-2] == looks[-3] else None

    return eventually("nothing comes or goes any more", look, 180, every=1)
