"""`injector templates`: what it lists of files, and what it makes of a cluster's ConfigMaps."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from injector.cli.templates import STATES, Inventory, age, template_rows
from injector.cluster.template_maps import last_change
from injector.errors import TemplateError
from injector.loading.template_folders import gallery_path, read_gallery
from injector.settings import PathTemplates, Settings
from injector.templates.load import load_template
from injector.templates.snapshot import Catalog
from tests.command import run
from tests.unit.cli.test_checking_doc import CHECKING, first_cells

OVERLAY = "spec: {containers: [{name: logger, image: 'logger:1'}]}\n"
GOOD = {"template.yaml": "description: x\nselector: {matchLabels: {a: b}}\n", "overlay.yaml.j2": OVERLAY}
POLICY = {
    "template.yaml": "description: x\nfor: {resources: [services], operations: [CREATE]}\n",
    "overlay.yaml.j2": "metadata: {labels: {a: b}}\n",
}
UNDEFINED = {**GOOD, "overlay.yaml.j2": "spec: {{ nothing }}\n"}


def folder(at: Path, **templates: dict[str, str]) -> Path:
    for name, files in templates.items():
        (at / name).mkdir(parents=True)
        for file, text in files.items():
            (at / name / file).write_text(text)
    return at


def listed(*args: object) -> list[dict[str, Any]]:
    done = run("templates", "-o", "json", *args)
    assert (done.code, done.err) == (0, "")
    rows: list[dict[str, Any]] = json.loads(done.out)["templates"]
    return rows


def own(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [(row["name"], row["state"], row["source"]) for row in rows if row["name"] in ("nginx", "bad", "mine", "no")]


def test_files(tmp_path: Path) -> None:
    folders = folder(tmp_path / "templates", nginx=GOOD, bad=UNDEFINED, mine=POLICY)
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "no"}}
    maps, settings = tmp_path / "maps.yaml", tmp_path / "settings.yaml"
    maps.write_text(yaml.safe_dump(config_map | {"data": {**GOOD, "template.yaml": "fiels: {}\n"}}))
    settings.write_text("paths: {/mutate/services: {templates: [mine]}}\ntemplates: [nginx]\n")
    files = ("--templates-dir", folders, "--templates-dir", maps, "--settings", settings)
    rows = listed(*files)
    assert own(rows) == [
        ("bad", "refused", f"{folders}/bad"),
        ("mine", "tried", f"{folders}/mine"),
        ("nginx", "tried", f"{folders}/nginx"),
        ("nginx", "shadowed", "shipped"),
        ("no", "refused", "configmap/no"),
    ]
    assert {row["state"] for row in rows if row["source"] == "shipped"} == {"tried", "shadowed"}
    by_name = {row["name"]: row for row in reversed(rows)}
    assert (by_name["bad"]["code"], by_name["no"]["code"], by_name["bad"]["version"]) == ("name", "manifest", "")
    assert (by_name["mine"]["kind"], by_name["mine"]["settings"]) == ("services", ["/mutate/services"])
    assert by_name["nginx"]["settings"] == ["templates", "selector"]
    assert by_name["nginx"]["version"] == load_template("nginx", GOOD).digest

    assert yaml.safe_load(run("templates", "-o", "yaml", *files).out) == {"templates": rows}
    names = run("templates", "-o", "name", *files).out.split()
    assert names == sorted(by_name)
    table = run("templates", *files).out
    head, *lines = table.splitlines()
    assert head.split() == ["NAME", "KIND", "VERSION", "AGE", "STATE", "NAMESPACES", "SETTINGS", "SOURCE"]
    [line] = [line for line in lines if line.startswith("mine ")]
    expected = ["mine", "services", by_name["mine"]["version"], "-", "tried", "-", "/mutate/services"]
    assert line.split() == [*expected, f"{folders}/mine"]
    assert f"{folders}/bad/overlay.yaml.j2:1:10: error: " in table, "the reason stands below"
    assert "CREATE of services (v1)" in run("templates", "-o", "wide", *files).out


def test_what_loads_is_tried_with_sample_pods(tmp_path: Path) -> None:
    broken = {**GOOD, "overlay.yaml.j2": "spec: {containers: [{name: logger, image: {{ 1 // 0 }} }]}\n"}
    [row] = [row for row in listed("--templates-dir", folder(tmp_path, mine=broken)) if row["name"] == "mine"]
    assert (row["state"], row["source"]) == ("refused", f"{tmp_path}/mine")


@pytest.mark.parametrize("option", ["--namespace", "--kubeconfig", "--context"])
def test_either_files_or_a_cluster(tmp_path: Path, option: str) -> None:
    assert run("templates", "--templates-dir", folder(tmp_path, mine=GOOD), option, "x").code == 2


def test_wrong_settings_are_an_error(tmp_path: Path) -> None:
    settings = tmp_path / "settings.yaml"
    settings.write_text("templtes: []\n")
    done = run("templates", "--settings", settings)
    assert (done.code, done.out) == (1, "")


def test_rows_of_a_cluster() -> None:
    nginx, mine = load_template("nginx", GOOD), load_template("mine", POLICY)
    inventory = Inventory(
        Settings(templates=("bad",), paths={"/mutate/services": PathTemplates(templates=("mine",))}),
        Catalog([nginx, mine, load_template("envoy", read_gallery(gallery_path())["envoy"])]),
        {"bad": TemplateError("bad", "no", rule="syntax")},
        {"mine"},
        {name: f"configmap/{name}" for name in ("nginx", "mine", "bad")},
        {"nginx": "2026-11-27T10:00:00Z"},
        {"web": ["nginx", "bad"], "shop": ["nginx"]},
    )
    rows = {(row["name"], row["state"]): row for row in template_rows(inventory)}
    assert [*rows] == [
        ("bad", "refused"), ("envoy", "current"), ("mine", "tried"), ("nginx", "current"), ("nginx", "shadowed")
    ]  # fmt: skip
    current, shadowed = rows["nginx", "current"], rows["nginx", "shadowed"]
    assert (current["namespaces"], current["since"]) == (["shop", "web"], "2026-11-27T10:00:00Z")
    assert (shadowed["namespaces"], shadowed["since"], shadowed["source"]) == ([], "", "shipped")
    assert current["version"] != shadowed["version"]
    assert (rows["bad", "refused"]["namespaces"], rows["bad", "refused"]["settings"]) == (["web"], ["templates"])


def test_what_kubernetes_does_not_have_is_told(tmp_path: Path) -> None:
    typo = {**GOOD, "overlay.yaml.j2": OVERLAY.replace("image", "tyy: true, image")}
    lost = {**GOOD, "overlay.yaml.j2": OVERLAY.replace("containers", "container")}
    rows = {row["name"]: row for row in listed("--templates-dir", folder(tmp_path, good=GOOD, typo=typo, lost=lost))}
    assert {name: rows[name]["state"] for name in ("good", "typo", "lost")} == {
        "good": "tried",
        "typo": "tried",
        "lost": "refused",
    }
    assert rows["lost"]["code"] == "schema" and "warnings" not in rows["good"]
    [warning] = rows["typo"]["warnings"]
    assert "overlay.yaml.j2:1:" in warning


def test_when_the_data_was_changed() -> None:
    writes = [("10:00", {"f:data": {}}), ("11:00", {"f:data": {}}), ("12:00", {"f:metadata": {}})]
    fields = [{"time": f"2026-11-27T{at}:00Z", "fieldsV1": written} for at, written in writes]
    metadata = {"creationTimestamp": "2026-11-27T09:00:00Z"}
    assert last_change({"metadata": {**metadata, "managedFields": fields}}, ("f:data",)) == "2026-11-27T11:00:00Z"
    assert last_change({"metadata": metadata}, ("f:data",)) == ""


@pytest.mark.parametrize(
    ("since", "expected"),
    [
        ("27T10:00:30", "0s"),
        ("27T09:59:01", "59s"),
        ("27T09:58:01", "1m"),
        ("27T07:00:01", "2h"),
        ("25T00:00:00", "2d"),
    ],
)
def test_ages(since: str, expected: str) -> None:
    assert age(f"2026-11-{since}Z", datetime(2026, 11, 27, 10, tzinfo=UTC)) == expected


def test_the_page_has_every_state() -> None:
    assert [*STATES] == first_cells(CHECKING, "state of a template")
