"""Checks of compilers, ninja and folders, on this very machine and on one where they are missing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kprof.doctor import builders, software
from kprof.doctor.boards import Boards
from kprof.doctor.builders import Builders, look_at_builders
from kprof.doctor.facts import Facts
from kprof.doctor.profiling import Profiling
from kprof.own_worker import OwnAnswer


@pytest.fixture
def facts(tmp_path: Path) -> Facts:
    return Facts("cpu", tmp_path / "cache", Boards(), OwnAnswer(), Profiling(), Builders("c++"))


def tried(facts: Facts) -> Facts:
    """With what this machine has of compilers just now."""
    return replace(facts, builders=look_at_builders())


def test_this_machine_can_build(facts: Facts) -> None:
    for check in (software.compiler_check, software.ninja_check, software.python_check):
        assert check(tried(facts)).state == "ok", check(tried(facts)).found


def test_no_compiler(facts: Facts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler -O2")
    found = software.compiler_check(tried(facts))
    assert (found.state, found.found) == ("fail", "no-such-compiler is not on PATH")
    monkeypatch.setenv("CXX", " ")
    assert software.compiler_check(tried(facts)).state == "fail"


def test_a_compiler_that_says_its_version_and_compiles_nothing(
    facts: Facts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "c++"
    compiler.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo fine && exit 0\necho "x: fatal error: vector"; exit 1\n'
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    found = software.compiler_check(tried(facts))
    assert found.state == "fail"
    assert "fatal error: vector" in found.found


def test_no_headers_of_python(facts: Facts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(software.sysconfig, "get_paths", lambda: {"include": "/nowhere"})
    found = software.python_check(facts)
    assert found.state == "fail"
    assert "/nowhere/Python.h is missing" in found.found


def test_no_ninja(facts: Facts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builders.ninja, "BIN_DIR", "/nowhere")
    assert software.ninja_check(tried(facts)).state == "fail"


def test_a_cache_that_can_be_written_is_made_and_one_that_cannot_is_named(facts: Facts, tmp_path: Path) -> None:
    assert software.cache_check(facts).state in ("ok", "warn")
    assert facts.cache_root.is_dir()
    (tmp_path / "file").write_text("in the way")
    blocked = Facts("cpu", tmp_path / "file", Boards(), OwnAnswer(), Profiling(), Builders("c++"))
    found = software.cache_check(blocked)
    assert (found.state, "KPROF_CACHE_DIR" in found.hint) == ("fail", True)


def test_a_cache_size_that_is_none(facts: Facts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KPROF_CACHE_MAX_MB", "much")
    assert software.cache_check(facts).state == "fail"


def test_little_room_is_a_warning(facts: Facts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(software, "_LEAST_FREE_BYTES", 1e30)
    assert software.temporary_check(facts).state == "warn"
    assert "TMPDIR" in software.temporary_check(facts).hint


def test_no_temporary_folder(facts: Facts, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> str:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(software.tempfile, "gettempdir", none)
    assert software.temporary_check(facts).state == "fail"
