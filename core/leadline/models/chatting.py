"""How a task is put to a chat: asked by messages, answered by a text that is read, and once more where it is unfit."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from leadline.door.calls import Door
from leadline.door.faults import wished
from leadline.door.kinds import CHAT, Kind
from leadline.door.leases import Leases, over
from leadline.errors import BadReply, CallFailed, Unsupported
from leadline.journal.wire import right
from leadline.models.chains import TRAITS, Choice, Standing, unfit
from leadline.models.prices import Prices
from leadline.records import ChatReply, ChatRequest, Message, ModelTraits, Record, Usage
from leadline.replies.taking import CUT, FILTERED, in_words, read, taken, taken_at_last, usable
from leadline.runs.budget import Need
from leadline.settings.durations import seconds
from leadline.settings.load import Settings
from leadline.task_kinds import TaskKind
from leadline.tasks import Talk, Task, instructions, render, repair, reply_schema, talk

R = TypeVar("R", bound=Record)


class Chatting:
    """Puts the tasks of one run to the chats of its chains."""

    def __init__(self, door: Door, settings: Settings, standing: Standing) -> None:
        self._door = door
        self._settings = settings
        self._standing = standing
        self._prices = Prices(settings.ai.prices)
        self._leases = Leases(self._prices)

    async def perform(self, choice: Choice, provider: Any, task: Task[R]) -> tuple[R, list[str]]:
        """Return the reply, and what was done with less; inputs over the model's context are shrunk until they fit."""
        task, cut = await self._fitting(choice, provider, task)
        while True:
            try:
                ask = self._turn if isinstance(task.inputs, Talk) else self._read
                reply, told = await ask(choice, provider, task)
            except CallFailed as failed:
                smaller = task.shrink(task.inputs) if task.shrink and failed.record.type == "TooLong" else None
                if smaller is None:
                    raise
                task, cut = replace(task, inputs=smaller), cut + 1
            else:
                less = f"{task.name}: the material was over the model's context, and the least relevant was left out"
                return reply, [less, *told] if cut else told

    async def _fitting(self, choice: Choice, provider: Any, task: Task[R]) -> tuple[Task[R], int]:
        """Return the task with what fits into the context that the model is said to have, and how often it shrank."""
        cut, context = 0, (await self._traits(choice, provider)).context_tokens
        while context and task.shrink and over(self._messages(choice, task), context):
            smaller = task.shrink(task.inputs)
            if smaller is None:  # the vendor says whether it is too much
                break
            task, cut = replace(task, inputs=smaller), cut + 1
        return task, cut

    def instructions(self, task: Task[Any] | TaskKind[Any, Any]) -> str:
        """Return the system message of a task."""
        return instructions(task, self._prompt(task))

    def _prompt(self, task: Task[Any] | TaskKind[Any, Any]) -> str:
        """Return the template of a task: that of the settings, else its own."""
        return self._settings.prompts.get(task.name, task.prompt)

    async def _read(self, choice: Choice, provider: Any, task: Task[R]) -> tuple[R, list[str]]:
        """Read the reply; an unusable one is asked for once more, with the error in hand.

        One that is cut off again is taken as far as it is whole, and that is told.
        """
        messages = self._messages(choice, task)
        said = await self._say(choice, provider, task, messages)
        try:
            return taken(read(said, task.reply), task)
        except BadReply as error:
            if said.finish_reason == "content_filter":  # which would stop it again
                raise unfit(choice, Unsupported, in_words(error, said), str(error)) from error
            messages = repair(messages, said.message.text, error, task.example)
        said = await self._say(choice, provider, replace(task, heard=None), messages)
        try:
            return taken_at_last(said, task)
        except BadReply as error:
            raise unfit(choice, BadReply, in_words(error, said), str(error)) from error

    async def _turn(self, choice: Choice, provider: Any, task: Task[R]) -> tuple[R, list[str]]:
        """Return the next turn of a talk, as the model said it: what it calls for is for the one who asks."""
        traits, speaker = await self._traits(choice, provider), _speaker(choice)
        if not traits.tools:
            raise unfit(choice, Unsupported, f"the model {traits.model or choice.model} calls no tools")
        said = await self._say(choice, provider, task, self._messages(choice, task))
        if said.finish_reason == "length":
            raise unfit(choice, BadReply, CUT)
        if said.finish_reason == "content_filter" and not said.message.tool_calls:
            raise unfit(choice, Unsupported, FILTERED)
        return task.reply.model_validate(said.message.model_copy(update={"by": speaker})), []

    def _messages(self, choice: Choice, task: Task[Any]) -> tuple[Message, ...]:
        if isinstance(task.inputs, Talk):
            return talk(task, self._prompt(task), task.inputs.turns, _speaker(choice))
        return render(task, self._prompt(task))

    async def _say(self, choice: Choice, provider: Any, task: Task[R], messages: tuple[Message, ...]) -> ChatReply:
        traits = await self._traits(choice, provider)
        request = ChatRequest(model=choice.model, messages=messages)
        if isinstance(task.inputs, Talk):
            request = request.model_copy(update={"tools": task.inputs.tools, "allowed": task.inputs.allowed})
        elif traits.json_schema:
            request = request.model_copy(update={"json_schema": reply_schema(task)})
        kind = Kind(
            name=CHAT,
            reply=ChatReply,
            need=partial(self._need, traits.model),
            text=_text,
            price=partial(self._priced, traits.model),
            ttl=self._ttl(choice, task),
            whole=partial(usable, task),
            once=self._standing.silent(choice),
        )
        return await self._door.call(
            kind,
            request,
            lambda request, call: provider.chat(request, call),  # what it may raise is the call's
            maker=choice.member.maker,
            sample=task.sample,
            task=task.name,
            heard=task.heard,
            shows=task.shows,
        )

    async def _traits(self, choice: Choice, provider: Any) -> ModelTraits:
        try:
            return right(provider.traits(choice.model), ModelTraits)
        except BaseException as error:
            if wished(error):
                raise
            raise await self._door.fault(TRAITS, choice.member.maker, error) from error

    def _ttl(self, choice: Choice, task: Task[Any]) -> float:
        """Return for how long a reply serves other runs."""
        cache = self._settings.cache
        kept = seconds(cache.plan if task.name == "plan" else cache.model)
        offer = choice.member.offer
        return 0.0 if offer.per_user or not offer.keep else kept

    def _need(self, model: str, request: ChatRequest) -> Need:
        return self._leases.need(request, request.model or model)

    def _priced(self, model: str, request: ChatRequest, usage: Usage) -> Usage:
        self._leases.note(request, usage)
        return self._prices.priced(usage, request.model or model)


def _speaker(choice: Choice) -> str:
    return f"{choice.member.name}:{choice.model}"


def _text(reply: ChatReply) -> str:
    return reply.message.text
