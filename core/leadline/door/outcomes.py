"""How a call ends: with a reply, a failure or a refusal, each of them a row of the journal."""

from __future__ import annotations

from dataclasses import dataclass, replace

from leadline.door.faults import leaves, text_of, trace, words
from leadline.door.retry import translate
from leadline.door.secrets import Secrets
from leadline.errors import CallFailed, CallRefused, Category, JournalError, LeadlineError, PluginError
from leadline.journal.rows import Outcome
from leadline.journal.wire import without_surrogates
from leadline.records import Failure, Record

WIND_DOWN = "WindDown"
"""The type of what is refused because a session is to end."""
_GRAVITY: tuple[Category, ...] = ("NETWORK", "LLM", "RESOURCE_LIMIT", "BUSINESS")
"""Of several failures the one that another attempt may cure gives its category."""


@dataclass(frozen=True)
class Ended:
    """An outcome and its JSON: that of the reply, or of the `Failure`."""

    outcome: Outcome
    body: bytes
    causes: tuple[str, ...] = ()
    """Keys of the failed calls below, of which it is made."""
    reply: Record | None = None
    """What was read from the body, for one caller; others read it anew."""


@dataclass(frozen=True)
class Blame:
    """Whose failure it would be, and which secrets its message must not hold."""

    kind: str
    provider: str
    secrets: Secrets
    who: str = ""
    """The plugin with its distribution and version."""

    def failed(self, error: BaseException, attempts: int = 1) -> Ended:
        """Return the failure of a provider."""
        known = translate(error)
        if known is None:
            text, place = self._blaming(error), self._trace(error)
            return self._ended("failure", "BUSINESS", type(error).__name__, text, attempts, traceback=place)
        return self._ended("failure", known.category, type(known).__name__, text_of(known), attempts)

    def _blaming(self, error: BaseException) -> str:
        if isinstance(error, LeadlineError):  # which says whose it is
            return text_of(error)
        return f"{words(error)}; this is a fault of {self.who}" if self.who else words(error)

    def _trace(self, error: BaseException) -> str:
        """Return where in a plugin it was raised, for whoever wrote that."""
        if isinstance(error, LeadlineError):  # of a plugin that could not be made it was taken there
            place = self.secrets.scrub(error.traceback) if isinstance(error, PluginError) else ""
        else:
            place = trace(error, self.secrets.scrub)
        text: str = without_surrogates(place)
        return text

    def refused(self, message: str, attempts: int = 1, *, by: str = "Refused") -> Ended:
        """Return a refusal by the house."""
        return self._ended("refusal", "RESOURCE_LIMIT", by, message, attempts)

    def below(self, error: BaseException) -> Ended:
        """Return how a composite call ended that let this error out.

        The house's own errors are raised again: they are no outcome.
        """
        errors = list(leaves(error))
        for one in errors:
            if isinstance(one, JournalError) or (isinstance(one, LeadlineError) and not isinstance(one, CallFailed)):
                raise one
        calls = [one for one in errors if isinstance(one, CallFailed)]
        if not calls or len(calls) < len(errors):
            return self.failed(next(one for one in errors if not isinstance(one, CallFailed)))
        refused = all(isinstance(one, CallRefused) for one in calls)
        category = min((one.record.category for one in calls), key=_GRAVITY.index)
        cause = calls[0].record.type if len(calls) == 1 else "AllFailed"
        message = "; ".join(dict.fromkeys(self._told(one.record) for one in calls))
        detail = "; ".join(dict.fromkeys(one.record.detail for one in calls if one.record.detail))
        fault = next((one.record.traceback for one in calls if one.record.traceback), "")
        outcome: Outcome = "refusal" if refused else "failure"
        ended = self._ended(outcome, category, cause, message, 1, detail, traceback=fault)
        return replace(ended, causes=tuple(key for one in calls for key in one.causes or (one.key,)))

    def _told(self, record: Failure) -> str:
        """Return a failure below in words; who it was is said once where this call is that one's too."""
        return record.text.removeprefix(f"{record.kind} by {self.provider}: ")

    def _ended(
        self,
        outcome: Outcome,
        category: Category,
        cause: str,
        message: str,
        attempts: int,
        detail: str = "",
        *,
        traceback: str = "",
    ) -> Ended:
        record = Failure(
            kind=self.kind,
            provider=self.provider,
            category=category,
            type=cause,
            message=without_surrogates(self.secrets.scrub(message)),
            attempts=attempts,
            detail=without_surrogates(self.secrets.scrub(detail)),
            traceback=traceback,
        )
        return Ended(outcome, record.model_dump_json().encode())


def raised(outcome: Outcome, body: bytes, key: str) -> CallFailed:
    """Return the error that a caller gets for a row of this outcome."""
    record = Failure.model_validate_json(body)
    return CallRefused(record, key) if outcome == "refusal" else CallFailed(record, key)


def escaped(error: BaseException | None) -> set[str]:
    """Return the keys of all failed calls in an error, its group, its causes and its contexts."""
    found: set[str] = set()
    waiting, seen = [error], set[int]()
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, CallFailed) and one.key:
            found.add(one.key)
        waiting += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]
    return found
