"""`"*"` with `only:` and `except:`: a patch for some of the app's containers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from injector.errors import InjectionError
from injector.inject import guard, inject, uninject
from injector.pods.context import Cluster, Namespace
from injector.reasons import Reason
from injector.settings import Settings
from injector.templates.render import render_overlay
from injector.templates.snapshot import Snapshot, build_snapshot
from tests.authoring.commands import injector
from tests.unit.support import ENABLED, REQUIRED, named, web
from tests.unit.templates.build import context, template

MANIFEST = """
parameters:
  leave-out: {type: array, items: {type: string, format: dns-label}, default: [], weakens: true}
"""
PATCH = "env: [{name: X, value: ours}]"
OTHER = {"name": "metrics", "image": "m:1"}


def side(selecting: str, list_: str = "containers") -> Snapshot:
    overlay = f'spec:\n  containers: [{{name: side, image: "s:1"}}]\n  {list_}: [{{name: "*"{selecting}, {PATCH}}}]\n'
    if list_ == "containers":
        overlay = f'spec: {{containers: [{{name: side, image: "s:1"}}, {{name: "*"{selecting}, {PATCH}}}]}}'
    sources = {"side": {"template.yaml": MANIFEST, "overlay.yaml.j2": overlay}}
    return build_snapshot(Settings(templates=("side",)), sources, Cluster())


def patched(pod: dict[str, Any]) -> set[str]:
    lists = (pod["spec"].get(field) or [] for field in ("containers", "initContainers"))
    return {one["name"] for items in lists for one in items if one.get("env")}


@pytest.mark.parametrize("namespace", [ENABLED, REQUIRED])
@pytest.mark.parametrize(
    ("selecting", "names"),
    [
        ("", {"app", "metrics"}),
        (", only: [app]", {"app"}),
        (", only: [app, gone]", {"app"}),
        (", only: []", set()),
        (", except: [app]", {"metrics"}),
        (", except: []", {"app", "metrics"}),
        (", only: [app, metrics], except: [metrics]", {"app"}),
        (", only: [side]", set()),
        (", except: {{ params.leave_out }}", {"app", "metrics"}),
    ],
)
def test_those_that_are_named(namespace: Namespace, selecting: str, names: set[str]) -> None:
    pod = web(None, OTHER)
    done = inject(pod, namespace, side(selecting))
    assert (done.reason, done.warning_lines, patched(done.object)) == (Reason.INJECTED, (), names)
    assert not {"only", "except"} & named(done.object, "app").keys()
    assert guard(done.object, REQUIRED, side(selecting)).reason is Reason.ALREADY_INJECTED
    assert uninject(done.object, side(selecting).settings) == pod


def test_an_annotation_leaves_a_container_out() -> None:
    pod = web({"side.sidecar.injector/leave-out": "metrics"}, OTHER)
    snapshot = side(", except: {{ params.leave_out }}")
    assert patched(inject(pod, ENABLED, snapshot).object) == {"app"}
    done = inject(pod, REQUIRED, snapshot)  # it would weaken what the namespace requires
    assert patched(done.object) == {"app", "metrics"} and "leave-out is ignored" in done.warning_lines[0]


def test_a_required_namespace_insists_on_those_alone() -> None:
    own = {**OTHER, "env": [{"name": "X", "value": "mine"}]}
    assert inject(web(None, own), REQUIRED, side(", except: [metrics]")).reason is Reason.INJECTED
    assert inject(web(None, own), REQUIRED, side("")).reason is Reason.NOT_OVERRIDABLE


def test_init_containers() -> None:
    pod = web(None, initContainers=[{"name": "first", "image": "f:1"}, {"name": "second", "image": "s:1"}])
    assert patched(inject(pod, ENABLED, side(", only: [second]", "initContainers")).object) == {"second"}


@pytest.mark.parametrize(
    ("container", "message"),
    [
        ("{name: '*', only: web}", r"spec\.containers\[\d\]\.only: it is a string; it has to be a list"),
        ("{name: '*', except: [1]}", "it is a number; it has to be the name of a container"),
        ("{name: side, only: [web]}", 'it is for the container "\\*", which patches those of the app; take it out'),
    ],
)
def test_what_names_nothing(container: str, message: str) -> None:
    with pytest.raises(InjectionError, match=message):
        render_overlay(template(f"spec: {{containers: [{container}]}}"), context())


@pytest.mark.parametrize("condition", ["", ' if c.name != "web"'])
def test_a_loop_is_told_what_to_write(tmp_path: Path, condition: str) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "template.yaml").write_text("description: x\n")
    loop = (
        "{% for c in containers"
        + condition
        + ' %}\n  - name: {{ c.name }}\n    env: [{name: X, value: "1"}]\n{% endfor %}\n'
    )
    (folder / "overlay.yaml.j2").write_text(f"spec:\n  containers:\n  - name: mine-side\n    image: s:1\n{loop}")
    said = injector("lint", folder).out
    assert "overlay.yaml.j2:6:" in said and 'write one container named "*", with `only:` or `except:`' in said
    if not condition:
        assert 'write one container named "*", with `only:`' in injector("render", folder).err
