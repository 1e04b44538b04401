"""The last bytes of a process's output, however much it writes and whoever holds its pipe."""

from __future__ import annotations

import os
import select
import threading
from typing import IO, Final

TAIL_BYTES: Final = 16_384


class Tail:
    """Reads a pipe in a thread of its own and keeps the last bytes."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._kept = b""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while True:
            # A grandchild may hold the pipe open for ever: what has arrived when we stop is enough.
            ready, _, _ = select.select([self._stream], [], [], 0.05)
            chunk = os.read(self._stream.fileno(), 65_536) if ready else b""
            self._kept = (self._kept + chunk)[-TAIL_BYTES:]
            if (ready and not chunk) or (self._stop.is_set() and not ready):
                return

    def close(self) -> None:
        """Stop reading, a moment after the last output at the latest."""
        self._stop.set()
        self._thread.join(timeout=2.0)
        if not self._thread.is_alive():
            self._stream.close()

    def text(self) -> str:
        return self._kept.decode("utf-8", "replace")
