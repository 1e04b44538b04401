"""Verdicts as JUnit XML: one test case a gate."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from xml.etree import ElementTree as ET

from kprof.verdicts import Verdict

_NOT_IN_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(verdicts: Sequence[Verdict], *, suite: str, created: str, inconclusive_ok: bool = False) -> bytes:
    """The XML, UTF-8.

    A gate that failed is a failure, an inconclusive one an error (skipped where those are allowed), and what was not
    gated is skipped.

    Args:
        verdicts: one test case each.
        suite: the suite's name, such as the kernel's file.
        created: when it was measured, ISO 8601.
        inconclusive_ok: inconclusive gates do not count.
    """
    tags = {"fail": "failure", "inconclusive": "skipped" if inconclusive_ok else "error", "not_gated": "skipped"}
    counts = {tag: sum(tags.get(one.verdict) == tag for one in verdicts) for tag in ("failure", "error", "skipped")}
    totals = {
        "name": _text(suite),
        "tests": str(len(verdicts)),
        "failures": str(counts["failure"]),
        "errors": str(counts["error"]),
        "skipped": str(counts["skipped"]),
        "time": "0",
    }
    root = ET.Element("testsuites", totals)
    element = ET.SubElement(root, "testsuite", {**totals, "timestamp": _text(created)})
    for one in verdicts:
        case = ET.SubElement(
            element, "testcase", {"classname": f"kprof.{one.kind}", "name": _text(one.expression), "time": "0"}
        )
        if one.verdict in tags:
            outcome = ET.SubElement(case, tags[one.verdict], {"message": _text(one.message), "type": one.code})
            outcome.text = _text("\n".join(filter(None, (one.message, one.hint))))
        if one.warnings:
            ET.SubElement(case, "system-out").text = _text("\n".join(f"{w.code}: {w.message}" for w in one.warnings))
    ET.indent(root)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _text(text: str) -> str:
    """Without the characters that no XML may hold."""
    return _NOT_IN_XML.sub("?", text)
