"""Rules that choose a pipeline for a question, one table per language in `data`.

Rules decide only what is plain from the words, and a model judges the rest. A row stays as long as its kind is right on
questions that nobody who wrote it had seen (decision 24); `tests/benchmarks/quality/routing.py` measures them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from leadline.contracts import StageRun
from leadline.errors import UsageError
from leadline.research_findings import Route

# The pipeline of questions that ask for several things.
MIXED = "research"
# A question about somebody's own documents is answered from these, whatever else it asks.
FIRST = "knowledge"
# What may be asked for together with something that only another pipeline does.
PARTIAL = (FIRST, "requirements")
# Words and sentences that join requests, in the languages of the rules. They decide nothing: a model is asked, or a
# notice names what may be missing. Of 54 labelled questions that rules decide, 1 of these pipelines has one.
_JOINED = re.compile(
    r"\b(?:and|then)\b|[.!?。！？;；]\s*\S|再|并|並|然后|然後|同时|同時|そして|その後|さらに|うえで", re.IGNORECASE
)
# Greetings and small talk, which only a language model answers.
TALK = "chat"
# A long report is research, too, and takes its place where there is no other.
LONG = "longform"


@dataclass(frozen=True)
class Rule:
    """A row of a table."""

    pipeline: str
    reason: str
    pattern: re.Pattern[str]
    example: str


@cache
def rules() -> tuple[Rule, ...]:
    """Return the rules of all languages: a question may mix them."""
    folder = files(__package__).joinpath("data")
    tables = (file for file in folder.iterdir() if file.name.endswith(".toml"))
    rows = (row for file in sorted(tables, key=lambda file: file.name) for row in _rows(file.read_text("utf-8")))
    return tuple(rows)


def _rows(text: str) -> list[Rule]:
    flags = re.IGNORECASE | re.DOTALL
    return [
        Rule(**{**row, "pattern": re.compile(row["pattern"].strip(), flags)}) for row in tomllib.loads(text)["rule"]
    ]


async def refuse_small_talk(question: str, run: StageRun) -> None:
    """Raise `UsageError` for a greeting or small talk without a language model: nothing can be searched for."""
    if by_rules(question, (TALK,)) and not await run.by_chat("reply", "thinking"):
        raise UsageError(
            "only a language model answers a greeting or small talk, and none is set up: ask a question, such as "
            '"How does …?", or set up a model (see `leadline doctor`)'
        )


def may_ask_more(question: str, route: Route) -> bool:
    """Return whether a question may ask for something beside what the pipeline of a rule does."""
    return route.pipeline in PARTIAL and bool(_JOINED.search(" ".join(question.split())))


def by_rules(question: str, pipelines: Collection[str]) -> Route | None:
    """Return the choice among these pipelines; None if no rule decides."""
    text = " ".join(question.split())
    mixed = MIXED if MIXED in pipelines else LONG
    fitting = [
        (name, rule.reason)
        for rule in rules()
        if (name := mixed if rule.pipeline == MIXED else rule.pipeline) in pipelines and rule.pattern.search(text)
    ]
    reasons = dict(reversed(fitting))
    if LONG in reasons:
        reasons.pop(MIXED, "")
    if FIRST in reasons:
        reasons = {FIRST: reasons[FIRST]}
    if len(reasons) > 1 and mixed in pipelines:
        asked = " and ".join(sorted({reason for _, reason in fitting}))
        return Route(pipeline=mixed, reason=f"several things at once: {asked}")
    return next((Route(pipeline=name, reason=reason) for name, reason in reasons.items()), None)
