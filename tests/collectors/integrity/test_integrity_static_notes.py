"""Notes on a source, from its syntax tree: what is there is told with its line, what is only written about is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from kprof.collectors.integrity.static_notes import static_notes

FORWARD = (
    "class M(nn.Module):\n  def forward(self, a, b):\n    try:\n      return k(a)\n    except Exception as e:\n      "
)
"""Its handler's body follows, in line 6."""
HEAD = "import torch\nimport time\nimport os\nimport sys\nfrom torch import nn\nfrom torch.nn import functional as F\n"


def notes(tmp_path: Path, source: str) -> list[tuple[str, int]]:
    file = tmp_path / "kernel.py"
    file.write_text(HEAD + source)
    return [(note.code, note.line - HEAD.count("\n")) for note in static_notes(file, Path("/some/ref.py"), "ModelNew")]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (FORWARD + "return torch.matmul(a, b)", [("falls_back", 5)]),
        (FORWARD + "a = F.softmax(a, -1)\n    return a", [("falls_back", 5)]),
        (FORWARD + "return super().forward(a)", [("falls_back", 5)]),
        ("class ModelNew(Model): pass", [("inherits_forward", 1)]),
        ("from ref import Model\nclass ModelNew(Model): pass", [("imports_reference", 1), ("inherits_forward", 2)]),
        ("class Lazy(torch.Tensor): pass", [("tensor_subclass", 1)]),
        ("import kprof.worker", [("imports_kprof", 1)]),
        ("time.perf_counter = lambda: 0", [("replaces", 1)]),
        ("torch.Tensor.sub = None", [("replaces", 1)]),
        ("F.softmax = None", [("replaces", 1)]),
        ("setattr(torch, 'all' + 'close', None)", [("replaces", 1)]),
        ("a, time.time = 1, 2", [("replaces", 1)]),
        ("os._exit(0)", [("ends_process", 1)]),
        ("os.fork()", [("forks", 1)]),
        ("sys._getframe(1)", [("looks_at_callers", 1)]),
        ("import gc as g\ng.get_objects()", [("looks_at_callers", 2)]),
    ],
)  # fmt: skip
def test_what_is_worth_a_look_is_told_with_its_line(tmp_path: Path, source: str, found: list[tuple[str, int]]) -> None:
    assert notes(tmp_path, source) == found


@pytest.mark.parametrize(
    "source",
    [
        "# except: return torch.matmul(a, b)\n'''torch.matmul, time.perf_counter = 0, os._exit(0)'''",
        "try:\n  e = load_inline(name='e')\nexcept RuntimeError as error:\n  raise SystemExit from error",
        "def build():\n  try:\n    return load_inline(name='e')\n  except RuntimeError:\n    return torch.compile(f)",
        FORWARD + "raise RuntimeError(torch.sum(a)) from e",
        FORWARD + "self.made = torch.empty_like(a)\n    return k(a)",
        "class ModelNew(nn.Module):\n  def forward(self, x): return torch.matmul(x, x)",
        "class ModelNew(Model):\n  def forward(self, x): return k(x)",
        "class Model(nn.Module): pass",
        "torch.backends.cuda.matmul.allow_tf32 = True\nos.environ['A'] = '1'",
        "self = object()\nself.time = 1\ntorch_weights = {}\ntorch_weights['a'] = 1",
        "getattr(torch, 'mat' + 'mul')(a, b)",
        "import numpy as np\nnp.random.seed(1)\nstream = torch.cuda.Stream()",
    ],
)  # fmt: skip
def test_words_and_honest_code_are_not_told(tmp_path: Path, source: str) -> None:
    assert notes(tmp_path, source) == []


def test_what_cannot_be_parsed_has_no_notes(tmp_path: Path) -> None:
    assert notes(tmp_path, "def f(:") == []
    assert notes(tmp_path, "x = " + "(" * 5000 + ")" * 5000) == []
    assert static_notes(tmp_path / "none.py", None, "ModelNew") == ()
