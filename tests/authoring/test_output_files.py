"""The one writer of a template's files: whole, within the folder, and through no link out of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from injector.authoring.output_files import write_within


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "it"
    made.mkdir()
    return made


@pytest.mark.parametrize("follow", [True, False])
def test_new_files_and_folders(folder: Path, follow: bool) -> None:
    write_within(folder, {"a.yaml": b"a", "tests/b.yaml": b"b"}, follow=follow)
    assert ((folder / "a.yaml").read_bytes(), (folder / "tests/b.yaml").read_bytes()) == (b"a", b"b")
    assert sorted(path.name for path in folder.iterdir()) == ["a.yaml", "tests"]


@pytest.mark.parametrize("name", ["tests/a.yaml", "../a.yaml", "tests/../../a.yaml"])
@pytest.mark.parametrize("follow", [True, False])
def test_nothing_is_written_where_one_leads_out(folder: Path, tmp_path: Path, name: str, follow: bool) -> None:
    (tmp_path / "elsewhere").mkdir()
    (folder / "tests").symlink_to("../elsewhere")
    with pytest.raises(OSError, match="Errno") as refused:
        write_within(folder, {"b.yaml": b"b", name: b"a"}, follow=follow)
    assert refused.value.filename == str(folder / name)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["elsewhere", "it", "tests"]


@pytest.mark.parametrize("target", ["../outside.yaml", "/dev/null", "../gone.yaml"])
def test_a_link_out_is_refused_or_replaced(folder: Path, tmp_path: Path, target: str) -> None:
    (tmp_path / "outside.yaml").write_bytes(b"mine")
    (folder / "a.yaml").symlink_to(target)
    with pytest.raises(OSError, match="Errno"):
        write_within(folder, {"a.yaml": b"a"})
    assert (folder / "a.yaml").is_symlink()
    write_within(folder, {"a.yaml": b"a"}, follow=False)
    assert (folder / "a.yaml").read_bytes() == b"a" and not (folder / "a.yaml").is_symlink()
    assert (tmp_path / "outside.yaml").read_bytes() == b"mine" and not (tmp_path / "gone.yaml").exists()


def test_a_link_within_is_followed_and_a_mode_stays(folder: Path) -> None:
    (folder / "real.yaml").write_bytes(b"old")
    (folder / "real.yaml").chmod(0o640)
    (folder / "a.yaml").symlink_to("real.yaml")
    write_within(folder, {"a.yaml": b"new"})
    assert (folder / "a.yaml").is_symlink() and (folder / "real.yaml").read_bytes() == b"new"
    assert (folder / "real.yaml").stat().st_mode & 0o777 == 0o640
