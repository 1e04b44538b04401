"""Which device, and what is known of the machine."""

from __future__ import annotations

import pytest
import torch

from kprof.collectors.clocks import ClockMonitor, throttle_names
from kprof.collectors.environment import NoSuchDeviceError, collect_environment, read_clocks, resolve_device


def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)


@pytest.mark.parametrize(
    ("asked", "device"), [("auto", "cuda:0"), ("cuda", "cuda:0"), ("cuda:1", "cuda:1"), ("cpu", "cpu")]
)
def test_a_device_that_is_there(monkeypatch: pytest.MonkeyPatch, asked: str, device: str) -> None:
    two_gpus(monkeypatch)
    assert str(resolve_device(asked)) == device


def test_auto_is_the_cpu_where_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    no_gpu(monkeypatch)
    assert resolve_device("auto") == torch.device("cpu")


@pytest.mark.parametrize(
    ("asked", "says"), [("cuda:2", "cuda:0, cuda:1 here"), ("mps", "cpu and on cuda:N"), ("gpu", "cpu and on cuda:N")]
)
def test_a_device_that_is_not_there(monkeypatch: pytest.MonkeyPatch, asked: str, says: str) -> None:
    two_gpus(monkeypatch)
    with pytest.raises(NoSuchDeviceError, match=says):
        resolve_device(asked)


def test_no_gpu_at_all_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    no_gpu(monkeypatch)
    with pytest.raises(NoSuchDeviceError, match="no CUDA device here"):
        resolve_device("cuda:0")


def test_the_environment_of_a_cpu_run() -> None:
    environment = collect_environment(torch.device("cpu"))
    assert environment.device == "cpu"
    assert environment.torch == str(torch.__version__)
    assert environment.cpu_threads == torch.get_num_threads()
    assert environment.command == (), "the command itself knows it"
    assert environment.gpu_uuid is None
    assert read_clocks(torch.device("cpu")) is None


def test_throttle_reasons_have_names_and_idle_is_none() -> None:
    assert throttle_names(0x1) == ()
    assert throttle_names(0x4) == ("sw_power_cap",)
    assert throttle_names(0x8 | 0x40) == ("hw_slowdown", "hw_thermal_slowdown")


def test_a_board_without_uuid_says_why_it_has_no_clocks() -> None:
    monitor = ClockMonitor(None)
    assert monitor.read() is None
    assert monitor.reason is not None
    assert monitor.reason.code == "no_uuid"


def test_a_machine_without_nvml_says_so() -> None:
    if torch.cuda.is_available():
        pytest.skip("needs a machine without an NVIDIA driver (found one)")
    monitor = ClockMonitor("GPU-00000000-0000-0000-0000-000000000000")
    assert monitor.read() is None
    assert monitor.reason is not None
    assert monitor.reason.code == "nvml_unavailable"
