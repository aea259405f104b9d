"""Tiers of sources by rules on their addresses: 1 primary and official, 2 reputable secondary, 3 other.

`source_tiers.toml` has the built-in rules and describes their forms. The rules of the settings come first.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, cast
from urllib.parse import urlsplit

from leadline.records import Hit, SearchPage, Tier

Rules = Mapping[Literal["1", "2", "3"], Sequence[str]]


class SourceTiers:
    """The rules of one run: `configured` are those of the settings."""

    def __init__(self, configured: Rules) -> None:
        self._rules = [_tier_by_rule(configured), _built_in()]
        self._with_paths = frozenset(rule.partition("/")[0] for rules in self._rules for rule in rules if "/" in rule)

    def mark(self, page: SearchPage) -> SearchPage:
        """Return the page with the tier of each hit; without a matching rule a hit keeps the tier of its engine."""
        return page.model_copy(update={"hits": tuple(map(self._mark_hit, page.hits))})

    def of(self, url: str) -> Tier | None:
        """Return the tier of an address, or None if no rule matches."""
        candidates = _candidates(url, self._with_paths)
        matches = (rules[rule] for rules in self._rules for rule in candidates if rule in rules)
        return next(matches, None)

    def _mark_hit(self, hit: Hit) -> Hit:
        tier = self.of(hit.url)
        return hit if tier in (None, hit.tier) else hit.model_copy(update={"tier": tier})


@cache
def _built_in() -> dict[str, Tier]:
    return _tier_by_rule(tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")))  # type: ignore[arg-type]


def _tier_by_rule(rules: Rules) -> dict[str, Tier]:
    return {rule.strip().lower(): cast("Tier", int(tier)) for tier, of_tier in rules.items() for rule in of_tier}


@lru_cache(maxsize=2048)  # each hit is marked by its engine, by the strategy and when pages are chosen
def _candidates(url: str, with_paths: frozenset[str]) -> tuple[str, ...]:
    """Return the rules that would match an address, the most specific first."""
    return tuple(_iterate_candidates(url, with_paths))


def _iterate_candidates(url: str, with_paths: frozenset[str]) -> Iterator[str]:
    try:
        parts = urlsplit(url.strip())
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        return
    if not host:
        yield f"{parts.scheme}:"
        return
    labels = host.split(".")
    for start in range(len(labels) - 1):
        domain = ".".join(labels[start:])
        if domain in with_paths:
            steps = parts.path.lower().strip("/").split("/")
            yield from (f"{domain}/{'/'.join(steps[:depth])}" for depth in range(len(steps), 0, -1))
        yield domain
    yield f"{labels[0]}.*"
    yield from (f".{'.'.join(labels[start:])}" for start in range(len(labels)))
    if len(labels[-1]) == 2:
        yield f".{labels[-2:][0]}.*"
