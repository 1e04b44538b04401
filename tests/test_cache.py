"""The cache stays within its size, keeps what is in use and says where it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from kprof import cache
from kprof.commands.cache import command
from kprof.errors import UsageError


def entry(root: Path, name: str, size: int, used: float) -> Path:
    path = cache.extensions_dir(root) / name
    path.mkdir(parents=True)
    (path / "lib.so").write_bytes(b"x" * size)
    cache.mark_used(path)
    os.utime(path / cache.USED_FILE, (used, used))
    return path


def test_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KPROF_CACHE_DIR", str(tmp_path / "here"))
    assert cache.cache_dir() == tmp_path / "here"
    monkeypatch.delenv("KPROF_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.cache_dir() == tmp_path / "xdg" / "kprof"


@pytest.mark.parametrize("text", ["much", "-1", "nan"])
def test_a_size_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("KPROF_CACHE_MAX_MB", text)
    with pytest.raises(UsageError, match="megabytes was expected"):
        cache.cache_max_bytes()


def test_entries_are_listed_longest_unused_first(tmp_path: Path) -> None:
    entry(tmp_path, "new", 10, 300)
    entry(tmp_path, "old", 20, 100)
    assert [(e.path.name, e.size_bytes) for e in cache.entries(tmp_path)] == [("old", 20), ("new", 10)]
    assert cache.entries(tmp_path / "nowhere") == []


def test_eviction_takes_the_longest_unused_and_stops_in_time(tmp_path: Path) -> None:
    old, middle, new = (entry(tmp_path, name, 100, used) for name, used in (("a", 1), ("b", 2), ("c", 3)))
    assert cache.evict(tmp_path, 250) == [old]
    assert middle.exists()
    assert new.exists()


def test_eviction_keeps_what_is_held_and_what_is_asked_for(tmp_path: Path) -> None:
    held, kept, free = (entry(tmp_path, name, 100, used) for name, used in (("a", 1), ("b", 2), ("c", 3)))
    with cache.locked(held):
        assert cache.evict(tmp_path, 0, keep=kept) == [free]
    assert held.exists()


def test_clear_counts_what_stays(tmp_path: Path) -> None:
    held = entry(tmp_path, "held", 1, 1)
    entry(tmp_path, "free", 1, 2)
    with cache.locked(held):
        assert cache.clear(tmp_path) == (1, 1)
    assert cache.clear(tmp_path) == (1, 0)


@pytest.mark.parametrize(("value", "says"), [("~nosuchuser/x", "no such user"), (os.fsdecode(b"\xff"), "not UTF-8")])
def test_a_folder_that_cannot_be_is_refused(monkeypatch: pytest.MonkeyPatch, value: str, says: str) -> None:
    monkeypatch.setenv("KPROF_CACHE_DIR", value)
    with pytest.raises(UsageError, match=says):
        cache.cache_dir()


@pytest.mark.parametrize(("count", "told"), [(0, "0 compiled extensions"), (1, "1 compiled extension,")])
def test_the_command_counts_in_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, count: int, told: str) -> None:
    monkeypatch.setenv("KPROF_CACHE_DIR", str(tmp_path))
    for index in range(count):
        entry(tmp_path, f"e{index}", 10, 1)
    assert told in CliRunner().invoke(command, catch_exceptions=False).output
    cleared = CliRunner().invoke(command, ["--clear"], catch_exceptions=False).output
    assert f"removed {told.rstrip(',')} from" in cleared


def test_an_entry_that_was_altered_is_emptied_and_a_whole_one_is_not(tmp_path: Path) -> None:
    entry = tmp_path / "entry"
    (entry / "sub").mkdir(parents=True)
    library = entry / "a.so"
    library.write_bytes(b"x" * 100)
    with cache.locked(entry):
        assert not cache.discard_if_altered(entry), "never sealed: the builder knows what of it is whole"
        cache.seal(entry)
        assert not cache.discard_if_altered(entry)
        (entry / "a.o").write_bytes(b"o")
        assert not cache.discard_if_altered(entry)
        library.write_bytes(b"x" * 50)
        assert cache.discard_if_altered(entry)
        assert [path.name for path in entry.iterdir()] in ([cache.LOCK_FILE], [])
        assert not cache.discard_if_altered(entry)


@pytest.mark.parametrize("change", ["gone", "new", "longer"])
def test_any_change_of_a_library_counts(tmp_path: Path, change: str) -> None:
    library = tmp_path / "a.so"
    library.write_bytes(b"x")
    cache.seal(tmp_path)
    if change == "gone":
        library.unlink()
    else:
        (library if change == "longer" else tmp_path / "b.so").write_bytes(b"xy")
    assert cache.discard_if_altered(tmp_path)


def test_a_seal_that_finds_no_room_costs_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise UsageError("cannot write", "Make room.")

    monkeypatch.setattr(cache, "write_whole", full)
    cache.seal(tmp_path)
