"""Templates with a cursor: `‸` in one of the texts is where somebody writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from injector.authoring.lsp.project import Project, read_project
from injector.authoring.scaffold import STARTER
from injector.diagnostics import Edit
from injector.loading.template_folders import find_gallery, gallery_path

CURSOR = "‸"
MANIFEST, OVERLAY, CASES = "template.yaml", "overlay.yaml.j2", "tests/cases.yaml"

#: A small template with one of everything.
FILES: Mapping[str, str] = {
    MANIFEST: """\
description: A tool.
parameters:
  app-port: {type: integer, format: port, default: 8080, description: Port of the app.}
  mode:
    type: string
    enum: [fast, safe]
    pods: may-set
    from: [pod]
    description: How it works.
  targets:
    type: array
    items: {type: object, properties: {host: {type: string}, tls: {type: boolean}}}
    default: []
    description: Where to.
  secret-*: {type: object, additionalProperties: {type: string}, description: Secrets.}
files:
  tool.json: {}
  other.json: {template: _other.j2}
redirects: {rules: tool-sidecar}
""",
    OVERLAY: """\
{% from "_macros.j2" import mount, wait as pause %}
{% import "_macros.j2" as lib %}
{% macro own(name) %}{{ name }}{% endmacro %}
spec:
  initContainers:
  - name: rules
    image: tool:1
  containers:
  - name: tool-sidecar
    image: "tool:{{ params.app_port }}"
    args: ["{{ params['mode'] }}", "{{ params.get('mode') }}", "{{ own(params.secret) }}", "{{ pause() }}"]
    volumeMounts: [{{ mount() }}, {{ lib.mount() }}]
  volumes:
  - name: tool-config
    configMap: {name: "{{ files.configmap }}"}
""",
    "_macros.j2": "{% macro mount() %}{name: tool-config}{% endmacro %}\n{% macro wait() %}1{% endmacro %}\n",
    "tool.json.j2": '{"port": {{ params.app_port }}}\n',
    "_other.j2": "{}\n",
    "README.md": """\
Set `app-port`, or `mode: fast`, or `tool.sidecar.injector/secret-<name>`:

    tool.sidecar.injector/app-port: "1"
    injector render . --param app-port=1
""",
    CASES: """\
cases:
- name: one
  params: {app-port: 1, mode: fast, secret-a: b}
  settings: {parameters: {tool: {app-port: 2}}}
  pod:
    metadata:
      annotations: {tool.sidecar.injector/app-port: "3", "tool.sidecar.injector/secret-b": c}
    spec: {containers: []}
  expect: {decision: failed, reason: bad-parameter, message: app-port, files: {tool.json: {port: 1}}}
""",
}


def project(**changed: str) -> Project:
    """The small template; `changed` are other texts, by the names of `FILES` less what is no letter."""
    return Project(Path("/templates/tool"), dict(FILES) | changed)


def marked(file: str, text: str) -> tuple[Project, str, int]:
    """The small template with a text, where the cursor is in it: what every feature is called with."""
    assert text.count(CURSOR) == 1, text
    return Project(Path("/templates/tool"), {**FILES, file: text.replace(CURSOR, "")}), file, text.index(CURSOR)


def within(file: str, before: str, after: str) -> tuple[Project, str, int]:
    """The small template with the cursor where `before` and `after` meet in one of its files."""
    assert FILES[file].count(before + after) == 1, before + after
    return project(), file, FILES[file].index(before + after) + len(before)


def real_projects() -> dict[str, Project]:
    """The templates of the gallery, and the starter."""
    folders = {**find_gallery(gallery_path()), "starter": STARTER}
    return {name: read_project(folder.resolve(), {}) for name, folder in folders.items()}


def edited(template: Project, edits: Iterable[Edit]) -> Project:
    """The template with edits applied."""
    files = dict(template.files)
    for edit in sorted(edits, key=lambda edit: -edit.start):
        text = files[edit.file]
        files[edit.file] = text[: edit.start] + edit.text + text[edit.end :]
    return Project(template.folder, files)
