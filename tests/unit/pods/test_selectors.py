"""Label selectors mean what they mean in Kubernetes."""

import pytest

from injector.pods.selectors import check_selector, matches

LABELS = {"app": "web", "tier": "front", "empty": ""}


def expression(key, operator, *values):
    found = {"key": key, "operator": operator}
    return {"matchExpressions": [{**found, "values": list(values)} if values else found]}


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {}}, True),
        ({"matchLabels": None, "matchExpressions": None}, True),
        ({"matchLabels": {"app": "web"}}, True),
        ({"matchLabels": {"app": "web", "tier": "back"}}, False),
        ({"matchLabels": {"empty": ""}}, True),
        ({"matchLabels": {"absent": ""}}, False),
        (expression("app", "In", "api", "web"), True),
        (expression("app", "In", "api"), False),
        (expression("absent", "In", "web"), False),
        (expression("app", "NotIn", "api"), True),
        (expression("app", "NotIn", "web"), False),
        (expression("absent", "NotIn", "web"), True),
        (expression("empty", "Exists"), True),
        (expression("absent", "Exists"), False),
        (expression("absent", "DoesNotExist"), True),
        (expression("app", "DoesNotExist"), False),
        (expression("app", "Like", "web"), False),
        ({"matchLabels": {"app": "web"}, **expression("tier", "In", "back")}, False),
        ({"matchLabels": {"app": "web"}, **expression("tier", "In", "front")}, True),
    ],
)
def test_matches(selector, expected):
    assert matches(selector, LABELS) is expected


@pytest.mark.parametrize("labels", [None, [], "app", 3, {"app": ["web"]}, {"app": {"web": 1}}])
def test_labels_of_any_shape_are_no_failure(labels):
    assert matches({"matchLabels": {"app": "web"}}, labels) is False
    assert matches(expression("app", "In", "web"), labels) is False
    assert matches({}, labels) is True


@pytest.mark.parametrize(
    "selector",
    [
        {},
        {"matchLabels": {"app": "web", "example.com/a_b.c": "", "sub.example.com/x": "a" * 63}},
        expression("app", "In", "a", ""),
        expression("app", "Exists"),
        {"matchExpressions": [{"key": "app", "operator": "Exists", "values": []}]},
    ],
)
def test_good_selectors_pass(selector):
    check_selector(selector)


@pytest.mark.parametrize(
    "selector",
    [
        None,
        [],
        {"matchLables": {}},
        {1: {}},
        {"matchLabels": ["app"]},
        {"matchLabels": {"app": True}},
        {"matchLabels": {"app": "a b"}},
        {"matchLabels": {"app": "a" * 64}},
        {"matchLabels": {"app": "web\n"}},
        {"matchLabels": {"": "web"}},
        {"matchLabels": {"/app": "web"}},
        {"matchLabels": {"Example.com/app": "web"}},
        {"matchLabels": {"a/b/c": "web"}},
        {"matchExpressions": {}},
        {"matchExpressions": ["app"]},
        {"matchExpressions": [{"key": "app", "operator": "Exists", "value": "x"}]},
        expression("app", "in", "web"),
        expression("app", "In"),
        expression("app", "Exists", "web"),
        expression("app", "In", 8080),
        {"matchExpressions": [{"key": "app", "operator": "In", "values": "web"}]},
        {"matchExpressions": [{"operator": "Exists"}]},
    ],
)
def test_bad_selectors_are_named(selector, golden):
    with pytest.raises(ValueError) as caught:
        check_selector(selector)
    golden(str(caught.value))
