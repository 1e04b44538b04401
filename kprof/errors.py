"""The one family of errors: what happened (found, expected), what to do, and the exit code it ends with.

Only the boundary in ``cli.py`` turns these into output. Exit codes are those of the command line's contract:
2 is a usage error or an input file that is missing or malformed, 3 means that nothing could be measured.
"""

from __future__ import annotations

from typing import ClassVar


class KprofError(Exception):
    """Base of every error that kprof raises on purpose.

    Args:
        message: one line: what was found and what was expected.
        hint: one line: what to do about it.
    """

    exit_code: ClassVar[int] = 3

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(KprofError):
    """An argument, or a file given as one, that cannot be used."""

    exit_code = 2


class InputFileError(UsageError):
    """A file that is missing, unreadable, malformed or of an unknown schema."""


class CannotMeasureError(KprofError):
    """Nothing could be measured: no device, or the kernel or the reference does not run.

    Args:
        code: the stable reason code that the report uses for the same failure.
    """

    exit_code = 3

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message, hint)
        self.code = code


def error_lines(message: str, hint: str) -> str:
    """What stderr says of an error: one line of what happened, one of what to do."""
    return "\n".join((f"kprof: error: {message}", *([f"kprof: hint: {hint}"] if hint else [])))


def text_of(error: BaseException) -> str:
    """An exception's text, whatever user code made of it, such that it can be written as UTF-8."""
    try:
        text = str(error)
    except BaseException:  # User code's own __str__ may raise anything.
        return "(its message cannot be read)"
    return text.encode("utf-8", errors="replace").decode("utf-8")


def first_line(error: BaseException) -> str:
    """The first line of an exception's text, at most 300 characters, for a one-line message."""
    lines = text_of(error).strip().splitlines()
    return lines[0][:300] if lines else "(no message)"
