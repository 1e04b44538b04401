"""Files that are almost right, for the fuzz tests: whole ones with values changed, or bytes."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[Any]], Any]
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, -(2**70), 0.0, -0.0, 0.5, -3.5, 1e-320, 1e308, -1e308, "", " ",
    "0", "NaN", "nan", "ok", "\x00", "\x1b[31m", "\ud7ff\u202e", "é" * 300, "a.b[0]", "cuda:0", "-", [], [None], [1],
    [[[]]], {}, {"a": 1}, {"": {}}, [1e308] * 5, ["x"] * 3,
)  # fmt: skip
"""What stands where something else was expected."""
PIECES = (
    b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-", b"\x00", b"\xff\xfe", b"\xf0\x9f", b'"', b",", b"{", b"}", b"[",
    b"]", b"\r\n", b"\n\n", b"'", b"\\", b"&a", b"*a", b"<<: *a", b"? ", b"!!python/object:os.system", b"%", b"#",
    b"\t", b'"ID"', b"==PROF==", b"n/a", b"1,205", b"9" * 400, b"[" * 3000, b"- " * 2000, b"{a: " * 500,
)  # fmt: skip
"""What stands in between."""


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each container in a value, with a key of it."""
    waiting = [value]
    while waiting:
        container = waiting.pop()
        for key in container if isinstance(container, dict) else range(len(container)):
            yield container, key
            if isinstance(container[key], (dict, list)):
                waiting.append(container[key])


@st.composite
def changed_values(draw: Draw, original: Any) -> Any:
    """The value with one to four of its parts changed, left out, doubled or added to."""
    value = copy.deepcopy(original)
    for _ in range(draw(st.integers(1, 4))):
        known = list(places(value))
        if not known:
            break
        container, key = known[draw(st.integers(0, len(known) - 1))]
        what = draw(st.sampled_from(("put", "put", "put", "drop", "add", "again")))
        if what == "put":
            container[key] = copy.deepcopy(draw(st.sampled_from(VALUES)))
        elif what == "drop":
            del container[key]
        elif isinstance(container, dict):
            container[draw(st.sampled_from(("", "status", "unheard of", "reason")))] = draw(st.sampled_from(VALUES))
        else:
            container.insert(key, copy.deepcopy(container[key]) if what == "again" else draw(st.sampled_from(VALUES)))
    return value


def changed_json(original: Any) -> st.SearchStrategy[bytes]:
    """JSON of a changed value; Python writes NaN and infinities where they are."""
    return changed_values(original).map(lambda value: json.dumps(value).encode("utf-8", "surrogatepass"))


@st.composite
def changed_bytes(draw: Draw, original: bytes) -> bytes:
    """The bytes with one to four stretches cut out, doubled, overwritten or put in, or the end lost."""
    data = original
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        end = min(len(data), at + draw(st.sampled_from((1, 2, 7, 60, 2000))))
        what = draw(st.sampled_from(("cut", "double", "put", "put", "flip", "end")))
        if what == "cut":
            data = data[:at] + data[end:]
        elif what == "double":
            data = data[:end] + data[at:]
        elif what == "put":
            data = data[:at] + draw(st.sampled_from(PIECES)) + data[at:]
        elif what == "flip":
            data = data[:at] + bytes(byte ^ 0x5A for byte in data[at:end]) + data[end:]
        else:
            data = data[:at]
    return data
