"""``kprof doctor`` as a user runs it: on this machine, with and without what it looks for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from ceilings import h200_ceilings
from running import LOGSUMEXP, REPO, Run, run_analyze, run_kprof

from kprof.ceilings_evidence import decode_ceilings, encode_ceilings
from kprof.doctor.diagnosis import CHECKS

DATA = Path(__file__).resolve().parents[1] / "data"


def doctor(tmp_path: Path, *arguments: str, **environment: str) -> Run:
    return run_kprof("doctor", *arguments, cwd=tmp_path, cache=tmp_path / "cache", **environment)


def test_the_cpu_of_this_machine_can_do_the_main_job(tmp_path: Path) -> None:
    run = doctor(tmp_path, "--device", "cpu", "--json")
    assert run.code == 0, run.stdout
    found = json.loads(run.stdout)
    assert (found["ready"], found["device"]) == (True, "cpu")
    assert len(found["checks"]) == len(CHECKS)
    assert {check["state"] for check in found["checks"]} <= {"ok", "warn", "skipped"}
    assert run.stderr == ""


def test_people_read_the_same(tmp_path: Path) -> None:
    run = doctor(tmp_path, "--device", "cpu")
    assert run.code == 0
    assert "kprof analyze can run in full on the CPU." in run.stdout
    assert max(map(len, run.stdout.splitlines())) <= 80


def test_without_torch_it_says_what_is_missing_and_looks_at_the_rest(tmp_path: Path) -> None:
    shadow = tmp_path / "shadow"
    shadow.mkdir()
    (shadow / "torch.py").write_text("raise ImportError('libtorch.so: cannot open shared object file')\n")
    run = doctor(tmp_path, "--device", "cpu", "--json", PYTHONPATH=f"{shadow}:{Path(__file__).resolve().parents[2]}")
    assert run.code == 3
    states = {check["name"]: check for check in json.loads(run.stdout)["checks"]}
    assert states["torch"]["state"] == "fail"
    assert "libtorch.so" in states["torch"]["found"]
    assert states["compiler"]["state"] == "ok"


def test_nothing_on_path(tmp_path: Path) -> None:
    run = doctor(tmp_path, "--device", "cpu", "--json", PATH=str(tmp_path / "empty"))
    assert run.code == 3
    states = {check["name"]: check["state"] for check in json.loads(run.stdout)["checks"]}
    assert states["compiler"] == "fail"


def test_a_device_that_is_not_there(tmp_path: Path) -> None:
    run = doctor(tmp_path, "--device", "cuda:97")
    assert run.code == 3
    assert "To mend:" in " ".join(run.stdout.split())
    usage = doctor(tmp_path, "--device", "tpu")
    assert usage.code == 2


def test_roofs_of_the_cpu_are_measured_printed_and_good_for_a_report(tmp_path: Path) -> None:
    run = doctor(tmp_path, "--ceilings", "--device", "cpu", "--json")
    assert run.code == 0, run.stderr
    found = decode_ceilings(run.stdout.encode(), "stdout")
    assert not found.quick
    assert found.get("fp32") is not None
    kept = list((tmp_path / "cache" / "ceilings").glob("*.json"))
    assert bool(kept) is not bool(found.warnings)
    file = tmp_path / "ceilings.json"
    file.write_text(run.stdout)
    capture = DATA / "h200" / "cuda_naive_4x10x32.json"
    other = run_kprof("analyze", "--capture", capture, "--ceilings", file, cwd=tmp_path, cache=tmp_path / "cache")
    assert other.code == 2
    assert "--ceilings is of" in other.stderr


def test_roofs_of_a_device_that_is_not_there(tmp_path: Path) -> None:
    run = doctor(tmp_path, "--ceilings", "--device", "cuda:97")
    assert run.code == 3
    assert "--device cuda:97" in run.stderr


def test_a_wait_that_nothing_would_do_is_refused(tmp_path: Path) -> None:
    run = doctor(tmp_path, "--device", "cpu", "--lock-timeout", "5")
    assert run.code == 2
    assert "--lock-timeout: no effect without --ceilings or --selftest" in run.stderr


def test_a_replay_on_measured_roofs_that_it_does_not_have(tmp_path: Path) -> None:
    capture = DATA / "h200" / "cuda_naive_4x1024x1024.json"
    run = run_kprof("analyze", "--capture", capture, "--roof", "measured", cwd=tmp_path, cache=tmp_path / "cache")
    assert run.code == 2
    assert "there are no measured roofs" in run.stderr
    assert "kprof doctor --ceilings --json > ceilings.json" in run.stderr


def test_an_import_on_the_measured_roofs_of_a_file(tmp_path: Path) -> None:
    file, capture = tmp_path / "ceilings.json", tmp_path / "c.json"
    file.write_bytes(encode_ceilings(h200_ceilings()))
    report = DATA / "ncu" / "probes.raw.csv"
    options = ("--roof", "measured", "--ceilings", file, "-q", "--save-capture", capture)
    run = run_kprof("import", report, *options, cwd=tmp_path, cache=tmp_path / "cache")
    assert run.code == 0, run.stderr
    sources = {one["name"]: one["source"] for one in reversed(run.block("roofline")["ceilings"])}
    assert sources["DRAM"] == "measured"
    assert run.report["ceilings"]["measured"][0]["bandwidth_gbs"] == 4500.0
    again = run_kprof(
        "analyze", "--capture", capture, "--roof", "measured", "-q", cwd=tmp_path, cache=tmp_path / "cache"
    )
    assert again.block("roofline") == run.block("roofline")


@pytest.mark.compiles
def test_the_main_job_on_the_cpu_has_floor_score_and_label(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("cpu")
    ref = LOGSUMEXP / "ref.py"
    plain = "from torch import logsumexp, nn\nclass ModelNew(nn.Module):\n"
    plain += "    def forward(self, x):\n        return logsumexp(x, dim=0)\n"
    options = ("--device", "cpu", "--set", "R=4", "--set", "B=64", "--set", "D=64", "-q")
    run = run_analyze(plain, ref, *options, folder=folder, cache=folder / "cache")
    assert run.code == 0, run.stderr
    sol, bound = run.block("sol"), run.block("bottleneck")
    assert sol["floor_bytes"] == 5 * 64 * 64 * 4
    assert sol["floor_us"] > 0
    assert sol["task_score"] == pytest.approx(sol["floor_us"] / run.block("timing")["kernel_us"])
    assert (bound["estimated"], bound["family"]) in {(True, "memory"), (True, "launch")}
    assert run.report["ceilings"]["quick"]


def test_without_room_for_temporary_files_it_still_answers(tmp_path: Path) -> None:
    # As where neither TMPDIR nor any of the usual places can be written.
    script = (
        "import sys, tempfile\n"
        "def none(*_, **__): raise FileNotFoundError(2, 'No usable temporary directory found')\n"
        "tempfile.mkdtemp = tempfile._get_default_tempdir = none\n"
        "from kprof.cli import run\n"
        "sys.exit(run(['doctor', '--device', 'cpu', '--json']))\n"
    )
    environment = {**os.environ, "KPROF_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(REPO)}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False, timeout=100
    )
    assert done.returncode == 3, done.stderr
    states = {check["name"]: check["state"] for check in json.loads(done.stdout)["checks"]}
    assert (states["temporary_folder"], states["torch"], states["python"]) == ("fail", "fail", "ok")
