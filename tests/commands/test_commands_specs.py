"""``kprof specs``: the list, one board in full, JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from kprof.commands.specs import command
from kprof.errors import InputFileError, UsageError
from kprof.gpuspec import load_all_specs


def run(*arguments: str) -> str:
    result = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_lists_every_board_in_80_columns_or_a_little_more() -> None:
    lines = run().splitlines()

    boards = [line.split()[0] for line in lines[2 : 2 + len(load_all_specs())]]
    assert boards == [spec.name for spec in load_all_specs()]
    assert max(map(len, lines)) <= 96
    row = next(line for line in lines if line.startswith("h100-sxm5-80gb"))
    assert row.split() == ["h100-sxm5-80gb", "9.0", "132", "80", "GiB", "3350", "66.9", "989.4", "20.0", "295.3", "A"]


def test_shows_one_board_with_ridge_points_and_sources() -> None:
    output = run("h100-sxm5-80gb")

    rows = {line[:14].strip(): line[14:].split() for line in output.splitlines()}
    assert rows["fp32"][:4] == ["66.9", "256", "1980", "20.0"]
    assert rows["bf16"][:5] == ["989.4", "4096", "1830", "295.3", "1978.9"]
    assert "NVIDIA H100 whitepaper" in output
    assert "tensor peaks are stated at 1830 MHz" in output
    assert "3350 GB/s specified; 3352.3 GB/s at the pins" in output
    assert "read 3180, copy 2900, triad 2970 GB/s" in output


def test_says_what_is_not_known() -> None:
    output = run("h200")

    assert "size to be asked of the device" in output
    assert "one device reported 60" in output
    assert "specified 2.4 % below" in output.lower()


def test_shows_why_a_peak_deviates() -> None:
    assert "fp16: SMs x FLOP/clk/SM x clock gives 366.4, 1.2 % more" in run("l40s-48gb")


def test_every_board_can_be_shown() -> None:
    for spec in load_all_specs():
        assert spec.title in run(spec.name)


def test_json_of_one_board() -> None:
    board = json.loads(run("h200-sxm-141gb", "--json"))

    assert board["peaks"]["bf16"]["tflops"] == 989.4
    assert board["peaks"]["fp4"] is None
    assert board["sm"]["max_warps"] == 64
    assert board["ridge_points_flop_per_byte"]["bf16"] == pytest.approx(206.125)


def test_json_of_all() -> None:
    boards = json.loads(run("--json"))["specs"]

    assert [board["name"] for board in boards] == [spec.name for spec in load_all_specs()]


def test_an_unknown_name_is_a_usage_error() -> None:
    with pytest.raises(UsageError) as caught:
        run("h100-sxm")

    assert caught.value.message == "found GPU name 'h100-sxm', expected one that kprof knows, or a YAML file"
    assert caught.value.hint.startswith("Nearest: h100-sxm5-80gb. ")


def test_a_file_of_the_users_own_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("spec_version: 1\nname: mine\nname: mine\n")

    with pytest.raises(InputFileError, match=r"mine\.yaml:3: name: found twice"):
        run(str(path))
