"""Draw a capture's summary as it stands on a terminal: python scripts/summary_svg.py CAPTURE OUT.svg

For the README's picture, which is made from a recorded run and never by hand.
"""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

from kprof.capture import load_capture
from kprof.renderers.text import render
from kprof.report import build_report

WIDTH = 80


def main() -> None:
    """Render the first argument's capture to the second argument's file."""
    capture, out = Path(sys.argv[1]), Path(sys.argv[2])
    report = build_report(load_capture(capture), source="replayed")
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    command = f"kprof analyze {report.workload.kernel_file} --ref {report.workload.ref_file}"
    console.print(Text(f"$ {command}\n", style="bold"))
    console.print(Text.from_ansi(render(report, width=WIDTH, color=True)))
    svg = console.export_svg(title="kprof")
    # rich asks a font server for its typeface; a picture in a README needs no network and takes the reader's own.
    out.write_text(re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL).replace("Fira Code", "DejaVu Sans Mono"))


if __name__ == "__main__":
    main()
