"""The comparison of two reports: their claims, the verdicts on these, and their sources."""

from __future__ import annotations

from collections.abc import Iterable

from leadline.records import Record, Report, Source, Verdict


class ChangedVerdict(Record):
    """A claim of both reports with different verdicts."""

    first: Verdict
    second: Verdict


class Comparison(Record):
    """Two reports compared: what only the first has, what only the second has, and what both have.

    Claims are equal if they have the same words; sources if they have the same address.
    """

    only_first: tuple[Verdict, ...]
    only_second: tuple[Verdict, ...]
    changed: tuple[ChangedVerdict, ...]
    same: tuple[Verdict, ...]
    sources_only_first: tuple[str, ...]
    sources_only_second: tuple[str, ...]
    sources_of_both: tuple[str, ...]


def compare(first: Report, second: Report) -> Comparison:
    """Return the comparison of two verified reports."""
    mine, others = _by_words(first.verdicts), _by_words(second.verdicts)
    both = [(mine[words], others[words]) for words in mine if words in others]
    urls, other_urls = _addresses(first.sources), _addresses(second.sources)
    return Comparison(
        only_first=tuple(one for words, one in mine.items() if words not in others),
        only_second=tuple(one for words, one in others.items() if words not in mine),
        changed=tuple(ChangedVerdict(first=a, second=b) for a, b in both if a.verdict != b.verdict),
        same=tuple(a for a, b in both if a.verdict == b.verdict),
        sources_only_first=tuple(url for url in urls if url not in other_urls),
        sources_only_second=tuple(url for url in other_urls if url not in urls),
        sources_of_both=tuple(url for url in urls if url in other_urls),
    )


def _by_words(verdicts: Iterable[Verdict]) -> dict[str, Verdict]:
    return {" ".join(one.claim.text.casefold().split()): one for one in verdicts}


def _addresses(sources: Iterable[Source]) -> dict[str, None]:
    return dict.fromkeys(source.hit.url for source in sources)
