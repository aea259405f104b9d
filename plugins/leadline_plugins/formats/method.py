"""The methodology section: the facts of a run and its notices, in the language of the report.

Notices are ordered by the steps of a run, not by time: sections are written side by side, and a resumed or replayed run
sends them in another order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leadline.citations import number
from leadline.records import Notice, Report
from leadline.rendering import readable_url
from leadline_plugins.wording.notices import grouped, templates, translate_notice
from leadline_plugins.wording.phrases import join_items, phrase

# Failures that are named; the rest are counted.
NAMED = 5
# Queries that fit a sentence; more are counted, and listed where a list can be folded.
_FEW = 3
_STOPS = " .。;；,，"
_QUESTION = ("?", "？", "؟")
# A question at the end of a sentence needs no other stop.
_ASKED = re.compile(r"([?？؟])[.。]")
# Notices that repeat a fact of the report, by the name of the fact.
_FACTS = {"left_out": "left_out", "open": "unanswered"}
# Notices for whoever runs Leadline; they say nothing about the text.
_NOT_FOR_READERS = ("chart_skipped", "no_picture")


class Notes:
    """The notices of a report, as sentences."""

    def __init__(self, report: Report) -> None:
        self._language = report.language
        facts: Any = report.metadata.get("method") or {}
        self._facts: Mapping[str, Any] = facts
        titles = {section.title: index for index, section in enumerate(report.sections)}
        order = {code: index for index, code in enumerate(templates("zh"))}  # that of a run

        def place(notice: Notice) -> tuple[int, int, str]:
            title = notice.parameters.get("title", "")
            return order.get(notice.parts[0].code, len(order)), titles.get(title, len(titles)), notice

        self._notices = sorted(map(Notice.read, self._facts.get("notices", ())), key=place)

    def sentences(self) -> tuple[list[str], list[str]]:
        """Return the notices with a translation to the report's language, and the English ones."""
        notices = list(self._new())
        if not phrase("notices", self._language):
            return [_sentence(text, ".") for text in grouped(notices, "en")], []
        own = [notice for notice in notices if translate_notice(notice, self._language)]
        translated = grouped(own, self._language)
        english = grouped((notice for notice in notices if notice not in own), "en")
        stop = phrase("stop", self._language)
        return [_sentence(text, stop) for text in translated], [_sentence(text, ".") for text in english]

    def _new(self) -> Iterator[Notice]:
        """Yield the notices for readers that repeat no fact."""
        known = tuple(item.strip(_STOPS) for item in self._facts.get("assumptions", ()))
        for notice in self._notices:
            repeats = any(item in notice for item in known) or self._facts.get(_FACTS.get(notice.code, ""))
            if not repeats and notice.code not in _NOT_FOR_READERS:
                yield notice


def _sentence(notice: str, stop: str) -> str:
    return f"{notice[:1].upper()}{notice[1:].rstrip(_STOPS)}{stop}".replace(".;", ";")


@dataclass(frozen=True)
class MethodParagraph:
    """A paragraph, and the list that it introduces."""

    text: str
    items: tuple[str, ...] = ()

    def line(self, language: str) -> str:
        """Return the paragraph with the first items of its list and the number of the rest."""
        if not self.items:
            return self.text
        more = [f"… +{len(self.items) - _FEW}"] if len(self.items) > _FEW else []
        return join_items(
            (self.text, join_items((*self.items[:_FEW], *more), language, "semicolon")), language, "space"
        )


def heading(language: str) -> str:
    """Return the heading in the report's language; English if the language is unknown."""
    return phrase("method", language)


def paragraphs(report: Report) -> Iterator[MethodParagraph]:
    """Yield the paragraphs of the methodology; none if the report has no facts of its run."""
    facts: Any = report.metadata.get("method")
    if not facts:
        return
    language, notes = report.language, Notes(report)
    queries = list(dict.fromkeys(facts["queries"]))
    short = queries if len(queries) <= _FEW else []
    yield from _paragraph(_scope(report, facts, short), language)
    if queries and not short:
        yield MethodParagraph(phrase("asked_below", language, count=len(queries)), tuple(queries))
    yield from _paragraph(_limits(facts, language), language)
    translations, english = notes.sentences()
    yield from _paragraph((*_failed(facts, language), *translations), language)
    if english:  # a separate paragraph that says so
        yield from _paragraph((phrase("notices", language), " ".join(english)), language)


def _paragraph(sentences: Iterable[str], language: str) -> Iterator[MethodParagraph]:
    """Yield sentences as one paragraph; none without sentences."""
    if text := join_items(sentences, language, "space"):
        yield MethodParagraph(_ASKED.sub(r"\1", text))


def _scope(report: Report, facts: Mapping[str, Any], queries: Sequence[str]) -> Iterator[str]:
    """Yield the day and models of the report, the searches, and the sources read and used."""
    language = report.language
    created, models = str(report.metadata.get("created", ""))[: len("2026-01-31")], report.metadata.get("models")
    if created and isinstance(models, list):
        names = join_items(map(str, models), language)
        yield (
            phrase("made", language, day=created, models=names)
            if names
            else phrase("made_plain", language, day=created)
        )
    if facts.get("plan_edited"):
        yield phrase("plan_edited", language)
    yield phrase(
        "scope",
        language,
        rounds=facts["rounds"],
        queries=len(facts["queries"]),
        engines=join_items(facts["engines"], language) or phrase("nowhere", language),
        hits=facts["hits"],
        sources=facts["sources_read"],
    )
    if "sources_used" in facts and not report.quotes:
        yield phrase("used", language, count=facts["sources_used"], cited=len(number(report).cited))
    if queries:
        yield phrase("asked", language, what=join_items(queries, language, "semicolon"))


def _limits(facts: Mapping[str, Any], language: str) -> Iterator[str]:
    """Yield the limits that the research itself reported."""
    for name in ("gaps", "left_out"):
        if items := [item.strip(_STOPS) for item in facts.get(name, ())]:
            questions = all(item.endswith(_QUESTION) for item in items)
            yield phrase(name, language, what=join_items(items, language, "space" if questions else "semicolon"))


def _failed(facts: Mapping[str, Any], language: str) -> Iterator[str]:
    kinds = ("failed_searches", "failed", "query"), ("unread", "unread", "url"), ("instructed", "instructed", "url")
    for kind, word, named in kinds:
        if items := facts.get(kind):
            yield phrase(word, language, count=len(items), what=_named(items, named, language))
    for item in facts.get("failed_engines", ()):
        yield phrase(
            "engine",
            language,
            engine=item["engine"],
            count=item["searches"],
            queries=len(facts["queries"]),
            what=item["reason"].strip(_STOPS),
        )
    if facts["assumptions"]:
        what = (assumption.strip(_STOPS) for assumption in facts["assumptions"])
        yield phrase("assumed", language, what=join_items(what, language, "semicolon"))


def _named(items: Sequence[Mapping[str, str]], named: str, language: str) -> str:
    what = (f"{readable_url(item[named])} ({item['reason'].strip(_STOPS)})" for item in items[:NAMED])
    return join_items(what, language, "semicolon") + (" …" if len(items) > NAMED else "")
