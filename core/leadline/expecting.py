"""What plugins say they will ask of models, before a run: how often, and how much, by the scope of the settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leadline.records import Record

if TYPE_CHECKING:
    from leadline.settings.model import Settings

CHARACTERS_PER_TOKEN = 4
"""Of English and its like, JSON included. Chinese and Japanese: about one and a half."""
USUAL_ROUNDS = 2
"""Of research: a first, and one that closes the gaps."""
PAGE = 8_000
"""Characters that the text of a page is taken to have."""


@dataclass(frozen=True)
class Scope:
    """What a run is likely to do: its settings, its rounds at most, the question where it is known."""

    settings: Settings
    most_rounds: int = 1
    question: str = ""
    draws: bool = False
    """Whether charts can be drawn."""

    @property
    def rounds(self) -> int:
        """Rounds that are likely."""
        return min(USUAL_ROUNDS, self.most_rounds)

    def queries(self, rounds: int) -> int:
        """Return how many searches so many rounds make."""
        research = self.settings.research
        return min(research.max_queries, research.first_queries + (rounds - 1) * research.followup_queries)

    @property
    def pages(self) -> int:
        """Pages that are likely to be read: every query finds others."""
        return self.queries(self.rounds) * self.settings.research.pages_per_query

    def mode(self, plugin: str) -> str:
        """Return the `mode` of a chosen plugin; empty where it is not chosen or has none."""
        chosen: dict[str, Any] = dict(self.settings.plugins)
        return str(getattr(chosen.get(plugin), "mode", ""))


class Expected(Record):
    """How often a task is asked, and how much one call is: tokens of its inputs and of its reply.

    The instructions are not among them: the house adds them. `basis` says what the figures rest on, where it is not
    the scope.
    """

    likely: int = 1
    least: int = 1
    most: int = 1
    inputs: int = 0
    reply: int = 0
    basis: str = ""
