"""What older harnesses gave their files is there, and only where it is absent."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator

import pytest
import torch

from kprof.harness_names import jitter_int, provide_harness_names


@pytest.fixture(autouse=True)
def _no_kernelbench(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("kernelbench", "kernelbench.distributed_collectives"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield
    for name in ("kernelbench", "kernelbench.distributed_collectives"):
        sys.modules.pop(name, None)


def test_jitter_stays_in_its_range_and_reaches_both_ends() -> None:
    torch.manual_seed(0)
    drawn = {jitter_int(20) for _ in range(2000)}
    assert drawn == set(range(17, 24))  # int(20 * 0.85) = 17, int(20 * 1.15) = 23


def test_jitter_is_drawn_from_torchs_generator() -> None:
    torch.manual_seed(7)
    first = [jitter_int(1000) for _ in range(5)]
    torch.manual_seed(7)
    assert [jitter_int(1000) for _ in range(5)] == first
    assert len(set(first)) > 1


def test_jitter_aligns_down_and_never_below_one_step() -> None:
    torch.manual_seed(0)
    assert {jitter_int(100, align=16) % 16 for _ in range(200)} == {0}
    assert jitter_int(4, align=16) == 16
    assert {jitter_int(1, minimum=1) for _ in range(20)} == {1}


def test_jitter_refuses_an_empty_range() -> None:
    with pytest.raises(ValueError, match=r"nothing to draw from \[50, 11\]"):
        jitter_int(10, minimum=50)


def test_both_names_are_provided() -> None:
    module = types.ModuleType("user_file")
    provide_harness_names(module)
    source = (
        "from kernelbench.distributed_collectives import default_device\n"
        "size = popcorn_pri.jitter_int(10)\ndevice = default_device()\n"
    )
    exec(source, vars(module))
    assert 8 <= module.size <= 11
    assert module.device.type == ("cuda" if torch.cuda.is_available() else "cpu")


def test_what_is_there_already_stays() -> None:
    module = types.ModuleType("user_file")
    vars(module)["popcorn_pri"] = "theirs"
    own = types.ModuleType("kernelbench.distributed_collectives")
    sys.modules["kernelbench.distributed_collectives"] = own
    provide_harness_names(module)
    assert module.popcorn_pri == "theirs"
    assert sys.modules["kernelbench.distributed_collectives"] is own
