"""Shell scripts that stand in for ncu, on a PATH of their own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

VERSION = "2025.3.1.0"
LIST = ("gpu__time_duration", "sm__cycles_active", "dram__bytes_read", "sm__ops_path_tensor_src_fp16")
ANSWERS = f"""#!/bin/sh
case "$1" in
--version) printf 'NVIDIA (R) Nsight Compute Command Line Profiler\\nVersion {VERSION} (build 1) (public-release)\\n' ;;
--list-chips) echo "ga100, gh100" ;;
--help) printf '  --metrics arg\\n  --config-file arg\\n  --warp-sampling-interval arg\\n' ;;
--query-metrics) printf 'Chip gh100\\n%s\\n' "{chr(10).join(f"{name}  Counter  x" for name in LIST)}" ;;
*) false ;;
esac && exit 0
"""
# What follows sees the report's and the log's paths in $report and $log, and the worker's command in "$@".
OPTIONS = f"""
while [ $# -gt 0 ] && [ "$1" != "{sys.executable}" ]; do
    case "$1" in
    --export) report=$2 ;;
    --log-file) log=$2 ;;
    --kernel-name) kernels=$2 ;;
    --launch-count) count=$2 ;;
    esac
    shift
done
"""


def fake_ncu(folder: Path, body: str, *, answers: bool = True) -> Path:
    """A fake in ``folder``.

    Args:
        folder: where it is written.
        body: what it does as a profiler.
        answers: it answers questions about itself as Nsight Compute 2025.3.1 does; else the body is all that it does.
    """
    folder.mkdir(exist_ok=True)
    path = folder / "ncu"
    path.write_text(ANSWERS + OPTIONS + body if answers else "#!/bin/sh\n" + body)
    path.chmod(0o755)
    return path


def on_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ``folder`` be the first on PATH, before any ncu of the machine's."""
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
