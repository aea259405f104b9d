"""The methodology section, rendered from the facts of the run in the language of the report."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leadline.citations import number
from leadline.records import Report
from leadline_plugins.formats.notes import Notes
from leadline_plugins.wording import listed, say, translated

NAMED = 5
"""Failures named one by one; the rest are counted."""
_SHORT = 5
"""Items of a list that print shows."""
_FEW = 3
"""Queries that are named in a sentence: more are a list."""
_STOPS = " .。;；,，"
_QUESTION = ("?", "？", "؟")
_ASKED = re.compile(r"([?？؟])[.。]")
"""A question that a sentence ends with: it needs no other stop."""


@dataclass(frozen=True)
class Told:
    """A paragraph, and the list that it leads to."""

    text: str
    items: tuple[str, ...] = ()

    @property
    def short(self) -> tuple[str, ...]:
        """The first items, and how many more there are."""
        more = len(self.items) - _SHORT
        return (*self.items[:_SHORT], f"… +{more}") if more > 1 else self.items


def heading(language: str) -> str:
    """Return the heading in the report's language, English where it is not known."""
    return say("method", language)


def paragraphs(report: Report) -> Iterator[Told]:
    """Yield the paragraphs of the methodology; none where the report carries no facts of its run."""
    facts: Any = report.metadata.get("method")
    if not facts:
        return
    language, notes = report.language, Notes(report)
    queries = list(dict.fromkeys(facts["queries"]))
    short = queries if len(queries) <= _FEW else []
    yield from _one(_scope(report, facts, short), language)
    if queries and not short:
        yield Told(say("asked_below", language, count=len(queries)), tuple(queries))
    yield from _one(_wanting(facts, language), language)
    ours, english = notes.told()
    yield from _one((*_failed(facts, language), *ours), language)
    if english:  # they stand apart, and are said to be
        yield from _one((say("notices", language), " ".join(english)), language)


def _one(sentences: Iterable[str], language: str) -> Iterator[Told]:
    """Yield sentences as one paragraph, none where there are none."""
    if text := listed(sentences, language, "space"):
        yield Told(_ASKED.sub(r"\1", text))


def _scope(report: Report, facts: Mapping[str, Any], queries: Sequence[str]) -> Iterator[str]:
    """Yield when and with what the report was made, what was searched and read, and what of it went to the writing."""
    language = report.language
    created, models = str(report.metadata.get("created", ""))[: len("2026-01-31")], report.metadata.get("models")
    if created and isinstance(models, list):
        names = listed(map(str, models), language)
        yield say("made", language, day=created, models=names) if names else say("made_plain", language, day=created)
    yield say(
        "scope",
        language,
        rounds=facts["rounds"],
        queries=len(facts["queries"]),
        engines=listed(facts["engines"], language) or say("nowhere", language),
        hits=facts["hits"],
        sources=facts["sources_read"],
    )
    if "sources_used" in facts:
        yield say("used", language, count=facts["sources_used"], cited=len(number(report).cited))
    if queries:
        yield say("asked", language, what=listed(queries, language, "semicolon"))


def _wanting(facts: Mapping[str, Any], language: str) -> Iterator[str]:
    """Yield what the research itself found wanting."""
    if not facts.get("sufficient", True):
        yield say("thin", language)
    for name in ("gaps", "left_out"):
        if items := [item.strip(_STOPS) for item in facts.get(name, ())]:
            questions = all(item.endswith(_QUESTION) for item in items)
            yield say(name, language, what=listed(items, language, "space" if questions else "semicolon"))


def _failed(facts: Mapping[str, Any], language: str) -> Iterator[str]:
    for kind, word, named in (("failed_searches", "failed", "query"), ("unread", "unread", "url")):
        if items := facts[kind]:
            yield say(word, language, count=len(items), what=_named(items, named, language))
    for item in facts.get("failed_engines", ()):
        yield say(
            "engine",
            language,
            engine=item["engine"],
            count=item["searches"],
            queries=len(facts["queries"]),
            what=item["reason"].strip(_STOPS),
        )
    if facts["assumptions"]:
        what = (translated(assumption, language).strip(_STOPS) for assumption in facts["assumptions"])
        yield say("assumed", language, what=listed(what, language, "semicolon"))


def _named(items: Sequence[Mapping[str, str]], named: str, language: str) -> str:
    what = (f"{item[named]} ({item['reason'].strip(_STOPS)})" for item in items[:NAMED])
    return listed(what, language, "semicolon") + (" …" if len(items) > NAMED else "")
