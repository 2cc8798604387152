"""Reviews of anything but the creation of a pod: allowed as they are, whatever the object looks like."""

from __future__ import annotations

from injector.pods.decision import creates_pod
from injector.reasons import Effect, Reason
from injector.webhook.record import Note, Recorder
from injector.webhook.review import (
    AdmissionResponse,
    Review,
    ReviewRequest,
    answer_head,
    answer_tail,
    audit_annotations,
)

_REASON = Reason.NOT_A_POD_CREATION
_NOTE = Note(_REASON, Effect.SKIP)
_TAIL = answer_tail(AdmissionResponse(allowed=True, audit=audit_annotations(_REASON.label, (), "")))


def is_pod_creation(request: ReviewRequest) -> bool:
    """Whether a review is about the creation of a pod."""
    resource = request.resource
    return creates_pod(request.operation, resource.resource, resource.group, request.sub_resource)


class PassThrough:
    """Answers such reviews, without a look at their object."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._cells = recorder.cells(_NOTE)

    def __call__(self, review: Review, started: float) -> bytes:
        """The answer, told of as every other."""
        line = self._recorder.line(_NOTE, review.request.namespace or "", {})
        self._recorder.record(review, line, self._cells, started, False)
        return answer_head(review) + _TAIL
