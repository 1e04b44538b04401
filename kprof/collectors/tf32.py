"""Whether torch may use TF32, asked and set back through whichever of its two interfaces a file used.

From 2.9 on torch has ``fp32_precision`` beside ``allow_tf32``. Once a program has set the newer one, reading the older
one can raise; the newer one answers for both.
"""

from __future__ import annotations

from typing import Any, Final

import torch

_OLDER: Final[tuple[Any, ...]] = (torch.backends.cuda.matmul, torch.backends.cudnn)
# From the outer to the inner: what is set inside wins over what is set outside.
_NEWER: Final[tuple[Any, ...]] = tuple(
    part
    for part in (
        torch.backends,
        torch.backends.cuda.matmul,
        torch.backends.cudnn,
        getattr(torch.backends.cudnn, "conv", None),
        getattr(torch.backends.cudnn, "rnn", None),
    )
    if hasattr(part, "fp32_precision")
)


def matmul_may_use_tf32() -> bool:
    """FP32 matrix products on CUDA may run on TF32 tensor cores, as torch is set now."""
    return _may(torch.backends.cuda.matmul, torch.backends.cuda.matmul)


def convolution_may_use_tf32() -> bool:
    """FP32 convolutions of cuDNN may run on TF32 tensor cores, as torch is set now (torch's own default: yes)."""
    return _may(getattr(torch.backends.cudnn, "conv", None), torch.backends.cudnn)


class Tf32Settings:
    """Both interfaces' values of now, to come back to."""

    def __init__(self) -> None:
        self._newer = [part.fp32_precision for part in _NEWER]
        self._older = [_older_value(part) for part in _OLDER]

    def restore(self) -> None:
        """Set both interfaces back. The older one last: torch takes it as the word for both."""
        for part, value in zip(_NEWER, self._newer, strict=True):
            part.fp32_precision = value
        for part, allowed in zip(_OLDER, self._older, strict=True):
            if allowed is not None:
                part.allow_tf32 = allowed


def _older_value(part: Any) -> bool | None:
    """None where torch refuses to tell it, because the newer interface was used."""
    try:
        return bool(part.allow_tf32)
    except RuntimeError:
        return None


def _may(newer: Any, older: Any) -> bool:
    precision = getattr(newer, "fp32_precision", None)
    return bool(older.allow_tf32) if precision is None else precision == "tf32"
