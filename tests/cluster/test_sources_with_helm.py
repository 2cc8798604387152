"""Both Helms fail an upgrade to a wrong template, and carry a new settings key there and back."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.controlplane import ControlPlane
from tests.cluster.processes import eventually
from tests.cluster.shipped import Shipped
from tests.deploy.helm import CHART, NAME, HelmError

MANIFEST = "description: Ships logs.\nparameters: {level: {type: string, default: info, description: Of the log.}}\n"
OVERLAY = "spec: {containers: [{name: logger, image: 'logger:1', args: ['{{ params.level }}']}]}\n"


def values(overlay: str, manifest: str = MANIFEST, **settings: Any) -> dict[str, Any]:
    return {"templates": {"logger": {"template.yaml": manifest, "overlay.yaml.j2": overlay}}, "settings": settings}


@pytest.fixture(params=[pytest.param("helm-3", marks=pytest.mark.programs), "helm-4"])
def shipped(
    control_plane: ControlPlane, room: None, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Shipped]:
    made = Shipped(control_plane, request.param, tmp_path, values(OVERLAY))
    made.prepare()
    with ExitStack() as undo:
        undo.callback(made.remove)
        made.install()
        yield made


def stored(shipped: Shipped, name: str) -> dict[str, str]:
    data: dict[str, str] = shipped.api.get("ConfigMap", name, NAME)["data"]
    return data


def test_upgrades(shipped: Shipped, tmp_path: Path) -> None:
    for wrong, code in ((OVERLAY.replace("level", "levl"), "[name]"), ("spec: {% if %}\n", "[syntax]")):
        with pytest.raises(HelmError, match=r"configmap/logger/overlay.yaml.j2:1") as refused:
            shipped.change(values(wrong))
        assert code in str(refused.value)
        assert stored(shipped, "logger")["overlay.yaml.j2"] == OVERLAY

    # a parameter that is renamed in template and settings at once
    renamed = values(
        OVERLAY.replace("level", "depth"), MANIFEST.replace("level", "depth"), parameters={"logger": {"depth": "debug"}}
    )
    shipped.change(renamed)
    assert "depth" in stored(shipped, "logger")["overlay.yaml.j2"]

    # the chart of a later version has a key that this server does not know
    later = tmp_path / "later"
    shutil.copytree(CHART, later)
    (later / "values.schema.json").unlink()
    about = yaml.safe_load((later / "Chart.yaml").read_text()) | {"version": "99.0.0", "appVersion": "99.0.0"}
    (later / "Chart.yaml").write_text(yaml.safe_dump(about))
    shipped.change(values(OVERLAY, unheardOf=True), later)
    assert "unheardOf" in stored(shipped, NAME)["settings.yaml"]
    shipped.roll_back()
    assert "unheardOf" not in stored(shipped, NAME)["settings.yaml"]
    assert "depth" in stored(shipped, "logger")["overlay.yaml.j2"]
    assert shipped.process
    log = shipped.process
    eventually("each was reviewed", lambda: log.log.count('"event":"source-review"') >= 6)
    assert '"not-tried"' not in log.log
