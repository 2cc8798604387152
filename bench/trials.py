"""What pods wait while 100 templates that take all time are applied at once: `python -m bench.trials`.

Prints for each run the 99th percentile of new workloads, one after the other: alone, beside 100 reviews of templates
that did not change, which cost connections and no trial, and beside those of 100 templates that are tried.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path

from bench.__main__ import injectors, make_certificates
from bench.cases import CASES, Target
from bench.load import Outcome, send

_RUNS, _PODS, _TEMPLATES = 5, 1000, 100
_BOMB = {
    "template.yaml": "description: A bomb.\n",
    "overlay.yaml.j2": "{% for a in range(9999) %}" * 3 + "{% endfor %}" * 3 + "\n",
}
[_NEW_WORKLOAD] = [case for case in CASES if case.name == "a new workload"]


def bomb(number: int, *, changed: bool) -> bytes:
    """A review of such a template's ConfigMap, new or as it was before."""
    metadata = {"name": f"bomb-{number}", "namespace": "injector", "labels": {"sidecar.injector/template": "true"}}
    request = {
        "uid": str(number),
        "operation": "CREATE",
        "namespace": "injector",
        "resource": {"group": "", "version": "v1", "resource": "configmaps"},
        "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": _BOMB},
    }
    request |= {} if changed else {"oldObject": request["object"]}
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()


async def _pods(target: Target) -> Outcome:
    bodies = _NEW_WORKLOAD.bodies(target, _PODS)
    return await send(target.port, target.ca, bodies, connections=1, requests=len(bodies))


async def _beside(target: Target, *, changed: bool) -> Outcome:
    """The pods while the templates' reviews are answered."""
    bodies = [bomb(number, changed=changed) for number in range(_TEMPLATES)]
    applied = asyncio.create_task(
        send(target.port, target.ca, bodies, connections=_TEMPLATES, requests=_TEMPLATES, path="/trial?timeout=10s")
    )
    outcome = await _pods(target)
    if (await applied).failures:
        raise RuntimeError("a template's review failed")
    return outcome


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder, injectors(make_certificates(Path(folder))) as targets:
        target = targets[_NEW_WORKLOAD.server]
        asyncio.run(_pods(target))  # warms up
        for _ in range(_RUNS):
            alone = asyncio.run(_pods(target)).percentile(0.99)
            unchanged, tried = (
                asyncio.run(_beside(target, changed=changed)).percentile(0.99) for changed in (False, True)
            )
            print(
                f"{alone:.2f} ms alone, {unchanged:.2f} ms beside unchanged templates, {tried:.2f} ms beside tried ones"
            )


if __name__ == "__main__":
    main()
