"""How well the judges decide labelled claims: `restate` and `claims` of $EVAL_DATA.

    python tests/benchmarks/quality/claims.py [restate] [claims] [--url http://127.0.0.1:8080/v1 | --small | --gold]

Without a model the judges are `exact` alone; with --url a chat model judges what that leaves; --small serves a model of
135 million parameters on this machine; --gold takes the labels as the verdicts of a judge that quotes all: what errs
then is the rule that overrules. Each claim cites one passage, the text of its source. The scorers are those of
$EVAL_SCORE.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import random
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import leadline
from leadline.contracts import StageRun
from leadline.findings import Findings
from leadline.plugin import claim_judge, stage
from leadline.records import (
    Claim,
    Document,
    Evidence,
    Hit,
    Judgement,
    Judgements,
    JudgeRequest,
    Source,
    Verdict,
)
from leadline.testing.plugins import plugin
from leadline_plugins.verification.tasks import VERIFY_TASK
from leadline_plugins.verification.verdicts import Library, judge

sys.path.insert(0, str(Path(__file__).parents[1]))
from small_model import NAME, small_model

ROOT = Path(__file__).resolve().parents[3]
DATA = Path(os.environ.get("EVAL_DATA", ROOT.parent / "shared" / "data"))
SCORE = Path(os.environ.get("EVAL_SCORE", DATA.parent / "eval" / "score"))
Row = dict[str, Any]


def rows(name: str) -> list[Row]:
    """Return the labelled claims of a set, with the passage as `text`."""
    found = [json.loads(line) for path in sorted((DATA / name).glob("*.jsonl")) for line in path.open()]
    for row in found:
        given = row.get("passage") or row["evidence"]
        row["text"] = given if isinstance(given, str) else "\n".join(given)
    return found


def sample(found: Sequence[Row], count: int) -> list[Row]:
    """Return about so many rows, as many of each collection and label; the same ones each time."""
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in sorted(found, key=lambda row: str(row["id"])):
        groups[row.get("kind") or row["source"], row["label"]].append(row)
    chance, each = random.Random(7), max(1, round(count / len(groups)))
    return [row for _, group in sorted(groups.items()) for row in chance.sample(group, min(each, len(group)))]


class Gold:
    """A judge that gives the labels and quotes the whole passage."""

    def __init__(self, found: Sequence[Row]) -> None:
        self._rows = {str(row["id"]): row for row in found}

    async def judge(self, request: JudgeRequest, call: object, /) -> Judgements:
        """Return the labels."""
        rows = [self._rows[claim.id] for claim in request.claims]
        made = (Judgement(claim_id=str(row["id"]), verdict=row["label"], quote=row["text"]) for row in rows)
        return Judgements(judgements=tuple(made))


class Judging:
    """A stage that has all claims judged as runs do, and keeps the verdicts."""

    def __init__(self, found: Sequence[Row], batch: int) -> None:
        self._found, self._batch = found, batch
        self.verdicts: list[Verdict] = []

    async def run(self, findings: Findings, run: StageRun, /) -> None:
        """Judge."""
        sources, passages, claims = [], [], []
        for number, row in enumerate(self._found):
            text, name = row["text"], str(row["id"])
            sources.append(Source(id=f"s{number}", hit=Hit(url=f"x:{number}"), document=Document(text=text)))
            passages.append(
                Evidence.model_validate(
                    {"id": f"e{number}", "source_id": f"s{number}", "quote": text, "span": (0, len(text)), "claim": ""}
                )
            )
            claims.append(
                Claim(
                    id=name,
                    section_id="1",
                    text=row["claim"],
                    span=(0, 0),
                    evidence_ids=(f"e{number}",),
                )
            )
        library = Library(passages, sources)
        for start in range(0, len(claims), self._batch):  # a small model loses the thread of many
            self.verdicts += await judge(run, claims[start : start + self._batch], library)


async def judged(found: Sequence[Row], url: str, model: str, batch: int, gold: bool) -> tuple[list[Verdict], Any]:
    """Have the claims judged; returns the verdicts and what that took."""
    judging = Judging(found, batch)
    offer = stage("Judges claims", uses=(VERIFY_TASK,))(lambda: judging)
    settings: dict[str, Any] = {
        "pipeline": "judging",
        "pipelines": {"judging": {"stages": ["judging"], "level": "fast"}},
        "observers": [],
        "budget": {"model_calls": 100_000, "tokens": 100_000_000, "seconds": 36_000},
    }
    if url:
        settings |= {
            "ai.providers": ["openai"],
            "plugins.openai.base_url": url,
            "plugins.openai.model": model,
            "plugins.openai.extra_body": {"temperature": 0, "seed": 1, "max_tokens": 2_000},
            "limits": {"openai": {"at_once": 2, "timeout": 900}},
        }
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        judge_offer = claim_judge("Gives the labels")(lambda: Gold(found))
        plugins = [plugin("judging", offer), plugin("gold", judge_offer)]
        settings |= {"verify.judges": ["gold"]} if gold else {}
        async with leadline.Client(plugins=plugins, folder=place, cache=place / "cache", set=settings) as client:
            result = await client.research("Do the passages support the claims?")
    return judging.verdicts, result.metadata


def predictions(found: Sequence[Row], verdicts: Sequence[Verdict]) -> list[Row]:
    """Return what both scorers read."""
    return [
        {"id": row["id"], "verdict": one.verdict, "label": one.verdict}
        for row, one in zip(found, verdicts, strict=True)
    ]


def shown(name: str, found: Sequence[Row], said: Sequence[Row]) -> None:
    """Print the scores of a set."""
    scores = importlib.import_module(name).score(found, said)
    if name == "restate":
        print(json.dumps({key: round(value, 3) for key, value in scores["ALL"].items() if value == value}))
        return
    for collection, one in scores.items():
        print(
            f"{collection:14} {one['n']:5}  balanced {one['balanced_acc']:.3f}  two-way F1 {one['two_way']['f1']:.3f}"
        )


def main() -> None:
    """Judge and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=["restate", "claims"])
    parser.add_argument("--url", default="")
    parser.add_argument("--model", default=NAME)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--gold", action="store_true")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--batch", type=int, default=25, help="claims a call")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    sys.path.insert(0, str(SCORE))
    with small_model() if args.small else nullcontext(args.url) as url:
        for name in args.sets:
            found = sample(rows(name), args.sample) if args.sample else rows(name)
            verdicts, metadata = asyncio.run(judged(found, url, args.model, args.batch, args.gold))
            counts = Counter((row["label"], one.verdict) for row, one in zip(found, verdicts, strict=True))
            print(name, len(found), "claims", f"{metadata.seconds:.0f} s", dict(Counter(one.judge for one in verdicts)))
            print("\n".join(f"  {label} -> {verdict}: {count}" for (label, verdict), count in sorted(counts.items())))
            said = predictions(found, verdicts)
            shown(name, found, said)
            if args.out:
                args.out.write_text("".join(json.dumps(row) + "\n" for row in said))


if __name__ == "__main__":
    main()
