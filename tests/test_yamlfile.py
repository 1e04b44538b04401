"""YAML with lines: what is converted, what is refused, and where."""

from __future__ import annotations

from pathlib import Path

import pytest

from kprof.errors import InputFileError
from kprof.yamlfile import YamlDocument, dotted, read_yaml


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("989e12", 989e12),
        ("9.89e14", 9.89e14),
        ("9.89e+14", 9.89e14),
        ("3.35e12", 3.35e12),
        (".5", 0.5),
        ("-7", -7),
        ("132", 132),
        ("010", 10),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        (".nan", ".nan"),
        (".inf", ".inf"),
        ("1e999", "1e999"),
        ("9" * 5000, "9" * 5000),
        ('"989"', "989"),
        ("989 TFLOPS", "989 TFLOPS"),
        ("yes", "yes"),
        ("true", True),
        ("null", None),
        ("~", None),
        ("", None),
        ("2024-01-01", "2024-01-01"),
    ],
)
def test_scalars_are_what_they_look_like(text: str, expected: object) -> None:
    value = YamlDocument("f.yaml", f"key: {text}\n").data["key"]

    assert value == expected
    assert type(value) is type(expected)


def test_every_key_has_its_line() -> None:
    document = YamlDocument("f.yaml", "a:\n  b: 1\n  c:\n    - x\n    - y\n# comment\nd: {e: 2}\n")

    assert document.data == {"a": {"b": 1, "c": ["x", "y"]}, "d": {"e": 2}}
    assert [document.line(path) for path in (("a",), ("a", "b"), ("a", "c", 1), ("d", "e"))] == [1, 2, 5, 7]
    assert document.line(("a", "missing", "deeper")) == 1
    assert document.value(("a", "c", 1)) == "y"
    assert document.value(("a", "c", 7)) is None
    assert dotted(("a", "c", 1)) == "a.c[1]"


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "a: found twice, first on line 1"),
        ("p:\n  x: 1\n  x: 1\n", 3, "p.x: found twice, first on line 2"),
        ("a: &n {x: 1}\nb: *n\n", 2, "found an alias"),
        ("a: &n [*n]\n", 1, "found an alias"),
        ("a: {x: 1}\n<<: {y: 2}\n", 2, "found a merge key"),
        ("a: 1\n? [x, y]\n: 2\n", 2, "found a list or a mapping as a key"),
        ("a: 1\nb: [1, 2\n", 3, "not readable as YAML"),
        ("a: 1\n\tb: 2\n", 2, "not readable as YAML"),
        ("a: 1\n---\nb: 2\n", 2, "not readable as YAML"),
    ],
)
def test_refusals_name_the_line(text: str, line: int, found: str) -> None:
    with pytest.raises(InputFileError) as caught:
        YamlDocument("f.yaml", text)

    assert caught.value.message.startswith(f"f.yaml:{line}: ")
    assert found in caught.value.message
    assert caught.value.exit_code == 2


def test_nesting_without_end_is_refused() -> None:
    with pytest.raises(InputFileError, match=r"f\.yaml"):
        YamlDocument("f.yaml", "a: " + "[" * 100_000)


def test_an_empty_file_holds_nothing() -> None:
    assert YamlDocument("f.yaml", "# nothing\n").data is None


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match="No such file"):
        read_yaml(tmp_path / "none.yaml")
    with pytest.raises(InputFileError, match="directory"):
        read_yaml(tmp_path)
    latin = tmp_path / "latin.yaml"
    latin.write_bytes(b"title: caf\xe9\n")
    with pytest.raises(InputFileError, match=r"not UTF-8 text: .* at byte 10"):
        read_yaml(latin)
