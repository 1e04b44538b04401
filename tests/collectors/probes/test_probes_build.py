"""Building probes: once per content, each for itself, and nothing half made is ever used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kprof.collectors.probes import build
from kprof.collectors.probes.build import RUNNER, BuiltProbes, build_probes
from kprof.errors import CannotMeasureError

NVCC = """#!/bin/sh
[ "$1" = --version ] && {{ echo "release 13.0"; exit 0; }}
for last; do true; done
echo "$*" >>"{log}"
case "$*" in
*broken*) echo half >"$last"; echo "broken.cu(7): error: expected a ;" >&2; exit 1 ;;
*slow*) sleep 60 ;;
*) echo made >"$last" ;;
esac
"""


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "sources"
    folder.mkdir()
    for name in (RUNNER, "one", "two", "broken", "slow"):
        (folder / f"{name}.cu").write_text(f"// {name}\n")
    (folder / "probe.h").write_text("// shared\n")
    nvcc = tmp_path / "nvcc"
    nvcc.write_text(NVCC.format(log=tmp_path / "log"))
    nvcc.chmod(0o755)
    return folder


def made(sources: Path, *names: str, capability: tuple[int, int] = (9, 0)) -> BuiltProbes:
    return build_probes(sources.parent / "nvcc", sources, names, capability, sources.parent / "cache")


def compiled(sources: Path) -> list[str]:
    """What nvcc was started for since the last call."""
    log = sources.parent / "log"
    lines = log.read_text().splitlines() if log.exists() else []
    log.unlink(missing_ok=True)
    return sorted(Path(word).stem for line in lines for word in line.split() if word.endswith(".cu"))


def test_what_is_built_is_not_built_again(sources: Path) -> None:
    first = made(sources, "one", "two")
    assert compiled(sources) == ["one", RUNNER, "two"]
    assert first.nvcc == "release 13.0"
    assert made(sources, "one", "two") == first
    assert compiled(sources) == []


@pytest.mark.parametrize("changed", ["one.cu", "probe.h"])
def test_another_content_is_another_build(changed: str, sources: Path) -> None:
    first = made(sources, "one")
    compiled(sources)
    (sources / changed).write_text("// changed\n")
    assert made(sources, "one").libraries["one"].parent != first.libraries["one"].parent
    assert compiled(sources) == ["one", RUNNER]


def test_each_chip_has_a_build_of_its_own(sources: Path) -> None:
    assert made(sources, "one").runner != made(sources, "one", capability=(8, 0)).runner


def test_what_does_not_compile_leaves_nothing_and_is_tried_again(sources: Path) -> None:
    found = made(sources, "one", "broken")
    assert list(found.libraries) == ["one"]
    assert found.failed["broken"].message == "broken.cu: broken.cu(7): error: expected a ;"
    assert "expected a ;" in found.logs["broken"]
    assert sorted(path.name for path in found.runner.parent.iterdir() if path.name[0] != ".") == ["one.so", RUNNER]
    assert not [path for path in found.runner.parent.iterdir() if "broken" in path.name]
    compiled(sources)
    made(sources, "one", "broken")
    assert compiled(sources) == ["broken"]


def test_a_compiler_that_hangs_is_ended(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "COMPILE_S", 0.5)
    assert made(sources, "one", "slow").failed["slow"].message == "slow.cu: not over after 0.5 s"


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_cache_that_cannot_be_written_is_a_reason(sources: Path) -> None:
    (sources.parent / "cache").mkdir(mode=0o500)
    with pytest.raises(CannotMeasureError) as caught:
        made(sources, "one")
    assert caught.value.code == "cache_not_writable"


def test_a_cache_that_is_a_file_is_a_reason(sources: Path) -> None:
    (sources.parent / "cache").write_text("")
    with pytest.raises(CannotMeasureError) as caught:
        made(sources, "one")
    assert caught.value.code == "cache_not_writable"
