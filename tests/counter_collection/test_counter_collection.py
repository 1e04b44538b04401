"""Whole collections with stand-ins for ncu: what is run, what is kept, and what each failure costs."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fake_ncu import VERSION, fake_ncu, on_path

from kprof.collectors.ncu_run import tool as tool_module
from kprof.counter_collection import collect, one_run
from kprof.counter_collection.collect import collect_counters
from kprof.counter_collection.one_run import ReadReport
from kprof.counter_collection.options import CounterOptions
from kprof.counter_collection.runs import Collected
from kprof.counter_evidence import CountersEvidence, ProfiledLaunch
from kprof.errors import InputFileError
from kprof.evidence import Environment, Reason, Side, Workload
from kprof.launches_evidence import Launch, LaunchesEvidence, SideLaunches
from kprof.subprocesses.processes import process_stat
from kprof.worker.protocol import Request
from kprof.worker.supervisor import Limits, Worker

MATRIX = "sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_igmma_bmma_bgmma_cycles_active.avg.pct_of_peak_sustained_elapsed"
SUM = "sm__ops_path_tensor_src_fp16.sum"
# A worker that follows the protocol without torch; what it does for a side comes as SIDES[side].
WORKER = """
import json, os, sys
folder = sys.argv[-1]
open(os.path.join(folder, "pid"), "w").write("77")
request = json.load(open(os.path.join(folder, "request.json")))
with open({started!r}, "a") as stream:
    stream.write(",".join(request["profiled_sides"]) + "\\n")
count = 0
def send(**update):
    global count
    count += 1
    if update.get("finished") == "worker": update["sent"] = count
    with open(os.path.join(folder, "updates.jsonl"), "a") as stream:
        stream.write(json.dumps(update) + "\\n")
send(entered="load"); send(entered="counters")
for side in request["profiled_sides"]:
    open(os.path.join(folder, "side"), "w").write(side[0])
    {body}
send(finished="worker")
"""
# Runs the worker, then writes as its report what lies ready for these sides.
PROFILES = """
"$@"; status=$?
sides=$(tail -n 1 {folder}/started)
echo "$kernels $count" >> {folder}/asked
[ -e "{folder}/$sides.json" ] && cp "{folder}/$sides.json" "$report"
[ -n "$kernels" ] && [ -e "{folder}/$sides.tensor.json" ] && cp "{folder}/$sides.tensor.json" "$report"
echo '==PROF== Profiling "k" - 0: 0%....50%....100% - 9 passes' > "$log"
exit $status
"""


def launch(number: int, side: Side | None = "kernel", name: str = "k", **metrics: float) -> ProfiledLaunch:
    return ProfiledLaunch(launch_id=number, side=side, name=name, grid=(1, 1, 1), process_id=77, metrics=metrics)


def read_json(path: Path, *, allow_empty: bool) -> CountersEvidence:
    assert allow_empty
    try:
        return msgspec.json.decode(path.read_bytes(), type=CountersEvidence)
    except msgspec.DecodeError as error:
        raise InputFileError("no report", "Profile again.") from error


class Bench:
    """One folder with a fake ncu, a stand-in worker and the reports that lie ready."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.monkeypatch = folder, monkeypatch
        self.worker("pass")
        monkeypatch.setattr(collect, "permission_reason", lambda: None)
        monkeypatch.setattr(tool_module, "_USUAL_PLACES", ())
        on_path(folder / "bin", monkeypatch)

    def ncu(self, body: str = PROFILES, *, answers: bool = True) -> Path:
        return fake_ncu(self.folder / "bin", body.replace("{folder}", str(self.folder)), answers=answers)

    def worker(self, body: str) -> None:
        script = self.folder / "worker.py"
        script.write_text(WORKER.format(started=str(self.folder / "started"), body=body))
        program = (sys.executable, str(script))
        self.monkeypatch.setattr(one_run, "Worker", functools.partial(Worker, program=program))

    def report(self, sides: str, *launches: ProfiledLaunch) -> None:
        evidence = CountersEvidence(format="ncu_report", launches=launches)
        (self.folder / f"{sides}.json").write_bytes(msgspec.json.encode(evidence))

    def collect(
        self,
        *,
        seen: LaunchesEvidence | None = None,
        limit_s: float = 20.0,
        read_report: ReadReport | None = read_json,
        **options: Any,
    ) -> Collected:
        workload = Workload(
            kernel_file="k.py", kernel_sha256="0", ref_file="r.py", ref_sha256="0", entry="ModelNew", seed=0
        )
        request = Request(
            workload=workload, device="cuda:0", trials=1, stages=(), cache_dir=str(self.folder / "cache"), held=True
        )
        return collect_counters(
            request,
            replace(CounterOptions(), **options),
            Limits(stage_s=limit_s),
            lambda update: None,
            environment=Environment(device="cuda:0", compute_capability="9.0", gpu_uuid="GPU-1"),
            launches=seen,
            read_report=read_report,
        )

    def lines(self, name: str) -> list[str]:
        return (self.folder / name).read_text().splitlines()


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(tmp_path, monkeypatch)


def seen(kernel: tuple[str, ...], ref: tuple[str, ...] = ("r",), us: float = 100.0) -> LaunchesEvidence:
    def of(names: tuple[str, ...]) -> SideLaunches:
        made = [Launch(kind="kernel", name=name, stream=7, start_us=0.0, duration_us=us) for name in names]
        return SideLaunches(launches=(*made, Launch(kind="memset", name="m", stream=7, start_us=0.0, duration_us=us)))

    return LaunchesEvidence(kernel=of(kernel), ref=of(ref))


def evidence(collected: Collected) -> CountersEvidence:
    assert collected.evidence is not None
    return collected.evidence


def codes(reasons: tuple[Reason, ...]) -> list[str]:
    return [reason.code for reason in reasons]


def test_few_launches_share_one_run(bench: Bench) -> None:
    bench.ncu()
    bench.report("kernel,ref", launch(0), launch(1, "ref"))
    found = bench.collect(seen=seen(("k", "k")), max_launches=4)
    whole = evidence(found)
    assert (found.faults, found.ncu_version) == ((), VERSION)
    assert bench.lines("started") == ["kernel,ref"]
    assert bench.lines("asked") == [" 6"], "the kernel's two and the reference's four at most"
    assert [one.side for one in whole.launches] == ["kernel", "ref"]
    assert (whole.clock_control, whole.cache_control, whole.replay_mode) == ("none", "all", "kernel")
    assert (whole.launch_limit, whole.warnings, whole.side_absent, whole.report_file) == (4, (), {}, None)
    (run,) = whole.runs
    assert (run.purpose, run.launches, run.passes) == ("default", 2, 9)
    assert run.command[0] == str(bench.folder / "bin" / "ncu")
    assert run.command[-4:-2] == (sys.executable, str(bench.folder / "worker.py"))
    assert run.metrics_asked == len(run.command[run.command.index("--metrics") + 1].split(","))
    assert 0 < run.seconds < 10


def test_calls_of_few_short_kernels_are_made_again_for_samples(bench: Bench) -> None:
    bench.ncu()
    bench.report("kernel,ref", launch(0), launch(1, "ref"))
    bench.collect(seen=seen(("k", "k"), ("r",) * 5, us=2.0), max_launches=8)
    assert bench.lines("asked") == [str(2 + 8 + 3 * 2).rjust(3)], "three calls more of two kernels; five are too many"


@pytest.mark.parametrize("known", [True, False])
def test_many_launches_or_nobody_knows_how_many_get_a_run_for_each_side(bench: Bench, known: bool) -> None:
    bench.ncu()
    bench.report("kernel", launch(0, None), launch(1, None), launch(2, None))
    bench.report("ref", launch(0, None))
    whole = evidence(bench.collect(seen=seen(("k",) * 5) if known else None, max_launches=2))
    assert bench.lines("started") == ["kernel", "ref"]
    assert bench.lines("asked") == [" 2", " 2"]
    assert [(one.launch_id, one.side) for one in whole.launches] == [(0, "kernel"), (1, "kernel"), (3, "ref")]
    assert [reason.message for reason in whole.warnings] == [
        "profiled 2 of 5 launches of the kernel" if known else "profiled the first 2 launches of the kernel"
    ]
    assert codes(whole.warnings) == ["launches_capped"]


def test_sides_that_a_shared_run_does_not_tell_get_runs_of_their_own(bench: Bench) -> None:
    bench.ncu()
    bench.report("kernel,ref", launch(0, None), launch(1, None))
    bench.report("kernel", launch(0, None))
    bench.report("ref", launch(0, None))
    whole = evidence(bench.collect(seen=seen(("k",))))
    assert bench.lines("started") == ["kernel,ref", "kernel", "ref"]
    assert [one.side for one in whole.launches] == ["kernel", "ref"]
    assert len(whole.runs) == 2


def test_launches_of_other_processes_are_not_the_calls(bench: Bench) -> None:
    bench.ncu()
    other = msgspec.structs.replace(launch(1), process_id=78)
    bench.report("kernel,ref", launch(0), other, launch(2, "ref"))
    whole = evidence(bench.collect(seen=seen(("k",))))
    assert [one.launch_id for one in whole.launches] == [0, 2]
    assert codes(whole.warnings) == ["other_processes"]


def test_collectives_are_left_out_by_naming_the_others(bench: Bench) -> None:
    bench.ncu()
    bench.report("kernel,ref", launch(0, name="gemm"), launch(1, "ref"))
    names = ("void ns::gemm<4>(float*)", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)")
    whole = evidence(bench.collect(seen=seen(names)))
    assert bench.lines("asked") == ["regex:^(gemm|r)([(<].*)?$ 33"]
    assert codes(whole.warnings) == ["collectives_skipped"]


def test_collectives_alone_are_not_even_tried(bench: Bench) -> None:
    bench.ncu()
    found = bench.collect(seen=seen(("ncclKernel",), ()))
    assert codes(tuple(fault.reason for fault in found.faults)) == ["ncu_no_kernels"]
    assert not (bench.folder / "started").exists()


def test_what_uses_tensor_cores_is_run_again_for_its_sums(bench: Bench) -> None:
    bench.ncu()
    busy, idle = {MATRIX: 40.0}, {MATRIX: 0.0}
    bench.report("kernel,ref", launch(0, name="a.gemm<4>()", **busy), launch(1, **idle), launch(2, "ref", **idle))
    bench.report("kernel.tensor", launch(0, None, "a.gemm<4>()", **{SUM: 5.0}))
    whole = evidence(bench.collect(seen=seen(("a.gemm<4>()", "k"))))
    assert bench.lines("started") == ["kernel,ref", "kernel"]
    assert bench.lines("asked")[1] == r"regex:^(a\.gemm)([(<].*)?$ 1"
    assert [one.metrics.get(SUM) for one in whole.launches] == [5.0, None, None]
    assert [(run.purpose, run.metrics_asked) for run in whole.runs][1] == ("tensor", 1)
    assert whole.warnings == ()


def test_sums_that_do_not_come_are_said(bench: Bench) -> None:
    bench.ncu()
    bench.report("kernel,ref", launch(0, **{MATRIX: 40.0}), launch(1, "ref"))
    found = bench.collect(seen=seen(("k",)))
    whole = evidence(found)
    assert codes(whole.warnings) == ["ncu_partial", "tensor_sums_missing"]
    assert len(whole.launches) == 2
    bench.report("kernel.tensor", launch(0, name="another", **{SUM: 1.0}))
    assert codes(evidence(bench.collect(seen=seen(("k",)))).warnings) == ["tensor_sums_missing"]


def test_full_takes_one_run(bench: Bench) -> None:
    bench.ncu()
    bench.report("kernel,ref", launch(0, **{MATRIX: 40.0}), launch(1, "ref"))
    whole = evidence(bench.collect(seen=seen(("k",)), counters="full"))
    assert [run.purpose for run in whole.runs] == ["full"]
    assert "--set" in whole.runs[0].command


def test_reports_are_kept_where_asked(bench: Bench) -> None:
    bench.ncu()
    bench.report("kernel", launch(0, None, **{MATRIX: 40.0}))
    bench.report("ref", launch(0, None))
    bench.report("kernel.tensor", launch(0, None, **{SUM: 1.0}))
    keep = bench.folder / "kept" / "run.ncu-rep"
    whole = evidence(bench.collect(keep_report=keep))
    assert codes(whole.warnings) == ["report_not_kept"] * 3, "there is no such folder yet"
    keep.parent.mkdir()
    whole = evidence(bench.collect(keep_report=keep))
    assert whole.report_file == str(keep)
    assert {path.name: path.read_bytes() for path in keep.parent.iterdir()} == {
        "run.ncu-rep": (bench.folder / "kernel.json").read_bytes(),
        "run.default.ref.ncu-rep": (bench.folder / "ref.json").read_bytes(),
        "run.tensor.kernel.ncu-rep": (bench.folder / "kernel.tensor.json").read_bytes(),
    }


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


def test_a_real_report_comes_through_the_real_reader(bench: Bench) -> None:
    """13 launches of probes, recorded on an H200: all that the stand-in for ncu does is copy them."""
    recorded = Path(__file__).resolve().parents[1] / "data" / "ncu" / "probes.ncu-rep"
    bench.worker('os.remove(os.path.join(folder, "pid"))')
    bench.ncu(f'"$@"; cp {recorded} "$report"')
    found = bench.collect(read_report=None, counters="full")
    whole = evidence(found)
    assert found.faults == ()
    assert {one.side for one in whole.launches} == {"kernel", "ref"}
    assert [run.launches for run in whole.runs] == [13, 13]
    assert whole.runs[0].passes == max(one.metrics["profiler__replayer_passes"] for one in whole.launches)
    assert whole.report_sha256 == hashlib.sha256(recorded.read_bytes()).hexdigest()
    assert whole.report_file is None, "it was not kept"
    assert len({one.launch_id for one in whole.launches}) == 26


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


def test_the_environment_and_the_line_are_as_they_should_be(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)
    bench.ncu('env > {folder}/env; "$@"; ls -ld "$TMPDIR" > {folder}/ls')
    bench.collect(seen=seen(("k",)))
    environment = dict(line.split("=", 1) for line in bench.lines("env") if "=" in line)
    assert environment["LC_ALL"] == "C"
    assert environment["KPROF_UNDER_NCU"] == "1"
    assert Path(environment["TMPDIR"]).parent.name.startswith("kprof-"), "the private folder"
    assert environment["HOME"] == os.environ["HOME"]
    assert not environment["TORCHINDUCTOR_CACHE_DIR"].startswith(environment["TMPDIR"])
    assert not Path(environment["TMPDIR"]).exists(), "gone with the run"


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
    stat = process_stat(int((bench.folder / "child").read_text()))
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
