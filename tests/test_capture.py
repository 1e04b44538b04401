"""The file that keeps a run's evidence: the same after a round trip, and what is no capture is refused by name."""

from __future__ import annotations

from pathlib import Path

import captures
import pytest

from kprof.capture import decode_capture, encode_capture, load_capture
from kprof.errors import InputFileError


def test_a_round_trip_keeps_everything(tmp_path: Path) -> None:
    capture = captures.h200_tiny()
    (tmp_path / "c.json").write_bytes(encode_capture(capture))
    assert load_capture(tmp_path / "c.json") == capture


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "c.json is not JSON"),
        (b"\xff\xfe", "c.json is not JSON"),
        (b"[" * 200_000, "c.json is not a capture: it is nested too deeply"),
        (b'{"capture_version": 1, "x": ' + b"[" * 200_000, "nested too deeply"),
        (b"[]", "it has no capture_version"),
        (b'{"capture_version": 1e400}', "c.json is not JSON"),
        (b'{"capture_version": 99}', "version 99; this kprof reads version 1"),
        (b'{"capture_version": 1}', "c.json: Object missing required field"),
    ],
)
def test_what_is_no_capture_is_refused(data: bytes, says: str) -> None:
    with pytest.raises(InputFileError) as caught:
        decode_capture(data, "c.json")
    assert says in caught.value.message
    assert caught.value.exit_code == 2
    assert caught.value.hint


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match=r"cannot read .*nowhere\.json: No such file"):
        load_capture(tmp_path / "nowhere.json")
