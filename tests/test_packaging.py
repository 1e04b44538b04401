"""What travels with kprof is found wherever it is installed.

A wheel carries the folders inside the package; a checkout has them beside it. An editable install is a checkout that
the interpreter points to (`make test` makes one and runs these tests in it), so two kinds cover all three.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from kprof.resources import resource_dir

REPO = Path(__file__).resolve().parents[1]
FOLDERS = ("specs", "specs/architectures", "kernels/probes", "kernels/ceilings")
ASK = (
    "import kprof, json; from kprof.resources import resource_dir; from kprof.gpuspec import load_all_specs; "
    "print(json.dumps([kprof.__file__, str(resource_dir('kernels/probes')), len(load_all_specs())]))"
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the checkout without fetching anything."""
    out = tmp_path_factory.mktemp("wheel")
    options = ["--no-deps", "--no-build-isolation", "--quiet", "--disable-pip-version-check", "-w", str(out)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(REPO)], check=True, capture_output=True)
    (built,) = out.glob("kprof-*.whl")
    return built


def test_the_wheel_carries_specs_probes_and_schema(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in FOLDERS:
        for path in (REPO / folder).iterdir():
            if path.is_file():
                assert f"kprof/_data/{folder}/{path.name}" in names
    assert {"kprof/py.typed", "kprof/schema/report-v1.json"} <= names
    templates = REPO / "kprof" / "renderers" / "html" / "templates"
    assert {f"kprof/renderers/html/templates/{path.name}" for path in templates.iterdir()} <= names
    assert not [name for name in names if "__pycache__" in name or name.startswith(("tests", "docs"))]


def test_an_installed_kprof_finds_its_own_files(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {[str(site), *_libraries()]!r}; {ASK}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert f'"{site}/kprof/__init__.py", "{site}/kprof/_data/kernels/probes", 21' in done.stdout


def _libraries() -> list[str]:
    """Where the dependencies are, without the editable kprof that a path file there may point to."""
    return [entry for entry in sys.path if entry.endswith("site-packages")]


def test_a_checkout_finds_them_beside_the_package() -> None:
    assert resource_dir("specs") == REPO / "specs"
    assert resource_dir("kernels/probes") == REPO / "kernels" / "probes"
    assert resource_dir("kernels/ceilings") == REPO / "kernels" / "ceilings"


def test_a_broken_installation_says_where_it_looked() -> None:
    with pytest.raises(FileNotFoundError, match=r"no-such-folder.*_data"):
        resource_dir("no-such-folder")


@pytest.mark.parametrize("command", [[sys.executable, "-m", "kprof"], [str(Path(sys.executable).parent / "kprof")]])
def test_both_entry_points_say_the_version(command: list[str]) -> None:
    if not Path(command[0]).exists():
        pytest.skip("kprof is not installed in this environment: make test installs it")
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True, cwd=REPO)
    assert done.stdout == "kprof, version 0.1.0\n"
