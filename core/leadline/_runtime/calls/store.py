"""The stored outcomes of calls: found in the run's journal or in the cache across runs, and committed to both.

Each caller gets a record decoded from the stored bytes, so that live, shared and replayed replies are alike.
"""

from __future__ import annotations

import hmac
import json
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import ValidationError

from leadline._runtime.calls.attempt import AttemptLog, CallEvents
from leadline._runtime.calls.job import Job, Kind, current_stage
from leadline._runtime.calls.outcomes import Outcome, error_of
from leadline._runtime.journal.journal import Journal, explain_missing
from leadline._runtime.journal.rows import Row, total
from leadline._settings.secrets import Secrets
from leadline.disk_cache import DiskCache
from leadline.encoding import decode, digest, is_valid, json_bytes
from leadline.errors import JournalError, JournalMissing
from leadline.records import ChatReply, Notice, Record, Usage

R = TypeVar("R", bound=Record)


@dataclass(frozen=True)
class CallResult:
    """A call that has ended: its row, the JSON of its reply or failure, and its origin."""

    row: Row
    body: bytes
    origin: Literal["live", "journal", "cache"]
    # The decoded reply, for one caller; the others decode the body.
    reply: Record | None = None


class CallStore:
    """Finds and commits the outcomes of one run; with a journal that is read only, a missing one is an error."""

    def __init__(self, journal: Journal, events: CallEvents, secrets: Secrets, answers: ReplyCache | None) -> None:
        self._journal = journal
        self._events = events
        self._secrets = secrets
        self._answers = answers
        self._unkept: dict[str, Row] = {}
        self._made: set[str] = set()
        # Keys of the calls that this session answered from the journal, from an earlier session.
        self.replayed: set[str] = set()

    def rows(self) -> list[Row]:
        """Return the rows of all calls, including those that are not journalled."""
        return [*self._journal.rows(), *self._unkept.values()]

    async def find(self, job: Job) -> CallResult | None:
        """Return the stored outcome of a call: from the journal, else from another run; None if there is none.

        Offline, a journalled call without an outcome raises JournalMissing.
        """
        return await self._from_journal(job) or await self._from_cache(job)

    async def _from_journal(self, job: Job) -> CallResult | None:
        if not job.kind.keep:
            return None
        damages = len(self._journal.damaged)
        if stored := await self._journal.get(job.key):
            if job.key not in self._made:
                self.replayed.add(job.key)
            return CallResult(*stored, "journal")
        if self._journal.readonly:
            raise JournalMissing(await explain_missing(self._journal, job.kind.name, job.label, job.key_text))
        if len(self._journal.damaged) > damages:
            self._events.notice(f"the journal's reply to {job.label} is damaged: the call is made again")
        return None

    async def _from_cache(self, job: Job) -> CallResult | None:
        """Return the reply of another run, copied into the journal."""
        if not self._answers or not _is_cached(job):
            return None
        stored = await self._answers.get(job.key, _account(job), job.kind.ttl)
        head, _, body = (stored or b"").partition(b"\n")
        if stored is None or not is_valid(body, job.kind.reply):
            return None
        reply = decode(body, job.kind.reply)
        if not job.kind.shareable(reply):
            return None
        self.mark_made(job)
        row = _row(job, outcome="reply", model=_model(reply), attempts=0, cached=True, notices=json.loads(head))
        return CallResult(await self._write(job, row, body), body, "cache")

    def mark_made(self, job: Job) -> None:
        """Note that this session makes the call itself, whatever an earlier session had."""
        self.replayed.discard(job.key)
        self._made.add(job.key)

    async def commit(self, job: Job, outcome: Outcome, log: AttemptLog, seconds: float, *, current: bool) -> CallResult:
        """Store the outcome of a call that took so many seconds; a reply may serve other runs too.

        With `current` False nothing is written: a newer call has the key of this one, which was cancelled.
        """
        row = _row(
            job,
            outcome=outcome.kind,
            model=_model(outcome.reply),
            attempts=log.attempts,
            seconds=round(seconds, 4),
            usage=total(log.usages) or Usage(),
            leased=log.reserved.dump(),
            causes=outcome.causes,
            notices=tuple(sorted({self._secrets.scrub(notice) for notice in log.notices})),
        )
        if current:
            row = await self._write(job, row, outcome.body)
        if outcome.kind == "reply":
            self._put_in_cache(job, row, outcome.body)
        return CallResult(row, outcome.body, "live", outcome.reply)

    def deliver(self, kind: Kind[R], result: CallResult, *, shared: bool) -> R:
        """Return the reply. Raises CallFailed, CallRefused, or JournalError if the stored reply cannot be decoded."""
        if result.row.outcome != "reply":
            raise error_of(result.row.outcome, result.body, result.row.key)
        if not shared and isinstance(result.reply, kind.reply):  # decoded from the same bytes, and nobody else has it
            return result.reply
        try:
            return decode(result.body, kind.reply)
        except ValidationError as error:
            raise JournalError(
                f"the journal {self._journal.path} holds a reply to {kind.name} that no longer reads as "
                f"{kind.reply.__name__} ({error.error_count()} errors); use the version of leadline that wrote it"
            ) from error

    async def _write(self, job: Job, row: Row, body: bytes) -> Row:
        if not job.kind.keep:
            self._unkept[row.key] = row
            return row
        key_text = job.key_text
        if self._secrets and row.outcome == "refusal":  # it may be refused because it holds a secret
            key_text = json_bytes(self._secrets.clean(json.loads(key_text)))
        return await self._journal.keep(row, body, key_text, durable=job.provider.priced)

    def _put_in_cache(self, job: Job, row: Row, body: bytes) -> None:
        """Let other runs have a reply with its notices, unless it is incomplete or repeats a secret."""
        if not self._answers or not _is_cached(job) or self._secrets.found_in(body):
            return
        if job.kind.shareable(decode(body, job.kind.reply)):
            head = json.dumps([Notice.read(notice).data() for notice in row.notices]).encode()
            self._answers.put_soon(job.key, _account(job), b"%s\n%s" % (head, body))


def _is_cached(job: Job) -> bool:
    known = bool(job.principal) or not job.provider.per_user
    return known and job.kind.keep and job.kind.ttl > 0


def _account(job: Job) -> str:
    return f"{job.provider.account} {job.provider.revision}"


def _row(job: Job, **fields: Any) -> Row:
    return Row(
        key=job.key,
        kind=job.kind.name,
        provider=job.provider.name,
        task=job.task,
        step=current_stage.get(),
        parent=job.parent.key if job.parent else "",
        **fields,
    )


def _model(reply: Record | None) -> str:
    return reply.model if isinstance(reply, ChatReply) else ""


# --- the cache across runs --------------------------------------------------------------------------------------------


LOG = logging.getLogger("leadline._runtime.calls.store")


class ReplyCache:
    """The cache; replies are found under the same `scope` only (a fingerprint of the middleware)."""

    def __init__(self, path: Path, size: int, scope: str = "", clock: Callable[[], float] = time.time) -> None:
        self._cache = DiskCache(path, size, table="answers", log=LOG, clock=clock)
        self._scope = scope

    async def get(self, key: str, account: str, ttl: float) -> bytes | None:
        """Return the reply to a call, unless it is `ttl` seconds old."""
        entry = await self._cache.get(self._name(key, account), ttl)
        return entry.body if entry else None

    def put_soon(self, key: str, account: str, body: bytes) -> None:
        """Queue the reply to a call to be stored."""
        self._cache.put_soon(self._name(key, account), body)

    async def close(self) -> None:
        """Write the queue and close the file."""
        await self._cache.close()

    def _name(self, key: str, account: str) -> str:
        return digest(f"{key}\n{account}\n{self._scope}".encode())


def account_of(secrets: Iterable[str]) -> str:
    """Return an identifier of an account that reveals nothing of its API keys: an HMAC under the keys themselves."""
    key = "\n".join(secrets).encode("utf-8", "surrogatepass")
    return hmac.digest(key, b"leadline: answers of this account", "sha256").hex() if key else ""
