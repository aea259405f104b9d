"""Every error Leadline raises, in one tree.

LeadlineError
├── UsageError              the command or call was wrong                       exit 64
├── ConfigError             the settings cannot work                            exit 78
│   └── PluginError         one plugin is at fault, named with distribution and version
│       └── PluginFault     and it failed while a run went on               exit 1
├── JournalError            the run's journal cannot be read or written         exit 1
│   ├── JournalBusy         another process is at this run
│   └── JournalMissing      offline, and the journal has no such call
├── CallFailed              a call failed for good; `record` says how
│   └── CallRefused         refused by the house: budget, deadline, stop, middleware
├── ModelUnreachable        no AI provider answered the first task              exit 1
├── NoEvidence              nothing was found that a report could rest on       exit 5
├── ClarificationFailed     asked, and no usable answer came                    exit 1
└── NeedsClarification      the question is unclear and nobody can be asked     exit 2
ProviderError               what a plugin raises; its class decides retry and fallback
├── Unavailable             connection, timeout, 5xx                            NETWORK, retried
│   ├── Disconnected        the plugin is left and entered anew first           NETWORK, retried
│   ├── Resting             failed time and again: not asked for a while        NETWORK
│   └── Severed             goes on though it was cancelled                     NETWORK
├── RateLimited             a 429 that passes                                   NETWORK, retried
├── BadReply                cut off, malformed                                  LLM, retried
├── TooLong                 over the context window                             LLM
├── QuotaSpent              402, a 429 that does not pass                       RESOURCE_LIMIT
├── Denied                  401, 403, a login page                              BUSINESS
├── Unsupported             404, a request it cannot serve                      BUSINESS
└── Refused                 by the house's own rule: final, no fallback         BUSINESS
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

if TYPE_CHECKING:
    from leadline.records import Failure

Category = Literal["NETWORK", "LLM", "BUSINESS", "RESOURCE_LIMIT"]


class LeadlineError(Exception):
    """Anything Leadline raises on purpose; its text is meant for people."""

    exit_code: ClassVar[int] = 1


class UsageError(LeadlineError):
    """The command or the call was wrong."""

    exit_code = 64


class ConfigError(LeadlineError):
    """The settings cannot work: says which, where they come from, and the valid choices."""

    exit_code = 78


class PluginError(ConfigError):
    """A plugin is at fault: says which, of which distribution and version."""

    traceback: str = ""
    """Of what it raised while it was loaded or made; without the secrets of the settings where these were read."""


class PluginFault(PluginError):
    """A plugin failed while a run went on: no setting is wrong."""

    exit_code = 1


class JournalError(LeadlineError):
    """The run's journal cannot be read or written."""


class JournalBusy(JournalError):
    """Another process holds the lock of this run's folder."""


class JournalMissing(JournalError):
    """Offline, and the journal holds no such call."""


class CallFailed(LeadlineError):
    """A call failed for good, now or when the journal recorded it; `key` is the call's.

    One that is made of others, and has no key of its own, names theirs in `causes`.
    """

    def __init__(self, record: Failure, key: str = "", causes: tuple[str, ...] = ()) -> None:
        super().__init__(record.text)
        self.record = record
        self.key = key
        self.causes = causes


class CallRefused(CallFailed):
    """A call the house refused: budget, deadline, stop, or a middleware's rule."""


class ModelUnreachable(LeadlineError):
    """No AI provider answered the first task; ends the run before anything is searched or read."""


class NoEvidence(LeadlineError):
    """Nothing was found that a report could rest on; ends the run as `no_evidence`."""

    exit_code = 5


class ClarificationFailed(LeadlineError):
    """The question was asked back, and no usable answer came."""


class NeedsClarification(LeadlineError):
    """The question needs clarifying, and there is nobody to ask."""

    exit_code = 2


class ProviderError(Exception):
    """Raised by a plugin about its own outside; httpx's errors are translated to it by the core.

    `retry_after` is in seconds, as the server asked.
    """

    category: ClassVar[Category] = "BUSINESS"
    retry: ClassVar[bool] = False
    """Whether the same request may be sent again."""
    fall_back: ClassVar[bool] = True
    """Whether the next provider of a chain may be asked."""

    def __init__(self, message: str = "", *, retry_after: float | None = None) -> None:
        super().__init__(message or type(self).__name__)
        self.retry_after = retry_after


class Unavailable(ProviderError):
    """No connection, a timeout, a 5xx."""

    category = "NETWORK"
    retry = True


class Disconnected(Unavailable):
    """The session is gone: the plugin is left and entered anew before the next attempt."""


class Resting(Unavailable):
    """The provider failed time and again and is not asked for a while; raised by the house."""

    retry = False


class Severed(Unavailable):
    """The provider goes on though its time is over and it was cancelled; raised by the house.

    It would hold the next attempt just as long.
    """

    retry = False


class RateLimited(ProviderError):
    """A 429 that passes."""

    category = "NETWORK"
    retry = True


class BadReply(ProviderError):
    """A reply cut off or malformed."""

    category = "LLM"
    retry = True


class TooLong(ProviderError):
    """The request is over the model's context window."""

    category = "LLM"


class QuotaSpent(ProviderError):
    """A 402, or a 429 that waiting does not cure."""

    category = "RESOURCE_LIMIT"


class Denied(ProviderError):
    """A 401, a 403, a login page."""


class Unsupported(ProviderError):
    """A 404, or a request that this provider cannot serve."""


class Refused(ProviderError):
    """Refused by the house's own rule (a middleware's): final."""

    fall_back = False
