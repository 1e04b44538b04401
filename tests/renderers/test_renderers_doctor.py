"""What people read of ``kprof doctor``."""

from __future__ import annotations

from ceilings import cpu_ceilings, h200_ceilings

from kprof.doctor.records import Check, Diagnosis
from kprof.evidence import Reason
from kprof.renderers.ceilings import render_ceilings
from kprof.renderers.doctor import render_diagnosis
from kprof.renderers.layout import Style

CHECKS = (
    Check(name="python", state="ok", found="Python 3.12.1", why="w"),
    Check(name="nvcc", state="skipped", found="there is no NVIDIA GPU here", why="w"),
    Check(name="spec", state="skipped", found="there is no NVIDIA GPU here", why="w"),
    Check(name="compiler", state="fail", found="c++ is not on PATH", why="kernels are compiled", hint="Install g++."),
)


def test_what_fails_has_its_reason_and_its_hint_and_what_is_skipped_stands_together() -> None:
    text = render_diagnosis(Diagnosis(device="cpu", ready=False, checks=CHECKS), Style())
    assert text == (
        "ok       python              Python 3.12.1\n"
        "skipped  there is no NVIDIA GPU here: nvcc, spec\n"
        "fail     compiler            c++ is not on PATH\n"
        "                             Why: kernels are compiled.\n"
        "                             > Install g++.\n"
        "\n"
        "kprof analyze cannot run in full on the CPU. To mend: compiler.\n"
    )


def test_colours_are_on_the_states_alone() -> None:
    text = render_diagnosis(Diagnosis(device="cuda:0", ready=True, checks=CHECKS[:1]), Style(color=True))
    assert text.startswith("\x1b[1;32mok       \x1b[0mpython")
    assert "kprof analyze can run in full on cuda:0." in text


def test_ceilings_of_a_board_stand_beside_its_spec() -> None:
    absent = {"fp8": Reason(code="library_refused", message="no such product", hint="Update torch.")}
    text = render_ceilings(h200_ceilings(absent=absent), {"dram_read": 4800e9}, Style())
    lines = text.splitlines()
    assert lines[0].startswith("measured on NVIDIA H200 (cuda:0), torch 2.11.0, driver 580.1")
    row = next(line for line in lines if line.startswith("DRAM read"))
    assert row.split() == ["DRAM", "read", "4500", "GB/s", "-10.0", "%", "+1.0", "%", "93.8", "%", "1980", "MHz"]
    assert "no fp8" not in text
    assert "no FP8 tensor (library_refused): no such product. Update torch." in text
    assert max(map(len, lines)) <= 80


def test_ceilings_of_a_processor_have_neither_spec_nor_clock() -> None:
    busy = Reason(code="ceilings_contended", message="other work", hint="Again.")
    text = render_ceilings(cpu_ceilings(warnings=(busy,)), {}, Style())
    assert "(cpu, 2 threads)" in text
    assert "of spec" not in text
    assert "clock" not in text
    assert "caches, 262.1 kB" in text
    assert text.endswith("! ceilings_contended: other work. Again.\n")
