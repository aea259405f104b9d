"""The plugin `recorded`: a model that says what a model said before, word for word, out of the journal of a run.

For tests and demonstrations: the stages, the settings and the templates are the real ones, only nothing is asked of
anybody. (To see a finished run again there is replay; this one drives a new run.)
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from pydantic import Field, JsonValue

from leadline.contracts import AIProvider, Call, Context
from leadline.door.keys import dump, outline, plain
from leadline.door.kinds import CHAT, TASK
from leadline.errors import Unsupported
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.journal.journal import Journal
from leadline.journal.missing import difference
from leadline.journal.rows import Row
from leadline.journal.wire import decode
from leadline.records import ChatReply, ChatRequest, Failure, ModelTraits
from leadline.runs.folder import JOURNAL
from leadline.tasks import Performed

_TODAY = re.compile(r'("today": ?"|^Today: )\d{4}-\d\d-\d\d\b', re.MULTILINE)
"""The day in the inputs of a task, as JSON or as text; it is replaced, so that a recording answers on any day."""
_NOT_COMPARED = ("model", "json_schema")
"""What depends on which model is asked, and in which manner, and not on what is asked of it."""


class RecordedSettings(PluginSettings):
    """Which run to answer from."""

    run: Path = Field(description="the folder of a finished run whose model gives the answers, or its journal")

    @property
    def journal(self) -> Path:
        """The journal's file."""
        path = self.run.expanduser()
        return path / JOURNAL if path.is_dir() else path


@dataclass(frozen=True)
class _Said:
    """One recorded exchange; `asked` is its request as the journal keeps it, long texts cut."""

    row: Row
    asked: dict[str, JsonValue]
    body: bytes | None
    """None where it is damaged."""
    taken: bool = True
    """Whether its task was done by the model that was asked here, and not by another of the chain."""
    told: tuple[str, ...] = ()
    """What the run was told of those who were asked before and failed."""

    @property
    def rank(self) -> int:
        """Its place among answers to one question: what a task was done with, other replies, failures."""
        return 0 if self.taken else 1 if self.row.outcome == "reply" else 2


class Recorded:
    """Answers a chat with the reply to the same messages in the recorded run; enter it before it is asked."""

    def __init__(self, settings: RecordedSettings, context: Context) -> None:
        self._path = settings.journal
        self._said: list[_Said] = []
        self._damaged = 0
        self._day = ""
        self._taken: defaultdict[bytes, list[str]] = defaultdict(list)

    async def __aenter__(self) -> Recorded:
        """Read the exchanges."""
        journal = await Journal.open(self._path, mode="read")
        try:
            # A refusal by the house is what no model said.
            rows = [row for row in journal.rows() if row.kind == CHAT and row.outcome != "refusal"]
            doers = {row.key: await _doer(journal, row, rows) for row in journal.rows() if row.kind == TASK}
            said = [await _said(journal, row, doers.get(row.parent)) for row in rows]
            self._said = sorted(filter(None, said), key=lambda one: one.rank)
            self._damaged = len(rows) - len(self._said)
            self._day = next((f"{session.began:%Y-%m-%d}" for session in journal.sessions()), "")
        finally:
            await journal.close()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Hold on to nothing."""
        self._said = []

    def traits(self, model: str, /) -> ModelTraits:
        """Return what the recorded model could do, as far as it was made use of."""
        return ModelTraits(
            json_schema=any("json_schema" in said.asked for said in self._said),
            tools=any("tools" in said.asked for said in self._said),
        )

    async def chat(self, request: ChatRequest, call: Call, /) -> ChatReply:
        """Return the recorded reply. Raises `Unsupported`, with the nearest recorded request, where there is none."""
        asked = _compared(outline(plain(self._on_its_day(request))))
        same = [said for said in self._said if _compared(said.asked) == asked]
        if not same:
            raise Unsupported(self._missing(asked))
        said = same[min(self._turn(asked, call.key), len(same) - 1)]
        if said.body is None:
            raise Unsupported(f"{self._path}: the recorded reply to this request is damaged")
        if said.row.outcome != "reply":
            raise Unsupported(f"recorded as a failure: {decode(said.body, Failure).text}")
        reply = decode(said.body, ChatReply)
        for notice in said.told:
            await call.run.emit("notice", {"message": notice})
        call.emit("text", reply.message.text)
        call.spend(said.row.usage.model_copy(update={"cost": Decimal(0)}))
        return reply

    def _on_its_day(self, request: ChatRequest) -> ChatRequest:
        """Return the request as it was asked on the day of the recorded run."""
        if not self._day:
            return request
        turns = (
            turn.model_copy(update={"text": _TODAY.sub(rf"\g<1>{self._day}", turn.text)}) for turn in request.messages
        )
        return request.model_copy(update={"messages": tuple(turns)})

    def _turn(self, asked: dict[str, JsonValue], key: str) -> int:
        """Return which of several answers to the same question this call gets; its later attempts get the same."""
        taken = self._taken[dump(asked)]
        if key not in taken:
            taken.append(key)
        return taken.index(key)

    def _missing(self, asked: dict[str, JsonValue]) -> str:
        damaged = f" ({self._damaged} recorded ones are damaged)" if self._damaged else ""
        begin = f"{self._path} holds no answer to this request{damaged}"
        if not self._said:
            return f"{begin}: no language model was asked in that run"
        place = difference(asked, [_compared(said.asked) for said in self._said])
        return f"{begin}; the nearest of {len(self._said)} recorded ones differs at {place}"


async def _doer(journal: Journal, task: Row, chats: Iterable[Row]) -> tuple[str, tuple[str, ...]]:
    """Return by whom of its chain a task was done, and what was told of those who could not; empty for nobody."""
    body = await journal.body(task) if task.outcome == "reply" else None
    if body is None:
        return "", ()
    begin = f"{task.task} was done by "
    told = tuple(notice for notice in decode(body, Performed).notices if notice.startswith(begin))
    if told:
        return told[0].removeprefix(begin).partition(" (")[0], told
    return next((row.provider for row in chats if row.parent == task.key), ""), ()


async def _said(journal: Journal, row: Row, doer: tuple[str, tuple[str, ...]] | None) -> _Said | None:
    """Read an exchange; None where it cannot be read what was asked."""
    stored, kept = await journal.get(row.key), await journal.request(row)
    asked = kept.get("request") if isinstance(kept, dict) else None
    if not isinstance(asked, dict):
        return None
    taken = row.outcome == "reply" and (doer is None or row.provider == doer[0])
    return _Said(row, asked, stored and stored[1], taken, doer[1] if doer and taken else ())


def _compared(asked: JsonValue) -> dict[str, JsonValue]:
    assert isinstance(asked, dict)
    return {name: value for name, value in asked.items() if name not in _NOT_COMPARED}


def _ready(settings: RecordedSettings) -> str | None:
    return None if settings.journal.is_file() else f"no journal of a run at {settings.journal}"


def _make(settings: RecordedSettings, context: Context) -> AIProvider:
    return Recorded(settings, context)


@hookimpl
def leadline_ai_providers() -> Iterable[Offer[RecordedSettings, AIProvider]]:
    """Offer the recorded model."""
    yield Offer(
        _make,
        RecordedSettings,
        "A model that repeats what one said in an earlier run: for tests and demonstrations",
        ready=_ready,
        answers=(),
        keep=False,
    )
