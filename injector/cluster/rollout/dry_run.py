"""What a workload's own pod would get now: it is created by server-side dry run, with everything but the storing.

https://kubernetes.io/docs/reference/using-api/api-concepts/#dry-run
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

from injector.cluster.api_error import ApiError
from injector.cluster.client import Client
from injector.cluster.rollout.rollout_marks import digest_of
from injector.pods.context import Object, filled, mapping_at, without
from injector.pods.receipt import Receipt, read_receipt, take_off
from injector.pods.shape import string_map
from injector.pods.workloads import pod_template, workload_of_pod
from injector.settings import Settings

#: Pods that are tried at the same time.
_TRIES = 3
#: What the controllers put on a pod beside the template's labels, and what an injector's choice may depend on.
_OF_CONTROLLERS = ("pod-template-hash", "rollouts-pod-template-hash", "controller-revision-hash")


class NewPod(NamedTuple):
    """What a pod that is created now gets: a receipt, or what refuses it to the pod.

    `refusal` is empty where the injector was not called, or has nothing to give. `differing`: not all tries gave the
    same. `any_version`: what counts is that a pod has sidecars, not which.
    """

    receipt: Receipt | None
    refusal: str = ""
    differing: bool = False
    any_version: bool = False

    def differs(self, pod: Object, settings: Settings) -> bool:
        """Whether a pod has other sidecars than this one."""
        receipt = injected_receipt(pod, settings)
        if receipt is None or self.receipt is None:
            return receipt is not self.receipt
        return not self.any_version and digest_of(receipt) != digest_of(self.receipt)


def injected_receipt(pod: Object, settings: Settings) -> Receipt | None:
    """The receipt of a pod that is marked as injected."""
    injected = string_map(pod, "annotations").get(settings.status_key) == "injected"
    return read_receipt(pod, settings) if injected else None


async def try_pod(client: Client, obj: Object, pod: Object, settings: Settings) -> NewPod:
    """What the next pod of a workload gets, `pod` being one that it has. Several are tried at the same time, so that
    more than one replica of the injector answers. Raises ApiError unless it is the pod that the API server refuses.
    """
    path, body = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods", next_pod(obj, pod, settings)
    tries = (client.create(path, body, {"dryRun": "All"}) for _ in range(_TRIES))
    answers = await asyncio.gather(*tries, return_exceptions=True)
    pods = [answer for answer in answers if not isinstance(answer, BaseException)]
    for error in answers:
        if isinstance(error, ApiError) and error.status in (400, 403, 422) and error.denial != "no-permission":
            return NewPod(None, error.message)
        if isinstance(error, BaseException):
            raise error
    failed = [pod for pod in pods if string_map(pod, "annotations").get(settings.status_key) == "failed"]
    if failed:
        return NewPod(None, string_map(failed[0], "annotations").get(settings.reason_key) or "failed")
    receipts = [injected_receipt(pod, settings) for pod in pods]
    digests = {digest_of(receipt) if receipt else "" for receipt in receipts}
    return NewPod(receipts[0], differing=len(digests) > 1)


def next_pod(obj: Object, pod: Object, settings: Settings) -> Object:
    """The pod that a workload's controller would create next, by its template and one of its pods."""
    metadata, workload = pod["metadata"], workload_of_pod(pod)
    template: Mapping[str, Any] = pod_template(obj) or {}
    if not template:
        bare = take_off(pod, read_receipt(pod, settings), settings)
        spec = without(bare["spec"], ("nodeName", "hostname"))
        template = {"metadata": bare["metadata"], "spec": spec}
    labels = {key: value for key, value in string_map(pod, "labels").items() if key in _OF_CONTROLLERS}
    own = mapping_at(template, "metadata")
    fields = {
        "generateName": metadata.get("generateName") or f"{workload.name}-",
        "labels": {**labels, **mapping_at(own, "labels")},
        "annotations": mapping_at(own, "annotations"),
        "ownerReferences": metadata.get("ownerReferences"),
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": filled(fields), "spec": template["spec"]}
