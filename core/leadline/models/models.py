"""Who performs a task: the chain of `ai.providers`, the model of each, by typed task or by chat."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from leadline.assemble import House
from leadline.contracts import Call
from leadline.door.calls import Door
from leadline.door.keys import fingerprint
from leadline.door.kinds import CHAT, TASK, Kind, Maker
from leadline.errors import CallFailed, CallRefused, ModelUnreachable
from leadline.models.chains import CHATS, Choice, Standing, chain_of, performs, together, without_those_away
from leadline.models.chatting import Chatting
from leadline.records import THEN, Record
from leadline.settings.load import Settings
from leadline.task_kinds import TaskKind
from leadline.tasks import Performed, Task, TaskRequest

R = TypeVar("R", bound=Record)


class Models:
    """Performs the typed tasks of one run; `notice` is told what was done with less.

    `closing` says whether a stage asks now that finishes the report.
    """

    def __init__(
        self,
        house: House,
        door: Door,
        settings: Settings,
        providers: Sequence[str],
        notice: Callable[[str], Awaitable[None]],
        closing: Callable[[], bool],
    ) -> None:
        self._house = house
        self._door = door
        self._providers = providers
        self._notice = notice
        self._closing = closing
        self._standing = Standing(notice, door.answered)
        self._chatting = Chatting(door, settings, self._standing)

    async def perform(self, task: Task[R]) -> R:
        """Have a task done by the first provider of its chain that can.

        Raises `CallFailed` when none can, `ModelUnreachable` when none has ever answered in this run.
        """
        chain = list(self._chain(task))
        provider = None if self._standing.out(chain[0]) else await self._made(chain[0])
        if performs(provider):
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
        try:
            done = await self._door.call(kind, task.request, do, maker=maker, sample=task.sample, task=task.name)
        except CallFailed as failed:
            if not isinstance(failed, CallRefused) and await self._unreachable(chain):
                raise ModelUnreachable(self._advice(chain, task, failed)) from failed
            raise
        for notice in done.notices:
            await self._notice(notice)
        return task.reply.model_validate(done.reply)

    async def _unreachable(self, chain: list[Choice]) -> bool:
        """Return whether only chats can do a task, and none has answered anything in this run."""
        return not self._door.answered() and not any([performs(await self._made(choice)) for choice in chain])

    def _advice(self, chain: list[Choice], task: Task[Any], failed: CallFailed) -> str:
        settings = {choice.member.name: self._house.settings.plugin(choice.member.name) for choice in chain}
        addresses = {name: getattr(one, "base_url", "") for name, one in settings.items()}
        asked = ", ".join(f"{name} at {address}" if address else name for name, address in addresses.items())
        show = ", ".join(f"`leadline plugins show {name}`" for name in settings)
        return (
            f"no AI provider answered the first task ({task.name}): {asked}: {failed.record.message}. "
            f"Next: check its settings ({show}), or research without a model (--set ai.providers=embedded)"
        )

    def _chain_maker(self, chain: list[Choice], task: Task[Any] | TaskKind[Any, Any]) -> Maker:
        parts = {choice.member.name: [choice.member.maker.fingerprint, choice.model] for choice in chain}
        made = fingerprint(parts | {"prompt": self._chatting.instructions(task)})
        return Maker(name=THEN.join(parts), fingerprint=made)

    def fingerprint(self, kinds: Iterable[TaskKind[Any, Any]]) -> str:
        """Return a digest of who does these tasks, with which models and prompts; empty for none."""
        chains = {kind.name: self._chain_maker(list(self._named(kind.name, kind.role)), kind) for kind in kinds}
        return fingerprint({name: maker.fingerprint for name, maker in chains.items()})

    async def by_chat(self, task: str, role: str) -> bool:
        """Return whether the first of a task's chain that can be reached is a chat."""
        for choice in self._named(task, role):
            if not self._standing.absent(choice.member.name) and (provider := await self._made(choice)) is not None:
                return not getattr(provider, "algorithm", False)
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
        left, failures = without_those_away(self._standing.left(chain))
        for choice in left:
            before = [*self._standing.failures(chain[: chain.index(choice)]), *failures]
            lost = [one for one in before if not self._standing.absent(one.record.provider)]
            if await self._quotes_instead(choice, task, lost):
                continue
            try:
                done = await self._ask(choice, task, lost)
            except CallRefused:
                raise
            except CallFailed as failed:
                failures.append(failed)
                await self._standing.failed(choice, failed, chain)
            else:
                self._standing.went_well(choice)
                return done
        raise together(failures or self._standing.failures(chain))

    async def _quotes_instead(self, choice: Choice, task: Task[Any], lost: Sequence[CallFailed]) -> bool:
        """Return whether it would only quote what a chat was to write, and was `lost`.

        What people read is then not written, as the stage says that asked for it, and the next session asks again.
        """
        writes = task.role == "thinking" and self._closing()
        if not writes or not choice.member.offer.free or not any(one.record.kind in CHATS for one in lost):
            return False
        return hasattr(await self._made(choice), "perform")

    async def _ask(self, choice: Choice, task: Task[R], lost: Sequence[CallFailed]) -> Performed:
        try:
            provider = await choice.member.get()
        except Exception as error:
            raise await self._door.fault(CHAT, choice.member.maker, error) from error
        fallen = [f"{task.name} was done by {choice.member.name} ({failed.record.text})" for failed in lost[-1:]]
        if performs(provider):
            reply = await self._performed(choice, provider, task)
        else:
            reply, cut = await self._chatting.perform(choice, provider, task)
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
