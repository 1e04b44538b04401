"""What one file sets for the whole process is set back, and said."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from kprof.collectors.settings import Settings


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda: torch.set_num_threads(torch.get_num_threads() + 1), "CPU threads"),
        (lambda: torch.set_default_dtype(torch.float64), "default dtype: torch.float64"),
        (lambda: torch.set_default_device("meta"), "default device: meta"),
        (lambda: setattr(torch.backends.cuda.matmul, "allow_tf32", True), "TF32 in matmul: True"),
    ],
)
def test_a_change_is_set_back_and_named(change: Callable[[], None], says: str) -> None:
    before = (torch.get_num_threads(), torch.get_default_dtype(), torch.backends.cuda.matmul.allow_tf32)
    settings = Settings()
    change()
    (warning,) = settings.restore("kernel")
    assert warning.code == "kernel_changes_settings"
    assert says in warning.message
    assert (torch.get_num_threads(), torch.get_default_dtype(), torch.backends.cuda.matmul.allow_tf32) == before
    assert torch.zeros(1).device.type == "cpu"
    assert settings.restore("kernel") == ()
