"""Collections of counters that fail, in whole or in part: what each failure costs, and what is said of it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import msgspec
import pytest
from counter_bench import Bench, codes, evidence, launch, read_json, seen
from fake_ncu import VERSION

from kprof.counter_collection import collect, one_run
from kprof.counter_collection.collect import collect_counters
from kprof.counter_collection.options import CounterOptions
from kprof.counter_evidence import CountersEvidence
from kprof.evidence import Environment, Reason, Workload
from kprof.subprocesses.processes import process_stat
from kprof.worker.protocol import Request
from kprof.worker.supervisor import Limits, Worker

CONNECTED = "echo '==PROF== Connected to process 9 (/x/python)'\n"
PERMISSION = CONNECTED + "echo '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission'\n"
UNSUPPORTED = (
    "echo '==ERROR== Profiling is not supported on device 0. To find out supported GPUs refer --list-chips.'\n"
)
DRIVER = "echo '==ERROR== Cuda driver is not compatible with Nsight Compute.'\n"
NO_KERNELS = "echo '==WARNING== No kernels were profiled.'\n"
CASES = {
    "a": (PERMISSION + "exit 1", "counters_permission"),
    "b": (PERMISSION, "counters_permission"),
    "c": (UNSUPPORTED + NO_KERNELS, "ncu_unsupported_chip"),
    "d": (DRIVER + "echo '==ERROR== The application returned an error code (11).'; exit 11", "ncu_driver_mismatch"),
    "e": (NO_KERNELS, "ncu_no_kernels"),
    "f": ('echo \'"ID","Process ID","Kernel Name","Metric Name","Metric Value"\'', "ncu_empty_report"),
}


@pytest.mark.parametrize("case", CASES)
def test_an_ncu_that_always_says_the_same(bench: Bench, case: str) -> None:
    script, code = CASES[case]
    bench.ncu(script, answers=False)
    found = bench.collect(seen=seen(("k",)))
    assert found.evidence is None
    (fault,) = found.faults
    assert (fault.code, fault.stage, fault.side) == (code, "counters", None)
    assert fault.hint
    assert fault.detail, "its own words are kept"


def test_no_ncu_on_path(bench: Bench) -> None:
    found = bench.collect()
    assert [(fault.code, fault.stage) for fault in found.faults] == [("ncu_not_found", "counters")]
    assert (found.evidence, found.ncu_version) == (None, None)


def test_without_permission_it_is_not_started(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.ncu()
    denied = Reason(code="counters_permission", message="m", hint="h")
    monkeypatch.setattr(collect, "permission_reason", lambda: denied)
    found = bench.collect()
    assert [fault.reason for fault in found.faults] == [denied]
    assert found.ncu_version == VERSION, "the version is told all the same"
    assert not (bench.folder / "started").exists()


def test_what_holds_for_one_side_is_not_tried_for_the_other(bench: Bench) -> None:
    bench.ncu("echo run >> {folder}/runs; " + PERMISSION + "exit 1")
    found = bench.collect()
    assert [fault.code for fault in found.faults] == ["counters_permission"]
    assert bench.lines("runs") == ["run"]


def test_an_old_report_is_never_taken_for_this_runs(bench: Bench, tmp_path: Path) -> None:
    keep = tmp_path / "run.ncu-rep"
    keep.write_bytes(msgspec.json.encode(CountersEvidence(format="ncu_report", launches=(launch(0),))))
    bench.ncu("echo '==ERROR== Export failed.'; exit 1")
    found = bench.collect(seen=seen(("k",)), keep_report=keep)
    assert found.evidence is None
    assert [(fault.code, fault.message) for fault in found.faults] == [
        ("ncu_failed", "ncu ended with status 1: Export failed.")
    ]
    assert json.loads(keep.read_bytes())["launches"], "what was there is left as it was"


def test_a_report_that_cannot_be_read_or_is_empty_is_a_fault(bench: Bench) -> None:
    bench.ncu()
    (bench.folder / "kernel,ref.json").write_text("junk")
    assert [fault.code for fault in bench.collect(seen=seen(("k",))).faults] == ["ncu_report_unreadable"]
    bench.report("kernel,ref")
    found = bench.collect(seen=seen(("k",)))
    assert (found.evidence, [fault.code for fault in found.faults]) == (None, ["ncu_empty_report"])


def test_a_side_without_launches_is_absent_and_no_fault(bench: Bench) -> None:
    bench.ncu()
    bench.report("kernel,ref", launch(0))
    found = bench.collect(seen=seen(("k",)))
    assert found.faults == ()
    assert {side: reason.code for side, reason in evidence(found).side_absent.items()} == {"ref": "ncu_no_kernels"}
    bench.report("kernel", launch(0, None))
    bench.report("ref")
    found = bench.collect()
    assert found.faults == ()
    assert {side: reason.code for side, reason in evidence(found).side_absent.items()} == {"ref": "ncu_empty_report"}


TOLD = "if side == '{side}': send(fault=dict(stage='counters', side=side, code='raised', message='m')); os._exit(3)"


def test_a_side_that_raises_costs_itself_alone(bench: Bench) -> None:
    bench.ncu()
    bench.worker(TOLD.format(side="kernel"))
    bench.report("ref", launch(0, None))
    found = bench.collect(seen=seen(("k",)))
    assert bench.lines("started") == ["kernel,ref", "ref"]
    assert [(fault.code, fault.stage, fault.side) for fault in found.faults] == [("raised", "counters", "kernel")]
    whole = evidence(found)
    assert [one.side for one in whole.launches] == ["ref"]
    assert {side: reason.code for side, reason in whole.side_absent.items()} == {"kernel": "raised"}


def test_what_was_profiled_before_a_failure_is_used_and_said(bench: Bench) -> None:
    bench.ncu()
    bench.worker(TOLD.format(side="ref"))
    bench.report("kernel,ref", launch(0))
    found = bench.collect(seen=seen(("k",)))
    whole = evidence(found)
    assert [one.side for one in whole.launches] == ["kernel"]
    assert [(fault.code, fault.side) for fault in found.faults] == [("raised", "ref")]
    assert codes(whole.warnings) == ["ncu_partial"]
    assert whole.side_absent["ref"].code == "raised"


def test_a_fault_while_loading_is_the_counters_alone(bench: Bench) -> None:
    bench.ncu()
    bench.worker("send(fault=dict(stage='load', side='kernel', code='import_failed', message='m')); os._exit(3)")
    found = bench.collect(seen=seen(("k",), ()))
    assert {(fault.stage, fault.code) for fault in found.faults} == {("counters", "import_failed")}


def test_a_hang_ends_with_all_that_it_started_and_names_the_kernel(bench: Bench) -> None:
    bench.ncu(
        "(trap '' TERM; sleep 600) & echo $! > {folder}/child\n"
        'echo \'==PROF== Profiling "ring" - 3: \' > "$log"\n' + '"$@"; wait'
    )
    began = time.monotonic()
    found = bench.collect(limit_s=1.0)
    assert time.monotonic() - began < 8
    (fault,) = found.faults
    assert fault.code == "ncu_timeout"
    assert 'it was profiling "ring" (launch 3)' in fault.message
    child = int((bench.folder / "child").read_text())
    until = time.monotonic() + 5  # It has been killed; a busy machine takes a moment to end it.
    while (stat := process_stat(child)) is not None and not stat.ended and time.monotonic() < until:
        time.sleep(0.01)
    assert stat is None or stat.ended


def test_the_real_worker_says_that_it_has_no_gpu(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """ncu stands in, the worker is kprof's own, on a device that has no counters."""
    monkeypatch.setattr(one_run, "Worker", Worker)
    bench.ncu('"$@"')
    (bench.folder / "ref.py").write_text(
        "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x\n"
        "def get_inputs():\n    return [torch.zeros(2)]\ndef get_init_inputs():\n    return []\n"
    )
    (bench.folder / "kernel.py").write_text("from torch.nn import Identity as ModelNew\n")
    files = {"kernel_file": str(bench.folder / "kernel.py"), "ref_file": str(bench.folder / "ref.py")}
    workload = Workload(**files, kernel_sha256="0", ref_sha256="0", entry="ModelNew", seed=0)  # type: ignore[arg-type]
    request = Request(workload=workload, device="cpu", trials=1, stages=(), cache_dir=str(bench.folder / "cache"))
    found = collect_counters(
        request,
        CounterOptions(),
        Limits(),
        lambda update: None,
        environment=Environment(device="cuda:0"),
        launches=None,
        read_report=read_json,
    )
    assert [(fault.code, fault.side, fault.stage) for fault in found.faults] == [("no_cuda_device", None, "counters")]
