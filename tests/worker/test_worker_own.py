"""Workers that load no user code: what they answer, and what is left when torch does not start or hangs."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from kprof.ceilings_measuring import measure_ceilings
from kprof.errors import CannotMeasureError
from kprof.own_worker import run_own_worker


def shadow_torch(folder: Path, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the worker find a torch of ours."""
    (folder / "shadow").mkdir()
    (folder / "shadow" / "torch.py").write_text(source)
    monkeypatch.setenv("PYTHONPATH", f"{folder / 'shadow'}:{Path(__file__).resolve().parents[2]}")


def test_what_torch_is_here(tmp_path: Path) -> None:
    answer = run_own_worker("installation", "cpu", tmp_path, 60)
    assert answer.failed is None
    assert answer.installation is not None
    assert answer.installation.torch == torch.__version__
    assert answer.installation.threads >= 1
    if not torch.cuda.is_available():
        assert answer.installation.devices == ()
        assert answer.installation.no_devices


def test_a_device_that_is_not_there_leaves_what_was_said_before(tmp_path: Path) -> None:
    answer = run_own_worker("installation", "cuda:97", tmp_path, 60)
    assert answer.installation is not None
    assert answer.failed is not None
    assert answer.failed.code == "no_such_device"
    assert "--device auto" in answer.failed.hint


def test_a_torch_that_does_not_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shadow_torch(tmp_path, "raise ImportError('libcudart.so.13: not found')\n", monkeypatch)
    answer = run_own_worker("installation", "cpu", tmp_path, 60)
    assert answer.installation is None
    assert answer.failed is not None
    assert answer.failed.message == "ImportError: libcudart.so.13: not found"


def test_a_torch_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shadow_torch(tmp_path, "import time\ntime.sleep(60)\n", monkeypatch)
    answer = run_own_worker("installation", "cpu", tmp_path, 1)
    assert answer.failed is not None
    assert (answer.failed.code, answer.failed.message) == ("timeout", "it took more than 1 s and was ended")


def test_nothing_measured_is_an_error_with_its_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shadow_torch(tmp_path, "raise ImportError('no torch')\n", monkeypatch)
    with pytest.raises(CannotMeasureError, match="no ceiling was measured: ImportError: no torch"):
        measure_ceilings("cpu", tmp_path, lambda _: None)
