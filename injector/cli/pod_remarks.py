"""All that whoever writes a manifest has to know of one pod in it, beside what the injection itself says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from injector.advice.object_mistakes import foreign_names, idle_annotations, mistakes_in, without_image
from injector.cli.other_values import other_values
from injector.cli.user_ranges import users_outside
from injector.injection import Injection
from injector.pods.context import Namespace, Object
from injector.reasons import Effect, Reason
from injector.templates.snapshot import Snapshot


def remarks_on(
    obj: Object, pod: Object, result: Injection, namespace: Namespace, snapshot: Snapshot, names: Sequence[str] | None
) -> Iterator[str]:
    """Warnings about an object's pod, a sentence each: what is wrong with the app's own part, and annotations
    without effect. `names` are the templates of the command line.
    """
    if result.reason is not Reason.MALFORMED_POD:
        yield from mistakes_in(obj, pod)
        yield from without_image(obj, pod, result)
    yield from foreign_names(pod, result, snapshot)
    yield from idle_annotations(pod, result, namespace, snapshot, names)
    yield from other_values(pod, result, namespace, snapshot, names)
    if obj.get("kind") in ("Job", "CronJob") and result.effect is Effect.INJECT:
        own = {container["name"] for container in pod["spec"]["containers"]}
        for name in (name for applied in result.applied for name in applied.containers if name in own):
            yield (
                f"the pod's own container {name} has the name of a sidecar, which then keeps the Job from ending; "
                "write it under initContainers, with restartPolicy: Always"
            )
    yield from (warning.sentence for warning in users_outside(result, namespace, snapshot.settings))
