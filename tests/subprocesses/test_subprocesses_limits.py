"""Limits, in a process of their own: they cannot be taken back."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

from kprof.subprocesses.limits import MOST_FILE_BYTES, MOST_OPEN_FILES

REPO = Path(__file__).resolve().parents[2]
KINDS = ("RLIMIT_CORE", "RLIMIT_NOFILE", "RLIMIT_FSIZE", "RLIMIT_AS")
ASK = f"print(*(v for k in {KINDS} for v in resource.getrlimit(getattr(resource, k))))"


def limited(before: str = "") -> list[int]:
    limit = "from kprof.subprocesses.limits import limit_this_process\nlimit_this_process()"
    script = f"import resource\n{before}\n{limit}\n{ASK}"
    done = subprocess.run([sys.executable, "-c", script], cwd=REPO, capture_output=True, text=True, check=True)
    return [int(word) for word in done.stdout.split()]


def test_no_core_files_bounded_descriptors_and_files_and_never_address_space() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    found = limited()
    assert found[:2] == [0, 0]
    assert found[3] == (MOST_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_OPEN_FILES))
    assert found[2] <= found[3]
    assert found[2] == soft or soft == resource.RLIM_INFINITY or soft > MOST_OPEN_FILES
    assert 0 < found[4] <= found[5] <= MOST_FILE_BYTES
    assert tuple(found[6:]) == resource.getrlimit(resource.RLIMIT_AS)


def test_what_is_lower_already_stays() -> None:
    asked = {"RLIMIT_NOFILE": (100, 200), "RLIMIT_FSIZE": (10**6, 10**7)}
    before = "\n".join(f"resource.setrlimit(resource.{name}, {pair})" for name, pair in asked.items())
    assert limited(before)[2:6] == [100, 200, 10**6, 10**7]
