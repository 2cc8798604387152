"""What is shown about the thing at the cursor."""

from __future__ import annotations

import pytest

from injector.authoring.lsp.assist import hover
from tests.authoring.lsp.marked import CASES, MANIFEST, OVERLAY, marked, within

#: Where, what the Markdown holds (names, values, pages, and the words of the template itself), and what it is about.
SHOWN = [
    (within(OVERLAY, "params.app", "_port"), ("app-port", "8080", "Port of the app."), "app_port"),
    (within(OVERLAY, "params['mo", "de']"), ("`fast`", "How it works.", "pod may set it"), "mode"),
    (within(OVERLAY, "params.sec", "ret"), ("secret",), "secret"),
    (within(MANIFEST, "app-", "port: {"), ("8080", "Port of the app."), "app-port"),
    (within(MANIFEST, "redi", "rects"), ("init containers",), "redirects"),
    (within(CASES, "params: {app", "-port: 1"), ("8080", "Port of the app."), "app-port"),
    (within(CASES, "tool.sidecar.injector/app", '-port: "3"'), ("Port of the app.",), "app-port"),
    (within(CASES, "tool.sidecar.injector/sec", "ret-b"), ("Secrets.",), "secret"),
    (within(CASES, "deci", "sion: failed"), ("injected", "refused"), "decision"),
    (within("README.md", "tool.sidecar.injector/app", "-port"), ("8080",), "app-port"),
    (marked(OVERLAY, "spec:\n  contai‸ners: []"), ("list of", "Container"), "containers"),
    (marked(OVERLAY, "spec:\n  containers:\n  - imagePull‸Policy: x"), ("IfNotPresent",), "imagePullPolicy"),
    (marked(OVERLAY, "spec:\n  containers:\n  - imagePullPolicy: Al‸ways"), ("IfNotPresent",), "Always"),
    (marked(OVERLAY, "{{ pod.spec.node‸Name }}"), ("NodeName",), "nodeName"),
    (marked(OVERLAY, "{% for c in containers %}{{ c.ima‸ge }}{% endfor %}"), ("image",), "image"),
    (marked(OVERLAY, "{% for t in params.targets %}{{ t.tl‸s }}{% endfor %}"), ("boolean",), "tls"),
    (marked(OVERLAY, "{{ work‸load.kind }}"), ("`kind`", "`name`"), "workload"),
    (marked(OVERLAY, "{{ na‸tive }}"), ("native",), "native"),
    (marked(OVERLAY, '{{ wa‸rn("x") }}'), ("warn(what)",), "warn"),
    (marked(OVERLAY, '{{ de‸ny("x") }}'), ("deny(why, code)", "denied"), "deny"),
    (marked(OVERLAY, "{{ params.mode | def‸ault(1) }}"), ("default",), "default"),
    (marked("a.sh.j2", "{{ params.mode | shell_‸quote }}"), ("sh",), "shell_quote"),
    (marked(OVERLAY, "{% macro m(a) %}{% endmacro %}{{ ‸m(1) }}"), ("m(a)", OVERLAY), "m"),
    (marked(OVERLAY, '{% from "_macros.j2" import mount %}{{ mo‸unt() }}'), ("_macros.j2",), "mount"),
    (marked(OVERLAY, "# lint: disable=a,run-as-‸root x"), ("run-as-root", "docs/lint/run-as-root.md"), "run-as-root"),
    (marked(MANIFEST, "hostNetwork: ‸skip"), ("skip", "inject"), "skip"),
    (marked(MANIFEST, "parameters:\n  a:\n    po‸ds: may-set"), ("may-set",), "pods"),
    (marked("settings.yaml", "podDe‸fault: skip"), ("`named`",), "podDefault"),
]  # fmt: skip


@pytest.mark.parametrize(("place", "words", "about"), SHOWN, ids=lambda value: str(value)[-30:])
def test_shows(place: tuple, words: tuple[str, ...], about: str) -> None:  # type: ignore[type-arg]
    template, file, offset = place
    shown = hover(template, file, offset)
    assert shown is not None
    assert template.files[file][shown.start : shown.end] == about
    assert [word for word in words if word not in shown.markdown] == []


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (OVERLAY, "{{ nothing.he‸re }}"),
        (OVERLAY, "spec:\n  unkn‸own: 1"),
        (OVERLAY, "# a com‸ment"),
        (OVERLAY, "{# params.app_p‸ort #}"),
        (OVERLAY, "a: {{ 1 ‸}}"),
        (OVERLAY, "# lint: disable=no-such-ru‸le why"),
        ("README.md", "wor‸ds"),
        ("tool.json.j2", '{"po‸rt": 1}'),
    ],
)
def test_shows_nothing(file: str, text: str) -> None:
    assert hover(*marked(file, text)) is None


def test_what_a_hole_is_worth() -> None:
    template, file, offset = within(OVERLAY, "params.app", "_port")
    hole = template.files[file].rindex("{{", 0, offset)
    end = template.files[file].index("}}", offset) + 2
    values = [("other.j2", hole, "1"), (OVERLAY, hole - 1, "2"), (OVERLAY, end, "3"), (OVERLAY, hole, "80`80")]
    shown = hover(template, file, offset, values)
    assert shown is not None and "``80`80``" in shown.markdown and "Port of the app." in shown.markdown
    assert hover(template, file, offset, values[:3]) == hover(template, file, offset)
    template, file, offset = marked(OVERLAY, "a: {{ 1 ‸+ 1 }}")
    shown = hover(template, file, offset, [(OVERLAY, 3, "2")])
    assert shown is not None and template.files[file][shown.start : shown.end] == "{{ 1 + 1 }}"
    assert hover(template, file, offset, [(OVERLAY, 3, "")]) is None
    tag = marked(OVERLAY, "{% if params.app‸_port %}")
    assert hover(*tag, [(OVERLAY, 0, "2")]) == hover(*tag)


def test_a_declaration_that_is_half_written() -> None:
    template, file, offset = marked(MANIFEST, "parameters:\n  a‸bc: {type: \n")
    assert hover(template, file, offset) is None or "abc" in str(hover(template, file, offset))
    template, file, offset = marked(MANIFEST, "parameters:\n  abc: {type: \n  de‸f: {type: integer, default: 7}\n")
    shown = hover(template, file, offset)
    assert shown is not None and "`7`" in shown.markdown
