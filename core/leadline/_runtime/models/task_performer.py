"""Typed tasks with fallback: the providers of a task's chain in their order, each as a task provider or a chat.

A chat gets rendered messages, with inputs shrunk to its context; its reply is parsed, and repaired once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from leadline._runtime.calls.call_path import CallPath
from leadline._runtime.calls.job import CHAT, TASK, Kind, ProviderIdentity, Stream
from leadline._runtime.calls.keys import fingerprint
from leadline._runtime.calls.retry import TRAITS, RunHealth
from leadline._runtime.journal.rows import Need
from leadline._runtime.models.prices import ChatEstimates, Prices, exceeds_context, load_tables
from leadline._runtime.models.task_messages import instructions, render, repair, talk, task_request
from leadline._runtime.plugins import PluginRuntime, ProviderInstance
from leadline._runtime.replies.parsing import (
    CUT,
    FILTERED,
    accept_first,
    accept_last,
    describe_refusal,
    is_reusable,
    read,
)
from leadline.contracts import Call
from leadline.encoding import require_type
from leadline.errors import BadReply, CallFailed, CallRefused, ModelUnreachable, ProviderError, RateLimited, Unsupported
from leadline.records import THEN, ChatReply, ChatRequest, Failure, Message, ModelTraits, Notice, Record, Usage
from leadline.settings import Settings, seconds
from leadline.tasks import Performed, Talk, Task, TaskKind, TaskRequest, reply_schema, template_of

# The kinds of failures of providers that chat; those of algorithms have other kinds.
CHAT_FAILURES = (CHAT, TRAITS)


@dataclass(frozen=True)
class Choice:
    """One provider of a chain, and the model to request; an empty model is the provider's default."""

    instance: ProviderInstance
    model: str = ""

    @property
    def name(self) -> str:
        """The name of the provider."""
        return self.instance.name


def chain_of(plugins: PluginRuntime, providers: Sequence[str], task: str, role: str) -> Iterator[Choice]:
    """Yield the provider of the task or else of its role, then the others in the order of the settings."""
    roles: Mapping[Any, str] = plugins.settings.ai.roles
    configured = plugins.settings.ai.tasks.get(task) or roles.get(role) or ""
    first, _, model = configured.partition(":")
    for name in dict.fromkeys([first, *providers] if first else providers):
        yield Choice(plugins.instance("ai_providers", name), model if name == first else "")


def performs_tasks(provider: object) -> bool:
    """Return whether a provider answers typed tasks itself; any other is used through chat."""
    return hasattr(provider, "perform")


def chat_failure(choice: Choice, error: type[ProviderError], message: str, detail: str = "") -> CallFailed:
    """Return the failure of a chat that was not sent, or whose reply cannot be used."""
    failure = Failure(
        kind=CHAT,
        provider=choice.name,
        category=error.category,
        type=error.__name__,
        message=message,
        detail=detail,
    )
    return CallFailed(failure)


def without_rate_limited(choices: Sequence[Choice]) -> tuple[list[Choice], list[CallFailed]]:
    """Split off, as failures, providers that asked for a longer pause than calls wait.

    A call to them would wait for its longest time and then be refused. They are used only if no other is left.
    """
    available = [choice for choice in choices if not choice.instance.identity.blocked_for()]
    if not available:
        return list(choices), []
    return available, [
        chat_failure(choice, RateLimited, "it asks for a longer pause than calls wait")
        for choice in choices
        if choice not in available
    ]


def combined_failure(failures: Sequence[CallFailed]) -> CallFailed:
    """Return the failures of a chain as one.

    If all of them are calls in the journal, they are its causes, and reports list only them.
    """
    keys = tuple(failure.key for failure in failures)
    records = [failure.record for failure in failures]
    combined = records[-1]
    if len(records) > 1:
        update = {
            "provider": THEN.join(record.provider for record in records),
            "message": Notice.several(record.text for record in records),
            "detail": "; ".join(record.detail for record in records if record.detail),
            "attempts": 1,
        }
        combined = combined.model_copy(update=update)
    return CallFailed(combined, causes=keys if all(keys) else ())


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
                smaller = (
                    task.kind.shrink(task.inputs) if task.kind.shrink and failed.record.type == "TooLong" else None
                )
                if smaller is None:
                    raise
                task, shrunk = replace(task, inputs=smaller), True
            else:
                over = "{task}: the material was over the model's context, and the least relevant was left out"
                return reply, [Notice(over, "over", task=task.name), *notices] if shrunk else notices

    async def _fit(self, choice: Choice, task: Task[R]) -> tuple[Task[R], bool]:
        """Shrink the inputs to the context that the provider states; return the task and whether it shrank."""
        shrunk, context = False, (await self._traits(choice)).context_tokens
        while context and task.kind.shrink and exceeds_context(self._messages(choice, task), context):
            smaller = task.kind.shrink(task.inputs)
            if smaller is None:  # the estimate may be wrong; the vendor decides
                break
            task, shrunk = replace(task, inputs=smaller), True
        return task, shrunk

    def instructions(self, task: TaskKind[Any, Any]) -> str:
        """Return the system message of a task."""
        return instructions(task, self._template(task))

    def _template(self, task: TaskKind[Any, Any]) -> str:
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
            messages = repair(messages, reply.message.text, error, task.kind.example)
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
            return talk(task, self._template(task.kind), task.inputs.turns, _speaker(choice))
        return render(task, self._template(task.kind))

    async def _chat(self, choice: Choice, task: Task[R], messages: tuple[Message, ...]) -> ChatReply:
        traits = await self._traits(choice)
        request = ChatRequest(model=choice.model, messages=messages)
        if isinstance(task.inputs, Talk):
            request = request.model_copy(update={"tools": task.inputs.tools, "allowed": task.inputs.allowed})
        elif traits.json_schema:
            request = request.model_copy(update={"json_schema": reply_schema(task.kind)})
        kind = Kind(
            name=CHAT,
            reply=ChatReply,
            need=partial(self._need, traits.model),
            text=lambda reply: reply.message.text,
            price=partial(self._priced, traits.model),
            ttl=self._ttl(choice, task),
            shareable=partial(is_reusable, task),
            single_attempt=self._health.is_unreachable(choice.name),
            stream=Stream(task.heard, task.kind.shows, task.kind.drafts, task.kind.answers),
        )
        return await self._calls.call(
            kind,
            request,
            choice.instance.method("chat"),
            provider=choice.instance.identity,
            sample=task.sample,
            task=task.name,
        )

    async def _traits(self, choice: Choice) -> ModelTraits:
        try:
            return require_type(await choice.instance.ask("traits", choice.model), ModelTraits)
        except Exception as error:
            raise await self._calls.fault(TRAITS, choice.instance.identity, error) from error

    def _ttl(self, choice: Choice, task: Task[Any]) -> float:
        """Return the seconds for which other runs may use a reply."""
        cache, offer = self._settings.cache, choice.instance.offer
        if offer.cache_key is None:
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


R = TypeVar("R", bound=Record)


class TaskPerformer:
    """Performs the typed tasks of one run.

    `notice` receives notices of degraded results; `closing` returns whether a closing stage runs now.
    """

    def __init__(
        self,
        plugins: PluginRuntime,
        calls: CallPath,
        notice: Callable[[str], Awaitable[None]],
        closing: Callable[[], bool],
    ) -> None:
        self._plugins = plugins
        self._calls = calls
        self._notice = notice
        self._closing = closing
        self._health = RunHealth(notice, calls.answered)
        self._chat = TaskChat(calls, plugins.settings, self._health)

    async def perform(self, task: Task[R], /) -> R:
        """Have a task done by the first provider of its chain that can.

        Raises `CallFailed` if none can, `ModelUnreachable` if moreover none has answered anything in this run.
        """
        chain = self._chain(task.name, task.kind.role)
        provider = None if chain[0].name in self._health.excluded else await self._created(chain[0])
        if performs_tasks(provider):
            # Its reply needs no repair, so one call suffices, unless it fails and a fallback is left.
            try:
                return await self._by_task_provider(chain[0], provider, task)
            except CallRefused:
                raise
            except CallFailed:
                if len(chain) == 1:
                    raise

        async def do(request: TaskRequest, call: Call) -> Performed:
            return await self._by_chain(chain, task)

        kind = Kind(name=TASK, reply=Performed, composite=True)
        # The identity has all models and prompts of the chain: a changed prompt is a different call.
        identity = self._chain_identity(chain, task.kind)
        try:
            done = await self._calls.call(
                kind, task_request(task), do, provider=identity, sample=task.sample, task=task.name
            )
        except CallFailed as failed:
            # None has answered anything in this run, and the chain has only chats.
            silent = not isinstance(failed, CallRefused) and not self._calls.answered()
            if silent and not any([performs_tasks(await self._created(choice)) for choice in chain]):
                raise ModelUnreachable(self._unreachable_message(chain, task, failed)) from failed
            raise
        for notice in done.notices:
            await self._notice(notice)
        return task.reply.model_validate(done.reply)

    async def by_chat(self, task: str, role: str = "task") -> bool:
        """Return whether the first provider of the chain that can be reached understands language."""
        for choice in self._chain(task, role):
            if choice.name not in self._health.never_reached and await self._created(choice) is not None:
                return not getattr(choice.instance.offer, "algorithm", False)
        return False

    async def model_of(self, task: str) -> str:
        """Return the model of the first provider for a task, as PROVIDER:MODEL; empty if an algorithm does it."""
        if not await self.by_chat(task):
            return ""
        choice = self._chain(task, "task")[0]
        provider = await choice.instance.get()
        model = choice.model or provider.traits(choice.model).model
        return f"{choice.name}:{model}" if model else choice.name

    def fingerprint(self, kinds: Iterable[TaskKind[Any, Any]]) -> str:
        """Return a digest of the providers, models and prompts of these tasks; empty without tasks."""
        chains = {kind.name: self._chain_identity(self._chain(kind.name, kind.role), kind) for kind in kinds}
        return fingerprint({name: identity.fingerprint for name, identity in chains.items()})

    def _chain(self, task: str, role: str) -> list[Choice]:
        return list(chain_of(self._plugins, self._plugins.chosen["ai.providers"], task, role))

    def _chain_identity(self, chain: list[Choice], task: TaskKind[Any, Any]) -> ProviderIdentity:
        parts = {choice.name: [choice.instance.identity.fingerprint, choice.model] for choice in chain}
        options = fingerprint(parts | {"prompt": self._chat.instructions(task)})
        return ProviderIdentity(name=THEN.join(parts), fingerprint=options)

    async def _created(self, choice: Choice) -> Any:
        """Return the provider; None if it cannot be created, which its next call reports."""
        try:
            return await choice.instance.get()
        except Exception:  # noqa: BLE001 - after any error the next provider of the chain is used
            return None

    async def _by_chain(self, chain: list[Choice], task: Task[R]) -> Performed:
        health, names = self._health, [choice.name for choice in chain]
        by_name = dict(zip(names, chain, strict=True))
        usable, failures = without_rate_limited([by_name[name] for name in health.usable(names)])
        for choice in usable:
            before = names[: names.index(choice.name)]
            skipped = [*(health.excluded[name] for name in before if name in health.excluded), *failures]
            # Providers that were never reached have their own notice.
            skipped = [failed for failed in skipped if failed.record.provider not in health.never_reached]
            if await self._would_only_quote(choice, task, skipped):
                continue
            try:
                done = await self._by_provider(choice, task, skipped)
            except CallRefused:
                raise
            except CallFailed as failed:
                failures.append(failed)
                await health.record_failure(choice.name, failed, names)
            else:
                health.record_success(choice.name)
                return done
        raise combined_failure(failures or [health.excluded[name] for name in names if name in health.excluded])

    async def _would_only_quote(self, choice: Choice, task: Task[Any], skipped: Sequence[CallFailed]) -> bool:
        """Return whether an algorithm would quote passages in place of text that a failed model was to write.

        Such text is left out instead: its stage reports the gap, and the next session tries again.
        """
        writes = task.kind.role == "thinking" and self._closing()
        if not writes or choice.instance.offer.work != "local":
            return False
        if not any(failed.record.kind in CHAT_FAILURES for failed in skipped):
            return False
        return performs_tasks(await self._created(choice))

    async def _by_provider(self, choice: Choice, task: Task[R], skipped: Sequence[CallFailed]) -> Performed:
        try:
            provider = await choice.instance.get()
        except Exception as error:
            raise await self._calls.fault(CHAT, choice.instance.identity, error) from error
        done = Notice("{task} was done by {provider}", "instead", task=task.name, provider=choice.name)
        notices: list[str] = [done.because(failed.record.text) for failed in skipped[-1:]]
        if performs_tasks(provider):
            reply = await self._by_task_provider(choice, provider, task)
        else:
            reply, chat_notices = await self._chat.perform(choice, task)
            notices += chat_notices
        return Performed(reply=reply.model_dump(mode="json"), notices=tuple(notices))

    async def _by_task_provider(self, choice: Choice, provider: Any, task: Task[R]) -> R:
        request = task_request(task)

        async def do(received: TaskRequest, call: Call) -> R:
            # Middleware may have changed the request; only then are the inputs validated again.
            changed = task
            if received is not request:
                changed = replace(task, inputs=type(task.inputs).model_validate(received.inputs))
            reply: R = await provider.perform(changed, call)
            return reply

        once = self._health.is_unreachable(choice.name)
        kind = Kind(name="perform", reply=task.reply, free=choice.instance.offer.work == "local", single_attempt=once)
        identity = choice.instance.identity
        return await self._calls.call(kind, request, do, provider=identity, sample=task.sample, task=task.name)

    def _unreachable_message(self, chain: list[Choice], task: Task[Any], failed: CallFailed) -> str:
        sections = {
            choice.name: self._plugins.settings.plugin(self._plugins.loaded.section("ai_providers", choice.name))
            for choice in chain
        }
        addresses = {name: getattr(section, "base_url", "") for name, section in sections.items()}
        providers = ", ".join(f"{name} at {address}" if address else name for name, address in addresses.items())
        commands = ", ".join(f"`leadline plugins show {name}`" for name in sections)
        stages = (self._plugins.loaded.offer("stages", name) for name in self._plugins.chosen["pipeline"])
        needed = any("ai.providers" in stage.uses for stage in stages)
        return (
            f"no AI provider answered the first task ({task.name}): {providers}: {failed.record.message}. "
            f"Next: check its settings ({commands})"
            f"{'' if needed else ', or research without a model (--set ai.providers=embedded)'}"
        )
