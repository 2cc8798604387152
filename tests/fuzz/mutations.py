"""Strategies: values and texts of a corpus with something else here and there."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from typing import Any

from hypothesis import strategies as st

from injector.pods.kubernetes_fields import TYPES
from tests.unit.templates.hostile import HOSTILE

#: Fields of anything within a pod, as Kubernetes names them.
FIELDS = sorted(set(re.findall(r"\b[a-z][A-Za-z]+\b", str(TYPES))))
#: Values that are of another type, at a bound, or mean something to somebody.
VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        1.5,
        2**31,
        2**63,
        2**64,
        -(2**63) - 1,
        1e308,
        "",
        "x",
        "*",
        "a/b~0~1",
        "\x00",
        "\u202e",
    ),
    *([], {}, [None], [[]], [{}], {"": ""}, [{"name": "x"}], [{"name": "x"}, {"name": "x"}], {"name": None}),
    *("Always", "envoy", "nginx-sidecar", "5Gi", "1m", "0.5", "1e400", "kube-api-access-abcde", "$(A)", "{{ params }}"),
)

values = st.one_of(st.sampled_from(VALUES), st.sampled_from(HOSTILE), st.text(max_size=40), st.integers())


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every list or map below a value with each of its keys or numbers."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from _places(value[key])


@st.composite
def changed_values(draw: st.DrawFn, corpus: Sequence[Any]) -> Any:
    """One of the corpus with up to four changes: replaced, dropped, doubled, moved, a field more."""
    value = copy.deepcopy(draw(st.sampled_from(corpus)))
    for _ in range(draw(st.integers(0, 4))):
        places = list(_places(value))
        if not places:
            break
        holder, key = draw(st.sampled_from(places))
        match draw(st.sampled_from(("replace", "drop", "double", "move", "field"))):
            case "replace":
                holder[key] = copy.deepcopy(draw(values))
            case "drop":
                del holder[key]
            case "double" if isinstance(holder, list):
                holder.insert(draw(st.integers(0, len(holder))), copy.deepcopy(holder[key]))
            case "move":
                other, place = draw(st.sampled_from(places))
                other[place] = copy.deepcopy(holder[key])
            case _ if isinstance(holder, dict):
                holder[draw(st.sampled_from(FIELDS) | st.text(max_size=8))] = copy.deepcopy(draw(values))
    return value


@st.composite
def changed_texts(draw: st.DrawFn, corpus: Sequence[str], pieces: Sequence[str]) -> str:
    """One of the corpus with up to five changes: cut, doubled, joined with another, one of `pieces` put in."""
    text = draw(st.sampled_from(corpus))
    for _ in range(draw(st.integers(0, 5))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 40)))
        match draw(st.sampled_from(("cut", "double", "join", "piece"))):
            case "cut":
                text = text[:start] + text[end:]
            case "double":
                text = text[:end] + text[start:end] + text[end:]
            case "join":
                other = draw(st.sampled_from(corpus))
                text = text[:start] + other[draw(st.integers(0, len(other))) :]
            case _:
                text = text[:start] + draw(st.sampled_from(pieces) | st.text(max_size=6)) + text[end:]
    return text
