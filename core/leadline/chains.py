"""The chain of providers for a task: who is asked, in which order, and what their failures are together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leadline.assemble import House, Member
from leadline.errors import CallFailed, ProviderError
from leadline.kinds import CHAT
from leadline.records import Failure


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


def unfit(choice: Choice, error: type[ProviderError], message: str) -> CallFailed:
    """Return the failure of a chat whose reply came, or was never asked for, and cannot be taken."""
    return CallFailed(
        Failure(kind=CHAT, provider=choice.member.name, category=error.category, type=error.__name__, message=message)
    )


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
