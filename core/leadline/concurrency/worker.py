"""One process that does functions, for `workers` beside this: calls in by stdin, what they returned out by stdout.

python -P -m leadline.concurrency.worker [SECONDS]
"""

from __future__ import annotations

import faulthandler
import logging
import os
import pickle
import signal
import sys
from pathlib import Path
from types import ModuleType
from typing import BinaryIO

from leadline.concurrency.workers import LENGTH, Answer

_NICE = 10


def serve(calls: BinaryIO, answers: BinaryIO, seconds: float) -> None:
    """Answer until the other side closes. A call that takes longer than `seconds` (0: any) ends the process."""
    with Path(os.devnull).open("w") as nowhere:
        while head := calls.read(LENGTH.size):
            (size,) = LENGTH.unpack(head)
            call = calls.read(size)
            if seconds:
                faulthandler.dump_traceback_later(seconds, exit=True, file=nowhere)
            told = answer(call)
            faulthandler.cancel_dump_traceback_later()
            answers.write(LENGTH.pack(len(told)) + told)
            answers.flush()


def answer(call: bytes) -> bytes:
    """Do one call; return what it returned or raised."""
    try:
        do, args = pickle.loads(call)  # noqa: S301 - from the process that began this one
    except Exception as error:  # noqa: BLE001 - what can be imported there and not here, among others
        return _told(Answer("unknown", str(error)))
    try:
        return _told(Answer("returned", do(*args)))
    except Exception as error:  # noqa: BLE001 - it is raised again over there
        return _told(Answer("raised", error))


def _told(answer: Answer) -> bytes:
    try:
        told = pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)
        if answer.how == "raised":
            pickle.loads(told)  # noqa: S301 - an error may be written that cannot be read
    except Exception as error:  # noqa: BLE001 - whatever an object's own methods raise
        if answer.how == "raised":
            return pickle.dumps(Answer("raised", RuntimeError(f"{type(answer.value).__name__}: {answer.value}")))
        return pickle.dumps(Answer("unknown", str(error)))
    return told


def main() -> None:
    """Serve this process's own stdin and stdout; whatever prints or warns meanwhile cannot get in between."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    logging.lastResort = None
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits for this one
    sys.modules["__main__"] = ModuleType("__main__")  # a function of the user's script is none of this program's
    os.nice(_NICE)  # the event loop goes first
    serve(sys.stdin.buffer, answers, float(sys.argv[1]) if sys.argv[1:] else 0.0)


if __name__ == "__main__":
    main()
