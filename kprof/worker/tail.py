"""The last bytes of a process's output, however much it writes and whoever holds its pipe."""

from __future__ import annotations

import os
import select
import threading
from typing import IO, Final

TAIL_BYTES: Final = 16_384
_AFTERMATH_S: Final = 0.05


class Tail:
    """Reads a pipe in a thread of its own and keeps the last bytes.

    The thread sleeps until there is output or it is told to stop: what is being timed must not be woken into.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._kept = b""
        self._stopped, self._stop = os.pipe()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        stopping = False
        while True:
            waited_for: list[IO[bytes] | int] = [self._stream] if stopping else [self._stream, self._stopped]
            ready, _, _ = select.select(waited_for, [], [], _AFTERMATH_S if stopping else None)
            if self._stream in ready:
                chunk = os.read(self._stream.fileno(), 65_536)
                if not chunk:
                    return
                self._kept = (self._kept + chunk)[-TAIL_BYTES:]
            elif stopping:
                # A grandchild may hold the pipe open for ever: what has arrived by now is enough.
                return
            stopping = stopping or self._stopped in ready

    def close(self) -> None:
        """Stop reading, a moment after the last output at the latest; a second call does nothing."""
        if self._stream.closed:
            return
        os.write(self._stop, b"x")
        self._thread.join(timeout=2.0)
        if not self._thread.is_alive():
            self._stream.close()
            os.close(self._stop)
            os.close(self._stopped)

    def text(self) -> str:
        return self._kept.decode("utf-8", "replace")
