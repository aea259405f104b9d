"""How much of what was found a language model is shown: enough to write from, and nothing twice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from leadline.contracts import Run
from leadline.records import Evidence, Section, Source
from leadline.runs.summary import TARGET_TOKENS_PER_QUERY
from leadline.settings.load import Settings
from leadline_plugins.ai.embedded.choose import size_for_writers
from leadline_plugins.tasks.sorting import SortRequest
from leadline_plugins.text import is_cjk
from leadline_plugins.text.scripts import letters

BEST = 60
"""Pieces of evidence that a digest is made from: the last digest holds what came before."""
_LEARNINGS, _MOST_LEARNINGS = 8, 40
"""Of one source: for quotes alone, and for a writer at most."""
CHARACTERS_A_LEARNING, CJK_A_LEARNING = 450, 140
"""Of a source, a sentence in three: of letters that are words together, and of those of Chinese, Japanese, Korean."""
_CJK = ("Hani", "Kana", "Hang")
"""The scripts in which a sentence is a third as long."""
SHARE, AIM = 0.22, 0.16
"""Of what was read, in words, that reaches the writers, and that is to reach them at least."""
A_QUERY, CJK_A_QUERY = 1_800, 5_400
"""Words (Chinese, Japanese: characters) that a search adds to that at most: with all the rest of a run they keep it
under 10,000 tokens a search."""
_OF_BUDGET, _TOKENS = 0.4, 3
"""The share of the budget of tokens that is for it; tokens of a word with what stands around it in a prompt."""
LEAST, CJK_LEAST = 1_000, 2_000
"""Words (Chinese, Japanese: characters) that reach them in any case: of a short note a share would be no sentence."""
OF_LENGTH = 2
"""Times the length of the report that may reach them, where a share of short pages would be less."""
_FULL = 0.9
"""Of the room, from which it is what allows no more: a passage more may be longer than what is left."""
LETTERS = 6
"""Characters of a word and its space."""
LENGTH, CJK_LENGTH = 3_300, 6_600
"""Words (Chinese, Japanese: characters) of a report whose length nobody set."""


async def written(run: Run) -> bool:
    """Return whether a language model writes the sections: then it is given more than it says."""
    return await run.by_chat("synthesize", "thinking")


async def learnings(source: Source, run: Run) -> int:
    """Return how many learnings of a source are wanted."""
    if not await written(run):
        return _LEARNINGS
    text = source.document.text[: _MOST_LEARNINGS * CHARACTERS_A_LEARNING]
    cjk = 0 if text.isascii() else sum(count for script, count in letters(text).items() if script in _CJK)
    wanted = int((len(text) - cjk) / CHARACTERS_A_LEARNING + cjk / CJK_A_LEARNING)
    return min(_MOST_LEARNINGS, max(_LEARNINGS, wanted))


def characters_a_learning(*, cjk: bool) -> int:
    """Return how many characters of a page give a learning where a model writes."""
    return CJK_A_LEARNING if cjk else CHARACTERS_A_LEARNING


def words(sources: Sequence[Source], language: str, most: int, length: int) -> int:
    """Return how much evidence is chosen for writers of a report so long, in words (CJK: characters)."""
    cjk, size = is_cjk(language), sum(len(source.document.text) for source in sources)
    share = int(SHARE * size / (1 if cjk else LETTERS))
    return min(most, max(CJK_LEAST if cjk else LEAST, share, OF_LENGTH * length))


def shortfall(request: SortRequest, sections: Sequence[Section], settings: Settings) -> str:
    """Say how little its writers were shown of the pages that anything was taken from; why, where the run knows it.

    The aim is the run's own and stands in its metadata. A page that brought nothing tells nothing of what was left out.
    """
    named = {name for section in sections for name in section.evidence_ids}
    unsent = {name for section in sections for name in section.unsent}
    chosen = [item for item in request.evidence if item.id in named]
    own = {item.source_id for item in chosen}
    size = sum(len(source.document.text) for source in request.sources if source.id in own)
    share = sum(len(item.quote) for item in chosen if item.id not in unsent) / size if size else 1.0
    if share >= AIM:
        return ""
    count, total = len(own), len(request.sources)
    told = f"passages come from {count} of {total} pages read, and are some {share:.0%} of what stands there"
    why = _full(request, chosen, settings) or ("the rest could not be sent" if unsent else "")
    return f"{told}: {why}" if why else told


def _full(request: SortRequest, chosen: Iterable[Evidence], settings: Settings) -> str:
    """Say what allows no more than was chosen; nothing where there was room."""
    language, queries = request.question.language, len(request.tasks)
    cjk, tokens = is_cjk(language), settings.budget.tokens
    most = most_words(settings, queries, cjk=cjk)
    if request.material < most or sum(size_for_writers(item, language) for item in chosen) < _FULL * most:
        return ""
    if _affordable(settings, cjk=cjk) < _searched(queries, cjk=cjk):
        return f"the budget of tokens allows no more; raise it with --set budget.tokens={2 * tokens or 'N'}"
    return f"more would take over {TARGET_TOKENS_PER_QUERY:,} tokens a search"


def most_words(settings: Settings, queries: int, *, cjk: bool) -> int:
    """Return how many words (CJK: characters) may reach the writers of a run that made so many searches."""
    return max(CJK_LEAST if cjk else LEAST, min(_searched(queries, cjk=cjk), _affordable(settings, cjk=cjk)))


def _searched(queries: int, *, cjk: bool) -> int:
    return queries * (CJK_A_QUERY if cjk else A_QUERY)


def _affordable(settings: Settings, *, cjk: bool) -> int:
    return int(settings.budget.tokens * _OF_BUDGET / (1 if cjk else _TOKENS))


def length(run: Run, language: str) -> int:
    """Return how long a report is to be that a model writes."""
    return run.settings.report.length or (CJK_LENGTH if is_cjk(language) else LENGTH)
