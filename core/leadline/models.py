"""Who performs a task: the chain of `ai.providers`, the model of each, by typed task or by chat."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from leadline.assemble import House, Member
from leadline.budget import Need
from leadline.calls import Door, Kind, Maker
from leadline.contracts import Call
from leadline.errors import BadReply, CallFailed, CallRefused
from leadline.keys import fingerprint, plain
from leadline.records import ChatReply, ChatRequest, Failure, Message, Record
from leadline.settings import Settings
from leadline.tasks import Task, TaskRequest, parse, render, repair, schema

R = TypeVar("R", bound=Record)
CHARS_PER_TOKEN = 3
"""For leases only: no tokenizer gives fewer characters a token in the languages that matter, CJK aside."""
REPLY_TOKENS = 4_000
"""What is leased for a reply of unknown length."""


@dataclass(frozen=True)
class Choice:
    """One provider of a chain, with the model it is asked for; an empty model is the provider's own default."""

    member: Member
    model: str = ""


class Models:
    """Performs the typed tasks of one run."""

    def __init__(self, house: House, door: Door, settings: Settings, providers: Sequence[str]) -> None:
        self._house = house
        self._door = door
        self._settings = settings
        self._providers = providers

    async def perform(self, task: Task[R]) -> R:
        """Have a task done by the first provider of its chain that can. Raises `CallFailed` when none can."""
        chain = list(self._chain(task))
        inputs = plain(task.inputs)
        assert isinstance(inputs, dict)
        request = TaskRequest(name=task.name, inputs=inputs)
        if len(chain) == 1 and (provider := await chain[0].member.get()) and hasattr(provider, "perform"):
            # Nobody to fall back to and nothing to repair: the one call is the whole of it.
            return await self._performed(chain[0], provider, task, request)
        kind = Kind(name="task", reply=task.reply, composite=True)

        async def do(request: TaskRequest, call: Call) -> R:
            return await self._first(chain, task, request)

        maker = self._chain_maker(chain, task)
        return await self._door.call(kind, request, do, maker=maker, sample=task.sample, task=task.name)

    def _chain_maker(self, chain: list[Choice], task: Task[Any]) -> Maker:
        parts = {choice.member.name: [choice.member.maker.fingerprint, choice.model] for choice in chain}
        return Maker(name=" > ".join(parts), fingerprint=fingerprint(parts | {"prompt": self._prompt(task)}))

    def _chain(self, task: Task[Any]) -> Iterator[Choice]:
        """Yield the task's own provider, then its role's, then the others in the order of the settings."""
        said = self._settings.ai.tasks.get(task.name) or self._settings.ai.roles.get(task.role) or ""
        first, _, model = said.partition(":")
        for name in dict.fromkeys([first, *self._providers] if first else self._providers):
            yield Choice(self._house.member("ai_providers", name), model if name == first else "")

    async def _first(self, chain: list[Choice], task: Task[R], request: TaskRequest) -> R:
        failures: list[Failure] = []
        for choice in chain:
            try:
                return await self._ask(choice, task, request)
            except CallRefused:
                raise
            except CallFailed as failed:
                failures.append(failed.record)
        raise CallFailed(together(failures))

    async def _ask(self, choice: Choice, task: Task[R], request: TaskRequest) -> R:
        provider = await choice.member.get()
        if hasattr(provider, "perform"):
            return await self._performed(choice, provider, task, request)
        return await self._chat(choice, provider, task, request)

    async def _performed(self, choice: Choice, provider: Any, task: Task[R], request: TaskRequest) -> R:
        kind = Kind(name="perform", reply=task.reply)

        async def do(asked: TaskRequest, call: Call) -> R:
            # A middleware may have changed what is asked: then the inputs are read anew.
            changed = task if asked is request else replace(task, inputs=type(task.inputs).model_validate(asked.inputs))
            answer: R = await provider.perform(changed, call)
            return answer

        return await self._door.call(kind, request, do, maker=choice.member.maker, sample=task.sample, task=task.name)

    async def _chat(self, choice: Choice, provider: Any, task: Task[R], request: TaskRequest) -> R:
        messages = render(self._prompt(task), request, task.reply)
        said = await self._say(choice, provider, task, messages)
        try:
            return parse(said, task.reply)
        except BadReply as error:
            return await self._repaired(choice, provider, task, repair(messages, said, error))

    async def _repaired(self, choice: Choice, provider: Any, task: Task[R], messages: tuple[Message, ...]) -> R:
        said = await self._say(choice, provider, task, messages)
        try:
            return parse(said, task.reply)
        except BadReply as error:
            record = Failure(
                kind="chat", provider=choice.member.name, category="LLM", type="BadReply", message=str(error)
            )
            raise CallFailed(record) from error

    async def _say(self, choice: Choice, provider: Any, task: Task[R], messages: tuple[Message, ...]) -> str:
        traits = provider.traits(choice.model)
        request = ChatRequest(
            model=choice.model,
            messages=messages,
            json_schema=schema(task.reply) if traits.json_schema else None,
        )
        kind = Kind(name="chat", reply=ChatReply, need=_need)
        reply = await self._door.call(
            kind, request, provider.chat, maker=choice.member.maker, sample=task.sample, task=task.name
        )
        return reply.message.text

    def _prompt(self, task: Task[Any]) -> str:
        return self._settings.prompts.get(task.name, task.prompt)


def _need(request: Record) -> Need:
    assert isinstance(request, ChatRequest)
    prompt = sum(len(message.text) for message in request.messages) // CHARS_PER_TOKEN
    return Need(model_calls=1, tokens=prompt + (request.max_tokens or REPLY_TOKENS))


def together(failures: Sequence[Failure]) -> Failure:
    """Return the failures of a whole chain as one, each told."""
    if len(failures) == 1:
        return failures[0]
    last = failures[-1]
    return last.model_copy(
        update={
            "provider": ", ".join(failure.provider for failure in failures),
            "message": "; ".join(failure.text for failure in failures),
            "attempts": 1,
        }
    )
