"""Estimates of plugins: how often a run will ask for their tasks, and how many tokens that takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leadline.records import Record

if TYPE_CHECKING:
    from leadline.settings import Settings

# For English and similar text, including JSON. For Chinese and Japanese it is about 1.5.
CHARACTERS_PER_TOKEN = 4
# Rounds of research that most runs need: the first, and one that closes gaps.
USUAL_ROUNDS = 2
# Assumed characters of the text of a page.
PAGE = 8_000


@dataclass(frozen=True)
class Scope:
    """The extent of a run: its settings, its maximum of rounds, its question if known, and if it can draw charts.

    `stages` are the names of the stages of its pipeline.
    """

    settings: Settings
    most_rounds: int = 1
    question: str = ""
    draws: bool = False
    stages: tuple[str, ...] = ()

    @property
    def rounds(self) -> int:
        """The likely number of rounds."""
        return min(USUAL_ROUNDS, self.most_rounds)

    def queries(self, rounds: int) -> int:
        """Return the number of searches in this many rounds."""
        research = self.settings.research
        return min(research.max_queries, research.first_queries + (rounds - 1) * research.followup_queries)

    @property
    def pages(self) -> int:
        """The likely number of pages; every query finds different ones."""
        return self.queries(self.rounds) * self.settings.research.pages_per_query

    def mode(self, plugin: str) -> str:
        """Return the setting `mode` of a chosen plugin; empty if it is not chosen or has no such setting."""
        chosen: dict[str, Any] = dict(self.settings.plugins)
        return str(getattr(chosen.get(plugin), "mode", ""))


class Expected(Record):
    """The expected calls of a task, and the tokens of one call: of its inputs (without instructions) and of its reply.

    `basis` states an assumption beyond the scope.
    """

    likely: int = 1
    least: int = 1
    most: int = 1
    inputs: int = 0
    reply: int = 0
    basis: str = ""
