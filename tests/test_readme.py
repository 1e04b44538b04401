"""What the README shows is what kprof says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kprof.cli import _COMMANDS, group

REPO = Path(__file__).resolve().parents[1]
README = (REPO / "README.md").read_text()


def test_the_example_is_made_from_the_recorded_run() -> None:
    done = subprocess.run(
        [sys.executable, REPO / "scripts" / "readme_example.py", "--check"],
        env={**os.environ, "PYTHONPATH": str(REPO)},
        check=False,
    )
    assert done.returncode == 0, "python scripts/readme_example.py, then look at what changed"


@pytest.mark.parametrize("option", sorted(set(re.findall(r"`(--[a-z-]+)", README))))
def test_every_option_it_names_exists(option: str) -> None:
    context = group.make_context("kprof", [], resilient_parsing=True)
    commands = [group.get_command(context, name) for name in _COMMANDS]
    known = {text for command in commands if command for parameter in command.params for text in parameter.opts}
    assert option in known | {"--help", "--version"}


def test_every_file_it_links_exists() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (REPO / target).exists(), target


@pytest.mark.parametrize("name", sorted(_COMMANDS))
def test_the_help_of_the_group_is_that_of_the_command(name: str) -> None:
    context = group.make_context("kprof", [], resilient_parsing=True)
    command = group.get_command(context, name)
    assert command is not None
    assert command.get_short_help_str(200) == _COMMANDS[name][1]
