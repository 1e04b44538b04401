"""The page: every state of a block, everything escaped, under 1 MB, the report inside."""

from __future__ import annotations

import base64
import gzip
import json
import random
import re
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import captures
import made_evidence
import msgspec
import pytest
from report_runs import hostile, imported, recorded

from kprof.blocks.base import Block
from kprof.blocks.integrity.check import Check
from kprof.evidence import Reason
from kprof.renderers import json as json_renderer
from kprof.renderers.html import LIMIT, render
from kprof.renderers.html.fields import rows_of
from kprof.renderers.html.launches import MOST
from kprof.report import BLOCK_NAMES, Report, build_report
from kprof.verdicts import Verdict

sys.path.insert(0, str(Path(__file__).parent))
import page_goldens

every_run = pytest.mark.parametrize("name", captures.ALL)
VOID = {"meta", "br", "input", "link", "hr", "img"}


class Tags(HTMLParser):
    """Tags that close, and what a test asks of them."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def all(self, tag: str) -> Iterator[dict[str, str | None]]:
        return (attributes for found, attributes in self.found if found == tag)


@cache
def page_of_run(name: str) -> str:
    return render(build_report(captures.ALL[name]()))


@cache
def page_of_recorded(name: str) -> str:
    return render(recorded(name))


def packed(page: str) -> dict[str, Any]:
    """The report that the page carries for its download."""
    found = re.search(r"data:application/gzip;base64,([^\"]*)", page)
    assert found is not None
    return json.loads(gzip.decompress(base64.b64decode(found[1])))  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", page_goldens.NAMES)
def test_golden(name: str) -> None:
    assert page_goldens.made(name) == page_goldens.golden(name).read_text(encoding="utf-8"), (
        "the page changed; if that was meant: python tests/renderers/page_goldens.py"
    )


def test_the_goldens_have_every_state_of_a_block() -> None:
    states = {
        getattr(page_goldens.report(name).blocks, block).status for name in page_goldens.NAMES for block in BLOCK_NAMES
    }
    assert states == {"ok", "unavailable", "failed", "skipped", "suspect"}


@every_run
def test_every_tag_closes_and_every_link_leads_somewhere(name: str) -> None:
    tags = Tags(page_of_run(name))
    assert tags.open == []
    ids = [attributes["id"] for _, attributes in tags.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = {str(one["href"])[1:] for one in tags.all("a") if str(one["href"]).startswith("#")}
    assert targets <= set(ids)
    labels = {label for _, one in tags.found for label in str(one.get("aria-labelledby") or "").split()}
    assert labels <= set(ids)


@every_run
def test_it_asks_nothing_of_the_network(name: str) -> None:
    page = page_of_run(name)
    tags = Tags(page)
    for _, attributes in tags.found:
        for key in ("src", "href", "xlink:href", "srcset", "action"):
            value = attributes.get(key) or "#"
            assert value.startswith(("#", "data:")), value
    assert not re.search(r"url\(\s*['\"]?(?!#)|@import", page)
    assert "default-src 'none'" in page


def test_every_table_has_a_caption_and_every_heading_a_scope() -> None:
    tags = Tags(page_of_recorded("cuda_naive_4x8192x4096"))
    assert len(list(tags.all("table"))) == len(list(tags.all("caption"))) > 15
    assert all(one.get("scope") in ("row", "col") for one in tags.all("th"))
    assert all(one.get("tabindex") == "0" for one in tags.all("div") if one.get("role") == "region")


@every_run
def test_every_field_of_every_block_is_there_with_its_reason(name: str) -> None:
    report = build_report(captures.ALL[name]())
    page = page_of_run(name)
    for block_name in BLOCK_NAMES:
        block: Block = getattr(report.blocks, block_name)
        rows = {row.path: row for row in rows_of(block_name, block)}
        for path, code in block.reasons.items():
            if path in rows:
                assert (rows[path].value, rows[path].why) == (None, code)
        shown = page.split(f'id="block-{block_name}"')[1].split("</details>")[0]
        assert block.status in shown
        assert all(f"<code>{row.path}</code>" in shown for row in rows.values())
        if block.reason is not None:
            assert block.reason.code in shown


def test_a_field_has_its_unit_and_its_meaning() -> None:
    rows = {row.path: row for row in rows_of("timing", recorded("cuda_naive_4x8192x4096").blocks.timing)}
    assert (rows["kernel_us"].value, rows["kernel_us"].unit) == ("228.512", "us")
    assert rows["device.cold.kernel_median_us"].meaning
    assert (rows["graph.cold"].value, rows["graph.cold"].why) == (None, "warm_only")
    assert rows["samples_us"].value is not None
    assert "in the JSON" in rows["samples_us"].value


def test_the_report_inside_is_the_report() -> None:
    report = recorded("cuda_naive_4x8192x4096")
    page = page_of_recorded("cuda_naive_4x8192x4096")
    whole = json.loads(json_renderer.render(report))
    assert packed(page) == whole
    found = re.search(r'<script type="application/json" id="report">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    assert json.loads(found[1]) == whole


def test_hostile_text_is_text() -> None:
    report = hostile(imported(7, named=lambda index: f"k{index}"))
    page = render(report)
    tags = Tags(page)
    assert tags.open == []
    scripts = list(tags.all("script"))
    assert [one.get("type") for one in scripts] == ["application/json", None]
    assert page.count("</script") == 2
    assert "<!--" not in page
    assert not {"\x00", "\x1b", "\u2028", "\u202e"} & set(page)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert packed(page) == json.loads(json_renderer.render(report))


@pytest.mark.parametrize("count", [MOST, MOST + 1, 1000])
def test_two_hundred_launches_are_there_in_full_and_the_rest_is_counted(count: int) -> None:
    report = imported(count)
    page = render(report)
    assert len(page.encode()) < LIMIT
    assert (
        page.count("<summary>", page.index('<table class="kernels'), page.index("</table>", page.index("kernels sort")))
        == MOST
    )
    kept = packed(page)["kernels"]
    assert len(kept) == MOST
    left_out = {one.id for one in report.kernels} - {one["id"] for one in kept}
    if count == MOST:
        assert packed(page) == json.loads(json_renderer.render(report))
        assert "200 launches, in launch order" in page
        return
    least = min(one["duration_us"] for one in kept)
    assert all((one.duration_us or 0.0) <= least for one in report.kernels if one.id in left_out)
    assert f"The 200 launches with most time; {count - MOST} more are not on this page" in page
    assert f"with 200 of {count} launches" in page


def test_names_that_fill_a_megabyte_cost_the_json_and_not_the_page() -> None:
    letters = random.Random(0)
    names = ["".join(letters.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=20_000)) for _ in range(100)]
    report = imported(100, named=lambda index: names[index])
    page = render(report)
    assert len(page.encode()) < LIMIT
    assert "The report is too long for this page" in page or "of 100 launches" in page


def test_gates_are_shown_with_their_numbers() -> None:
    gate = Verdict(
        metric="timing.speedup",
        expression="timing.speedup >= 1.2",
        kind="threshold",
        verdict="fail",
        code="below_threshold",
        message="1.1 is below 1.2",
        value=1.1,
        threshold=1.2,
        change_pct=-3.25,
        mde_pct=0.5,
        warnings=(Reason(code="noisy", message="few samples"),),
    )
    page = render(msgspec.structs.replace(recorded("matmul_bf16"), gates=(gate,)))
    section = page.split('id="gates"')[1].split("</section>")[0]
    for text in (
        "timing.speedup &gt;= 1.2",
        "tone-bad",
        "1.1 is below 1.2",
        "below_threshold",
        "-3.25 %",
        "few samples",
    ):
        assert text in section
    assert 'id="gates"' not in page_of_recorded("matmul_bf16")


def test_checks_of_integrity_are_shown() -> None:
    report = recorded("matmul_bf16")
    checks = (
        Check(name="output_written", severity="fail", passed=False, detail="3 elements kept the poison"),
        Check(name="streams", severity="advisory", passed=None, detail="not looked at"),
    )
    integrity = msgspec.structs.replace(report.blocks.integrity, status="ok", reason=None, passed=False, checks=checks)
    page = render(msgspec.structs.replace(report, blocks=msgspec.structs.replace(report.blocks, integrity=integrity)))
    section = page.split('id="integrity"')[1].split("</section>")[0]
    assert "output written" in section
    assert "3 elements kept the poison" in section
    assert "not known" in section


def test_a_report_of_an_older_kprof_still_makes_a_page() -> None:
    report: Report = recorded("matmul_bf16")
    roofline = msgspec.structs.replace(report.blocks.roofline, ridges=None, reasons={"ridges": "not_in_report"})
    old = msgspec.structs.replace(report, blocks=msgspec.structs.replace(report.blocks, roofline=roofline))
    assert "not in report" in render(old)


def test_a_kernel_that_is_merely_slower_is_not_doubted() -> None:
    slow = made_evidence.series("host", "warm", 180.0, 90.0)
    timing = msgspec.structs.replace(captures.cpu_run().timing, series=(slow,))
    page = render(build_report(captures.cpu_run(timing=timing)))
    (card,) = (one for one in page.split("<article")[1:] if "SPEEDUP" in one.split("</h3>")[0])
    assert card.startswith(' class="card tone-plain"')
    assert "<p>slower than the reference (95 %" in card
