"""Whether the numbers, dates and quoted text of a claim occur in its sources: the one rule that overrules a judge."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from leadline.records import Evidence, Source
from leadline_plugins.verification.numbers import Number, Values, missing, values_of
from leadline_plugins.verification.quotes import misquoted

_MOST_COUNTED = 20
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s", re.MULTILINE)
_BETWEEN = re.compile(r"[,;、，；/]|\b(?:and|or|und|oder|et|ou|y|e|o)\b|[和与與及或と]")
"""What separates the things of a list inside a sentence."""


def lacking(claim: str, cited: Sequence[Evidence], sources: Mapping[str, Source], quote: str = "") -> list[str]:
    """Return what of a claim occurs nowhere in the sources of its passages; empty without a passage.

    Any notation counts. `quote` are the words on which a judge rests: what is computed from their values counts, too,
    and so does a small number of things that they list.
    """
    if not cited:
        return []
    texts = list(_texts(cited, sources))
    shown = values_of(quote) if quote else Values(())
    lists = [*(one.quote for one in cited), quote]
    numbers = [
        one
        for one in missing(claim, [*map(values_of, texts), shown])
        if not shown.computes(one) and not any(_counts(one, text) for text in lists)
    ]
    return [
        *(f"“{one.text}” does not occur in the cited source" for one in numbers),
        *(f"the quoted text “{said}” does not occur in the cited source" for said in misquoted(claim, texts)),
    ]


def _texts(cited: Sequence[Evidence], sources: Mapping[str, Source]) -> Iterator[str]:
    """Yield the whole text of each cited source, and what is known about it."""
    for passage in cited:
        yield "\n".join((*passage.path, passage.lead, passage.quote))
    for source in {one.source_id: sources[one.source_id] for one in cited if one.source_id in sources}.values():
        yield source.document.text
        known = (source.document.title, source.hit.title, source.hit.published, source.document.published)
        yield "\n".join(filter(None, known))


def _counts(number: Number, text: str) -> bool:
    """Return whether a small whole number is how many things a text lists."""
    value = number.value
    if number.kind != "number" or value % 1 or not 2 <= value <= _MOST_COUNTED:
        return False
    items = len(_ITEM.findall(text))
    return items == value or (items == 0 and len(_BETWEEN.findall(text)) + 1 >= value)
