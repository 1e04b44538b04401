"""A file is the old one or the new one, never a part, and what cannot be written is refused before the work."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from kprof import files
from kprof.errors import InputFileError, UsageError
from kprof.files import read_whole, require_writable, same_file, write_whole


def test_replaces_whole_and_leaves_nothing_beside(tmp_path: Path) -> None:
    target = tmp_path / "r.json"
    target.write_bytes(b"old")
    write_whole(target, b"new")
    assert target.read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]


@pytest.mark.parametrize("missing", ["O_TMPFILE", "link"])
def test_where_files_need_names_they_are_written_whole_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    if missing == "link":
        monkeypatch.setattr(files.os, "link", _cannot)
    else:
        monkeypatch.delattr(files.os, "O_TMPFILE", raising=False)
    write_whole(tmp_path / "r.json", b"new")
    assert (tmp_path / "r.json").read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]


def test_what_has_no_end_is_read_up_to_a_bound() -> None:
    with pytest.raises(InputFileError, match="/dev/zero has more than 1 MB: it is something else"):
        read_whole(Path("/dev/zero"), 1_000_000)
    assert read_whole(Path(__file__)).decode().startswith('"""A file is the old one')


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_bytes(b"old")
    link.symlink_to(real)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"


def test_permissions_follow_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o022)
    try:
        write_whole(tmp_path / "r.json", b"{}")
    finally:
        os.umask(old)
    assert (tmp_path / "r.json").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(("name", "says"), [("nowhere/r.json", "does not exist"), (".", "is a folder")])
def test_refused_before_the_work(tmp_path: Path, name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        require_writable(tmp_path / name)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "r.json").mkdir()
    with pytest.raises(UsageError, match="cannot write"):
        write_whole(tmp_path / "r.json", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]


def test_a_stream_is_written_into_and_stays_what_it_is(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    require_writable(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_whole(fifo, b"new")
        assert os.read(reader, 100) == b"new"
    finally:
        os.close(reader)
    assert fifo.is_fifo()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make a device of its own (nothing else may be risked)")
def test_a_device_stays_a_device(tmp_path: Path) -> None:
    device = tmp_path / "null"
    try:
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        device.open("wb").close()
    except PermissionError:
        pytest.skip("needs a file system that takes devices")
    require_writable(device)
    write_whole(device, b"new")
    assert device.is_char_device()


@pytest.mark.parametrize("redirected", ["pipe", "file"])
def test_what_stdout_writes_to_already_is_written_there(tmp_path: Path, redirected: str) -> None:
    code = (
        "from pathlib import Path; from kprof.files import require_writable, write_whole\n"
        "p = Path('/dev/stdout'); print('before', flush=True); require_writable(p); write_whole(p, b'new\\n')\n"
        "print('after')"
    )
    out = tmp_path / "out"
    with out.open("wb") as stream:
        done = subprocess.run(
            [sys.executable, "-c", code],
            stdout=subprocess.PIPE if redirected == "pipe" else stream,
            cwd=Path(__file__).parents[1],
            check=True,
        )
    assert (done.stdout if redirected == "pipe" else out.read_bytes()) == b"before\nnew\nafter\n"


def test_a_socket_and_a_name_too_long_are_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("s")
        with pytest.raises(UsageError, match="neither a file nor a stream"):
            require_writable(Path("s"))
    with pytest.raises(UsageError, match="File name too long"):
        require_writable(Path("x" * 300))


def test_the_longest_name_can_be_written(tmp_path: Path) -> None:
    target = tmp_path / ("\N{SNOWMAN}" * 85)  # 255 bytes
    write_whole(target, b"new")
    assert target.read_bytes() == b"new"


def test_one_file_under_two_names(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    link.symlink_to(real)
    assert same_file(real, link)  # before either exists
    real.touch()
    assert same_file(real, tmp_path / "." / "link")
    assert not same_file(real, tmp_path / "other")


def _cannot(*_: object, **__: object) -> None:
    raise OSError(18, "Invalid cross-device link")


def test_a_pipe_that_nobody_writes_into_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kprof.files.WRITER_WITHIN_S", 0.1)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with pytest.raises(InputFileError, match="nobody wrote into"):
        read_whole(fifo)


def test_a_slow_writer_of_a_pipe_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kprof.files.WRITER_WITHIN_S", 5.0)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    script = 'sleep 0.2; exec 3>"$1"; printf one >&3; sleep 0.3; head -c 200000 /dev/zero >&3'
    with subprocess.Popen(["sh", "-c", script, "sh", str(fifo)]):
        assert read_whole(fifo) == b"one" + bytes(200_000)
    endless = subprocess.Popen(["sh", "-c", 'cat /dev/zero >"$1"', "sh", str(fifo)], stderr=subprocess.DEVNULL)
    with endless, pytest.raises(InputFileError, match="has more than"):
        read_whole(fifo, 100_000)
