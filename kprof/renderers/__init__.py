"""Renderers: each module has ``render(report, ...) -> str``; they print nothing and compute no result."""
