"""Workers that load no user code: what they answer, and what is left when torch does not start or hangs."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from ceilings import h200_ceilings

from kprof import ceilings_measuring
from kprof.ceilings_evidence import CeilingsEvidence
from kprof.ceilings_measuring import measure_ceilings
from kprof.errors import CannotMeasureError
from kprof.own_worker import OwnAnswer, run_own_worker
from kprof.turns import turn_on
from kprof.worker import own
from kprof.worker.answers import Answers
from kprof.worker.protocol import TURN_FILE, UPDATES_FILE, OwnRequest, Update, decode_update


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


def answered(folder: Path) -> list[Update]:
    lines = (folder / UPDATES_FILE).read_bytes().splitlines()
    return [update for line in lines if (update := decode_update(line)) is not None]


@pytest.mark.parametrize("device", ["cuda:0", "cpu"])
def test_roofs_of_a_gpu_are_not_measured_before_it_is_free(
    device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own, "resolve_device", torch.device)
    monkeypatch.setattr(own, "board_uuid", lambda _: "GPU-1")
    monkeypatch.setattr(own, "collect_ceilings", lambda *_: iter([h200_ceilings()]))
    (tmp_path / UPDATES_FILE).touch()
    request = OwnRequest(task="ceilings", device=device, cache_dir=str(tmp_path))
    worker = threading.Thread(target=own.run_own, args=(request, Answers(tmp_path), tmp_path), daemon=True)
    worker.start()
    worker.join(0.3 if device != "cpu" else 10)
    if device != "cpu":
        assert worker.is_alive()
        assert [update.waits_for for update in answered(tmp_path)] == [None, "GPU-1"]
        (tmp_path / TURN_FILE).touch()
        worker.join(10)
    assert not worker.is_alive()
    updates = answered(tmp_path)
    assert updates[-1].ceilings == h200_ceilings()
    assert [update.waits_for for update in updates if update.waits_for] == ([] if device == "cpu" else ["GPU-1"])


def test_a_gpu_is_held_while_its_roofs_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[str] = []
    monkeypatch.setattr(ceilings_measuring, "turn_on", functools.partial(turn_on, folder=tmp_path))

    def worker(*arguments: object) -> OwnAnswer:
        on_update = arguments[-1]
        assert callable(on_update)
        on_update(Update(waits_for="GPU-1"))
        with pytest.raises(CannotMeasureError), turn_on("GPU-1", 0, waited.append, tmp_path):
            pass
        return OwnAnswer(ceilings=h200_ceilings())

    monkeypatch.setattr(ceilings_measuring, "run_own_worker", worker)
    measure: Callable[[], CeilingsEvidence] = functools.partial(
        measure_ceilings, "cuda:0", tmp_path, lambda _: None, waited.append, 0.3
    )
    assert measure().get("l2") is not None
    assert waited.pop() == "GPU-1"
    with turn_on("GPU-1", 0, waited.append, tmp_path):
        assert waited == [], "let go in the end"
        with pytest.raises(CannotMeasureError, match="another kprof has been measuring") as caught:
            measure()
    assert (caught.value.code, waited) == ("device_busy", ["GPU-1"])
