"""The routes for clients of OpenAI's API."""

from __future__ import annotations

import asyncio
import json
import re
import time
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from leadline.display import choose_from, one_line
from leadline.errors import LeadlineError
from leadline.events import utc_now
from leadline.run_summary import ACTIVE
from leadline_server.endpoint import ANY_JSON, Endpoint
from leadline_server.openai.answers import Exchange, closing, tokens_of
from leadline_server.openai.requests import (
    BACKGROUND,
    BODY_LIMIT,
    MODEL_PREFIX,
    ChatRequest,
    ResponseRequest,
    unsupported,
)
from leadline_server.openai.responses import events_of, frame, response_of, run_of
from leadline_server.openai.tools import check_tools
from leadline_server.openai.turns import REQUEST, AnyRequest, Turn, Turns
from leadline_server.problems import OpenAIProblem, Problem, problem_of
from leadline_server.requests import read
from leadline_server.run_routes import number
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
    read, written, cached, reasoning = tokens_of(view) if view else (0, 0, 0, 0)
    return {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }


def model_of(pipeline: str, description: str, created: int) -> dict[str, Any]:
    """Return a model: a pipeline as the API lists it."""
    model = {"id": f"{MODEL_PREFIX}{pipeline}", "object": "model", "created": created, "owned_by": "leadline"}
    return {**model, "description": description}


# The header with which Open WebUI names a chat.
_CHAT = "x-openwebui-chat-id"
_RUN = "X-Leadline-Run"
# Seconds in which a run that is cancelled ends.
_ENDS = 10.0


class OpenAIRoutes:
    """The handlers of `/v1/models`, `/v1/chat/completions` and `/v1/responses`.

    `url` is the address by which people reach the server; if it is empty, links begin with the host of the request.
    """

    def __init__(self, service: Service, url: str = "") -> None:
        self._service, self._url = service, url.rstrip("/")
        self._turns = Turns(service)
        self._began = int(utc_now().timestamp())

    def endpoints(self) -> list[Endpoint]:
        """Return the routes."""
        own: Any = {"reply": ANY_JSON, "problem": OpenAIProblem}
        stream = {"stream": "true: the events of the response", "starting_after": "the number of the last one received"}
        response = "/v1/responses/{response_id}"
        return [
            Endpoint("GET", "/v1/models", self.models, **own),
            Endpoint("GET", "/v1/models/{model}", self.model, errors=(404,), **own),
            Endpoint("POST", "/v1/chat/completions", self.chat, body=ChatRequest, errors=(404, 500, 503), **own),
            Endpoint("POST", "/v1/responses", self.respond, body=ResponseRequest, errors=(404, 409, 503), **own),
            Endpoint("GET", response, self.retrieve, query=stream, errors=(404, 422, 503), **own),
            Endpoint("POST", f"{response}/cancel", self.cancel, errors=(404, 503), **own),
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
        await self._check(body)
        exchange = await self._begin(request, body, principal, request.headers.get(_CHAT, "")[:200])
        own = {"run_id": exchange.turn.run_id, "url": exchange.url}
        reply = Reply(f"chatcmpl-{exchange.turn.run_id}", body.model, body.leadline.reasoning, own)
        if not body.stream:
            return await self._whole(request, body, exchange, lambda: self._completion(exchange, reply))
        signals = Signals(
            alive=lambda: reply.progress(exchange.narration.alive()),
            parting=encoded(closing(exchange.url).openai().model_dump()),
        )
        with_usage = bool(body.stream_options and body.stream_options.include_usage)
        return self._stream(exchange, self._chunks(exchange, reply, with_usage=with_usage), signals, body)

    async def respond(self, request: Request) -> Response:
        """Answer a question with a run, as a response of OpenAI's newer API; the run goes on if the client leaves.

        With `background` the reply comes at once. `previous_response_id` continues a conversation, or answers what the
        run asked.
        """
        body, principal = await read(request, ResponseRequest, BODY_LIMIT), principal_of(request)
        await self._known(body.model)
        await self._check(body)
        if (body.max_tool_calls or 0) >= self._service.client.plugins.settings.research.max_queries:
            body.max_tool_calls = None  # the limit of the settings holds in any case
        previous = body.previous_response_id
        before = await self._service.view(run_of(previous), principal) if previous else None
        exchange = await self._begin(request, body, principal, previous, before)
        if body.stream:
            return self._tell(exchange, body, deltas=not body.background)
        if body.background:
            return await self._now(exchange, body)
        return await self._whole(request, body, exchange, lambda: self._response(exchange, body))

    async def retrieve(self, request: Request) -> Response:
        """Return a response as of now, or the events of it."""
        exchange = await self._exchange(request)
        view, query = await exchange.view(), request.query_params
        if query.get("stream") == "true":
            after = number(query, "starting_after", -1, -1, 2**53)
            if after >= 0 and BACKGROUND not in view.tags:
                hint = "leave starting_after out, or stream, to get what there is"
                raise unsupported("starting_after: only streams of requests with background can be continued", hint)
            return self._tell(exchange, None, deltas=False, after=after)
        return await self._now(exchange)

    async def cancel(self, request: Request) -> Response:
        """End the run of a response; nothing happens if it has ended."""
        exchange = await self._exchange(request)
        if (await exchange.view()).status in ACTIVE:
            await exchange.cancel("cancelled")
            with suppress(TimeoutError):
                async with asyncio.timeout(_ENDS):
                    async for _ in self._service.events(exchange.turn.run_id, exchange.principal):
                        pass
        return await self._now(exchange)

    # --- parts of requests and replies -------------------------------------------------------------------------------

    async def _known(self, model: str) -> str:
        """Return the pipeline of a model. Raises `Problem`."""
        name = model.removeprefix(MODEL_PREFIX)
        if name == model or name not in self._service.client.plugins.settings.pipelines:
            able = [f"{MODEL_PREFIX}{name}" for name in await self._service.pipelines.able()]
            raise Problem(404, "model_not_found", f"there is no model {model!r}", choose_from(model, able))
        return name

    async def _check(self, body: AnyRequest) -> None:
        """Raise `Problem` for what a run cannot do. A pipeline that cannot run is refused when it is ordered."""
        body.refuse_what_no_run_gives()
        able = await self._service.pipelines.able()
        if body.tool_choice != "none" and body.pipeline in able:
            check_tools(body.all_tools, body.pipeline, able)

    async def _begin(
        self, request: Request, body: AnyRequest, principal: str | None, chat: str, before: RunView | None = None
    ) -> Exchange:
        """Order the run of a request, or find it."""
        with self._service.streams.taken(principal):  # an error now, before a run is paid for
            turn = await self._turns.turn(body, principal, chat, before)
        return Exchange(self._service, turn, principal, self._page(request, turn.run_id), body.leadline.figures)

    async def _exchange(self, request: Request) -> Exchange:
        """Return what a client is told of the response that a path names. Raises `Problem`."""
        run_id, principal = run_of(request.path_params["response_id"]), principal_of(request)
        key = (await self._service.view(run_id, principal)).tags.get(REQUEST, "")
        return Exchange(self._service, Turn(run_id, key), principal, self._page(request, run_id))

    def _page(self, request: Request, run_id: str) -> str:
        return f"{self._url or str(request.base_url).rstrip('/')}/runs/{quote(run_id)}"

    async def _whole(
        self, request: Request, body: AnyRequest, exchange: Exchange, reply: Callable[[], Awaitable[dict[str, Any]]]
    ) -> Response:
        """Return a reply that waits for the end of its run, as long as the client does."""
        leave = exchange.cancel if body.leadline.on_disconnect == "cancel" else None
        with self._service.streams.taken(exchange.principal):  # it waits as long as a stream does
            return self._reply(exchange, await _unless_left(request, reply(), leave))

    async def _now(self, exchange: Exchange, body: ResponseRequest | None = None) -> Response:
        """Return a response as of now: its output comes when its run has ended or asks."""
        view = await exchange.view()
        works = view.status in ACTIVE and not view.questions
        return self._reply(exchange, response_of(view, body=body) if works else await self._response(exchange, body))

    def _reply(self, exchange: Exchange, content: dict[str, Any]) -> Response:
        return JSONResponse(content, headers={_RUN: exchange.turn.run_id})

    def _stream(
        self, exchange: Exchange, frames: AsyncGenerator[bytes, None], signals: Signals, body: AnyRequest | None
    ) -> Response:
        leave = exchange.cancel if body and body.leadline.on_disconnect == "cancel" else None
        headers = {_RUN: exchange.turn.run_id}
        signals = replace(signals, left=leave)
        return Stream(frames, self._service.closing, self._service.streams, exchange.principal, signals, headers)

    async def _chunks(self, exchange: Exchange, reply: Reply, *, with_usage: bool) -> AsyncGenerator[bytes, None]:
        """Yield the chunks of a streamed completion. An error ends it, as OpenAI's clients expect."""
        yield reply.first()
        try:
            async with aclosing(exchange.steps(deltas=True)) as steps:
                async for step in steps:
                    if step.text:
                        yield reply.content(step.text) if step.is_answer else reply.progress(step.text)
            yield reply.end()
            if with_usage:
                yield reply.usage(await exchange.view())
        except (Problem, LeadlineError) as error:
            problem = error if isinstance(error, Problem) else problem_of(error)
            yield encoded(problem.openai().model_dump())
            return
        self._turns.received(exchange.turn)
        yield DONE

    async def _completion(self, exchange: Exchange, reply: Reply) -> dict[str, Any]:
        """Return the whole completion when the run has ended or asks. Raises `Problem`."""
        texts: tuple[list[str], list[str]] = ([], [])
        async with aclosing(exchange.steps()) as steps:
            async for step in steps:
                texts[step.is_answer].append(step.text)
        self._turns.received(exchange.turn)
        return reply.whole("".join(texts[1]), "".join(texts[0]), await exchange.view())

    def _tell(self, exchange: Exchange, body: ResponseRequest | None, *, deltas: bool, after: int = -1) -> Response:
        """Return the events of a response above a number as a stream."""
        error = closing(exchange.url).openai().error.model_dump(exclude={"type"})
        parting = frame({"type": "error", **error, "sequence_number": 2**53})

        async def frames() -> AsyncGenerator[bytes, None]:
            async with aclosing(events_of(exchange, body, deltas=deltas)) as events:
                try:
                    async for event in events:
                        if event["sequence_number"] > after:
                            yield frame(event)
                except Problem:  # the server shuts down
                    yield parting
                else:
                    self._received(exchange, event)

        return self._stream(exchange, frames(), Signals(parting=parting), body)

    async def _response(self, exchange: Exchange, body: ResponseRequest | None) -> dict[str, Any]:
        """Return a response when its run has ended or asks. Raises `Problem` if the server shuts down."""
        end: dict[str, Any] = {}
        async with aclosing(events_of(exchange, body, deltas=False)) as events:
            async for event in events:
                end = event
        self._received(exchange, end)
        response: dict[str, Any] = end["response"]
        return response

    def _received(self, exchange: Exchange, end: Mapping[str, Any]) -> None:
        """Note that the client has the answer, unless there is none."""
        if end["type"] == "response.completed":
            self._turns.received(exchange.turn)


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
