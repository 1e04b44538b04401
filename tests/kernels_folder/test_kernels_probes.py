"""The probes in kernels/probes: they compile, state their work for any board, and on a GPU do what they state."""

from __future__ import annotations

import ctypes
import math
import re

import pytest
import torch
from kernel_files import PROBES, needs_nvcc

from kprof.collectors.probes.build import build_probes
from kprof.collectors.probes.toolchain import find_nvcc

NAN = math.nan
PROBE_NAMES = tuple(sorted(path.stem for path in PROBES.glob("*.cu") if path.stem != "run_probes"))
TYPES = ("fp32_flop", "fp64_flop", "fp16_flop", "tensor_flop")


class Board(ctypes.Structure):
    """``Board`` of probe.h."""

    _fields_ = (
        ("sms", ctypes.c_int),
        ("threads_per_sm", ctypes.c_int),
        ("shared_bytes_per_block", ctypes.c_int),
        ("compute_capability", ctypes.c_int),
        ("l2_bytes", ctypes.c_size_t),
        ("buffer_bytes", ctypes.c_size_t),
        ("ridge_flop_per_byte", ctypes.c_double),
    )


class Work(ctypes.Structure):
    """``Work`` of probe.h."""

    _fields_ = (
        ("launches", ctypes.c_int),
        ("read_bytes", ctypes.c_double),
        ("write_bytes", ctypes.c_double),
        ("load_bytes", ctypes.c_double),
        ("store_bytes", ctypes.c_double),
        *((name, ctypes.c_double) for name in TYPES),
    )


H200 = Board(132, 2048, 232448, 90, 60 << 20, 960 << 20, 13.9)
T4 = Board(40, 1024, 65536, 75, 4 << 20, 256 << 20, 27.0)
THREADS = 132 * 2048
# For an H200, worked out by hand from what each source says that it does.
STATED = {
    "dram_copy": {"read_bytes": 960 * 2.0**20, "write_bytes": 960 * 2.0**20},
    "dram_triad": {"read_bytes": 960 * 2.0**20, "write_bytes": 480 * 2.0**20, "fp32_flop": 2 * 120 * 2.0**20},
    "empty": {"read_bytes": 0.0, "write_bytes": 0.0},
    "fma_fp32": {"fp32_flop": THREADS * (2 * 16384 + 7.0)},
    "fma_fp64": {"fp64_flop": THREADS * (2 * 8192 + 7.0)},
    "int_alu": {"fp32_flop": 0.0},
    "l2_read": {"read_bytes": 15 * 2.0**20, "load_bytes": THREADS * 4096.0},
    "mma_sync": {"tensor_flop": THREADS / 32 * 2048 * 4096.0},
    "pointer_chase": {"read_bytes": (128 * 288 + 4) * THREADS / 32.0, "load_bytes": (128 * 288 + 32) * THREADS / 32.0},
    "uncoalesced": {"read_bytes": 240 * 2.0**20, "load_bytes": 240 * 2.0**20, "store_bytes": 4.0 * THREADS},
    "spill": {"read_bytes": -1.0, "fp32_flop": THREADS * (2 * 512 + 63.0)},
    "under_filled": {"fp32_flop": 16 * 256 * (2 * 32768 + 7.0)},
    "wgmma": {"tensor_flop": 264 * 2 * 512 * 262144.0},
}


@pytest.fixture(scope="module")
def probes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ctypes.CDLL]:
    """Every probe, built as kprof builds them, for the GPU at hand or else for an H200."""
    capability = torch.cuda.get_device_capability() if torch.cuda.is_available() else (9, 0)
    built = build_probes(find_nvcc(), PROBES, PROBE_NAMES, capability, tmp_path_factory.mktemp("probes"))
    assert not built.logs, built.logs
    return {name: ctypes.CDLL(str(path)) for name, path in built.libraries.items()}


def work_of(probe: ctypes.CDLL, board: Board) -> Work | None:
    """What a probe states for a board; None: it cannot run there."""
    work = Work(launches=1)
    return work if probe.probe_work(ctypes.byref(board), ctypes.byref(work)) == 0 else None


def test_every_probe_of_the_list_is_there() -> None:
    assert len(PROBE_NAMES) >= 26
    for name in PROBE_NAMES:
        source = (PROBES / f"{name}.cu").read_text()
        assert "By construction" in source
        assert re.search(rf"__global__ void (?:__launch_bounds__\([^)]*\) )?{name}\(", source), "named like its kernel"


@pytest.mark.compiles
@needs_nvcc
def test_probes_compile_and_export_what_the_runner_calls(probes: dict[str, ctypes.CDLL]) -> None:
    assert tuple(sorted(probes)) == PROBE_NAMES
    for name, library in probes.items():
        for function in (f"launch_{name}", "probe_work", "probe_run"):
            assert hasattr(library, function), f"{name}.cu exports no {function}"


@pytest.mark.compiles
@needs_nvcc
@pytest.mark.parametrize("name", STATED)
def test_work_is_what_the_source_says(name: str, probes: dict[str, ctypes.CDLL]) -> None:
    work = work_of(probes[name], H200)
    assert work is not None
    assert {field: getattr(work, field) for field in STATED[name]} == STATED[name]


@pytest.mark.compiles
@needs_nvcc
def test_every_board_gets_work_that_makes_sense(probes: dict[str, ctypes.CDLL]) -> None:
    for name, library in probes.items():
        for board in (H200, T4):
            work = work_of(library, board)
            if work is None:
                assert name in ("mma_sync", "wgmma")
                continue
            assert work.launches == 1
            for field in ("read_bytes", "write_bytes", "load_bytes", "store_bytes", *TYPES):
                assert getattr(work, field) >= 0 or getattr(work, field) == -1.0, (name, field)
            assert max(work.read_bytes, work.write_bytes) <= board.buffer_bytes
    assert work_of(probes["wgmma"], T4) is None


def pointer(tensor: torch.Tensor) -> ctypes.c_void_p:
    return ctypes.c_void_p(tensor.data_ptr())


def current_stream() -> ctypes.c_void_p:
    return ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)


@pytest.mark.gpu
@needs_nvcc
def test_empty_launches(probes: dict[str, ctypes.CDLL]) -> None:
    torch.zeros(1, device="cuda")
    launch = probes["empty"].launch_empty
    assert launch(1, 32, current_stream()) == 0
    assert launch(1, 4096, current_stream()) != 0, "more threads than a block may have"
    torch.cuda.synchronize()


@pytest.mark.gpu
@needs_nvcc
@pytest.mark.parametrize("count", [1, 1000, 1_000_003])
def test_dram_copy_copies_every_byte(count: int, probes: dict[str, ctypes.CDLL]) -> None:
    source = torch.randint(0, 256, (16 * count,), dtype=torch.uint8, device="cuda")
    target = torch.zeros(16 * count + 16, dtype=torch.uint8, device="cuda")
    launch = probes["dram_copy"].launch_dram_copy
    assert launch(pointer(source), pointer(target), ctypes.c_size_t(count), 33, 256, current_stream()) == 0
    torch.cuda.synchronize()
    assert torch.equal(target[:-16], source)
    assert int(target[-16:].sum()) == 0, "nothing is written past the end"


@pytest.mark.gpu
@needs_nvcc
@pytest.mark.parametrize("count", [1, 1000, 1_000_003])
def test_dram_read_sums_every_float_once(count: int, probes: dict[str, ctypes.CDLL]) -> None:
    source = torch.randint(0, 4, (4 * count,), device="cuda").float()
    sums = torch.full((33 * 256,), NAN, device="cuda")
    launch = probes["dram_read"].launch_dram_read
    assert launch(pointer(source), pointer(sums), ctypes.c_size_t(count), 33, 256, current_stream()) == 0
    torch.cuda.synchronize()
    assert float(sums.double().sum()) == float(source.double().sum())


@pytest.mark.gpu
@needs_nvcc
def test_fma_fp32_does_the_work_it_states(probes: dict[str, ctypes.CDLL]) -> None:
    blocks, threads, turns = 5, 256, 100
    out = torch.full((blocks, threads), NAN, device="cuda")
    launch = probes["fma_fp32"].launch_fma_fp32
    one = ctypes.c_float(1.0)
    assert launch(pointer(out), one, one, turns, blocks, threads, current_stream()) == 0
    torch.cuda.synchronize()
    expected = 8.0 * (torch.arange(threads, device="cuda") + 16 * turns) + 28
    assert torch.equal(out, expected.expand(blocks, threads))


@pytest.mark.gpu
@needs_nvcc
@pytest.mark.parametrize(("name", "chains", "dtype"), [("fma_fp64", 8, torch.float64), ("dependent_fma", 1, None)])
def test_chains_do_the_work_they_state(
    name: str, chains: int, dtype: torch.dtype | None, probes: dict[str, ctypes.CDLL]
) -> None:
    blocks, threads, turns = 5, 64, 100
    out = torch.full((blocks, threads), NAN, device="cuda", dtype=dtype)
    one = (ctypes.c_double if dtype is not None else ctypes.c_float)(1.0)
    launch = getattr(probes[name], f"launch_{name}")
    assert launch(pointer(out), one, one, turns, blocks, threads, current_stream()) == 0
    torch.cuda.synchronize()
    expected = chains * (torch.arange(threads, device="cuda") + 16 * turns) + sum(range(chains))
    assert torch.equal(out, expected.expand(blocks, threads).to(out.dtype))


@pytest.mark.gpu
@needs_nvcc
def test_wgmma_multiplies(probes: dict[str, ctypes.CDLL]) -> None:
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("needs compute capability 9.0")
    turns = 10
    out = torch.full((3, 256), NAN, device="cuda")
    assert probes["wgmma"].launch_wgmma(pointer(out), turns, 3, current_stream()) == 0
    torch.cuda.synchronize()
    assert torch.equal(out, torch.full_like(out, 64.0 * 16 * 4 * turns))


@pytest.mark.gpu
@needs_nvcc
@pytest.mark.parametrize("count", [1, 1000, 1_000_003])
def test_dram_triad_adds_a_multiple(count: int, probes: dict[str, ctypes.CDLL]) -> None:
    a, b = torch.randn(2, 4 * count, device="cuda")
    out = torch.full_like(a, NAN)
    triad = probes["dram_triad"].launch_dram_triad
    given = [pointer(a), pointer(b), pointer(out), ctypes.c_float(0.5), ctypes.c_size_t(count)]
    assert triad(*given, 33, 256, current_stream()) == 0
    torch.cuda.synchronize()
    assert torch.equal(out, torch.addcmul(a, b, torch.full_like(b, 0.5)))


@pytest.mark.gpu
@needs_nvcc
def test_no_two_chases_meet(probes: dict[str, ctypes.CDLL]) -> None:
    rows, blocks, threads, hops = 2**14, 8, 256, 64
    warps = blocks * threads // 32
    table = torch.zeros(rows * 32, dtype=torch.int32, device="cuda")
    starts, out = (torch.zeros(n, dtype=torch.int32, device="cuda") for n in (warps, blocks * threads))
    library = probes["pointer_chase"]
    assert library.prepare_pointer_chase(pointer(table), pointer(starts), rows, warps, hops, current_stream()) == 0
    given = [pointer(table), pointer(starts), pointer(out)]
    assert library.launch_pointer_chase(*given, hops, blocks, threads, current_stream()) == 0
    torch.cuda.synchronize()
    next_row = table.reshape(rows, 32)[:, 0]
    assert torch.equal(torch.sort(next_row.long()).values, torch.arange(rows, device="cuda")), "one cycle of all rows"
    row, met = starts.long(), []
    for _ in range(hops):
        met.append(row)
        row = next_row[row].long()
    assert len(torch.cat(met).unique()) == warps * hops
    assert torch.equal(out.reshape(warps, 32), row.int()[:, None].expand(warps, 32))
