"""The parent of workers: starts them, starts the dead ones again, and kills those that do not beat.

A paused worker is killed, if it is one of this machine; the runs of any other are taken over, and it can do no harm.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from leadline.errors import ConfigError, LeadlineError, UsageError
from leadline_server import processes
from leadline_server.queue import Queue, QueueUnavailable
from leadline_server.worker import GRACE_OF_REQUESTS

log = logging.getLogger("leadline.supervisor")
# Seconds without a beat after which a worker is killed.
LIMIT = 15.0
# Seconds that workers have to end in order.
GRACE = 8.0
_LOOK, _INTERVAL = 1.0, 0.1
# Seconds until a worker that died is started again: at once, then longer each time, unless it lived for a while.
_FIRST_PAUSE, _LONGEST_PAUSE, _LIVED = 0.5, 30.0, 20.0
# Seconds until a queue that did not answer is told again of a worker that died.
_RETRY = 5.0
# The exit codes of a worker that cannot be started with these options or settings.
_WRONG = (UsageError.exit_code, ConfigError.exit_code)


@dataclass
class _Child:
    """A place for a worker: its process, and when the next one may start."""

    process: subprocess.Popen[bytes] | None = None
    name: str = ""
    started: float = 0.0
    deaths: int = 0
    not_before: float = 0.0


@dataclass
class _Seen:
    """The last beat of a worker that this process saw, and when."""

    beats: int
    since: float = field(default_factory=time.monotonic)


class Supervisor:
    """Keeps `count` workers running, each a process that `command` starts.

    It also gives back the runs of workers whose own parent is gone, unless a dispatcher does (`queue` is None).
    """

    def __init__(self, queue: Queue | None, command: Sequence[str], count: int, *, limit: float = LIMIT) -> None:
        self._queue, self._command, self._limit = queue, list(command), limit
        self._children = [_Child() for _ in range(count)]
        self._seen: dict[str, _Seen] = {}
        self._closing = False

    async def run(self) -> None:
        """Watch until this is cancelled, then end the workers. Raises `LeadlineError` if they cannot be started."""
        try:
            looked = 0.0
            while True:
                for child in self._children:
                    await self._tend(child)
                if time.monotonic() - looked >= _LOOK:
                    looked = time.monotonic()
                    await self._look()
                await asyncio.sleep(_INTERVAL)
        finally:
            await asyncio.shield(asyncio.ensure_future(self._end()))

    async def _tend(self, child: _Child) -> None:
        """Start a worker, or note its end."""
        if child.process is None:
            if time.monotonic() >= child.not_before:
                self._start(child)
            return
        code = child.process.poll()
        if code is None or time.monotonic() < child.not_before:
            return
        lived = time.monotonic() - child.started
        if child.process.stdin:
            child.process.stdin.close()
        if code in _WRONG:
            child.process = None
            raise LeadlineError("the workers cannot be started; the reason is above")
        child.deaths = 1 if lived > _LIVED else child.deaths + 1
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (child.deaths - 2)) if child.deaths > 1 else 0.0
        child.not_before = time.monotonic() + pause
        log.warning("a worker ended (%s); the next one starts in %g s", _exit(code), pause)
        if await self._give_back(child.name, died=code != QueueUnavailable.exit_code):
            child.process = None
        else:
            child.not_before = time.monotonic() + max(pause, _RETRY)

    def _start(self, child: _Child) -> None:
        # Its standard input ends with this process, so that it never outlives it unnoticed.
        command = self._command  # this program with the options of this process
        child.process = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)  # noqa: S603
        child.name = processes.name_of(child.process.pid)
        child.started = time.monotonic()

    async def _give_back(self, worker: str, *, died: bool = True) -> bool:
        """Give the orders of a worker that is gone back; return False if the queue does not answer."""
        if self._queue is None:
            return True
        try:
            count = await asyncio.to_thread(self._queue.leave, worker, died=died)
        except QueueUnavailable as error:
            log.warning("%s", error)
            return False
        self._seen.pop(worker, None)
        if count:
            log.warning("%d runs of a worker that is gone continue elsewhere", count)
        return True

    async def _look(self) -> None:
        """Find the workers that do not beat, and those whose process is gone."""
        if self._queue is None:
            return
        try:
            workers = await asyncio.to_thread(self._queue.workers)
        except QueueUnavailable:
            self._seen.clear()  # nobody can beat meanwhile
            return
        now, own = time.monotonic(), {child.name for child in self._children if child.process}
        for worker in workers:
            seen = self._seen.get(worker.id)
            if seen is None or seen.beats != worker.beats:
                self._seen[worker.id] = _Seen(worker.beats)
            silent = seen is not None and seen.beats == worker.beats and now - seen.since > self._limit
            local = processes.is_local(worker.id)
            if local and silent:
                log.warning("a worker does not answer; it is killed")
                processes.kill(worker.id)
            if worker.id not in own and (not processes.is_running(worker.id) if local else silent):
                await self._give_back(worker.id)
        for child in self._children:  # one that was paused before its first beat
            if child.process and child.name not in self._seen and now - child.started > 4 * self._limit:
                child.process.kill()

    async def _end(self) -> None:
        """End the workers: in order, or after a while by force."""
        children = [child for child in self._children if child.process]
        for child in children:
            assert child.process
            with suppress(OSError):
                child.process.send_signal(signal.SIGTERM)
        end = time.monotonic() + GRACE + (0.0 if self._queue else GRACE_OF_REQUESTS)
        for child in children:
            assert child.process
            try:
                await asyncio.to_thread(child.process.wait, max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.process.kill()
                await asyncio.to_thread(child.process.wait)
            if child.process.stdin:
                child.process.stdin.close()
            await self._give_back(child.name)


def _exit(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
