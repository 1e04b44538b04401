"""A file is the old one or the new one, never a part, and what cannot be written is refused before the work."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kprof.errors import UsageError
from kprof.files import require_writable, write_whole


def test_replaces_whole_and_leaves_nothing_beside(tmp_path: Path) -> None:
    target = tmp_path / "r.json"
    target.write_bytes(b"old")
    write_whole(target, b"new")
    assert target.read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_bytes(b"old")
    link.symlink_to(real)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"


def test_permissions_follow_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o022)
    try:
        write_whole(tmp_path / "r.json", b"{}")
    finally:
        os.umask(old)
    assert (tmp_path / "r.json").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(("name", "says"), [("nowhere/r.json", "does not exist"), (".", "is a folder")])
def test_refused_before_the_work(tmp_path: Path, name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        require_writable(tmp_path / name)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "r.json").mkdir()
    with pytest.raises(UsageError, match="cannot write"):
        write_whole(tmp_path / "r.json", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]
