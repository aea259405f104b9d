"""A passage of a report in its stored source, with the verdicts on the claims that cite it."""

from __future__ import annotations

from collections.abc import Iterator

from leadline.records import Evidence, Report, Verdict
from leadline_server.problems import Problem
from leadline_server.views import EvidenceView, SourceView, VerdictView

# Joins the parts of a judge's quote: see `leadline.records.Judgement`.
_GAP = " […] "


def evidence_view(report: Report, evidence_id: str, context: int) -> EvidenceView:
    """Return a passage with `context` characters of its source on either side. Raises `Problem`."""
    passage = next((passage for passage in report.evidence if passage.id == evidence_id), None)
    source = next((source for source in report.sources if passage and source.id == passage.source_id), None)
    if passage is None or source is None:
        raise Problem(404, "not_found", "the report has no such passage")
    text, (start, end) = source.document.text, passage.span
    first = max(0, start - context)
    hit = source.hit
    return EvidenceView(
        **passage.model_dump(include={"id", "quote", "span", "path", "page", "lead"}),
        source=SourceView(
            id=source.id,
            url=hit.url,
            title=hit.title or source.document.title,
            engine=source.engine,
            tier=source.tier,
            published=hit.published or source.document.published,
        ),
        text=text[first : end + context],
        text_begins=first,
        text_length=len(text),
        verdicts=tuple(
            _verdict(verdict, passage)
            for verdict in report.verdicts
            if evidence_id in (verdict.evidence_id, *verdict.claim.evidence_ids)
        ),
    )


def _verdict(verdict: Verdict, passage: Evidence) -> VerdictView:
    return VerdictView(
        claim=verdict.claim.text,
        spans=tuple(_spans(verdict.quote, passage)),
        **verdict.model_dump(include={"verdict", "quote", "reason", "confidence", "judge"}),
    )


def _spans(quote: str, passage: Evidence) -> Iterator[tuple[int, int]]:
    """Yield the places of the judge's words, as far as they are in this passage."""
    for part in filter(None, quote.split(_GAP)):
        start = passage.quote.find(part)
        if start >= 0:
            yield passage.span[0] + start, passage.span[0] + start + len(part)
