"""What went wrong in a run's calls and was lived through, as `metadata.json` tells it: all that is of a kind once.

It is read off the journal when the run is over, so a resumed run tells of all its sessions. An engine that hangs fails
a hundred times alike: that is one line, and its number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from leadline.errors import JournalError
from leadline.journal.journal import Journal
from leadline.journal.rows import Row
from leadline.records import Failure
from leadline.runs.state import StepError

_TOLD = 3
"""Messages of one step, provider and kind of call; what else there is counts with the last of them."""


async def lived_through(journal: Journal, known: Sequence[StepError]) -> list[StepError]:
    """Return the failures and refusals that the journal holds, but for those `known` to have ended something."""
    read: list[tuple[Failure, list[Row]]] = []
    try:
        for rows in _alike(journal.rows()):
            if body := await journal.body(rows[0]):
                read.append((Failure.model_validate_json(body), rows))
    except JournalError:  # the run has said so itself, or has all that it needs
        pass
    below = {failure.text for failure, _ in read}
    found: dict[tuple[str, str], StepError] = {}
    for failure, rows in read:
        if failure.message not in below:  # else it only hands on what failed below it
            message = failure.message if rows[0].outcome == "refusal" else _by_whom(failure)
            before = found.get((rows[0].step, message))
            found[rows[0].step, message] = _told(message, failure, rows, before)
    return [one for (_, said), one in found.items() if not any(said in other.message for other in known)]


def _by_whom(failure: Failure) -> str:
    return f"{failure.kind} by {failure.provider}: {failure.message}"


def _told(message: str, failure: Failure, rows: Sequence[Row], before: StepError | None) -> StepError:
    detail = f" [{failure.detail}]" if failure.detail else ""
    return StepError(
        message=f"{message}{detail}",
        category=failure.category,
        retries=max(failure.attempts - 1, before.retries if before else 0),
        step=rows[0].step,
        times=len(rows) + (before.times if before else 0),
        traceback=failure.traceback or (before.traceback if before else ""),
    )


def _alike(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield the rows that are told as one: those that failed in the same words, and then the rest of their kind."""
    failed = {row.key: row for row in rows if row.outcome != "reply"}
    kinds: dict[tuple[str, ...], dict[str, list[Row]]] = {}
    for row in failed.values():
        if not failed.keys() & set(row.causes):
            kinds.setdefault(_kind(row), {}).setdefault(row.body, []).append(row)
    for kind, by_words in kinds.items():
        alike = list(by_words.values())
        told = 1 if kind[0] == "refusal" else _TOLD  # a budget that is spent refuses whoever asks
        yield from alike[: told - 1]
        if rest := [row for rows in alike[told - 1 :] for row in rows]:
            yield rest


def _kind(row: Row) -> tuple[str, ...]:
    return (row.outcome, row.step) if row.outcome == "refusal" else (row.outcome, row.step, row.kind, row.provider)
