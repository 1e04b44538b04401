"""One build per content, whatever happened to the last one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ninja
import pytest
import torch
from torch.utils import cpp_extension

from kprof import cache
from kprof.collectors import build, build_key
from kprof.collectors.build import BuildError, BuildWatch
from kprof.collectors.build_key import choose_cuda_arch
from kprof.workload import WorkloadError

SOURCE = "int answer() { return 42; }"
pytestmark = pytest.mark.compiles


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for the whole module: a build takes ten seconds."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _ninja(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.pathsep.join((ninja.BIN_DIR, os.environ["PATH"])))


@pytest.fixture
def watch(root: Path) -> Iterator[BuildWatch]:
    seen: list[str] = []
    made = BuildWatch(root, torch.device("cpu"), seen.append)
    made.seen = seen  # type: ignore[attr-defined]
    with made.installed():
        yield made


def load(name: str = "answer_ext", source: str = SOURCE, **more: Any) -> Any:
    light = {"no_implicit_headers": True} if "no_implicit_headers" in build.inspect.signature(
        cpp_extension.load_inline
    ).parameters else {}  # fmt: skip
    header = "#include <torch/csrc/Exceptions.h>\n#include <torch/csrc/utils/pybind.h>\n" if light else ""
    return cpp_extension.load_inline(name, header + source, functions=["answer"], **light, **more)


def plain_source(folder: Path, source: str) -> str:
    """A file of ``source`` that includes nothing of torch's, which compiles in a moment."""
    (folder / "plain.cpp").write_text(source)
    return str(folder / "plain.cpp")


def test_a_second_run_finds_what_the_first_built(watch: BuildWatch, root: Path) -> None:
    assert load().answer() == 42
    (first,) = watch.builds["kernel"]
    assert (first.extensions, first.arch) == (("answer_ext",), os.uname().machine)
    assert watch.seen == ["answer_ext", ""]  # type: ignore[attr-defined]
    later = BuildWatch(root, torch.device("cpu"), lambda name: None)
    with later.installed():
        assert load().answer() == 42
    assert later.side_build("kernel").cached is True
    assert later.side_build("kernel").seconds < 2.0


def test_a_file_that_builds_in_every_call_builds_once(watch: BuildWatch) -> None:
    module = load()
    assert load() is module
    assert len(watch.builds["kernel"]) == 1


def test_a_library_that_is_not_what_was_built_is_built_again(watch: BuildWatch, root: Path) -> None:
    load()
    (library,) = cache.extensions_dir(root).glob("answer_ext-*/*.so")
    half = library.read_bytes()[:5000]
    library.unlink()  # truncating it in place would break the mapping of this very process
    library.write_bytes(half)
    later = BuildWatch(root, torch.device("cpu"), lambda name: None)
    with later.installed():
        assert load().answer() == 42
    assert later.side_build("kernel").cached is False


def test_torchs_own_lock_left_by_a_killed_build_is_cleared(watch: BuildWatch, root: Path, tmp_path: Path) -> None:
    path = plain_source(tmp_path, 'extern "C" int answer() { return 42; }')
    cpp_extension.load("locked_ext", path, is_python_module=False)
    (library,) = cache.extensions_dir(root).glob("locked_ext-*/*.so")
    (library.parent / "lock").touch()
    watch._loaded.clear()
    cpp_extension.load("locked_ext", path, is_python_module=False)
    assert library.exists()
    assert not (library.parent / "lock").exists()


def test_nobody_else_builds_or_evicts_in_the_folder_meanwhile(watch: BuildWatch) -> None:
    outcomes = []

    def builder(name: str, cpp_sources: str, build_directory: str, verbose: bool) -> str:
        outcomes.append(cache.remove(Path(build_directory)))
        return "module"

    assert watch._build(builder, {"name": "held_ext", "cpp_sources": "x"}) == "module"
    assert outcomes == [False]


def test_the_first_compiler_error_is_the_message(watch: BuildWatch, tmp_path: Path) -> None:
    watch.side = "ref"
    path = plain_source(tmp_path, "int answer() { return missing_name; }")
    with pytest.raises(BuildError) as caught:
        cpp_extension.load("broken_ext", path)
    error = caught.value
    assert (error.code, error.side) == ("compile_failed", "ref")
    assert "missing_name" in error.message
    assert "error" in error.message
    assert "\n" not in error.message
    assert "missing_name" in error.detail
    with pytest.raises(BuildError) as again:
        cpp_extension.load("broken_ext", path)
    assert again.value is error  # what did not compile is not compiled again


def test_cuda_sources_are_refused_before_any_compiler_runs(watch: BuildWatch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_key.subprocess, "run", lambda *a, **k: pytest.fail("a compiler ran"))
    with pytest.raises(WorkloadError) as caught:
        cpp_extension.load_inline("cuda_ext", "", cuda_sources="__global__ void k() {}")
    assert caught.value.code == "needs_cuda"
    assert "cuda_ext" in caught.value.message
    assert "--capture" in caught.value.hint


def test_a_missing_compiler_is_named(watch: BuildWatch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(BuildError, match="no-such-compiler") as caught:
        load()
    assert caught.value.code == "compiler_missing"


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "extensions").write_text("in the way")
    watch = BuildWatch(tmp_path, torch.device("cpu"), lambda name: None)
    with watch.installed(), pytest.raises(BuildError) as caught:
        load()
    assert caught.value.code == "cache_not_writable"
    assert "KPROF_CACHE_DIR" in caught.value.hint


def test_the_hash_follows_all_that_the_result_depends_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source = tmp_path / "a.cpp"
    source.write_text("int a;")
    asked = {"name": "n", "sources": [str(source)], "extra_cflags": ["-O2"]}
    base = build_key.content_hash(asked, False)
    assert build_key.content_hash({**asked, "build_directory": "/elsewhere", "verbose": True}, False) == base
    assert build_key.content_hash({**asked, "extra_cflags": ["-O3"]}, False) != base
    source.write_text("int b;")
    changed = build_key.content_hash(asked, False)
    assert changed != base
    monkeypatch.setenv("CXXFLAGS", "-g")
    assert build_key.content_hash(asked, False) != changed


@pytest.mark.parametrize(
    ("asked", "chosen"),
    [(None, "9.0"), ("7.0;8.0 9.0+PTX", "9.0"), ("8.0;9.0a", "9.0a"), ("10.0a", "9.0"), ("19.0a", "9.0")],
)
def test_one_architecture_alone(monkeypatch: pytest.MonkeyPatch, asked: str | None, chosen: str) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    assert choose_cuda_arch(torch.device("cpu"), asked) == chosen
