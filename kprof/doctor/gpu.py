"""Checks of the GPU: driver, torch's CUDA, nvcc, the board's spec and its state, and who else is using it."""

from __future__ import annotations

from typing import Final

from kprof.doctor.facts import Facts, visible_devices
from kprof.doctor.records import NO_DEVICE, NO_GPU, Check
from kprof.gpuspec import GpuSpec, load_all_specs, match_spec

_ON_GPU: Final = "kernels are measured on a CUDA device through it"
_SLOW: Final = frozenset(
    {"hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_power_cap"}
)
_BUSY_PCT: Final = 5


def skipped(name: str, why: str, facts: Facts) -> Check:
    """A check of something that the CPU does not have."""
    found = "the device is the CPU" if facts.asked == "cpu" else NO_DEVICE if facts.on_gpu else NO_GPU
    return Check(name=name, state="skipped", found=found, why=why)


def driver_check(facts: Facts) -> Check:
    why = _ON_GPU
    boards = facts.boards
    if not facts.on_gpu:
        check = skipped("driver", why, facts)
        if boards.error and facts.asked != "cpu":
            return Check(name="driver", state="skipped", found=f"{check.found} (NVML: {boards.error})", why=why)
        return check
    if boards.driver is None:
        hint = "Check that nvidia-smi works here; in a container, start it with --gpus all."
        return Check(name="driver", state="fail", found=f"NVML: {boards.error}", why=why, hint=hint)
    names = ", ".join(board.name for board in boards.boards) or "no board"
    return Check(
        name="driver", state="ok", found=f"driver {boards.driver} (CUDA {boards.driver_cuda}): {names}", why=why
    )


def cuda_check(facts: Facts) -> Check:
    """Torch sees the device, and has kernels for its architecture."""
    torch, name = facts.installation, "torch_cuda"
    if not facts.on_gpu:
        return skipped(name, _ON_GPU, facts)
    if torch is None:
        return Check(name=name, state="skipped", found="torch does not answer", why=_ON_GPU, hint="Mend torch first.")
    if facts.device is None:
        return _no_device(facts)
    device = facts.device
    found = f"cuda:{facts.index} is {device.name}, compute capability {device.compute_capability}"
    digits = device.compute_capability.replace(".", "")
    if torch.architectures and not _has_code(torch.architectures, digits):
        has = ", ".join(torch.architectures)
        hint = "Install a build of torch for this board's architecture."
        return Check(name=name, state="fail", found=f"{found}; torch has code for {has}", why=_ON_GPU, hint=hint)
    return Check(name=name, state="ok", found=found, why=_ON_GPU)


def _no_device(facts: Facts) -> Check:
    torch, visible = facts.installation, visible_devices()
    assert torch is not None
    if torch.devices:
        count = len(torch.devices)
        return Check(
            name="torch_cuda",
            state="fail",
            found=f"--device {facts.asked}: torch has {count} device{'s' if count > 1 else ''}",
            why=_ON_GPU,
            hint="Give --device cuda:0.",
        )
    hint = "Install torch for CUDA (pytorch.org says which build fits this driver)."
    if torch.cuda is not None:
        newest = facts.boards.driver_cuda
        hint = f"The driver runs CUDA up to {newest or '?'}, torch was built for {torch.cuda}: let them fit."
    if visible is not None:
        hint = f"CUDA_VISIBLE_DEVICES is {visible!r}: unset it. {hint}"
    return Check(name="torch_cuda", state="fail", found=torch.no_devices or "no device", why=_ON_GPU, hint=hint)


def _has_code(architectures: tuple[str, ...], digits: str) -> bool:
    """Binary code of the same major version and no newer minor one, or PTX no newer (CUDA's own rule)."""
    for architecture in architectures:
        kind, _, version = architecture.partition("_")
        number = version.rstrip("af")
        if not number.isdigit():
            continue
        if kind == "sm" and number[:-1] == digits[:-1] and int(number) <= int(digits):
            return True
        if kind == "compute" and int(number) <= int(digits):
            return True
    return False


def nvcc_check(facts: Facts) -> Check:
    why = "kernels in CUDA C++ are compiled with it; Triton needs none"
    torch = facts.installation
    if not facts.on_gpu or torch is None:
        return skipped("nvcc", why, facts)
    if torch.nvcc is None or torch.nvcc_version is None:
        found = "no nvcc" if torch.nvcc is None else f"{torch.nvcc} does not run"
        hint = f"Install the CUDA toolkit {torch.cuda or ''}".rstrip() + ", or set CUDA_HOME to where it is."
        return Check(name="nvcc", state="fail", found=found, why=why, hint=hint)
    found = f"{torch.nvcc}: {torch.nvcc_version}"
    if torch.cuda and f"cuda_{torch.cuda.partition('.')[0]}." not in torch.nvcc_version:
        hint = f"torch refuses another major version than its own ({torch.cuda}): set CUDA_HOME to a toolkit of it."
        return Check(name="nvcc", state="fail", found=found, why=why, hint=hint)
    return Check(name="nvcc", state="ok", found=found, why=why)


def cupti_check(facts: Facts) -> Check:
    why = "device time and the launches of a call come from torch.profiler, which needs CUPTI"
    torch = facts.installation
    if not facts.on_gpu or torch is None or facts.device is None:
        return skipped("cupti", why, facts)
    hint = "Another profiler may hold CUPTI (nsys, ncu, DCGM); else install torch again."
    if torch.profiler_absent is not None:
        return Check(name="cupti", state="fail", found=torch.profiler_absent.message, why=why, hint=hint)
    if torch.profiled_kernels is None:
        told = facts.torch.failed.message if facts.torch.failed is not None else "it was not tried"
        return Check(name="cupti", state="fail", found=f"torch.profiler: {told}", why=why, hint=hint)
    if torch.profiled_kernels == 0:
        found = "torch.profiler saw no kernel of a call that launches one"
        return Check(name="cupti", state="fail", found=found, why=why, hint=hint)
    return Check(name="cupti", state="ok", found="torch.profiler sees a kernel", why=why)


def nvml_check(facts: Facts) -> Check:
    why = "clocks, power and throttling around each group of samples"
    if not facts.on_gpu:
        return skipped("nvml", why, facts)
    board = facts.board
    if board is None:
        found = facts.boards.error or "NVML does not know the board that torch uses"
        hint = "Check that nvidia-smi works here."
        return Check(name="nvml", state="fail", found=found, why=why, hint=hint)
    if board.clocks is None or board.clocks.sm_mhz is None:
        hint = "Slices of a board (MIG, vGPU) may not tell; samples are then not checked by clock."
        return Check(name="nvml", state="warn", found=f"{board.name}: no clocks", why=why, hint=hint)
    return Check(name="nvml", state="ok", found=f"{board.name}, {board.uuid}", why=why)


def spec_check(facts: Facts) -> Check:
    why = "roofs, the floor and the task score rest on the board's peaks"
    device = facts.device
    if not facts.on_gpu or device is None:
        return skipped("spec", why, facts)
    found = match_spec(device.name, device.memory_bytes, device.sm_count, load_all_specs())
    if isinstance(found, GpuSpec):
        return Check(name="spec", state="ok", found=f"{found.name} (confidence {found.confidence})", why=why)
    return Check(name="spec", state="fail", found=found.message, why=why, hint=found.hint)


def clocks_check(facts: Facts) -> Check:
    why = "a board that is hot, capped or locked low is measured as it is, not as it can be"
    board = facts.board
    if not facts.on_gpu or board is None or board.clocks is None:
        return skipped("clocks", why, facts)
    clocks = board.clocks
    most = f" of {board.max_sm_mhz}" if board.max_sm_mhz else ""
    found = f"SM {clocks.sm_mhz}{most} MHz, memory {clocks.memory_mhz} MHz"
    found += f", {clocks.power_w:.0f} W" if clocks.power_w is not None else ""
    found += f" of {clocks.power_limit_w:.0f}" if clocks.power_w is not None and clocks.power_limit_w else ""
    found += f", {clocks.temperature_c} C" if clocks.temperature_c is not None else ""
    held = clocks.throttle_reasons or ()
    if _SLOW.intersection(held):
        hint = "Let the board cool, or end what loads it; nvidia-smi -q -d PERFORMANCE says more."
        return Check(name="clocks", state="warn", found=f"{found}; held down by {', '.join(held)}", why=why, hint=hint)
    if "applications_clocks_setting" in held:
        hint = "nvidia-smi -rac and -rgc undo it; locked clocks make times repeatable, and longer."
        return Check(name="clocks", state="warn", found=f"{found}; clocks are set", why=why, hint=hint)
    return Check(name="clocks", state="ok", found=f"{found}; nothing holds them down", why=why)


def others_check(facts: Facts) -> Check:
    why = "other work on the board makes times longer and moves the counters of caches and DRAM"
    board = facts.board
    if not facts.on_gpu or board is None:
        return skipped("other_users", why, facts)
    used = "" if board.memory_used_bytes is None else f"{board.memory_used_bytes / 1e9:.1f} GB in use"
    busy = "" if board.busy_pct is None else f"{board.busy_pct} % busy"
    found = ", ".join(part for part in (used, busy) if part) or "the driver does not say"
    if board.processes or (board.busy_pct or 0) > _BUSY_PCT:
        ids = ", ".join(str(pid) for pid in board.processes or ()) or "not visible from here"
        hint = "Measure when they are done, or on another board (--device cuda:N)."
        return Check(name="other_users", state="warn", found=f"{found}; processes: {ids}", why=why, hint=hint)
    if board.mig:
        hint = "Counters of L2 and DRAM are shared by the slices of a board."
        return Check(name="other_users", state="warn", found=f"{found}; the board is sliced (MIG)", why=why, hint=hint)
    return Check(name="other_users", state="ok", found=f"{found}, no other process", why=why)
