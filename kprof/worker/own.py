"""What a worker does that loads no user code: say what torch sees here, measure a device's roofs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from kprof.collectors.ceilings.collect import collect_ceilings
from kprof.collectors.environment import NoSuchDeviceError, board_uuid, resolve_device
from kprof.collectors.installation import describe_installation
from kprof.errors import first_line
from kprof.evidence import Fault
from kprof.worker.answers import Answers
from kprof.worker.protocol import OwnRequest, Update
from kprof.worker.traces import full_trace
from kprof.worker.waiting import wait_for_turn

_OTHER_DEVICE: Final = "Give --device auto, cpu, or one that is here."


def run_own(request: OwnRequest, answers: Answers, folder: Path) -> None:
    """Do the task, answering as it goes; what fails is answered as a fault. Roofs of a GPU are measured in its turn."""
    answers.enter("load")
    try:
        if request.task == "installation":
            for found in describe_installation(request.device):
                answers.send(Update(installation=found))
        else:
            _measure_ceilings(request, answers, folder)
    except NoSuchDeviceError as error:
        answers.fault(Fault(stage="load", side=None, code="no_such_device", message=str(error), hint=_OTHER_DEVICE))
    except Exception as error:  # Torch may raise anything where a driver is broken, and that is what is asked.
        message = f"{type(error).__name__}: {first_line(error)}"
        answers.fault(Fault(stage="load", side=None, code="internal_error", message=message, detail=full_trace(error)))
    answers.mark(None)


def _measure_ceilings(request: OwnRequest, answers: Answers, folder: Path) -> None:
    device = resolve_device(request.device)
    if device.type == "cuda":
        wait_for_turn(board_uuid(device) or str(device), answers, folder)
    for found in collect_ceilings(device, Path(request.cache_dir)):
        answers.send(Update(ceilings=found))
