"""Whole collections with stand-ins for ncu: what is run for which sides and kernels, and what is kept."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import msgspec
import pytest
from counter_bench import Bench, codes, evidence, launch, seen
from fake_ncu import VERSION

MATRIX = "sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_igmma_bmma_bgmma_cycles_active.avg.pct_of_peak_sustained_elapsed"
SUM = "sm__ops_path_tensor_src_fp16.sum"


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
