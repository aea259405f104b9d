"""The run of a request: a new one, the one that a repeated request started, or the one whose question it answers.

A client sends the whole conversation with every request and no name for it. So a run has two tags: `chat`, a digest of
the questions of the user up to its own, and `request`, a digest of the whole request. With them the runs are found
again after a restart of the server.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from leadline import records
from leadline.commands.questions import content_of
from leadline.errors import AlreadyAnswered, UsageError
from leadline.events import utc_now
from leadline.records import Answer
from leadline.run_summary import ACTIVE
from leadline_server.openai.requests import BACKGROUND, ChatRequest, ResponseRequest
from leadline_server.problems import Problem
from leadline_server.service import RunFilter, Service
from leadline_server.views import RunView

AnyRequest = ChatRequest | ResponseRequest
CHAT, REQUEST = "chat", "request"
# All tags of runs that are the endpoint's own.
TAGS = (CHAT, REQUEST, BACKGROUND)
# Seconds after the end of a run in which a repeated request is given the same run, if nobody received its answer.
_RETRIES = 60.0
# Requests that are remembered beside the tags of runs.
_KEPT = 10_000


@dataclass(frozen=True)
class Turn:
    """The run that a request is about; `key` is the digest of the request.

    Of the run's events, those above `after` are new to the client.
    """

    run_id: str
    key: str = ""
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

    async def turn(
        self, request: AnyRequest, principal: str | None, chat: str = "", previous: RunView | None = None
    ) -> Turn:
        """Return the run of a request. `chat` is the client's own name of the conversation, if it tells one.

        `previous` is the run that it continues, if it names one. Raises `Problem` and what `Service.order` raises.
        """
        asked = questions(request)
        if previous:  # it has the conversation; all messages are new
            asked = ["\n\n".join(asked)]
        async with self._locks.setdefault(principal, asyncio.Lock()):
            key, known = request_key(request, chat, principal), await self._known(principal)
            if turn := await self._repeated(key, known.get((REQUEST, key)), principal):
                return turn
            before, digests = previous, _digests(chat, asked)
            latest = next((digest for digest in reversed(digests[:-1]) if (CHAT, digest) in known), None)
            if latest:
                view = await self._service.view(known[CHAT, latest], principal)
                # The messages between them answered earlier questions of a run that asks again.
                before = view if latest == digests[-2] or view.questions else before
            if before and (turn := await self._answer(before, asked[-1], principal, key)):
                return turn
            if before and before.status in ACTIVE:
                if previous:
                    hint = "retrieve the response until it has ended, or cancel it"
                    raise Problem(409, "busy", f"previous_response_id: the run is {before.status}", hint)
                before = None
            tags = {CHAT: digests[-1], REQUEST: key}
            order = request.order(asked[-1], tags).model_copy(update={"follows": before.id if before else ""})
            earlier = () if before else history(request)
            return Turn(await self._service.order(order, principal, turns=earlier), key)

    def received(self, turn: Turn) -> None:
        """Note that the client has the whole answer."""
        _keep(self._received, turn.key, None)

    async def _repeated(self, key: str, run_id: str | None, principal: str | None) -> Turn | None:
        """Return the turn of an equal request, which started a run, if its answer is still awaited."""
        if turn := self._answered.get(key):
            return turn if key not in self._received else None
        if run_id is None:
            return None
        view = await self._service.view(run_id, principal)
        if view.status in ACTIVE:
            return Turn(view.id, key)
        ended = (utc_now() - view.ended).total_seconds() if view.ended else _RETRIES
        return Turn(view.id, key) if ended < _RETRIES and key not in self._received else None

    async def _known(self, principal: str | None) -> dict[tuple[str, str], str]:
        """Return the newest run of each chat and request by its tag: one look at the index, however long a chat is."""
        page = await self._service.runs(principal, RunFilter(tag=REQUEST), limit=sys.maxsize)
        return {(tag, run.tags[tag]): run.id for run in reversed(page.runs) for tag in TAGS if tag in run.tags}

    async def _answer(self, view: RunView, text: str, principal: str | None, key: str) -> Turn | None:
        """Answer the open question of a run, if it has one, by the request with this key."""
        if not view.questions or view.status not in ACTIVE:
            return None
        question = view.questions[0]
        try:
            answer = Answer(action="accept", content=content_of(question.json_schema, text))
            await self._service.answer(view.id, principal, question.id, answer)
        except UsageError as error:
            now = await self._service.view(view.id, principal)
            if isinstance(error, AlreadyAnswered) or question.id not in [question.id for question in now.questions]:
                return None  # it was answered elsewhere, or nobody waits any more
            raise
        turn = Turn(view.id, key, after=await self._place(view.id, question.id, principal))
        _keep(self._answered, key, turn)
        return turn

    async def _place(self, run_id: str, question_id: str, principal: str | None) -> int:
        """Return the number of the event with which a run asked a question."""
        async for event in self._service.events(run_id, principal):
            if event.kind == "question" and event.data.get("id") == question_id:
                return event.seq
        return -1


def questions(request: AnyRequest) -> list[str]:
    """Return the messages of the user, the oldest first. Raises `Problem` if the last message is none of them."""
    asked = [message.text.strip() for message in request.messages if message.role == "user"]
    if not asked or request.messages[-1].role != "user" or not asked[-1]:
        raise Problem(422, "invalid_request", "messages: the last one must be a question of the user")
    return asked


def history(request: AnyRequest) -> list[records.Turn]:
    """Return the questions before the last one with their answers, for a conversation whose runs are unknown."""
    turns: list[tuple[str, list[str]]] = []
    for message in request.messages[:-1]:
        text = message.text.strip()
        if message.role == "user" and text:
            turns.append((text, []))
        elif message.role == "assistant" and text and turns:
            turns[-1][1].append(text)
    return [records.Turn(question=question, answer="\n\n".join(answers)) for question, answers in turns]


def request_key(request: AnyRequest, chat: str, principal: str | None) -> str:
    """Return a digest of a request: equal requests of a client have the same, and those of two principals never."""
    about = request.model_dump_json(exclude={"messages", "input", "stream", "stream_options"})
    return _digests(chat, [json.dumps(principal), about, *questions(request)])[-1]


def _digests(chat: str, texts: Sequence[str]) -> list[str]:
    """Return the digests of the first text, of the first two, and so on: each text is read once."""
    read, digests = hashlib.sha256(json.dumps([chat])[:-1].encode()), []
    for text in texts:
        read.update(f", {json.dumps(text)}".encode())
        whole = read.copy()
        whole.update(b"]")
        digests.append(whole.hexdigest()[:32])
    return digests


def _keep(entries: OrderedDict[str, Any], key: str, value: Any) -> None:
    entries[key] = value
    entries.move_to_end(key)
    while len(entries) > _KEPT:
        entries.popitem(last=False)
