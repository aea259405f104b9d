"""How well claims are judged without a model: judged claims of six collections, and swaps made from supported ones.

    python tests/benchmarks/quality/claims.py [--out predictions.jsonl] [--url http://127.0.0.1:8080/v1]

The data lies in $EVAL_DATA, the scorers in $EVAL_SCORE. The measure has four weights, fitted on these collections with
each weighing alike; `claims_swapped.py` makes the swaps.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import itertools
import json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import claims_by_model
import claims_swapped

from leadline_plugins.checks.causes import cause
from leadline_plugins.checks.judge import judge
from leadline_plugins.checks.passages import passage
from leadline_plugins.stages.questioning import BATCH

ROOT = Path(__file__).resolve().parents[3]
DATA = Path(os.environ.get("EVAL_DATA", ROOT.parent / "shared" / "data"))
SCORE = Path(os.environ.get("EVAL_SCORE", DATA.parent / "eval" / "score"))
Row = dict[str, Any]


def rows() -> list[Row]:
    """Return all judged claims, with `text` and the spans of its sentences where they are known."""
    found = [json.loads(line) for path in sorted((DATA / "claims").glob("*.jsonl")) for line in path.open()]
    for row in found:
        given = row["evidence"] if isinstance(row["evidence"], list) else None
        row["text"], row["spans"] = "\n".join(given) if given else row["evidence"], None
        if given:
            ends = [0]
            for sentence in given:
                ends.append(ends[-1] + len(sentence) + 1)
            row["spans"] = [(start, end - 1) for start, end in itertools.pairwise(ends)]
    return found


def by_measure(found: Sequence[Row]) -> list[Row]:
    """Return the model-free predictions."""
    judged = [judge(row["claim"], row["text"], spans=row["spans"]) for row in found]
    return [{"id": row["id"], "label": one.verdict, "score": one.score} for row, one in zip(found, judged, strict=True)]


def report(scorer: Any, found: Sequence[Row], said: Sequence[Row]) -> None:
    """Print the scores by collection."""
    for name, scores in scorer.score(found, said).items():
        auc = f"{scores['auc']:.3f}" if "auc" in scores else "-"
        print(f"{name:14} {scores['n']:5}  balanced {scores['balanced_acc']:.3f}  auc {auc}")


def beside_a_model(scorer: Any, found: Sequence[Row], args: argparse.Namespace) -> None:
    """Print how a model judges a sample, and how the measure judges the claims that it answered."""
    stage, metadata = asyncio.run(claims_by_model.judged(found, args.url, args.model, args.batch))
    said = claims_by_model.predictions(stage, found)
    answered = {row["id"] for row in said}
    kept = [row for row in found if row["id"] in answered]
    print(f"answered {len(kept)} of {len(found)} in {metadata.seconds:.0f} s, {metadata.calls['chat/openai']} calls")
    print("\n".join(metadata.notices))
    print(f"tokens {metadata.usage['tokens']}; verdicts {dict(Counter(row['label'] for row in said))}")
    print("by the model:")
    report(scorer, kept, said)
    print("by the measure, the same claims:")
    report(scorer, kept, by_measure(kept))
    if args.out:
        args.out.write_text("".join(json.dumps(row) + "\n" for row in said))


def against_a_copyist(found: Sequence[Row]) -> None:
    """Print what of that which rules name is lost to a judge who copies the best sentence for each claim."""
    counts: Counter[tuple[str, bool]] = Counter()
    for row in found:
        named = cause(row["claim"], row["text"])
        if named and named.against:
            copied = passage(row["claim"], row["text"], row["spans"]).best
            counts[row["label"], named.answered(copied, [row["text"]])] += 1
    for label in sorted({label for label, _ in counts}):
        lost, kept = counts[label, True], counts[label, False]
        print(f"{label:14} {lost + kept:5} have a difference named, {lost} lose it to a copied sentence")


def main() -> None:
    """Judge, score, swap."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="where the predictions go, one a line")
    parser.add_argument("--url", help="a model's base URL: a sample is judged by it and by the measure, no swaps")
    parser.add_argument("--model", default="", help="its name, where the server has several")
    parser.add_argument("--sample", type=int, default=190, help="claims for it, as many of each collection and label")
    parser.add_argument("--batch", type=int, default=BATCH, help="claims in one call")
    args = parser.parse_args()
    sys.path.insert(0, str(SCORE))
    scorer = importlib.import_module("claims")
    found = rows()
    if args.url:
        beside_a_model(scorer, claims_by_model.sample(found, args.sample), args)
        return
    said = by_measure(found)
    if args.out:
        args.out.write_text("".join(json.dumps(row) + "\n" for row in said))
    report(scorer, found, said)
    claims_swapped.report(found)
    against_a_copyist(found)


if __name__ == "__main__":
    main()
