"""Comments of a manifest that changes: each stays, above or behind the node that it stood at, in all styles of YAML."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given, settings, strategies as st

from injector.authoring.yaml_stream import comments_in
from injector.cli.documents import Document, read_documents, rewritten
from injector.cli.inputs import Input
from injector.templates.kubernetes_yaml import load_manifest
from tests.corpus.commands import run as corpus_run, templates_loaded_once

NEW = {"name": "new", "value": "1"}


def document(text: str) -> Document:
    [only] = read_documents(Input("f.yaml", text.encode()))
    return only


def put(*path: str | int, value: Any) -> Callable[[Any], None]:
    def change(tree: Any) -> None:
        for step in path[:-1]:
            tree = tree[step]
        tree[path[-1]] = value

    return change


def insert(*path: str | int, value: Any) -> Callable[[Any], None]:
    def change(tree: Any) -> None:
        for step in path[:-1]:
            tree = tree[step]
        tree.insert(path[-1], value)

    return change


#: A text, a change of its value, and the text that is right.
CASES = {
    "behind a key without a value": (
        "env:   # set in CI\nz: 1\n",
        put("env", value=[NEW]),
        "env:   # set in CI\n- name: new\n  value: '1'\nz: 1\n",
    ),
    "behind null": ("a:\n  b: ~ # none yet\n", put("a", "b", value={"c": 1}), "a:\n  b: # none yet\n    c: 1\n"),
    "a word for nothing": ("a:   # to be done\n", put("a", value="x"), "a: x   # to be done\n"),
    "behind a list in brackets": ("a: [b, c]  # two\n", insert("a", 0, value="x"), "a: [x, b, c]  # two\n"),
    "between brackets": (
        "a: [\n  b, # bee\n  # above c\n  c # cee\n]\n",
        insert("a", 2, value="x"),
        "a: [\n  b, # bee\n  # above c\n  c, # cee\n  x\n]\n",
    ),
    "behind a part within brackets": (
        "a: {\n  b: 1, # bee\n  c: 2 # cee\n}\n",
        put("a", "x", value=3),
        "a: {\n  b: 1, # bee\n  c: 2, # cee\n  x: 3\n}\n",
    ),
    "behind a bracket": ("a: [ # head\n  b\n]\n", insert("a", 0, value="x"), "a: [ # head\n  x,\n  b\n]\n"),
    "behind a lone dash": (
        "a:\n- # lone\n  name: b\n",
        insert("a", 0, value=NEW),
        "a:\n- name: new\n  value: '1'\n- # lone\n  name: b\n",
    ),
    "behind a dash without a value": ("a:\n- # lone\n- b\n", put("a", 0, value="x"), "a:\n- x # lone\n- b\n"),
    "above the first item": (
        "a:\n  # wait\n  - name: b # bee\n",
        insert("a", 0, value=NEW),
        "a:\n  - name: new\n    value: '1'\n  # wait\n  - name: b # bee\n",
    ),
    "behind an alias": (
        "b: &x {a: 1} # one\nc: *x  # same\n",
        put("c", "d", value=2),
        "b: &x {a: 1} # one\nc:  # same\n  a: 1\n  d: 2\n",
    ),
    "behind the head of a text": ("a: |  # why\n  b\n", put("a", value="x"), "a: x  # why\n"),
    "in a list of a list": (
        "a:\n- - b # bee\n  - c\n",
        insert("a", 0, 0, value="x"),
        "a:\n- - x\n  - b # bee\n  - c\n",
    ),
    "of a value that goes": ("a:  # head\n# above\n- b # bee\n", put("a", value=[]), "a: []  # head\n# above\n# bee\n"),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_comments_stay(case: str, line_end: str) -> None:
    text, change, right = CASES[case]
    before = document(text.replace("\n", line_end))
    value = copy.deepcopy(before.value)
    change(value)
    after = rewritten(before, value)
    assert (after.text, after.lost_lines) == (right.replace("\n", line_end), ())


#: What is written into a merged mapping stands elsewhere, so this is written anew.
LOSING = """\
kind: Pod
base: &base
  spec:  # why
    containers: [{name: a, image: x}]
<<: *base
"""


def test_a_file_is_not_written_in_place_without_its_comments(run, tmp_path):
    losing, other = tmp_path / "losing.yaml", tmp_path / "other.yaml"
    losing.write_text(LOSING)
    other.write_text("kind: Pod\nspec:  # why\n  containers: [{name: a, image: x}]\n")
    before = other.read_text()
    refused = run("inject", "--templates", "logger", "--in-place", "--output", "json", tmp_path)
    assert (refused.code, refused.out) == (1, "")
    assert [line.get("lost_lines") for line in json.loads(refused.err)["objects"]] == [[3], None]
    assert not json.loads(refused.err)["written"]
    assert (losing.read_text(), other.read_text()) == (LOSING, before)
    named = run("inject", "--templates", "logger", "--output", "json", losing)
    assert (named.code, bool(named.out)) == (0, True)
    assert json.loads(named.err)["objects"][0]["lost_lines"] == [3]
    assert run("inject", "--templates", "logger", "--in-place", other).code == 0
    assert other.read_text() != before


# ------------------------------------------------------------------------------------------------ in every style


class Writer:
    """Writes a tree of values in styles that are drawn, with comments; each scalar and each comment has its number."""

    def __init__(self, data: st.DataObject) -> None:
        self.data, self.count = data, 0

    def choose(self, *choices: Any) -> Any:
        return self.data.draw(st.sampled_from(choices))

    def number(self) -> int:
        self.count += 1
        return self.count

    def beside(self) -> str:
        return self.choose("", "", f" # c{self.number()}", f"    # c{self.number()}: - [x")

    def above(self, column: int) -> list[str]:
        blank = self.choose([], [], [], [""])
        return blank + self.choose([], [], [f"{' ' * column}# c{self.number()}"])

    def scalar(self) -> str:
        word = f"v{self.number()}"
        return self.choose(word, word, f"'{word}'", f'"{word}"', f"{word} 'n so", f"!!str {word}", f"&a{word} {word}")

    def value(self, head: str, column: int, depth: int) -> list[str]:
        """The lines of a value behind `head`, which is a key or a dash at this column."""
        kinds = ["scalar", "scalar", "null", "empty", "text", "flow", "long flow"]
        kinds += ["mapping", "names", "words"] * (depth < 3) + ["lists"] * (depth < 2)
        kind = self.choose(*kinds)
        if kind == "scalar":
            return [f"{head} {self.scalar()}{self.beside()}"]
        if kind == "null":
            return [f"{head}{self.choose('', ' ~', ' null')}{self.beside()}"]
        if kind == "empty":
            return [f"{head} {self.choose('[]', '{}', '[ ]')}{self.beside()}"]
        if kind == "text":
            indent = " " * (column + self.choose(1, 2, 4))
            lines = [f"{indent}v{self.number()} # no comment", *self.choose([], [""]), f"{indent}  v{self.number()}"]
            return [f"{head} {self.choose('|', '>', '|-', '>+')}{self.beside()}", *lines]
        if kind == "flow":
            return [f"{head} {self.flow(depth)}{self.beside()}"]
        if kind == "long flow":
            return self.long_flow(head, column)
        mark = self.choose("", "", f" &a{self.number()}")
        step = self.choose(2, 4) if kind == "mapping" or head.endswith("-") else self.choose(0, 2)
        lines = getattr(self, kind)(column + step, depth + 1)
        return [f"{head}{mark}{self.beside()}", *lines]

    def flow(self, depth: int) -> str:
        if depth > 3:
            return self.scalar()
        pad = self.choose("", " ")
        if self.choose(True, False):
            return f"[{pad}{', '.join(self.scalar() for _ in range(self.choose(1, 2, 3)))}{pad}]"
        entries = (f"k{self.number()}: {self.flow(depth + 1)}" for _ in range(self.choose(1, 2)))
        return f"{{{pad}{', '.join(entries)}{pad}}}"

    def long_flow(self, head: str, column: int) -> list[str]:
        indent, count, (start, end) = " " * (column + 2), self.choose(1, 2, 3), self.choose("[]", "{}")
        lines = [f"{head} {start}{self.beside()}"]
        for n in range(count):
            lines += self.above(column + 2)
            key = f"k{self.number()}: " if start == "{" else ""
            lines.append(f"{indent}{key}{self.scalar()}{',' if n + 1 < count else self.choose('', ',')}{self.beside()}")
        return [*lines, *self.above(column + 2), f"{' ' * (column + 1)}{end}{self.beside()}"]

    def mapping(self, column: int, depth: int) -> list[str]:
        lines = []
        for _ in range(self.choose(1, 2, 3)):
            lines += self.above(column)
            quote = self.choose("", "", '"', "'")
            lines += self.value(f"{' ' * column}{quote}k{self.number()}{quote}:", column, depth)
        return lines

    def names(self, column: int, depth: int) -> list[str]:
        """The items of a list, each a mapping with a name."""
        lines = []
        for _ in range(self.choose(1, 2)):
            lines += self.above(column)
            indent = " " * (column + 2)
            rest = self.mapping(column + 2, depth) if self.choose(True, False) else []
            name = f"name: v{self.number()}{self.beside()}"
            if self.choose(True, True, False):
                lines += [f"{' ' * column}- {name}", *rest]
            else:
                lines += [f"{' ' * column}-{self.beside()}", *self.above(column + 2), f"{indent}{name}", *rest]
        return lines

    def words(self, column: int, depth: int) -> list[str]:
        lines = []
        for _ in range(self.choose(1, 2, 3)):
            lines += [*self.above(column), f"{' ' * column}- {self.scalar()}{self.beside()}"]
        return lines

    def lists(self, column: int, depth: int) -> list[str]:
        lines = []
        for _ in range(self.choose(1, 2)):
            first, *rest = self.words(column + 2, depth)
            compact = first.lstrip().startswith("-") and self.choose(True, False)
            lines += [f"{' ' * column}- {first.lstrip()}"] if compact else [f"{' ' * column}-{self.beside()}", first]
            lines += rest
        return lines


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each value."""
    yield path
    for step, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(item, (*path, step))


def changed(data: st.DataObject, value: Any) -> Any:
    """The value with one thing more, as an injection adds it, or with another scalar at one place."""
    new = copy.deepcopy(value)
    path = data.draw(st.sampled_from([path for path in places(new) if path and path[-1] != "name"] or [()]))
    owner = new
    for step in path[:-1]:
        owner = owner[step]
    at = owner[path[-1]] if path else new
    if isinstance(at, list):
        kind = type(at[0]) if at else str
        at.insert(data.draw(st.integers(0, len(at))), {list: ["new"], dict: NEW}.get(kind, "new"))
    elif isinstance(at, dict):
        at["new"] = data.draw(st.sampled_from(["new", NEW, [NEW], None, "new\nnew\n"]))
    elif isinstance(at, str):
        owner[path[-1]] = f"{at.split()[0]} new"
    elif isinstance(owner, dict):
        owner[path[-1]] = data.draw(st.sampled_from([[NEW], NEW, "new", ["new"]]))
    return new


def neighbours(text: str) -> dict[str, tuple[str, str, str, bool]]:
    """Of each comment: the scalar before it, the first of its line, the one after it, and whether it is beside one."""
    tokens = yaml.scan(text, Loader=yaml.CSafeLoader)
    scalars = [(t.start_mark.index, (t.value.split() or [""])[0]) for t in tokens if isinstance(t, yaml.ScalarToken)]
    found = {}
    for start, end in comments_in(text):
        line = text.rfind("\n", 0, start) + 1
        before = [word for at, word in scalars if at < start]
        found[text[start:end].strip()] = (
            before[-1] if before else "",
            next((word for at, word in scalars if line <= at < start), ""),
            next((word for at, word in scalars if at > start), ""),
            bool(text[line:start].strip()),
        )
    return found


def check_stays(text: str, before: Document, value: Any, after: Document) -> None:
    """Each comment of a text stands in the changed document, and in what that becomes when it is changed back; where
    this is not the text, the lines are named.
    """
    assert (load_manifest(after.text), after.anew, after.lost_lines) == (value, False, ())
    old, new = neighbours(text), neighbours(after.text)
    assert sorted(old) == sorted(new)
    assert len(old) == len([*comments_in(after.text)])
    for comment, (previous, first, following, beside) in old.items():
        if beside:
            assert previous == new[comment][0] or first == new[comment][1], comment
        else:
            assert previous == new[comment][0] or following == new[comment][2], comment
    back = rewritten(after, before.value)
    assert not back.lost
    assert back.text == text or back.changed or after.changed


@pytest.mark.parametrize("examples", [150, pytest.param(10_000, marks=pytest.mark.soak(minutes=10))])
def test_every_comment_stands_where_it_stood(examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(data=st.data())
    def check(data: st.DataObject) -> None:
        writer = Writer(data)
        text = "\n".join(["kind: Pod", *writer.mapping(0, 0)]) + writer.choose("\n", "\n", "")
        if writer.choose(False, False, True):
            text = text.replace("\n", "\r\n")
        before = document(text)
        value = changed(data, before.value)
        after = rewritten(before, value)
        check_stays(text, before, value, after)

    check()


# ---------------------------------------------------------------------------------------- of what is put in, and back

POD = """\
kind: Pod
metadata:
  name: web
  {}
spec:
  {}
  containers:
  - name: web
    image: x
    {}
"""
ANNOTATIONS = (
    "annotations:   # notes",
    "annotations: ~ # none yet",
    "annotations: {} # empty",
    "annotations: {a: b} # one",
    "annotations:  # c\n    # above\n    a: 'b' # behind\n    # end",
    "labels: {a: b}  # none",
)
INIT_CONTAINERS = (
    "initContainers:\n  # wait\n  - name: wait # w\n    image: x",
    "initContainers: []  # none",
    "initContainers: [{name: wait, image: x}] # in brackets",
    "initContainers:\n  -\n    # lone\n    name: wait\n    image: x",
    "initContainers: # null",
    "dnsPolicy: Default  # none",
)
VARIABLES = (
    "env:   # set in CI",
    "env: [ ] # none",
    "env: [{name: A, value: b}] # c",
    "env:\n    # first\n    - name: A # a\n      value: b\n    # last",
    "env: [\n      {name: A, value: b}, # bee\n      {name: C, value: dd} # cee\n    ] # end",
    "tty: true  # none",
)


@pytest.mark.parametrize("every", [19, pytest.param(1, marks=pytest.mark.soak(minutes=2))])
def test_an_injection_and_its_removal_keep_every_comment(every: int) -> None:
    """What does not come back byte for byte is named by its lines."""
    with templates_loaded_once():
        for parts in [*itertools.product(ANNOTATIONS, INIT_CONTAINERS, VARIABLES)][::every]:
            data = POD.format(*parts).encode()
            injected = corpus_run("inject", "-", "--templates-dir", "docs/hello", "--templates", "hello", data=data)
            back = corpus_run("uninject", "-", data=injected.out)
            lines = [*injected.lines, *back.lines]
            assert [line["outcome"] for line in lines] == ["injected", "uninjected"]
            assert not any({"lost_lines", "written_anew"} & line.keys() for line in lines)
            assert neighbours(data.decode()).keys() <= neighbours(injected.out.decode()).keys()
            assert back.out == data or back.lines[0]["changed_lines"]
