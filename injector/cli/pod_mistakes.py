"""What is wrong with the app's own pod in a manifest: values of wrong types, and fields that belong elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice

from injector.diagnostics import Path, spoken_path
from injector.injection import Injection
from injector.names import cut, nearest
from injector.pods.context import Object
from injector.pods.fields import CONTAINER_LISTS, POD
from injector.pods.foreign_fields import clear_help
from injector.pods.shape import spec_of, unknown_fields
from injector.pods.value_shapes import misshapen
from injector.pods.workloads import GROUPS, KINDS
from injector.reasons import Reason

#: How many mistakes of each kind in one pod lead to a warning.
_MOST = 5
#: Unknown fields for which `misplaced_keys` has the warning.
_TOLD_APART = (("spec", "annotations"), ("spec", "labels"))
#: Characters of a name that are repeated.
_SHOWN = 60
#: Results after which the pod has all that it is to have.
_WHOLE = (Reason.INJECTED, Reason.ALREADY_INJECTED, Reason.NOTHING_TO_ADD)


def mistakes_in(obj: Object, pod: Object) -> Iterator[str]:
    """A sentence for each mistake in an object's pod. Kinds of other API groups may have more fields than a pod."""
    for path, words in islice(misshapen(pod), _MOST):
        yield f"the API server refuses this pod: {spoken_path(path)}: {words}"
    for path, words in islice(_unknown_fields(pod), _MOST) if _is_kubernetes(obj) else ():
        yield f"{spoken_path(path)}: {words}"


def without_image(obj: Object, pod: Object, result: Injection, others: Collection[str]) -> Iterator[str]:
    """A sentence for each container of the app that has no image after an injection, such as a misspelt sidecar.

    `others` are the containers of other injectors. In kinds of other API groups, whose controllers may set an image,
    only a container with nearly the name of a sidecar gets a warning.
    """
    if result.reason not in _WHOLE:
        return
    own = {name for _, name, _ in _containers(pod)}
    sidecars = [name for _, name, _ in _containers(result.object) if name not in own]
    bare = [(field, name) for field, name, one in _containers(result.object) if not one.get("image")]
    for field, name in [(field, name) for field, name in bare if name not in others][:_MOST]:
        near = nearest(name, sidecars, cutoff=0.75)
        if near or _is_kubernetes(obj):
            help_ = f"did you mean {near}?" if near else "add an image"
            yield f"spec.{field}[{cut(name, _SHOWN)}] has no image, so the API server refuses the pod; {help_}"


def _is_kubernetes(obj: Object) -> bool:
    """Whether an object's kind is Kubernetes' own."""
    return str(obj.get("apiVersion", "")).rpartition("/")[0] in GROUPS and obj.get("kind") in KINDS


def _containers(pod: Object) -> Iterator[tuple[str, str, Object]]:
    """The containers of a pod: their list, their name, and what they are."""
    spec = spec_of(pod)
    for field in CONTAINER_LISTS:
        for container in spec.get(field) or ():
            yield field, str(container.get("name")), container


def cause_of(result: Injection, pod: Object) -> tuple[Path, str] | None:
    """The mistake for which a template does not find the app's port: where it is, and what is wrong."""
    if result.reason is not Reason.NOT_SERVED:
        return None
    found = (*islice(misshapen(pod), _MOST), *islice(_unknown_fields(pod), _MOST))
    return next(((path, words) for path, words in found if any("port" in str(step).lower() for step in path)), None)


def _unknown_fields(pod: Object) -> Iterator[tuple[Path, str]]:
    """The fields that Kubernetes does not have, where it is plain what belongs there: path, and what to do."""
    for path, _, _ in unknown_fields(pod):
        name, place = str(path[-1]), POD.at(path[:-1])
        if path not in _TOLD_APART and (help_ := clear_help(name, place)):
            yield path, f"there is no field `{cut(name, _SHOWN)}` here; {help_}"
