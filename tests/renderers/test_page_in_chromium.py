"""The page in a real browser: headless Chromium, where it and playwright are installed."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from report_runs import hostile, imported, recorded

from kprof.renderers import json as json_renderer
from kprof.renderers.html import render
from kprof.report import Report

playwright = pytest.importorskip(
    "playwright.sync_api", reason="needs playwright: pip install playwright (its browsers are not needed)"
)
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium on PATH (Debian: apt-get install chromium)"),
    # Debian's start script and the driver leave handles of their own to the collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
PHONE, DESKTOP = (375, 740), (1200, 900)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@cache
def page_of(name: str) -> str:
    reports: dict[str, Report] = {"hostile": hostile(imported(21, named=lambda index: f"k{index}"))}
    return render(reports[name] if name in reports else recorded(name))


class Visit:
    """A page opened from disk, with what it complained of and what it asked for."""

    def __init__(self, browser: Any, file: Path, size: tuple[int, int] = DESKTOP, **how: Any) -> None:
        viewport = {"width": size[0], "height": size[1]}
        self.context = browser.new_context(viewport=viewport, accept_downloads=True, **how)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append("dialog"), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(file.as_uri())

    def column(self, number: int) -> list[str]:
        cells = self.page.locator(f"table.kernels tbody tr > :nth-child({number})")
        return [text.strip() for text in cells.all_inner_texts()]


@pytest.fixture
def visit(browser: Any, tmp_path: Path) -> Iterator[Any]:
    visits: list[Visit] = []

    def make(name: str = "cuda_naive_4x8192x4096", size: tuple[int, int] = DESKTOP, **how: Any) -> Visit:
        file = tmp_path / "page.html"
        file.write_text(page_of(name), encoding="utf-8")
        visits.append(Visit(browser, file, size, **how))
        return visits[-1]

    yield make
    for one in visits:
        one.context.close()


@pytest.mark.parametrize("name", ["cuda_naive_4x8192x4096", "matmul_bf16", "hostile"])
@pytest.mark.parametrize("scripts", [True, False])
def test_it_opens_from_disk_without_complaint_and_asks_for_nothing(visit: Any, name: str, scripts: bool) -> None:
    seen = visit(name, java_script_enabled=scripts)
    assert seen.complaints == []
    assert [url for url in seen.requests if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in seen.requests if url.startswith("file:")]) == 1
    assert seen.page.locator(".card").count() >= 1
    assert seen.page.locator("svg.kprof-roofline").is_visible()


@pytest.mark.parametrize("name", ["cuda_naive_4x8192x4096", "hostile"])
@pytest.mark.parametrize("size", [PHONE, (320, 600), DESKTOP])
def test_it_is_never_wider_than_the_screen(visit: Any, name: str, size: tuple[int, int]) -> None:
    seen = visit(name, size)
    seen.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= size[0]


def test_a_click_sorts_the_kernels_and_another_turns_them_round(visit: Any) -> None:
    seen = visit()
    heading = seen.page.get_by_role("columnheader", name="time", exact=True)
    times = {one.id: one.duration_us for one in recorded("cuda_naive_4x8192x4096").kernels}
    by_time = [str(number) for number, _ in sorted(times.items(), key=lambda one: -one[1])]
    last = seen.page.locator("table.kernels thead th").count()
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    assert seen.column(last) == by_time
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert seen.column(last) == by_time[::-1]


def test_the_keyboard_sorts_and_what_has_no_value_stays_below(visit: Any) -> None:
    seen = visit()
    heading = seen.page.get_by_role("columnheader", name="of roof", exact=True)
    position = 5
    for key, way in (("Enter", "descending"), ("Space", "ascending")):
        heading.get_by_role("button").focus()
        seen.page.keyboard.press(key)
        assert heading.get_attribute("aria-sort") == way
        found = seen.column(position)
        lacking = [index for index, text in enumerate(found) if text == "no flop"]
        assert len(lacking) == 3
        assert lacking == list(range(len(found) - 3, len(found)))
    assert seen.page.locator("th[aria-sort=ascending]").count() == 1


def test_names_sort_as_text_and_a_filter_hides_the_rest(visit: Any) -> None:
    seen = visit()
    seen.page.get_by_role("columnheader", name="kernel", exact=True).get_by_role("button").click()
    names = seen.column(1)
    assert names == sorted(names)
    seen.page.get_by_role("searchbox").fill("reduce")
    assert seen.page.locator("table.kernels tbody tr:visible").count() == 2
    assert seen.page.get_by_role("status").inner_text().strip() == "2 of 10"


def test_the_download_is_the_report_byte_for_byte(visit: Any) -> None:
    seen = visit()
    with seen.page.expect_download() as coming:
        seen.page.get_by_role("link", name="Download report.json").click()
    got = coming.value
    assert got.suggested_filename == "report.json"
    assert Path(got.path()).read_text(encoding="utf-8") == json_renderer.render(recorded("cuda_naive_4x8192x4096"))
    assert seen.complaints == []


def test_without_scripts_the_download_is_the_report_compressed(visit: Any) -> None:
    seen = visit(java_script_enabled=False)
    with seen.page.expect_download() as coming:
        seen.page.get_by_role("link", name="Download report.json.gz").click()
    got = coming.value
    assert got.suggested_filename == "report.json.gz"
    found = json.loads(gzip.decompress(Path(got.path()).read_bytes()))
    assert found == json.loads(json_renderer.render(recorded("cuda_naive_4x8192x4096")))


def test_without_scripts_everything_is_there_and_nothing_is_dead(visit: Any) -> None:
    seen = visit(java_script_enabled=False)
    assert seen.page.locator("button, input").count() == 0
    assert len(seen.column(1)) == 10
    seen.page.locator("#block-timing summary").click()
    assert seen.page.locator("#block-timing table").is_visible()


def test_a_link_to_a_block_opens_it(visit: Any) -> None:
    seen = visit()
    seen.page.locator(".strip a", has_text="stalls").click()
    assert seen.page.locator("#block-stalls table").is_visible()


def test_every_part_of_the_bar_is_as_long_as_its_time(visit: Any) -> None:
    seen = visit()
    block = recorded("cuda_naive_4x8192x4096").blocks.waterfall
    widths = seen.page.evaluate(
        "[...document.querySelectorAll('.bar span')].map((one) => one.getBoundingClientRect().width)"
    )
    whole = seen.page.evaluate("document.querySelector('.bar').getBoundingClientRect().width")
    times = [us for us in (block.gap_us, block.idle_us, block.excess_us, block.floor_us) if us]
    assert sum(widths) == pytest.approx(whole, abs=1)
    for width, time in zip(widths, times, strict=True):
        assert width == pytest.approx(time / (block.host_us or 1) * whole, abs=4)


def contrast(one: str, other: str) -> float:
    def light(colour: str) -> float:
        parts = [float(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


_COLOURS = """
[...document.querySelectorAll('p, td, th, a, h1, h2, h3, dt, dd, li, summary, small, code, .badge, .na, button')]
  .filter((one) => one.innerText && !one.closest('svg')).map((one) => {
    let behind = one;
    while (behind && getComputedStyle(behind).backgroundColor === 'rgba(0, 0, 0, 0)') behind = behind.parentElement;
    return [getComputedStyle(one).color, getComputedStyle(behind || document.body).backgroundColor];
  })
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_has_contrast(visit: Any, scheme: str) -> None:
    seen = visit(color_scheme=scheme)
    pairs = {tuple(pair) for pair in seen.page.evaluate(_COLOURS)}
    assert len(pairs) > 3
    poor = {pair: round(contrast(*pair), 2) for pair in pairs if contrast(*pair) < 4.5}
    assert poor == {}


def test_dark_is_dark_the_plot_too(visit: Any) -> None:
    seen = visit(color_scheme="dark")
    assert seen.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(13, 17, 23)"
    fill = "getComputedStyle(document.querySelector('svg.kprof-roofline path')).fill"
    assert seen.page.evaluate(fill) == "rgb(13, 17, 23)"
