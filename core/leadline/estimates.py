"""Estimates: what plugins expect of their tasks, and what `Client.explain` and `Client.estimate` return."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
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
    """The likely calls of a task, and the tokens of one call: of its inputs (without instructions) and of its reply.

    `basis` states an assumption beyond the scope.
    """

    calls: int = 1
    inputs: int = 0
    reply: int = 0
    basis: str = ""


class StepPlan(Record):
    """A stage of the pipeline, with the findings it needs and gives."""

    name: str
    summary: str
    needs: tuple[str, ...]
    gives: tuple[str, ...]
    in_loop: bool = False
    item_by_item: bool = False


class ExpectedCalls(Record):
    """The least and most calls of a kind that a run makes, and their providers."""

    kind: str
    by: tuple[str, ...]
    at_least: int
    at_most: int


class Explanation(Record):
    """The pipeline, the chosen providers with reasons, the limits, and the expected calls of a run."""

    pipeline: str
    preset: str
    rounds: int
    steps: tuple[StepPlan, ...]
    choices: tuple[str, ...]
    notices: tuple[str, ...]
    chosen: dict[str, tuple[str, ...]]
    limits: dict[str, float]
    expected: tuple[ExpectedCalls, ...]
    costs_money: bool


class TaskEstimate(Record):
    """The calls of one task, with tokens and USD for the likely number of calls.

    `model` is empty for a task that an algorithm does at no cost. `cost` is None if the price is unknown.
    """

    task: str
    asked_by: str
    provider: str
    model: str = ""
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal | None = None


class Estimate(Record):
    """The likely calls, tokens and USD of a run, in total and by task.

    `cost` is None if a price is missing; `unpriced` has those models. `unknown` are tasks whose plugins give no
    estimate, `over` the budgets that will probably be exceeded, `basis` the assumptions.
    """

    tasks: tuple[TaskEstimate, ...]
    queries: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost: Decimal | None
    unpriced: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    over: tuple[str, ...] = ()
    basis: tuple[str, ...] = ()
