"""Documents: cut where the parser says, untouched ones byte for byte, touched ones with their head and line ends."""

import re

import pytest
import yaml
from hypothesis import given, settings, strategies as st

from injector.cli.documents import added, join_documents, read_documents, rewritten, written_anew
from injector.cli.inputs import Input
from injector.errors import DocumentError
from injector.templates.kubernetes_yaml import load_manifest
from tests.corpus.commands import gone, run as corpus_run
from tests.unit.cli.test_dump import scalars

STREAMS = [
    "",
    "\n# only a comment\n",
    "a: 1",
    "a: 1\n---\nb: 2",
    "---\n---\n\n---\n# c\n",
    "# license\r\na: 1\r\nb: 😀 é # x\r\n---\r\n"
    "# x\r\n--- # hi\r\nc: &x [1]\r\nd: *x\r\n...\r\n%YAML 1.1\r\n---\r\n--- {a: b}\r\n",
    "\ufeffa: 1\n---\nb: 2\n",
    "\ufeff  a: 1\n  b: 'x # y'\n",
    "a: 1\n---\n\ufeffb: 2\n",
    "--- &x\na: 1\n--- |\n  x\n---\n- 1\n",
    "a: |\n  x # no\n  ---\nb: http://x#y\n",
    "a: 1\r---\rb: 2\r",
    '{"a":1}\n{"b":\n  [1, 2.50]}\n\n',
    '\ufeff\n {"a": 1} {"b": 2}',
    '{"a": 1}\ufeff\n{"b": 2}\n',
    "{a: 1}",
    '{\n\t"a": 1\n}\n---\n{"b": 2}\n',
]


def documents(text, name="f.yaml"):
    return read_documents(Input(name, text.encode()))


@pytest.mark.parametrize("text", STREAMS)
def test_untouched_documents_are_the_input(text):
    found = documents(text)
    assert "".join(d.text for d in found) == text
    assert join_documents(found) == text


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "a: 1",
                "b: é 😀",
                "---",
                "--- # c",
                "...",
                "# c",
                "",
                "%YAML 1.1",
                "- x",
                "--- {a: b}",
                "  c: 1",
                "--- |",
                "  x",
            ]
        ),
        max_size=8,
    ),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_whatever_can_be_read_comes_out_as_it_went_in(lines, end, bom):
    text = ("\ufeff" if bom else "") + end.join(lines)
    try:
        found = documents(text)
    except DocumentError:
        return
    assert join_documents(found) == text
    touched = [rewritten(d, {"n": number}) for number, d in enumerate(found)]
    assert [d.value for d in documents(join_documents(touched))] == [{"n": number} for number in range(len(found))]


def test_values_and_places():
    found = documents("# c\na: yes\n---\n---\nb: 0644\n")
    assert [d.value for d in found] == [{"a": True}, None, {"b": 420}]
    assert [d.place for d in found] == [
        "f.yaml, document 1, line 1",
        "f.yaml, document 2, line 3",
        "f.yaml, document 3, line 4",
    ]


def test_a_touched_document_keeps_head_and_line_ends_and_its_neighbours_stay():
    text = "# Source: web.yaml\r\na: 1 # noted\r\n---\r\n# b\r\nb:   2   # kept\r\n--- {c: 3}\r\n...\r\n"
    one, two, three = documents(text)
    assert [written_anew(document, 1).lost for document in (one, two, three)] == [True, True, False]
    out = join_documents([rewritten(one, {"a": "x\ny\n"}), two, rewritten(three, {"c": 4})])
    assert out == (
        '# Source: web.yaml\r\na: "x\\ny\\n" # noted\r\n---\r\n# b\r\nb:   2   # kept\r\n--- {c: 4}\r\n...\r\n'
    )


def test_a_hash_within_a_value_is_no_comment():
    assert not written_anew(documents("a: http://x/#y\nb: 'c # d'\ne: |\n  # f\n")[0], 1).lost
    assert written_anew(documents("a: b #c\n")[0], 1).lost


def test_json_stays_json_with_its_indentation():
    one, two = documents('{\n   "a": 1\n}\n{"b": 2}\n')
    assert (
        join_documents([rewritten(one, {"a": [1]}), rewritten(two, {"b": "ä"})])
        == '{\n   "a": [\n      1\n   ]\n}\n{"b":"ä"}\n'
    )
    assert join_documents([one, added({"c": 1}, one), two]) == '{\n   "a": 1\n}\n{\n  "c": 1\n}\n{"b": 2}\n'


def test_added_documents_stand_apart():
    (one,) = documents("a: 1\r\nb: 2")
    assert join_documents([one, added({"c": 3}, one)]) == "a: 1\r\nb: 2\r\n---\r\nc: 3\r\n"


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        (["a: 1", "b: 2\n"], "a: 1\n---\nb: 2\n"),
        (["a: 1\n", "# c\n---\nb: 2\n"], "a: 1\n# c\n---\nb: 2\n"),
        (["a: 1\n", "\ufeffb: 2\n"], "a: 1\n---\nb: 2\n"),
        (["a: 1\n", "%YAML 1.1\n---\nb: 2\n"], "a: 1\n...\n%YAML 1.1\n---\nb: 2\n"),
        (["", "b: 2\n"], "b: 2\n"),
        (['{"a": 1}\n', "b: 2\n"], '---\n{"a": 1}\n---\nb: 2\n'),
        (['{"a": 1}', '{"b": 2}'], '{"a": 1}\n{"b": 2}'),
    ],
)
def test_files_are_joined_so_that_they_read_as_they_did(parts, whole):
    found = [d for part in parts for d in documents(part)]
    assert join_documents(found) == whole
    assert [d.value for d in documents(whole) if d.value] == [d.value for d in found if d.value]


LAUGHS = "\n".join(
    ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"] + [f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
)


@pytest.mark.parametrize(
    "text",
    [
        b"x: 1\n---\na: 1\nb: 2\na: 3\n",
        b"a: [\n",
        b"a: 1\nb: \x01\n",
        b"a: \xff\n",
        "a: 1".encode("utf-16"),
        b"a: &a [*a]",
        b"a: *b",
        b"a: " + b"[" * 5000 + b"]" * 5000,
        LAUGHS.encode(),
        b"\xef\xbb\xbfa: 1\r\n---\r\n# c\r\nb: [1\r\nc: 2\r\n",
        b"a: 1\n---\nb:\n  c: {d: 1\n  e: 2\n",
        b"# Source\nspec:\n  replicas: {{ .Values.n }}\n",
        b"{{- if .Values.on }}\na: 1\n{{- end }}\n",
        b'a: {{ include "x" . | nindent 4 }}\n',
        b'a: "{{ x }}\nb: 1\n',
        b'{"a": 1,\n "a": 2}',
        b'{"a": NaN}',
        b'{"a": 1e999}',
        b"a: 1\n---\nb: " + b"[" * 100_000,
        b'{"a": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    ],
)
def test_what_cannot_be_read_names_its_place(text, golden):
    with pytest.raises(DocumentError) as caught:
        read_documents(Input("f.yaml", text))
    golden(str(caught.value))


def test_what_cannot_be_read_is_shown(golden):
    with pytest.raises(DocumentError) as caught:
        read_documents(Input("f.yaml", b"a: 1\r\n---\r\nb:\r\n  c: 1\r\n\td: 2\r\n"))
    golden(str(caught.value))
    assert caught.value.diagnostic.excerpt == "    5 |  d: 2\n      | ^"


def test_a_json_file_that_is_no_json_is_not_taken_for_yaml(golden):
    with pytest.raises(DocumentError) as caught:
        documents("{a: 1}", "f.json")
    golden(caught.value)


#: Manifests of many habits, each a pod or a workload that gets a sidecar.
_DEPLOYMENT = """\
# head
apiVersion: apps/v1   # version
kind: Deployment
metadata:
  name: web
  labels: &labels
    app: 'web'
  annotations:   # notes
    a: "1"
  # after the notes
spec:
  selector:
    matchLabels: *labels
  template:
    metadata:
      labels:   # of the pod
        app: 'web'
    # before the spec
    spec:
      containers:
      # the app
      - name: app   # its name
        image: "x:1"
        env: [{name: A, value: 'b'}, ]
        command:
          - sh
          - |
            echo hi

            # not a comment
            true
        ports:
        - containerPort: 8080   # a port

      #\ta comment with tabs\t
# tail
"""
_HABITS = {
    "plain": _DEPLOYMENT,
    "carriage returns": _DEPLOYMENT.replace("\n", "\r\n"),
    "no line end": _DEPLOYMENT.partition("\n\n      #\t")[0],
    "two documents": f"{_DEPLOYMENT}---  # between\n{_DEPLOYMENT}",
    "an end": f"{_DEPLOYMENT}...\n",
    "a byte order mark": f"\ufeff{_DEPLOYMENT}",
    "kept line ends": _DEPLOYMENT.replace("- |\n", "- |+\n"),
    "a List": "apiVersion: v1\nkind: List\nitems:\n- "
    + _DEPLOYMENT.removeprefix("# head\n").rstrip().replace("\n", "\n  ")
    + "\n",
    "empty annotations": _DEPLOYMENT.replace(
        "    metadata:\n      labels", "    metadata:\n      annotations: {}\n      labels"
    ),
    "null annotations": _DEPLOYMENT.replace(
        "    metadata:\n      labels", "    metadata:\n      annotations:\n      labels"
    ),
    "a text without a line end": _DEPLOYMENT.replace("        ports:\n        - containerPort: 8080   # a port\n", "")
    .partition("\n\n      #\t")[0]
    .replace("        command:\n", "        ports:\n        - containerPort: 8080   # a port\n        command:\n"),
    "a merge at the root": "x-base: &base {kind: Deployment, x-team: shop}\n<<: *base   # which kind\n"
    + _DEPLOYMENT.replace("kind: Deployment\n", ""),
    "a merge at the end": _DEPLOYMENT.replace(
        "metadata:\n  name", "x-base: &base {x-team: shop}\nmetadata:\n  name"
    ).replace("\n      #\ta", "      <<: *base\n\n      #\ta"),
    "a flow pod": "kind: Pod\nmetadata: {name: p}\n"
    "spec: {containers: [{name: a, image: x, ports: [{containerPort: 80}]}]}\n",
}


@pytest.mark.parametrize("habit", _HABITS)
@pytest.mark.parametrize("template", ["envoy", "nginx", "fluent-bit"])
def test_an_injection_adds_lines_and_uninject_gives_the_bytes_back(habit, template):
    data = _HABITS[habit].encode()
    injected = corpus_run("inject", "-", "--templates", template, data=data)
    assert [line["outcome"] for line in injected.lines] == ["injected"] * (2 if habit == "two documents" else 1)
    assert not any(line.get("written_anew") for line in injected.lines)
    named = {number for line in injected.lines for number in line.get("changed_lines", ())}
    assert set(gone(data, injected.out)) <= named
    changed = ("no line end", "a text without a line end", "empty annotations", "null annotations", "a flow pod")
    assert bool(named) == (habit in changed)
    # What comes behind the last line needs an end of it, and a text that ends there has to say that it has none.
    end = b"\n" if habit in ("no line end", "a text without a line end") else b""
    if habit == "a text without a line end":
        data = data.replace(b"- |\n", b"- |-\n")
    assert corpus_run("uninject", "-", data=injected.out).out == data + end


#: Places of a value `x`, in brackets and outside of them, with comments about.
PLACES = [
    "# c\nenv: [{name: A, value: x}]  # d\nz: 1\n",
    "env:\n  # c\n- name: A  # d\n  value: x  # e\n\nz: 1  # f\n",
    "env: [{name: A, value: 'x'}, # c\n  {name: x2}]\n",
    'args: [ "x" , y] # c\n# d\n',
    "args:\n- x # c\n  # d\n- y\n",
    "args:\n- [a, x] # c\n",
    "a: {b: {c: x, d: [x]}} # c\n",
    "? a # c\n: x # d\n",
]


def changed_at_x(value, new):
    """A value with another in the places of `x`."""
    if isinstance(value, dict):
        return {key: changed_at_x(item, new) for key, item in value.items()}
    if isinstance(value, list):
        return [changed_at_x(item, new) for item in value]
    return new if value == "x" else value


@pytest.mark.parametrize("text", PLACES)
@settings(max_examples=60, deadline=None)
@given(new=scalars)
def test_any_value_into_any_place_keeps_what_is_around_it(text, new):
    old = load_manifest(text)
    wanted = changed_at_x(old, new)
    [document] = documents(text)
    after = rewritten(document, wanted)
    assert load_manifest(after.body) == wanted
    assert not after.anew and not after.lost
    pieces = re.split(r"(?<!\w)['\"]?x['\"]?(?!\w)", document.body)
    assert re.fullmatch(".*".join(map(re.escape, pieces)), after.body, re.DOTALL)


@pytest.mark.parametrize("header", ["|", "|+", "|2", ">", "|-", "&a |  # why"])
def test_a_text_without_a_line_end_keeps_its_value_before_another_document(header):
    first = documents(f"kind: ConfigMap\ndata:\n  a: {header}\n    text", "a.yaml")
    joined = join_documents([*first, *documents("kind: Service\n", "b.yaml")])
    assert list(yaml.safe_load_all(joined)) == [{"kind": "ConfigMap", "data": {"a": "text"}}, {"kind": "Service"}]
    assert len(gone(first[0].text.encode(), joined.encode())) == (header != "|-")
