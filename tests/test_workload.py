"""Files load as they are on disk, and each way they can be unusable has its own code."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

from kprof.inspection import describe_inputs, imports_triton
from kprof.workload import (
    LoadedWorkload,
    WorkloadError,
    construct,
    initial_inputs,
    inputs_maker,
    load_module,
    override_constants,
)

CPU = torch.device("cpu")
REF = """
import torch
R, NAME, SCALE = 4, "x", 1.5
class Model(torch.nn.Module):
    def __init__(self, *args, **kwargs):
        super().__init__()
        self.args, self.kwargs = args, kwargs
        self.weight = torch.nn.Parameter(torch.randn(3))
    def forward(self, x): return x + self.weight.sum()
def get_inputs(): return [torch.randn(R, 2)]
def get_init_inputs(): return []
"""


def write(folder: Path, source: str, name: str = "user.py") -> Path:
    path = folder / name
    path.write_text(source)
    return path


def failure(call: Any, *args: Any) -> WorkloadError:
    with pytest.raises(WorkloadError) as caught:
        call(*args)
    return caught.value


def test_two_files_with_the_same_names_do_not_collide(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    a = load_module(write(tmp_path / "a", "class Model: who = 'a'"), "kernel")
    b = load_module(write(tmp_path / "b", "class Model: who = 'b'"), "ref")
    assert (a.Model.who, b.Model.who) == ("a", "b")
    assert a.__name__ != b.__name__


def test_source_can_be_read_back(tmp_path: Path) -> None:
    module = load_module(write(tmp_path, "def f():\n    return 41 + 1\n"), "kernel")
    assert "41 + 1" in inspect.getsource(module.f)


def test_a_decorator_that_reads_source_while_loading_works(tmp_path: Path) -> None:
    source = "import inspect\ndef jit(f):\n    f.src = inspect.getsource(f)\n    return f\n@jit\ndef k(): return 7\n"
    assert "return 7" in load_module(write(tmp_path, source), "kernel").k.src


@pytest.mark.parametrize(
    ("source", "code", "says"),
    [
        ("def f(:\n", "syntax_error", "user.py:1"),
        ("raise ValueError('no luck\\nmore')", "import_failed", "ValueError: no luck"),
        ("import sys\nsys.exit(3)", "import_failed", "SystemExit"),
        ("import nowhere_to_be_found", "import_failed", "nowhere_to_be_found"),
        ("x = 1\0", None, "user.py"),
        ("class E(Exception):\n    def __str__(self): raise KeyError\nraise E", "import_failed", "cannot be read"),
        ("raise ValueError('a \\ud800 b')", "import_failed", "ValueError: a ? b"),
    ],
)
def test_a_file_that_does_not_load_says_why(tmp_path: Path, source: str, code: str | None, says: str) -> None:
    error = failure(load_module, write(tmp_path, source), "kernel")
    # Which error a NUL byte is depends on Python's version.
    assert error.side == "kernel"
    assert error.code in ([code] if code else ["syntax_error", "import_failed"])
    assert says in error.message
    assert "\n" not in error.message
    assert "None" not in error.message


def test_an_entry_that_cannot_be_called_says_so(tmp_path: Path) -> None:
    module = load_module(write(tmp_path, "ModelNew = 3\n"), "kernel")
    error = failure(construct, module, "ModelNew", "kernel", [], 0, CPU)
    assert (error.side, error.code) == ("kernel", "entry_not_callable")
    assert "of type int" in error.message


def test_a_missing_entry_names_what_there_is(tmp_path: Path) -> None:
    module = load_module(write(tmp_path, REF), "kernel")
    error = failure(construct, module, "ModelNew", "kernel", [], 0, CPU)
    assert error.code == "entry_missing"
    assert "defines no ModelNew; it defines Model, get_init_inputs, get_inputs" in error.message


def test_equal_seeds_give_equal_parameters(tmp_path: Path) -> None:
    module = load_module(write(tmp_path, REF), "ref")
    one, two = (construct(module, "Model", "ref", [], 5, CPU) for _ in range(2))
    assert torch.equal(one.weight, two.weight)
    assert not one.training


@pytest.mark.parametrize(
    ("init", "args", "kwargs"),
    [([1, "b"], (1, "b"), {}), ({"a": 2}, (), {"a": 2}), ([[1], {"b": 3}], (1,), {"b": 3}), ((), (), {})],
)
def test_init_inputs_of_every_form(tmp_path: Path, init: Any, args: Any, kwargs: Any) -> None:
    model = construct(load_module(write(tmp_path, REF), "ref"), "Model", "ref", init, 0, CPU)
    assert (model.args, model.kwargs) == (args, kwargs)


def test_a_function_can_be_the_entry(tmp_path: Path) -> None:
    module = load_module(write(tmp_path, "def double(x): return 2 * x"), "kernel")
    assert construct(module, "double", "kernel", [], 0, CPU)(4) == 8


def test_a_constructor_that_raises_is_its_sides_fault(tmp_path: Path) -> None:
    module = load_module(write(tmp_path, "class ModelNew:\n    def __init__(self): raise KeyError('w')"), "kernel")
    error = failure(construct, module, "ModelNew", "kernel", [], 0, CPU)
    assert (error.code, error.side) == ("constructor_failed", "kernel")
    assert "ModelNew() raised KeyError" in error.message


def test_overrides_reach_the_inputs(tmp_path: Path) -> None:
    module = load_module(write(tmp_path, REF), "ref")
    override_constants(module, {"R": 9, "SCALE": 2}, "ref")
    assert module.get_inputs()[0].shape == (9, 2)
    assert (module.SCALE, type(module.SCALE)) == (2.0, float)


@pytest.mark.parametrize(
    ("overrides", "code", "says"),
    [
        ({"Q": 1}, "unknown_override", "the file defines NAME='x', R=4, SCALE=1.5"),
        ({"R": "many"}, "override_type", "the file has R = 4"),
        ({"R": True}, "override_type", "a bool"),
        ({"get_inputs": 1}, "unknown_override", "no such constant"),
    ],
)
def test_an_override_that_fits_nothing_is_refused(
    tmp_path: Path, overrides: dict[str, Any], code: str, says: str
) -> None:
    error = failure(override_constants, load_module(write(tmp_path, REF), "ref"), overrides, "ref")
    assert error.code == code
    assert says in error.message


def test_an_override_of_the_wrong_type_says_which_to_give(tmp_path: Path) -> None:
    module = load_module(write(tmp_path, REF), "ref")
    assert failure(override_constants, module, {"R": "many"}, "ref").hint == "Give an int."
    assert failure(override_constants, module, {"SCALE": "x"}, "ref").hint == "Give a float."
    assert "--set NAME=3: an int, but" in failure(override_constants, module, {"NAME": 3}, "ref").message


def workload(tmp_path: Path, source: str) -> LoadedWorkload:
    module = load_module(write(tmp_path, source), "ref")
    return LoadedWorkload(CPU, lambda x: x, None, inputs_maker(module, "ref"), "ref")


def test_inputs_are_the_same_for_the_same_seed(tmp_path: Path) -> None:
    source = (
        "import torch, random, numpy\n"
        "def get_inputs():\n"
        "    return [torch.randn(3), {'a': (random.random(), torch.tensor(numpy.random.rand(2)))}, None, 5]"
    )
    loaded = workload(tmp_path, source)
    one, two, other = loaded.inputs(3), loaded.inputs(3), loaded.inputs(4)
    assert torch.equal(one[0], two[0])
    assert not torch.equal(one[0], other[0])
    assert one[1]["a"][0] == two[1]["a"][0]
    assert torch.equal(one[1]["a"][1], two[1]["a"][1])
    assert one[2:] == [None, 5]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("raise RuntimeError('boom')", "RuntimeError: boom"),
        ("return torch.ones(2)", "gave a Tensor"),
        ("return 5", "int"),
    ],
)
def test_get_inputs_that_fails_is_the_references_fault(tmp_path: Path, body: str, says: str) -> None:
    error = failure(workload(tmp_path, f"import torch\ndef get_inputs(): {body}").inputs, 0)
    assert (error.code, error.side) == ("get_inputs_failed", "ref")
    assert says in error.message


def test_a_file_without_get_inputs_says_so(tmp_path: Path) -> None:
    error = failure(inputs_maker, load_module(write(tmp_path, "x = 1"), "kernel"), "kernel")
    assert error.code == "get_inputs_missing"
    assert error.hint == "Give the reference with --ref, or define get_inputs() in the kernel file."
    # With a reference, that file is the one to mend.
    error = failure(inputs_maker, load_module(write(tmp_path, "x = 1"), "ref"), "ref")
    assert error.hint == "Define get_inputs() in it."
    assert initial_inputs(load_module(write(tmp_path, "x = 1"), "kernel"), "kernel", 0) == []


def test_inputs_are_described_with_their_places() -> None:
    described = describe_inputs([torch.zeros(2, 3), {"mask": torch.tensor([1, 1])}, torch.randn(4), 3])
    assert [(t.path, t.shape, t.dtype, t.constant) for t in described] == [
        ("[0]", (2, 3), "float32", True),
        ("[1]['mask']", (2,), "int64", False),
        ("[2]", (4,), "float32", False),
    ]


def test_inputs_of_every_layout_are_described_and_kept(tmp_path: Path) -> None:
    source = (
        "import torch, warnings\n"
        "def get_inputs():\n"
        "    warnings.simplefilter('ignore')\n"
        "    x = torch.ones(4, 4)\n"
        "    pieces = [torch.ones(2, 4), torch.ones(3, 4)]\n"
        "    quantized = torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)\n"
        "    return [x.to_sparse(), x.to_sparse_csr(), x.to_mkldnn(), quantized,\n"
        "            torch.nested.nested_tensor(pieces), torch.nested.nested_tensor(pieces, layout=torch.jagged)]\n"
    )
    loaded = workload(tmp_path, source)
    with warnings.catch_warnings():  # The file sets a filter: torch calls some of these prototypes, or deprecated.
        described = describe_inputs(loaded.inputs(0))
        again = loaded.inputs(0)
    assert [one.shape for one in described] == [(4, 4)] * 4 + [(2,)] * 2
    assert [one.constant for one in described] == [False] * 6
    assert torch.equal(again[0].to_dense(), torch.ones(4, 4))
    assert torch.equal(again[4].unbind()[1], torch.ones(3, 4))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import triton\nimport triton.language as tl", True),
        ("def f():\n    from triton import jit", True),
        ("# import triton\ntext = 'import triton'", False),
        ("import tritonclient", False),
        ("def broken(:", False),
        ("-" * 100_000 + "1", False),
        ("x" + ".x" * 100_000, False),
    ],
)
def test_triton_is_seen_in_the_syntax_tree(tmp_path: Path, source: str, expected: bool) -> None:
    assert imports_triton(write(tmp_path, source)) is expected
