"""A folder as the place of a certificate and its key."""

from __future__ import annotations

import pytest

from injector.cli.csr_flow import FolderTarget
from injector.errors import SettingsError


def test_files_are_put_there_and_taken_away(tmp_path):
    store = FolderTarget(tmp_path / "certs")
    assert store.read() == {}
    store.write({"server.crt": b"c", "server.key": b"k", "pending.key": b"p"})
    store.write({"pending.key": None, "server.crt": b"d", "never-there": None})
    assert store.read() == {"server.crt": b"d", "server.key": b"k"}
    modes = {file.name: file.stat().st_mode & 0o777 for file in (tmp_path / "certs").iterdir()}
    assert modes["server.key"] == 0o600 and modes["server.crt"] & 0o077 == 0o044


def test_a_file_in_its_place(tmp_path, golden):
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError) as caught:
        FolderTarget(tmp_path / "file").read()
    golden(caught.value)
    with pytest.raises(SettingsError, match="file"):
        FolderTarget(tmp_path / "file" / "below").write({"a.crt": b""})
