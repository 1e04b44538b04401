"""Settings of torch that one file may change and the other would be measured under.

A kernel file that calls ``torch.set_num_threads(1)`` or allows TF32 when it is imported would slow the reference, or
lower its precision, and gain by it. Both sides are measured under the settings that the reference left.
"""

from __future__ import annotations

from typing import Any, Final

import torch

from kprof.collectors.tf32 import Tf32Settings, convolution_may_use_tf32, matmul_may_use_tf32
from kprof.evidence import SIDE_NAMES, Reason, Side


def _set_default_device(device: Any) -> None:
    # None, not "cpu", is what torch has before anyone chose: it keeps the mode off.
    torch.set_default_device(None if torch.device(device).type == "cpu" else device)


def _default_device() -> Any:
    get = getattr(torch, "get_default_device", None)
    return get() if get is not None else torch.device("cpu")


def _set_anomaly_detection(on: bool) -> None:
    torch.autograd.set_detect_anomaly(on, torch.is_anomaly_check_nan_enabled())


_SETTINGS: Final[dict[str, tuple[Any, Any]]] = {
    "default dtype": (torch.get_default_dtype, torch.set_default_dtype),
    "default device": (_default_device, _set_default_device),
    "CPU threads": (torch.get_num_threads, torch.set_num_threads),
    "deterministic algorithms": (torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode),
    "anomaly detection": (torch.is_anomaly_enabled, _set_anomaly_detection),
    "oneDNN": (lambda: torch.backends.mkldnn.enabled, lambda on: setattr(torch.backends.mkldnn, "enabled", on)),
    "cuDNN": (lambda: torch.backends.cudnn.enabled, lambda on: setattr(torch.backends.cudnn, "enabled", on)),
    "deterministic cuDNN": (
        lambda: torch.backends.cudnn.deterministic,
        lambda on: setattr(torch.backends.cudnn, "deterministic", on),
    ),
    "flash attention": (torch.backends.cuda.flash_sdp_enabled, torch.backends.cuda.enable_flash_sdp),
    "memory-efficient attention": (
        torch.backends.cuda.mem_efficient_sdp_enabled,
        torch.backends.cuda.enable_mem_efficient_sdp,
    ),
    "cuDNN attention": (torch.backends.cuda.cudnn_sdp_enabled, torch.backends.cuda.enable_cudnn_sdp),
    "cuDNN benchmark": (
        lambda: torch.backends.cudnn.benchmark,
        lambda on: setattr(torch.backends.cudnn, "benchmark", on),
    ),
}


_TF32: Final = {"TF32 in matmul": matmul_may_use_tf32, "TF32 in cuDNN": convolution_may_use_tf32}


class Settings:
    """The settings of now, to come back to."""

    def __init__(self) -> None:
        self._kept = {name: read() for name, (read, _) in _SETTINGS.items()}
        self._kept_tf32 = {name: read() for name, read in _TF32.items()}
        self._tf32 = Tf32Settings()

    def changed(self) -> dict[str, Any]:
        """Those that differ now, with what they are; TF32 is looked at by `restore` alone."""
        now = {name: read() for name, (read, _) in _SETTINGS.items()}
        return {name: found for name, found in now.items() if found != self._kept[name]}

    def restore(self, side: Side) -> tuple[Reason, ...]:
        """Set back what differs; says what ``side``'s file had changed."""
        differing = self.changed()
        changed = [f"{name}: {found}" for name, found in differing.items()]
        for name in differing:
            _SETTINGS[name][1](self._kept[name])
        tf32 = [f"{name}: {read()}" for name, read in _TF32.items() if read() != self._kept_tf32[name]]
        if tf32:
            self._tf32.restore()
            changed += tf32
        if not changed:
            return ()
        return (
            Reason(
                code=f"{side}_changes_settings",
                message=f"the {SIDE_NAMES[side]}'s file changes settings of torch for the whole "
                f"process ({'; '.join(changed)}); they were set back, so that both sides are measured alike",
                hint="Set what one side needs inside its forward, and back again.",
            ),
        )
