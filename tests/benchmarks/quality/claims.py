"""How well claims are judged without a model: judged claims of six collections, and swaps made from supported ones.

    python tests/benchmarks/quality/claims.py [--out predictions.jsonl] [--url http://127.0.0.1:8080/v1]

The data lies in $LEADLINE_DATA, the scorers in $LEADLINE_SCORE. Swaps are made from the supported pairs that the
measure of words supports too: a number, a year or month, a name that stands in the evidence is replaced, a verb is
denied or affirmed. `caught` is the share of swapped claims no longer supported; `lost` the share of the untouched pairs
that the exact rules take away. The measure has three weights, fitted on these collections with each weighing alike.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import itertools
import json
import os
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import claims_by_model

from leadline_plugins.checks.conflicts import conflicts, proper_names
from leadline_plugins.checks.judge import ENOUGH, SUPPORTED, judge
from leadline_plugins.checks.measure import overlap
from leadline_plugins.checks.passages import passage
from leadline_plugins.stages.verdicts import BATCH

ROOT = Path(__file__).resolve().parents[3]
DATA = Path(os.environ.get("LEADLINE_DATA", ROOT.parent / "shared" / "data"))
SCORE = Path(os.environ.get("LEADLINE_SCORE", DATA.parent / "eval" / "score"))
Row = dict[str, Any]
Swap = Callable[[str, str, random.Random], Iterator[str]]


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


# --- swaps -----------------------------------------------------------------------------------------------------------

_YEAR = re.compile(r"(?<![\d.,])(?:1[5-9]|20)\d\d(?![\d.,]\d|\d)")
_NUMBER = re.compile(r"(?<![\w.,-])\d+(?:[.,]\d+)*(?![\w]|[.,]\d)|(?<![A-Za-z\d.,-])\d+(?=[年月日個个人名本匹頭台元%])")
_MONTHS = (
    "January February March April May June July August September October November December".split()  # noqa: SIM905
)
_VERB = re.compile(r"\b(is|was|are|were|has|have|had|can|will|would|could|should|may|might|does|did)\b")
_YES_NO = {
    "zh": (
        "不是 是",
        "没有 有",
        "不会 会",
        "不能 能",
        "是 不是",
        "有 没有",
        "会 不会",
        "能 不能",
        "在 不在",
        "要 不要",
    ),
    "ja": ("いません います", "います いません", "ありません あります", "あります ありません", "ている ていない"),
}


def numbers(claim: str, text: str, chance: random.Random) -> Iterator[str]:
    """Yield the claim with each of its numbers, that is no year and stands in the text, made another."""
    for match in _NUMBER.finditer(claim):
        digits = match.group()
        if digits in text and not _YEAR.fullmatch(digits):
            last = str((int(digits[-1]) + chance.randint(1, 8)) % 10 or 7)
            if last != digits[-1]:
                yield claim[: match.start()] + digits[:-1] + last + claim[match.end() :]


def dates(claim: str, text: str, chance: random.Random) -> Iterator[str]:
    """Yield the claim with each year moved by 1 to 7, and each month before a day made another."""
    for match in _YEAR.finditer(claim):
        if match.group() in text:
            year = int(match.group()) + chance.choice([-7, -3, -2, -1, 1, 2, 3, 7])
            yield f"{claim[: match.start()]}{year}{claim[match.end() :]}"
    for match in re.finditer(rf"\b({'|'.join(_MONTHS)})(?= \d)", claim):
        if match.group()[:3] in text:
            other = chance.choice([month for month in _MONTHS if month != match.group()])
            yield claim[: match.start()] + other + claim[match.end() :]


def names_from(pool: set[str]) -> Swap:
    """Return the swap of names that stand in the text for others of the pool, like for like."""

    def swap(claim: str, text: str, chance: random.Random) -> Iterator[str]:
        known = set((claim + " " + text).casefold().split())
        for name in proper_names(claim):
            others = sorted(
                one for one in pool if _shape(one) == _shape(name) and not known & set(one.casefold().split())
            )
            others = [one for one in others if one not in text]
            if name in text and claim.find(name) > 0 and others:
                yield claim.replace(name, chance.choice(others), 1)

    return swap


def _shape(name: str) -> tuple[bool, bool, int]:
    return name.isascii(), name.isupper(), min(3, len(name.split()))


def negations(language: str) -> Swap:
    """Return the swap of a yes for a no, or the other way round, at the first verb where that can be done."""

    def swap(claim: str, text: str, chance: random.Random) -> Iterator[str]:
        if language == "en":
            fit = (m for m in _VERB.finditer(claim) if not re.match(r" (?:no|never|none|nobody)\b", claim[m.end() :]))
            for match in list(fit)[:1]:
                rest = claim[match.end() :]
                denied = re.match(r" not\b|n['’]t\b", rest)
                yield claim[: match.end()] + (rest[denied.end() :] if denied else " not" + rest)
            return
        for pair in _YES_NO[language]:
            said, other = pair.split()
            if said in claim:
                yield claim.replace(said, other, 1)
                return

    return swap


def swapped(found: list[Row]) -> None:
    """Print how many swaps are caught, and how many untouched pairs are lost by the same rules."""
    chance = random.Random(7)
    supported = [row for row in found if row["label"] == "supported"]
    pools: dict[str, set[str]] = defaultdict(set)
    for row in supported:
        pools[row["lang"]] |= set(proper_names(row["claim"]))
    caught: Counter[str] = Counter()
    made: Counter[str] = Counter()
    lost = kept = 0
    for row in supported:
        claim, text, spans = row["claim"], row["text"], row["spans"]
        held = passage(claim, text, spans)
        measured = overlap(claim, held)
        if measured.probability < SUPPORTED or measured.share < ENOUGH:
            continue
        kept += 1
        lost += any(True for _ in conflicts(claim, held, text))
        kinds = {"number": numbers, "date": dates, "name": names_from(pools[row["lang"]])}
        for kind, swap in {**kinds, "negation": negations(row["lang"])}.items():
            for other in swap(claim, text, chance):
                for key in (kind, f"{kind} {row['lang']}", "all"):
                    made[key] += 1
                    caught[key] += judge(other, text, spans=spans).verdict != "supported"
    for key in sorted(made):
        print(f"caught {key:14} {caught[key]:4} of {made[key]:4}  {caught[key] / made[key]:.3f}")
    print(f"lost   {'untouched':14} {lost:4} of {kept:4}  {lost / kept:.3f}")


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
    swapped(found)


if __name__ == "__main__":
    main()
