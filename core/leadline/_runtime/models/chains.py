"""The chain of providers for a task: their order, the providers excluded from a run, and the failures of a chain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leadline._runtime.calls.job import CHAT
from leadline._runtime.plugins import PluginRuntime, ProviderInstance
from leadline.errors import CallFailed, Denied, PluginError, ProviderError, RateLimited
from leadline.records import THEN, Failure

# The kind of a failure of `traits()`: the provider cannot describe its model, and repeating does not help.
TRAITS = "traits"
# The kinds of failures of providers that chat; those of algorithms have other kinds.
CHAT_FAILURES = (CHAT, TRAITS)
# Consecutive tasks with network failures after which a provider is excluded, or tried only once a task.
_MAX_UNREACHABLE = 2
# Failures of a wrong address, key or model: a provider that never answered is excluded at the first of them.
_NEVER_REACHED = ("Unavailable", "Disconnected", "Resting", "Severed", "QuotaSpent", "Denied", "Unsupported")
# Failures that last for the run: a rejected key, a plugin that cannot be created.
_PERMANENT = (Denied.__name__, PluginError.__name__)


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


class ProviderHealth:
    """The providers that are excluded from one run, after failures that will repeat.

    `notice` receives a message for each exclusion; `answered` returns the names of the providers that have answered a
    chat in this run.
    """

    def __init__(self, notice: Callable[[str], Awaitable[None]], answered: Callable[[], frozenset[str]]) -> None:
        self._notice = notice
        self._answered = answered
        # The last failure of each excluded provider.
        self._excluded: dict[str, CallFailed] = {}
        # Excluded providers that never answered and whose substitute was named in a notice.
        self._never_reached: set[str] = set()
        # Consecutive tasks with network failures by provider, each after all its attempts.
        self._unreachable: Counter[str] = Counter()

    def is_excluded(self, choice: Choice) -> bool:
        """Return whether the provider is excluded."""
        return choice.name in self._excluded

    def usable(self, chain: Sequence[Choice]) -> list[Choice]:
        """Return the providers of a chain that are not excluded, or else those with network failures.

        Providers with a rejected key or a spent quota are never used again, so the list may be empty.
        """
        usable = [choice for choice in chain if not self.is_excluded(choice)]
        return usable or [choice for choice in chain if self._excluded[choice.name].record.category == "NETWORK"]

    def failures(self, chain: Sequence[Choice]) -> list[CallFailed]:
        """Return the failures for which providers of a chain are excluded."""
        return [self._excluded[choice.name] for choice in chain if self.is_excluded(choice)]

    async def record_failure(self, choice: Choice, failed: CallFailed, chain: Sequence[Choice]) -> None:
        """Record a failure in a chain, and exclude the provider if further tasks would fail as well."""
        name, alone, failure = choice.name, self.usable(chain) == [choice], failed.record
        self._unreachable[name] = self._unreachable[name] + 1 if failure.category == "NETWORK" else 0
        # A failure without a key is not a call: no request was sent.
        sent = bool(failed.key) and failure.kind == CHAT
        never_reached = sent and failure.type in _NEVER_REACHED and name not in self._answered()
        lost = never_reached or failure.type == "QuotaSpent" or self._unreachable[name] >= _MAX_UNREACHABLE
        permanent = failure.type in _PERMANENT or failure.kind == TRAITS
        if self.is_excluded(choice) or not (permanent or (lost and not alone)):
            return
        self._excluded[name] = failed
        others = [other.name for other in chain if not self.is_excluded(other)]
        substitute = ""
        if never_reached and others:
            self._never_reached.add(name)
            substitute = f"; {others[0]} does its tasks"
        await self._notice(f"{name} is left out of this run: {failure.message}{substitute}")

    def record_success(self, choice: Choice) -> None:
        """Record that the provider did a task."""
        self._unreachable.pop(choice.name, None)

    def never_reached(self, name: str) -> bool:
        """Return whether a provider is excluded and never answered."""
        return name in self._never_reached

    def is_unreachable(self, choice: Choice) -> bool:
        """Return whether recent tasks of the provider had network failures, so that one attempt is enough."""
        return self._unreachable[choice.name] >= _MAX_UNREACHABLE
