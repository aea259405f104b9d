"""The chain of providers for a task: who is asked, in which order, and what their failures are together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leadline.assemble import House, Member
from leadline.door.kinds import CHAT
from leadline.errors import CallFailed, Denied, PluginError, ProviderError, RateLimited
from leadline.records import THEN, Failure

TRAITS = "traits"
"""The kind of a failure where a provider cannot say what its model can do: it never will."""
CHATS = (CHAT, TRAITS)
"""The kinds of the failures of chats, and of what could not be made: an algorithm's are of another."""
_PATIENCE = 2
"""Tasks in a row for which a provider may be not to be had, until others are asked without it, or it is tried once."""
_AWAY = ("Unavailable", "Disconnected", "Resting", "Severed", "QuotaSpent", "Denied", "Unsupported")
"""Failures of a wrong address, key or model: a provider that has not answered yet is left out at the first of them."""
_FINAL = (Denied.__name__, PluginError.__name__)
"""Failures that nothing in this run will cure: a key that is refused, a plugin that cannot be made."""


@dataclass(frozen=True)
class Choice:
    """One provider of a chain, with the model it is asked for; an empty model is the provider's own default."""

    member: Member
    model: str = ""


def chain_of(house: House, providers: Sequence[str], task: str, role: str) -> Iterator[Choice]:
    """Yield the task's own provider, then its role's, then the others in the order of the settings."""
    roles: Mapping[Any, str] = house.settings.ai.roles
    said = house.settings.ai.tasks.get(task) or roles.get(role) or ""
    first, _, model = said.partition(":")
    for name in dict.fromkeys([first, *providers] if first else providers):
        yield Choice(house.member("ai_providers", name), model if name == first else "")


def performs(provider: object) -> bool:
    """Return whether a provider answers typed tasks itself; any other is asked by chat."""
    return hasattr(provider, "perform")


def unfit(choice: Choice, error: type[ProviderError], message: str, detail: str = "") -> CallFailed:
    """Return the failure of a chat whose reply came, or was never asked for, and cannot be taken."""
    who, kind = choice.member.name, error.__name__
    return CallFailed(
        Failure(kind=CHAT, provider=who, category=error.category, type=kind, message=message, detail=detail)
    )


def without_those_away(left: Sequence[Choice]) -> tuple[list[Choice], list[CallFailed]]:
    """Return who of a chain is asked, and as failures those that want to be left alone for longer than is waited.

    A call of theirs would be held back for the longest that anybody waits, and be refused all the same. They are asked
    where nobody else is left.
    """
    there = [choice for choice in left if not choice.member.maker.away()]
    if not there:
        return list(left), []
    return there, [
        unfit(choice, RateLimited, "it asks to be left alone for a while") for choice in left if choice not in there
    ]


def together(failures: Sequence[CallFailed]) -> CallFailed:
    """Return the failures of a whole chain as one, each told.

    Where all of them are calls of the journal it names them as its causes: then it tells nothing that they do not.
    """
    keys = tuple(failure.key for failure in failures)
    records = [failure.record for failure in failures]
    whole = records[-1]
    if len(records) > 1:
        told = {
            "provider": THEN.join(record.provider for record in records),
            "message": "; ".join(record.text for record in records),
            "detail": "; ".join(record.detail for record in records if record.detail),
            "attempts": 1,
        }
        whole = whole.model_copy(update=told)
    return CallFailed(whole, causes=keys if all(keys) else ())


class Standing:
    """Who is asked in this run, and who is left out of it; `notice` is told of each who is.

    `answered` returns the names of the providers that have answered a chat in this run.
    """

    def __init__(self, notice: Callable[[str], Awaitable[None]], answered: Callable[[], frozenset[str]]) -> None:
        self._notice = notice
        self._answered = answered
        self._absent: set[str] = set()
        """Those left out that have never answered."""
        self._out: dict[str, CallFailed] = {}
        """Each with its last failure."""
        self._silent: Counter[str] = Counter()
        """Tasks in a row for which a provider was not to be had, each after all its attempts."""

    def out(self, choice: Choice) -> bool:
        """Return whether it is left out of this run."""
        return choice.member.name in self._out

    def left(self, chain: Sequence[Choice]) -> list[Choice]:
        """Return who of a chain is asked: those not left out, or else those that were left out for silence.

        Nobody is asked again with a key that was refused, or once the quota is spent: then there may be none.
        """
        left = [choice for choice in chain if not self.out(choice)]
        return left or [choice for choice in chain if self._out[choice.member.name].record.category == "NETWORK"]

    def failures(self, chain: Sequence[Choice]) -> list[CallFailed]:
        """Return why those of a chain are left out that are."""
        return [self._out[choice.member.name] for choice in chain if self.out(choice)]

    async def failed(self, choice: Choice, failed: CallFailed, chain: Sequence[Choice]) -> None:
        """Note that it failed where the chain was asked; leave it out where there is no use in asking it again."""
        name, alone, failure = choice.member.name, self.left(chain) == [choice], failed.record
        self._silent[name] = (failure.category == "NETWORK") * (self._silent[name] + 1)
        # A failure without a key is no call: the provider was not asked.
        absent = bool(failed.key) and failure.kind == CHAT and failure.type in _AWAY and name not in self._answered()
        gone = absent or failure.type == "QuotaSpent" or self._silent[name] >= _PATIENCE
        final = failure.type in _FINAL or failure.kind == TRAITS
        if not self.out(choice) and (final or (gone and not alone)):
            self._out[name] = failed
            others = [other.member.name for other in chain if not self.out(other)]
            if absent and others:
                self._absent.add(name)
            instead = f"; {others[0]} does its tasks" if absent and others else ""
            await self._notice(f"{name} is left out of this run: {failure.message}{instead}")

    def absent(self, name: str) -> bool:
        """Return whether a provider is left out of this run and never answered: a notice has named its substitute."""
        return name in self._absent

    def silent(self, choice: Choice) -> bool:
        """Return whether it was not to be had time and again, until it does a task: then one attempt will tell.

        It is asked all the same where there is nobody else.
        """
        return self._silent[choice.member.name] >= _PATIENCE

    def went_well(self, choice: Choice) -> None:
        """Note that it did a task."""
        self._silent.pop(choice.member.name, None)
