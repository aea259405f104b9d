"""The outcomes of calls: a reply, a failure or a refusal; each is a row of the journal."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from leadline._hosting.faults import Held, flatten, message_of, trace, words
from leadline._runtime.calls.job import ProviderIdentity
from leadline._runtime.calls.retry import translate
from leadline._runtime.journal.rows import OutcomeKind
from leadline._settings.secrets import Secrets
from leadline.encoding import without_surrogates
from leadline.errors import CallFailed, CallRefused, Denied, JournalError, LeadlineError, PluginError, PluginFault
from leadline.records import Category, Failure, Notice, Record

# The types of refusals by a shutdown and by a middleware. Journals hold these names.
SHUTDOWN, MIDDLEWARE = "WindDown", "Middleware"
# Several failures have the category of the one that another attempt may cure.
_CURABLE_FIRST: tuple[Category, ...] = ("NETWORK", "LLM", "RESOURCE_LIMIT", "BUSINESS")


@dataclass(frozen=True)
class Outcome:
    """The outcome of a call and its JSON: that of the reply, or of the `Failure`."""

    kind: OutcomeKind
    body: bytes
    # Keys of the failed calls that caused a composite's failure.
    causes: tuple[str, ...] = ()
    # The record decoded from the body, for one caller.
    reply: Record | None = None


@dataclass(frozen=True)
class OutcomeBuilder:
    """Builds the failures and refusals of one call, with secrets masked in their messages."""

    kind: str
    provider: ProviderIdentity
    secrets: Secrets

    def failed(self, error: BaseException, attempts: int = 1) -> Outcome:
        """Return the failure of a provider."""
        if isinstance(error, Held):
            error = error.__cause__ or error
        known = translate(error)
        if known is not None:
            text = message_of(known)
            if isinstance(known, Denied) and self.provider.key_origin:
                text = f"{text.rstrip('.')}; {self.provider.key_origin}"
            return self._build("failure", known.category, type(known).__name__, text, attempts=attempts)
        text = message_of(error) if isinstance(error, LeadlineError) else words(error)
        if self.provider.who and not isinstance(error, LeadlineError):  # whose message names the plugin
            text = self.provider.fault(error)
        traceback, cause = self._trace(error), type(error).__name__
        return self._build("failure", "BUSINESS", cause, text, attempts=attempts, traceback=traceback)

    def _trace(self, error: BaseException) -> str:
        """Return the traceback in the plugin, for its author."""
        if isinstance(error, PluginFault) and error.__cause__:  # of a middleware or a parser
            error = error.__cause__
        if isinstance(error, LeadlineError):  # a plugin that could not be made: its traceback was taken there
            traceback = self.secrets.scrub(error.traceback) if isinstance(error, PluginError) else ""
        else:
            traceback = trace(error, self.secrets.scrub)
        text: str = without_surrogates(traceback)
        return text

    def refused(self, message: str, attempts: int = 1, *, by: str = "Refused") -> Outcome:
        """Return a refusal by the core."""
        return self._build("refusal", "RESOURCE_LIMIT", by, message, attempts=attempts)

    def of_composite(self, error: BaseException) -> Outcome:
        """Return the outcome of a composite call that raised an error.

        Raises the core's own errors again: they are no outcome.
        """
        errors = list(flatten(error.__cause__ if isinstance(error, Held) and error.__cause__ else error))
        for leaf in errors:
            if isinstance(leaf, JournalError) or (isinstance(leaf, LeadlineError) and not isinstance(leaf, CallFailed)):
                raise leaf
        calls = [leaf for leaf in errors if isinstance(leaf, CallFailed)]
        if len(calls) < len(errors):  # the composite's own error is the cause
            return self.failed(next(leaf for leaf in errors if not isinstance(leaf, CallFailed)))
        records = [call.record for call in calls]
        outcome = self._build(
            "refusal" if all(isinstance(call, CallRefused) for call in calls) else "failure",
            min((record.category for record in records), key=_CURABLE_FIRST.index),
            records[0].type if len(records) == 1 else "AllFailed",
            # The provider is named once if it is the composite's own.
            Notice.several(record.text_for(self.provider.name) for record in records),
            detail="; ".join(dict.fromkeys(record.detail for record in records if record.detail)),
            traceback=next((record.traceback for record in records if record.traceback), ""),
        )
        return replace(outcome, causes=tuple(key for call in calls for key in call.causes or (call.key,)))

    def _build(
        self, outcome: OutcomeKind, category: Category, cause: str, message: str, *, detail: str = "", **about: Any
    ) -> Outcome:
        """Return an outcome; `about` are further fields of its `Failure`."""
        record = Failure(
            kind=self.kind,
            provider=self.provider.name,
            category=category,
            type=cause,
            message=Notice.read(self.secrets.scrub(message)).changed(without_surrogates),
            detail=without_surrogates(self.secrets.scrub(detail)),
            **about,
        )
        return Outcome(outcome, record.model_dump_json().encode())


def error_of(outcome: OutcomeKind, body: bytes, key: str) -> CallFailed:
    """Return the error that a caller gets for a failed or refused call."""
    record = Failure.model_validate_json(body)
    return CallRefused(record, key) if outcome == "refusal" else CallFailed(record, key)


def failed_call_keys(error: BaseException | None) -> set[str]:
    """Return the keys of all failed calls in an error, its group, its causes and its contexts."""
    keys: set[str] = set()
    waiting, seen = [error], set[int]()
    while waiting:
        current = waiting.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, CallFailed) and current.key:
            keys.add(current.key)
        waiting += [current.__cause__, current.__context__, *getattr(current, "exceptions", ())]
    return keys
