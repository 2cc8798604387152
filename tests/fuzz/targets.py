"""The holes: for each what goes in, as a strategy, and what must hold of whatever goes in."""

from __future__ import annotations

import asyncio
import copy
import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonpatch
import msgspec
from hypothesis import assume, strategies as st

from injector.authoring.manifest_writer import dump_yaml
from injector.cli.documents import join_documents, read_documents
from injector.cli.inputs import Input
from injector.errors import DocumentError, InjectionError, ReviewError, TemplateError
from injector.inject import guard, inject, uninject
from injector.pods.context import Cluster, Namespace
from injector.pods.workloads import workload_of_pod
from injector.reasons import Effect, Reason
from injector.settings import Settings
from injector.templates.kubernetes_yaml import load_manifest
from injector.templates.load import load_template
from injector.templates.render import check_source
from injector.templates.samples import sample_contexts
from injector.templates.snapshot import build_snapshot
from injector.templates.yaml_writer import dump
from tests.fuzz.mutations import changed_texts, changed_values
from tests.unit.support import ENABLED, REQUIRED, snapshot, web
from tests.unit.templates.file_shapes import file_shape
from tests.unit.templates.hostile import HOSTILE
from tests.unit.templates.test_gallery import GALLERY, NEEDED, documents
from tests.unit.webhook.test_waiting import Kept, Webhook, World, snapshot as proxy_snapshot
from tests.yaml_readers import READERS

CORPUS = Path(__file__).parent / "corpus"
_OVERLAY = """\
{% if pod.spec.hostPID | default(false) %}{{ deny("no") }}{% endif %}
spec:
  containers:
  - {name: side, image: "side:1", args: [a]}
"""
_SIDE = {"side": {"template.yaml": "description: One.\n", "overlay.yaml.j2": _OVERLAY}}


@dataclass(frozen=True)
class Target:
    """A strategy for what goes in, and a function that fails where a promise does not hold."""

    given: st.SearchStrategy[Any]
    holds: Callable[[Any], None]


def texts(folder: str) -> list[str]:
    """The files of a folder of the corpus."""
    found = [path.read_text() for path in sorted((CORPUS / folder).iterdir())]
    assert found
    return found


# ------------------------------------------------------------------------------------------------- reviews


@functools.cache
def _webhook() -> Webhook:
    stored = {"shop": Namespace("shop", {"injection": "required"}), "open": Namespace("open", {"injection": "enabled"})}
    return Webhook(World(stored=stored), Kept(proxy_snapshot()))


def every_review_is_answered(body: bytes) -> None:
    """With a review of its own or with HTTP 4xx: nothing else leaves a handler."""
    for path in ("mutate", "validate", "advise"):

        async def answer(path: str = path) -> bytes:
            given = getattr(_webhook(), path)(body, 2.0)
            whole: bytes = given if isinstance(given, bytes) else await given
            return whole

        try:
            text = asyncio.run(answer())
        except ReviewError as error:
            assert 400 <= error.status < 500
            continue
        response = json.loads(text)["response"]
        assert type(response["allowed"]) is bool
        assert response.get("auditAnnotations", {}).get("reason") != Reason.INTERNAL_ERROR.name, response


# ------------------------------------------------------------------------------------------------- pods


def _uncalled(pod: Any) -> bool:
    metadata = pod.get("metadata") if isinstance(pod, dict) else None
    notes = metadata.get("annotations") if isinstance(metadata, dict) else None
    return not isinstance(notes, dict) or {"sidecar.injector/status", "sidecar.injector/receipt"}.isdisjoint(notes)


def pods_are_injected_once_and_back(pod: Any) -> None:
    """No failure of ours, patches that apply, twice is once, the guard agrees, uninject undoes."""
    assume(isinstance(pod, dict))
    text = json.dumps(pod)
    for namespace, templates in ((ENABLED, ("envoy",)), (REQUIRED, ("nginx", "fluent-bit"))):
        current = snapshot(*templates)
        first = inject(pod, namespace, current)
        assert json.dumps(pod) == text, "what is passed in is never changed"
        assert first.reason is not Reason.INTERNAL_ERROR, first.message
        guard(pod, namespace, current)
        if first.patch:
            patched = jsonpatch.JsonPatch(list(first.patch)).apply(copy.deepcopy(pod))
            assert json.dumps(patched, sort_keys=True) == json.dumps(first.object, sort_keys=True)
        if first.reason is not Reason.INJECTED:
            continue
        again = inject(first.object, namespace, current)
        assert (again.reason, again.patch) == (Reason.ALREADY_INJECTED, ()), again.message
        assert guard(first.object, namespace, current).effect is Effect.SKIP
        if _uncalled(pod):
            assert json.loads(json.dumps(uninject(first.object, current.settings))) == json.loads(text)


# ------------------------------------------------------------------------------------------------- receipts


@functools.cache
def _policy() -> Any:
    return build_snapshot(Settings(templates=("side",)), _SIDE, Cluster())


def no_receipt_replaces_a_sidecar(receipt: Any) -> None:
    """Whatever it claims: what a required pod that passes has, is what it would have without it."""
    text = receipt if isinstance(receipt, str) else json.dumps(receipt)
    current = _policy()
    bare = web(volumes=[{"name": "data", "emptyDir": {}}], initContainers=[{"name": "first", "image": "x"}])
    made = inject(bare, REQUIRED, current).object
    [sidecar] = [c for c in made["spec"]["initContainers"] if c["name"] == "side"]
    for pod, hidden in ((bare, False), (made, False), ({**bare, "spec": {**bare["spec"], "hostPID": True}}, True)):
        metadata = pod["metadata"]
        notes = {**metadata["annotations"], "sidecar.injector/receipt": text}
        forged = {**pod, "metadata": {**metadata, "annotations": notes}}
        uninject(forged, current.settings)
        guard(forged, REQUIRED, current)
        result = inject(forged, REQUIRED, current)
        assert result.reason is not Reason.INTERNAL_ERROR, result.message
        if hidden:
            assert not result.allowed, result.message
        if result.allowed:
            assert sidecar in result.object["spec"]["initContainers"]
            assert {"name": "data", "emptyDir": {}} in result.object["spec"]["volumes"]
            assert guard(result.object, REQUIRED, current).allowed


# ------------------------------------------------------------------------------------------------- templates


def templates_are_refused_or_render(overlay: str) -> None:
    """Whatever an author writes: a TemplateError, or an overlay, or an InjectionError."""
    manifest = (
        "description: One.\nparameters:\n  text: {type: string, default: a}\n  list: {type: array, default: [a, b]}\n"
        "  number: {type: integer, default: 3}\n"
    )
    try:
        template = load_template("mine", {"template.yaml": manifest, "overlay.yaml.j2": overlay})
    except TemplateError:
        return
    for context in sample_contexts(template):
        try:
            check_source(template, context, "overlay.yaml.j2")
        except InjectionError:
            continue


# ------------------------------------------------------------------------------------------------- annotations


@functools.cache
def _parameters() -> list[tuple[str, str]]:
    catalog = snapshot("envoy").catalog
    return [(t.name, p) for t in catalog if t.name in _ANNOTATED for p in t.parameters]


_ANNOTATED = ("envoy", "nginx", "fluent-bit", "fault", "container")


def annotations_change_values_alone(given: tuple[int, str]) -> None:
    """A value has its effect or is refused by name; it never makes a template fail, or a file that cannot be read."""
    number, value = given
    name, parameter = _parameters()[number % len(_parameters())]
    notes = {f"{name}.sidecar.injector/{parameter}": value}
    if name == "container" and parameter != "image":
        notes["container.sidecar.injector/image"] = "x:1"
    result = inject(web(notes), ENABLED, snapshot(name))
    assert result.reason not in (Reason.TEMPLATE_FAILED, Reason.INTERNAL_ERROR), result.message
    for file in result.files:
        for what, text in file.data.items():
            if what.endswith((".yaml", ".yml")):
                load_manifest(text)


# ------------------------------------------------------------------------------------------------- holes


@functools.cache
def _holes() -> list[tuple[str, str, str]]:
    """Template, parameter and type of each hole of the gallery that takes text, whatever its schema says of it."""
    found = []
    for name, template in GALLERY.items():
        for parameter in template.parameters.values():
            inner = parameter.schema.get("items") or parameter.schema.get("additionalProperties") or parameter.schema
            if isinstance(inner, dict) and inner.get("type") == "string" and "enum" not in inner:
                found.append((name, parameter.variable, parameter.type))
    return found


def values_stay_in_their_holes(given: tuple[int, str]) -> None:
    """What a program reads has the same structure and keys, and it expands nothing more, with any text in a hole."""
    number, value = given
    name, variable, kind = _holes()[number % len(_holes())]
    expected = [_documents(name, variable, kind, one) for one in ("harmless.example.com", "harmless.example.com:1")]
    found = _documents(name, variable, kind, value)
    assert found is None or found in expected or not value, (name, variable, value, found)


@functools.lru_cache(1000)
def _documents(name: str, variable: str, kind: str, value: str) -> Any:
    """What a template renders with a text in a hole; None where it refuses."""
    seen = list(sample_contexts(GALLERY[name]))[:3][-1]
    given: Any = {"array": [value], "object": {"key": value}}.get(kind, value)
    params = {**seen.params, **NEEDED.get((name, variable), {}), variable: given}
    try:
        return documents(name, msgspec.structs.replace(seen, params=params))
    except InjectionError as error:
        assert error.reason is not Reason.INTERNAL_ERROR
        return None


def owners_change_nothing_but_the_name(given: tuple[int, str]) -> None:
    """A pod whose owner cannot be one is injected as a pod without an owner."""
    number, text = given
    name = ("envoy", "fluent-bit", "nginx", "fault")[number % 4]
    pod = web()
    pod["metadata"]["ownerReferences"] = [
        {**pod["metadata"]["ownerReferences"][0], ("kind", "name")[number // 4 % 2]: text}
    ]
    if workload_of_pod(pod).owner is None:
        bare = copy.deepcopy(pod)
        del bare["metadata"]["ownerReferences"]
        found, expected = (inject(one, ENABLED, snapshot(name)) for one in (pod, bare))
        assert (found.object["spec"], found.files) == (expected.object["spec"], expected.files)
    else:
        found, expected = (inject(one, ENABLED, snapshot(name)) for one in (pod, web()))
        assert [_shapes(file.data) for file in found.files] == [_shapes(file.data) for file in expected.files]


def _shapes(data: Mapping[str, str]) -> dict[str, Any]:
    return {file: file_shape(file, text) for file, text in data.items()}


# ------------------------------------------------------------------------------------------------- YAML


def documents_pass_and_read_back(text: str) -> None:
    """Cut into documents that are the text again; what is written of them reads back."""
    try:
        found = read_documents(Input("fuzzed.yaml", text.encode(errors="surrogatepass")))
    except DocumentError:
        return
    assert join_documents(found) == text
    for document in found:
        written_yaml_reads_back(document.value)


def _fits(value: Any) -> bool:
    """Whether each integer is one of 64 bits: go-yaml takes a larger one for a float."""
    if isinstance(value, dict | list):
        return all(map(_fits, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, int) or -(2**63) <= value < 2**64


def written_yaml_reads_back(value: Any) -> None:
    """Both writers', by every reader."""
    try:
        value = json.loads(json.dumps(value, allow_nan=False))
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, TypeError, RecursionError):  # no JSON, so nothing that is written
        return
    for text in (dump(value), dump_yaml(value)):
        if _fits(value):
            assert load_manifest(text) == value, text
        for name, read in READERS.items():
            assert read(text) == value, (name, text)


_bytes = st.one_of(
    changed_values([json.loads(text) for text in texts("reviews")]).map(lambda v: json.dumps(v).encode()),
    changed_texts(
        texts("reviews"), ("{", "}", "[", "]", '"', ":", ",", "\\u0000", "\\ud800", "1e999", "null", "\x00")
    ).map(lambda text: text.encode(errors="surrogatepass")),
    st.binary(max_size=200),
)
_keys = (
    st.sampled_from(HOSTILE)
    | st.text()
    | st.builds(lambda text, times: text * times, st.sampled_from(HOSTILE), st.integers(2, 200))
)
_JINJA = (
    *(
        "{{",
        "}}",
        "{%",
        "%}",
        "{#",
        "#}",
        "{{ params.text }}",
        "{{ params.list }}",
        "{% if params.number %}",
        "{% endif %}",
    ),
    *(
        "{% for a in params.list %}",
        "{% endfor %}",
        "{% set a = pod %}",
        " | default([])",
        " ~ ",
        "!replace ",
        "&a ",
        "*a",
    ),
    *(
        "{{ fail('a') }}",
        "app_containers",
        "range(10)",
        "\n  - ",
        "\n    ",
        ": ",
        "[",
        "{",
        "'",
        '"',
        "|",
        ">-",
        "---\n",
        "\t",
    ),
)
_YAML = (
    "---\n",
    "...\n",
    "- ",
    ": ",
    "? ",
    "|\n",
    ">-\n",
    "&a ",
    "*a",
    "!!str ",
    "!x ",
    "#",
    "'",
    '"',
    "\n  ",
    "\r\n",
    "\ufeff",
    "\u2028",
    "\x85",
    "<<: ",
)

#: What ends a string, begins another key or an option, or is expanded, in one of the syntaxes of the gallery.
_SYNTAX = (
    "${env:KEY}", "$(KEY)", "$${KEY}", "a=b", "a: b", "--jump=ACCEPT", "-F", "a.b", "a,b=c", "{{ .Data }}", "}}{{", '"',
    "'", "\\", "\n", "\n[b]\n", "; evil on;", "} evil {", "#", "a # b", "%REQ(x)%", "/../", "<b>", "]", "*", "&x",
)  # fmt: skip
_PIECES = st.lists(st.sampled_from(_SYNTAX) | st.sampled_from("ab1 ./:-_"), min_size=1, max_size=6).map("".join)
TARGETS = {
    "reviews": Target(_bytes, every_review_is_answered),
    "pods": Target(changed_values([json.loads(text) for text in texts("pods")]), pods_are_injected_once_and_back),
    "receipts": Target(
        changed_values([json.loads(text) for text in texts("receipts")])
        | changed_texts(texts("receipts"), ("{", "}", '"', "/", "~1", ",")),
        no_receipt_replaces_a_sidecar,
    ),
    "templates": Target(changed_texts(texts("overlays"), _JINJA), templates_are_refused_or_render),
    "annotations": Target(
        st.tuples(
            st.integers(0, 1000),
            changed_texts([line for text in texts("values") for line in text.splitlines()], HOSTILE)
            | st.text(max_size=60),
        ),
        annotations_change_values_alone,
    ),
    "holes": Target(
        st.tuples(st.integers(0, 10_000), st.sampled_from(HOSTILE) | st.sampled_from(_SYNTAX) | _PIECES),
        values_stay_in_their_holes,
    ),
    "owners": Target(
        st.tuples(st.integers(0, 7), st.sampled_from(HOSTILE) | st.from_regex(r"[a-z0-9$.{}-]{1,20}")),
        owners_change_nothing_but_the_name,
    ),
    "yaml in": Target(changed_texts(texts("manifests"), _YAML), documents_pass_and_read_back),
    "yaml out": Target(
        changed_values([json.loads(text) for text in texts("pods")])
        | st.recursive(
            st.sampled_from(HOSTILE)
            | st.text()
            | st.integers()
            | st.booleans()
            | st.none()
            | st.floats(allow_nan=False, allow_infinity=False),
            lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_keys, inner, max_size=4),
        ),
        written_yaml_reads_back,
    ),
}
