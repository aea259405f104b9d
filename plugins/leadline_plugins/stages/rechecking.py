"""A run's report held again against the sources that the run stored with it: what `leadline verify RUN` shows.

It is judged as the run judged it: by the passages each sentence cites, not by whatever their sources say elsewhere; and
a paragraph that ends without a citation fails it.
What somebody wrote into its file since then cites whole sources, and is judged as another tool's report is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from leadline.citations import Numbered, cited, number
from leadline.findings import Unjudged, Verdict, Verification
from leadline.records import Report, Source
from leadline_plugins.checks.quotes import plain, squeezed
from leadline_plugins.citing.checking import CheckedClaim, CheckedReport, Wanted, check, resummed, summed
from leadline_plugins.stages.claims import claims_of
from leadline_plugins.stages.library import Library
from leadline_plugins.stages.paragraphs import paragraphs
from leadline_plugins.stages.verdicts import by_rule, is_open


def recheck(report: Report, markdown: str = "") -> CheckedReport:
    """Return the verdicts on a run's report. `markdown` is it as a file, which may have been changed since."""
    parts, numbered = paragraphs(report), number(report)
    known = {item.id for item in report.evidence}
    said = list(_claims(report, numbered))
    own = summed(
        title=report.title,
        marks=sum(len(cited(part.text)) for part in parts),
        sources=tuple(_wanted(key, source) for key, source in numbered.cited),
        claims=tuple(claim for _, claim in said),
        dangling=tuple(dict.fromkeys(name for part in parts for name in part.cite_ids if name not in known)),
        uncited_sources=tuple(str(key) for key, _ in numbered.additional),
        bare=sum(part.states and not part.ends_with_citation for part in parts),
        strict=True,
    )
    return _changed(own, said, markdown, report, numbered) if markdown else own


def _wanted(key: int, source: Source) -> Wanted:
    return Wanted(key=str(key), text=source.hit.title, urls=(source.hit.url,))


def _claims(report: Report, numbered: Numbered) -> Iterator[tuple[str, CheckedClaim]]:
    """Yield what stands in the text, and the verdict on it; of what only a model could judge, that of the run's model.

    What the run counted as a remark is none of the claims.
    """
    quotes = {item.id: " ".join(item.quote.split()) for item in report.evidence}
    verdicts, unjudged = _recorded(report)
    remarks = {_place(one.section_id, one.text) for one in unjudged if one.kind == "remark"}
    before = {key: one for one in verdicts if one.by == "model" for key in _keys(one)}
    library = Library(report)
    for claim in (one for one in claims_of(report) if _place(one.section_id, one.shown) not in remarks):
        for found in by_rule([claim], library):
            known = (before[key] for key in _keys(found) if key in before) if is_open(found) else iter(())
            told = next(known, found)
            yield (
                claim.text,
                CheckedClaim(
                    claim=claim.shown,
                    source=_keys_of(found, numbered),
                    verdict=told.verdict,
                    reason=told.reason,
                    confidence=told.confidence,
                    passage="\n".join(quotes[name] for name in found.cites if name in quotes),
                    by=told.by,
                    own=claim.own,
                ),
            )


def _place(section_id: str, text: str) -> tuple[str, str]:
    return section_id, plain(text)


def _keys_of(verdict: Verdict, numbered: Numbered) -> str:
    """Return the numbers of all sources that a claim cites."""
    return ", ".join(
        dict.fromkeys(str(numbered.by_evidence[name]) for name in verdict.cites if name in numbered.by_evidence)
    )


def _keys(verdict: Verdict) -> Iterator[tuple[str | tuple[str, ...], ...]]:
    """Yield what a verdict is known by, the narrowest first: older versions have the first of what is cited alone."""
    said = plain(verdict.claim)
    yield verdict.section_id, said, verdict.cites, verdict.beside
    yield said, verdict.cites
    yield said, (verdict.evidence_id,)


def _recorded(report: Report) -> tuple[tuple[Verdict, ...], tuple[Unjudged, ...]]:
    found = report.metadata.get("verification")
    recorded = Verification.model_validate(found) if found else None
    return (recorded.verdicts, recorded.unjudged) if recorded else ((), ())


def _changed(
    own: CheckedReport, claims: Sequence[tuple[str, CheckedClaim]], markdown: str, report: Report, numbered: Numbered
) -> CheckedReport:
    """Return what holds of the file: without the claims that it lacks, and with those that the run did not write."""
    documents = {str(key): source.document for key, source in (*numbered.cited, *numbered.additional)}
    file = check(markdown, documents)
    said, written = _letters(_shown(report, numbered)), _letters(markdown)
    kept = (claim for text, claim in claims if _letters(text) in written)
    added = (claim for claim in file.claims if _letters(claim.text) not in said)
    return resummed(file, (*kept, *added), own.paragraphs_without_citation, strict=True)


def _shown(report: Report, numbered: Numbered) -> str:
    return "\n\n".join(numbered.render(section.text or "", lambda _: "") for section in report.sections)


def _letters(text: str) -> str:
    """Return a text without anything that a format may write otherwise: marks of emphasis, quotation marks, space."""
    return re.sub(r"[\W_]+", "", squeezed(text).bare)
