"""The real programs' own checks of what the templates render: for the defaults and every parameter at its edges."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from injector.injection import Injection
from tests.dataplane.edges import edges
from tests.dataplane.gallery import app_pod, config_maps, gallery_template, injected
from tests.dataplane.network import Network, network
from tests.parts import require


def _cases(name: str, *beside: dict[str, Any]) -> list[Any]:
    """Each edge with one of the bases, which take turns; with the other bases in `make test-programs`."""
    template = gallery_template(name)
    bases = ({}, *beside)
    cases = [(dict(base), True) for base in bases]
    for number, (parameter, value) in enumerate(edges(template)):
        turn = number % len(bases)
        cases += [({**base, parameter: value}, place == turn) for place, base in enumerate(bases)]
    unique = {json.dumps(case, sort_keys=True): (case, now) for case, now in reversed(cases)}
    return [
        pytest.param(case, id=text[:60], marks=() if now else pytest.mark.programs)
        for text, (case, now) in reversed(unique.items())
    ]


@pytest.fixture(scope="module")
def net() -> Iterator[Network]:
    with network() as made:
        yield made


@pytest.fixture(scope="module")
def checked() -> set[str]:
    """Texts that a program has found right already: most parameters do not touch most files."""
    return set()


def _files(injection: Injection, folder: Path) -> dict[str, str]:
    name = injection.files[0].name
    files = config_maps(injection)[name]
    for file, text in files.items():
        (folder / file).write_text(text)
    return files


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("parameters", _cases("envoy", {"intercept": "ports"}, {"xds-server": "xds.example:18000"}))
def test_envoy(parameters: dict[str, Any], tmp_path: Path, net: Network, checked: set[str]) -> None:
    envoy, ip = str(require("envoy")), str(require("ip"))
    injection = injected("envoy", parameters)
    files = _files(injection, tmp_path)
    container = next(c for c in injection.object["spec"]["initContainers"] if c["name"] == "envoy-sidecar")
    declared = gallery_template("envoy").files["envoy.yaml"].validate
    line = " ".join(container["args"])
    if files["envoy.yaml"] + line not in checked:
        arguments = [a.replace("/etc/envoy", str(tmp_path)) for a in container["args"]]
        _run(envoy, "--mode", "validate", *arguments)
        _run(envoy, *(word.replace("{path}", str(tmp_path / "envoy.yaml")) for word in declared[1:]))
        checked.add(files["envoy.yaml"] + line)
    if files["listeners.yaml"] not in checked:  # the check does not follow it, so it is shown as static listeners
        listeners = yaml.safe_load(files["listeners.yaml"])["resources"]
        bootstrap = yaml.safe_load(files["envoy.yaml"])
        assert {listener.pop("@type") for listener in listeners} <= {
            "type.googleapis.com/envoy.config.listener.v3.Listener"
        }
        bootstrap["static_resources"]["listeners"] = listeners
        (tmp_path / "both.yaml").write_text(json.dumps(bootstrap))
        arguments = [a.replace("/etc/envoy/envoy.yaml", str(tmp_path / "both.yaml")) for a in container["args"]]
        _run(envoy, "--mode", "validate", *arguments)
        checked.add(files["listeners.yaml"])
    if files["redirect.nft"] not in checked:
        _run(ip, "netns", "exec", net.pod.name, str(require("nft")), "--check", "-f", str(tmp_path / "redirect.nft"))
        checked.add(files["redirect.nft"])


@pytest.mark.parametrize("parameters", _cases("nginx", {"rate-limit": 5}))
def test_nginx(parameters: dict[str, Any], tmp_path: Path, checked: set[str]) -> None:
    nginx = str(require("nginx"))
    pod = app_pod(ports=[{"containerPort": 8080}])
    text = _files(injected("nginx", parameters, pod), tmp_path)["nginx.conf"]
    if text not in checked:
        (tmp_path / "here.conf").write_text(text.replace(" /tmp/", f" {tmp_path}/"))
        _run(nginx, "-t", "-e", "stderr", "-c", str(tmp_path / "here.conf"))
        checked.add(text)


@pytest.mark.parametrize(
    "parameters", _cases("fault", {"direction": "both", "header": "x-a"}, {"direction": "outbound"})
)
def test_fault(parameters: dict[str, Any], tmp_path: Path, checked: set[str]) -> None:
    envoy = str(require("envoy"))
    text = _files(injected("fault", parameters), tmp_path)["envoy.yaml"]
    declared = gallery_template("fault").files["envoy.yaml"].validate
    if text not in checked:
        _run(envoy, *(word.replace("{path}", str(tmp_path / "envoy.yaml")) for word in declared[1:]))
        checked.add(text)
