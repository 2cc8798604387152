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
from injector.templates.snapshot import Snapshot, SnapshotError, build_snapshot
from tests.authoring.commands import injector
from tests.messages import Golden
from tests.unit.support import ENABLED, REQUIRED, named, web
from tests.unit.templates.build import context, template

MANIFEST = """
parameters:
  leave-out: {type: array, items: {type: string, format: dns-label}, default: []}
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


def test_an_annotation_leaves_a_container_out(golden: Golden) -> None:
    pod = web({"side.sidecar.injector/leave-out": "metrics"}, OTHER)
    snapshot = side(", except: {{ params.leave_out }}")
    assert patched(inject(pod, ENABLED, snapshot).object) == {"app"}
    done = inject(pod, REQUIRED, snapshot)  # it would weaken what the namespace requires
    assert patched(done.object) == {"app", "metrics"}
    golden(done.warning_lines[0])


def test_a_required_namespace_insists_on_those_alone() -> None:
    own = {**OTHER, "env": [{"name": "X", "value": "mine"}]}
    assert inject(web(None, own), REQUIRED, side(", except: [metrics]")).reason is Reason.INJECTED
    assert inject(web(None, own), REQUIRED, side("")).reason is Reason.NOT_OVERRIDABLE


def test_init_containers() -> None:
    pod = web(None, initContainers=[{"name": "first", "image": "f:1"}, {"name": "second", "image": "s:1"}])
    assert patched(inject(pod, ENABLED, side(", only: [second]", "initContainers")).object) == {"second"}


@pytest.mark.parametrize(
    ("container", "path"),
    [
        ("{name: '*', only: web}", r"spec\.containers\[\S+\]\.only: "),
        ("{name: '*', except: [1]}", r"spec\.containers\[\S+\]\.except\S*: "),
        ("{name: side, only: [web]}", r"spec\.containers\[\S+\]\.only: "),
    ],
)
def test_what_names_nothing(container: str, path: str) -> None:
    with pytest.raises(InjectionError, match=path):
        render_overlay(template(f"spec: {{containers: [{container}]}}"), context())


@pytest.mark.parametrize("condition", ["", ' if c.name != "web"'])
def test_a_loop_is_told_what_to_write(tmp_path: Path, condition: str, golden: Golden) -> None:
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
    assert "overlay.yaml.j2:6:" in said and "`except:`" in said
    golden(said)
    if not condition:
        golden(injector("render", folder).err)


def each(overlay: str, **files: str) -> Snapshot:
    manifest = "description: x\nfiles: {a.txt: {template: a.txt.j2}}\n" if files else "description: x\n"
    sources = {"side": {"template.yaml": manifest, "overlay.yaml.j2": overlay, **files}}
    return build_snapshot(Settings(templates=("side",)), sources, Cluster())


NAMED = 'spec: {{containers: [{{name: side, image: "s:1"}}{}, {{name: "*", env: [{{name: X, value: "{}"}}]}}]}}'


def values(pod: dict[str, Any]) -> dict[str, list[str]]:
    lists = (pod["spec"].get(field) or [] for field in ("initContainers", "containers"))
    return {one["name"]: [env["value"] for env in one.get("env", [])] for items in lists for one in items}


@pytest.mark.parametrize("namespace", [ENABLED, REQUIRED])
def test_each_container_by_its_own_name(namespace: Namespace) -> None:
    pod = web(None, OTHER, initContainers=[{"name": "first", "image": "f:1"}])
    init = ', {name: "*", except: [second], env: [{name: X, value: "init {{ container.name }}"}]}'
    overlay = NAMED.format("", "{{ workload.name }} {{ container.name | upper }}")
    snapshot = each(f"{overlay[:-1]}, initContainers: [{init[2:]}]}}")
    done = inject(pod, namespace, snapshot)
    assert (done.reason, done.warning_lines) == (Reason.INJECTED, ())
    assert values(done.object) == {"side": [], "first": ["init first"], "app": ["web APP"], "metrics": ["web METRICS"]}
    assert guard(done.object, REQUIRED, snapshot).reason is Reason.ALREADY_INJECTED
    assert inject(done.object, namespace, snapshot).reason is Reason.ALREADY_INJECTED
    assert uninject(done.object, snapshot.settings) == pod
    later = {**done.object, "spec": {**done.object["spec"], "containers": [*done.object["spec"]["containers"], LATER]}}
    assert values(inject(later, namespace, snapshot).object)["later"] == ["web LATER"]


LATER = {"name": "later", "image": "l:1"}


def test_a_patch_that_looks_at_the_container() -> None:
    snapshot = each(
        "spec:\n  containers:\n  - {name: side, image: 's:1'}\n"
        '  {% if container.image.startswith("m:") %}\n'
        '  - {name: "*", env: [!default {name: X, value: m}]}\n'
        "  {% endif %}\n"
    )
    done = inject(web(None, OTHER), REQUIRED, snapshot)
    assert values(done.object) == {"side": [], "app": [], "metrics": ["m"]}
    own = {**OTHER, "env": [{"name": "X", "value": "mine"}]}
    assert values(inject(web(None, own), REQUIRED, snapshot).object)["metrics"] == ["mine"]


def test_it_is_nothing_outside_of_the_patch(golden: Golden) -> None:
    snapshot = each(NAMED.format(', {name: "side-{{ container.name }}", image: "s:1"}', "x"))
    done = inject(web(None, OTHER), REQUIRED, snapshot)
    assert done.reason is Reason.TEMPLATE_FAILED
    golden(done.sentence)
    with pytest.raises(SnapshotError) as caught:
        each(NAMED.format("", "x"), **{"a.txt.j2": "{{ container.name }}"})
    golden(caught.value)


def test_a_variable_of_that_name_stays_the_templates_own() -> None:
    snapshot = each("{% for container in containers %}{% set _ = container.name %}{% endfor %}" + NAMED.format("", "x"))
    assert values(inject(web(None, OTHER), ENABLED, snapshot).object)["metrics"] == ["x"]
