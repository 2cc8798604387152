"""The workbench's page in a real Chromium: what its users do with it, and what must never happen on it."""

from __future__ import annotations

import contextlib
import json
import random
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import pytest

from tests import command
from tests.authoring.pages import Block, blocks
from tests.authoring.test_tutorial import TUTORIAL
from tests.authoring.workbench.screen import Screen, chromium, violations, workbench
from tests.unit.cli.test_report_html import listed, rows

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.programs  # those of soak as well
_OVERLAY = "overlay.yaml.j2"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    assert command.run("new", "greeter", "--dir", tmp_path).code == 0
    return tmp_path / "greeter"


@pytest.fixture
def screen(browser: Browser, folder: Path) -> Iterator[Screen]:
    with workbench(folder) as address:
        shown = Screen(browser, address)
        yield shown
        shown.close()


def test_the_pod_follows_each_change(screen: Screen) -> None:
    assert "name: greeter-config" in screen.view("Difference")
    screen.replace(_OVERLAY, "periodSeconds: 5", "periodSeconds: 7", by_keys=True)
    screen.until(lambda: "periodSeconds: 7" in screen.view("Difference"))


class _Tutorial(Screen):
    """A page on which the changes of the tutorial are typed; `file` is the one of the last change."""

    file = ""

    def change(self, block: Block) -> None:
        """Make the change of a block of the tutorial."""
        lines = [(line[:1], line[1:]) for line in block.text.splitlines()]
        old, new = ("\n".join(text for mark, text in lines if mark in marks) for marks in ("- ", "+ "))
        self.file = block.file.removeprefix("greeter/") or self.file
        self.replace(self.file, old, new)


def test_the_tutorials_steps_on_the_page_alone(browser: Browser, folder: Path) -> None:
    texts = [block for block in blocks(TUTORIAL) if block.language != "console"]
    changes = iter(block for block in texts if block.language == "diff")
    files = {block.file: block.text for block in texts if block.language == "yaml"}
    with workbench(folder) as address:
        screen = _Tutorial(browser, address)
        # 3. Look
        assert 'return 200 "hello";' in screen.view("Config files")
        screen.set_parameter("greeting", "good morning")
        screen.until(lambda: 'return 200 "good morning";' in screen.view("Config files"))
        screen.set_parameter("greeting", "")
        # 4. Change it
        screen.change(next(changes))
        screen.until(lambda: "value: http://127.0.0.1:18090/" in screen.view("Difference"))
        # 5. Break it
        screen.change(next(changes))
        screen.until(lambda: screen.codes() == ["name"])
        assert screen.problems[0].startswith("overlay.yaml.j2:42:62")
        assert screen.page.locator(".cm-lintRange-error").count() == 1
        screen.picture("an-error")
        assert violations(screen.page) == []
        next(changes)
        screen.page.locator("#problems .fix", has_text="write port").click()
        screen.until(lambda: "params.port }}/" in screen.text)
        screen.until(lambda: "name" not in (screen.codes() or ["name"]))
        screen.set_parameter("port", "80")
        screen.until(lambda: "bad-parameter" in screen.verdict)
        screen.set_parameter("port", "")
        # 6. Lint it
        screen.change(next(changes))
        linted = ["parameter-unbounded", "parameter-undescribed", "parameter-unused", "readme-parameters"]
        screen.until(lambda: sorted(screen.codes() or ()) == sorted(linted))
        screen.change(next(changes))
        screen.until(lambda: screen.codes() == ["readme-parameters"])
        screen.page.locator("#problems .fix", has_text="write it anew").click()
        screen.until(lambda: screen.codes() == [])
        # 7. Test it
        screen.new_file("tests/url.yaml", files["greeter/tests/url.yaml"])
        screen.run_cases()
        screen.until(lambda: "7 of 8 cases pass" in screen.view("Cases"))
        screen.change(next(changes))
        screen.run_cases()
        screen.until(lambda: "8 of 8 cases pass" in screen.view("Cases"))
        # 8. Use it on a manifest
        screen.choose_manifest(files["web.yaml"])
        screen.until(lambda: "hashicorp/http-echo" in screen.view("Difference"))
        assert "value: http://127.0.0.1:18090/" in screen.view("Difference")
        assert 'return 200 "good evening";' in screen.view("Config files")
        screen.save()
        screen.close()
    assert command.run("lint", "--strict", folder).code == 0
    assert command.run("test", folder).code == 0


def test_completion_hover_and_rename(screen: Screen, folder: Path) -> None:
    screen.select(_OVERLAY, "{{ params.image }}")
    screen.page.keyboard.type("{{ params.gre")
    screen.page.locator(".cm-tooltip-autocomplete li", has_text="greeting").wait_for()
    screen.page.wait_for_timeout(300)  # until then a list that has just opened takes no keys
    screen.page.keyboard.press("Enter")
    screen.until(lambda: "{{ params.greeting" in screen.text)
    for _ in range(3):
        screen.page.keyboard.press("Control+z")
    screen.until(lambda: "image: {{ params.image }}" in screen.text)
    screen.select(_OVERLAY, "params.image")
    screen.page.keyboard.press("F2")
    screen.page.locator(".cm-panel input").fill("picture")
    screen.page.keyboard.press("Enter")
    screen.until(lambda: "{{ params.picture }}" in screen.text)
    screen.open("template.yaml")
    screen.until(lambda: "  picture:" in screen.text)
    screen.save()
    assert "greeter.sidecar.injector/image" not in (folder / "tests" / "first.yaml").read_text()
    assert command.run("test", folder).code == 0
    screen.open(_OVERLAY)
    screen.page.locator("#files > :not([hidden]) .cm-line", has_text="params.picture").get_by_text("picture").hover()
    screen.page.locator(".cm-tooltip-hover, .cm-lsp-hover-tooltip", has_text="nginxinc").first.wait_for()


#: What is typed into a new file, and what it is then: Enter and the closing of a block find the column.
_YAML = ("cache.yaml.j2", """spec:
containers:
- name: cache
image: {{ params.image }}
ports:
- containerPort: {{ params.port }}
name: cache
\b\benv:
A: b
\b{% if params.port %}
args: [{{ params.port }}]
{% endif %}
command: [a]
""", """spec:
  containers:
    - name: cache
      image: {{ params.image }}
      ports:
        - containerPort: {{ params.port }}
          name: cache
      env:
        A: b
      {% if params.port %}
      args: [{{ params.port }}]
      {% endif %}
      command: [a]
      """)  # fmt: skip
_CONFIG = ("cache.conf.j2", """<source>
  listen {{ params.port }}
{% if params.port > 1024 %}
user a
{% endif %}
\b</source>""", """<source>
  listen {{ params.port }}
  {% if params.port > 1024 %}
  user a
  {% endif %}
</source>""")  # fmt: skip


@pytest.mark.parametrize(("path", "keys", "text"), [_YAML, _CONFIG], ids=["YAML", "text"])
def test_lines_begin_where_they_belong(screen: Screen, path: str, keys: str, text: str) -> None:
    screen.new_file(path, "")
    screen.type(keys)
    assert screen.text == text


def test_enter_ends_a_line_whose_word_is_whole(screen: Screen) -> None:
    """In the first place of a list the word may be what is typed already, and then Enter is no choice of it."""
    screen.new_file("tests/whole.yaml", "cases:\n- name: whole\n  expect:\n    decision: ")
    screen.type("injected")
    screen.page.locator(".cm-tooltip-autocomplete li", has_text="injected").wait_for()
    screen.page.wait_for_timeout(300)  # until then a list that has just opened takes no keys
    screen.page.keyboard.press("Enter")
    screen.type("war")
    screen.page.locator(".cm-tooltip-autocomplete li", has_text="warnings").wait_for()
    screen.page.wait_for_timeout(300)
    screen.page.keyboard.press("Enter")
    screen.until(lambda: screen.text.endswith("decision: injected\n    warnings:"))


def test_the_usual_keys_come_first(screen: Screen) -> None:
    screen.select("template.yaml", "    format: image")
    screen.page.keyboard.insert_text("    ")
    screen.page.keyboard.press("Control+Space")
    offers = screen.page.locator(".cm-tooltip-autocomplete .cm-completionLabel")
    screen.until(offers.count)
    names = offers.all_inner_texts()
    assert names.index("format") < names.index("enum") < names.index("allOf")


def test_what_a_rule_is_about_shows(screen: Screen) -> None:
    screen.replace(_OVERLAY, "allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true")
    screen.until(lambda: "privilege-escalation" in (screen.codes() or ()))
    screen.page.locator("#problems .rule", has_text="privilege-escalation").first.press("Enter")
    assert "setuid bit" in screen.page.locator("#ask pre").inner_text()
    assert violations(screen.page) == []
    screen.page.keyboard.press("Escape")
    assert not screen.page.locator("#ask").is_visible()


def test_a_reload_keeps_what_is_chosen(browser: Browser, folder: Path) -> None:
    manifest = folder / "template.yaml"
    secret = "  token: {type: string, format: dns-label, description: A secret., secret: true}\nfiles:"
    manifest.write_text(manifest.read_text().replace("files:", secret))
    with workbench(folder) as address:
        screen = Screen(browser, address)
        screen.choose_manifest(_pod_with("image", "example.com/shop:7", "reloaded"))
        screen.page.locator("#version").select_option("1.30")
        screen.set_parameter("greeting", "good night")
        screen.set_parameter("token", "hidden")
        screen.until(lambda: "good night" in screen.view("Config files"))
        assert "hidden" not in screen.page.evaluate("JSON.stringify(sessionStorage)")
        screen.answer = ""
        screen.page.reload()
        screen.until(lambda: "example.com/shop:7" in screen.answer and "good night" in screen.answer)
        assert screen.page.locator("#version").input_value() == "1.30"
        assert screen.page.locator("#manifest").is_visible()
        screen.close()


def test_a_page_whose_server_has_ended_waits_for_it(browser: Browser, folder: Path) -> None:
    with workbench(folder) as address:
        screen = Screen(browser, address)
    screen.until(lambda: "has ended" in screen.page.locator("#notice").inner_text())
    attempts = len(screen.requests)
    screen.page.wait_for_timeout(6000)
    # a look at the folder and a socket, each once a second
    assert len(screen.requests) - attempts < 16
    screen.context.close()


def test_the_licences_are_a_link(screen: Screen) -> None:
    screen.page.locator("#keys summary").click()
    with screen.context.expect_page() as opened:
        screen.page.locator("#keys a").click()
    assert "@codemirror/view" in opened.value.locator("body").inner_text()


def test_keys_alone_are_enough(screen: Screen, folder: Path) -> None:
    """From the top of the page: open a file, change it, look at the result, run the cases, save."""
    keys = screen.page.keyboard
    screen.tab_to("[role=tab][aria-selected=true]")
    keys.press("ArrowRight")
    assert screen.page.locator("#file-tabs [aria-selected=true]").inner_text() == "template.yaml"
    screen.tab_to("#files .cm-content")
    keys.press("Control+End")
    keys.type("# mine")
    screen.until(lambda: screen.text.endswith("# mine"))
    screen.tab_to("#pod")
    keys.press("ArrowDown")
    screen.until(lambda: "appProtocol" not in screen.verdict)
    screen.tab_to("#result-tabs [role=tab][aria-selected=true]")
    keys.press("End")
    screen.tab_to("#run-cases")
    keys.press("Enter")
    screen.until(lambda: "6 of 6 cases pass" in screen.view("Cases"))
    keys.press("Control+s")
    screen.until(lambda: (folder / "template.yaml").read_text().endswith("# mine"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_a_report(
    browser: Browser, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes], scheme: str
) -> None:
    manifests = ("docs/web.yaml", "tests/corpus/manifests/kinds")
    texts = [command.run("explain", manifest, "--output", "html").out for manifest in manifests]
    listings = ([], [*rows("shop"), *rows("team")])
    texts += [listed(capsysbinary, "html", listing, ["a note"], ()) for listing in listings]
    for number, text in enumerate(texts):
        assert "<h1" in text
        report = tmp_path / f"{number}.html"
        report.write_text(text)
        context = browser.new_context(color_scheme=scheme)
        page = context.new_page()
        page.goto(report.as_uri())
        assert violations(page) == []
        context.close()


_HOSTILE = (
    "<script>window.stolen=1</script>", "<img src=x onerror=window.stolen=1>", "\"><svg onload=window.stolen=1>",
    "</textarea><script>window.stolen=1</script>", "javascript:window.stolen=1", "{{ 7*7 }}", "${window.stolen=1}",
    "<iframe srcdoc='<script>parent.stolen=1</script>'>", "[a](javascript:window.stolen=1)",
    "![x](http://127.0.0.1:9/x.png)", "<a href='http://127.0.0.1:9/'>x</a>", "<style>*{display:none}</style>",
    "\u202egnp.exe", "&lt;script&gt;", "`</code><script>window.stolen=1</script>`", "'; window.stolen=1; '",
    "<base href='http://127.0.0.1:9/'>", "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'>",
    "<form action=http://127.0.0.1:9/><input autofocus onfocus=window.stolen=1>",
    "<details open ontoggle=window.stolen=1>",
)  # fmt: skip
#: Where in a pod somebody else's text may stand; and in a template.
_PLACES = ("annotation", "label", "env", "argument", "image", "container", "volume", "parameter", "greeting", "comment")


def test_hostile_names_and_values_are_text(screen: Screen) -> None:
    shown = 0
    for place in _PLACES:
        for number, value in enumerate(_HOSTILE):
            text, mark = json.dumps(f"{value} {number}"), f"{place}-{number}-of-200"
            if place == "greeting":
                screen.set_parameter("greeting", f"{value} {number}")
            if place == "comment":
                screen.replace("template.yaml", "description: What it answers.", f"description: {text}  # {value}")
            screen.choose_manifest(_pod_with(place, text, mark))
            screen.until(lambda mark=mark: mark in screen.answer)
            for name in ("Difference", "Config files", "Decision", "Warnings"):
                screen.view(name)
            shown += 1
            if place == "comment":
                screen.page.locator("#files > :not([hidden]) .cm-content").focus()
                screen.page.keyboard.press("Control+z")
                screen.until(lambda: "description: What it answers." in screen.text)
        assert screen.page.evaluate("window.stolen") is None
        assert (
            screen.page.evaluate(
                "document.querySelectorAll('iframe, script:not([src]), img, form[action], base').length"
            )
            == 0
        )
    assert shown == 200


def _pod_with(place: str, text: str, mark: str) -> str:
    """A manifest of a pod with a text somewhere, and a mark by which its answer is known."""
    texts = dict.fromkeys(_PLACES, "x") | {place: text}
    return f"""
apiVersion: v1
kind: Pod
metadata:
  name: shop
  labels: {{app: {texts["label"]}}}
  annotations: {{mark: {mark}, note: {texts["annotation"]}, greeter.sidecar.injector/greeting: {texts["parameter"]}}}
spec:
  containers:
  - name: {texts["container"]}
    image: {texts["image"]}
    args: [{texts["argument"]}]
    env: [{{name: NOTE, value: {texts["env"]}}}]
  volumes: [{{name: {texts["volume"]}, emptyDir: {{}}}}]
"""


def test_what_is_only_added_is_not_shown_as_removed(screen: Screen) -> None:
    for sample in screen.page.locator("#pod optgroup[label=Samples] option").all_inner_texts():
        screen.page.locator("#pod").select_option(label=sample)
        screen.page.wait_for_timeout(500)
        screen.view("Difference")
        removed = screen.page.locator(".cm-deletedChunk, .cm-deletedText").all_inner_texts()
        assert not "".join(removed).strip(), sample


def test_the_last_pod_stays_while_a_text_is_half_written(screen: Screen) -> None:
    good = screen.view("Difference")
    screen.replace(_OVERLAY, "image: {{ params.image }}", 'image: "{{ params.ima', by_keys=True)
    screen.until(screen.codes)
    screen.until(lambda: screen.page.locator("#verdict.stale").count())
    assert screen.view("Difference") == good


def test_files_are_deleted_here_and_on_disk(screen: Screen, folder: Path) -> None:
    screen.open("README.md")
    screen.page.locator("#delete-file").click()
    screen.page.locator("#ask button", has_text="Delete it").click()
    screen.until(lambda: "README.md" not in screen.tabs)
    assert not (folder / "README.md").exists()
    (folder / "tests" / "first.yaml").unlink()
    screen.until(lambda: "tests/first.yaml" not in screen.tabs)
    screen.open("nginx.conf.j2")
    screen.page.locator("#files > :not([hidden]) .cm-content").focus()
    screen.page.keyboard.type("# mine")
    mine = screen.text
    (folder / "nginx.conf.j2").unlink()
    screen.until(lambda: "nginx.conf.j2" in screen.page.locator("#notice").inner_text())
    assert screen.text == mine
    screen.page.locator("#save").click()
    screen.page.locator("#ask button", has_text="Write it again").click()
    screen.until(lambda: (folder / "nginx.conf.j2").exists() and (folder / "nginx.conf.j2").read_text() == mine)


@pytest.mark.parametrize("ending", ["\r\n", "\n"])
def test_bytes_outside_of_a_change_stay(browser: Browser, folder: Path, ending: str) -> None:
    overlay = folder / _OVERLAY
    text = "\ufeff" + overlay.read_text().rstrip("\n").replace("\n", ending) + "  # ü\u2028"
    overlay.write_bytes(text.encode())
    with workbench(folder) as address:
        screen = Screen(browser, address)
        screen.replace(_OVERLAY, "periodSeconds: 5", "periodSeconds: 7", by_keys=True)
        screen.save()
        screen.close()
    assert overlay.read_bytes() == text.replace("periodSeconds: 5", "periodSeconds: 7").encode()


def test_a_file_that_cannot_be_saved_does_not_hold_up_the_others(screen: Screen, folder: Path) -> None:
    (folder / "logo.png").write_bytes(b"\xff\xfe")
    screen.new_file("logo.png", "text")
    screen.replace("nginx.conf.j2", "worker_processes", "# mine\nworker_processes")
    screen.page.locator("#save").click()
    screen.until(lambda: "# mine" in (folder / "nginx.conf.j2").read_text())
    screen.until(lambda: "logo.png" in screen.page.locator("#notice").inner_text())
    screen.page.wait_for_timeout(2500)
    assert "logo.png" in screen.page.locator("#notice").inner_text(), "it stays"
    assert (folder / "logo.png").read_bytes() == b"\xff\xfe"
    screen.errors = [error for error in screen.errors if "412" not in error]


def test_a_rule_is_switched_off_with_a_reason(screen: Screen) -> None:
    screen.replace(_OVERLAY, "allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true")
    screen.until(lambda: "privilege-escalation" in (screen.codes() or ()))
    screen.page.locator("#problems .fix", has_text="Switch privilege-escalation off").first.click()
    screen.page.locator("#reason").fill("it changes its user")
    screen.page.locator("#ask button", has_text="Switch it off").click()
    screen.until(lambda: "disable=privilege-escalation it changes its user" in screen.text)
    screen.until(lambda: screen.codes() is not None and "privilege-escalation" not in screen.codes())


def test_a_case_is_shown_with_what_it_says(screen: Screen) -> None:
    screen.page.locator("#pod").select_option(label="a Job is told that it will not end there")
    assert screen.page.locator("#version").input_value() == "1.30"
    screen.until(lambda: "will not complete" in screen.view("Warnings"))
    screen.page.locator("#pod").select_option(label="sizes and image are the pod's to choose")
    screen.until(lambda: "registry.example/nginx:1" in screen.view("Difference"))


def test_a_file_that_changes_on_disk_shows(screen: Screen, folder: Path) -> None:
    overlay = folder / _OVERLAY
    before = overlay.read_text()
    overlay.write_text(before.replace("greeter-temp", "greeter-scratch"))
    screen.open(_OVERLAY)
    screen.until(lambda: screen.text == overlay.read_text())
    screen.until(lambda: "greeter-scratch" in screen.view("Difference"))


@pytest.mark.parametrize("answer", ["Take the text", "Keep mine", "Cancel"])
def test_a_conflict_is_asked_about_and_loses_nothing(screen: Screen, folder: Path, answer: str) -> None:
    overlay = folder / _OVERLAY
    theirs = overlay.read_text() + "# theirs\n"
    screen.replace(_OVERLAY, "greeter-temp", "greeter-mine")
    mine = screen.text
    overlay.write_text(theirs)
    screen.until(lambda: _OVERLAY in screen.page.locator("#notice").inner_text())
    assert screen.text == mine
    screen.page.locator("#save").click()
    screen.page.locator("#ask button", has_text=answer).click()
    if answer == "Take the text":
        screen.until(lambda: screen.text == theirs)
        screen.page.locator("#files > :not([hidden]) .cm-content").focus()
        screen.page.keyboard.press("Control+z")
        screen.until(lambda: screen.text == mine)
        assert overlay.read_text() == theirs
    elif answer == "Keep mine":
        screen.until(lambda: overlay.read_text() == mine)
    else:
        assert (screen.text, overlay.read_text()) == (mine, theirs)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser: Browser, folder: Path, scheme: str) -> None:
    with workbench(folder) as address:
        screen = Screen(browser, address, color_scheme=scheme)
        for name in ("Difference", "Config files", "Decision", "Warnings", "Cases"):
            screen.view(name)
            screen.page.locator("#choices summary").click()
            screen.picture(f"{name.lower().replace(' ', '-')}-{scheme}")
            assert violations(screen.page) == []
        screen.page.locator("#keys summary").click()
        assert violations(screen.page) == []
        screen.page.locator("#keys summary").click()
        screen.page.locator("#new-file").click()
        assert violations(screen.page) == []
        screen.page.keyboard.press("Escape")
        screen.close()


def memory(pids: list[int]) -> int:
    """The bytes in memory of processes and of all that they have started."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    left, total = list(pids), 0
    while left:
        pid = left.pop()
        left += children.get(pid, ())
        with contextlib.suppress(OSError):
            total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
    return total


@pytest.mark.soak(minutes=60)
def test_an_hour_of_edits_leaves_memory_flat(browser: Browser, folder: Path) -> None:
    chance = random.Random(37)
    views = ("Difference", "Config files", "Decision", "Warnings", "Cases")
    page_bytes, process_bytes = [], []
    with workbench(folder) as address:
        screen = Screen(browser, address)
        session = screen.context.new_cdp_session(screen.page)
        [serving] = _processes("injector", "workbench", str(folder))
        end = time.monotonic() + 3600
        number = 0
        while time.monotonic() < end:
            number += 1
            path = chance.choice((_OVERLAY, "template.yaml", "nginx.conf.j2", "tests/first.yaml"))
            screen.open(path)
            screen.page.locator("#files > :not([hidden]) .cm-content").focus()
            screen.page.keyboard.press(chance.choice(("Control+Home", "Control+End", "PageDown")))
            screen.page.keyboard.type(chance.choice(("# x", "{{ params.", "a: b", "\n", "{% if", "}}")))
            screen.page.wait_for_timeout(chance.choice((50, 300, 900)))
            screen.page.keyboard.press("Escape")  # completions may lie above the views
            screen.view(chance.choice(views))
            for _ in range(8):
                screen.page.keyboard.press("Control+z")
            if number % 20 == 0:
                screen.open(path)
                screen.page.locator("#files > :not([hidden]) .cm-content").focus()
                for _ in range(200):
                    screen.page.keyboard.press("Control+z")
                session.send("HeapProfiler.collectGarbage")
                page_bytes.append(session.send("Runtime.getHeapUsage")["usedSize"])
                process_bytes.append(memory([serving]))
        print(number, "edits; MiB", [round(n / 2**20) for n in page_bytes], [round(n / 2**20) for n in process_bytes])
        third = len(page_bytes) // 3
        assert third > 2
        for used in (page_bytes, process_bytes):
            assert median(used[-third:]) - median(used[1 : third + 1]) < 16 * 2**20
        screen.close()


def _processes(*words: str) -> Iterator[int]:
    """The processes with these arguments."""
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if set(words) <= set(file.read_text().split("\0")):
                yield int(file.parent.name)
