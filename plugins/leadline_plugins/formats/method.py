"""The methodology section, rendered from the facts of the run in the language of the report."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from leadline.records import Report
from leadline_plugins.wording import listed, say, translated
from leadline_plugins.wording.notices import retold

NAMED = 5
"""Failures named one by one; the rest are counted."""
_QUERIES = 20
"""Queries that are named."""
_STOPS = " .。;；,，"
_ASKED = re.compile(r"([?？؟])[.。]")
"""A question that a sentence ends with: it needs no other stop."""
_LEFT_OUT = "nothing was found for "
"""How the notice begins that names the sections which are told in the report's language."""


def heading(language: str) -> str:
    """Return the heading in the report's language, English where it is not known."""
    return say("method", language)


def paragraphs(report: Report) -> Iterator[str]:
    """Yield the paragraphs of the methodology; none where the report carries no facts of its run."""
    facts: Any = report.metadata.get("method")
    if not facts:
        return
    language = report.language
    ours, english = _notices(facts, language)
    parts = (_scope(report, facts), _wanting(facts, language), [*_failed(facts, language), *ours])
    yield from filter(None, (listed(part, language, "space") for part in parts))
    if english:  # they stand apart, and are said to be
        yield listed((say("notices", language), " ".join(english)), language, "space")


def _scope(report: Report, facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield when and with what the report was made, what was searched and read, and what of it went to the writing."""
    language, queries = report.language, facts["queries"]
    created, models = str(report.metadata.get("created", ""))[: len("2026-01-31")], report.metadata.get("models")
    if created and isinstance(models, list):
        names = listed(map(str, models), language)
        yield say("made", language, day=created, models=names) if names else say("made_plain", language, day=created)
    yield say(
        "scope",
        language,
        rounds=facts["rounds"],
        queries=len(queries),
        engines=listed(facts["engines"], language) or say("nowhere", language),
        hits=facts["hits"],
        sources=facts["sources_read"],
    )
    if "sources_used" in facts:
        yield say("used", language, count=facts["sources_used"])
    if named := list(dict.fromkeys(queries))[:_QUERIES]:
        more = " …" if len(queries) > _QUERIES else ""
        yield say("asked", language, what=listed(named, language, "semicolon") + more)


def _wanting(facts: Mapping[str, Any], language: str) -> Iterator[str]:
    """Yield what the research itself found wanting."""
    if not facts.get("sufficient", True):
        yield say("thin", language)
    for name in ("gaps", "left_out"):
        if items := [item.strip(_STOPS) for item in facts.get(name, ())]:
            yield _ASKED.sub(r"\1", say(name, language, what=listed(items, language, "semicolon")))


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


def _notices(facts: Mapping[str, Any], language: str) -> tuple[list[str], list[str]]:
    """Return the notices in the report's language, and those that are English in a report that is not."""
    told = [(retold(notice, language), notice) for notice in _news(facts)]
    if not say("notices", language):
        return [_sentence(notice, ".") for _, notice in told], []
    ours = [_sentence(said, say("stop", language)) for said, _ in told if said]
    return ours, [_sentence(notice, ".") for said, notice in told if not said]


def _news(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield the notices but for those that say what is said in the report's language, as a fact."""
    known = tuple(said.strip(_STOPS) for said in facts["assumptions"])
    for notice in facts.get("notices", ()):
        told = any(said in notice for said in known) or (facts.get("left_out") and notice.startswith(_LEFT_OUT))
        if not told:
            yield notice


def _sentence(notice: str, stop: str) -> str:
    return f"{notice[:1].upper()}{notice[1:].rstrip(_STOPS)}{stop}"
