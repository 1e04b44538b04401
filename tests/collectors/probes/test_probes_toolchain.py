"""Which nvcc, and for which chip: asked of the environment and of the driver, never guessed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kprof.collectors.probes import toolchain
from kprof.collectors.probes.build import target_of
from kprof.collectors.probes.toolchain import cuda_device, find_nvcc, nvcc_version
from kprof.errors import CannotMeasureError

DRIVER = """
int cuInit(unsigned flags) { return INIT; }
int cuDeviceGetCount(int* count) { *count = 2; return 0; }
int cuDeviceGet(int* device, int index) { *device = index + 7; return 0; }
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  *value = attribute == 75 ? 9 : attribute == 76 ? device - 7 : -1;
  return 0;
}
int cuDeviceGetUuid(unsigned char* bytes, int device) {
  for (int i = 0; i < 16; ++i) bytes[i] = device + i;
  return 0;
}
"""


def program(path: Path, text: str = "exit 0") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with an nvcc in every place where one may be."""
    for folder in ("home/bin", "path", "cuda-path/bin", "usual/bin"):
        program(tmp_path / folder / "nvcc")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CUDA_PATH", str(tmp_path / "cuda-path"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(toolchain, "_USUAL_HOME", str(tmp_path / "usual"))
    return tmp_path


def test_nvcc_is_looked_for_where_torch_looks(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_nvcc() == places / "home" / "bin" / "nvcc"
    monkeypatch.delenv("CUDA_HOME")
    assert find_nvcc() == places / "cuda-path" / "bin" / "nvcc"
    monkeypatch.delenv("CUDA_PATH")
    assert find_nvcc() == places / "path" / "nvcc"
    (places / "path" / "nvcc").unlink()
    assert find_nvcc() == places / "usual" / "bin" / "nvcc"
    (places / "usual" / "bin" / "nvcc").unlink()
    with pytest.raises(CannotMeasureError) as caught:
        find_nvcc()
    assert caught.value.code == "nvcc_missing"


def test_a_home_without_nvcc_is_passed_over(places: Path) -> None:
    (places / "home" / "bin" / "nvcc").unlink()
    assert find_nvcc() == places / "path" / "nvcc"


@pytest.mark.parametrize(
    ("says", "version"),
    [
        ("echo 'nvcc: compiler'; echo 'Cuda compilation tools, release 13.0, V13.0.88'; echo Build", "release 13.0"),
        ("echo something else", "something else"),
        ("exit 3", None),
        ("true", None),
    ],
)
def test_the_version_is_the_line_with_the_release(says: str, version: str | None, tmp_path: Path) -> None:
    told = nvcc_version(program(tmp_path / "nvcc", says))
    assert told is None if version is None else version in (told or "")


@pytest.mark.parametrize(
    ("capability", "target"), [((9, 0), "90a"), ((8, 0), "80"), ((8, 9), "89"), ((10, 0), "100"), ((12, 0), "120")]
)
def test_targets(capability: tuple[int, int], target: str) -> None:
    assert target_of(capability) == target


def stub_driver(folder: Path, monkeypatch: pytest.MonkeyPatch, init: int = 0) -> None:
    source, library = folder / "driver.c", folder / "libcuda-stub.so"
    source.write_text(DRIVER)
    subprocess.run(["cc", f"-DINIT={init}", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    monkeypatch.setattr(toolchain, "_DRIVER_LIBRARY", str(library))


def test_the_driver_describes_each_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub_driver(tmp_path, monkeypatch)
    assert [cuda_device(index).capability for index in (0, 1)] == [(9, 0), (9, 1)]
    assert cuda_device(0).uuid == "GPU-0708090a-0b0c-0d0e-0f10-111213141516"
    with pytest.raises(CannotMeasureError, match="2 CUDA devices are visible; number 2") as caught:
        cuda_device(2)
    assert caught.value.code == "no_cuda_device"


def test_a_driver_that_does_not_start_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub_driver(tmp_path, monkeypatch, init=100)
    with pytest.raises(CannotMeasureError, match=r"does not start \(error 100\)"):
        cuda_device()
