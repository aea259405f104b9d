"""`RunHandle`: a running run, as `Client.start`, `run` and `resume` return it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from leadline._runtime.runs.interprocess import LiveText, Message, receive
from leadline._runtime.runs.session import Session
from leadline.events import Subscription
from leadline.records import Answer, Json
from leadline.runs import Metadata, OpenQuestion, Result


class RunHandle:
    """A running run, as `Client.start` and `Client.resume` return it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._events = session.run.bus.subscribe()
        self._task = asyncio.create_task(self._walk(), name=f"run {self.id}")

    @property
    def id(self) -> str:
        """The id of the run, which is the name of its folder."""
        return self._session.run.id

    @property
    def folder(self) -> Path:
        """The folder of the run."""
        return self._session.run.folder

    def events(self) -> Subscription:
        """Return all events of this session, as an async iterator for one reader that ends with the run."""
        return self._events

    def subscribe(self, *, deltas: bool = True) -> Subscription:
        """Return the events from now on, for a further reader; without `deltas`, no reply is streamed for it."""
        return self._session.run.bus.subscribe(deltas=None if deltas else False)

    def publish(self) -> None:
        """Let readers in other processes on this machine have the pieces of streamed replies, until the run ends.

        `Client.events` receives them through a socket in the folder of the run, which only this user can open.
        """
        sending = asyncio.create_task(LiveText(self._session.run.bus, self.folder).send(), name=f"text of {self.id}")
        self._task.add_done_callback(lambda _: sending.cancel())

    def stop(self, reason: str = "stopped") -> None:
        """Stop searching and write up the findings so far; the run ends as `partial`."""
        self._session.stop(reason)

    def questions(self) -> tuple[OpenQuestion, ...]:
        """Return the questions of the run that wait for an answer, the oldest first."""
        return self._session.run.questions.open

    async def answer(self, question_id: str, answer: Answer | Json) -> None:
        """Answer an open question, and return when the answer is stored; a mapping is the content of an accepted one.

        Raises `AlreadyAnswered`, or `UsageError` if no such question is open.
        """
        given = answer if isinstance(answer, Answer) else Answer(action="accept", content=answer)
        await self._session.run.answer(question_id, given)

    def awaited_replies(self) -> int:
        """Return the number of model replies for which a stopped run still waits."""
        return self._session.run.calls.shutdown.awaited_chats

    def when_ended(self, do: Callable[[RunHandle], object]) -> None:
        """Call a function on the event loop when the run has ended in any way."""
        self._task.add_done_callback(lambda _: do(self))

    async def cancel(self, reason: str = "cancelled") -> None:
        """End the run at once. Completed calls are kept, and `resume` continues from there."""
        self.cancel_soon(reason)
        await asyncio.wait({self._task})

    def cancel_soon(self, reason: str = "cancelled") -> None:
        """Cancel the run without waiting for its end, for code that is being cancelled itself."""
        if not self._task.done():
            self._session.cancel_reason = reason
            self._session.run.calls.interrupt()
            # Not at once: a task that is cancelled before its first step never enters `walk`, which ends the session.
            self._task.get_loop().call_soon(self._task.cancel)

    def snapshot(self) -> Metadata:
        """Return the state of the run as of now, as `metadata.json` has it up to 0.2 s later."""
        return self._session.snapshot()

    async def _walk(self) -> Result:
        inbox = asyncio.create_task(receive(self.folder, self.take), name=f"inbox {self.id}")
        try:
            return await self._session.walk()
        finally:
            inbox.cancel()
            await asyncio.wait({inbox})

    async def take(self, message: Message) -> None:
        match message.action:
            case "stop":
                self.stop(message.reason)
            case "cancel":
                self.cancel_soon(message.reason)
            case "answer" if message.answer:
                await self.answer(message.question_id, message.answer)

    async def result(self) -> Result:
        """Wait for the end of the run and return its result."""
        try:
            return await asyncio.shield(self._task)
        except asyncio.CancelledError:
            if self._task.cancelled() and self._session.result is not None:
                return self._session.result
            raise
