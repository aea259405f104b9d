"""The routes for clients of OpenAI's API."""

from __future__ import annotations

import asyncio
import json
import re
import time
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from leadline.display import choose_from, one_line
from leadline.errors import LeadlineError
from leadline.events import utc_now
from leadline.records import Event
from leadline_server.endpoint import ANY_JSON, Endpoint
from leadline_server.openai.answers import Narration, answer, asked
from leadline_server.openai.requests import BODY_LIMIT, MODEL_PREFIX, ChatRequest
from leadline_server.openai.turns import Turn, Turns
from leadline_server.openai.writing import Answer
from leadline_server.problems import OpenAIProblem, Problem, problem_of
from leadline_server.requests import read
from leadline_server.service import Service, principal_of
from leadline_server.streams import Signals, Stream, disconnected, encoded
from leadline_server.views import RunView

# Open WebUI: every prompt of its own begins with the first; its tasks about a chat quote it as in the second, and those
# about files of the user have the third.
_TASK, _HISTORY, _CONTEXT = "### Task:", "<chat_history>", "<context>"
# The key of the object that a task of Open WebUI asks for, and the answer; a title is made.
_KEYS: Mapping[str, Any] = {"title": None, "tags": [], "follow_ups": [], "queries": [], "text": "", "prompt": None}
# Beginnings of other prompts of front ends. Open WebUI: memory, tools, joining answers, summary of a long chat.
# LibreChat: titles.
_MEMORY = "You are Open WebUI's private memory reviewer."
_TOOLS = "Available Tools:"
_REFUSED = (
    "You have been provided with a set of responses from various models to the latest user query:",
    "### Task:\nSummarize the conversation history that will be compacted",
    "Your task is to reflect the speaker's likely facial expression through a fitting emoji.",
)
_TITLES = (
    "Provide a concise, 5-word-or-less title for the conversation",
    "Please generate a concise, 5-word-or-less title for the conversation",
    "Analyze this conversation and provide:\n1. The detected language of the conversation",
)
# A line of the quoted conversation by its user.
_USER = re.compile(r"^(?:USER|User|user): *(.+)$", re.MULTILINE)
_TITLE_LENGTH = 60


def side_answer(request: ChatRequest) -> str | None:
    """Return the answer to a side request, or None for a question. Raises `Problem` for what is neither."""
    first, last = request.messages[0], request.messages[-1]
    text = last.text.strip()
    if first.role == "system" and first.text.startswith(_MEMORY):
        return json.dumps({"operations": []})
    if first.role == "system" and first.text.startswith(_TOOLS):
        return json.dumps({"tool_calls": []})
    if text.startswith(_REFUSED):
        raise Problem(422, "unsupported", "this is a request of the front end about a chat, and no question")
    if text.startswith(_TITLES):
        title = _title(text)
        return json.dumps({"title": title}, ensure_ascii=False) if request.wants_json else title
    if not text.startswith(_TASK):
        return None
    if _HISTORY in text:
        return _task_answer(text)
    if _CONTEXT in text:
        raise Problem(
            422,
            "unsupported",
            "Open WebUI added files or search results to the question, which Leadline does not read",
            "turn them off for this model; POST /v1/knowledge?name=FILE gives Leadline a document",
        )
    return None


def _task_answer(text: str) -> str:
    task = text.partition(_HISTORY)[0]
    # The key that the output must have stands last: before it, a prompt may show others as examples.
    places = {key: task.find(f'"{key}"') for key in _KEYS}
    keys = [key for key, position in places.items() if position >= 0]
    if not keys:
        raise Problem(422, "unsupported", "this is a task of Open WebUI that Leadline does not know, and no question")
    key = min(keys, key=places.__getitem__)
    value = _KEYS[key]
    return json.dumps({key: _title(text) if value is None else value}, ensure_ascii=False)


def _title(text: str) -> str:
    """Return the beginning of the user's first message in a quoted conversation."""
    asked = _USER.search(text)
    words = one_line(asked[1] if asked else "").strip("\"' ")
    if len(words) > _TITLE_LENGTH:
        cut = words[:_TITLE_LENGTH]
        words = f"{cut.rsplit(' ', 1)[0] if ' ' in cut else cut}…"
    return words or "Research"


DONE = b"data: [DONE]\n\n"


@dataclass
class Reply:
    """One reply: its id, its model, and whether progress is told in fields, between `<think>` tags or not at all.

    `own` is Leadline's part of the first chunk: the run's id and address.
    """

    id: str
    model: str
    reasoning: str = "fields"
    own: dict[str, str] = field(default_factory=dict)
    created: int = field(default_factory=lambda: int(time.time()))
    _thinks: bool = False
    _answers: bool = False

    def first(self) -> bytes:
        """Return the first chunk, with the run's id."""
        return self._chunk({"role": "assistant", "content": ""}, leadline=self.own)

    def progress(self, text: str) -> bytes:
        """Return a chunk that tells progress; an empty chunk if none is wanted, or the answer has begun."""
        if self.reasoning == "off" or self._answers:
            return self._chunk({})
        if self.reasoning == "fields":
            return self._chunk({"reasoning": text, "reasoning_content": text})
        begin, self._thinks = "" if self._thinks else "<think>\n", True
        return self._chunk({"content": begin + text})

    def content(self, text: str) -> bytes:
        """Return a chunk of the answer."""
        end, self._thinks, self._answers = "\n</think>\n\n" if self._thinks else "", False, True
        return self._chunk({"content": end + text})

    def end(self) -> bytes:
        """Return the last chunk with a choice."""
        return self._chunk({}, finish_reason="stop")

    def usage(self, view: RunView | None) -> bytes:
        """Return the chunk with the usage of a run."""
        return encoded({**self._head("chat.completion.chunk"), "choices": [], "usage": usage_of(view)})

    def whole(self, text: str, reasoning: str = "", view: RunView | None = None) -> dict[str, Any]:
        """Return a whole completion."""
        message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
        if reasoning and self.reasoning == "fields":
            message |= {"reasoning": reasoning, "reasoning_content": reasoning}
        elif reasoning and self.reasoning == "think":
            message["content"] = f"<think>\n{reasoning}\n</think>\n\n{text}"
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        completion = {**self._head("chat.completion"), "choices": [choice], "usage": usage_of(view)}
        return {**completion, "leadline": self.own} if self.own else completion

    def _chunk(self, delta: dict[str, Any], finish_reason: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return encoded({**self._head("chat.completion.chunk"), "choices": [choice], **more})

    def _head(self, form: str) -> dict[str, Any]:
        return {"id": self.id, "object": form, "created": self.created, "model": self.model}


def usage_of(view: RunView | None) -> dict[str, Any]:
    """Return the tokens of a run; none for what was no run."""
    used: dict[str, Any] = dict(view.usage) if view else {}

    def tokens(name: str) -> int:
        return int(used.get(name) or 0)

    prompt, completion = tokens("input_tokens"), tokens("output_tokens")
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": tokens("cached_tokens")},
        "completion_tokens_details": {"reasoning_tokens": tokens("reasoning_tokens")},
    }


def model_of(pipeline: str, description: str, created: int) -> dict[str, Any]:
    """Return a model: a pipeline as the API lists it."""
    model = {"id": f"{MODEL_PREFIX}{pipeline}", "object": "model", "created": created, "owned_by": "leadline"}
    return {**model, "description": description}


# The header with which Open WebUI names a chat.
_CHAT = "x-openwebui-chat-id"
# Seconds in which the state of a run shows the question that its events tell.
_SHOWN = 2.0
_CANCELLED = "the client left"


class OpenAIRoutes:
    """The handlers of `/v1/models` and `/v1/chat/completions`.

    `url` is the address by which people reach the server; if it is empty, links begin with the host of the request.
    """

    def __init__(self, service: Service, url: str = "") -> None:
        self._service, self._url = service, url.rstrip("/")
        self._turns = Turns(service)
        self._began = int(utc_now().timestamp())

    def endpoints(self) -> list[Endpoint]:
        """Return the routes."""
        own: Any = {"reply": ANY_JSON, "problem": OpenAIProblem}
        return [
            Endpoint("GET", "/v1/models", self.models, **own),
            Endpoint("GET", "/v1/models/{model}", self.model, errors=(404,), **own),
            Endpoint("POST", "/v1/chat/completions", self.chat, body=ChatRequest, errors=(404, 500, 503), **own),
        ]

    async def models(self, request: Request) -> Response:
        """List the models: one for each pipeline that can run here."""
        able = await self._service.pipelines.able()
        data = [model_of(name, able[name].description, self._began) for name in sorted(able)]
        return JSONResponse({"object": "list", "data": data})

    async def model(self, request: Request) -> Response:
        """Return a model."""
        name = await self._known(request.path_params["model"])
        pipelines = self._service.client.plugins.settings.pipelines
        return JSONResponse(model_of(name, pipelines[name].description, self._began))

    async def chat(self, request: Request) -> Response:
        """Answer a question with a run; the last message of the user is the question.

        With `stream`, progress is told at least every ten seconds, with the texts of the report while they are written;
        then the checked report follows. An answer that nothing checks, as of `chat`, comes as it is written. The run
        goes on if the client leaves; a repetition of the request joins it.
        """
        body, principal = await read(request, ChatRequest, BODY_LIMIT), principal_of(request)
        await self._known(body.model)
        side = side_answer(body)
        if side is not None:
            return _side_reply(body, side)
        body.refuse_what_no_run_gives()
        with self._service.streams.taken(principal):  # an error now, before a run is paid for
            chat = request.headers.get(_CHAT, "")[:200]
            turn = await self._turns.turn(body, principal, chat)
        url = f"{self._url or str(request.base_url).rstrip('/')}/runs/{quote(turn.run_id)}"
        own = {"run_id": turn.run_id, "url": url}
        reply = Reply(f"chatcmpl-{turn.run_id}", body.model, body.leadline.reasoning, own)
        exchange = _Exchange(self._service, turn, principal, url, lambda: self._turns.received(body, principal, chat))
        headers = {"X-Leadline-Run": turn.run_id}
        leave = exchange.cancel if body.leadline.on_disconnect == "cancel" else None
        if not body.stream:
            with self._service.streams.taken(principal):  # it waits as long as a stream does
                return JSONResponse(await _unless_left(request, exchange.whole(reply), leave), headers=headers)
        with_usage = bool(body.stream_options and body.stream_options.include_usage)
        return Stream(
            exchange.chunks(reply, with_usage=with_usage),
            self._service.closing,
            self._service.streams,
            principal,
            Signals(
                alive=lambda: reply.progress(exchange.narration.alive()),
                parting=encoded(_closing(url).openai().model_dump()),
                left=leave,
            ),
            headers,
        )

    async def _known(self, model: str) -> str:
        """Return the pipeline of a model. Raises `Problem`."""
        name = model.removeprefix(MODEL_PREFIX)
        if name == model or name not in self._service.client.plugins.settings.pipelines:
            able = [f"{MODEL_PREFIX}{name}" for name in await self._service.pipelines.able()]
            raise Problem(404, "model_not_found", f"there is no model {model!r}", choose_from(model, able))
        return name


class _Exchange:
    """What a client is told of one turn."""

    def __init__(
        self, service: Service, turn: Turn, principal: str | None, url: str, received: Callable[[], None]
    ) -> None:
        self._service, self._turn, self._principal, self._url = service, turn, principal, url
        self._received = received
        self.narration = Narration(url)

    async def chunks(self, reply: Reply, *, with_usage: bool) -> AsyncGenerator[bytes, None]:
        """Yield the chunks of a stream. An error ends it, as OpenAI's clients expect."""
        yield reply.first()
        try:
            async with aclosing(self._texts(deltas=True)) as pieces:
                async for text, is_answer in pieces:
                    yield reply.content(text) if is_answer else reply.progress(text)
            yield reply.end()
            if with_usage:
                yield reply.usage(await self._view())
        except Problem as problem:
            yield encoded(problem.openai().model_dump())
            return
        except LeadlineError as error:
            yield encoded(problem_of(error).openai().model_dump())
            return
        self._received()
        yield DONE

    async def whole(self, reply: Reply) -> dict[str, Any]:
        """Return the whole completion when the run has ended or asks. Raises `Problem`."""
        texts: tuple[list[str], list[str]] = ([], [])
        async with aclosing(self._texts()) as pieces:
            async for text, is_answer in pieces:
                texts[is_answer].append(text)
        self._received()
        return reply.whole("".join(texts[1]), "".join(texts[0]), await self._view())

    async def cancel(self) -> None:
        """End the run, unless it has ended."""
        with suppress(Problem, LeadlineError):
            await self._service.cancel(self._turn.run_id, self._principal, _CANCELLED)

    async def _texts(self, *, deltas: bool = False) -> AsyncGenerator[tuple[str, bool], None]:
        """Yield texts, and whether they belong to the answer. Raises `Problem` if there is none.

        With `deltas` an answer that nothing checks comes as it is written, and drafts of a report are told as progress.
        """
        finished, written = False, Answer()
        stream = self._service.events(self._turn.run_id, self._principal, self._turn.after, deltas=deltas)
        async with aclosing(stream) as events:  # type: ignore[type-var]
            async for event in events:
                if event.kind == "question" and await self._is_open(event):
                    yield asked(str(event.data["message"]), self._url), True
                    return
                if piece := written.text(event):
                    yield piece, True
                elif not written.sent and (text := self.narration.text(event)):
                    yield text, False
                finished = event.kind == "run.finished"
        if not finished:
            raise _closing(self._url)
        first, *others = await answer(self._service, await self._view(), self._principal, self._url)
        for piece in (written.rest(first), *others):
            yield piece, True

    async def _is_open(self, event: Event) -> bool:
        """Return whether a question waits for its answer; the run's state shows it a little later than its events."""
        name = event.data.get("id")
        until = event.time.timestamp() + _SHOWN
        while True:
            view = await self._view()
            if any(question.id == name for question in view.questions):
                return True
            if view.ended or utc_now().timestamp() > until:
                return False
            await asyncio.sleep(0.05)

    async def _view(self) -> RunView:
        return await self._service.view(self._turn.run_id, self._principal)


def _closing(url: str) -> Problem:
    return Problem(503, "closing", "the server is shutting down; the run continues when it is back", url)


def _side_reply(body: ChatRequest, text: str) -> Response:
    reply = Reply(f"chatcmpl-{uuid.uuid4().hex}", body.model)
    if not body.stream:
        return JSONResponse(reply.whole(text))
    pieces = [reply.first(), reply.content(text), reply.end()]
    if body.stream_options and body.stream_options.include_usage:
        pieces.append(reply.usage(None))
    return Response(b"".join([*pieces, DONE]), media_type="text/event-stream")


async def _unless_left(
    request: Request, replying: Awaitable[dict[str, Any]], leave: Callable[[], Awaitable[None]] | None
) -> dict[str, Any]:
    """Return the reply; stop waiting for it if the client leaves."""
    reply, gone = asyncio.ensure_future(replying), asyncio.ensure_future(disconnected(request.receive))
    try:
        await asyncio.wait({reply, gone}, return_when=asyncio.FIRST_COMPLETED)
        if reply.done():
            return reply.result()
        if leave:
            await leave()
        raise Problem(499, "disconnected", "the client disconnected")
    finally:
        for task in (reply, gone):
            task.cancel()
        await asyncio.wait({reply, gone})
