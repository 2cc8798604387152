"""What is wrong with the app's own pod in a manifest: values of wrong types, and fields that belong elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from injector.diagnostics import Path, spoken_path
from injector.injection import Injection
from injector.names import cut
from injector.pods.context import Object
from injector.pods.fields import POD
from injector.pods.foreign_fields import clear_help
from injector.pods.shape import unknown_fields
from injector.pods.value_shapes import misshapen
from injector.reasons import Reason

#: Mistakes of each kind that are told of one pod.
_MOST = 5
#: Fields that are not there, of which `misplaced_keys` tells.
_TOLD_APART = (("spec", "annotations"), ("spec", "labels"))
#: Characters of a name that are repeated.
_SHOWN = 60


def mistakes_in(pod: Object) -> Iterator[str]:
    """A sentence for each mistake in a pod."""
    for path, words in islice(misshapen(pod), _MOST):
        yield f"the API server refuses this pod: {spoken_path(path)}: {words}"
    for path, words in islice(_unknown_fields(pod), _MOST):
        yield f"{spoken_path(path)}: {words}"


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
            yield path, f"there is no field {cut(name, _SHOWN)} here; {help_}"
