"""The small parts: warnings, answers, keys of the cache, metrics, log output."""

from __future__ import annotations

import base64
import json
import logging
import platform

import pytest
from hypothesis import given, settings, strategies as st

from injector import __version__
from injector.errors import ReviewError
from injector.pods.context import Namespace
from injector.pods.delivery import GeneratedConfigMap
from injector.telemetry import LogOutput, Metrics, make_logger, send_logs_to
from injector.webhook.answer_cache import Answer, AnswerCache, key_of
from injector.webhook.review import (
    AdmissionResponse,
    answer_head,
    answer_tail,
    read_object,
    read_review,
    shorten,
    shorten_warnings,
)
from tests.messages import Golden
from tests.unit.webhook.support import lines_of, pod, review, to_bytes


def test_a_long_warning_is_cut_at_a_word() -> None:
    text = "spec.containers[envoy].image: the pod's registry.example/envoy:1 stays; " * 3
    cut = shorten(text, 120)
    assert len(cut) <= 120
    assert cut.endswith("…")
    assert text.startswith(cut[:-1])
    assert text[len(cut) - 1] in " ;"
    assert shorten("x" * 500, 120) == "x" * 119 + "…"
    assert shorten("short", 120) == "short"


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(max_size=300), max_size=80))
def test_warnings_keep_to_kubernetes_limits(warnings: list[str]) -> None:
    kept = shorten_warnings(warnings)
    assert all(0 < len(w) <= 120 and w.isprintable() for w in kept)
    assert sum(len(w.encode()) for w in kept) <= 4096
    assert len(kept) <= len(warnings)


def test_too_many_warnings_say_how_many_are_left_out() -> None:
    kept = shorten_warnings([f"{n} " + "word " * 20 for n in range(100)])
    assert kept[-1].startswith(f"{100 - len(kept) + 1} more warnings")
    assert sum(len(w.encode()) for w in kept) > 3800


def test_an_answer_has_exactly_what_kubernetes_reads() -> None:
    asked = read_review(to_bytes(review(pod(), uid="u", version="v1beta1")))
    allowed = json.loads(answer_head(asked) + answer_tail(AdmissionResponse(allowed=True)))
    assert allowed == {
        "apiVersion": "admission.k8s.io/v1beta1",
        "kind": "AdmissionReview",
        "response": {"uid": "u", "allowed": True},
    }
    verdict = AdmissionResponse(
        allowed=False, message="no", code=403, patch=b"[1]", warnings=("w",), audit={"reason": "r"}
    )
    response = json.loads(answer_head(asked) + answer_tail(verdict))["response"]
    assert response == {
        "uid": "u",
        "allowed": False,
        "status": {"code": 403, "reason": "Forbidden", "message": "no"},
        "patchType": "JSONPatch",
        "patch": base64.b64encode(b"[1]").decode(),
        "warnings": ["w"],
        "auditAnnotations": {"reason": "r"},
    }


def keyed(text: bytes) -> bytes:
    return key_of(b"1\0", text)[0]


def test_replicas_have_one_key_and_nothing_else_does() -> None:
    text = to_bytes(pod())
    key, volatile = key_of(b"1\0", text)
    assert volatile == (b"abcde", b"2026-05-04T10:11:12Z")
    assert len(key) == 16
    assert keyed(text.replace(b"abcde", b"zzzzz").replace(b"10:11:12Z", b"23:59:59Z")) == key
    others = [
        text.replace(b"abcde", b"zzzzz", 1),
        text.replace(b"kube-api-access-abcde", b"kube-api-access-"),
        text.replace(b"kube-api-access-", b"kube-api-xccess-"),
        text.replace(b"2026-05-04T10:11:12Z", b""),
        text.replace(b"2026-05-04T10:11:12Z", b"2026-05-04T10\xc111:12Z"),
        text.replace(b"abcde", b"ab\xc1de"),
        text.replace(b":8080", b":8081"),
        text.replace(b"generateName", b"name"),
        text + b" ",
    ]
    keys = {keyed(other) for other in others}
    assert key not in keys
    assert len(keys) == len(others)
    assert key_of(b"2\0", text)[0] != key


@pytest.mark.parametrize("text", [b"", b"null", b'{"name":"kube-api-access-', b'"managedFields":[', b'"time":"'])
def test_keys_of_anything(text: bytes) -> None:
    assert len(keyed(text)) == 16


def test_an_answer_that_holds_what_its_key_leaves_out_is_not_kept() -> None:
    cache = AnswerCache(1000, Metrics())
    files = (GeneratedConfigMap("web-x", "shop", {"a": "volume kube-api-access-abcde"}, None, {}),)
    volatile = (b"abcde",)
    assert cache.may_be_kept(volatile, b"patch", Answer(b"tail", b"line", ()))
    assert not cache.may_be_kept(volatile, b"an abcde here", Answer(b"", b"", ()))
    assert not cache.may_be_kept(volatile, b"", Answer(b"a warning of abcde", b"", ()))
    assert not cache.may_be_kept(volatile, b"", Answer(b"", b"of a pod called kube-api-access-abcde", ()))
    assert not cache.may_be_kept(volatile, b"", Answer(b"", b"", (), files))
    assert cache.may_be_kept((), b"abcde", Answer(b"abcde", b"abcde", (), files))


def test_the_cache_is_bounded_by_bytes_and_drops_the_longest_unused() -> None:
    cache = AnswerCache(100_000, Metrics())
    for number in range(50):
        cache.put(b"%d" % number, Answer(b"x" * 4000, b"", ()))
        cache.get((b"0", ()), 0)
        assert cache.size <= 100_000
    assert cache.get((b"0", ()), 0) is not None
    assert cache.get((b"1", ()), 0) is None
    assert cache.get((b"49", ()), 0) is not None
    count = len(cache)
    cache.put(b"49", Answer(b"x" * 4000, b"", ()))
    assert len(cache) == count
    cache.put(b"large", Answer(b"x" * 20_000, b"", ()))
    assert cache.get((b"large", ()), 0) is None
    cache.clear()
    assert (len(cache), cache.size) == (0, 0)


def test_a_changed_namespace_gets_another_token() -> None:
    cache = AnswerCache(1000, Metrics())
    one, same = Namespace("a"), Namespace("a")
    first = cache.token(one)
    assert cache.token(one) == first
    assert cache.token(same) != first
    assert cache.token(one) not in (first, cache.token(Namespace("b")))


def test_metrics_expose_what_was_counted() -> None:
    metrics = Metrics()
    metrics.reviews.cell("mutate", "injected", "inject").value += 3
    for seconds in (0.00005, 0.0002, 0.3, 99):
        metrics.seconds.cell("mutate", "true").observe(seconds)
    metrics.snapshot.only(("old",))
    metrics.snapshot.only(("new",))
    metrics.template_info.only(("envoy", "1"), ("nginx", "old"))
    metrics.template_info.only(("envoy", "2"), ("labels", "3"))
    text = metrics.exposition().decode()
    counted = {
        'injector_reviews_total{outcome="inject",path="mutate",reason="injected"} 3.0',
        'injector_review_seconds_bucket{cached="true",le="0.0001",path="mutate"} 1.0',
        'injector_review_seconds_bucket{cached="true",le="0.5",path="mutate"} 3.0',
        'injector_review_seconds_bucket{cached="true",le="+Inf",path="mutate"} 4.0',
        'injector_review_seconds_sum{cached="true",path="mutate"} 99.3',
        'injector_snapshot_info{generation="new"} 1.0',
        'injector_template_info{template="envoy",version="2"} 1.0',
        'injector_template_info{template="labels",version="3"} 1.0',
        f'injector_build_info{{python="{platform.python_version()}",version="{__version__}"}} 1.0',
    }
    assert not [line for line in counted if line not in text]
    assert "old" not in text


def test_failures_are_counted_from_nought() -> None:
    """To Prometheus a counter that appears with a 1 has not increased, and its alert would not speak up."""
    text = Metrics().exposition().decode()
    for labels in (
        'outcome="mark",path="mutate",reason="files-failed"',
        'outcome="refuse",path="mutate",reason="internal-error"',
        'outcome="refuse",path="mutate",reason="denied"',
        'outcome="refuse",path="validate",reason="not-injected"',
    ):
        assert f"injector_reviews_total{{{labels}}} 0.0" in text
    for other in ('path="advise"', 'outcome="inject"', 'outcome="skip"', 'outcome="mark",path="validate"'):
        assert other not in text
    for metric, label, values in (
        ("unreadable_requests", "code", ("400", "413", "429")),
        ("reloads", "result", ("refused", "swapped")),
        ("certificate_reloads", "result", ("refused", "swapped")),
        ("bundle_writes", "why", ("changed", "repaired")),
    ):
        for value in values:
            assert f'injector_{metric}_total{{{label}="{value}"}} 0.0' in text


class Broken:
    """A standard output whose reader went away."""

    def write(self, data: bytes) -> int:
        raise BrokenPipeError

    def flush(self) -> None:
        raise BrokenPipeError


def test_log_lines_keep_their_order_and_a_lost_reader_stops_nobody(tmp_path: object) -> None:
    import io

    stream = io.BytesIO()
    output = LogOutput(stream)
    logger = make_logger(output)
    logger.info("first", value={"a"})
    output.write(b'{"event":"second"}\n')
    try:
        raise ValueError("hunter2")
    except ValueError:
        logger.exception("third")
    logger.debug("too quiet")
    assert stream.getvalue() == b""
    output.flush()
    lines = lines_of(stream)
    assert [line["event"] for line in lines] == ["first", "second", "third"]
    assert (lines[2]["level"], lines[2]["error"]) == ("error", "ValueError")
    assert "test_log_lines_keep_their_order" in lines[2]["where"][-1]
    assert b"hunter2" not in stream.getvalue()
    lost = LogOutput(Broken())  # type: ignore[arg-type]
    lost.write(b"x" * 100_000)
    lost.flush()


def test_lines_wait_for_the_next_flush_also_after_many() -> None:
    import io

    stream = io.BytesIO()
    output = LogOutput(stream)
    for _ in range(5):
        before = stream.getvalue()
        output.write(b"x" * 30_000 + b"\n")
        assert stream.getvalue() == before, "a line costs no system call"
        output.flush()
        assert len(stream.getvalue()) == len(before) + 30_001


def test_what_libraries_log_comes_out_as_json_too() -> None:
    import io

    stream = io.BytesIO()
    output = LogOutput(stream)
    before = logging.getLogger().handlers[:]
    try:
        send_logs_to(output)
        logging.getLogger("tornado.general").warning("SSL Error on %s", 7)
        logging.getLogger("tornado.access").info("not this")
        output.flush()
    finally:
        logging.getLogger().handlers[:] = before
        import structlog

        structlog.reset_defaults()
    (line,) = lines_of(stream)
    assert (line["event"], line["logger"], line["level"]) == ("SSL Error on 7", "tornado.general", "warning")


@pytest.mark.parametrize("field", [b"managedFields", b"labels", b"anything"])
def test_an_object_that_is_no_utf8_anywhere_is_refused(field: bytes, golden: Golden) -> None:
    raw = b'{"metadata":{"%b":[{"manager":"\xa6"}]},"spec":{}}' % field
    with pytest.raises(ReviewError) as caught:
        read_object(raw)
    golden(caught.value)


def test_who_set_which_field_is_left_out() -> None:
    raw = b'{"kind":"Pod","metadata":{"name":"a","managedFields":[{"a":"m"}],"labels":{"b":"c"}},"spec":{"x":[1]}}'
    assert read_object(raw) == {"kind": "Pod", "metadata": {"name": "a", "labels": {"b": "c"}}, "spec": {"x": [1]}}
    assert read_object(b'{"metadata":[1],"spec":null}') == {"metadata": [1], "spec": None}
