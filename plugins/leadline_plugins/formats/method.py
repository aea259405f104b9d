"""The methodology section, rendered from the facts of the run in the language of the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from leadline.records import Report
from leadline_plugins.wording import listed, say, translated

NAMED = 5
"""Failures named one by one; the rest are counted."""


def heading(language: str) -> str:
    """Return the heading in the report's language, English where it is not known."""
    return say("method", language)


def paragraphs(report: Report) -> Iterator[str]:
    """Yield the paragraphs of the methodology; none where the report carries no facts of its run."""
    facts: Any = report.metadata.get("method")
    if not facts:
        return
    said = [*_said(facts, report.language)]
    told = [_sentence(notice) for notice in _news(facts)]
    if before := say("notices", report.language):  # they are English: they stand apart, and are said to be
        yield listed(said, report.language, "space")
        if told:
            yield listed((before, " ".join(told)), report.language, "space")
    else:
        yield " ".join(said + told)


def _said(facts: Mapping[str, Any], language: str) -> Iterator[str]:
    queries = len(facts["queries"])
    yield say(
        "scope",
        language,
        rounds=facts["rounds"],
        queries=queries,
        engines=listed(facts["engines"], language) or say("nowhere", language),
        hits=facts["hits"],
        sources=facts["sources_read"],
    )
    for kind, word, named in (("failed_searches", "failed", "query"), ("unread", "unread", "url")):
        if items := facts[kind]:
            yield say(word, language, count=len(items), what=_named(items, named, language))
    for item in facts.get("failed_engines", ()):
        yield say(
            "engine",
            language,
            engine=item["engine"],
            count=item["searches"],
            queries=queries,
            what=item["reason"],
        )
    if facts["assumptions"]:
        what = (translated(assumption, language) for assumption in facts["assumptions"])
        yield say("assumed", language, what=listed(what, language, "semicolon"))


def _named(items: Sequence[Mapping[str, str]], named: str, language: str) -> str:
    what = (f"{item[named]} ({item['reason']})" for item in items[:NAMED])
    return listed(what, language, "semicolon") + (" …" if len(items) > NAMED else "")


def _news(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield the notices but for those that say an assumption, which is said in the report's language."""
    known = tuple(facts["assumptions"])
    return (notice for notice in facts.get("notices", ()) if not any(said in notice for said in known))


def _sentence(notice: str) -> str:
    return f"{notice[:1].upper()}{notice[1:]}."
