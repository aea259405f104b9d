"""The questions of a run to a person: open until somebody answers, or the run ends.

Where a person is attached, as at a terminal, the run waits for the answer. Otherwise its session ends as `waiting`, the
metadata keep the question, and the answer is written into the journal before the next session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from leadline.contracts import Call
from leadline.errors import AlreadyAnswered, Unanswered, Unsupported, UsageError
from leadline.events import utc_now
from leadline.records import Answer, Json, Record
from leadline.runs import OpenQuestion
from leadline.schemas import answer_fault

# The kind of call of a question.
ASK = "ask"
# Answers questions in the program; takes a message and the JSON schema of the answer.
Asker = Callable[[str, Json], Awaitable[Answer]]


async def answer_later(message: str, json_schema: Json) -> Answer:
    """Leave the answer to whoever calls `Questions.answer`: an asker that never returns."""
    never: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    return await never


class UserQuestion(Record):
    """A question to a person, as the journal stores it."""

    message: str
    json_schema: Json

    def opened(self, key: str, asked: datetime, wait: float | None) -> OpenQuestion:
        """Return the question as it waits for an answer."""
        return OpenQuestion(id=key, message=self.message, json_schema=self.json_schema, asked=asked, seconds=wait)


@dataclass(frozen=True)
class _Waiting:
    question: OpenQuestion
    answer: asyncio.Future[Answer]


class Questions:
    """The open questions of one session.

    `changed` is awaited whenever a question was opened or closed, and `asked` when it is open. The answer is that of
    `asker` or that given to `answer`, whichever is first; without an asker a question is `left` for the next session.
    """

    def __init__(
        self,
        changed: Callable[[], Awaitable[None]],
        asked: Callable[[OpenQuestion], Awaitable[None]],
        asker: Asker | None = None,
    ) -> None:
        self._changed = changed
        self._asked = asked
        self.asker = asker
        self._waiting: dict[str, _Waiting] = {}
        # Those with which the session ends, for whoever answers them after it.
        self.left: list[OpenQuestion] = []

    @property
    def open(self) -> tuple[OpenQuestion, ...]:
        """The questions that wait for an answer, the oldest first."""
        return tuple(item.question for item in self._waiting.values() if not item.answer.done())

    async def ask(self, question: UserQuestion, call: Call, wait: float | None) -> Answer:
        """Return the answer to a question; its id is the key of the call. Raises `Unanswered` after `wait` seconds."""
        opened = question.opened(call.key, utc_now(), wait)
        item = _Waiting(opened, asyncio.get_running_loop().create_future())
        self._waiting[opened.id] = item
        asking = None
        try:
            await self._changed()
            await self._asked(opened)
            if self.asker:
                asking = asyncio.create_task(_relay(self.asker, item), name="asker")
            await asyncio.wait({item.answer}, timeout=wait)
            if not item.answer.done():
                raise Unanswered(f"nobody answered within {wait:g} s")
            return item.answer.result()
        finally:
            del self._waiting[opened.id]
            item.answer.cancel()
            if asking:
                asking.cancel()
            await self._changed()

    def answer(self, question_id: str, answer: Answer) -> None:
        """Answer an open question. Raises `AlreadyAnswered`, or `UsageError` if there is none or its schema is missed.

        A question whose answer was refused stays open.
        """
        item = self._waiting.get(question_id)
        if item and item.answer.done():
            raise AlreadyAnswered(question_id)
        check_answer(self.open, question_id, answer)
        if item:
            item.answer.set_result(answer)


def check_answer(questions: Sequence[OpenQuestion], question_id: str, answer: Answer) -> None:
    """Raise `UsageError` if none of these questions has this id, or the answer misses its schema."""
    question = next((item for item in questions if item.id == question_id), None)
    if question is None:
        names = ", ".join(item.id for item in questions) or "none"
        raise UsageError(f"no question {question_id!r:.80} is open in this run; open questions: {names}")
    if fault := answer_fault(question.json_schema, answer):
        raise UsageError(f"the answer does not fit the question: {fault}")


async def _relay(asker: Asker, item: _Waiting) -> None:
    """Ask by the asker; its error fails the call."""
    try:
        answer = await asker(item.question.message, item.question.json_schema)
        if fault := answer_fault(item.question.json_schema, answer):
            raise Unsupported(f"the answer of the program does not fit the question: {fault}")
    except Exception as error:  # noqa: BLE001 - the plugin that asked receives it
        if not item.answer.done():
            item.answer.set_exception(error)
    else:
        if not item.answer.done():
            item.answer.set_result(answer)
