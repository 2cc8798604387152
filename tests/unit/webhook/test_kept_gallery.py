"""What is made of an image's gallery and the one that the cluster keeps."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from injector import __version__
from injector.errors import TemplateError
from injector.loading.kept_gallery import Gallery, gallery_data, gallery_in_use, with_own
from injector.loading.shipped import load_shipped, try_new
from injector.loading.template_folders import gallery_path, read_gallery
from injector.pods.context import Cluster
from injector.settings import Settings
from injector.templates.snapshot import Files, Snapshot, build_snapshot
from injector.templates.template import FILE, METADATA

SHIPPED = read_gallery(gallery_path())
KEPT = gallery_data(SHIPPED)
CHANGED = {**KEPT, "fault.overlay.yaml.j2": KEPT["fault.overlay.yaml.j2"] + "\n{# before #}\n"}
RELEASE = __version__.replace(".", "-")
NEXT = f"fault-{RELEASE}"
OWN = {"template.yaml": "description: Mine.\n", "overlay.yaml.j2": "spec: {containers: [{name: mine, image: 'm:1'}]}\n"}


def in_use(kept: dict[str, str] | None) -> Gallery:
    return gallery_in_use(SHIPPED, kept, "configmap/kept", try_new)


def snapshot(kept: dict[str, str], **own: dict[str, str]) -> Snapshot:
    return build_snapshot(Settings(), with_own(in_use(kept), own), Cluster(), load=load_shipped)


def test_a_config_map_holds_the_gallery() -> None:
    assert sum(len(key) + len(text.encode()) for key, text in KEPT.items()) < 1024 * 1024 // 2
    assert all(FILE.match(key) for key in KEPT)


def test_the_same_gallery_changes_nothing() -> None:
    gallery = in_use(KEPT)
    assert gallery == in_use(None)
    assert snapshot(KEPT).generation == build_snapshot(Settings(), SHIPPED, Cluster(), load=load_shipped).generation


def test_another_content_is_kept_and_the_image_s_is_next() -> None:
    gallery = in_use({**CHANGED, METADATA: json.dumps({"stage": f"{__version__}:12.5%"})})
    assert ([t.own_name for t in gallery.loaded], gallery.problems) == (["fault", NEXT], ())
    catalog = build_snapshot(Settings(), with_own(gallery, {}), Cluster(), load=load_shipped).catalog
    base, version = catalog.get("fault"), catalog.next_version("fault")
    assert base and version and version.stage
    assert base.sources["overlay.yaml.j2"] == CHANGED["fault.overlay.yaml.j2"]
    assert (version.own_name, version.stage.share) == (NEXT, 1250)
    shipped = build_snapshot(Settings(), SHIPPED, Cluster(), load=load_shipped).catalog.get("fault")
    assert shipped and version.digest == shipped.digest


def test_what_only_one_of_them_has_is_there() -> None:
    kept = {key: text for key, text in KEPT.items() if not key.startswith("nginx.")}
    kept |= {f"gone.{file}": text for file, text in OWN.items()}
    names = snapshot(kept).catalog.names
    assert {"gone", "nginx"} <= set(names) and f"gone-{RELEASE}" not in names


def test_ones_own_template_replaces_both() -> None:
    assert NEXT in with_own(in_use(CHANGED), {})
    catalog = snapshot(CHANGED, fault=OWN).catalog
    assert (catalog.get("fault").sources, catalog.next_version("fault")) == (OWN, None)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "own",
    [
        {**OWN, "template.yaml": "description: Mine.\nversion-of: fault\n"},
        {**OWN, METADATA: json.dumps({"version-of": "fault"})},
    ],
)
def test_ones_own_next_version_goes_before(own: dict[str, str]) -> None:
    version = snapshot(CHANGED, mine=own).catalog.next_version("fault")
    assert version and version.own_name == "mine"


@pytest.mark.parametrize("manifest", ["version-of: [", "- version-of", "version-of: 7\n"])
def test_ones_own_broken_template_is_no_version_of_anything(manifest: str) -> None:
    sources = with_own(in_use(CHANGED), {"mine": {"template.yaml": manifest}})
    assert NEXT in sources


@pytest.mark.parametrize(
    "files",
    [
        {"fault.overlay.yaml.j2": "spec: {{ nothing }}\n"},
        {"fault.template.yaml": "description: [\n"},
        {"fault.template.yaml": "description: Loops.\nparameters: {a: {type: nothing}}\n"},
        {"": "x", ".": "x", "Fault.template.yaml": "x", "..x": "y"},
    ],
)
def test_what_does_not_load_is_left_out(files: dict[str, str]) -> None:
    gallery = in_use({**KEPT, **files})
    assert gallery.problems
    assert {name: with_own(gallery, {})[name] for name in SHIPPED} == SHIPPED


def test_a_template_at_a_path_has_no_next_version() -> None:
    kept = {**KEPT, "deny-load-balancer.template.yaml": KEPT["deny-load-balancer.template.yaml"] + "# before\n"}
    gallery = in_use(kept)
    assert ([t.own_name for t in gallery.loaded], gallery.problems) == (["deny-load-balancer"], ())
    assert snapshot(kept).catalog.get("deny-load-balancer").digest != (  # type: ignore[union-attr]
        snapshot(KEPT).catalog.get("deny-load-balancer").digest  # type: ignore[union-attr]
    )


def test_the_stage_of_another_release_says_nothing_of_this_one() -> None:
    gallery = in_use({**CHANGED, METADATA: json.dumps({"stage": "0.0.1:100%"})})
    version = next(template for template in gallery.loaded if template.own_name == NEXT)
    assert not gallery.problems and version.stage and version.stage.share == 0


@pytest.mark.parametrize("stage", ["10", "110%", "{share: 1%}", "100%", f"{__version__}:10", f"{__version__}:"])
def test_a_stage_that_is_none_is_nobody_s(stage: str) -> None:
    kept = {**CHANGED, METADATA: json.dumps({"stage": stage})}
    gallery = in_use(kept)
    version = snapshot(kept).catalog.next_version("fault")
    assert len(gallery.problems) == 1 and version and version.stage and version.stage.share == 0


def test_what_is_loaded_is_neither_tried_nor_loaded_again() -> None:
    gallery = in_use(CHANGED)
    tried: list[str] = []

    def trial(sources: Mapping[str, Files], *_: object) -> dict[str, TemplateError]:
        tried.extend(sources)
        return {}

    sources = with_own(gallery, {"mine": OWN})
    catalog = build_snapshot(Settings(), sources, Cluster(), loaded=gallery.loaded, trial=trial).catalog
    assert (catalog.get("fault"), catalog.next_version("fault")) == gallery.loaded
    assert not {"fault", NEXT} & set(tried)
