"""The command line: subcommands loaded when they are called, and the one place where errors become output."""

from __future__ import annotations

import contextlib
import difflib
import errno
import importlib
import io
import os
import select
import signal
import sys
import traceback
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, NoReturn, TextIO

import click

from kprof import __version__
from kprof.errors import CannotMeasureError, KprofError, UsageError, error_lines

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

# Help is kept here, so that `kprof --help` imports no subcommand; a test holds it against each command's own.
_COMMANDS: Final = {
    "analyze": ("kprof.commands.analyze", "Measure a kernel against its reference."),
    "cache": ("kprof.commands.cache", "Show or clear the cache of compiled extensions."),
    "check": ("kprof.commands.check", "Hold a report against thresholds and a baseline."),
    "compare": ("kprof.commands.compare", "Say what changed from report A to report B, and why."),
    "doctor": ("kprof.commands.doctor", "Say what works here and how to mend the rest."),
    "import": (
        "kprof.commands.import_",
        "Read a report of Nsight Compute: a .ncu-rep, or the CSV of its raw or details page.",
    ),
    "report": ("kprof.commands.report", "Write a report again in another format."),
    "schema": ("kprof.commands.schema", "Print the JSON Schema of a report: every field's meaning, unit and source."),
    "specs": ("kprof.commands.specs", "List the GPU boards that kprof knows, or show one in full."),
}
INTERRUPTED: Final = 130
_DEBUG: Final = "--debug"
_ENDING_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)


class _LazyGroup(click.Group):
    """Imports a subcommand when it is called, and gives each one ``--debug``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(_COMMANDS[name][0]).command
        if not any(parameter.name == "debug" for parameter in command.params):
            command.params.append(_debug_option())
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        # click looks for the nearest among the commands that are loaded: none is.
        nearest = difflib.get_close_matches(args[0], _COMMANDS, n=1)
        if args[0] not in _COMMANDS and nearest:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {nearest[0]!r}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in sorted(_COMMANDS.items())])


def _debug_option() -> click.Option:
    # `run` looks for it itself: an error may come before any option is parsed.
    return click.Option([_DEBUG], is_flag=True, expose_value=False, help="Add the traceback to an error.")


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="kprof")
def group() -> None:
    """Is a PyTorch GPU kernel right, and how fast is it against its reference?

    kprof analyze kernel.py --ref ref.py
    """


def main() -> NoReturn:
    """Entry point of ``kprof`` and ``python -m kprof``."""
    for number in _ENDING_SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup asks for
            signal.signal(number, _end_by_signal)
    stdout = _hold_standard_streams()
    sys.exit(_exit_code(run(sys.argv[1:]), stdout))


def _end_by_signal(number: int, _: FrameType | None) -> NoReturn:
    # One end is enough: a terminal that closes sends both signals, and the second would cut the first one's work short.
    for ending in _ENDING_SIGNALS:
        signal.signal(ending, signal.SIG_IGN)
    # As an exception it passes through every `finally`, which end the worker's processes and remove private files.
    sys.exit(128 + number)


def run(arguments: list[str]) -> int:
    """Run one command; returns the exit code. The only place where errors become output."""
    try:
        with group.make_context("kprof", list(arguments)) as context:
            status: Any = group.invoke(context)
        return status if isinstance(status, int) else 0
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.ClickException as error:
        error.show()
        return UsageError.exit_code
    except KprofError as error:
        return _say_error(error.message, error.hint, error.exit_code, arguments)
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except Exception as error:
        # A defect of kprof, or a machine without memory or processes left. Python would end with 1, which says that
        # the kernel's result is wrong: nothing was measured, and that is what the exit code has to say.
        what = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(": ")
        hint = "Run it again with --debug for the traceback, and report it with that."
        return _say_error(f"internal error: {what}", hint, CannotMeasureError.exit_code, arguments)


def _say_error(message: str, hint: str, code: int, arguments: list[str]) -> int:
    click.echo(error_lines(message, hint), err=True)
    if _DEBUG in arguments:
        traceback.print_exc()
    return code


def _exit_code(code: int, stdout: _Stream | None) -> int:
    """The command's own exit code, unless stdout did not take what was written: that is 2.

    A reader that stopped reading, as ``head`` does, has what it wanted.
    """
    if stdout is None:
        return code
    sys.stdout.flush()
    if stdout.lost is None or stdout.lost.errno == errno.EPIPE:
        return code
    click.echo(error_lines(f"cannot write to stdout: {stdout.lost.strerror}", "Make room, or give -o FILE."), err=True)
    return UsageError.exit_code


class _Stream(io.FileIO):
    """A standard stream whose writes never raise: what it does not take is dropped, and the first error is kept.

    So a full disk or a reader that has gone can neither stop a measurement nor change what it says, whoever writes:
    kprof, click, rich, or the interpreter as it ends.
    """

    lost: OSError | None = None

    def write(self, data: ReadableBuffer) -> int:
        while self.lost is None:
            try:
                written: int | None = super().write(data)
            except OSError as error:
                self.lost = error
                break
            if written is not None:
                return written
            # A pipe that was made non-blocking, and is full.
            select.select([], [self.fileno()], [])
        return memoryview(data).nbytes


def _hold_standard_streams() -> _Stream | None:
    """Put a `_Stream` below stderr and stdout; returns stdout's, None where there is no stdout (it stays None)."""
    closed = [number for number in range(3) if not _is_open(number)]
    for _ in closed:
        # The next file to be opened would get the free number, and a stray message to stderr would land in it.
        os.open(os.devnull, os.O_RDWR)
    sys.stderr = _text_stream(_Stream(2, "wb", closefd=False), sys.stderr, line_buffering=True)
    if 1 in closed:
        return None
    stdout = _Stream(1, "wb", closefd=False)
    sys.stdout = _text_stream(stdout, sys.stdout, line_buffering=stdout.isatty())
    return stdout


def _is_open(descriptor: int) -> bool:
    with contextlib.suppress(OSError):
        os.fstat(descriptor)
        return True
    return False


def _text_stream(raw: _Stream, like: TextIO | None, *, line_buffering: bool) -> TextIO:
    # What an encoding lacks is written as an escape: a name in a table is no reason to end.
    errors = like.errors if like is not None and like.errors else "strict"
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=like.encoding if like is not None else "utf-8",
        errors="backslashreplace" if errors == "strict" else errors,
        line_buffering=line_buffering,
    )
