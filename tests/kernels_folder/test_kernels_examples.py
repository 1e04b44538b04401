"""The examples in kernels/: the log-sum-exp files agree with torch, the probes compile and do what they say."""

from __future__ import annotations

import ast
import ctypes
import importlib.util
import math
import os
import shutil
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

KERNELS = Path(__file__).resolve().parents[2] / "kernels"
LOGSUMEXP = KERNELS / "logsumexp"
PROBES = KERNELS / "probes"
PROBE_NAMES = ("dram_copy", "dram_read", "empty", "fma_fp32")

INF, NAN = math.inf, math.nan
# (R, B, D): one element, one row, a tail, either side of a tile of cpu.py, several threads' worth, many rows.
SHAPES = [(1, 1, 1), (1, 3, 5), (4, 10, 32), (3, 11, 93), (5, 25, 41), (8, 130, 257), (1000, 2, 7)]

needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc on PATH (found none)")
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU (torch finds none)")


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
def cpu(extensions_folder: None) -> torch.nn.Module:
    """cpu.py's model."""
    model: torch.nn.Module = load(LOGSUMEXP / "cpu.py").ModelNew()
    return model


@pytest.fixture(scope="module", params=["cuda_naive.py", "triton_fused.py"])
def on_gpu(request: pytest.FixtureRequest, extensions_folder: None) -> torch.nn.Module:
    """The model of each file that runs on a GPU."""
    if request.param.startswith("triton"):
        pytest.importorskip("triton", reason="needs triton (not installed with this torch)")
    with pytest.MonkeyPatch.context() as patch:
        # Where this is not set torch builds for every GPU present, and older versions warn about it.
        patch.setenv("TORCH_CUDA_ARCH_LIST", ".".join(str(part) for part in torch.cuda.get_device_capability()))
        model: torch.nn.Module = load(LOGSUMEXP / request.param).ModelNew()
    return model


def special_values() -> torch.Tensor:
    """(4, 1, N): in each column another mixture of infinities, NaN and extremes."""
    big = torch.finfo(torch.float32).max
    columns = [
        (-INF, -INF, -INF, -INF),
        (INF, INF, INF, INF),
        (INF, -INF, 0.0, 1.0),
        (-INF, INF, -INF, INF),
        (-INF, -INF, 2.0, -INF),
        (2.0, -INF, -INF, -INF),
        (NAN, 0.0, 1.0, 2.0),
        (0.0, 1.0, 2.0, NAN),
        (NAN, NAN, NAN, NAN),
        (INF, NAN, -INF, 0.0),
        (-INF, -INF, NAN, -INF),
        (NAN, INF, INF, INF),
        (big, -big, big, -big),
        (-big, -big, -big, -big),
        (0.0, -88.0, -104.0, -1e30),
        (-200.0, 100.0, -3e38, INF),
        (1e-45, -1e-45, 0.0, -0.0),
    ]
    return torch.tensor(columns).t().reshape(4, 1, -1).contiguous()


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
@needs_gpu
@pytest.mark.parametrize("shape", SHAPES)
def test_gpu_kernels_are_near_fp64(on_gpu: torch.nn.Module, shape: tuple[int, ...]) -> None:
    assert_near_fp64(on_gpu, shape, 0.0, "cuda")


@pytest.mark.gpu
@pytest.mark.compiles
@needs_gpu
def test_gpu_kernels_agree_on_special_values(on_gpu: torch.nn.Module) -> None:
    assert_special_values_agree(on_gpu, "cuda")


@pytest.mark.gpu
@pytest.mark.compiles
@needs_gpu
def test_gpu_kernels_run_on_the_current_stream(on_gpu: torch.nn.Module) -> None:
    x = torch.randn(4, 10, 32, device="cuda")
    on_gpu(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = on_gpu(x)
    x.fill_(1.0)
    graph.replay()
    torch.testing.assert_close(out, torch.full_like(out, 1.0 + math.log(4.0)))


def string_constant(path: Path, name: str) -> str:
    """The text that a file assigns to ``name``, read without importing the file."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [name]:
            return str(ast.literal_eval(node.value))
    raise AssertionError(f"{path.name} assigns no {name}")


def run_nvcc(arguments: list[str]) -> None:
    """Run nvcc; its messages are the failure's message."""
    done = subprocess.run(["nvcc", *arguments], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


@needs_nvcc
def test_cuda_source_compiles_without_torch_headers(tmp_path: Path) -> None:
    source, target = tmp_path / "cuda.cu", tmp_path / "cuda.o"
    source.write_text(string_constant(LOGSUMEXP / "cuda_naive.py", "CUDA_SOURCE"))
    run_nvcc(["-O3", "-std=c++17", "-arch=sm_90", "-Xcompiler", "-fPIC", "-c", str(source), "-o", str(target)])
    assert b"logsumexp_kernel" in target.read_bytes()


def test_no_example_is_named_like_a_package_it_imports() -> None:
    files = sorted(KERNELS.rglob("*.py"))
    assert {file.stem for file in files} >= {"ref", "cpu", "cuda_naive", "triton_fused"}
    for file in files:
        nodes = list(ast.walk(ast.parse(file.read_text())))
        imported = {alias.name.split(".")[0] for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        imported |= {str(node.module).split(".")[0] for node in nodes if isinstance(node, ast.ImportFrom)}
        assert file.stem not in imported


def build_probe(name: str, folder: Path, arch: str) -> ctypes.CDLL:
    """Compile a probe as its README says, and load it."""
    library = folder / f"{name}.so"
    flags = ["-O3", f"-arch={arch}", "-shared", "-Xcompiler", "-fPIC"]
    run_nvcc([*flags, str(PROBES / f"{name}.cu"), "-o", str(library)])
    return ctypes.CDLL(str(library))


def test_every_probe_is_tested() -> None:
    assert tuple(sorted(path.stem for path in PROBES.glob("*.cu"))) == PROBE_NAMES


@needs_nvcc
@pytest.mark.parametrize("name", PROBE_NAMES)
def test_probe_compiles_and_exports_its_launcher(name: str, tmp_path: Path) -> None:
    assert hasattr(build_probe(name, tmp_path, "sm_90"), f"launch_{name}")


@pytest.fixture
def arch() -> str:
    """nvcc's name for the GPU at hand."""
    major, minor = torch.cuda.get_device_capability()
    return f"sm_{major}{minor}"


def pointer(tensor: torch.Tensor) -> ctypes.c_void_p:
    return ctypes.c_void_p(tensor.data_ptr())


def current_stream() -> ctypes.c_void_p:
    return ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)


@pytest.mark.gpu
@needs_gpu
@needs_nvcc
def test_empty_launches(tmp_path: Path, arch: str) -> None:
    torch.zeros(1, device="cuda")
    launch = build_probe("empty", tmp_path, arch).launch_empty
    assert launch(1, 32, current_stream()) == 0
    assert launch(1, 4096, current_stream()) != 0, "more threads than a block may have"
    torch.cuda.synchronize()


@pytest.mark.gpu
@needs_gpu
@needs_nvcc
@pytest.mark.parametrize("count", [1, 1000, 1_000_003])
def test_dram_copy_copies_every_byte(count: int, tmp_path: Path, arch: str) -> None:
    source = torch.randint(0, 256, (16 * count,), dtype=torch.uint8, device="cuda")
    target = torch.zeros(16 * count + 16, dtype=torch.uint8, device="cuda")
    launch = build_probe("dram_copy", tmp_path, arch).launch_dram_copy
    assert launch(pointer(source), pointer(target), ctypes.c_size_t(count), 33, 256, current_stream()) == 0
    torch.cuda.synchronize()
    assert torch.equal(target[:-16], source)
    assert int(target[-16:].sum()) == 0, "nothing is written past the end"


@pytest.mark.gpu
@needs_gpu
@needs_nvcc
@pytest.mark.parametrize("count", [1, 1000, 1_000_003])
def test_dram_read_sums_every_float_once(count: int, tmp_path: Path, arch: str) -> None:
    source = torch.randint(0, 4, (4 * count,), device="cuda").float()
    sums = torch.full((33 * 256,), NAN, device="cuda")
    launch = build_probe("dram_read", tmp_path, arch).launch_dram_read
    assert launch(pointer(source), pointer(sums), ctypes.c_size_t(count), 33, 256, current_stream()) == 0
    torch.cuda.synchronize()
    assert float(sums.double().sum()) == float(source.double().sum())


@pytest.mark.gpu
@needs_gpu
@needs_nvcc
def test_fma_fp32_does_the_work_it_states(tmp_path: Path, arch: str) -> None:
    blocks, threads, turns = 5, 256, 100
    out = torch.full((blocks, threads), NAN, device="cuda")
    launch = build_probe("fma_fp32", tmp_path, arch).launch_fma_fp32
    one = ctypes.c_float(1.0)
    assert launch(pointer(out), one, one, turns, blocks, threads, current_stream()) == 0
    torch.cuda.synchronize()
    expected = 8.0 * (torch.arange(threads, device="cuda") + 16 * turns) + 28
    assert torch.equal(out, expected.expand(blocks, threads))
