"""The task `verify_claim` as runs put it, to a model behind a URL: what `claims.py --url` asks.

The model is shown the passage that the model-free measure weighs too, so that the two differ in the judge alone.
"""

from __future__ import annotations

import random
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import leadline
from leadline.contracts import Run
from leadline.findings import Findings
from leadline.hookspecs import PluginSettings, StageOffer
from leadline.runs.state import Metadata
from leadline.testing.plugins import plugin
from leadline_plugins.checks.passages import passage
from leadline_plugins.stages.putting import Passage, Put
from leadline_plugins.stages.questioning import ASK, ask
from leadline_plugins.tasks.checking import ClaimVerdict

Row = dict[str, Any]
_TOKENS_A_CLAIM = 120
"""Of a reply: a verdict and its sentence. A small model would write on to the end of its context."""


def sample(rows: Sequence[Row], count: int) -> list[Row]:
    """Return about so many rows, as many of each collection and label; the same ones each time."""
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: str(row["id"])):
        groups[row["source"], row["label"]].append(row)
    chance, each = random.Random(7), max(1, count // len(groups))
    return [row for _, group in sorted(groups.items()) for row in chance.sample(group, min(each, len(group)))]


class Judging:
    """A stage that asks about all claims and keeps what was said, by id."""

    def __init__(self, rows: Sequence[Row], batch: int) -> None:
        asked = [_asked(row) for row in rows]
        self._batches = [asked[start : start + batch] for start in range(0, len(asked), batch)]
        self.said: dict[str, ClaimVerdict] = {}

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Ask, batch by batch."""
        for replies in await run.each(self._batches, lambda batch: ask(run, batch)):
            self.said |= replies.by_id


def _asked(row: Row) -> Put:
    shown = passage(row["claim"], row["text"], row["spans"]).text
    return Put(str(row["id"]), row["claim"], (Passage(shown),))


async def judged(rows: Sequence[Row], url: str, model: str, batch: int) -> tuple[Judging, Metadata]:
    """Have a model judge the claims; returns the stage with what it was told, and what that took."""
    stage = Judging(rows, batch)
    offer: Any = StageOffer(lambda settings, context: stage, PluginSettings, "Judges claims", tasks=(ASK,))
    settings = {
        "pipeline": "judging",
        "pipelines": {"judging": {"stages": ["judging"], "level": "fast"}},
        "ai.providers": ["openai"],
        "plugins.openai.base_url": url,
        "plugins.openai.model": model,
        "plugins.openai.extra_body": {"temperature": 0, "seed": 1, "max_tokens": _TOKENS_A_CLAIM * batch},
        "limits": {"openai": {"at_once": 4}},
        "budget": {"model_calls": 100_000, "tokens": 100_000_000, "seconds": 36_000},
    }
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        plugins = [plugin("judging", stages=offer)]
        async with leadline.Client(plugins=plugins, folder=place, cache=place / "cache", set=settings) as client:
            result = await client.research("Do the passages bear the claims?")
    return stage, result.metadata


def predictions(stage: Judging, rows: Sequence[Row]) -> list[Row]:
    """Return what the scorer takes, for the claims that were judged."""
    told = [(row["id"], stage.said[str(row["id"])]) for row in rows if str(row["id"]) in stage.said]
    return [{"id": name, "label": one.verdict, "score": _score(one)} for name, one in told]


def _score(one: ClaimVerdict) -> float:
    """Return how sure it is that the claim is supported."""
    return (1 + one.confidence if one.verdict == "supported" else 1 - one.confidence) / 2
