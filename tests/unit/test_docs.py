"""What docs/ says of the code is what the code says: its tables are read and compared, its examples are rendered."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
import yaml

from injector.advice import with_advice
from injector.cli.certs import certs
from injector.cli.main import COMMANDS, cli
from injector.cli.serve import serve
from injector.diagnostics import Diagnostic, page_address
from injector.errors import InjectionError, TemplateError
from injector.names import TEAM
from injector.pods.context import Namespace, Request, Workload
from injector.pods.decision import STEPS, decide
from injector.pods.fitting import keep_requests_below_limits
from injector.reasons import Effect, Reason
from injector.settings import PathTemplates, Settings, parse_settings
from injector.telemetry import LogOutput, Metrics
from injector.templates import (
    environment,
    holes,
    kubernetes_yaml as kubernetes_yaml,
    parameter_schema,
    parameter_values,
    structure,
    template,
)
from injector.templates.environment import FUNCTIONS
from injector.templates.filters import FILTERS, TESTS, TEXT_FILTERS
from injector.templates.load import load_template
from injector.templates.manifest import _KEYS as MANIFEST_KEYS
from injector.templates.parameter_keywords import FORMATS, KEYWORDS
from injector.templates.quoting import NAMED, SYNTAXES, syntax_of
from injector.templates.render import render_files, render_overlay
from injector.templates.sandbox_operations import DICT_METHODS, LIST_METHODS, STRING_METHODS
from injector.templates.syntax import NAMES
from injector.templates.variables import Context
from injector.webhook.record import Note, Recorder
from injector.webhook.review import read_review
from tests.silence import needs_words
from tests.unit.pods.pod_cases import GROWING, KEYS

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [
        *(ROOT / "docs").rglob("*.md"),
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "CHANGELOG.md",
        ROOT / "SECURITY.md",
        *ROOT.glob("templates/*/*.md"),
    ]
)


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text()


def table(text: str, *columns: str) -> list[list[str]]:
    """The rows of every table with these columns, cell by cell."""
    rows: list[list[str]] = []
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if cells(line) == list(columns):
            for row in lines[number + 2 :]:
                if not row.startswith("|"):
                    break
                rows.append(cells(row))
    assert rows, f"no table | {' | '.join(columns)} |"
    return rows


def cells(row: str) -> list[str]:
    parts = re.split(r"(?<!\\)\|", row)[1:-1]
    return [part.strip().replace(r"\|", "|") for part in parts]


def cell(text: str) -> str:
    """A text as a cell of a table."""
    return " {} |".format(text.replace("|", r"\|"))


def code(text: str) -> list[str]:
    """Everything between backquotes."""
    return re.findall(r"`([^`]+)`", text)


# ------------------------------------------------------------------------------------------------ reasons.md


def test_reasons_are_those_of_the_code() -> None:
    text = page("reasons.md")
    written = [tuple(row) for row in table(text, "reason", "meaning", "enabled", "required")]
    expected = [(f"`{r}`", r.sentence, str(r.effect(required=False)), str(r.effect(required=True))) for r in Reason]
    assert written == expected
    sections = re.findall(r"(?m)^### `(.*)`\n\n\*((?s:.*?))\.\*", text.partition("## What to do about it")[2])
    said = [(name, " ".join(sentence.split()).lower()) for name, sentence in sections]
    assert said == [(str(reason), reason.sentence.lower()) for reason in Reason]


def test_effects_are_those_of_the_code() -> None:
    assert [row[0] for row in table(page("reasons.md"), "effect", "the pod")] == [str(effect) for effect in Effect]


def test_steps_are_those_of_the_code_in_their_order() -> None:
    written = [row[0] for row in table(page("reasons.md"), "step", "fits when")]
    assert written == [f"`{reason}`" for reason, _ in STEPS] + [f"`{Reason.NOT_REQUESTED}`"]


def test_steps_that_required_overrules_are_named() -> None:
    sentence = next(line for line in page("reasons.md").splitlines() if "*overruled*" in line)
    overruled = {
        str(reason)
        for reason, _ in STEPS
        if (reason.effect(required=False), reason.effect(required=True)) == (Effect.SKIP, Effect.INJECT)
    }
    assert set(code(sentence)) - {"required", "explain"} == overruled


def test_every_reason_has_its_section() -> None:
    sections = re.findall(r"(?m)^### `(.*)`\n", page("reasons.md").partition("## What to do about it")[2])
    assert sections == [str(reason) for reason in Reason]
    assert all((ROOT / page_address("reasons", str(reason)).partition("#")[0]).exists() for reason in Reason)


# ----------------------------------------------------------------------------------------------- settings.md


def flat(values: dict[str, Any], types: Any, prefix: str = "") -> dict[str, Any]:
    """Settings by their dotted names; nested structs, not nested values."""
    found: dict[str, Any] = {}
    for field in msgspec.structs.fields(types):
        name, value = f"{prefix}{field.encode_name}", values[field.encode_name]
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            found |= flat(value, field.type, f"{name}.")
        else:
            found[name] = value
    return found


def test_settings_and_their_defaults_are_those_of_the_code() -> None:
    rows = table(page("settings.md"), "setting", "default", "what it does")
    written = {code(name)[0]: json.loads(code(default)[0]) for name, default, _ in rows}
    defaults = json.loads(msgspec.json.encode(Settings()))
    assert list(written.items()) == list(flat(defaults, Settings).items())


def test_every_example_of_settings_is_read() -> None:
    blocks = re.findall(r"^```yaml\n(.*?)^```", page("settings.md"), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 5
    for block in blocks:
        parse_settings(yaml.safe_load(block))


def test_keys_of_a_path_and_their_defaults_are_those_of_the_code() -> None:
    rows = table(page("settings.md"), "key of a path", "default", "what it does")
    defaults = json.loads(msgspec.json.encode(PathTemplates(templates=())))
    written = {code(name)[0]: json.loads(code(default)[0]) if code(default) else [] for name, default, _ in rows}
    assert written == defaults


@pytest.mark.parametrize("number", [2, 3])
def test_names_of_other_injectors_work(number: int) -> None:
    block = re.findall(r"^```yaml\n(.*?)^```", page("settings.md"), re.MULTILINE | re.DOTALL)[number]
    settings = parse_settings(yaml.safe_load(block))
    namespace = Namespace("shop", {settings.namespace_label.key: "enabled"})
    pod = {"metadata": {"annotations": {f"{settings.prefix}/inject": "false"}}}
    assert decide({"metadata": {}}, namespace, settings, Request()).reason is Reason.NAMESPACE_ENABLED
    assert decide(pod, namespace, settings, Request()).reason is Reason.POD_OPTED_OUT


def test_names_of_one_whose_pods_name_what_they_want_work() -> None:
    block = re.findall(r"^```yaml\n(.*?)^```", page("settings.md"), re.MULTILINE | re.DOTALL)[4]
    settings = parse_settings(yaml.safe_load(block))
    asking = {"metadata": {"annotations": {"injector.tumblr.com/request": "php:1.2"}}}
    for namespace in (Namespace("shop"), Namespace("shop", {settings.namespace_label.key: "enabled"})):
        assert decide(asking, namespace, settings, Request()).reason is Reason.POD_OPTED_IN
        assert not decide({"metadata": {}}, namespace, settings, Request()).inject


def test_names_are_those_that_the_settings_make() -> None:
    s = Settings()
    written = [code(row[0])[0] for row in table(page("settings.md"), "key", "where", "who writes it")]
    expected = {s.inject_key, s.templates_key, s.status_key, s.reason_key, s.receipt_key}
    expected |= {s.template_label, s.version_label, s.stage_key, s.unchecked_key, s.generated_label}
    expected |= {f"{s.parameter_suffix(name)}<parameter>" for name in ("<template>", f"{TEAM}<template>")}
    expected |= {f"{s.prefix}/<template>.<file>"}
    assert set(written) == expected


def test_options_of_serve_are_those_of_the_command() -> None:
    rows = table(page("settings.md"), "option", "variable", "default", "what it does")
    written = {code(option)[0]: code(variable)[0] for option, variable, _, _ in rows}
    options = [p for p in serve.params if isinstance(p, click.Option)]
    assert written == {option.opts[0]: option.envvar for option in options}
    server = Settings().server
    defaults = {code(row[0])[0]: row[2].strip("`") for row in rows}
    ours = [str(v) for v in (server.port, server.metrics_port, server.certificate, server.key)]
    assert [defaults[o] for o in ("--port", "--metrics-port", "--cert", "--key")] == ours


# ---------------------------------------------------------------------------------------------- templates.md


def test_merge_keys_are_those_of_the_code() -> None:
    rows = table(page("templates.md"), "list", "merge key")
    written = {code(name)[0]: tuple(code(key)) for name, key in rows}
    assert written == {**KEYS, **dict.fromkeys(GROWING, ())}
    assert {code(name)[0] for name, key in rows if key == "the whole element"} == GROWING


def test_requests_give_way_as_it_says() -> None:
    had = {"resources": {"limits": {"cpu": "1"}}}
    merged = {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}
    container, told = keep_requests_below_limits(had, merged)
    assert container["resources"]["requests"] == {"cpu": "1"} and told


def test_names_and_functions_are_those_of_the_code() -> None:
    text = page("templates.md")
    assert {code(row[0])[0] for row in table(text, "name", "what it is")} == NAMES
    written = {code(row[0])[0].partition("(")[0] for row in table(text, "function", "what it does")}
    assert written == set(FUNCTIONS)


def test_filters_methods_and_tests_are_those_of_the_code() -> None:
    text = page("templates.md")
    assert sorted(name for row in table(text, "filters", "") for name in code(row[1])) == sorted(FILTERS)
    rows = table(text, "syntax", "by the name", "`quote` is for", "it writes", "it refuses")
    assert [code(row[0])[0] for row in rows] == sorted(SYNTAXES)
    assert all(syntax_of(name.replace("*", "x")) == code(row[0])[0] for row in rows for name in code(row[1]))
    assert set(TEXT_FILTERS) == {*FILTERS, "quote", *NAMED} and all(f"`{name}`" in text for name in NAMED)
    methods = [set(code(row[1])) for row in table(text, "methods of", "")]
    assert methods == [STRING_METHODS, DICT_METHODS, LIST_METHODS]
    [tests] = table(text, "tests", "")
    assert set(code(tests[1])) == {name for name in TESTS if name.isalpha()}


def test_keys_keywords_and_formats_are_those_of_the_code() -> None:
    text = page("templates.md")
    assert [code(row[0])[0] for row in table(text, "key", "default", "what it says")] == list(MANIFEST_KEYS)
    assert {code(row[0])[0]: row[1] for row in table(text, "format", "takes")} == {
        name: known.words for name, known in FORMATS.items()
    }
    kinds = [kind for row in table(text, "type", "how a string is read") for kind in code(row[0])]
    assert sorted(kinds) == sorted(parameter_schema.TYPES)
    keywords = re.search(r"these\s+keywords\s+of\s+JSON\s+Schema:\s(.*?)\.$", text, re.MULTILINE | re.DOTALL)
    assert keywords and set(code(keywords[1])) == KEYWORDS - {"type", "default", "description"}


def test_limits_are_those_of_the_code() -> None:
    numbers = [int(row[1].split()[0]) for row in table(page("templates.md"), "what", "at most")]
    assert numbers == [
        template.LARGEST,
        structure.OUTPUT,
        structure.DOCUMENT_VALUES,
        kubernetes_yaml.DEPTH,
        holes.WORK,
        environment._RANGE,
        parameter_values.LONGEST_VALUE,
        20,
    ]


_TYPES = {str: "string", int: "integer", bool: "boolean", list: "array", dict: "object", type(None): "string"}


def rendered(line: str, value: Any) -> Any:
    """What a template with this one line renders for a parameter `v` with this value."""
    kind = _TYPES[type(value)]
    sources = {"template.yaml": f"parameters: {{v: {{type: {kind}}}}}\n", "overlay.yaml.j2": f"{line}\n"}
    context = Context(
        params={"v": value}, object={"spec": {}}, namespace=Namespace("shop"), workload=Workload("Pod", "p")
    )
    return render_overlay(load_template("mine", sources), context).overlay


HOLES = table(page("templates.md"), "you write", "value of v", "you get")
FAULTS = table(page("templates.md"), "you write", "value of v", "the error")


@pytest.mark.parametrize(("line", "value", "result"), HOLES)
def test_what_a_hole_gives(line: str, value: str, result: str) -> None:
    assert rendered(line[1:-1], json.loads(value[1:-1])) == json.loads(result[1:-1])


def fault_of(line: str, value: str) -> Diagnostic:
    with pytest.raises((InjectionError, TemplateError)) as caught:
        rendered(line[1:-1], json.loads(value[1:-1]))
    return with_advice(caught.value.diagnostic)


@pytest.mark.parametrize(("line", "value"), [row[:2] for row in FAULTS])
def test_what_a_fault_is_about(line: str, value: str) -> None:
    assert str(fault_of(line, value).place).startswith("overlay.yaml.j2:1")


@needs_words
def test_what_faults_say(request: pytest.FixtureRequest) -> None:
    file, text = ROOT / "docs/templates.md", page("templates.md")
    for line, value, message in FAULTS:
        said = fault_of(line, value).advice
        if message not in said:
            text = text.replace(cell(message), cell(said))
    if request.config.getoption("--update"):
        file.write_text(text)
    else:
        assert text == page("templates.md"), "--update writes the table of errors anew"


def test_at_most_so_many_warnings() -> None:
    sources = {
        "template.yaml": "description: Warns.\n",
        "overlay.yaml.j2": '{% for n in range(30) %}{{ warn("x" ~ n) }}{% endfor %}\n',
    }
    context = Context(params={}, object={"spec": {}}, namespace=Namespace("shop"), workload=Workload("Pod", "p"))
    assert len(render_overlay(load_template("mine", sources), context).warnings) == 20


def test_the_whole_example_works() -> None:
    found = re.findall(r"^`mine/([^`]*)`:\n\n```\w+\n(.*?)^```$", page("templates.md"), re.MULTILINE | re.DOTALL)
    template = load_template("mine", dict(found))
    context = Context(
        params={"image": "x:1", "target": 'a" b', "port": 2020, "labels": {"a": "b: c"}},
        object={"spec": {}},
        namespace=Namespace("shop"),
        workload=Workload("Deployment", "web"),
        ports=[80],
        configmap="web-mine-1",
    )
    overlay = render_overlay(template, context).overlay
    assert [c["name"] for c in overlay["spec"]["containers"]] == ["shipper", "*"]
    files = render_files(template, context)
    assert yaml.safe_load(files["shipper.yaml"])["labels"] == {"a": "b: c"}
    assert files["extra.conf"] == 'set $target "a\\" b";\nlisten 2020;\n'


# ------------------------------------------------------------------------------------------------ serving.md


def test_metrics_are_those_of_the_code() -> None:
    metrics = Metrics()
    expected = {}
    for metric in metrics.collect():
        name = f"{metric.name}_total" if metric.type == "counter" else metric.name
        expected[name] = metric.type
    rows = table(page("serving.md"), "metric", "kind", "labels", "what it counts")
    assert {code(row[0])[0]: row[1] for row in rows} == expected
    labels = {metric.name: metric.labels for metric in vars(metrics).values() if hasattr(metric, "labels")}
    for name, _, written, _ in rows:
        assert tuple(code(written)) == labels[code(name)[0].removesuffix("_total")]


def test_metrics_named_anywhere_exist() -> None:
    exposed = Metrics().exposition().decode()
    names = set(re.findall(r"^# TYPE (\S+)", exposed, re.MULTILINE))
    for file in PAGES:
        for name in re.findall(r"\b(injector_[a-z_]+[a-z])\b", file.read_text()):
            assert name.removesuffix("_bucket") in names, f"{file.name}: there is no metric {name}"


def test_fields_of_a_log_line_are_those_of_the_code(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("wb") as stream:
        output = LogOutput(stream)
        recorder = Recorder("mutate", Metrics(), output)
        note = Note(Reason.INJECTED, Effect.INJECT, ("envoy",), "123")
        request = {"uid": "u", "operation": "CREATE", "resource": {"resource": "pods"}, "object": {}}
        body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
        review = read_review(json.dumps(body).encode())
        recorder.record(review, recorder.line(note, "shop", {"pod": "web"}), recorder.cells(note), 0.0, False)
        output.flush()
    written = [code(row[0])[0] for row in table(page("serving.md"), "field", "value")]
    assert sorted(written) == sorted(json.loads(log.read_text()))


def test_events_of_the_log_exist_in_the_code() -> None:
    paragraph = re.search(
        r"^The field `event` can also have these values: (.*?)\. Each", page("serving.md"), re.MULTILINE | re.DOTALL
    )
    assert paragraph
    source = "\n".join(file.read_text() for file in (ROOT / "injector").rglob("*.py"))
    for event in code(paragraph[1]):
        assert f'"{event}"' in source, event


def test_webhooks_go_by_the_default_names() -> None:
    text, s = page("installing-by-hand.md"), Settings()
    lists = {tuple(re.findall(r"'(\w+)'", found)) for found in re.findall(r"in (\[.*?\])", text)}
    assert lists == {s.yes_values, s.no_values}
    label = s.namespace_label
    selectors = {tuple(found.split(", ")) for found in re.findall(rf"key: {label.key}, .*?\[(.*?)\]", text)}
    both = (label.enabled, label.required)
    assert selectors == {(label.enabled,), (label.required,), both, (*both, label.disabled)}
    left_out = {tuple(found.split(", ")) for found in re.findall(r"kubernetes.io/metadata.name, .*?\[(.*?)\]", text)}
    assert left_out == {(*s.ignored_namespaces, "sidecar-injector")}
    assert set(re.findall(r"\?'([^']*inject)'", text)) == {s.inject_key}
    assert set(re.findall(r"path: (/\w+), port: 443", text)) <= {*s.server.review_paths}


# --------------------------------------------------------------------------------------------- every page


@pytest.mark.parametrize("file", PAGES, ids=lambda file: str(file.relative_to(ROOT)))
def test_links_lead_somewhere(file: Path) -> None:
    text = re.sub(r"^```.*?^```|`[^`\n]+`", "", file.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (file.parent / path).resolve() if path else file
        assert there.exists(), f"{file.name} links to {target}"
        if anchor:
            assert anchor in {slug(title) for title in re.findall(r"^#+ (.*)$", there.read_text(), re.MULTILINE)}


def slug(title: str) -> str:
    """A heading's anchor, as GitHub and others make it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


@pytest.mark.parametrize("file", PAGES, ids=lambda file: str(file.relative_to(ROOT)))
def test_commands_and_their_options_exist(file: Path) -> None:
    """`injector COMMAND --option` anywhere in a page."""
    assert certs.name in COMMANDS
    for line in re.findall(r"(?:^    |`)(?:\S+/)?injector ([a-z]+ [^`\n]*)", file.read_text(), re.MULTILINE):
        words = line.split()
        if words[0] not in COMMANDS:
            assert not any(word.startswith("--") for word in words), line
            continue
        command = cli.get_command(click.Context(cli), words[0])
        assert command is not None
        known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        used = [word.partition("=")[0] for word in " ".join(words).split(" | ")[0].split() if word.startswith("-")]
        assert not [name for name in used if name not in {*known, "--help", "-"}], line


@pytest.mark.parametrize(("column", "rows"), [("practice", 28), ("what Kubernetes tests", 16)])
def test_practices_have_tests_that_exist(column: str, rows: int) -> None:
    found = table(page("good-practices.md"), column, "here", "test")
    assert len(found) == rows
    for row in found:
        file, _, name = row[2].strip("`").partition("::")
        text = (ROOT / file).read_text()
        assert re.search(rf"^(?:async )?def {name}\(", text, re.MULTILINE), row[2]


def test_the_files_of_how_to_add_something_are_there() -> None:
    section = (ROOT / "CONTRIBUTING.md").read_text().partition("## How to add something")[2].partition("\n## ")[0]
    files = [word for word in code(section) if "/" in word and " " not in word]
    assert len(files) > 25
    assert not [file for file in files if "NAME" not in file and not (ROOT / file).exists()]
    assert all((ROOT / file.partition("NAME")[0]).parent.is_dir() for file in files)


def test_the_hooks_before_a_commit_are_make_lint() -> None:
    [local] = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    lint = re.search(r"(?m)^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text())
    assert lint and local["repo"] == "local" and {hook["language"] for hook in local["hooks"]} == {"system"}
    hooks = [hook["entry"].removeprefix(".venv/bin/").replace(" --force-exclude", "") for hook in local["hooks"]]
    assert hooks == [line.strip().removeprefix("$(BIN)/").removesuffix(" .") for line in lint[1].splitlines()]
