"""The inside of a container: run as a program, it makes itself one and becomes the command it is given.

    python container.py SPEC.json

It is started in a network and a mount namespace of its own (`ip netns exec` gives it both). The image is this machine's
root: its folders are bound under a root of the container's own, with the volumes mounted in it and, where the spec says
so, read-only. Then the user, the capabilities and no-new-privileges are set, and the command takes the process over.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from pathlib import Path
from typing import Any

_BIND, _REC, _PRIVATE, _REMOUNT, _READ_ONLY = 4096, 16384, 1 << 18, 32, 1
#: Folders of this machine that a container has no business with; they are empty in it.
_EMPTY = {"boot", "lost+found", "media", "mnt", "run", "srv", "tmp", "var"}
_PARTS = "parts"
_libc = ctypes.CDLL(None, use_errno=True)


def mount(source: str, target: Path, kind: str = "", flags: int = 0, data: str = "") -> None:
    """mount(2); raises OSError naming both ends."""
    if _libc.mount(source.encode(), str(target).encode(), kind.encode(), flags, data.encode()):
        number = ctypes.get_errno()
        raise OSError(number, f"mount {source} on {target}: {os.strerror(number)}")


def bind(source: Path, target: Path, *, read_only: bool = False) -> None:
    """Make `source` seen at `target`, which is created."""
    if source.is_dir():
        target.mkdir(parents=True, exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    mount(str(source), target, flags=_BIND | _REC)
    if read_only:
        mount("", target, flags=_BIND | _REMOUNT | _READ_ONLY)


def build_root(root: Path, spec: dict[str, Any]) -> None:
    """The file system of the container under `root`."""
    mount("", Path("/"), flags=_REC | _PRIVATE)
    mount("tmpfs", root, "tmpfs", data="mode=755")
    for entry in Path("/").iterdir():
        if entry.is_symlink():
            (root / entry.name).symlink_to(entry.readlink())
        elif entry.name in _EMPTY:
            (root / entry.name).mkdir()
        elif entry.name == "etc":
            for child in entry.iterdir():
                if child.is_symlink():
                    (root / "etc").mkdir(exist_ok=True)
                    (root / "etc" / child.name).symlink_to(child.readlink())
                elif f"/etc/{child.name}" not in spec["mounts"]:
                    bind(child, root / "etc" / child.name)
        elif entry.is_dir():
            bind(entry, root / entry.name)
    for name, program in spec["programs"].items():
        bind(Path(program), root / _PARTS / name)
    for path, volume in spec["mounts"].items():
        bind(Path(volume["source"]), root / path.lstrip("/"), read_only=volume["readOnly"])
    if spec["readOnlyRoot"]:
        mount("", root, flags=_REMOUNT | _READ_ONLY)
    os.chroot(root)
    os.chdir("/")


def main() -> None:
    """Become the container."""
    spec = json.loads(Path(sys.argv[1]).read_text())
    build_root(Path(spec["root"]), spec)
    capabilities = ",".join(["-all", *(f"+{name.lower()}" for name in spec["capabilities"])])
    command = ["setpriv", f"--reuid={spec['user']}", f"--regid={spec['group']}", "--clear-groups", "--inh-caps=-all"]
    if not spec["allCapabilities"]:
        command += [f"--bounding-set={capabilities}"]
    if spec["noNewPrivileges"]:
        command += ["--no-new-privs"]
    path = f"/{_PARTS}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    os.environ.clear()
    os.environ.update({"PATH": path, **spec["environment"]})
    os.execvp("setpriv", [*command, "--", *spec["command"]])


if __name__ == "__main__":
    main()
