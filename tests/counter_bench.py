"""Collections of counters with stand-ins for ncu and the worker, and reports that lie ready."""

from __future__ import annotations

import functools
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fake_ncu import fake_ncu, on_path

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
from kprof.worker.protocol import Request
from kprof.worker.supervisor import Limits, Worker

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
