"""Reports read back: the same again, wrong values named, other versions of kprof allowed for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import captures
import pytest

from kprof import __version__
from kprof.capture import encode_capture, load_capture
from kprof.errors import InputFileError
from kprof.importing import import_capture
from kprof.renderers.json import render
from kprof.report import SCHEMA_VERSION, Report, build_report
from kprof.report_file import NOT_IN_REPORT, decode_report, load_report

DATA = Path(__file__).parent / "data"


def plain(name: str = "tiny") -> Any:
    return json.loads(render(build_report(captures.ALL[name]())))


def read(document: Any) -> tuple[Report, list[str]]:
    report, notes = decode_report(json.dumps(document).encode(), "r.json")
    return report, [note.message for note in notes]


def refused(document: Any) -> InputFileError:
    with pytest.raises(InputFileError) as caught:
        decode_report(document if isinstance(document, bytes) else json.dumps(document).encode(), "r.json")
    return caught.value


@pytest.mark.parametrize("name", captures.ALL)
def test_a_report_comes_back_byte_for_byte(name: str) -> None:
    text = render(build_report(captures.ALL[name]()))
    report, notes = decode_report(text.encode(), name)
    assert render(report) == text
    assert notes == ()


@pytest.mark.parametrize("file", sorted((DATA / "h200").glob("*[0-6].json")), ids=lambda path: path.stem)
def test_a_recorded_report_comes_back_byte_for_byte(file: Path) -> None:
    text = render(build_report(load_capture(file), source="replayed"))
    assert render(decode_report(text.encode(), file.name)[0]) == text


def test_an_imported_report_comes_back_byte_for_byte() -> None:
    text = render(build_report(import_capture(DATA / "ncu" / "probes.raw.csv", None, ()), source="imported"))
    assert render(decode_report(text.encode(), "x")[0]) == text


def test_a_value_of_the_wrong_type_is_named_by_its_place() -> None:
    for value in ("fast", "NaN", [1.0], True):
        document = plain()
        document["blocks"]["timing"]["speedup"] = value
        error = refused(document)
        assert "r.json" in error.message
        assert "$.blocks.timing.speedup" in error.message


def test_what_no_json_may_hold_is_refused() -> None:
    document = plain()
    document["blocks"]["timing"]["speedup"] = float("nan")
    assert "is not JSON" in refused(document).message


def test_a_null_without_a_reason_is_no_refusal() -> None:
    document = plain()
    document["blocks"]["timing"]["speedup"] = None
    report, notes = read(document)
    assert report.blocks.timing.speedup is None
    assert notes == []


def test_fields_of_another_kprof_are_left_out_and_said() -> None:
    document = plain()
    document["kprof_version"] = "7.1"
    document["blocks"]["timing"]["fancy"] = {"a": 1}
    document["kernels"][0]["more"] = None
    report, notes = read(document)
    assert report.blocks.timing.speedup == plain()["blocks"]["timing"]["speedup"]
    (note,) = notes
    assert "kprof 7.1" in note
    assert "2 fields ($.blocks.timing.fancy, $.kernels[0].more)" in note


def test_what_an_older_report_lacks_is_null_with_a_reason() -> None:
    document = plain()
    del document["environment"]["compiler"]
    del document["blocks"]["waterfall"]
    del document["kernels"][0]["duration_us"]
    report, notes = read(document)
    assert report.environment.compiler is None
    assert report.blocks.waterfall.status == "unavailable"
    assert report.blocks.waterfall.reasons["host_us"] == NOT_IN_REPORT
    assert report.kernels[0].reasons["duration_us"] == NOT_IN_REPORT
    assert len(notes) == 1


def test_what_cannot_be_null_and_is_not_there_is_named() -> None:
    document = plain()
    del document["blocks"]["precision"]["status"]
    error = refused(document)
    assert "status" in error.message
    assert "$.blocks.precision" in error.message


@pytest.mark.parametrize(
    ("version", "expected"),
    [(SCHEMA_VERSION + 1, "update kprof"), (0, "kprof " + __version__), ("1", "kprof " + __version__), (True, "kprof")],
)
def test_other_versions_of_the_format_are_refused_by_name(version: Any, expected: str) -> None:
    error = refused({**plain(), "schema_version": version})
    assert f"version {version!r}" in error.message
    assert f"this kprof reads version {SCHEMA_VERSION}" in error.message
    assert expected in error.hint


@pytest.mark.parametrize(
    ("content", "message", "hint"),
    [
        (b"", "empty", "report"),
        (b" \n", "empty", "report"),
        (b"hello", "is not JSON", "report"),
        (b"[1]", "a list", "report"),
        (b"3", "a single value", "report"),
        (b"{}", "no schema_version", "report"),
        (b"[" * 100_000, "r.json", ""),
        (b'{"schema_version": 1}', "kprof_version", ""),
        (b'\xff\xfe"', "is not JSON", ""),
        (b"NVR\0\1\2", "Nsight Compute", "kprof import r.json"),
        (b'"ID","Process ID","Kernel Name"\n', "Nsight Compute", "kprof import r.json"),
    ],
)
def test_what_is_no_report_is_said_to_be_what_it_is(content: bytes, message: str, hint: str) -> None:
    error = refused(content)
    assert message in error.message
    assert hint in error.hint


def test_a_capture_is_sent_to_analyze() -> None:
    error = refused(encode_capture(captures.h200_tiny()))
    assert "is a capture" in error.message
    assert "kprof analyze --capture r.json" in error.hint


def test_a_byte_order_mark_is_no_error() -> None:
    assert decode_report(b"\xef\xbb\xbf" + json.dumps(plain()).encode(), "r.json")[1] == ()


@pytest.mark.parametrize("make", [lambda folder: folder, lambda folder: folder / "none.json"])
def test_a_file_that_cannot_be_read(make: Callable[[Path], Path], tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match="cannot read"):
        load_report(make(tmp_path))
