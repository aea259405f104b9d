"""The run of a request: a new one, the one that a repeated request started, or the one whose question it answers.

A client sends the whole conversation with every request and no name for it. So a run has two tags: `chat`, a digest of
the questions of the user up to its own, and `request`, a digest of the whole request. With them the runs are found
again after a restart of the server.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from leadline import records
from leadline.errors import AlreadyAnswered, UsageError
from leadline.events import utc_now
from leadline.records import Answer
from leadline.run_summary import ACTIVE
from leadline.runs import OpenQuestion
from leadline_server.openai.requests import ChatRequest
from leadline_server.problems import Problem
from leadline_server.service import Service
from leadline_server.views import RunView

CHAT, REQUEST = "chat", "request"
# Seconds after the end of a run in which a repeated request is given the same run, if nobody received its answer.
_RETRIES = 60.0
# Requests that are remembered beside the tags of runs.
_KEPT = 10_000


@dataclass(frozen=True)
class Turn:
    """The run that a request is about. Of its events, those above `after` are new to the client."""

    run_id: str
    after: int = -1


class Turns:
    """Finds and orders the runs of requests."""

    def __init__(self, service: Service) -> None:
        self._service = service
        # One request of a principal at a time: two equal ones must not order two runs.
        self._locks: dict[str | None, asyncio.Lock] = {}
        # Answers to questions of runs, by the digest of the request, in which the principal is.
        self._answered: OrderedDict[str, Turn] = OrderedDict()
        # Requests whose answer was received whole: repeated, they are meant as a new question.
        self._received: OrderedDict[str, None] = OrderedDict()

    async def turn(self, request: ChatRequest, principal: str | None, chat: str = "") -> Turn:
        """Return the run of a request. `chat` is the client's own name of the conversation, if it tells one.

        Raises `Problem` and what `Service.order` raises.
        """
        asked = questions(request)
        async with self._locks.setdefault(principal, asyncio.Lock()):
            key = request_key(request, chat, principal)
            if turn := await self._repeated(key, principal):
                return turn
            before: RunView | None = None
            for known in range(len(asked) - 1, 0, -1):
                earlier = await self._find(CHAT, _digest(chat, asked[:known]), principal)
                if earlier is None:
                    continue
                if known == len(asked) - 1 and (turn := await self._answer(earlier, asked[-1], principal)):
                    _keep(self._answered, key, turn)
                    return turn
                before = earlier if known == len(asked) - 1 and earlier.status not in ACTIVE else None
                break
            tags = {CHAT: _digest(chat, asked), REQUEST: key}
            order = request.order(asked[-1], tags).model_copy(update={"follows": before.id if before else ""})
            return Turn(await self._service.order(order, principal, turns=() if before else history(request)))

    def received(self, request: ChatRequest, principal: str | None, chat: str = "") -> None:
        """Note that the client has the whole answer."""
        _keep(self._received, request_key(request, chat, principal), None)

    async def _repeated(self, key: str, principal: str | None) -> Turn | None:
        """Return the turn of an equal request whose answer is still awaited."""
        if turn := self._answered.get(key):
            return turn if key not in self._received else None
        view = await self._find(REQUEST, key, principal)
        if view is None:
            return None
        if view.status in ACTIVE:
            return Turn(view.id)
        ended = (utc_now() - view.ended).total_seconds() if view.ended else _RETRIES
        return Turn(view.id) if ended < _RETRIES and key not in self._received else None

    async def _find(self, tag: str, value: str, principal: str | None) -> RunView | None:
        """Return the newest run with a tag."""
        page = await self._service.runs(principal, tag=f"{tag}={value}", limit=1)
        return await self._service.view(page.runs[0].id, principal) if page.runs else None

    async def _answer(self, view: RunView, text: str, principal: str | None) -> Turn | None:
        """Answer the open question of a run, if it has one."""
        if not view.questions or view.status not in ACTIVE:
            return None
        question = view.questions[0]
        try:
            await self._service.answer(
                view.id, principal, question.id, Answer(action="accept", content=_content(question, text))
            )
        except (AlreadyAnswered, UsageError):  # it was answered elsewhere, or nobody waits any more
            return None
        return Turn(view.id, after=await self._place(view.id, question.id, principal))

    async def _place(self, run_id: str, question_id: str, principal: str | None) -> int:
        """Return the number of the event with which a run asked a question."""
        async for event in self._service.events(run_id, principal):
            if event.kind == "question" and event.data.get("id") == question_id:
                return event.seq
        return -1


def questions(request: ChatRequest) -> list[str]:
    """Return the messages of the user, the oldest first. Raises `Problem` if the last message is none of them."""
    asked = [message.text.strip() for message in request.messages if message.role == "user"]
    if request.messages[-1].role != "user" or not asked[-1]:
        raise Problem(422, "invalid_request", "messages: the last one must be a question of the user")
    return asked


def history(request: ChatRequest) -> list[records.Turn]:
    """Return the questions before the last one with their answers, for a conversation whose runs are unknown."""
    turns: list[records.Turn] = []
    for message in request.messages[:-1]:
        if message.role == "user" and message.text.strip():
            turns.append(records.Turn(question=message.text.strip()))
        elif message.role == "assistant" and turns:
            answer = "\n\n".join(filter(None, (turns[-1].answer, message.text.strip())))
            turns[-1] = turns[-1].model_copy(update={"answer": answer})
    return turns


def request_key(request: ChatRequest, chat: str, principal: str | None) -> str:
    """Return a digest of a request: equal requests of a client have the same, and those of two principals never."""
    about = request.model_dump_json(include={"model", "max_tokens", "max_completion_tokens", "leadline"})
    return _digest(chat, [json.dumps(principal), about, *questions(request)])


def _digest(chat: str, texts: Sequence[str]) -> str:
    data = json.dumps([chat, *texts]).encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:32]


def _content(question: OpenQuestion, text: str) -> dict[str, Any]:
    """Return an answer in words as the content that a question asks for: its first property."""
    properties: Any = question.json_schema.get("properties") or {}
    return {next(iter(properties), "answer"): text}


def _keep(kept: OrderedDict[str, Any], key: str, value: Any) -> None:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > _KEPT:
        kept.popitem(last=False)
