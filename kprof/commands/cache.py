"""``kprof cache``: where compiled extensions are kept, and a way to clear them."""

from __future__ import annotations

import click

from kprof import cache


@click.command("cache")
@click.option("--clear", "clear_all", is_flag=True, help="Remove every compiled extension.")
def command(clear_all: bool) -> None:
    """Show or clear the cache of compiled extensions.

    KPROF_CACHE_DIR moves it, KPROF_CACHE_MAX_MB caps its size (2000).
    """
    root = cache.cache_dir()
    if clear_all:
        removed, held = cache.clear(root)
        click.echo(f"removed {_extensions(removed)} from {root}")
        if held:
            click.echo(f"{held} stayed: another process is using them", err=True)
        return
    found = cache.entries(root)
    total = sum(entry.size_bytes for entry in found) / 1e6
    click.echo(f"{root}: {_extensions(len(found))}, {total:.1f} of {cache.cache_max_bytes() / 1e6:.0f} MB")


def _extensions(count: int) -> str:
    return f"{count} compiled extension{'' if count == 1 else 's'}"
