"""Draw the README's pictures of a report: python scripts/page_pictures.py CAPTURE FOLDER

``FOLDER/roofline.svg`` is what ``--format svg`` writes, ``FOLDER/page.png`` the top of the page in Chromium: made from
a recorded run and never by hand.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from kprof.capture import load_capture
from kprof.renderers import html, svg
from kprof.report import build_report

SIZE = {"width": 1180, "height": 1010}


def main() -> None:
    """Render the first argument's capture into the second argument's folder."""
    capture, folder = Path(sys.argv[1]), Path(sys.argv[2])
    report = build_report(load_capture(capture), source="replayed")
    (folder / "roofline.svg").write_text(svg.render(report), encoding="utf-8")
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as driver:
        page_file = Path(scratch) / "page.html"
        page_file.write_text(html.render(report), encoding="utf-8")
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE)
        page.goto(page_file.as_uri())
        page.screenshot(path=folder / "page.png")
        browser.close()


if __name__ == "__main__":
    main()
