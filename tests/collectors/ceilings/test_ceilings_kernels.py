"""The library of kernels for a board: built by nvcc, once, and what is said where it cannot be."""

from __future__ import annotations

import ctypes
import re
import shutil
from pathlib import Path

import pytest

from kprof.collectors.ceilings import cuda, kernels
from kprof.errors import CannotMeasureError
from kprof.resources import resource_dir

SOURCE = (resource_dir("kernels/ceilings") / "ceilings.cu").read_text()
LAUNCHERS = re.findall(r"^LAUNCHER\((\w+)\)", SOURCE, re.MULTILINE)


def constant(name: str) -> int:
    found = re.search(rf"constexpr int {name} = (\d+);", SOURCE)
    assert found is not None
    return int(found[1])


def test_the_work_is_counted_as_the_source_does_it() -> None:
    assert constant("kLoads") == cuda._LOADS
    assert constant("kSlots") == cuda._SLOTS
    assert constant("kOnChipThreads") == cuda._ON_CHIP_THREADS
    assert constant("kValues") * constant("kSteps") == cuda._FMAS
    assert {"dram_read", "dram_copy", "dram_triad", "l2", "l1", "shared", "fp32", "fp64", "fp16_vector"} <= {*LAUNCHERS}


def fake_nvcc(folder: Path, body: str) -> str:
    path = folder / "nvcc"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_it_is_built_once_an_architecture(tmp_path: Path) -> None:
    nvcc = fake_nvcc(tmp_path, f'echo call >> {tmp_path}/calls; while [ "$1" != -o ]; do shift; done; echo made > "$2"')
    first = kernels._build(nvcc, "sm_90", tmp_path / "cache")
    assert kernels._build(nvcc, "sm_90", tmp_path / "cache") == first
    assert (tmp_path / "calls").read_text() == "call\n"
    assert kernels._build(nvcc, "sm_80", tmp_path / "cache") != first
    assert [path.suffix for path in first.parent.iterdir()] == [".so", ".so"]


def test_what_nvcc_says_against_it_is_passed_on(tmp_path: Path) -> None:
    nvcc = fake_nvcc(tmp_path, "echo 'nvcc fatal: Unsupported gpu architecture'; exit 1")
    with pytest.raises(CannotMeasureError, match="Unsupported gpu architecture") as caught:
        kernels._build(nvcc, "sm_01", tmp_path / "cache")
    assert caught.value.code == "compile_failed"
    assert list((tmp_path / "cache" / "ceilings").iterdir()) == []


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way")
    with pytest.raises(CannotMeasureError) as caught:
        kernels._build(fake_nvcc(tmp_path, "true"), "sm_90", tmp_path / "cache")
    assert caught.value.code == "cache_not_writable"


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc on PATH; found none")
def test_the_source_builds_with_nvcc_alone_and_has_every_launcher(tmp_path: Path) -> None:
    library = kernels._build(shutil.which("nvcc") or "", "sm_90", tmp_path)
    symbols = library.read_bytes()
    assert all(name.encode() in symbols for name in LAUNCHERS)
    try:
        loaded = ctypes.CDLL(str(library))
    except OSError as error:
        pytest.skip(f"built, and not loaded without CUDA's runtime: {error}")
    assert all(hasattr(loaded, name) for name in LAUNCHERS)
