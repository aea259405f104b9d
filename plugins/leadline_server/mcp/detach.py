"""A server process that its client cannot end: clients kill the process that they started, with its whole group."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable


def detach() -> Callable[[], None]:
    """Continue in a new process of its own group, and return a function that ends the old one.

    The old process is the one that the client sees. It ends with the new one, or when the function is called; it passes
    Ctrl-C on. Where there is no fork (Windows), the process stays as it is. Call it before threads and loops start.
    """
    if not hasattr(os, "fork"):
        return lambda: None
    old, new = socket.socketpair()
    process = os.fork()
    if process:
        new.close()
        os._exit(_wait(process, old))  # the standard streams and their buffers belong to the new process
    old.close()
    os.setsid()

    def release() -> None:
        try:
            new.send(b".")
        except OSError:
            return  # killed by its client

    return release


def _wait(process: int, old: socket.socket) -> int:
    """Return the exit code: 0 when the new process was released, or else its own."""
    signal.signal(signal.SIGINT, lambda *_: os.kill(process, signal.SIGTERM))
    if old.recv(1):
        return 0
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    return code if code >= 0 else 128 - code
