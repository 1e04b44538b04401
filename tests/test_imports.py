"""The architecture, held: imports point down only, no circles, torch only where user code runs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "kprof"

# From the edge down. A module may import from its own layer and from those below it.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("__main__", "cli"),
    ("commands", "progress"),
    ("renderers", "collection", "importing"),
    ("doctor", "selftest"),
    ("ceilings_measuring",),
    ("counter_collection", "sanitizer_collection", "report_file", "own_worker", "baselines", "comparison"),
    ("report", "worker"),
    ("blocks", "collectors"),
    ("bottleneck", "audit"),
    ("any_board",),
    ("context", "inspection", "workload", "roofline", "occupancy", "floor", "counter_profile", "verdicts", "gates"),
    ("task_roofs", "ceilings_check"),
    ("capture", "gpuspec", "flop"),
    ("counters", "floor_evidence", "integrity_evidence", "ceilings_cache", "installation"),
    ("probe_evidence", "ceilings_evidence"),
    (
        "counter_evidence",
        "launches_evidence",
        "precision_evidence",
        "sanitizer_evidence",
        "trees",
        "harness_names",
        "kernelnames",
        "specfile",
    ),
    (
        "evidence",
        "board",
        "yamlfile",
        "metrics",
        "files",
        "cache",
        "subprocesses",
        "turns",
        "report_json",
        "exit_codes",
    ),
    ("statistics", "resources", "errors", "figures", "__init__"),
)
# Analysis and what collects evidence know nothing of each other; both know only records.
APART: tuple[tuple[str, frozenset[str]], ...] = (
    ("blocks", frozenset({"collectors", "worker", "workload", "trees", "collection"})),
    ("report", frozenset({"collectors", "worker", "workload", "trees", "collection"})),
    ("gates", frozenset({"collectors", "worker", "workload", "trees", "collection", "capture", "files"})),
    ("comparison", frozenset({"collectors", "worker", "workload", "trees", "collection", "capture", "files"})),
    ("renderers", frozenset({"collectors", "worker", "workload", "trees", "collection"})),
    ("collectors", frozenset({"blocks", "report", "renderers", "worker", "commands", "collection"})),
    ("worker", frozenset({"blocks", "report", "renderers", "commands", "collection"})),
    ("collection", frozenset({"blocks", "report", "renderers", "commands", "collectors", "workload"})),
    ("counter_collection", frozenset({"blocks", "report", "renderers", "commands", "workload"})),
    ("sanitizer_collection", frozenset({"blocks", "report", "renderers", "commands", "workload"})),
    ("importing", frozenset({"blocks", "report", "renderers", "commands", "worker", "workload"})),
)
TORCH_SIDE = {"workload", "inspection", "trees", "harness_names", "collectors"}
TORCH_WORKER_MODULES = {"kprof.worker.stages", "kprof.worker.faults", "kprof.worker.loading"}
HEAVY = {"torch", "pandas", "matplotlib", "jinja2", "scipy", "triton", "ncu_report"}
# The package that may import each of these; its modules are imported when a picture or a page is asked for.
AT_HOME = {"matplotlib": "kprof.renderers.plot.", "jinja2": "kprof.renderers."}


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = ["kprof", *path.relative_to(PACKAGE).with_suffix("").parts]
        found[".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 2 else parts)] = path
    return found


def imports(path: Path) -> set[str]:
    """Full names of all that a file imports, inside functions too."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.add(node.module or "")
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def own_imports(path: Path) -> set[str]:
    known = modules()
    return {name for name in imports(path) if name in known} - {"kprof"}


def part(module: str) -> str:
    names = module.split(".")
    return names[1] if len(names) > 1 else "__init__"


def layer(module: str) -> int:
    return next(i for i, names in enumerate(LAYERS) if part(module) in names)


def test_every_module_has_a_layer() -> None:
    placed = {name for names in LAYERS for name in names}
    assert {part(module) for module in modules()} <= placed


@pytest.mark.parametrize("module", modules())
def test_imports_point_down(module: str) -> None:
    for target in own_imports(modules()[module]):
        assert layer(target) >= layer(module), f"{module} imports {target}, which lies above it"
        for source, forbidden in APART:
            if part(module) == source:
                assert part(target) not in forbidden, f"{module} imports {target}"


def test_no_circles() -> None:
    graph = {module: own_imports(path) for module, path in modules().items()}
    done: set[str] = set()

    def visit(module: str, above: tuple[str, ...]) -> None:
        assert module not in above, f"circle: {' -> '.join((*above, module))}"
        if module not in done:
            for target in graph.get(module, ()):
                visit(target, (*above, module))
            done.add(module)

    for module in graph:
        visit(module, ())


@pytest.mark.parametrize("module", modules())
def test_heavy_libraries_stay_where_user_code_runs(module: str) -> None:
    if part(module) in TORCH_SIDE or module in TORCH_WORKER_MODULES:
        return
    heavy = {name.split(".")[0] for name in imports(modules()[module])} & HEAVY
    heavy = {name for name in heavy if not f"{module}.".startswith(AT_HOME.get(name, "no package"))}
    assert not heavy, f"{module} imports {heavy}"


def test_commands_import_no_library_for_pictures_before_one_is_asked_for() -> None:
    commands = ", ".join(module for module in modules() if part(module) in ("commands", "cli"))
    code = f"import sys, {commands}, kprof.renderers.text; print(*{{'matplotlib', 'jinja2'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=PACKAGE.parent, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_the_walk_sees_real_imports() -> None:
    assert "kprof.capture" in own_imports(PACKAGE / "report.py")
    assert "torch" in imports(PACKAGE / "workload.py")
