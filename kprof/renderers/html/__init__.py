"""The page: one HTML file that holds all of a report, opens from disk, asks no network and works without JavaScript."""

from __future__ import annotations

from typing import Final

from kprof.renderers.html.embedding import embedded
from kprof.renderers.html.page import page_of
from kprof.renderers.html.templating import fill
from kprof.report import Report

LIMIT: Final = 1_000_000
"""Bytes of a page."""


def render(report: Report) -> str:
    """The page.

    Under 1 MB: it has every launch up to 200 and the 200 with most time of more; the JSON that it carries has the same
    ones, or fewer where names or logs are very long, and the page says how many.
    """
    page = page_of(report)
    bare = fill("page.html.j2", page=page, carried=None)
    return fill("page.html.j2", page=page, carried=embedded(report, page.launches, LIMIT - len(bare.encode())))
