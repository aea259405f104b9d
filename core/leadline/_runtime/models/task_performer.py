"""Typed tasks with fallback: the providers of a task's chain in their order, each as a task provider or a chat."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from leadline._runtime.calls.call_path import CallPath
from leadline._runtime.calls.job import CHAT, TASK, Kind, ProviderIdentity
from leadline._runtime.calls.keys import fingerprint
from leadline._runtime.calls.retry import RunHealth
from leadline._runtime.models.chains import (
    CHAT_FAILURES,
    Choice,
    chain_of,
    combined_failure,
    performs_tasks,
    without_rate_limited,
)
from leadline._runtime.models.chat import TaskChat
from leadline._runtime.models.task_messages import task_request
from leadline._runtime.plugins import PluginRuntime
from leadline.contracts import Call
from leadline.errors import CallFailed, CallRefused, ModelUnreachable
from leadline.records import THEN, Record
from leadline.tasks import Performed, Task, TaskKind, TaskRequest

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

    async def perform(self, task: Task[R]) -> R:
        """Have a task done by the first provider of its chain that can.

        Raises `CallFailed` if none can, `ModelUnreachable` if moreover none has answered anything in this run.
        """
        chain = self._chain(task.name, task.role)
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
        identity = self._chain_identity(chain, task)
        try:
            done = await self._calls.call(
                kind, task_request(task), do, provider=identity, sample=task.sample, task=task.name
            )
        except CallFailed as failed:
            if not isinstance(failed, CallRefused) and await self._never_answered(chain):
                raise ModelUnreachable(self._unreachable_message(chain, task, failed)) from failed
            raise
        for notice in done.notices:
            await self._notice(notice)
        return task.reply.model_validate(done.reply)

    async def by_chat(self, task: str, role: str) -> bool:
        """Return whether the first provider of the chain that can be reached understands language."""
        for choice in self._chain(task, role):
            if choice.name not in self._health.never_reached and await self._created(choice) is not None:
                return not choice.instance.offer.algorithm
        return False

    async def model_of(self, task: str) -> str:
        """Return the model of the first provider for a task, as PROVIDER:MODEL; empty if an algorithm does it."""
        if not await self.by_chat(task, "task"):
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

    def _chain_identity(self, chain: list[Choice], task: Task[Any] | TaskKind[Any, Any]) -> ProviderIdentity:
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
        writes = task.role == "thinking" and self._closing()
        if not writes or not choice.instance.offer.free:
            return False
        if not any(failed.record.kind in CHAT_FAILURES for failed in skipped):
            return False
        return performs_tasks(await self._created(choice))

    async def _by_provider(self, choice: Choice, task: Task[R], skipped: Sequence[CallFailed]) -> Performed:
        try:
            provider = await choice.instance.get()
        except Exception as error:
            raise await self._calls.fault(CHAT, choice.instance.identity, error) from error
        notices = [f"{task.name} was done by {choice.name} ({failed.record.text})" for failed in skipped[-1:]]
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
        kind = Kind(name="perform", reply=task.reply, free=choice.instance.offer.free, single_attempt=once)
        identity = choice.instance.identity
        return await self._calls.call(kind, request, do, provider=identity, sample=task.sample, task=task.name)

    async def _never_answered(self, chain: list[Choice]) -> bool:
        """Return whether the chain has only chats, and none has answered anything in this run."""
        if self._calls.answered():
            return False
        return not any([performs_tasks(await self._created(choice)) for choice in chain])

    def _unreachable_message(self, chain: list[Choice], task: Task[Any], failed: CallFailed) -> str:
        sections = {choice.name: self._plugins.settings.plugin(choice.name) for choice in chain}
        addresses = {name: getattr(section, "base_url", "") for name, section in sections.items()}
        providers = ", ".join(f"{name} at {address}" if address else name for name, address in addresses.items())
        commands = ", ".join(f"`leadline plugins show {name}`" for name in sections)
        stages = (self._plugins.loaded.plugins[name].offers["stages"] for name in self._plugins.chosen["pipeline"])
        needed = any(getattr(stage, "by_model", False) for stage in stages)
        return (
            f"no AI provider answered the first task ({task.name}): {providers}: {failed.record.message}. "
            f"Next: check its settings ({commands})"
            f"{'' if needed else ', or research without a model (--set ai.providers=embedded)'}"
        )
