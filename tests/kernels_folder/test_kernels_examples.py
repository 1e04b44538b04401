"""The examples in kernels/: the log-sum-exp files agree with torch."""

from __future__ import annotations

import ast
import importlib.util
import math
import os
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from kernel_files import KERNELS, LOGSUMEXP, SHAPES, needs_nvcc, run_nvcc, special_values, string_constant
from running import BuiltExample

from kprof.collectors.build import BuildWatch


def load(path: Path) -> types.ModuleType:
    """Import a file from its path under a name that nothing else has."""
    name = f"kernels_examples_{path.parent.name}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def extensions_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """torch builds into a folder of these tests' own, with the ninja that is installed beside this Python."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path_factory.mktemp("extensions")))
        patch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
        yield


@pytest.fixture(scope="module")
def cpu(extensions_folder: None, built_example: BuiltExample) -> torch.nn.Module:
    """cpu.py's model, from what kprof built."""
    watch = BuildWatch(built_example.cache, torch.device("cpu"), lambda name: None)
    with watch.installed():
        model: torch.nn.Module = load(LOGSUMEXP / "cpu.py").ModelNew()
    return model


@pytest.fixture(scope="module", params=["cuda_naive.py", "cuda_tuned.py", "triton_fused.py"])
def on_gpu(request: pytest.FixtureRequest, extensions_folder: None) -> torch.nn.Module:
    """The model of each file that runs on a GPU."""
    if request.param.startswith("triton"):
        pytest.importorskip("triton", reason="needs triton (not installed with this torch)")
    with pytest.MonkeyPatch.context() as patch:
        # Where this is not set torch builds for every GPU present, and older versions warn about it.
        patch.setenv("TORCH_CUDA_ARCH_LIST", ".".join(str(part) for part in torch.cuda.get_device_capability()))
        model: torch.nn.Module = load(LOGSUMEXP / request.param).ModelNew()
    return model


def assert_near_fp64(model: torch.nn.Module, shape: tuple[int, ...], offset: float, device: str = "cpu") -> None:
    """The model is as near to an fp64 log-sum-exp as fp32 allows: 3 units in the last place, and of 1 near zero."""
    x = (torch.randn(shape, generator=torch.Generator().manual_seed(7)) * 3 + offset).to(device)
    out = model(x)
    assert out.dtype == torch.float32
    torch.testing.assert_close(out.double(), torch.logsumexp(x.double(), dim=0), rtol=3 * 2**-23, atol=3 * 2**-23)


def assert_special_values_agree(model: torch.nn.Module, device: str = "cpu") -> None:
    """Infinities and NaN come out where torch has them; the rest within rounding."""
    x = special_values().to(device)
    torch.testing.assert_close(model(x), torch.logsumexp(x, dim=0), rtol=1e-6, atol=1e-6, equal_nan=True)


def test_reference_is_logsumexp_of_its_own_inputs() -> None:
    ref = load(LOGSUMEXP / "ref.py")
    (x,) = ref.get_inputs()
    out = ref.Model(*ref.get_init_inputs())(x)
    assert x.shape == (4, 10, 32)
    assert x.dtype == torch.float32
    torch.testing.assert_close(out, x.exp().sum(dim=0).log())


@pytest.mark.parametrize(
    ("name", "value", "shape"), [("R", 8, (8, 10, 32)), ("B", 3, (4, 3, 32)), ("D", 5, (4, 10, 5))]
)
def test_constants_set_from_outside_change_the_inputs(name: str, value: int, shape: tuple[int, ...]) -> None:
    ref = load(LOGSUMEXP / "ref.py")
    setattr(ref, name, value)
    assert [tuple(x.shape) for x in ref.get_inputs()] == [shape]


@pytest.mark.compiles
@pytest.mark.parametrize("offset", [0.0, -1000.0, 5000.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_cpu_is_near_fp64(cpu: torch.nn.Module, shape: tuple[int, ...], offset: float) -> None:
    assert_near_fp64(cpu, shape, offset)


@pytest.mark.compiles
def test_cpu_agrees_on_special_values(cpu: torch.nn.Module) -> None:
    assert_special_values_agree(cpu)


@pytest.mark.compiles
def test_cpu_splits_its_outputs_over_threads_without_a_seam(cpu: torch.nn.Module) -> None:
    x = torch.randn(8, 100, 301)
    before = torch.get_num_threads()
    outputs = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            outputs.append(cpu(x))
    finally:
        torch.set_num_threads(before)
    for output in outputs:
        torch.testing.assert_close(output.double(), torch.logsumexp(x.double(), dim=0), rtol=1e-6, atol=1e-6)


@pytest.mark.compiles
@pytest.mark.parametrize("shape", [(0, 2, 3), (4, 0, 3), (4, 2, 0)])
def test_cpu_takes_empty_inputs_as_torch_does(cpu: torch.nn.Module, shape: tuple[int, ...]) -> None:
    x = torch.empty(shape)
    assert torch.equal(cpu(x), torch.logsumexp(x, dim=0))


@pytest.mark.compiles
@pytest.mark.parametrize(
    ("x", "complaint"),
    [
        (torch.zeros(4, 2, 3, dtype=torch.float64), "is Double; expected Float"),
        (torch.zeros(4, 2), "has 2 dimensions; expected 3"),
        (torch.zeros(4, 2, 3).transpose(1, 2), "is not contiguous"),
        (torch.zeros(4, 2, 3, device="meta"), "is on meta; expected the CPU"),
    ],
)
def test_cpu_refuses_what_it_cannot_take(cpu: torch.nn.Module, x: torch.Tensor, complaint: str) -> None:
    with pytest.raises(RuntimeError, match=complaint):
        cpu(x)


@pytest.mark.gpu
@pytest.mark.compiles
@pytest.mark.parametrize("shape", SHAPES)
def test_gpu_kernels_are_near_fp64(on_gpu: torch.nn.Module, shape: tuple[int, ...]) -> None:
    assert_near_fp64(on_gpu, shape, 0.0, "cuda")


@pytest.mark.gpu
@pytest.mark.compiles
def test_gpu_kernels_agree_on_special_values(on_gpu: torch.nn.Module) -> None:
    assert_special_values_agree(on_gpu, "cuda")


@pytest.mark.gpu
@pytest.mark.compiles
def test_gpu_kernels_run_on_the_current_stream(on_gpu: torch.nn.Module) -> None:
    x = torch.randn(4, 10, 32, device="cuda")
    on_gpu(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = on_gpu(x)
    x.fill_(1.0)
    graph.replay()
    torch.testing.assert_close(out, torch.full_like(out, 1.0 + math.log(4.0)))


@needs_nvcc
@pytest.mark.parametrize("name", ["cuda_naive.py", "cuda_tuned.py"])
def test_cuda_source_compiles_without_torch_headers(name: str, tmp_path: Path) -> None:
    source, target = tmp_path / "cuda.cu", tmp_path / "cuda.o"
    source.write_text(string_constant(LOGSUMEXP / name, "CUDA_SOURCE"))
    run_nvcc(["-O3", "-std=c++17", "-arch=sm_90", "-Xcompiler", "-fPIC", "-c", str(source), "-o", str(target)])
    assert re.search(rb"logsumexp\w*_kernel", target.read_bytes())


def test_no_example_is_named_like_a_package_it_imports() -> None:
    files = sorted(KERNELS.rglob("*.py"))
    assert {file.stem for file in files} >= {"ref", "cpu", "cuda_naive", "cuda_tuned", "triton_fused"}
    for file in files:
        nodes = list(ast.walk(ast.parse(file.read_text())))
        imported = {alias.name.split(".")[0] for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        imported |= {str(node.module).split(".")[0] for node in nodes if isinstance(node, ast.ImportFrom)}
        assert file.stem not in imported
