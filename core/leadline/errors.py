"""All errors that Leadline raises, and those that plugins raise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from leadline.records import Category, Failure


class LeadlineError(Exception):
    """The base of the errors that Leadline raises deliberately; the message is meant for users."""

    exit_code: ClassVar[int] = 1


class UsageError(LeadlineError):
    """A command or a function was used incorrectly."""

    exit_code = 64


class AlreadyAnswered(UsageError):
    """A question of a run was answered before; the first answer counts."""

    def __init__(self, question_id: str) -> None:
        super().__init__(f"question {question_id} was answered before; the first answer counts")


class ConfigError(LeadlineError):
    """The settings are invalid. The message names the setting, its origin and the valid choices."""

    exit_code = 78


class UntrustedSettings(ConfigError):
    """Settings of the working folder could act with the user's rights, and the user has not trusted them.

    `digests` identify their sections, by name, for `leadline trust`.
    """

    def __init__(self, lines: Iterable[str], digests: Mapping[str, str]) -> None:
        self.lines = tuple(lines)
        listed = "\n  ".join(self.lines)
        super().__init__(
            f"the settings of this folder could act with your rights, and you have not trusted them:\n  {listed}\n"
            "if you know who wrote them: leadline trust; for a service: LEADLINE_TRUST=1 in its environment"
        )
        self.digests = dict(digests)


class PluginError(ConfigError):
    """A plugin is faulty. The message names the plugin, its distribution and version."""

    traceback: str = ""
    """The traceback of loading or creating the plugin, without secrets of settings that were read by then."""


class PluginFault(PluginError):
    """A plugin failed during a run; no setting is wrong."""

    exit_code = 1


class JournalError(LeadlineError):
    """The journal of the run cannot be read or written."""


class JournalBusy(JournalError):
    """Another process works on the run. Nothing was changed: try again when it has ended."""

    exit_code = 75


class JournalMissing(JournalError):
    """The run is offline and the journal does not contain the call."""


class CallFailed(LeadlineError):
    """A call failed for good, now or when the journal recorded it. `key` is the key of the call.

    A composite call without a key lists the keys of its failed calls in `causes`.
    """

    def __init__(self, record: Failure, key: str = "", causes: tuple[str, ...] = ()) -> None:
        super().__init__(record.text)
        self.record = record
        self.key = key
        self.causes = causes


class CallRefused(CallFailed):
    """Leadline refused a call: budget, deadline, stop, or a rule of a middleware."""


class ModelUnreachable(LeadlineError):
    """No AI provider answered the first task; the run ends before it searches or reads anything."""


class NoEvidence(LeadlineError):
    """No evidence was found for a report; the run ends as `no_evidence`."""

    exit_code = 5


class ClarificationFailed(LeadlineError):
    """The user was asked to clarify the question and gave no usable answer."""


class NeedsClarification(LeadlineError):
    """A stage asked something that it needs to know, and there is nobody to ask."""

    exit_code = 2


class ProviderError(Exception):
    """The base of the errors that a plugin raises about its service; the core translates those of httpx.

    `retry_after` is the delay in seconds that the server requested.
    """

    category: ClassVar[Category] = "BUSINESS"
    retry: ClassVar[bool] = False
    """True if the same request may be sent again."""

    def __init__(self, message: str = "", *, retry_after: float | None = None) -> None:
        super().__init__(message or type(self).__name__)
        self.retry_after = retry_after


class Unavailable(ProviderError):
    """The connection failed or timed out, or the server returned a 5xx status."""

    category = "NETWORK"
    retry = True


class Disconnected(Unavailable):
    """The session is lost. The core exits the plugin's context manager and enters it again before the next attempt."""


class Resting(Unavailable):
    """The circuit breaker of the provider is open after repeated failures; raised by the core."""

    retry = False


class Severed(Unavailable):
    """The provider kept running after its timeout and cancellation; raised by the core.

    It is not retried, because the next attempt would hang as long.
    """

    retry = False


class RateLimited(ProviderError):
    """The server returned a temporary 429 status."""

    category = "NETWORK"
    retry = True


class BadReply(ProviderError):
    """The reply is cut off or malformed."""

    category = "LLM"
    retry = True


class TooLong(ProviderError):
    """The request exceeds the context window of the model."""

    category = "LLM"


class QuotaSpent(ProviderError):
    """The server returned a 402 status, or a 429 that waiting does not resolve."""

    category = "RESOURCE_LIMIT"


class Denied(ProviderError):
    """The server returned a 401 or 403 status, or a login page."""


class Unsupported(ProviderError):
    """The server returned a 404 status, or the provider cannot serve this request."""


class Unanswered(ProviderError):
    """A person did not answer in time; raised by the core."""


class Refused(ProviderError):
    """A rule of the user, implemented by a middleware, refused the request; no other provider is tried."""
