"""The turns with which a run starts: those that it follows, and those that it remembers (`memory` of the settings).

The memory is the finished runs in the user's folder, found by the index of runs. A run that is to be forgotten is
marked by a file in its folder, and stays otherwise as it is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from pathlib import Path

from leadline._runtime.runs.conversations import conversation_up_to, turn_of
from leadline._runtime.runs.folder import write_atomically
from leadline._runtime.runs.index import RunIndex
from leadline._runtime.runs.run_request import RunRequest
from leadline._runtime.runs.run_text import words_of
from leadline.errors import LeadlineError
from leadline.records import Conversation, Report, Turn
from leadline.run_summary import RunSummary

FORGOTTEN = ".forgotten"
# Words that two questions share at least, if the new one has so many.
_LEAST_SHARED = 2


def memorable(folder: Path) -> list[RunSummary]:
    """Return the runs of a folder that later questions may remember, newest first."""
    return [run for run in RunIndex(folder).runs() if _is_memorable(run)]


def forget(folder: Path) -> None:
    """Keep the run in a folder out of the memory of later questions."""
    write_atomically(folder / FORGOTTEN, b"")


async def earlier_turns(
    request: RunRequest, folder: Path, memory: int, report_of: Callable[[Path], Awaitable[Report]]
) -> Conversation | None:
    """Return the turns with which a run starts; None for a run without earlier ones. Raises `LeadlineError`.

    `folder` is that of the user's runs, `memory` the number of runs to remember; `report_of` returns the report of the
    run in a folder.
    """
    follows = request.follows
    before = await conversation_up_to(folder / follows, report_of) if follows else Conversation()
    own = {turn.run_id for turn in before.turns}
    remembered = await remembered_turns(folder, request.question, memory, own, report_of)
    turns = (*before.turns, *request.turns)
    if not turns and not remembered:
        return None
    return before.model_copy(update={"id": request.conversation, "turns": turns, "remembered": remembered})


async def remembered_turns(
    folder: Path, question: str, most: int, without: Collection[str], report_of: Callable[[Path], Awaitable[Report]]
) -> tuple[Turn, ...]:
    """Return at most so many turns that share words with a question, the best first, without those of some runs."""
    turns = []
    for run in _related(folder, question, without) if most else ():
        try:
            turn, _ = await turn_of(run.folder, run.question, report_of)
        except LeadlineError:  # its report cannot be read any more, so there is nothing to remember
            continue
        turns.append(turn)
        if len(turns) == most:
            break
    return tuple(turns)


def _related(folder: Path, question: str, without: Collection[str]) -> list[RunSummary]:
    words = {*words_of(question)}
    least = min(_LEAST_SHARED, len(words))
    found = RunIndex(folder).related(question)
    return [
        run
        for run in found
        if _is_memorable(run) and run.id not in without and len(words.intersection(words_of(run.question))) >= least
    ]


def _is_memorable(run: RunSummary) -> bool:
    return run.status in ("complete", "partial") and not (run.folder / FORGOTTEN).exists()
