"""The reference's constants: what the kernel's file changes is named, and what the reference changes itself is not."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import pytest

from kprof.collectors.integrity.guard import Guard
from kprof.workload import load_module, override_constants

SOURCE = """
import math
SIZE, SCALE, NAMES, SHAPES, NOTHING = 512, math.nan, ("a", "b"), [1, [2]], {}
calls, log = 0, []

class Model:
    chunks, seen = 1, 0

    def __call__(self, x):
        global calls
        calls += 1
        log.append(x)
        NOTHING[x] = x
        Model.seen += 1
        return x
"""


def loaded(folder: Path, source: str = SOURCE) -> tuple[types.ModuleType, Guard]:
    path = folder / "ref.py"
    path.write_text(source)
    module: Any = load_module(path, "ref")
    override_constants(module, {"SIZE": 256} if "SIZE" in source else {}, "ref")
    guard = Guard()
    guard.take(module, module.Model())
    return module, guard


def names(guard: Guard) -> list[str]:
    return [patch.name for patch in guard.patches("call")]


def test_what_the_reference_changes_itself_is_no_patch(tmp_path: Path) -> None:
    module, guard = loaded(tmp_path)
    guard.imported()
    module.Model()(3)
    assert (module.calls, module.log, module.Model.seen) == (1, [3], 1)
    assert names(guard) == []


@pytest.mark.parametrize(("name", "value"), [("SIZE", 2), ("SIZE", 256.0), ("NAMES", ("a", "c")), ("SCALE", 1.0)])
def test_a_constant_changed_by_a_call_is_named(tmp_path: Path, name: str, value: object) -> None:
    module, guard = loaded(tmp_path)
    guard.imported()
    setattr(module, name, value)
    assert names(guard) == [f"reference.{name}"]


def test_a_constant_of_a_class_counts(tmp_path: Path) -> None:
    module, guard = loaded(tmp_path)
    guard.imported()
    module.Model.chunks = 256
    assert names(guard) == ["reference.Model.chunks"]


def test_at_the_import_containers_and_counters_count_too(tmp_path: Path) -> None:
    module, guard = loaded(tmp_path)
    module.SHAPES[1].append(3)
    module.calls = 7
    guard.imported()
    assert names(guard) == ["reference.SHAPES", "reference.calls"]


def test_a_reference_that_may_write_to_anything_is_compared_at_the_import_alone(tmp_path: Path) -> None:
    source = "N = 1\nclass Model:\n    def __call__(self):\n        globals()['N'] += 1\n"
    module, guard = loaded(tmp_path, source)
    guard.imported()
    module.Model()()
    assert names(guard) == []
