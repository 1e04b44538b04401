"""The boards and architectures that kprof ships: every row holds what its vendor states."""

from __future__ import annotations

import pytest

from kprof.board import RATE_TYPES, TENSOR_TYPES, GpuSpec
from kprof.resources import resource_dir
from kprof.specfile import load_all_specs, load_architecture, load_spec

SPECS = {spec.name: spec for spec in load_all_specs()}
BANDWIDTH_BELOW_PINS = {"h200-sxm-141gb": 0.9763, "b200-180gb": 0.9775}
"""Boards specified more than 2 % below their pins' rate, with the ratio; their memory.note says so."""


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
class TestEveryShippedBoard:
    def test_file_is_named_for_the_board(self, spec: GpuSpec) -> None:
        assert load_spec(resource_dir("specs") / f"{spec.name}.yaml") == spec
        assert spec.device_names

    def test_peaks_are_sms_times_flop_times_clock(self, spec: GpuSpec) -> None:
        for rate, peak in spec.rates().items():
            identity = spec.sm_count * peak.flop_per_clk_per_sm * peak.clock_mhz * 1e6
            assert peak.flop_per_s == pytest.approx(identity, rel=0.02), rate
            assert peak.source, rate

    def test_sparse_is_twice_dense(self, spec: GpuSpec) -> None:
        for rate in TENSOR_TYPES:
            if sparse := getattr(spec.sparse, rate, None):
                peak = spec.peak(rate)
                assert peak is not None
                assert sparse == pytest.approx(2 * peak.tflops, rel=0.02), rate

    def test_bandwidth_is_pins_times_rate(self, spec: GpuSpec) -> None:
        memory = spec.memory
        assert memory.pin_gbit_per_s is not None
        assert memory.bus_bits is not None
        pins = memory.pin_gbit_per_s * memory.bus_bits / 8
        assert memory.pin_bandwidth_gbs == pytest.approx(pins, rel=1e-4)
        ratio = BANDWIDTH_BELOW_PINS.get(spec.name, 1.0)
        assert memory.bandwidth_gbs / pins == pytest.approx(ratio, rel=1e-3 if ratio < 1 else 0.02)
        assert ratio == 1.0 or memory.note

    def test_types_halve_from_one_to_the_next(self, spec: GpuSpec) -> None:
        """A TF32 figure in the row of BF16, or the reverse, is a factor of two and is caught here."""
        flop = {rate: peak.flop_per_clk_per_sm for rate, peak in spec.rates().items()}
        assert flop.get("tf32", 0) * 2 == flop.get("bf16", 0)
        assert flop.get("bf16", flop.get("fp16")) == flop.get("fp16")
        assert flop.get("fp8", 2 * flop["fp16"]) == 2 * flop["fp16"]

    def test_deviating_peaks_say_why(self, spec: GpuSpec) -> None:
        deviating = {
            rate
            for rate, peak in spec.rates().items()
            if peak.flop_per_s
            != pytest.approx(spec.sm_count * peak.flop_per_clk_per_sm * peak.clock_mhz * 1e6, rel=0.01)
            and peak.tflops >= 100  # below, the vendor's last digit is itself a per cent
        }
        assert deviating == ({"bf16", "fp16"} if spec.name == "l40s-48gb" else set())
        assert all(getattr(spec.peaks, rate).note for rate in deviating)


def test_rate_types_are_the_fields_of_peaks() -> None:
    fields = set(SPECS["h100-sxm5-80gb"].peaks.__struct_fields__)

    assert fields == set(RATE_TYPES)
    assert set(TENSOR_TYPES) < fields


ARCHITECTURES = {
    "7.0": (64, 32, 96, 96, (0, 8, 16, 32, 64, 96), 0, 256, 2),
    "7.5": (32, 16, 64, 64, (32, 64), 0, 256, 2),
    "8.0": (64, 32, 164, 163, (0, 8, 16, 32, 64, 100, 132, 164), 1024, 128, 2),
    "8.6": (48, 16, 100, 99, (0, 8, 16, 32, 64, 100), 1024, 128, 1),
    "8.9": (48, 24, 100, 99, (0, 8, 16, 32, 64, 100), 1024, 128, 1),
    "9.0": (64, 32, 228, 227, (0, 8, 16, 32, 64, 100, 132, 164, 196, 228), 1024, 128, 2),
    "10.0": (64, 32, 228, 227, (0, 8, 16, 32, 64, 100, 132, 164, 196, 228), 1024, 128, 2),
    "12.0": (48, 24, 100, 99, (0, 8, 16, 32, 64, 100), 1024, 128, 1),
}
"""Per compute capability: warps, blocks, KiB an SM, KiB a block, carveouts, reserved, granularity, barrier pool."""


@pytest.mark.parametrize("capability", ARCHITECTURES)
def test_what_an_sm_holds(capability: str) -> None:
    sm = load_architecture(resource_dir("specs/architectures") / f"{capability}.yaml")

    assert (
        sm.max_warps,
        sm.max_blocks,
        sm.shared_bytes // 1024,
        sm.shared_bytes_per_block_optin // 1024,
        tuple(size // 1024 for size in sm.shared_carveouts_bytes),
        sm.shared_reserved_bytes_per_block,
        sm.shared_granularity_bytes,
        sm.barrier_pool_factor,
    ) == ARCHITECTURES[capability]
    assert sm.max_threads == 32 * sm.max_warps
    assert (sm.registers, sm.register_granularity, sm.sub_partitions) == (65536, 256, 4)
    assert (sm.max_threads_per_block, sm.max_registers_per_thread, sm.l1_bytes_per_clk) == (1024, 255, 128)


def test_every_architecture_file_is_checked_above() -> None:
    assert {path.stem for path in resource_dir("specs/architectures").glob("*.yaml")} == set(ARCHITECTURES)
