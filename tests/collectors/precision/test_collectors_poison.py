"""Fresh memory is poisoned before the kernel runs, and nothing of that stays behind."""

from __future__ import annotations

import warnings

import pytest
import torch
import torch.utils.deterministic
from precision_runs import CPU, codes, run
from torch import Tensor

from kprof.collectors.precision.poison import CPU_METHOD, poisoned_memory, sizes_of


def test_an_unwritten_element_is_caught_by_poisoned_memory() -> None:
    def kernel(x: Tensor) -> Tensor:
        result = torch.empty_like(x)
        result[:-1] = x[:-1] * 2
        return result

    torch.empty(6, 5).copy_(torch.zeros(6, 5))
    evidence = run(kernel, lambda x: x * 2, trials=1)
    assert codes(evidence) == [["nonfinite_mismatch"]]
    assert evidence.trials[0].mismatched_elements == 5


def test_poison_covers_every_type_and_leaves_no_trace() -> None:
    mode, fill = torch.get_deterministic_debug_mode(), torch.utils.deterministic.fill_uninitialized_memory
    with warnings.catch_warnings(record=True) as seen, poisoned_memory(CPU, ()) as method:
        warnings.simplefilter("always")
        for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float64):
            assert torch.empty(4, dtype=dtype).float().isnan().all()
        # What torch::empty of a C++ extension calls.
        assert torch.ops.aten.empty.memory_format([4]).isnan().all()
        assert torch.empty_strided((2, 2), (1, 2)).isnan().all()
        assert (torch.empty(4, dtype=torch.int32) == 2**31 - 1).all()
    assert method == CPU_METHOD
    assert seen == []
    assert torch.get_deterministic_debug_mode() == mode == 0
    assert torch.utils.deterministic.fill_uninitialized_memory == fill


def test_poison_silences_the_warnings_of_its_own_mode_only() -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with poisoned_memory(CPU, ()):
            warnings.warn("put_ does not have a deterministic implementation, but you set warn_only", stacklevel=1)
            warnings.warn("mine", stacklevel=1)
    assert [str(one.message) for one in seen] == ["mine"]


def test_poison_restores_the_callers_mode_after_an_error() -> None:
    torch.set_deterministic_debug_mode("error")
    torch.utils.deterministic.fill_uninitialized_memory = False
    try:
        with pytest.raises(KeyError), poisoned_memory(CPU, ()):
            raise KeyError
        assert torch.get_deterministic_debug_mode() == 2
        assert torch.utils.deterministic.fill_uninitialized_memory is False
    finally:
        torch.set_deterministic_debug_mode("default")
        torch.utils.deterministic.fill_uninitialized_memory = True


def test_other_devices_are_not_poisoned_and_sizes_are_bytes() -> None:
    with poisoned_memory(torch.device("meta"), (4,)) as method:
        assert method is None
    assert sizes_of([torch.empty(3), (torch.empty(2, dtype=torch.float64), 1)]) == [12, 16]
