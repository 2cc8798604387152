"""The parts of generated pods and objects, one for each template of the gallery."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import partial

import msgspec

from tests.baseline import objects, pods
from tests.baseline.case import TOLD, Answer, Case, Object
from tests.baseline.entrances import At, Injector, Result

PODS = 2000
OBJECTS = 400
#: Every so many pods are asked about in a `required` namespace too, and once more when they are injected already.
_REQUIRED, _AGAIN = 8, 10


def with_pods(template: str) -> Iterator[Case]:
    """Each generated pod with a template."""
    needed = {template: pods.NEEDED[template]} if template in pods.NEEDED else {}
    settings = {"templates": [template], "parameters": needed}
    plain, native = (Injector(settings, version) for version in ((1, 30), (1, 36)))
    inputs = hashlib.sha256()
    for number in range(PODS):
        injector = native if number % 3 else plain
        pod, namespace = pods.pod(number, template), pods.namespace(number)
        inputs.update(msgspec.json.encode((pod, namespace)))
        yield _case(f"{number}", created, injector, pod, namespace)
        required = _labelled(namespace, "required")
        if number % _REQUIRED == 0:
            yield _case(f"{number} required", _guarded, injector, pod, required)
        if number % _AGAIN == 0:
            asked = required if number % 4 else _labelled(namespace, "enabled")
            yield _case(f"{number} again", partial(_again, number // _AGAIN), injector, pod, asked)
    yield Case("all of them", None, lambda: {"input": inputs.digest()})


def at_path(template: str) -> Iterator[Case]:
    """Each generated object of a template's kinds at a path of the settings, which lets through what fails, or not."""
    needed = {template: objects.NEEDED[template]} if template in objects.NEEDED else {}
    ways = [At([template], {"parameters": needed}, policy) for policy in ("Ignore", "Fail")]
    inputs = hashlib.sha256()
    for number in range(OBJECTS):
        request, namespace = objects.request(number, template), pods.namespace(number)
        inputs.update(msgspec.json.encode((request, namespace)))
        yield _case(f"{number}", lambda way, *asked: _outcome(way.ask(*asked)), ways[number % 2], request, namespace)
    yield Case("all of them", None, lambda: {"input": inputs.digest()})


def _case(key: str, ask: partial[Answer], *given: object) -> Case:
    return Case(key, given[1:], partial(ask, *given))


def _labelled(namespace: Object, label: str) -> Object:
    metadata = namespace["metadata"]
    return {**namespace, "metadata": {**metadata, "labels": {**metadata["labels"], "injection": label}}}


def _outcome(result: Result) -> Answer:
    aspects = ("reason", "effect", "warnings", "code", "patch", "files")
    return {**{name: value for name in aspects if (value := getattr(result, name))}, TOLD: result.told}


def created(injector: Injector, pod: Object, namespace: Object) -> Answer:
    """What a pod gets."""
    return _outcome(injector.inject(pod, namespace))


def _guarded(injector: Injector, pod: Object, namespace: Object) -> Answer:
    """What a pod gets, and what the guard says of it then."""
    result = injector.inject(pod, namespace)
    guarded = injector.guard(result.object, namespace)
    return {**_outcome(result), "guard": f"{guarded.reason} {guarded.effect}"}


def _again(way: int, injector: Injector, pod: Object, namespace: Object) -> Answer:
    """What a pod gets that is injected already, and that somebody has had in hand since."""
    before = injector.inject(pod, namespace)
    if before.effect != "inject":
        return {"reason": f"not injected: {before.reason}"}
    handled = pods.handled(before.object, way)
    guarded = injector.guard(handled, namespace)
    back = msgspec.json.encode(injector.uninject(handled))
    answer = _outcome(injector.inject(handled, namespace))
    return {**answer, "guard": f"{guarded.reason} {guarded.effect}", "uninjected": back}
