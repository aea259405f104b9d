"""The chain of providers for a task: their order, and the failures of a chain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leadline._runtime.calls.job import CHAT
from leadline._runtime.calls.retry import TRAITS
from leadline._runtime.plugins import PluginRuntime, ProviderInstance
from leadline.errors import CallFailed, ProviderError, RateLimited
from leadline.records import THEN, Failure

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
            "message": "; ".join(record.text for record in records),
            "detail": "; ".join(record.detail for record in records if record.detail),
            "attempts": 1,
        }
        combined = combined.model_copy(update=update)
    return CallFailed(combined, causes=keys if all(keys) else ())
