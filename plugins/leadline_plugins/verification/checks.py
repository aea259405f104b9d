"""The checks of a report, as `verify.json` and `paragraphs.jsonl` hold them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from leadline.citations import cited
from leadline.findings import FAILED, Ground, IndexEntry, Repair, Verification
from leadline.records import Confidence, Report, Uncited, Verdict, VerdictKind
from leadline_plugins.verification.claims import Paragraph

REQUIRED: Sequence[VerdictKind] = (*FAILED, "not_judged")
"""The verdicts that fail a report with `verify.require_support`."""
_SURE = 0.9
"""From this confidence on a supported claim is of high confidence."""


def verification(
    report: Report,
    verdicts: Sequence[Verdict],
    uncited: Sequence[Uncited],
    require_support: bool,
    repairs: tuple[Repair, ...] = (),
) -> Verification:
    """Return the checks of a report."""
    known = {item.id for item in report.evidence}
    used = [name for section in report.sections for name in cited(section.text or "")]
    unknown = sorted({name for name in used if name not in known})
    counts = Counter(one.verdict for one in verdicts)
    wrong: Mapping[Ground, bool] = {
        "no_claims": not verdicts,
        "unknown_ids": bool(unknown),
        "uncited": bool(uncited),
        "unsupported": require_support and any(counts[kind] for kind in REQUIRED),
    }
    return Verification(
        report_passed=bool(verdicts),
        paragraphs_jsonl_cite_ids_passed=not unknown,
        paragraph_end_citation_passed=not uncited,
        paragraph_without_citation_count=len(uncited),
        passed=not any(wrong.values()),
        grounds=tuple(ground for ground, holds in wrong.items() if holds),
        claims=dict(counts),
        judged_by=dict(Counter(one.judge for one in verdicts if one.judge)),
        unknown_ids=tuple(unknown),
        verdicts=tuple(verdicts),
        uncited=tuple(uncited),
        repairs=repairs,
        evidence_index=tuple(_index(report, verdicts)),
    )


def _index(report: Report, verdicts: Iterable[Verdict]) -> Iterable[IndexEntry]:
    sources = {item.id: item.source_id for item in report.evidence}
    for one in verdicts:
        if one.verdict in ("supported", "partial"):
            ids = dict.fromkeys(sources[name] for name in one.claim.evidence_ids if name in sources)
            yield IndexEntry(claim=one.claim.text, source_ids=tuple(ids), quote=one.quote, confidence=_confidence(one))


def _confidence(verdict: Verdict) -> Confidence:
    if verdict.verdict == "partial":
        return "low"
    return "high" if verdict.confidence >= _SURE else "medium"


def paragraph_lines(paragraphs: Iterable[Paragraph]) -> str:
    """Return `paragraphs.jsonl`: one paragraph, list or table a line."""
    rows = (
        {
            "id": one.id,
            "section_id": one.section_id,
            "text": one.text,
            "cite_ids": list(one.cite_ids),
            "states": one.states,
            "ends_with_citation": one.ends_with_citation,
        }
        for one in paragraphs
    )
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
