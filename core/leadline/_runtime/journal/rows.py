"""Rows of the journal, their relations and statistics, and how they are stored: entries with a checksum, blobs.

An entry is JSON with a checksum of its place and text; a blob is compressed and named by its digest. Both are checked
on every read, because SQLite notices few flipped bits.
"""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal

from leadline.encoding import digest
from leadline.records import THEN, Json, Notice, Record, Usage
from leadline.stores import Records

OutcomeKind = Literal["reply", "failure", "refusal"]
# Kinds of calls that the journal treats specially: a typed task, and a chat request made for it.
TASK, CHAT = "task", "chat"


class Row(Record):
    """One call; `body` and `request` are digests of the JSON of its result and of its request."""

    key: str
    kind: str
    provider: str
    outcome: OutcomeKind
    body: str = ""
    request: str = ""
    task: str = ""
    # The stage that made the call first.
    step: str = ""
    # The language model, as it named itself.
    model: str = ""
    # Key of the composite call that made this one.
    parent: str = ""
    session: int = 0
    attempts: int = 1
    # Whether the reply came from another run, through the cache.
    cached: bool = False
    seconds: float = 0.0
    usage: Usage = Usage()
    # Amounts that its attempts reserved of the budget: `Need.dump`. The budget counts calls and queries by them.
    leased: Json = {}
    # Keys of the failed calls that caused the failure of a composite call.
    causes: tuple[str, ...] = ()
    # Notices of the call, repeated on replay.
    notices: tuple[Notice, ...] = ()
    # Whether this failure ended a session: the next session makes the call again.
    escaped: bool = False


class Session(Record):
    """One process's work on the run."""

    id: int
    began: datetime
    ended: datetime | None = None
    status: str = ""
    # Calls that were in flight when it was killed or cancelled.
    interrupted: int = 0


@dataclass(frozen=True)
class Need:
    """Amounts of a budget: model calls, tokens in and out, search queries, money in USD."""

    model_calls: int = 0
    tokens: int = 0
    queries: int = 0
    money: Decimal = Decimal(0)

    def __add__(self, other: Need) -> Need:
        if not other:  # the usual case: most calls are free
            return self
        return Need(*(getattr(self, name) + getattr(other, name) for name in NAMES))

    def __sub__(self, other: Need) -> Need:
        if not other:
            return self
        return Need(*(getattr(self, name) - getattr(other, name) for name in NAMES))

    def __bool__(self) -> bool:
        return bool(self.model_calls or self.tokens or self.queries or self.money)

    def counts(self) -> Need:
        """Return the amounts that are counted: model calls and queries."""
        return Need(model_calls=self.model_calls, queries=self.queries)

    def dump(self) -> dict[str, Any]:
        """Return the amounts that are not zero, as JSON."""
        values = {name: getattr(self, name) for name in NAMES}
        return {name: str(value) if name == "money" else value for name, value in values.items() if value}

    @classmethod
    def load(cls, values: Mapping[str, Any]) -> Need:
        """Return the amounts that `dump` returned as JSON."""
        return cls(**{**values, "money": Decimal(values.get("money", 0))})


NAMES = tuple(field.name for field in fields(Need))


# Bytes of a blob. A page has 20 MB at most, unless a setting allows more.
_LARGEST = 256 * 2**20


def put_entry(records: Records, space: str, name: str, value: str) -> None:
    """Write an entry."""
    records.put(space, name, value, _checksum(space, name, value))


def is_intact(space: Any, name: Any, value: Any, mark: Any) -> bool:
    """Return whether an entry is as it was written."""
    return isinstance(value, str) and mark == _checksum(space, name, value)


def _checksum(space: Any, name: Any, value: str) -> str:
    return digest(f"{space}\n{name}\n{value}".encode("utf-8", "surrogatepass"), 8)


def put_blob(records: Records, data: bytes) -> str:
    """Write bytes; returns their digest."""
    name = digest(data)
    records.put_blob(name, zlib.compress(data))
    return name


def read_blob(records: Records, name: str) -> bytes | None:
    """Return bytes by their digest; None if they are missing or damaged."""
    blob = records.blob(name)
    try:
        unpacking = zlib.decompressobj()
        data = unpacking.decompress(blob, _LARGEST) if blob is not None else b""
    except (zlib.error, TypeError):
        return None
    return data if unpacking.eof and digest(data) == name else None


# --- relations between rows -------------------------------------------------------------------------------------------


def failures(rows: Iterable[Row]) -> list[Row]:
    """Return the failures and refusals."""
    return [row for row in rows if row.outcome != "reply"]


def unusable_replies(rows: Collection[Row]) -> list[Row]:
    """Return the replies of models from which a task could parse no result."""
    failed = {row.key for row in rows if (row.kind, row.outcome) == (TASK, "failure")}
    return [row for row in rows if row.parent in failed and (row.kind, row.outcome) == (CHAT, "reply")]


def with_causes(rows: Iterable[Row], keys: Iterable[str]) -> list[Row]:
    """Return the failures and refusals with these keys, and those that caused them or lie below them."""
    failed, wanted = failures(rows), set(keys)
    causing = {row.key: row for row in failed if row.key in wanted}
    causes = {key for row in causing.values() for key in row.causes}
    while more := [row for row in failed if row.key not in causing and (row.parent in causing or row.key in causes)]:
        causing.update((row.key, row) for row in more)
        causes.update(key for row in more for key in row.causes)
    return list(causing.values())


def with_consequences(rows: Iterable[Row], keys: Iterable[str]) -> set[str]:
    """Return the keys of these failures and refusals, and of those that they caused."""
    failed, consequences = failures(rows), set(keys)
    while more := {
        row.key for row in failed if row.key not in consequences and not consequences.isdisjoint(row.causes)
    }:
        consequences |= more
    return consequences


def with_descendants(rows: Collection[Row], keys: Iterable[str]) -> list[Row]:
    """Return the rows with these keys, the rows below them, and the causes of their failures."""
    known = {row.key: row for row in rows}
    below: defaultdict[str, list[str]] = defaultdict(list)
    for row in rows:
        below[row.parent].append(row.key)
    included: set[str] = set()
    waiting = [*keys]
    while waiting:
        key = waiting.pop()
        if key in known and key not in included:
            included.add(key)
            waiting += [*below[key], *known[key].causes]
    return [row for row in rows if row.key in included]


def ancestors(rows: Mapping[str, Row], descendants: Iterable[Row], stages: Collection[str]) -> list[Row]:
    """Return the replies of these stages that were made with one of the descendants; `rows` are all, by key."""
    above: dict[str, Row] = {}
    waiting = [row.parent for row in descendants]
    while waiting:
        row = rows.get(waiting.pop())
        if row and row.outcome == "reply" and row.step in stages and row.key not in above:
            above[row.key] = row
            waiting.append(row.parent)
    return list(above.values())


# --- statistics of calls ----------------------------------------------------------------------------------------------


def total(usages: list[Usage]) -> Usage | None:
    """Return the sum, or None if nothing was reported; its cost is None unless one was reported."""
    if not usages:
        return None
    costs = [usage.cost for usage in usages if usage.cost is not None]
    return Usage(
        input_tokens=sum(usage.input_tokens for usage in usages),
        cached_tokens=sum(usage.cached_tokens for usage in usages),
        output_tokens=sum(usage.output_tokens for usage in usages),
        reasoning_tokens=sum(usage.reasoning_tokens for usage in usages),
        cost=sum(costs[1:], costs[0]) if costs else None,
    )


def call_counts(rows: Iterable[Row]) -> dict[str, int]:
    """Return the number of calls by kind and provider: `search/local`."""
    return dict(sorted(Counter(f"{row.kind}/{row.provider}" for row in rows).items()))


def usage_by(rows: Iterable[Row], name_of: Callable[[Row], str]) -> dict[str, dict[str, Any]]:
    """Return the usage totals of rows grouped by name, without rows that have no usage."""
    groups: dict[str, list[Usage]] = {}
    for row in rows:
        if row.usage != Usage():
            groups.setdefault(name_of(row), []).append(row.usage)
    return {name: usage_totals(usages) for name, usages in sorted(groups.items())}


def usage_totals(usages: Sequence[Usage]) -> dict[str, Any]:
    """Return tokens, tokens without a known price (`unpriced`) and the cost in USD (None: no price is known)."""
    whole = total([*usages]) or Usage()
    cost = None if whole.cost is None else float(whole.cost)
    unpriced = sum(_tokens(usage) for usage in usages if usage.cost is None)
    return {"tokens": _tokens(whole), **whole.model_dump(exclude={"cost"}), "unpriced": unpriced, "cost": cost}


def _tokens(usage: Usage) -> int:
    return usage.input_tokens + usage.output_tokens


def refused_stages(rows: Iterable[Row]) -> tuple[str, ...]:
    """Return the stages whose calls were refused, by name: their output is incomplete."""
    return tuple(sorted({row.step for row in rows if row.outcome == "refusal" and row.step}))


def useless_models(rows: Collection[Row]) -> tuple[str, ...]:
    """Return the models that were called and did no task, by name; none if another model did one."""
    if used_replies(rows):
        return ()
    called = {row.provider for row in rows if row.kind == CHAT and row.outcome != "refusal"}
    # A model whose plugin could not be created has no call: it is the first of the chains that did without it.
    first = {row.provider.split(THEN)[0] for row in rows if (row.kind, row.outcome) == (TASK, "reply")}
    return tuple(sorted(called | first - {row.provider for row in rows if row.outcome == "reply"}))


def answering_models(rows: Iterable[Row]) -> frozenset[str]:
    """Return the models that answered a chat, whether or not the reply was of use, by name."""
    return frozenset(row.provider for row in rows if (row.kind, row.outcome) == (CHAT, "reply"))


def without_usage(rows: Iterable[Row]) -> list[Row]:
    """Return the chat replies without a reported usage; replies from other runs have none."""
    return [
        row for row in rows if (row.kind, row.outcome) == (CHAT, "reply") and not row.cached and row.usage == Usage()
    ]


def used_replies(rows: Collection[Row]) -> list[Row]:
    """Return the chat replies that did tasks: for each task, those of the last model of its chain."""
    tasks: dict[str, list[Row]] = {row.key: [] for row in rows if (row.kind, row.outcome) == (TASK, "reply")}
    chains = {row.key: row.provider.split(THEN) for row in rows if row.key in tasks}
    for row in rows:
        if row.parent in tasks and row.outcome == "reply":
            tasks[row.parent].append(row)
    used = []
    for key, below in tasks.items():
        called = {row.provider for row in below}
        last = [name for name in chains[key] if name in called][-1:]
        used += [row for row in below if [row.provider] == last and row.kind == CHAT]
    return used


def models(rows: Collection[Row]) -> tuple[str, ...]:
    """Return the language models whose replies were used, by name, each with its provider."""
    return tuple(sorted({f"{row.provider}:{row.model}" for row in used_replies(rows) if row.model}))
