"""Exchanges with language models that the journal of a run has stored, for a provider that repeats them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from leadline._runtime.calls.job import CHAT, TASK
from leadline._runtime.calls.keys import dump, outline, plain
from leadline._runtime.journal.journal import Journal, difference
from leadline._runtime.journal.rows import Row
from leadline._runtime.runs.folder import JOURNAL
from leadline.encoding import decode
from leadline.errors import Unsupported
from leadline.records import ChatReply, ChatRequest, Failure, Notice, Usage
from leadline.tasks import Performed

# Fields of a request that depend on the model or on its endpoint.
_NOT_COMPARED = ("model", "json_schema")


@dataclass(frozen=True)
class Exchange:
    """One stored request, as the journal keeps it (long texts cut), with its reply or failure."""

    request: Mapping[str, JsonValue]
    outcome: str
    usage: Usage
    body: bytes | None
    # Whether the task accepted this reply, rather than that of another provider of its chain.
    accepted: bool = True
    # Notices about the providers of the chain that failed before.
    notices: tuple[Notice, ...] = ()

    def reply(self) -> ChatReply:
        """Return the reply. Raises `Unsupported` if the exchange is a failure, or damaged."""
        if self.body is None:
            raise Unsupported("the recorded reply to this request is damaged")
        if self.outcome != "reply":
            raise Unsupported(f"recorded as a failure: {decode(self.body, Failure).text}")
        return decode(self.body, ChatReply)


@dataclass(frozen=True)
class Recording:
    """The exchanges of a run: accepted replies first, then other replies, then failures."""

    exchanges: tuple[Exchange, ...] = ()
    # Exchanges whose request cannot be read.
    damaged: int = 0
    # The first day of the run, in ISO format; empty if unknown.
    day: str = ""

    def matching(self, request: ChatRequest) -> list[Exchange]:
        """Return the exchanges with this request, whichever model it names."""
        wanted = _comparable(outline(plain(request)))
        return [exchange for exchange in self.exchanges if _comparable(exchange.request) == wanted]

    def difference(self, request: ChatRequest) -> str:
        """Return where a request differs from the nearest stored one."""
        stored: list[JsonValue] = [_comparable(exchange.request) for exchange in self.exchanges]
        return difference(_comparable(outline(plain(request))), stored)


def journal_path(run: Path) -> Path:
    """Return the journal of a run's folder; a path that is no folder is the journal itself."""
    return run / JOURNAL if run.is_dir() else run


def request_key(request: ChatRequest) -> bytes:
    """Return bytes that are equal for equal requests."""
    return dump(_comparable(outline(plain(request))))


async def read_recording(journal: Path) -> Recording:
    """Read the exchanges from the journal of a run."""
    opened = await Journal.open(journal, mode="read")
    try:
        rows = [row for row in opened.rows() if row.kind == CHAT and row.outcome != "refusal"]
        accepted = {row.key: await _accepted(opened, row, rows) for row in opened.rows() if row.kind == TASK}
        read = [await _exchange(opened, row, accepted.get(row.parent)) for row in rows]
        exchanges = [exchange for exchange in read if exchange]
        day = next((f"{session.began:%Y-%m-%d}" for session in opened.sessions()), "")
    finally:
        await opened.close()
    exchanges.sort(key=lambda exchange: 0 if exchange.accepted else 1 if exchange.outcome == "reply" else 2)
    return Recording(tuple(exchanges), len(rows) - len(exchanges), day)


async def _accepted(journal: Journal, task: Row, chats: Iterable[Row]) -> tuple[str, tuple[Notice, ...]]:
    """Return the provider whose reply a task accepted, with the notices about those that failed."""
    body = await journal.body(task) if task.outcome == "reply" else None
    if body is None:
        return "", ()
    notices = tuple(notice for notice in decode(body, Performed).notices if notice.code == "instead")
    if notices:
        return str(notices[0].parameters["provider"]), notices
    return next((row.provider for row in chats if row.parent == task.key), ""), ()


async def _exchange(journal: Journal, row: Row, accepted: tuple[str, tuple[Notice, ...]] | None) -> Exchange | None:
    """Read an exchange; None if its request cannot be read."""
    stored, call = await journal.get(row.key), await journal.request(row)
    request: Any = call.get("request") if isinstance(call, dict) else None
    if not isinstance(request, dict):
        return None
    is_accepted = row.outcome == "reply" and (accepted is None or row.provider == accepted[0])
    notices = accepted[1] if accepted and is_accepted else ()
    return Exchange(request, row.outcome, row.usage, stored and stored[1], is_accepted, notices)


def _comparable(request: Any) -> dict[str, JsonValue]:
    return {name: value for name, value in request.items() if name not in _NOT_COMPARED}
