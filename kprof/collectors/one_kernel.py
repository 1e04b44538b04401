"""``python -m kprof.collectors.one_kernel INDEX``: launch one kernel that does nothing, without torch or a compiler.

The driver compiles the few lines of PTX itself. It is what ``kprof doctor`` lets ncu profile: it starts in a moment,
where torch takes seconds.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Final

PTX: Final = b""".version 6.4
.target sm_70
.address_size 64
.visible .entry kprof_doctor() { ret; }
"""
NAME: Final = "kprof_doctor"
NO_DRIVER: Final = 5
"""Exit status where there is no driver."""
_FAILED: Final = 6


class _DriverError(Exception):
    pass


def launch_one_kernel(index: int) -> None:
    """Launch it on one device and wait for it.

    Raises:
        OSError: there is no driver.
        _DriverError: the driver refused something.
    """
    driver = ctypes.CDLL("libcuda.so.1")

    def call(function: str, *arguments: object) -> None:
        status = getattr(driver, function)(*arguments)
        if status != 0:
            raise _DriverError(f"{function} returned CUDA error {status}")

    device, context = ctypes.c_int(), ctypes.c_void_p()
    module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    call("cuInit", ctypes.c_uint(0))
    call("cuDeviceGet", ctypes.byref(device), ctypes.c_int(index))
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(PTX))
    call("cuModuleGetFunction", ctypes.byref(kernel), module, ctypes.c_char_p(NAME.encode()))
    shape = [ctypes.c_uint(n) for n in (1, 1, 1, 32, 1, 1, 0)]
    call("cuLaunchKernel", kernel, *shape, None, None, None)
    call("cuCtxSynchronize")


def main() -> int:
    """Returns the exit status; what went wrong is on stderr."""
    try:
        launch_one_kernel(int(sys.argv[1]))
    except OSError as error:
        sys.stderr.write(f"no driver: {error}\n")
        return NO_DRIVER
    except _DriverError as error:
        sys.stderr.write(f"{error}\n")
        return _FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main())
