"""A report that rests on given quotes, for what checks, changes or renders reports."""

from __future__ import annotations

from collections.abc import Sequence

from leadline.records import Document, Evidence, Hit, Report, Section, Source


def quoting(*texts: str, quotes: Sequence[str]) -> Report:
    """Return a report with a section for each text; the quotes are cited as `[@e1]` and so on, and stand in one source.

    That source is `s1`; its text is nothing but the quotes, which are claims as they are.
    """
    spans, stored = [], " ".join(quotes)
    for quote in quotes:
        start = stored.index(quote)
        spans.append((start, start + len(quote)))
    return Report(
        title="Depth",
        language="en",
        sections=tuple(Section(id=str(n), title=f"Part {n}", text=text) for n, text in enumerate(texts, start=1)),
        sources=(Source(id="s1", hit=Hit(url="https://example.org/"), document=Document(text=stored)),),
        evidence=tuple(
            Evidence(id=f"e{n}", source_id="s1", quote=quote, span=span)
            for n, (quote, span) in enumerate(zip(quotes, spans, strict=True), start=1)
        ),
    )
