"""``kprof specs``: the boards that kprof knows, or one of them in full."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import click
import msgspec
from tabulate import tabulate

from kprof.gpuspec import GpuSpec, L2Spec, RateType, SmFacts, load_all_specs, resolve_gpu

_NONE: Final = "-"
_ACCUMULATORS: Final = {"fp16_fp16_accumulate": "fp16, FP16 sum", "fp8_fp16_accumulate": "fp8, FP16 sum"}


@click.command(name="specs")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def command(name: str | None, as_json: bool) -> None:
    """List the GPU boards that kprof knows, or show one in full.

    NAME is a board's name, its driver's name for it, or a YAML file: a file of your own is checked as it is read.
    """
    if name is None:
        specs = load_all_specs()
        click.echo(_json({"specs": [_plain(s) for s in specs]}) if as_json else _listing(specs))
    else:
        spec = resolve_gpu(name)
        click.echo(_json(_plain(spec)) if as_json else _full(spec))


def _plain(spec: GpuSpec) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(spec)
    return {**plain, "ridge_points_flop_per_byte": spec.ridge_points()}


def _json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _listing(specs: Sequence[GpuSpec]) -> str:
    rows = [
        (
            spec.name,
            spec.compute_capability,
            spec.sm_count,
            _gib(spec.memory.bytes),
            f"{spec.memory.bandwidth_gbs:g}",
            f"{spec.peaks.fp32.tflops:g}",
            _NONE if spec.peaks.fp16 is None else f"{spec.peaks.fp16.tflops:g}",
            _ridge(spec.ridge_point("fp32")),
            _ridge(spec.ridge_point("fp16")),
            spec.confidence,
        )
        for spec in specs
    ]
    headers = ("board", "CC", "SMs", "memory", "GB/s", "FP32", "FP16", "ridge 32", "ridge 16", "conf")
    return "\n".join(
        (
            tabulate(rows, headers=headers, disable_numparse=True, colalign=("left", *["right"] * 8, "left")),
            "",
            "FP32: 1e12 FLOP/s; FP16: dense, tensor cores. ridge: FLOP/byte, peak over DRAM bandwidth.",
            "kprof specs NAME shows one board with its sources.",
        )
    )


def _full(spec: GpuSpec) -> str:
    parts = [
        f"{spec.title} ({spec.name})",
        tabulate(_board_rows(spec), tablefmt="plain", disable_numparse=True),
        _peaks_table(spec),
        "\n".join(f"{_type(rate)}: {peak.note}" for rate, peak in spec.rates().items() if peak.note),
        _sm_table(spec.sm),
    ]
    return "\n\n".join(part for part in parts if part)


def _board_rows(spec: GpuSpec) -> list[tuple[str, str]]:
    memory = spec.memory
    clocks = f"{spec.max_sm_clock_mhz:g} MHz"
    if spec.tensor_clock_mhz not in (None, spec.max_sm_clock_mhz):
        clocks += f"; tensor peaks are stated at {spec.tensor_clock_mhz:g} MHz"
    bandwidth = f"{memory.bandwidth_gbs:g} GB/s specified"
    if memory.pin_bandwidth_gbs is not None:
        bandwidth += f"; {memory.pin_bandwidth_gbs:g} GB/s at the pins"
    rows = [
        ("device names", ", ".join(spec.device_names) or _NONE),
        ("compute capability", spec.compute_capability),
        ("SMs", f"{spec.sm_count}"),
        ("max SM clock", clocks),
        ("memory", f"{_gib(memory.bytes)} {memory.type}"),
        ("bandwidth", bandwidth),
        ("", memory.source),
        ("L2", _l2(spec.l2)),
        *_achievable_rows(spec),
        ("confidence", spec.confidence),
    ]
    return rows + [("note", note) for note in (spec.note, memory.note, spec.l2.note) if note]


def _l2(l2: L2Spec) -> str:
    size = "size to be asked of the device" if l2.bytes is None else f"{l2.bytes / 2**20:g} MiB"
    if l2.bandwidth is None:
        return size
    return f"{size}; read {l2.bandwidth.read_gbs:g} GB/s, {l2.bandwidth.kind} ({l2.bandwidth.source})"


def _achievable_rows(spec: GpuSpec) -> list[tuple[str, str]]:
    reached = spec.achievable
    if reached is None:
        return []
    mixes = (
        ("read", reached.read_gbs),
        ("copy", reached.copy_gbs),
        ("triad", reached.triad_gbs),
        ("write", reached.write_gbs),
    )
    text = ", ".join(f"{mix} {gbs:g}" for mix, gbs in mixes if gbs is not None)
    return [("achievable", f"{text} GB/s"), ("", reached.source)]


def _peaks_table(spec: GpuSpec) -> str:
    rows = []
    for rate, peak in spec.rates().items():
        sparse = getattr(spec.sparse, rate, None)
        rows.append(
            (
                _type(rate),
                f"{peak.tflops:g}",
                f"{peak.flop_per_clk_per_sm}",
                f"{peak.clock_mhz:g}",
                _ridge(spec.ridge_point(rate)),
                _NONE if sparse is None else f"{sparse:g}",
                peak.source,
            )
        )
    headers = ("dense peak", "TFLOP/s", "FLOP/clk/SM", "MHz", "ridge FLOP/byte", "sparse", "source")
    return tabulate(rows, headers=headers, disable_numparse=True, colalign=("left", *["right"] * 5, "left"))


def _sm_table(sm: SmFacts) -> str:
    kib = ", ".join(f"{size / 1024:g}" for size in sm.shared_carveouts_bytes)
    rows = [
        ("warps, threads, blocks", f"{sm.max_warps}, {sm.max_threads}, {sm.max_blocks}"),
        ("registers", f"{sm.registers}; {sm.max_registers_per_thread} a thread, by {sm.register_granularity} a warp"),
        ("shared memory", f"{sm.shared_bytes / 1024:g} KiB; a block {sm.shared_bytes_per_block_optin / 1024:g} KiB"),
        ("carveouts", f"{kib} KiB"),
        ("a block's share", f"{sm.shared_reserved_bytes_per_block} B reserved, by {sm.shared_granularity_bytes} B"),
        ("source", sm.source),
    ]
    return tabulate([("an SM has", ""), *rows], tablefmt="plain", disable_numparse=True)


def _type(rate: RateType) -> str:
    return _ACCUMULATORS.get(rate, rate.replace("_", " "))


def _gib(count: int) -> str:
    return f"{count / 2**30:g} GiB"


def _ridge(value: float | None) -> str:
    return _NONE if value is None else f"{value:.1f}"
