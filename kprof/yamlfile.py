"""YAML that people wrote: plain values, and the line that each key stands on.

Stricter than YAML where YAML surprises: a key given twice, aliases and merge keys are refused, words such as ``yes``
are text, and ``989e12`` is the number it looks like (YAML 1.1 reads a string, because the exponent has no sign).
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any, Final

import yaml

from kprof.errors import InputFileError
from kprof.files import read_whole

KeyPath = tuple[str | int, ...]
_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MOST_BYTES: Final = 2**20
"""The largest spec that travels with kprof has 7 kB."""
_INTEGER: Final = re.compile(r"[-+]?[0-9]+")
_NUMBER: Final = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")
_WORDS: Final[dict[str, bool | None]] = {"": None, "~": None, "null": None, "true": True, "false": False}


class YamlDocument:
    """One YAML document as plain values: None, bool, int, float, str, list, dict.

    Args:
        source: the file's name, for errors.
        text: its content.

    Raises:
        InputFileError: not YAML, or YAML that is refused here; names file and line.
    """

    def __init__(self, source: str, text: str) -> None:
        self.source = source
        self._lines: dict[KeyPath, int] = {}
        self._seen: set[int] = set()
        try:
            node = yaml.compose(text, Loader=_LOADER)
            self.data: Any = None if node is None else self._value(node, ())
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = mark.line + 1 if mark else 1
            raise self._malformed(line, f"{error.problem or error.context}") from error
        except yaml.YAMLError as error:
            raise self._malformed(1, " ".join(str(error).split())) from error
        except RecursionError as error:
            raise self._malformed(1, "nested too deeply") from error

    def line(self, path: KeyPath) -> int:
        """The line of the key at ``path``, or of the nearest key above it that the file has."""
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path, 1)

    def value(self, path: KeyPath) -> Any:
        """What stands at ``path``; None where the file has nothing there."""
        found: Any = self.data
        for key in path:
            if isinstance(found, dict):
                found = found.get(key)
            elif isinstance(found, list) and isinstance(key, int) and key < len(found):
                found = found[key]
            else:
                return None
        return found

    def error(self, path: KeyPath, message: str, hint: str) -> InputFileError:
        """An error about the key at ``path``: file, line and key come first."""
        where = f"{self.source}:{self.line(path)}: "
        return InputFileError(f"{where}{dotted(path)}: {message}" if path else f"{where}{message}", hint)

    def _malformed(self, line: int, problem: str) -> InputFileError:
        return InputFileError(f"{self.source}:{line}: not readable as YAML: {problem}", "Correct that line.")

    def _value(self, node: yaml.Node, path: KeyPath) -> Any:
        line = node.start_mark.line + 1
        self._lines.setdefault(path, line)
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node)
        if id(node) in self._seen:
            raise self.error(path, "found an alias (*name), expected values written out", "Write the value out.")
        self._seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            return [self._value(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._mapping(node, path)

    def _mapping(self, node: yaml.Node, path: KeyPath) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if key is None or key == "<<":
                found = "a merge key (<<)" if key else "a list or a mapping as a key"
                raise InputFileError(f"{self.source}:{line}: found {found}, expected a name", "Write the keys out.")
            here = (*path, key)
            if key in result:
                first = self._lines[here]
                message = f"{self.source}:{line}: {dotted(here)}: found twice, first on line {first}"
                raise InputFileError(message, "Keep one of the two.")
            self._lines[here] = line
            result[key] = self._value(value_node, here)
        return result


def read_yaml(path: Path) -> YamlDocument:
    """Read one YAML file.

    Raises:
        InputFileError: missing, unreadable, not UTF-8, or refused by `YamlDocument`.
    """
    try:
        text = read_whole(path, _MOST_BYTES).decode()
    except UnicodeDecodeError as error:
        message = f"{path} is not UTF-8 text: {error.reason} at byte {error.start}"
        raise InputFileError(message, "Save it as UTF-8.") from error
    return YamlDocument(str(path), text)


def dotted(path: KeyPath) -> str:
    """``memory.bandwidth_gbs``, ``device_names[0]``."""
    text = ""
    for key in path:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else key
    return text


def _scalar(node: yaml.ScalarNode) -> Any:
    text: str = node.value
    if node.style:  # quoted, or a block of text
        return text
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _INTEGER.fullmatch(text) and len(text) < 400:  # beyond, int() refuses or takes long; no quantity is that large
        return int(text)
    if _NUMBER.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    return text
