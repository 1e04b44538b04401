"""TF32 is told and set back whichever of torch's two interfaces a file used."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch

from kprof.collectors.settings import Settings
from kprof.collectors.tf32 import Tf32Settings, convolution_may_use_tf32, matmul_may_use_tf32

MATMUL, CUDNN = torch.backends.cuda.matmul, torch.backends.cudnn
newer = pytest.mark.skipif(not hasattr(MATMUL, "fp32_precision"), reason="this torch has no fp32_precision")


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    before = Tf32Settings()
    yield
    before.restore()


def set_to(part: object, name: str, value: object) -> Callable[[], None]:
    return lambda: setattr(part, name, value)


STARTS = [
    lambda: None,
    set_to(MATMUL, "allow_tf32", True),
    set_to(MATMUL, "fp32_precision", "tf32"),
    lambda: torch.set_float32_matmul_precision("high"),
]
CHANGES = [
    set_to(torch.backends, "fp32_precision", "tf32"),
    set_to(torch.backends, "fp32_precision", "ieee"),
    set_to(MATMUL, "fp32_precision", "tf32"),
    set_to(MATMUL, "fp32_precision", "ieee"),
    set_to(MATMUL, "allow_tf32", True),
    set_to(MATMUL, "allow_tf32", False),
    set_to(CUDNN, "allow_tf32", False),
    lambda: setattr(CUDNN.conv, "fp32_precision", "ieee"),
]


@newer
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("change", CHANGES)
def test_what_a_file_changes_is_set_back(start: Callable[[], None], change: Callable[[], None]) -> None:
    start()
    before = (matmul_may_use_tf32(), convolution_may_use_tf32())
    settings = Settings()
    change()
    changed = (matmul_may_use_tf32(), convolution_may_use_tf32()) != before
    said = settings.restore("kernel")
    assert [one.code for one in said] == ["kernel_changes_settings"] * changed
    assert (matmul_may_use_tf32(), convolution_may_use_tf32()) == before
    assert settings.restore("kernel") == ()


@newer
def test_the_older_interface_can_be_read_again() -> None:
    settings = Settings()
    MATMUL.fp32_precision = "tf32"
    with pytest.raises(RuntimeError):
        _ = MATMUL.allow_tf32
    (said,) = settings.restore("kernel")
    assert "TF32 in matmul: True" in said.message
    assert MATMUL.allow_tf32 is False
