"""What ``kprof analyze`` takes: every argument is checked, or turned into its value, before anything runs."""

from __future__ import annotations

import ast
import math
import os
import re
import stat
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from kprof.cache import cache_dir, cache_max_bytes
from kprof.commands.gate_options import GATE_SETTINGS
from kprof.errors import CannotMeasureError, UsageError
from kprof.report import BLOCK_NAMES
from kprof.sanitizer_evidence import SANITIZER_TOOLS, SanitizerTool
from kprof.turns import DEFAULT_TIMEOUT_S

Override = int | float | bool | str

MAX_SOURCE_BYTES: Final = 16 * 2**20
"""A source file beyond this is something else, given by mistake."""
_WITH_CAPTURE: Final = (
    frozenset({"kernel", "capture_file", "format_", "output", "html", "quiet", "debug", "gpu", "roof", "ceilings_file"})
    | GATE_SETTINGS
)
_DEVICE: Final = re.compile(r"auto|cpu|cuda(:(0|[1-9][0-9]{0,2}))?")
_NOT_FINITE: Final = re.compile(r"[-+]?(nan|inf|infinity)", re.IGNORECASE)
_LONGEST_LITERAL: Final = 1000
"""Characters. Longer text is no number, and Python's parser does not survive every text."""
_INT64: Final = range(-(2**63), 2**63)


class Seconds(click.FloatRange):
    """At least one second, and finite: click lets NaN through any range."""

    name = "seconds"

    def __init__(self) -> None:
        super().__init__(min=1)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds = float(super().convert(value, param, ctx))
        if not math.isfinite(seconds):
            self.fail(f"{value} is not a finite number of seconds.", param, ctx)
        return seconds


lock_timeout_option: Final = click.option(
    "--lock-timeout",
    type=Seconds(),
    default=DEFAULT_TIMEOUT_S,
    show_default=True,
    help="Seconds to wait for other runs on the same GPU.",
)
"""Of the commands that measure there, one at a time."""


def require_one_source(ctx: click.Context, kernel: Path | None, capture_file: Path | None) -> None:
    """Either a kernel file or a capture, and with a capture only what changes the report made from it.

    Raises:
        UsageError: neither, both, or an option that a replay would ignore.
    """
    if kernel is None and capture_file is None:
        raise UsageError("give a kernel file, or --capture FILE", "kprof analyze kernel.py --ref ref.py")
    if capture_file is None:
        return
    if kernel is not None:
        raise UsageError(f"found both {kernel} and --capture {capture_file}, expected one of the two", "Leave one out.")
    idle = [
        parameter.opts[0]
        for parameter in ctx.command.params
        if parameter.name not in _WITH_CAPTURE
        and ctx.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
    ]
    if idle:
        message = f"{', '.join(idle)}: no effect with --capture, which measures nothing"
        raise UsageError(message, "Leave it out, or measure again from the kernel file.")


def require_surroundings() -> None:
    """What would otherwise be found only once something was compiled: the cache's settings, a folder for scratch files.

    Raises:
        UsageError: a setting of the cache is not one.
        CannotMeasureError: no temporary folder can be written.
    """
    cache_max_bytes()
    cache_dir()
    try:
        tempfile.gettempdir()
    except OSError as error:
        hint = "Set TMPDIR to a folder that can be written and has room."
        raise CannotMeasureError("no_temporary_folder", "no temporary folder can be written", hint) from error


def source_file(path: Path) -> Path:
    """A file of Python source, by what the file system says of it: it is not opened.

    Raises:
        UsageError: not there, no regular file, unreadable, empty, far too large, or of a name that JSON cannot hold.
    """
    require_utf8(str(path), "the file name")
    try:
        found = path.stat()
    except FileNotFoundError as error:
        raise UsageError(f"{path} does not exist; a Python file was expected", "Check the path.") from error
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", "Check the path.") from error
    problem = _problem(path, found)
    if problem:
        raise UsageError(f"{path} {problem}; a Python file was expected", "Check the path.")
    return path


def _problem(path: Path, found: os.stat_result) -> str:
    if stat.S_ISDIR(found.st_mode):
        return "is a folder"
    if not stat.S_ISREG(found.st_mode):
        return "is not a regular file"
    if found.st_size == 0:
        return "is empty"
    if found.st_size > MAX_SOURCE_BYTES:
        return f"has {found.st_size / 1e6:.0f} MB"
    return "" if os.access(path, os.R_OK) else "is not readable"


def require_pattern(text: str | None) -> re.Pattern[str] | None:
    """The regular expression of ``--kernel``.

    Raises:
        UsageError: it is none.
    """
    if text is None:
        return None
    try:
        return re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(
            f"--kernel {text}: no regular expression: {error}", "Escape what is meant literally."
        ) from error


def require_utf8(text: str, what: str) -> None:
    """Refuse what the capture could not hold.

    Raises:
        UsageError: ``text`` came from bytes that are not UTF-8.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{what} {text!a} is not UTF-8", "Rename it, or write it in UTF-8.") from error


def command_line() -> tuple[str, ...]:
    """How kprof was called, as text that JSON can hold."""
    return ("kprof", *(os.fsencode(argument).decode(errors="replace") for argument in sys.argv[1:]))


def device_name(text: str) -> str:
    """``auto``, ``cpu``, ``cuda`` or ``cuda:N``; whether it is there, the worker will say.

    Raises:
        UsageError: something else.
    """
    if not _DEVICE.fullmatch(text):
        raise UsageError(f"--device {text!a}: auto, cpu, cuda or cuda:N was expected", "For example cuda:0")
    return text


def block_names(text: str | None) -> tuple[str, ...]:
    """The blocks asked for, each once; all of them for None.

    Raises:
        UsageError: no such block, or none named.
    """
    if text is None:
        return BLOCK_NAMES
    asked = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    unknown = [name for name in asked if name not in BLOCK_NAMES]
    if unknown or not asked:
        message = f"--blocks {text}: no block {', '.join(unknown) or 'named'}"
        raise UsageError(message, f"Blocks: {', '.join(BLOCK_NAMES)}")
    return asked


def sanitizer_tools(text: str | None) -> tuple[SanitizerTool, ...]:
    """The tools of compute-sanitizer asked for, each once; none for None.

    Raises:
        UsageError: no such tool, or none named.
    """
    if text is None:
        return ()
    asked = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    unknown = [name for name in asked if name not in SANITIZER_TOOLS]
    if unknown or not asked:
        message = f"--sanitize {text}: no tool {', '.join(unknown) or 'named'}"
        raise UsageError(message, f"Tools: {', '.join(SANITIZER_TOOLS)}")
    return tuple(tool for tool in SANITIZER_TOOLS if tool in asked)


def assignment(text: str) -> tuple[str, Override]:
    """``NAME=VALUE`` as a name and its value: a number, true or false, else text.

    Raises:
        UsageError: not of that form, or a number that no report can hold.
    """
    require_utf8(text, "--set")
    name, equals, value = text.partition("=")
    if not equals or not name.strip().isidentifier():
        raise UsageError(f"--set {_short(text)}: NAME=VALUE was expected", "For example --set R=8")
    found = _value(value.strip())
    if _NOT_FINITE.fullmatch(value.strip()) or (isinstance(found, float) and not math.isfinite(found)):
        hint = f"Mark it as text where text is meant: --set \"{name.strip()}='nan'\""
        raise UsageError(f"--set {_short(text)}: a finite number was expected", hint)
    if isinstance(found, int) and found not in _INT64:
        raise UsageError(f"--set {_short(text)}: an integer of at most 64 bits was expected", "Give a smaller one.")
    return name.strip(), found


def _value(text: str) -> Override:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if len(text) > _LONGEST_LITERAL:
        return text
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Python thinks of "1is" as source is of no interest
            value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):  # the last two: nested too deeply for the parser
        return text
    return value if isinstance(value, (int, float, str)) else text


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
