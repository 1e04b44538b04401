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
        (lambda: torch.use_deterministic_algorithms(True), "deterministic algorithms: 2"),
        (lambda: torch.autograd.set_detect_anomaly(True) and None, "anomaly detection: True"),
        (lambda: setattr(torch.backends.mkldnn, "enabled", False), "oneDNN: False"),
        (lambda: setattr(torch.backends.cudnn, "enabled", False), "cuDNN: False"),
        (lambda: torch.backends.cuda.enable_flash_sdp(False), "flash attention: False"),
        (lambda: torch.backends.cuda.enable_cudnn_sdp(False), "cuDNN attention: False"),
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


def test_what_differs_can_be_asked_for_without_setting_it_back() -> None:
    settings = Settings()
    assert settings.changed() == {}
    torch.use_deterministic_algorithms(True)
    try:
        assert settings.changed() == {"deterministic algorithms": 2}
        assert torch.are_deterministic_algorithms_enabled()
    finally:
        torch.use_deterministic_algorithms(False)
