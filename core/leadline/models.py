"""Who performs a task: the chain of `ai.providers`, the model of each, by typed task or by chat."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, cast

from leadline.assemble import House
from leadline.budget import Need
from leadline.calls import Door
from leadline.chains import TRAITS, Choice, Standing, chain_of, together, unfit
from leadline.contracts import Call
from leadline.durations import seconds
from leadline.errors import BadReply, CallFailed, CallRefused, Unsupported
from leadline.faults import wished
from leadline.keys import fingerprint
from leadline.kinds import CHAT, TASK, Kind, Maker
from leadline.leases import Leases
from leadline.prices import Prices
from leadline.records import ChatReply, ChatRequest, Message, ModelTraits, Record, Usage
from leadline.settings import Settings
from leadline.task_kinds import TaskKind
from leadline.tasks import Performed, Talk, Task, TaskRequest, checked, parse, render, repair, schema, talk
from leadline.wire import right

R = TypeVar("R", bound=Record)


class Models:
    """Performs the typed tasks of one run; `notice` is told what was done with less."""

    def __init__(
        self,
        house: House,
        door: Door,
        settings: Settings,
        providers: Sequence[str],
        notice: Callable[[str], Awaitable[None]],
    ) -> None:
        self._house = house
        self._door = door
        self._settings = settings
        self._providers = providers
        self._notice = notice
        self._prices = Prices(settings.ai.prices)
        self._leases = Leases(self._prices)
        self._standing = Standing(notice)

    async def perform(self, task: Task[R]) -> R:
        """Have a task done by the first provider of its chain that can. Raises `CallFailed` when none can."""
        chain = list(self._chain(task))
        provider = None if self._standing.out(chain[0]) else await self._made(chain[0])
        if hasattr(provider, "perform"):
            # There is nothing to repair: unless it fails and others are left, the one call is the whole of it.
            try:
                return await self._performed(chain[0], provider, task)
            except CallRefused:
                raise
            except CallFailed:
                if len(chain) == 1:
                    raise
        kind = Kind(name=TASK, reply=Performed, composite=True)

        async def do(request: TaskRequest, call: Call) -> Performed:
            return await self._first(chain, task)

        maker = self._chain_maker(chain, task)
        done = await self._door.call(kind, task.request, do, maker=maker, sample=task.sample, task=task.name)
        for notice in done.notices:
            await self._notice(notice)
        return task.reply.model_validate(done.reply)

    def _chain_maker(self, chain: list[Choice], task: Task[Any] | TaskKind[Any, Any]) -> Maker:
        parts = {choice.member.name: [choice.member.maker.fingerprint, choice.model] for choice in chain}
        return Maker(name=" > ".join(parts), fingerprint=fingerprint(parts | {"prompt": self._prompt(task)}))

    def fingerprint(self, kinds: Iterable[TaskKind[Any, Any]]) -> str:
        """Return a digest of who does these tasks, with which models and prompts; empty for none."""
        chains = {kind.name: self._chain_maker(list(self._named(kind.name, kind.role)), kind) for kind in kinds}
        return fingerprint({name: maker.fingerprint for name, maker in chains.items()})

    async def by_chat(self, task: str, role: str) -> bool:
        """Return whether the first of a task's chain is a chat."""
        for choice in self._named(task, role):
            if (provider := await self._made(choice)) is not None:
                return not hasattr(provider, "perform")
        return False

    async def _made(self, choice: Choice) -> Any:
        """Return the provider; None where it cannot be made, which is told when it is asked."""
        try:
            return await choice.member.get()
        except Exception:  # noqa: BLE001 - whatever it raises, others may stand behind it
            return None

    def _chain(self, task: Task[Any]) -> Iterator[Choice]:
        return self._named(task.name, task.role)

    def _named(self, task: str, role: str) -> Iterator[Choice]:
        return chain_of(self._house, self._providers, task, role)

    async def _first(self, chain: list[Choice], task: Task[R]) -> Performed:
        failures: list[CallFailed] = []
        for choice in self._standing.left(chain):
            try:
                done = await self._ask(choice, task, failures)
            except CallRefused:
                raise
            except CallFailed as failed:
                failures.append(failed)
                await self._standing.failed(choice, failed, chain)
            else:
                self._standing.went_well(choice)
                return done
        raise together(failures or self._standing.failures(chain))

    async def _ask(self, choice: Choice, task: Task[R], failures: Sequence[CallFailed]) -> Performed:
        try:
            provider = await choice.member.get()
        except Exception as error:
            raise await self._door.fault(CHAT, choice.member.maker, error) from error
        fallen = [f"{task.name} was done by {choice.member.name}: {failed.record.text}" for failed in failures[-1:]]
        if hasattr(provider, "perform"):
            reply = await self._performed(choice, provider, task)
        else:
            reply, cut = await self._chat(choice, provider, task)
            fallen += cut
        return Performed(reply=reply.model_dump(mode="json"), notices=tuple(fallen))

    async def _performed(self, choice: Choice, provider: Any, task: Task[R]) -> R:
        request = task.request
        once = self._standing.silent(choice)
        kind = Kind(name="perform", reply=task.reply, free=choice.member.offer.free, once=once)

        async def do(asked: TaskRequest, call: Call) -> R:
            # A middleware may have changed what is asked: then the inputs are read anew.
            changed = task if asked is request else replace(task, inputs=type(task.inputs).model_validate(asked.inputs))
            answer: R = await provider.perform(changed, call)
            return answer

        return await self._door.call(kind, request, do, maker=choice.member.maker, sample=task.sample, task=task.name)

    # --- by chat -----------------------------------------------------------------------------------------------------

    async def _chat(self, choice: Choice, provider: Any, task: Task[R]) -> tuple[R, list[str]]:
        """Put a task to a chat; inputs over its context are shrunk until they fit."""
        cut = 0
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

    async def _read(self, choice: Choice, provider: Any, task: Task[R]) -> tuple[R, list[str]]:
        """Read the reply; an unusable one is asked for once more, with the error in hand.

        One that is cut off again is taken as far as it is whole, and that is told.
        """
        messages = render(self._prompt(task), task.request, task.reply)
        said = await self._say(choice, provider, task, messages)
        try:
            return checked(read(said, task.reply), task), []
        except BadReply as error:
            messages = repair(messages, said.message.text, error)
        said = await self._say(choice, provider, replace(task, heard=None), messages)
        cut = said.finish_reason == "length"
        less = f"{task.name}: the reply was cut off at the model's limit of length twice, and what was whole is taken"
        try:
            return checked(parse(said.message.text, task.reply, cut=cut), task), [less] if cut else []
        except BadReply as error:
            raise unfit(choice, BadReply, str(error)) from error

    async def _turn(self, choice: Choice, provider: Any, task: Task[R]) -> tuple[R, list[str]]:
        """Return the next turn of a talk, as the model said it: what it calls for is for the one who asks."""
        traits, speaker = await self._traits(choice, provider), f"{choice.member.name}:{choice.model}"
        if not traits.tools:
            raise unfit(choice, Unsupported, f"the model {traits.model or choice.model} calls no tools")
        messages = talk(self._prompt(task), task.request, cast("Talk", task.inputs).turns, speaker)
        said = await self._say(choice, provider, task, messages)
        if said.finish_reason == "length":
            raise unfit(choice, BadReply, "the reply was cut off at the model's limit of length")
        return task.reply.model_validate(said.message.model_copy(update={"by": speaker})), []

    async def _say(self, choice: Choice, provider: Any, task: Task[R], messages: tuple[Message, ...]) -> ChatReply:
        traits = await self._traits(choice, provider)
        request = ChatRequest(model=choice.model, messages=messages)
        if isinstance(task.inputs, Talk):
            request = request.model_copy(update={"tools": task.inputs.tools, "allowed": task.inputs.allowed})
        elif traits.json_schema:
            request = request.model_copy(update={"json_schema": schema(task.reply)})
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

    def _prompt(self, task: Task[Any] | TaskKind[Any, Any]) -> str:
        return self._settings.prompts.get(task.name, task.prompt)


def read(reply: ChatReply, form: type[R]) -> R:
    """Read a reply that may have been cut off: then it is not taken before it was asked for once more."""
    if reply.finish_reason == "length":
        raise BadReply("the reply was cut off at the model's limit of length: say it shorter")
    return parse(reply.message.text, form)


def usable(task: Task[Any], reply: ChatReply) -> bool:
    """Return whether a reply is good enough for other runs: whole, and of use for its task."""
    if reply.finish_reason not in ("stop", "tool_calls"):
        return False
    if isinstance(task.inputs, Talk):
        return True
    try:
        checked(read(reply, task.reply), task)
    except BadReply:
        return False
    return True


def _text(reply: ChatReply) -> str:
    return reply.message.text
