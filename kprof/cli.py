"""The command line: subcommands loaded when they are called, and the one place where errors become output."""

from __future__ import annotations

import importlib
import signal
import sys
import traceback
from types import FrameType
from typing import Any, Final, NoReturn

import click

from kprof import __version__
from kprof.errors import KprofError, error_lines

# Help is kept here, so that `kprof --help` imports no subcommand; a test holds it against each command's own.
_COMMANDS: Final = {
    "analyze": ("kprof.commands.analyze", "Measure a kernel against its reference."),
    "cache": ("kprof.commands.cache", "Show or clear the cache of compiled extensions."),
    "schema": ("kprof.commands.schema", "Print the JSON Schema of a report: every field's meaning, unit and source."),
    "specs": ("kprof.commands.specs", "List the GPU boards that kprof knows, or show one in full."),
}
INTERRUPTED: Final = 130
_DEBUG: Final = "--debug"


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

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in sorted(_COMMANDS.items())])


def _debug_option() -> click.Option:
    # `run` looks for it itself: an error may come before any option is parsed.
    return click.Option([_DEBUG], is_flag=True, expose_value=False, help="Add the traceback to an error.")


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="kprof")
def group() -> None:
    """Is a PyTorch GPU kernel right, how fast is it, and what holds it back?

    kprof analyze kernel.py --ref ref.py
    """


def main() -> NoReturn:
    """Entry point of ``kprof`` and ``python -m kprof``."""
    signal.signal(signal.SIGTERM, _end_by_signal)
    sys.exit(run(sys.argv[1:]))


def _end_by_signal(number: int, _: FrameType | None) -> NoReturn:
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
        return error.exit_code
    except KprofError as error:
        click.echo(error_lines(error.message, error.hint), err=True)
        if _DEBUG in arguments:
            traceback.print_exc()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output stopped reading, as `head` does; nothing more can be said on it.
        sys.stderr.close()
        return 0
