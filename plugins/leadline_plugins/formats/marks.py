"""Marks at the claims of a report: signs, legend, list of failures, and places in the Markdown.

`with_tokens` puts a token after each judged claim. The parser reads it as an inline, and the Markdown format replaces
it with the sign, so that all formats have the marks at the same places.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby

from leadline.citations import uncited, unenclosed
from leadline.records import Report, Section
from leadline.rendering import VERDICTS
from leadline_plugins.formats.blocks import BEGINS, plain_text
from leadline_plugins.formats.report_markdown import TOKEN, with_tokens
from leadline_plugins.wording.notices import translate_notice
from leadline_plugins.wording.phrases import in_all_languages, join_items, phrase

KINDS = tuple(VERDICTS)
# Where the words of the claim are underlined.
_DOUBTFUL = [kind for kind, form in VERDICTS.items() if form.tone in ("bad", "doubt") and kind != "uncited"]
_QUOTES = '"“‘「『(（'
# Ids of the section that answers the question, which many readers read alone.
ANSWERS = ("summary", "answer")
# Characters of a claim that the list of checks shows.
_BEGINNING = 200
_ALL = "".join(verdict.sign for verdict in VERDICTS.values())
_SHOWN = re.compile(rf"(?<=\d\])[{_ALL}]+|\[[{_ALL}]+\]")
_TOKENS = re.compile(rf"(?:{TOKEN.pattern})+")


@dataclass(frozen=True)
class Mark:
    """A judged claim, or a paragraph without a citation."""

    # From 1, in the order of the records; part of its anchors.
    number: int
    # A verdict, or `uncited`.
    kind: str
    section_id: str
    span: tuple[int, int]
    text: str
    evidence_ids: tuple[str, ...] = ()
    quote: str = ""
    evidence_id: str = ""
    reason: str = ""
    judge: str = ""
    # Whether a judge reported findings without a decision.
    has_findings: bool = False

    @property
    def sign(self) -> str:
        """The sign; empty for a supported claim."""
        return VERDICTS[self.kind].sign

    def description(self, language: str) -> str:
        """Return the verdict, the reason and the judge."""
        why = self.explanation(language)
        return phrase(self.kind, language) + (f"{phrase('colon', language)}{why}" if why else "")

    @property
    def listed(self) -> bool:
        """Whether the list of checks shows it; claims that were only not judged are left out."""
        return bool(self.sign) and (self.kind != "not_judged" or self.has_findings)

    def explanation(self, language: str) -> str:
        """Return the reason and the judge; empty if neither is known."""
        judge = phrase("judge", language, judge=self.judge) if self.judge else ""
        return join_items(filter(None, (self.reason, judge)), language, "semicolon")


def marks_of(report: Report) -> tuple[Mark, ...]:
    """Return the marks of a report: verdicts, then uncited paragraphs."""
    return tuple(_marks(report))


def _marks(report: Report) -> Iterator[Mark]:
    for number, item in enumerate(report.verdicts, start=1):
        claim, reasons = item.claim, [item.reason, *(item.claim.findings if item.verdict == "not_judged" else ())]
        parts = [part for reason in reasons for part in reason.parts]
        yield Mark(
            number=number,
            kind=item.verdict,
            section_id=claim.section_id,
            span=claim.span,
            text=_shortened(claim.text),
            evidence_ids=claim.evidence_ids,
            quote=item.quote,
            evidence_id=item.evidence_id,
            reason="; ".join(dict.fromkeys(translate_notice(part, report.language) or part for part in parts if part)),
            judge=item.judge,
            has_findings=bool(claim.findings),
        )
    for number, bare in enumerate(report.uncited, start=len(report.verdicts) + 1):
        yield Mark(number, "uncited", bare.section_id, bare.span, _shortened(bare.text))


def _shortened(markdown: str) -> str:
    text = plain_text(uncited(unenclosed(" ".join(markdown.split())))).strip("| ").replace(" | ", " · ")
    return text if len(text) <= _BEGINNING else f"{text[:_BEGINNING].rsplit(' ', 1)[0]} …"


def summary(marks: Sequence[Mark], language: str) -> str:
    """Return a summary of the verdicts; empty for a report without verdicts."""
    return join_items(_summary(marks, language), language, "space")


def _summary(marks: Sequence[Mark], language: str) -> Iterator[str]:
    counts = Counter(mark.kind for mark in marks)
    bare = counts.pop("uncited", 0)
    if against := [mark.text for mark in marks if mark.section_id in ANSWERS and mark.kind == "contradicted"]:
        what = (text.rstrip(".。") for text in dict.fromkeys(against))
        yield phrase("summary_contradicted", language, what=join_items(what, language, "semicolon"))
    if counts.keys() == {"not_judged"}:
        yield phrase("none_judged", language, total=counts.total())
    elif counts:
        what = (f"{phrase(kind, language)} {counts[kind]}" for kind in reversed(KINDS) if counts[kind])
        yield phrase("checked", language, total=counts.total(), what=join_items(what, language))
    if bare:
        uncited_count = phrase("bare", language, count=bare)
        yield f"{uncited_count[:1].upper()}{uncited_count[1:]}{phrase('stop', language)}"


def legend(marks: Sequence[Mark], language: str) -> str:
    """Return the meaning of the signs in a report; empty without signs."""
    used = {mark.kind for mark in marks}
    what = [f"{form.sign} {phrase(kind, language)}" for kind, form in VERDICTS.items() if kind in used and form.sign]
    return phrase("marks", language, what=join_items(what, language)) if what else ""


def failures(marks: Sequence[Mark]) -> list[list[Mark]]:
    """Return the marks of the list of checks, worst first, grouped by text and verdict."""

    def key(mark: Mark) -> tuple[int, str]:
        return KINDS.index(mark.kind), mark.text

    first = {key(mark): mark.number for mark in reversed(marks)}
    named = sorted(filter(lambda mark: mark.listed, marks), key=lambda mark: (key(mark)[0], first[key(mark)]))
    return [list(group) for _, group in groupby(named, key)]


def has_heading(section: Section, report: Report) -> bool:
    """Return whether a section shows its heading: the first does not if it repeats the report's title."""
    return _folded(section.title) != _folded(report.title) or section is not report.sections[0]


def _folded(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()


def section_texts(section: Section, marks: Iterable[Mark], language: str, *, begins: bool = False) -> Iterator[str]:
    """Yield the Markdown of a section: its text, then each inference, which is parsed separately.

    The claims are followed by tokens; with `begins`, a token of the verdict precedes those that are not supported.
    """
    own, text = [mark for mark in marks if mark.section_id == section.id], section.text or ""
    places = [(mark.number, mark.span) for mark in own]
    if begins:
        doubtful = (mark for mark in own if mark.kind in _DOUBTFUL and _begins_text(text, mark.span[0]))
        places += ((BEGINS + KINDS.index(mark.kind), (mark.span[0], mark.span[0])) for mark in doubtful)
    yield with_tokens(text, places)
    for inference in section.inferences:
        yield f"> *{phrase('inference', language)}* {' '.join(inference.split())}"


def _begins_text(text: str, index: int) -> bool:
    """Return whether a claim begins with words, outside a table: elsewhere a token would change the Markdown."""
    line = text.rfind("\n", 0, index) + 1
    first, in_table = text[index : index + 1], text[line:index].lstrip(" \t>").startswith("|")
    return (first.isalnum() or (first != "" and first in _QUOTES)) and not in_table


def with_signs(markdown: str, marks: Sequence[Mark]) -> str:
    """Return Markdown with signs in place of tokens: in brackets, except after a bracketed number."""

    def sign(run: re.Match[str]) -> str:
        signs = "".join(dict.fromkeys(marks[int(number) - 1].sign for number in TOKEN.findall(run[0])))
        return f"[{signs}]" if signs and run.string[run.start() - 1 : run.start()] != "]" else signs

    return _TOKENS.sub(sign, markdown)


def without_signs(markdown: str) -> str:
    """Return a Markdown report of Leadline without its signs and their legend; other Markdown unchanged."""
    plain = _legend().sub("", markdown)
    return markdown if plain == markdown else _SHOWN.sub("", plain)


@cache
def _legend() -> re.Pattern[str]:
    begins = "|".join(re.escape(phrase.partition("{")[0]) for phrase in in_all_languages("marks"))
    return re.compile(rf"^\*(?:{begins}).*\*\n\n", re.MULTILINE)
