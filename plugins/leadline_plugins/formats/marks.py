"""Marks at the claims of a report that are not supported: their signs, what they mean, and the list of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from leadline.citations import uncited, unenclosed
from leadline.records import Report
from leadline_plugins.formats.inlines import spoken
from leadline_plugins.wording import listed, say
from leadline_plugins.wording.notices import retold

KINDS = ("contradicted", "unsupported", "partial", "not_judged", "uncited", "supported")
"""The worst first."""
SIGNS: Mapping[str, str] = {
    "partial": "≈",
    "contradicted": "≠",
    "unsupported": "?",
    "not_judged": "○",
    "uncited": "†",
}
_SUMMARY = "summary"
"""Id of the section that most readers read alone."""
_BEGINNING = 200
"""Characters of a claim in the list of checks."""


@dataclass(frozen=True)
class Mark:
    """A judged claim, or a paragraph without a citation."""

    number: int
    """From 1, in the order of the records; names its anchors."""
    kind: str
    """A verdict, or `uncited`."""
    section_id: str
    span: tuple[int, int]
    text: str
    evidence_ids: tuple[str, ...] = ()
    quote: str = ""
    evidence_id: str = ""
    reason: str = ""
    judge: str = ""
    found: bool = False
    """Whether a judge found something against it without deciding."""

    @property
    def sign(self) -> str:
        """Its sign; empty for a supported claim."""
        return SIGNS.get(self.kind, "")

    def told(self, language: str) -> str:
        """Return its verdict, the reason and the judge."""
        why = self.why(language)
        return say(self.kind, language) + (f"{say('colon', language)}{why}" if why else "")

    @property
    def listed(self) -> bool:
        """Whether the list of checks names it: not where the only thing to say is that nobody judged it."""
        return bool(self.sign) and (self.kind != "not_judged" or self.found)

    def why(self, language: str) -> str:
        """Return the reason and the judge; empty where neither is known."""
        judge = say("judge", language, judge=self.judge) if self.judge else ""
        return listed(filter(None, (self.reason, judge)), language, "semicolon")


def marks_of(report: Report) -> tuple[Mark, ...]:
    """Return the marks of a report: of its verdicts, then of its uncited paragraphs."""
    return tuple(_marks(report))


def _marks(report: Report) -> Iterator[Mark]:
    for number, item in enumerate(report.verdicts, start=1):
        claim, reasons = item.claim, [item.reason, *(item.claim.findings if item.verdict == "not_judged" else ())]
        yield Mark(
            number=number,
            kind=item.verdict,
            section_id=claim.section_id,
            span=claim.span,
            text=_shortened(claim.text),
            evidence_ids=claim.evidence_ids,
            quote=item.quote,
            evidence_id=item.evidence_id,
            reason="; ".join(dict.fromkeys(retold(text, report.language) or text for text in reasons if text)),
            judge=item.judge,
            found=bool(claim.findings),
        )
    for number, bare in enumerate(report.uncited, start=len(report.verdicts) + 1):
        yield Mark(number, "uncited", bare.section_id, bare.span, _shortened(bare.text))


def _shortened(markdown: str) -> str:
    text = spoken(uncited(unenclosed(" ".join(markdown.split())))).strip("| ").replace(" | ", " · ")
    return text if len(text) <= _BEGINNING else f"{text[:_BEGINNING].rsplit(' ', 1)[0]} …"


def only_quotes(marks: Sequence[Mark]) -> bool:
    """Return whether a report consists of quotations alone, as a brief does: that they are supported says nothing."""
    return all(mark.kind == "supported" and mark.judge == "exact" for mark in marks)


def summary(marks: Sequence[Mark], language: str) -> str:
    """Return what the judges decided, the worst first; empty for a report that was not judged."""
    return listed(_summary(marks, language), language, "space")


def _summary(marks: Sequence[Mark], language: str) -> Iterator[str]:
    if only_quotes(marks):
        return
    counts = Counter(mark.kind for mark in marks)
    bare = counts.pop("uncited", 0)
    if against := [one.text for one in marks if (one.section_id, one.kind) == (_SUMMARY, "contradicted")]:
        what = (text.rstrip(".。") for text in dict.fromkeys(against))
        yield say("summary_contradicted", language, what=listed(what, language, "semicolon"))
    if counts.keys() == {"not_judged"}:
        yield say("none_judged", language, total=counts.total())
    elif counts:
        what = (f"{say(kind, language)} {counts[kind]}" for kind in reversed(KINDS) if counts[kind])
        yield say("checked", language, total=counts.total(), what=listed(what, language))
    if bare:
        told = say("bare", language, count=bare)
        yield f"{told[:1].upper()}{told[1:]}{say('stop', language)}"


def legend(marks: Sequence[Mark], language: str) -> str:
    """Return what the signs of a report mean; empty where it has none."""
    used = {mark.kind for mark in marks}
    what = [f"{SIGNS[kind]} {say(kind, language)}" for kind in KINDS if kind in used and kind in SIGNS]
    return say("marks", language, what=listed(what, language)) if what else ""


def failures(marks: Sequence[Mark]) -> list[list[Mark]]:
    """Return the marks that the list of checks names, worst first; those of the same words and verdict together."""

    def key(mark: Mark) -> tuple[int, str]:
        return KINDS.index(mark.kind), mark.text

    first = {key(mark): mark.number for mark in reversed(marks)}
    named = sorted(filter(lambda mark: mark.listed, marks), key=lambda mark: (key(mark)[0], first[key(mark)]))
    return [list(group) for _, group in groupby(named, key)]
