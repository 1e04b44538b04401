"""The floor of a task: fewest bytes and FLOP, in time on a board."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kprof.board import GpuSpec
from kprof.capture import decode_capture
from kprof.errors import InputFileError
from kprof.evidence import Cache, Reason
from kprof.floor import NO_ROOF, Floor, task_floor
from kprof.floor_evidence import FloorEvidence
from kprof.gpuspec import resolve_gpu

DATA = Path(__file__).parent / "data"
H200 = resolve_gpu("h200-sxm-141gb")
L2 = 60 * 2**20
LARGE = FloorEvidence(
    input_bytes=4 * 8192 * 4096 * 4,
    parameter_bytes=0,
    output_bytes=8192 * 4096 * 4,
    uncounted_operators=("aten.logsumexp",),
    tf32_allowed=False,
)
TINY = FloorEvidence(
    input_bytes=4 * 320 * 4, parameter_bytes=0, output_bytes=320 * 4, uncounted_operators=("aten.logsumexp",)
)
CUBE = 2 * 8192**3


def gemm(operands: str, size: int = 2, **changes: Any) -> FloorEvidence:
    whole = 8192 * 8192 * size
    plain: dict[str, Any] = {
        "input_bytes": 2 * whole,
        "parameter_bytes": 0,
        "output_bytes": whole,
        "flop": {operands: CUBE},
        "counted_operators": ("aten.mm",),
    }
    return FloorEvidence(**{**plain, **changes})


def floor(evidence: FloorEvidence, cache: Cache = "cold", spec: GpuSpec | None = H200, **more: Any) -> Floor:
    return task_floor(evidence, spec, cache=cache, **{"l2_bytes": L2, **more})


def codes(found: Floor) -> list[str]:
    return [note.code for note in found.notes]


def test_the_large_logsumexp_is_bound_by_dram() -> None:
    found = floor(LARGE)
    assert found.bytes == 671_088_640
    assert found.dram_bytes == 671_088_640 - L2
    assert found.us == pytest.approx((671_088_640 - L2) / 4800e9 * 1e6)
    assert found.us == pytest.approx(126.7, abs=0.05)
    assert (found.kind, found.limit, found.flop) == ("bytes_only", "dram", None)
    assert found.reasons == {"flop": "flop_not_counted"}
    assert "aten.logsumexp" in found.notes[0].message


def test_the_tiny_one_has_a_floor_of_nanoseconds() -> None:
    found = floor(TINY)
    assert (found.bytes, found.dram_bytes) == (6400, 5120)
    assert found.us == pytest.approx(5120 / 4800e9 * 1e6)


def test_warm_what_l2_holds_moves_at_its_bandwidth() -> None:
    found = floor(TINY, "warm")
    assert found.us == pytest.approx(6400 / 9900e9 * 1e6)
    assert found.limit == "l2"
    # The H200's L2 bandwidth is one that programs reached: a kernel may pass it.
    assert (found.kind, codes(found)) == ("upper_estimate", ["measured_l2_bandwidth", "flop_not_counted"])


def test_warm_what_l2_has_no_room_for_comes_from_dram() -> None:
    assert floor(LARGE, "warm").us == pytest.approx((671_088_640 - L2) / 4800e9 * 1e6)


def test_cold_outputs_that_fit_into_l2_need_no_dram_but_l2() -> None:
    fill = FloorEvidence(input_bytes=0, parameter_bytes=0, output_bytes=10**7)
    found = floor(fill)
    assert (found.dram_bytes, found.limit) == (0, "l2")
    assert found.us == pytest.approx(1e7 / 9900e9 * 1e6)


@pytest.mark.parametrize(
    ("board", "operands", "tflops"),
    [
        ("h200-sxm-141gb", "bf16", 989.4),
        ("h200-sxm-141gb", "fp32", 66.9),
        ("h200-sxm-141gb", "fp64", 66.9),
        ("h200-sxm-141gb", "fp8", 1978.9),
        ("h200-sxm-141gb", "int8", 1978.9),
        ("l4-24gb", "fp64", 0.47),
    ],
)
def test_flop_run_at_the_dense_peak_of_their_type(board: str, operands: str, tflops: float) -> None:
    found = floor(gemm(operands), spec=resolve_gpu(board))
    assert found.us == pytest.approx(CUBE / (tflops * 1e12) * 1e6, rel=0.02)
    assert (found.kind, found.limit, codes(found)) == ("algorithmic", "flop", [])
    assert found.flop == (0 if operands == "int8" else CUBE)


def test_fp32_products_are_priced_at_tf32_only_as_far_as_the_reference_allowed_it() -> None:
    whole = floor(gemm("fp32", 4, tf32_flop=CUBE, tf32_allowed=True))
    assert whole.us == pytest.approx(CUBE / 494.7e12 * 1e6)
    half = floor(gemm("fp32", 4, tf32_flop=CUBE // 2, tf32_allowed=True))
    assert half.us == pytest.approx((CUBE / 2 / 494.7e12 + CUBE / 2 / 66.9e12) * 1e6)
    assert whole.flop == half.flop == CUBE
    turing = floor(gemm("fp32", 4, tf32_flop=CUBE), spec=resolve_gpu("t4-16gb"))
    assert turing.us == pytest.approx(CUBE / 8.1e12 * 1e6, rel=0.01)


def test_types_add_up() -> None:
    both = floor(gemm("bf16", flop={"bf16": CUBE, "fp32": CUBE}))
    assert both.us == pytest.approx((CUBE / 989.4e12 + CUBE / 66.9e12) * 1e6)


def test_flop_without_a_peak_are_left_out_and_said() -> None:
    ampere = resolve_gpu("a100-sxm-80gb")
    found = floor(gemm("fp8", 1), spec=ampere)
    assert (found.limit, found.kind) == ("dram", "bytes_only")
    assert codes(found) == ["flop_not_priced"]
    mixed = floor(gemm("fp8", 1, flop={"fp8": CUBE, "bf16": CUBE}), spec=ampere)
    assert (mixed.limit, mixed.kind) == ("flop", "algorithmic")
    assert mixed.us == pytest.approx(CUBE / 312e12 * 1e6)
    assert codes(mixed) == ["flop_not_priced"]


def test_flop_counted_in_part_are_said() -> None:
    found = floor(gemm("bf16", uncounted_operators=("aten.gelu",)))
    assert found.kind == "algorithmic"
    assert codes(found) == ["flop_partly_counted"]


def test_a_copy_has_no_flop_and_that_is_known() -> None:
    found = floor(FloorEvidence(input_bytes=2**30, parameter_bytes=0, output_bytes=2**30))
    assert (found.flop, found.kind, found.reasons, found.notes) == (0, "algorithmic", {}, ())


def test_what_may_lie_too_high_is_an_upper_estimate() -> None:
    unseen = Reason(code="unseen_code", message="code ran that is no operator of torch's")
    by_index = FloorEvidence(
        input_bytes=10**9, parameter_bytes=0, output_bytes=10**6, indexing_operators=("aten.index_select",)
    )
    assert (floor(by_index).kind, codes(floor(by_index))) == ("upper_estimate", ["reads_by_index"])
    other = floor(FloorEvidence(input_bytes=10**9, parameter_bytes=0, output_bytes=10**6, over_estimates=(unseen,)))
    assert (other.kind, other.flop) == ("upper_estimate", None)
    assert codes(other) == ["unseen_code", "flop_not_counted"]


@pytest.mark.parametrize(("moved", "kind"), [(0.97, "upper_estimate"), (0.99, "bytes_only"), (1.5, "bytes_only")])
def test_the_reference_itself_moved_fewer_bytes(moved: float, kind: str) -> None:
    found = floor(LARGE, ref_dram_bytes=moved * (671_088_640 - L2))
    assert found.kind == kind
    assert ("ref_moved_less" in codes(found)) is (kind == "upper_estimate")


def test_operators_that_nobody_saw() -> None:
    reason = Reason(code="operators_not_seen", message="the reference does not run while it is watched")
    found = floor(FloorEvidence(input_bytes=10**9, output_bytes=10**8, reason=reason))
    assert (found.bytes, found.flop, found.kind) == (11 * 10**8, None, "upper_estimate")
    assert codes(found) == ["operators_not_seen", "flop_not_counted"]


def test_without_a_board_bytes_and_flop_are_all_there_is() -> None:
    found = floor(gemm("bf16"), spec=None)
    assert (found.bytes, found.flop) == (3 * 8192 * 8192 * 2, CUBE)
    assert (found.us, found.kind, found.limit, found.dram_bytes) == (None, None, None, None)
    assert set(found.reasons.values()) == {NO_ROOF.code}
    unknown = Reason(code="spec_unknown", message="no board that kprof knows")
    assert set(floor(gemm("bf16"), spec=None, no_spec=unknown).reasons.values()) == {"spec_unknown"}


def test_bytes_that_were_not_counted() -> None:
    found = floor(FloorEvidence(input_bytes=100, parameter_bytes=None, output_bytes=100, flop={"bf16": 10}))
    assert (found.bytes, found.us, found.flop) == (None, None, 10)
    assert found.reasons == dict.fromkeys(("bytes", "dram_bytes", "us", "kind", "limit"), "bytes_not_counted")


def test_a_board_whose_l2_nobody_knows() -> None:
    assert floor(LARGE, l2_bytes=None).reasons["us"] == "l2_size_unknown"
    h100 = resolve_gpu("h100-sxm5-80gb")
    assert floor(TINY, l2_bytes=None, spec=h100).us == pytest.approx(5120 / 3350e9 * 1e6)
    assert floor(TINY, "warm", spec=h100).reasons["us"] == "l2_bandwidth_unknown"
    assert floor(TINY, "warm", spec=h100, l2_bytes_per_s=7e12).us == pytest.approx(6400 / 7e12 * 1e6)
    nothing = FloorEvidence(input_bytes=0, parameter_bytes=0, output_bytes=0)
    assert floor(nothing).reasons["us"] == "nothing_to_do"


@given(*[st.integers(0, 10**11)] * 3, st.integers(0, 10**15))
def test_a_floor_is_no_less_than_any_of_its_parts_and_grows_with_the_task(
    inputs: int, parameters: int, outputs: int, flop: int
) -> None:
    def of(more: int, cache: Cache) -> float:
        evidence = FloorEvidence(
            input_bytes=inputs + more, parameter_bytes=parameters, output_bytes=outputs, flop={"bf16": flop}
        )
        return floor(evidence, cache).us or 0.0

    cold, warm = of(0, "cold"), of(0, "warm")
    assert cold >= (inputs + parameters) / 4800e9 * 1e6 * (1 - 1e-12)
    assert cold >= flop / 989.4e12 * 1e6 * (1 - 1e-12)
    assert warm <= cold * (1 + 1e-12)
    assert of(10**9, "cold") >= cold
    assert of(10**9, "warm") >= warm


def captured(**changed: object) -> bytes:
    """A capture of a run on an H200 whose floor somebody edited."""
    plain = json.loads((DATA / "h200" / "cuda_naive_4x8192x4096.json").read_bytes())
    plain["floor"] |= changed
    return json.dumps(plain).encode()


@pytest.mark.parametrize(
    "edited",
    [
        {"input_bytes": -1}, {"parameter_bytes": -(2**40)}, {"output_bytes": -1}, {"input_bytes": 10**400},
        {"flop": {"fp32": -1}}, {"flop": {"bf16": 10**400}}, {"flop": {"fp32": 8}, "tf32_flop": -8},
        {"flop": {"fp32": 8}, "tf32_flop": 9}, {"tf32_flop": 1},
    ],
)  # fmt: skip
def test_a_capture_whose_task_asks_for_less_than_nothing_is_refused(edited: dict[str, object]) -> None:
    assert decode_capture(captured(), "c.json").floor is not None
    with pytest.raises(InputFileError, match=r"^c\.json: .* at `\$\.floor") as refused:
        decode_capture(captured(**edited), "c.json")
    assert "Make the capture again" in refused.value.hint
