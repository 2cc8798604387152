"""All that whoever writes a manifest has to know of one pod in it, beside what the injection itself says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from injector.advice.object_mistakes import foreign_names, idle_annotations, mistakes_in, without_image
from injector.authoring.author_warnings import AuthorWarnings
from injector.authoring.lint.rules.unlikely_value import unlikely_values
from injector.authoring.refusal_location import Attempt
from injector.cli.earlier_injection import foreign_receipt
from injector.cli.other_values import other_values, values_without_effect
from injector.cli.user_ranges import users_outside
from injector.diagnostics import spoken_path
from injector.pods.context import Object
from injector.pods.misplaced_keys import misplaced_keys
from injector.reasons import Effect, Reason

#: How many values of a pod that nobody means lead to a warning.
_MOST = 5


def remarks_on(
    obj: Object, attempt: Attempt, names: Sequence[str] | None, author_warnings: AuthorWarnings
) -> Iterator[str]:
    """Warnings about an object's pod, a sentence each: keys at a wrong place, what is wrong with the app's own part,
    annotations without effect, and what the linter says of its templates. `names` are the templates of the command
    line.
    """
    pod, result, namespace, snapshot = attempt.pod, attempt.injection, attempt.namespace, attempt.snapshot
    yield from misplaced_keys(obj, snapshot.settings)
    yield from foreign_receipt(pod, snapshot.settings)
    if result.reason is not Reason.MALFORMED_POD:
        unlikely = (f"{spoken_path(path)}: {message}; {to_do}" for path, message, to_do in unlikely_values(pod))
        yield from [*mistakes_in(obj, pod, result)] or islice(unlikely, _MOST)
        yield from without_image(obj, pod, result)
    yield from foreign_names(pod, result, namespace, snapshot)
    yield from idle_annotations(pod, result, namespace, snapshot, names)
    yield from other_values(pod, result, namespace, snapshot, names)
    yield from values_without_effect(attempt)
    if obj.get("kind") in ("Job", "CronJob") and result.effect is Effect.INJECT:
        own = {container["name"] for container in pod["spec"]["containers"]}
        for name in (name for applied in result.applied for name in applied.containers if name in own):
            yield (
                f"the pod's own container {name} has the name of a sidecar, which then keeps the Job from ending; "
                "write it under initContainers, with restartPolicy: Always"
            )
    yield from (warning.sentence for warning in users_outside(result, namespace, snapshot.settings))
    if result.reason is not Reason.MALFORMED_POD:
        yield from author_warnings.of(attempt, names or ())
