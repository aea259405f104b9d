"""Swaps made by script from supported claims, and how many of them the rules catch: what `claims.py` prints last.

A number, a year or month, a name that stands in the evidence is replaced, a verb is denied or affirmed; and, harder
than what is asked, a number, year or name is replaced by another one of the same page. Two sets of pairs are counted:
all that people call supported, and those of them that the measure of words supports too, for what it does not support
at all is caught by saying so. `caught`: the swapped claim is not supported. `lost`: the rules take the untouched pair's
support away.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from leadline_plugins.checks.conflicts import conflicts
from leadline_plugins.checks.judge import ENOUGH, SUPPORTED, judge
from leadline_plugins.checks.measure import overlap
from leadline_plugins.checks.naming import proper_names
from leadline_plugins.checks.passages import passage

Row = dict[str, Any]
Swap = Callable[[str, str, random.Random], Iterator[str]]
_DRAWS = 5
"""Chances per swap: a kind has 40 to 300 of them, and one draw moves its share by two points."""

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


def names_from(pool: set[str], *, strange: bool = True) -> Swap:
    """Return the swap of names that stand in the text for others of the pool, like for like.

    `strange`: only for such as are unknown to the text.
    """

    def swap(claim: str, text: str, chance: random.Random) -> Iterator[str]:
        known = set((f"{claim} {text}" if strange else claim).casefold().split())
        for name in proper_names(claim):
            others = sorted(
                one for one in pool if _shape(one) == _shape(name) and not known & set(one.casefold().split())
            )
            others = [one for one in others if not strange or one not in text]
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


def within(text_names: Sequence[str]) -> Swap:
    """Return the swap of numbers, years and names for others of the same page."""

    def swap(claim: str, text: str, chance: random.Random) -> Iterator[str]:
        for pattern in (_NUMBER, _YEAR):
            for match in pattern.finditer(claim):
                said = [found.group() for found in pattern.finditer(text) if found.group() not in claim]
                others = [one for one in said if bool(_YEAR.fullmatch(one)) == bool(_YEAR.fullmatch(match.group()))]
                if match.group() in text and others and (pattern is _YEAR or not _YEAR.fullmatch(match.group())):
                    yield claim[: match.start()] + chance.choice(others) + claim[match.end() :]
        yield from names_from(set(text_names), strange=False)(claim, text, chance)

    return swap


def swaps(row: Row, pool: set[str]) -> dict[str, Swap]:
    """Return the swaps of a claim by kind."""
    return {
        "number": numbers,
        "date": dates,
        "name": names_from(pool),
        "negation": negations(row["lang"]),
        "of the page": within(proper_names(row["text"])),
    }


def report(found: Sequence[Row]) -> None:
    """Print how many swaps are caught, and how many untouched pairs are lost by the same rules, of both sets."""
    supported = [row for row in found if row["label"] == "supported"]
    pools: dict[str, set[str]] = defaultdict(set)
    for row in supported:
        pools[row["lang"]] |= set(proper_names(row["claim"]))
    measured = {row["id"]: row for row in supported if _supports(row)}
    made, caught = Counter[tuple[bool, str]](), Counter[tuple[bool, str]]()
    for row in supported:
        for kind, right in _tried(row, pools[row["lang"]]):
            for both in {False, row["id"] in measured}:
                made[both, kind] += 1
                caught[both, kind] += right
    for both, pairs, said in (
        (False, supported, "all supported"),
        (True, list(measured.values()), "by the measure too"),
    ):
        for _, kind in sorted(key for key in made if key[0] == both):
            count = made[both, kind]
            print(f"{said:18}  caught {kind:14} {count // _DRAWS:4} pairs  {caught[both, kind] / count:.3f}")
        lost = sum(row["id"] in measured and _differs(row) for row in pairs)
        print(f"{said:18}  lost   untouched      {len(pairs):4} pairs  {lost / len(pairs):.3f}")
    print(f"{'all supported':18}  a rule speaks, whether or not the measure supports  {_share(supported):.3f}")


def _tried(row: Row, pool: set[str]) -> Iterator[tuple[str, bool]]:
    for draw in range(_DRAWS):
        chance = random.Random(draw)
        for kind, swap in swaps(row, pool).items():
            for other in swap(row["claim"], row["text"], chance):
                right = judge(other, row["text"], spans=row["spans"]).verdict != "supported"
                yield kind, right
                if kind != "of the page":
                    yield "the four kinds", right


def _supports(row: Row) -> bool:
    measured = overlap(row["claim"], passage(row["claim"], row["text"], row["spans"]))
    return measured.probability() >= SUPPORTED and measured.share >= ENOUGH


def _differs(row: Row) -> bool:
    held = passage(row["claim"], row["text"], row["spans"])
    return any(True for _ in conflicts(row["claim"], held, row["text"]))


def _share(rows: Sequence[Row]) -> float:
    return sum(map(_differs, rows)) / len(rows)
