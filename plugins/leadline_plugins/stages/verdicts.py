"""Verdicts: does the cited passage stand in its source, and does it bear the claim?

Without a model the measure is exact: a claim that is its quote is supported; whether another wording follows from the
quote is not judged here, and the verdict says so.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping

from leadline.citations import sentences_cited
from leadline.findings import Verdict, VerdictKind
from leadline.records import Evidence, Report
from leadline_plugins.stages.paragraphs import Paragraph

_MARKUP = re.compile(r"\\(?=[\\`*_{}\[\]()#+\-.!|<>~$&])|^(?:>|[-*+]|\d+[.)])\s+", re.MULTILINE)


def verdicts(parts: Iterable[Paragraph], report: Report) -> Iterator[Verdict]:
    """Yield a verdict for each citation of the paragraphs that points at known evidence."""
    evidence = {item.id: item for item in report.evidence}
    texts = {source.id: source.document.text for source in report.sources}
    for part in parts:
        yield from _of_paragraph(part, evidence, texts)


def _of_paragraph(part: Paragraph, evidence: Mapping[str, Evidence], texts: Mapping[str, str]) -> Iterator[Verdict]:
    count = 0
    for claim, names in sentences_cited(part.text):
        for item in (evidence[name] for name in names if name in evidence):
            count += 1
            verdict, reason = judge(claim, item, texts.get(item.source_id))
            yield Verdict(
                id=f"{part.id}.{count}",
                section_id=part.section_id,
                evidence_id=item.id,
                claim=plain(claim),
                verdict=verdict,
                reason=reason,
                confidence=0.5 if verdict == "partial" else 1.0,
            )


def judge(claim: str, evidence: Evidence, text: str | None) -> tuple[VerdictKind, str]:
    """Return the verdict on one claim and its reason; `text` is the stored copy of the source, if there is one."""
    if text is None:
        return "unsupported", "the source is not in the report"
    start, end = evidence.span
    if text[start:end] != evidence.quote:
        return "unsupported", "the quote does not stand in the source"
    if plain(claim) in plain(evidence.quote):
        return "supported", "the claim is the quote, word for word"
    return "partial", "the quote stands in the source; whether it bears the claim was not judged (no model)"


def plain(text: str) -> str:
    """Return a text without the differences that do not count: Markdown escapes, white space, Unicode forms."""
    return " ".join(unicodedata.normalize("NFKC", _MARKUP.sub("", text)).split())
