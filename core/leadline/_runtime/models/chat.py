"""Typed tasks through chat: render the messages, shrink inputs to the context, parse the reply, repair it once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from leadline._runtime.calls.call_path import CallPath
from leadline._runtime.calls.job import CHAT, Kind
from leadline._runtime.calls.retry import TRAITS, RunHealth
from leadline._runtime.journal.rows import Need
from leadline._runtime.models.chains import Choice, chat_failure
from leadline._runtime.models.cost_estimates import ChatEstimates, exceeds_context
from leadline._runtime.models.prices import Prices, load_tables
from leadline._runtime.models.task_messages import instructions, render, repair, talk
from leadline._runtime.replies.acceptance import (
    CUT,
    FILTERED,
    accept_first,
    accept_last,
    describe_refusal,
    is_reusable,
    read,
)
from leadline.encoding import require_type
from leadline.errors import BadReply, CallFailed, Unsupported
from leadline.records import ChatReply, ChatRequest, Message, ModelTraits, Record, Usage
from leadline.settings import Settings, seconds
from leadline.tasks import Talk, Task, TaskKind, reply_schema, template_of

R = TypeVar("R", bound=Record)
P = TypeVar("P")
# Characters from which a reply is parsed off the event loop.
_LONG = 8_000


class TaskChat:
    """Performs the tasks of one run through chat."""

    def __init__(self, calls: CallPath, settings: Settings, health: RunHealth) -> None:
        self._calls = calls
        self._settings = settings
        self._health = health
        self._prices = Prices(settings.ai.prices)
        self._tables_loaded = False
        self._estimates = ChatEstimates(self._prices)

    async def perform(self, choice: Choice, task: Task[R]) -> tuple[R, list[str]]:
        """Return the reply and notices; inputs longer than the model's context are shrunk until they fit."""
        if not self._tables_loaded:
            await asyncio.to_thread(load_tables)
            self._tables_loaded = True
        task, shrunk = await self._fit(choice, task)
        exchange = self._next_turn if isinstance(task.inputs, Talk) else self._parsed_reply
        while True:
            try:
                reply, notices = await exchange(choice, task)
            except CallFailed as failed:
                smaller = task.shrink(task.inputs) if task.shrink and failed.record.type == "TooLong" else None
                if smaller is None:
                    raise
                task, shrunk = replace(task, inputs=smaller), True
            else:
                notice = f"{task.name}: the material was over the model's context, and the least relevant was left out"
                return reply, [notice, *notices] if shrunk else notices

    async def _fit(self, choice: Choice, task: Task[R]) -> tuple[Task[R], bool]:
        """Shrink the inputs to the context that the provider states; return the task and whether it shrank."""
        shrunk, context = False, (await self._traits(choice)).context_tokens
        while context and task.shrink and exceeds_context(self._messages(choice, task), context):
            smaller = task.shrink(task.inputs)
            if smaller is None:  # the estimate may be wrong; the vendor decides
                break
            task, shrunk = replace(task, inputs=smaller), True
        return task, shrunk

    def instructions(self, task: Task[Any] | TaskKind[Any, Any]) -> str:
        """Return the system message of a task."""
        return instructions(task, self._template(task))

    def _template(self, task: Task[Any] | TaskKind[Any, Any]) -> str:
        return template_of(task, self._settings.prompts)

    async def _parsed_reply(self, choice: Choice, task: Task[R]) -> tuple[R, list[str]]:
        """Return the parsed reply and notices. An unusable reply is repaired once, by a request with the error.

        If the second reply is cut off or partly wrong, its usable part is taken, with a notice.
        """
        messages = self._messages(choice, task)
        reply = await self._chat(choice, task, messages)
        if reply.finish_reason == "content_filter":
            try:
                return await _in_thread_if_long(accept_last, reply, task)
            except BadReply as error:
                raise chat_failure(choice, Unsupported, describe_refusal(error, reply), str(error)) from error
        try:
            return accept_first(await _in_thread_if_long(read, reply, task), task)
        except BadReply as error:
            messages = repair(messages, reply.message.text, error, task.example)
        # The listener has the pieces of the first reply; a second one would repeat them.
        reply = await self._chat(choice, replace(task, heard=None), messages)
        try:
            return await _in_thread_if_long(accept_last, reply, task)
        except BadReply as error:
            raise chat_failure(choice, BadReply, describe_refusal(error, reply), str(error)) from error

    async def _next_turn(self, choice: Choice, task: Task[R]) -> tuple[R, list[str]]:
        """Return the next turn of a talk, whose tool calls the caller executes."""
        traits = await self._traits(choice)
        if not traits.tools:
            raise chat_failure(choice, Unsupported, f"the model {traits.model or choice.model} calls no tools")
        reply = await self._chat(choice, task, self._messages(choice, task))
        if reply.finish_reason == "length":
            raise chat_failure(choice, BadReply, CUT)
        if reply.finish_reason == "content_filter" and not reply.message.tool_calls:
            raise chat_failure(choice, Unsupported, FILTERED)
        return task.reply.model_validate(reply.message.model_copy(update={"by": _speaker(choice)})), []

    def _messages(self, choice: Choice, task: Task[Any]) -> tuple[Message, ...]:
        if isinstance(task.inputs, Talk):
            return talk(task, self._template(task), task.inputs.turns, _speaker(choice))
        return render(task, self._template(task))

    async def _chat(self, choice: Choice, task: Task[R], messages: tuple[Message, ...]) -> ChatReply:
        traits = await self._traits(choice)
        request = ChatRequest(model=choice.model, messages=messages)
        if isinstance(task.inputs, Talk):
            request = request.model_copy(update={"tools": task.inputs.tools, "allowed": task.inputs.allowed})
        elif traits.json_schema:
            request = request.model_copy(update={"json_schema": reply_schema(task)})
        kind = Kind(
            name=CHAT,
            reply=ChatReply,
            need=partial(self._need, traits.model),
            text=lambda reply: reply.message.text,
            price=partial(self._priced, traits.model),
            ttl=self._ttl(choice, task),
            shareable=partial(is_reusable, task),
            single_attempt=self._health.is_unreachable(choice.name),
        )
        return await self._calls.call(
            kind,
            request,
            choice.instance.method("chat"),
            provider=choice.instance.identity,
            sample=task.sample,
            task=task.name,
            listener=task.heard,
            shows=task.shows,
            answers=task.answers,
        )

    async def _traits(self, choice: Choice) -> ModelTraits:
        try:
            return require_type(await choice.instance.ask("traits", choice.model), ModelTraits)
        except Exception as error:
            raise await self._calls.fault(TRAITS, choice.instance.identity, error) from error

    def _ttl(self, choice: Choice, task: Task[Any]) -> float:
        """Return the seconds for which other runs may use a reply."""
        cache, offer = self._settings.cache, choice.instance.offer
        if not offer.keep:
            return 0.0
        return seconds(cache.plan if task.name == "plan" else cache.model)

    def _need(self, model: str, request: ChatRequest) -> Need:
        return self._estimates.need(request, request.model or model)

    def _priced(self, model: str, request: ChatRequest, usage: Usage) -> Usage:
        self._estimates.learn(request, usage)
        return self._prices.priced(usage, request.model or model)


async def _in_thread_if_long(parse: Callable[[ChatReply, Task[R]], P], reply: ChatReply, task: Task[R]) -> P:
    """Parse a reply, off the event loop if repairing it could take long."""
    if len(reply.message.text) <= _LONG:
        return parse(reply, task)
    return await asyncio.to_thread(parse, reply, task)


def _speaker(choice: Choice) -> str:
    return f"{choice.name}:{choice.model}"
