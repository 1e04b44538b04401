"""What a worker does that loads no user code: say what torch sees here, measure a device's roofs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from kprof.collectors.ceilings.collect import collect_ceilings
from kprof.collectors.environment import NoSuchDeviceError, resolve_device
from kprof.collectors.installation import describe_installation
from kprof.errors import first_line
from kprof.evidence import Fault
from kprof.worker.answers import Answers
from kprof.worker.protocol import OwnRequest, Update
from kprof.worker.traces import full_trace

_OTHER_DEVICE: Final = "Give --device auto, cpu, or one that is here."


def run_own(request: OwnRequest, answers: Answers) -> None:
    """Do the task, answering as it goes; what fails is answered as a fault."""
    answers.enter("load")
    try:
        for update in _TASKS[request.task](request):
            answers.send(update)
    except NoSuchDeviceError as error:
        answers.fault(Fault(stage="load", side=None, code="no_such_device", message=str(error), hint=_OTHER_DEVICE))
    except Exception as error:  # Torch may raise anything where a driver is broken, and that is what is asked.
        message = f"{type(error).__name__}: {first_line(error)}"
        answers.fault(Fault(stage="load", side=None, code="internal_error", message=message, detail=full_trace(error)))
    answers.mark(None)


def _installation(request: OwnRequest) -> Iterator[Update]:
    return (Update(installation=found) for found in describe_installation(request.device))


def _ceilings(request: OwnRequest) -> Iterator[Update]:
    device = resolve_device(request.device)
    return (Update(ceilings=found) for found in collect_ceilings(device, Path(request.cache_dir)))


_TASKS: Final[dict[str, Callable[[OwnRequest], Iterator[Update]]]] = {
    "installation": _installation,
    "ceilings": _ceilings,
}
