"""Which board: exact names, memory and SM count; never a neighbour, never a default."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kprof.errors import InputFileError, UsageError
from kprof.gpuspec import GpuSpec, SpecRefusal, load_all_specs, match_spec, resolve_gpu
from kprof.resources import resource_dir

SPECS = load_all_specs()
BY_NAME = {spec.name: spec for spec in SPECS}
GIB = 2**30
ISSUE_BOARDS = {
    "h100-sxm5-80gb", "h100-pcie-80gb", "h100-nvl-94gb", "h200-sxm-141gb", "gh200-96gb", "gh200-144gb",
    "a100-sxm-40gb", "a100-sxm-80gb", "a100-pcie-40gb", "a100-pcie-80gb", "l40s-48gb", "l4-24gb", "a10g-24gb",
    "t4-16gb", "v100-sxm2-16gb", "v100-sxm2-32gb", "v100-pcie-16gb", "v100-pcie-32gb", "rtx-4090-24gb",
    "rtx-5090-32gb", "b200-180gb",
}  # fmt: skip


def outcome(name: str | None, memory_bytes: int | None = None, sm_count: int | None = None) -> str:
    found = match_spec(name, memory_bytes, sm_count, SPECS)
    return found.name if isinstance(found, GpuSpec) else found.code


def refused(name: str | None, memory_bytes: int | None = None, sm_count: int | None = None) -> SpecRefusal:
    found = match_spec(name, memory_bytes, sm_count, SPECS)
    assert isinstance(found, SpecRefusal)
    return found


def test_the_boards_promised_are_there() -> None:
    assert set(BY_NAME) == ISSUE_BOARDS
    assert len(SPECS) == len(BY_NAME)


# --- case 49: names --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("NVIDIA H100 80GB HBM3", "h100-sxm5-80gb"),
        ("NVIDIA H100 PCIe", "h100-pcie-80gb"),
        ("NVIDIA H100 NVL", "h100-nvl-94gb"),
        ("NVIDIA H100", "spec_ambiguous"),
        ("NVIDIA H200", "h200-sxm-141gb"),
        ("NVIDIA H200 NVL", "spec_unknown"),
        ("NVIDIA H20", "spec_unknown"),
        ("NVIDIA GH200 480GB", "gh200-96gb"),
        ("NVIDIA GH200 120GB", "gh200-96gb"),
        ("NVIDIA GH200 144G HBM3e", "gh200-144gb"),
        ("NVIDIA L4", "l4-24gb"),
        ("NVIDIA L40", "spec_unknown"),
        ("NVIDIA L40S", "l40s-48gb"),
        ("NVIDIA A10", "spec_unknown"),
        ("NVIDIA A10G", "a10g-24gb"),
        ("NVIDIA A100-SXM4-40GB", "a100-sxm-40gb"),
        ("NVIDIA A100-SXM4-80GB", "a100-sxm-80gb"),
        ("NVIDIA A100-PCIE-40GB", "a100-pcie-40gb"),
        ("NVIDIA A100 80GB PCIe", "a100-pcie-80gb"),
        ("Tesla V100-SXM2-32GB", "v100-sxm2-32gb"),
        ("Tesla T4", "t4-16gb"),
        ("NVIDIA B200", "b200-180gb"),
        ("NVIDIA GB200", "spec_unknown"),
        ("NVIDIA B300", "spec_unknown"),
        ("GB300", "spec_unknown"),
        ("NVIDIA GeForce RTX 4090", "rtx-4090-24gb"),
        ("NVIDIA GeForce RTX 4090 D", "spec_unknown"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", "spec_unknown"),
        ("NVIDIA GeForce RTX 5090", "rtx-5090-32gb"),
        ("MIG 1g.10gb", "spec_unknown"),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", "spec_unknown"),
        ("NVIDIA", "spec_unknown"),
        ("H", "spec_unknown"),
        ("", "spec_unknown"),
        (" ", "spec_unknown"),
        (None, "spec_unknown"),
    ],
)
def test_each_name_is_its_own_row_or_none(name: str | None, expected: str) -> None:
    assert outcome(name) == expected


def test_an_ambiguous_name_says_which_gpu_values_would_do() -> None:
    refusal = refused("NVIDIA H100")

    assert refusal.candidates == ("h100-nvl-94gb", "h100-pcie-80gb", "h100-sxm5-80gb")
    assert refusal.hint == "Say which board it is: --gpu h100-nvl-94gb or --gpu h100-pcie-80gb or --gpu h100-sxm5-80gb."
    assert refusal.reason.code == "spec_ambiguous"
    assert refusal.reason.hint == refusal.hint


def test_an_unknown_name_offers_a_file_and_the_list_but_no_neighbour() -> None:
    refusal = refused("NVIDIA L40", 48 * GIB, 142)

    assert refusal.message == "'NVIDIA L40' is no board that kprof knows"
    assert "--gpu SPEC.yaml" in refusal.hint
    assert "kprof specs" in refusal.hint
    assert refusal.candidates == tuple(BY_NAME)


def test_a_mig_slice_is_told_from_its_board() -> None:
    assert "a MIG slice has only a part" in refused("NVIDIA A100-SXM4-40GB MIG 1g.5gb").message
    assert "a MIG slice has only a part" in refused("MIG 1g.10gb").message


@pytest.mark.parametrize(
    ("name", "memory_bytes", "sm_count", "expected"),
    [
        ("NVIDIA H100", None, 114, "h100-pcie-80gb"),
        ("NVIDIA H100", None, 132, "spec_ambiguous"),
        ("NVIDIA H100", 85_045_805_056, 132, "h100-sxm5-80gb"),
        ("NVIDIA H100", 95_830 * 2**20, 132, "h100-nvl-94gb"),
        ("NVIDIA H100", 95_830 * 2**20, 114, "spec_unknown"),
        ("NVIDIA H100", 64 * GIB, None, "spec_unknown"),
        ("NVIDIA A100", 81_920 * 2**20, 108, "spec_ambiguous"),
        ("NVIDIA GH200", 97_871 * 2**20, 132, "gh200-96gb"),
        ("NVIDIA GH200", 153_008_209_920, 132, "gh200-144gb"),
        ("NVIDIA H200", 143_155 * 2**20, 132, "h200-sxm-141gb"),
        ("NVIDIA H200", 143_155 * 2**20, 16, "spec_unknown"),
        ("NVIDIA L4", 22_574 * 2**20, 58, "l4-24gb"),
        ("NVIDIA A10G", 22_502 * 2**20, 80, "a10g-24gb"),
        ("NVIDIA GeForce RTX 4090", 48 * GIB, 128, "spec_unknown"),
    ],
)
def test_memory_and_sms_tell_variants_apart(
    name: str, memory_bytes: int | None, sm_count: int | None, expected: str
) -> None:
    assert outcome(name, memory_bytes, sm_count) == expected


def test_a_known_name_with_other_hardware_says_what_differs() -> None:
    refusal = refused("NVIDIA H200", 71 * GIB, 66)

    assert refusal.candidates == ("h200-sxm-141gb",)
    assert refusal.message == (
        "'NVIDIA H200' with 71 GiB and 66 SMs is no board that kprof knows: h200-sxm-141gb has 141 GiB and 132 SMs"
    )


def test_every_board_is_found_by_its_own_names() -> None:
    for spec in SPECS:
        for name in spec.device_names:
            found = match_spec(name, spec.memory.bytes, spec.sm_count, SPECS)
            assert found is spec or (isinstance(found, SpecRefusal) and spec.name in found.candidates)
    shared = {n for s in SPECS for n in s.device_names if sum(n in other.device_names for other in SPECS) > 1}
    assert shared == {"NVIDIA H100", "NVIDIA A100", "NVIDIA GH200"}


# --- cases 48 to 50: the right ceiling -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("board", "rate", "ridge", "tolerance"),
    [
        ("h100-sxm5-80gb", "fp32", 20.0, 0.05),
        # Often quoted as 295.2 and 206.0, from the rounded 989 TFLOP/s; the whitepaper has 989.4.
        ("h100-sxm5-80gb", "bf16", 295.2, 0.15),
        ("h200-sxm-141gb", "bf16", 206.0, 0.15),
        ("h100-sxm5-80gb", "tf32", 494.7 / 3.35, 1e-9),
        ("a100-sxm-80gb", "bf16", 312 / 2.039, 1e-9),
    ],
)
def test_ridge_points(board: str, rate: str, ridge: float, tolerance: float) -> None:
    assert BY_NAME[board].ridge_points()[rate] == pytest.approx(ridge, abs=tolerance)  # type: ignore[index]


def test_each_h100_has_its_own_dense_peak_and_bandwidth() -> None:
    rows = [BY_NAME[name] for name in ("h100-sxm5-80gb", "h100-pcie-80gb", "h100-nvl-94gb")]

    assert [spec.peaks.bf16.tflops for spec in rows if spec.peaks.bf16] == [989.4, 756, 835.5]
    assert [spec.memory.bandwidth_gbs for spec in rows] == [3350, 2039, 3938]


def test_sparse_is_never_a_roof() -> None:
    h100 = BY_NAME["h100-sxm5-80gb"]

    assert h100.peak_flop_per_s("bf16") == 989.4e12
    assert h100.sparse is not None
    assert h100.sparse.bf16 == 1978.9
    assert max(h100.ridge_points(), key=h100.ridge_points().__getitem__) in ("fp8", "int8")


def test_hopper_has_two_clocks() -> None:
    h100 = BY_NAME["h100-sxm5-80gb"]

    assert (h100.max_sm_clock_mhz, h100.tensor_clock_mhz) == (1980, 1830)
    assert {rate: peak.clock_mhz for rate, peak in h100.rates().items()} == {
        "fp64": 1980, "fp64_tensor": 1980, "fp32": 1980, "fp16_vector": 1980,
        "tf32": 1830, "bf16": 1830, "fp16": 1830, "fp8": 1830, "int8": 1830,
    }  # fmt: skip


def test_the_roof_at_an_observed_clock() -> None:
    h100 = BY_NAME["h100-sxm5-80gb"]

    assert h100.peak_flop_per_s("bf16", 1980) == pytest.approx(1070.5e12, rel=1e-4)
    assert h100.peak_flop_per_s("bf16", 1455) == pytest.approx(786.7e12, rel=1e-4)
    assert h100.peak_flop_per_s("fp32", 1980) == pytest.approx(66.9e12, rel=1e-3)
    assert h100.peak_flop_per_s("fp4", 1980) is None


def test_types_without_a_rate_are_absent_not_zero() -> None:
    for board in ("t4-16gb", "v100-sxm2-32gb"):
        assert BY_NAME[board].peak("bf16") is None
        assert BY_NAME[board].ridge_point("tf32") is None
        assert "fp8" not in BY_NAME[board].ridge_points()
    assert BY_NAME["a100-sxm-40gb"].peak_flop_per_s("fp8") is None


def test_fp16_accumulation_is_a_rate_of_its_own_where_it_differs() -> None:
    rtx = BY_NAME["rtx-4090-24gb"]

    assert rtx.peak_flop_per_s("fp16") == 165.2e12
    assert rtx.peak_flop_per_s("fp16_fp16_accumulate") == 330.3e12


def test_specified_pin_and_achievable_bandwidth_are_kept_apart() -> None:
    h200 = BY_NAME["h200-sxm-141gb"]

    assert (h200.memory.bandwidth_gbs, h200.memory.pin_bandwidth_gbs) == (4800, 4916.7)
    assert h200.achievable is not None
    assert (h200.achievable.read_gbs, h200.achievable.copy_gbs) == (4525, 4010)
    assert h200.l2.bytes is None
    assert h200.l2.note


# --- --gpu -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "argument", ["h200-sxm-141gb", "H200-SXM-141GB", "h200 sxm 141gb", "H200", "NVIDIA H200", "nvidia h200"]
)
def test_gpu_takes_a_boards_name_or_its_drivers(argument: str) -> None:
    assert resolve_gpu(argument).name == "h200-sxm-141gb"


def test_gpu_takes_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    text = (resource_dir("specs") / "h200-sxm-141gb.yaml").read_text()
    path.write_text(text.replace("name: h200-sxm-141gb", "name: mine"))

    assert resolve_gpu(str(path)).name == "mine"


def test_gpu_file_that_is_missing() -> None:
    with pytest.raises(InputFileError, match=r"cannot read no/such\.yaml"):
        resolve_gpu("no/such.yaml")


def test_gpu_with_an_ambiguous_name() -> None:
    with pytest.raises(UsageError, match="may be any of h100-nvl-94gb, h100-pcie-80gb, h100-sxm5-80gb"):
        resolve_gpu("h100")


@pytest.mark.parametrize(
    ("argument", "nearest"),
    [
        ("v100", "v100-pcie-16gb, v100-pcie-32gb, v100-sxm2-16gb, v100-sxm2-32gb"),
        ("h200-sxm-141g", "h200-sxm-141gb"),
        ("h20o", "h200"),
        ("RTX 4090 Ti", "rtx-4090-24gb"),
    ],
)
def test_gpu_with_an_unknown_name_suggests(argument: str, nearest: str) -> None:
    with pytest.raises(UsageError) as caught:
        resolve_gpu(argument)

    assert repr(argument) in caught.value.message
    assert nearest in caught.value.hint
    assert caught.value.exit_code == 2


def test_gpu_with_nothing_in_it() -> None:
    with pytest.raises(UsageError, match="found GPU name ''") as caught:
        resolve_gpu("")

    assert caught.value.hint == f"kprof specs lists all {len(SPECS)}."


def test_import_is_light() -> None:
    code = (
        "import sys, kprof.gpuspec; kprof.gpuspec.load_all_specs();"
        "print(*sorted({'torch', 'numpy', 'pandas', 'scipy', 'click', 'matplotlib'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == ""
