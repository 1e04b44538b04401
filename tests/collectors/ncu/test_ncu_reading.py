"""The door: what a file is, its content tells; and what is no report is refused with what was found."""

from __future__ import annotations

import gzip
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ncu_tables import DETAILS, DURATION, RECORDED, quoted, raw_table

from kprof.collectors.ncu.reading import read_report
from kprof.errors import InputFileError

REPORT = RECORDED / "probes.ncu-rep"
RAW = RECORDED / "probes.raw.csv"


@pytest.mark.parametrize(
    ("recorded", "name", "kind"),
    [
        (REPORT, "run.csv", "ncu_report"),
        (RAW, "run.ncu-rep", "ncu_csv_raw"),
        (RECORDED / "probes.details.csv", "run.txt", "ncu_csv_details"),
        (REPORT, "run.ncu-repz", "ncu_report"),
    ],
)
def test_content_tells_what_a_file_is(recorded: Path, name: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / name
    shutil.copy(recorded, path)
    evidence = read_report(path)
    assert evidence.format == kind
    assert evidence.report_file == str(path)
    assert evidence.report_sha256 == hashlib.sha256(recorded.read_bytes()).hexdigest()
    assert evidence.launches == read_report(recorded).launches


REFUSED = {
    "empty": (b"", "is empty"),
    "text": (b"hello\n" * 1000, "holds no table"),
    "numbers": (b"1,2,3,4,5,6,7,8,9\n" * 1000, "holds no table"),
    "json": (b'{"ID": 1, "Kernel Name": "k"}', "holds no table"),
    "binary": (bytes(range(256)) * 100, "neither a report nor text"),
    "gzip": (gzip.compress(RAW.read_bytes()), "compressed with gzip"),
    "zip": (b"PK\x03\x04 and so on", "zip archive"),
    "sqlite": (b"SQLite format 3\0 and so on", "SQLite"),
    "magic": (b"NVR\0", "cut short"),
    "start": (REPORT.read_bytes()[:1000], "cut short"),
    "half": (REPORT.read_bytes()[:1_500_000], "cut short"),
    "almost": (REPORT.read_bytes()[:-1], "cut short"),
    "longer": (REPORT.read_bytes() + b"x", "cut short"),
    "header": (quoted(DETAILS).encode(), "holds no kernel launches"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_report_is_refused(case: str, tmp_path: Path) -> None:
    content, message = REFUSED[case]
    path = tmp_path / "run.ncu-rep"
    path.write_bytes(content)
    with pytest.raises(InputFileError, match=message) as caught:
        read_report(path)
    assert str(path) in caught.value.message
    assert caught.value.hint
    assert caught.value.exit_code == 2


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match="is a folder"):
        read_report(tmp_path)
    with pytest.raises(InputFileError, match="No such file"):
        read_report(tmp_path / "none.csv")
    with pytest.raises(InputFileError, match="no regular file"):
        read_report(Path("/dev/null"))


def test_an_empty_report_where_that_is_an_answer(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_text(quoted(DETAILS))
    assert read_report(path, allow_empty=True).launches == ()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_tables_that_a_shell_has_encoded_anew(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_text(raw_table({DURATION: ("1,205",)}, ["ns"]), encoding=encoding)
    assert read_report(path).launches[0].metrics == {DURATION: 1205.0}


def test_bytes_that_are_no_text_are_written_out_in_names(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_bytes(raw_table({DURATION: ("1",)}, ["ns"]).replace('"k"', '"k<?>"').encode().replace(b"?", b"\xff"))
    launch = read_report(path).launches[0]
    assert launch.name == "k<\\xff>"
    assert launch.metrics == {DURATION: 1.0}


def test_reading_a_table_needs_no_heavy_library() -> None:
    code = (
        "import sys; from pathlib import Path; from kprof.collectors.ncu.reading import read_report;"
        f"read_report(Path({str(RAW)!r}));"
        "print(sorted({'torch', 'pandas', 'numpy', 'ncu_report'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
