"""Keep the README's example true: python scripts/readme_example.py [--check]

The example is what kprof says of a recorded capture. Without ``--check`` the README is rewritten; with it the exit
status is 1 when that would change anything.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import msgspec

from kprof.capture import load_capture
from kprof.comparison.compare import compare
from kprof.renderers.compared import render_compared
from kprof.renderers.layout import Style
from kprof.renderers.text import render
from kprof.report import build_report

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
DATA = ROOT / "tests" / "data" / "h200"
CAPTURE = DATA / "cuda_naive_4x8192x4096.json"
COMPARED = ("cuda_naive", "cuda_tuned")
MARK = "<!-- run: kprof compare naive.json tuned.json -->"
SHOWN: dict[str, tuple[str, ...]] = {
    "precision": ("status", "passed", "trials_passed", "max_abs_error", "kernel_error_vs_fp64", "ref_error_vs_fp64"),
    "timing": ("status", "kernel_us", "ref_us", "speedup", "speedup_ci95", "headline_view", "headline_cache", "method"),
    "memory": ("status", "kernel_peak_mb", "ref_peak_mb", "ratio"),
    "launches": ("status", "kernel_launches", "ref_launches", "fusion_ratio", "kernel_device_time_us"),
    "sol": ("status", "score", "score_unit", "floor_us", "floor_kind", "task_score"),
    "roofline": ("status", "dram_bandwidth_gbs", "arithmetic_intensity", "roof_type", "roofline_pct"),
    "stalls": ("status", "warp_cycles_per_instruction", "method"),
    "bottleneck": ("status", "family", "limiter", "margin_pct"),
    "integrity": ("status", "reason"),
}


def excerpt(blocks: dict[str, Any]) -> str:
    """The fields in `SHOWN`, one block a paragraph."""
    shown = {name: {field: blocks[name][field] for field in fields} for name, fields in SHOWN.items()}
    return json.dumps({"blocks": shown}, indent=2)


def rewritten(text: str) -> str:
    """The README with its examples made anew."""
    report = build_report(load_capture(CAPTURE), source="replayed")
    summary = render(report, width=80).rstrip()
    blocks = msgspec.to_builtins(report)["blocks"]
    for language, content in (("text", summary), ("json", excerpt(blocks))):
        block = f"```{language}\n{content}\n```"
        text, count = re.subn(rf"```{language}\n.*?\n```", lambda _, new=block: new, text, count=1, flags=re.DOTALL)  # type: ignore[misc]
        if count != 1:
            raise SystemExit(f"README.md has no {language} example to replace")
    block = f"{MARK}\n```text\n{compared()}\n```"
    text, count = re.subn(rf"{re.escape(MARK)}\n```text\n.*?\n```", lambda _: block, text, count=1, flags=re.DOTALL)
    if count != 1:
        raise SystemExit("README.md has no comparison to replace")
    return text


def compared() -> str:
    """What ``kprof compare`` says of the two recorded kernels of the large task."""
    a, b = (build_report(load_capture(DATA / f"{name}_4x8192x4096.json"), source="replayed") for name in COMPARED)
    return render_compared("text", compare(a, b, ("naive.json", "tuned.json")), Style()).rstrip()


def main() -> int:
    """Rewrite or check."""
    old = README.read_text()
    new = rewritten(old)
    if "--check" in sys.argv:
        return int(new != old)
    README.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
