"""Judge `exact`: supports claims that a cited passage states word for word, and no others.

Of other claims it finds numbers, dates and quotations that are in no cited passage, for the next judge.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from leadline.contracts import Call, Context
from leadline.plugin import PluginSettings, claim_judge
from leadline.records import Claim, Evidence, Judgement, Judgements, JudgeRequest, Notice, Source
from leadline_plugins.verification.lexicon import forms
from leadline_plugins.verification.number_parsing import Number
from leadline_plugins.verification.numbers import Values, missing_numbers, values_of
from leadline_plugins.verification.quotes import find_verbatim, missing_quotations

_MOST_COUNTED = 20
_LIST_ITEM = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s", re.MULTILINE)
# Separators of a list inside a sentence.
_SEPARATOR = re.compile(r"[,;、，；/]|\b(?:and|or|und|oder|et|ou|y|e|o)\b|[和与與及或と]")
# A number that may be a part of a name: digits and points.
_PLAIN = re.compile(r"v?\d+(?:\.\d+)*", re.IGNORECASE)


@claim_judge(
    "Supports claims that a passage states word for word; finds numbers and quotations that no passage has",
    work="local",
    cache_key=None,
)
class ExactJudge:
    """Compares words and values, without a model."""

    def __init__(self, settings: PluginSettings, context: Context) -> None:
        """Accept and ignore settings and context."""

    async def judge(self, request: JudgeRequest, call: Call, /) -> Judgements:
        """Return judgements on claims that a passage states word for word, and findings on others."""
        passages = {passage.id: passage for passage in request.passages}
        sources = {source.id: source for source in request.sources}
        judgements: list[Judgement] = []
        for claim in request.claims:
            cited = [passages[name] for name in claim.evidence_ids if name in passages]
            if same := _verbatim_judgement(claim, cited):
                judgements.append(same)
            elif lacks := missing_facts(claim.text, cited, sources):
                reason = Notice.several(lacks)
                judgements.append(Judgement(claim_id=claim.id, verdict="not_judged", reason=reason, confidence=0))
        return Judgements(judgements=tuple(judgements))


def _verbatim_judgement(claim: Claim, cited: Sequence[Evidence]) -> Judgement | None:
    for passage in cited:
        if span := find_verbatim(claim.text, passage):
            return Judgement(
                claim_id=claim.id,
                verdict="supported",
                quote=passage.quote[slice(*span)],
                evidence_id=passage.id,
                reason=Notice("the passage states it in the same words", "same_words"),
            )
    return None


def missing_facts(
    claim: str,
    cited: Sequence[Evidence],
    sources: Mapping[str, Source],
    quote: str = "",
    names: Sequence[str] = (),
    question: str = "",
) -> list[Notice]:
    """Return the numbers, dates and quotations of a claim that are in none of its passages.

    Notations may differ. `quote` are the words quoted by a judge: values computed from them count too, and so do sums
    of two figures of the passages and small numbers that count the items of a list. `names` have numbers as their
    parts. A number of the `question` is missing only if the quote has another number of its unit, which the claim
    has not: `Is it true that it cost 45 million?` Without a passage the result is empty.
    """
    if not cited:
        return []
    texts = list(_passage_texts(cited, sources))
    shown = values_of(quote) if quote else Values(())
    lists = [*(passage.quote for passage in cited), quote]
    numbers = [
        number
        for number in missing_numbers(claim, [quote, *texts])
        if not (shown.computes(number) or (quote and values_of("\n\n".join(lists)).adds(number)))
        and not (quote and _is_presupposed(number, question, claim, shown))
        and not any(_is_item_count(number, text) for text in lists)
        and not any(_is_in_name(number, claim, name) for name in names)
    ]
    not_occurring = "“{value}” does not occur in the cited passages"
    not_quoted = "the quoted text “{text}” does not occur in the cited passages"
    return [
        *(Notice(not_occurring, "not_occurring", value=number.text) for number in numbers),
        *(Notice(not_quoted, "not_quoted", text=text) for text in missing_quotations(claim, texts)),
    ]


def _passage_texts(cited: Sequence[Evidence], sources: Mapping[str, Source]) -> Iterator[str]:
    """Yield the cited passages with their headings, and the titles, dates and numbers of the addresses of sources."""
    for passage in cited:
        yield "\n".join((*passage.path, passage.lead, passage.quote))
    named = {p.source_id: sources[p.source_id] for p in cited if p.source_id in sources}.values()
    for source in named:
        known = (source.document.title, source.hit.title, source.hit.published, source.document.published)
        yield "\n".join(filter(None, (*known, *_PLAIN.findall(source.hit.url))))


def _is_item_count(number: Number, text: str) -> bool:
    """Return whether a number is the count of items in a list of a text."""
    value = number.value
    if number.kind != "number" or value % 1 or not 2 <= value <= _MOST_COUNTED:
        return False
    items = len(_LIST_ITEM.findall(text))
    return items == value or (items == 0 and len(_SEPARATOR.findall(text)) + 1 >= value)


def _is_presupposed(number: Number, question: str, claim: str, quote: Values) -> bool:
    """Return whether a number is from the question, and the quote has no other number in its place."""
    if not question or not values_of(question).holds(number):
        return False
    stated = values_of(claim)
    return not any(other.dimension == number.dimension and not stated.holds(other) for other in quote.numbers)


def _is_in_name(number: Number, claim: str, name: str) -> bool:
    """Return whether a number without a unit follows a capital or a label in a name of a claim: `PostgreSQL 15`."""
    at = claim.find(name)
    if not name or at < 0 or not (at <= number.start and number.end <= at + len(name)):
        return False
    word = "".join(claim[: number.start].split()[-1:])
    return bool(_PLAIN.fullmatch(number.text)) and (any(map(str.isupper, word)) or word in forms("captions"))
