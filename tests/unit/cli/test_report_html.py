"""`explain` and `list` with `--output html`: the data of JSON, as one file in which whatever pods say is text."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from injector import authoring
from injector.cli import list as listing, report_html
from injector.cli.explanation import Recorded
from injector.cli.fleet import Row, WaitingController
from injector.cli.live_setup import PathEntry
from injector.cli.report_html import explanations_as_html
from injector.cluster.retries import RefusedCreation
from injector.diagnostics import Diagnostic, page_address, printable
from injector.pods.context import Workload
from tests.unit.cli.manifests import POD

STYLE = "".join((Path(authoring.__file__).parent / name).read_text() for name in ("colours.css", "page.css"))
VOID = {"meta"}
#: The page's own elements with their attributes, and what may stand in these.
ATTRIBUTES = {
    ("html", "lang"): "en",
    ("meta", "charset"): "utf-8",
    ("meta", "name"): "viewport|referrer",
    ("meta", "http-equiv"): "Content-Security-Policy",
    (
        "meta",
        "content",
    ): r"no-referrer|width=device-width, initial-scale=1|default-src 'none'; style-src 'sha256-[\w/+]{43}="
    "'; base-uri 'none'; form-action 'none'",
    ("nav", "aria-label"): "Contents",
    ("a", "href"): r"#part-\d+",
    ("section", "id"): r"part-\d+",
    ("p", "class"): "verdict (good|warning|bad)",
    ("td", "class"): "word( state (good|warning|bad))?",
    ("tr", "class"): "chosen",
    ("th", "scope"): "col|row",
    ("span", "class"): "place",
    ("details", "open"): "None",
    ("div", "class"): "wide",
    ("div", "role"): "region",
    ("div", "tabindex"): "0",
    ("div", "aria-label"): r"Pods of [^\x00-\x09\x0b-\x1f\u202e]*",
}
ELEMENTS = {tag for tag, _ in ATTRIBUTES} | {
    *("head", "title", "style", "body", "header", "main", "footer", "h1", "h2", "h3", "h4", "h5"),
    *("ul", "ol", "li", "dl", "dt", "dd", "table", "caption", "thead", "tbody", "code", "pre", "ins", "del", "summary"),
}


class Page(HTMLParser):
    """What a browser makes of a page, as far as these tests need it."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.pieces: dict[str, list[list[str]]] = {}
        self.source = text
        self.feed(text)
        self.close()
        self.texts = {tag: ["".join(each) for each in of_tag] for tag, of_tag in self.pieces.items()}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        assert len(dict(attrs)) == len(attrs)
        if tag not in VOID:
            self.open.append(tag)
            self.pieces.setdefault(tag, []).append([])

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in set(self.open):
            self.pieces[tag][-1].append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def handle_pi(self, data: str) -> None:
        raise AssertionError(data)

    @property
    def text(self) -> str:
        return self.texts["body"][0]

    def count(self, tag: str) -> int:
        return len(self.texts.get(tag, ()))


def page_of(text: str) -> Page:
    """A page, of which every element and attribute is the page's own, and which asks nobody for anything."""
    page = Page(text)
    assert page.open == []
    for tag, attributes in page.elements:
        assert tag in ELEMENTS, tag
        for name, value in attributes.items():
            assert re.fullmatch(ATTRIBUTES[tag, name], str(value)), (tag, name, value)
    # headings in order, a header of each column
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1 and all(later <= before + 1 for before, later in pairwise(levels))
    counts = Counter(tag for tag, _ in page.elements)
    assert counts["h1"] == counts["main"] == counts["title"] == counts["style"] == 1
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    assert {f"#{id_}" for id_ in ids} >= {attributes["href"] for _, attributes in page.elements if "href" in attributes}
    [style] = page.texts["style"]
    assert style == STYLE
    [policy] = [attributes["content"] for _, attributes in page.elements if "http-equiv" in attributes]
    assert f"'sha256-{base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()}'" in str(policy)
    assert all(line.isprintable() for line in text.split("\n"))
    return page


# ------------------------------------------------------------------------------------------------- the data of JSON


def explained(run, manifest, *options):
    """The page and the data of an explanation."""
    page = run("explain", *options, "--output", "html", "-", stdin=manifest)
    data = run("explain", *options, "--output", "json", "-", stdin=manifest)
    assert (page.code, page.err) == (data.code, data.err)
    return page_of(page.out), json.loads(data.out)


def test_what_json_has_is_in_the_page(run):
    options = ("--templates", "logger", "--param", "logger.level=debug")
    page, [data] = explained(run, POD, *options)
    assert (data["reason"], len(data["templates"])) == ("injected", 1)
    for step in data["trail"]:
        assert step["step"] in page.texts["th"] and step["saw"] in page.texts["td"]
    [template] = data["templates"]
    assert f"logger {template['digest']}" in page.texts["h4"]
    for parameter in template["parameters"]:
        assert parameter["name"] in page.texts["th"]
        assert {parameter["value"], parameter["from"]} <= set(page.texts["td"])
    texts = [data["object"], data["reason"], data["origin"], data["generation"], *data["notes"], *data["adds"]]
    assert [text for text in (*texts, *data["configMaps"]) if text not in page.text] == []
    assert any("level: debug" in text for text in page.texts["pre"])
    assert any(line.startswith("+") and "logger:1" in line for line in page.texts["ins"])
    assert page.count("del") == 0
    assert page.source == run("explain", *options, "--output", "html", "-", stdin=POD).out


def test_several_objects_are_parts_with_contents(run):
    host = POD.replace("name: web", "name: host", 1).replace("spec:", "spec:\n  hostNetwork: true", 1)
    page, data = explained(run, f"{POD}\n---\n{host}", "--templates", "logger")
    assert [d["reason"] for d in data] == ["injected", "host-network"]
    assert [text for text in page.texts["dd"] if "#host-network" in text] == [page_address("reasons", "host-network")]
    assert page.texts["a"] == page.texts["h2"] == [d["object"] for d in data]
    assert page.count("nav") == 1
    alone, _ = explained(run, POD, "--templates", "logger")
    assert alone.count("nav") == 0


def test_paths_are_in_it(run, tmp_path):
    settings = tmp_path / "settings.yaml"
    settings.write_text("paths: {/validate/lb: {templates: [deny-load-balancer], type: validating}}\n")
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: lb}\nspec: {type: LoadBalancer, ports: [{port: 80}]}\n"
    page, [data] = explained(run, service, "--settings", settings)
    [path] = data["paths"]
    assert path["reason"] == "denied"
    assert path["path"] in page.texts["h4"] and path["request"] in page.text and path["message"] in page.text
    assert {look["saw"] for look in path["trail"]} <= set(page.texts["td"])


def test_what_only_a_cluster_knows_is_in_it(run, tmp_path, monkeypatch):
    settings = tmp_path / "settings.yaml"
    settings.write_text("paths: {/validate/env: {templates: [deny-env], type: validating}}\n")
    captured = []
    monkeypatch.setattr(report_html, "explanations_as_html", lambda all_of_them: captured.extend(all_of_them) or "")
    run("explain", "--settings", settings, "--templates", "logger", "--output", "html", "-", stdin=POD)
    monkeypatch.undo()
    [explanation] = captured
    entry = PathEntry("webhook: does not call it, as <b>", called=False)
    explanation = replace(
        explanation,
        paths=tuple(replace(trail, entry=entry) for trail in explanation.paths),
        recorded=Recorded("conflict: <i>", "2026-11-28T10:00:00Z"),
        unready=(Diagnostic("waiting", "error", "logger waits <u>", help="look at <s>"),),
    )
    page = page_of(explanations_as_html([explanation]))
    assert page.texts["p"].count(entry.words) == 1
    for text in ("conflict: <i>", "2026-11-28T10:00:00Z", "logger waits <u>", "look at <s>"):
        assert text in page.text


def test_a_pod_that_has_its_sidecar_shows_the_same_difference(run):
    before, _ = explained(run, POD, "--templates", "logger")
    injected = run("inject", "--templates", "logger", "-", stdin=POD).out
    after, [data] = explained(run, injected, "--templates", "logger")
    assert data["reason"] == "already-injected"
    assert after.texts["ins"] == before.texts["ins"]


# --------------------------------------------------------------------------------------------------------- secrets

TOKEN = "hunter2-correct-horse"
SECRET = """\
description: x
parameters:
  token: {type: string, TOKEN, secret: true, default: none-at-all, description: x}
  env-*: {type: object, additionalProperties: {type: string}, secret: true, description: x}
files:
  a.yaml: {template: a.yaml.j2}
"""
SECRET_OVERLAY = """\
spec:
  containers:
  - name: keeper
    image: keeper:1
    args: ["{{ params.token }}", "{{ params.token | upper }}", "{{ params.token[8:] }}"]
    env:
{% for name, value in params.env.items() %}
    - {name: "{{ name }}", value: "{{ value }}"}
{% endfor %}
    volumeMounts: [{name: keeper-config, mountPath: /etc/keeper}]
  volumes:
  - {name: keeper-config, configMap: {name: "{{ files.configmap }}"}}
"""


@pytest.fixture
def keeper(templates_dir):
    folder = templates_dir / "keeper"
    folder.mkdir()
    (folder / "template.yaml").write_text(SECRET.replace("TOKEN, ", ""))
    (folder / "overlay.yaml.j2").write_text(SECRET_OVERLAY)
    (folder / "a.yaml.j2").write_text("token: {{ params.token }}\nenv: {{ params.env }}\n")
    return folder


def spellings(value: str) -> list[str]:
    return [value, value.upper(), value[8:]]


def keyed(**annotations: str) -> str:
    """A pod with parameters of the template, as kubectl has applied it."""
    values = {f"keeper.sidecar.injector/{key.replace('_', '-')}": value for key, value in annotations.items()}
    applied = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps({"metadata": values})}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "annotations": {**values, **applied}},
        "spec": {"containers": [{"name": "web", "image": "web:1"}]},
    }
    return json.dumps(pod)


@pytest.mark.parametrize("already", [False, True], ids=["new", "injected before"])
def test_what_is_masked_stays_masked(run, keeper, already):
    manifest = keyed(token=TOKEN, env_a=f"{TOKEN}-a")
    if already:
        done = run("inject", "--templates", "keeper", "-", stdin=manifest)
        manifest = done.out
        assert done.code == 0 and TOKEN.upper() in manifest, done.err
    page, [data] = explained(run, manifest, "--templates", "keeper")
    assert data["reason"] == ("already-injected" if already else "injected")
    assert [text for text in spellings(TOKEN) if text in page.source] == []
    assert page.count("ins") > 5 and "keeper.token" in page.text and "keeper.env-*" in page.text
    assert any("keeper:1" in line for line in page.texts["ins"])


def test_what_no_other_value_can_stand_for_is_left_out(run, keeper):
    (keeper / "template.yaml").write_text(SECRET.replace("TOKEN", f"pattern: '^({TOKEN}|none-at-all)$'"))
    page, [data] = explained(run, keyed(token=TOKEN), "--templates", "keeper")
    assert data["reason"] == "injected"
    assert TOKEN not in page.text.replace(f"^({TOKEN}|none-at-all)$", "")
    assert page.count("ins") == page.count("del") == 0
    (keeper / "template.yaml").write_text(SECRET.replace("TOKEN, ", ""))
    pod = json.loads(keyed(token=TOKEN))
    pod["spec"]["containers"][0]["env"] = [{"name": "TOKEN", "value": TOKEN}]
    page, _ = explained(run, json.dumps(pod), "--templates", "keeper")
    assert TOKEN not in page.source and page.count("ins") == 0


def test_data_of_a_secret_is_not_in_it(run, templates_dir, tmp_path):
    folder = templates_dir / "marks"
    folder.mkdir()
    (folder / "template.yaml").write_text(
        "description: x\nfor: {apiGroups: [''], apiVersions: [v1], resources: [secrets]}\n"
    )
    (folder / "overlay.yaml.j2").write_text("metadata: {labels: {marked: 'true'}}\nstringData: {more: x}\n")
    settings = tmp_path / "settings.yaml"
    settings.write_text("paths: {/mutate/secrets: {templates: [marks]}}\n")
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"password": TOKEN}}
    page, [data] = explained(run, json.dumps(secret), "--settings", settings)
    assert data["reason"] == "amended"
    assert TOKEN not in page.source and page.count("code") > 0


# ------------------------------------------------------------------------------------------------ hostile texts

PIECES = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style><style>*{display:none}",
    "</title></pre></details></table>",
    "javascript:alert(1)",
    "' onmouseover='alert(1)",
    "{{ 7*7 }}{% raw %}",
    "{# x #}${7*7}<%= 7 %>",
    "<!-- -->--><![CDATA[x]]>",
    "&lt;b&gt;&#60;&amp;",
    "http://attacker.example/x.js",
    "<svg/onload=alert(1)>",
    "<a href=//attacker.example>",
    "\u202egnp.exe\u2066",
    "\x1b[31m\x9b1m\r",
    "\u2028\u0085\ufeff\u200b",
    "é日本😀אב",
    "\ttab",
    "line\nof its own",
    "x" * 3000,
    " ",
    "%s%n{0}",
]


def hostile(count: int) -> Iterator[str]:
    """Different texts, each time the same."""
    source = random.Random(37)
    yield from PIECES
    yield "a\x00b"
    for number in range(count - len(PIECES) - 1):
        yield f"{number}" + "".join(source.sample(PIECES, source.randint(1, 4)))


TEXTS = list(hostile(200))
HOSTILE = """\
description: x
parameters:
  text: {type: string, default: "", description: x}
files:
  a.yaml: {template: a.yaml.j2}
"""
HOSTILE_OVERLAY = """\
{{ warn(params.text[:60]) }}
spec:
  containers:
  - name: side
    image: side:1
    args: ["{{ params.text | length }}"]
    volumeMounts: [{name: side-config, mountPath: /etc/side}]
  volumes:
  - {name: side-config, configMap: {name: "{{ files.configmap }}"}}
"""


def hostile_pods() -> Iterator[dict]:
    for number, text in enumerate(TEXTS):
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"web-{number}",
                "annotations": {
                    "sidecar.injector/note": text,
                    "side.sidecar.injector/text": text,
                    f"side.sidecar.injector/{text[:40]}": text,
                },
            },
            "spec": {"containers": [{"name": "web", "image": "web:1", "env": [{"name": "A", "value": text}]}]},
        }
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": text, "namespace": text[:63], "annotations": {"sidecar.injector/templates": text}},
            "spec": {
                "containers": [{"name": text, "image": text, "volumeMounts": [{"name": text, "mountPath": text}]}]
            },
        }


def test_whatever_a_pod_says_is_text(run, templates_dir, tmp_path):
    folder = templates_dir / "side"
    folder.mkdir()
    (folder / "template.yaml").write_text(HOSTILE)
    (folder / "overlay.yaml.j2").write_text(HOSTILE_OVERLAY)
    (folder / "a.yaml.j2").write_text("text: {{ params.text }}\n")
    file = tmp_path / "pods.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(hostile_pods())}))
    options = ("--templates", "side", "--namespace-label", "injection=enabled")
    page = page_of(run("explain", *options, "--output", "html", file).out)
    data = json.loads(run("explain", *options, "--output", "json", file).out)
    assert page.count("section") == len(data) == 2 * len(TEXTS)
    names = [printable_lines(d["object"]) for d in data]
    assert page.texts["h2"] == page.texts["a"] == names
    values = Counter(p["value"] for d in data for t in d["templates"] for p in t["parameters"])
    assert len(values) > 150
    cells = Counter(page.texts["td"])
    assert {text for text in values if not cells[printable_lines(text)]} == set()
    items = set(page.texts["li"])
    lines = [line for d in data for line in (*d["notes"], *d["warnings"])]
    assert len(set(lines)) > 150
    assert [line for line in lines if printable_lines(line) not in items] == []


def printable_lines(text: str) -> str:
    return "\n".join(printable(line) for line in text.split("\n"))


# ------------------------------------------------------------------------------------------------------------- list


def rows(text: str) -> list[Row]:
    causes = (Diagnostic("template-changed", "warning", text, fields={"template": text}),)
    return [
        Row(text, text, "outdated", Workload("Deployment", text), {text: "845067e0aae9"}, text, causes, text),
        Row(text, "b", "failed", Workload("Job", text), {}, text),
        Row(text, "c", "current", Workload("Odd<b>", text), {"envoy": "145067e0aae9"}),
    ]


def listed(capsysbinary, form, *arguments):
    listing._print(*arguments, form)
    return capsysbinary.readouterr().out.decode()


def test_a_list_has_what_json_has(capsysbinary):
    ours = [
        Row("shop", "web-1", "current", Workload("Deployment", "web"), {"envoy": "845067e0aae9"}),
        Row("team", "db-0", "outdated", Workload("StatefulSet", "db"), {"envoy": "1"}, "why it is", since="2026-11-28"),
        Row("team", "db-1", "missing", Workload("Job", "x"), {}, "not called"),
    ]
    creation = RefusedCreation("ReplicaSet", "shop", "web-1", "u", "e", datetime(2026, 11, 28, tzinfo=UTC))
    page = page_of(listed(capsysbinary, "html", ours, ["a note"], [WaitingController(creation, 3)]))
    data = json.loads(listed(capsysbinary, "json", ours, ["a note"], [WaitingController(creation, 3)]))
    [waiting] = data["waiting"]
    assert waiting["retry"] in page.text and waiting["controller"] in page.text
    assert page.texts["a"] == page.texts["h2"][:2] == ["shop", "team"]
    for pod in data["pods"]:
        assert pod["pod"] in page.texts["th"]
        texts = [pod["state"], pod["workload"], pod.get("why", ""), pod.get("since", "")]
        assert [text for text in texts if text not in page.texts["td"]] == []
        assert all(f"{name} {digest}" in page.text for name, digest in pod["templates"].items())
    assert [line for line in (*data["restart"], *data["otherwise"], *data["notes"]) if line not in page.text] == []


def test_an_empty_list_says_so(capsysbinary):
    page = page_of(listed(capsysbinary, "html", [], [], ()))
    assert page.count("table") == page.count("section") == 0
    assert page.count("p") == 2


def test_whatever_a_cluster_says_is_text(capsysbinary):
    pods = [row for text in TEXTS for row in rows(text)]
    page = page_of(listed(capsysbinary, "html", pods, TEXTS, ()))
    cells = {*page.texts["td"], *page.texts["th"], *page.texts["li"]}
    assert [text for text in TEXTS if printable_lines(text) not in cells] == []
    assert page.count("tr") == len(pods) + len(TEXTS)


def test_watching_is_not_for_a_page(program):
    done = program("list", "--watch", "--output", "html")
    assert (done.code, done.out) == (2, "")


# ------------------------------------------------------------------------------------------------------------ looks

FOREGROUNDS = ("text", "muted", "accent", "good", "warning", "bad")
BACKGROUNDS = ("background", "surface", "added", "removed")


def colours(block: str) -> dict[str, str]:
    return dict(re.findall(r"--([a-z]+): #([0-9a-f]{6});", block))


def luminance(colour: str) -> float:
    """WCAG 2.2, relative luminance."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_each_pair_of_colours_can_be_told_apart():
    assert contrast("000000", "ffffff") == pytest.approx(21)
    light, dark = (colours(block) for block in re.findall(r":root \{\n(.*?)\}", STYLE, re.S)[:2])
    assert light.keys() == dark.keys()
    assert light.keys() == {*FOREGROUNDS, *BACKGROUNDS, "border", "line"}
    for scheme in (light, dark):
        ratios = {(a, b): contrast(scheme[a], scheme[b]) for a in FOREGROUNDS for b in BACKGROUNDS}
        assert {pair: ratio for pair, ratio in ratios.items() if ratio < 4.5} == {}
        assert contrast(scheme["border"], scheme["background"]) >= 3


def test_the_style_has_no_other_colours_and_loads_nothing():
    rules = re.sub(r":root \{.*?\}", "", STYLE, flags=re.S)
    assert re.findall(r"#[0-9a-f]{3,8}\b|rgb|hsl|url\(|@import|@font-face|expression", rules) == []
    assert set(re.findall(r"var\(--([a-z]+)\)", rules)) <= {*FOREGROUNDS, *BACKGROUNDS, "border", "line"}
    assert "</" not in STYLE and "{{" not in STYLE and "{%" not in STYLE
