"""Conversations: which run a new one continues, and the copy of the earlier turns that it keeps.

A conversation is a chain of runs, each of which follows the one before. Its id is that of its first run, unless the
caller chose another. A run takes a copy of its earlier turns and their sources when it starts.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from leadline._runtime.plugins import PluginRuntime
from leadline._runtime.runs.folder import JOURNAL, find_run, run_info, write_atomically
from leadline._runtime.runs.index import RunIndex, words_of
from leadline.citations import cited
from leadline.errors import ConfigError, LeadlineError, UsageError
from leadline.pipeline import Pipeline
from leadline.records import Conversation, Report, Source, Turn
from leadline.research_findings import CONVERSATION
from leadline.run_summary import ACTIVE, RunSummary
from leadline.runs import Order

# Characters of an id that a caller chooses.
MAX_ID = 200
# Characters of the documents of all sources together. A report has about 0.5 million.
MAX_TEXT = 10_000_000


@dataclass(frozen=True)
class Place:
    """The place of a run in a conversation: the id of the conversation, and the run before it."""

    conversation: str = ""
    follows: str = ""


def place_of(folder: Path, conversation: str = "", follows: str | Path | None = None, *, within: bool = False) -> Place:
    """Return the place of a new run that follows a run, or the last one of a conversation. Raises `UsageError`.

    A conversation that no run in the folder has begins with this one. `within` is that of `find_run`.
    """
    if conversation and (len(conversation) > MAX_ID or not conversation.isprintable() or not conversation.strip()):
        raise UsageError(f"conversation: an id has 1 to {MAX_ID} printable characters, not {conversation!r:.80}")
    if follows is None:
        last = _last(RunIndex(folder).runs(conversation=conversation)) if conversation else None
        if last is None:
            return Place(conversation)
        _check_ended(last.id, last.status)
        return Place(conversation, last.id)
    run = run_info(find_run(folder, follows, within=within))
    if run.folder.parent != folder.absolute():
        raise UsageError(f"the run {run.id} is in {run.folder.parent}, and runs of {folder} cannot follow it")
    _check_ended(run.id, run.status)
    own = (run.metadata.conversation if run.metadata else "") or run.id
    if conversation not in ("", own):
        raise UsageError(f"the run {run.id} is in the conversation {own!r}, not in {conversation!r}")
    return Place(own, run.id)


def _check_ended(run: str, status: str) -> None:
    if status in (*ACTIVE, "unreadable"):  # a run that has just begun has no metadata
        raise UsageError(f"the run {run} is {status}: follow it up when it has ended")


def _last(runs: Iterable[RunSummary]) -> RunSummary | None:
    """Return the newest run that no other one follows; runs are newest first, those of one second in any order."""
    runs = list(runs)
    followed = {run.follows for run in runs}
    return next((run for run in runs if run.id not in followed), None)


# --- the copy --------------------------------------------------------------------------------------------------------


async def conversation_up_to(folder: Path, report_of: Callable[[Path], Awaitable[Report]]) -> Conversation:
    """Return the conversation up to the run in a folder, which is its last turn. Raises `LeadlineError`."""
    if not (folder / JOURNAL).is_file():
        raise LeadlineError(f"the run {folder.name}, which this one follows, was deleted")
    info, before = run_info(folder), read_conversation(folder) or Conversation()
    question = info.metadata.question if info.metadata else ""
    if info.status not in ("complete", "partial"):
        turns = (*before.turns, Turn(question=question, run_id=info.id))
        return before.model_copy(update={"turns": turns})
    turn, report = await turn_of(folder, question, report_of)
    sources, left_out = _within_limit(report, before.sources)
    return Conversation(turns=(*before.turns, turn), sources=sources, left_out=before.left_out + left_out)


async def turn_of(folder: Path, question: str, report_of: Callable[[Path], Awaitable[Report]]) -> tuple[Turn, Report]:
    """Return a finished run as a turn, and its report. Raises `LeadlineError` if the report cannot be read."""
    report = await report_of(folder)
    sections = [f"## {section.title}\n\n{section.text}" for section in report.sections if (section.text or "").strip()]
    turn = Turn(
        question=str(report.metadata.get("question") or question),
        answer="\n\n".join(sections),
        run_id=folder.name,
        claims=report.verdicts,
    )
    return turn, report


def _within_limit(report: Report, before: Iterable[Source]) -> tuple[tuple[Source, ...], int]:
    """Return the sources of a report and of the turns before it, and how many were left out: uncited ones first."""
    ids = {name for section in report.sections for name in cited(section.text or "")}
    used = {item.source_id for item in report.evidence if item.id in ids}
    known = {source.id: source for source in (*reversed(tuple(before)), *reversed(report.sources))}
    sources = list(reversed(known.values()))
    chosen_ids, left = set(), MAX_TEXT
    for source in sorted(sources, key=lambda source: source.id not in used):
        size = len(source.document.text)
        if size <= left:
            chosen_ids.add(source.id)
            left -= size
    # They were found by searches of other runs, whose numbers begin anew.
    chosen = tuple(source.model_copy(update={"task_id": ""}) for source in sources if source.id in chosen_ids)
    return chosen, len(sources) - len(chosen)


def write_conversation(folder: Path, conversation: Conversation) -> None:
    """Write the copy into the folder of a run."""
    write_atomically(folder / CONVERSATION.file, (conversation.model_dump_json() + "\n").encode())


def read_conversation(folder: Path) -> Conversation | None:
    """Return the copy in the folder of a run; None if it continues none. Raises `LeadlineError` if it is damaged."""
    path = folder / CONVERSATION.file
    try:
        return Conversation.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise LeadlineError(f"cannot read the earlier turns in {path}: {str(error).splitlines()[0]}") from error


def pipeline_of(name: str, plugins: PluginRuntime, conversation: Conversation | None) -> Pipeline:
    """Return the pipeline of a run. Raises `ConfigError` if it has earlier turns that no stage would use."""
    pipeline = plugins.pipeline(name)
    if conversation and not any(key.name == CONVERSATION.name for step in pipeline.steps() for key in step.reads):
        raise ConfigError(
            f"pipeline '{pipeline.name}': no stage uses '{CONVERSATION.name}', so the run cannot continue earlier "
            "ones: add a stage that does before the others (`leadline plugins list --kind stages`), or start anew"
        )
    return pipeline.for_run({CONVERSATION.name} if conversation else ())


# --- the turns with which a run starts --------------------------------------------------------------------------------


# The file that keeps a run out of the memory of later questions.
FORGOTTEN = ".forgotten"
# Words that two questions share at least, if the new one has so many.
_LEAST_SHARED = 2


async def earlier_turns(
    request: Order, folder: Path, memory: int, report_of: Callable[[Path], Awaitable[Report]]
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
    folder: Path, question: str, limit: int, without: Collection[str], report_of: Callable[[Path], Awaitable[Report]]
) -> tuple[Turn, ...]:
    """Return at most so many turns that share words with a question, the best first, without those of some runs."""
    turns = []
    for run in _related(folder, question, without) if limit else ():
        try:
            turn, _ = await turn_of(run.folder, run.question, report_of)
        except LeadlineError:  # its report cannot be read any more, so there is nothing to remember
            continue
        turns.append(turn)
        if len(turns) == limit:
            break
    return tuple(turns)


def _related(folder: Path, question: str, without: Collection[str]) -> list[RunSummary]:
    words = {*words_of(question)}
    least = min(_LEAST_SHARED, len(words))
    related = RunIndex(folder).related(question)
    return [
        run
        for run in related
        if is_memorable(run) and run.id not in without and len(words.intersection(words_of(run.question))) >= least
    ]


def is_memorable(run: RunSummary) -> bool:
    """Return whether later questions may remember a run."""
    return run.status in ("complete", "partial") and not (run.folder / FORGOTTEN).exists()
