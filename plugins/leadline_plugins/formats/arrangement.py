"""The order of a report in all formats: the answer, the sections, open questions, sources that disagree.

Figures stand after the block that first mentions them, and are numbered in this order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TypeVar

from leadline.citations import cite, cited
from leadline.records import REPORT_PARTS, Claim, Conflict, Figure, Report, Section, Uncited
from leadline.rendering import clean, plain_title, readable_url
from leadline_plugins.formats.marks import ANSWERS
from leadline_plugins.formats.passages import places
from leadline_plugins.formats.report_markdown import block_tokens
from leadline_plugins.text import content_set
from leadline_plugins.wording.phrases import in_all_languages, join_items, phrase

# Characters from which a report shows its contents, and entries up to which these have the headings of level 2.
LONG, FEW = 20_000, 15
FIGURE = re.compile(r"!\[[^\[\]]*\]\(figure:([^)\s]+)\)")
# Other names by which texts mention a figure.
_SHORT = ("Fig.", "Abb.", "Рис.", "рис.", "рисунке", "рисунок", "شكل")
# Possible markup; an underscore inside a word is none.
_MARKUP = re.compile(r"[\\`*\[\]<>]|&(?=#?\w+;)|(?<![^\W_])_|_(?![^\W_])")
T = TypeVar("T", Claim, Uncited)
# Ids of sections that repeat others; no figure stands in them for their citations.
_FRAME = (*ANSWERS, *REPORT_PARTS)
# A section, and the start and end of a block in its text.
TextBlock = tuple[Section, int, int]
# Start and end of what is replaced, and the text in its place.
Edit = tuple[int, int, str]


def arranged(report: Report) -> Report:
    """Return a report as it is shown: open questions and conflicts are its last sections, figures are in place."""
    report = with_figures_in_place(report)
    back = [
        _section(report, "open", _open_questions(report.sections)),
        _section(report, "disagree", _conflicts(report)),
    ]
    sections = [
        section.model_copy(update={"unanswered": ()}) if section.unanswered else section for section in report.sections
    ]
    return report.model_copy(update={"sections": (*sections, *filter(None, back)), "conflicts": ()})


def escaped(text: str) -> str:
    """Return a text in one line with its markup escaped."""
    return _MARKUP.sub(r"\\\g<0>", " ".join(clean(text).split()))


def _section(report: Report, name: str, items: Iterable[str]) -> Section | None:
    text = "\n".join(items)
    return Section(id=f"leadline-{name}", title=phrase(name, report.language), text=text) if text else None


def _open_questions(sections: Iterable[Section]) -> Iterator[str]:
    """Yield the open questions that no text mentions in the same words, each once."""
    known = [section for section in sections if section.unanswered]
    text = "".join((section.text or "").replace("\\", "") for section in known)
    for gap in dict.fromkeys(" ".join(item.split()) for section in known for item in section.unanswered):
        if gap not in text:
            yield f"- {gap}"


def _conflicts(report: Report) -> Iterator[str]:
    passages, sources = {item.id: item for item in report.evidence}, {item.id: item for item in report.sources}
    language = report.language

    def lines(conflict: Conflict) -> Iterator[str]:
        for passage in (passages[name] for name in dict.fromkeys(conflict.evidence_ids) if name in passages):
            if source := sources.get(passage.source_id):
                title = plain_title(source.hit.title) or readable_url(source.hit.url)
                role = phrase("primary", language) if passage.id == conflict.primary else ""
                parts = filter(None, (title, places([passage], source, language), role))
                yield f"  - {escaped(join_items(parts, language, 'semicolon'))} {cite(passage.id)}"

    for conflict in report.conflicts:
        if len(items := list(lines(conflict))) > 1:
            yield "\n".join((f"- {' '.join(conflict.about.split())}", *items))


# --- figures ---------------------------------------------------------------------------------------------------------


def with_figures_in_place(report: Report) -> Report:
    """Return a report whose text shows each figure once, and that numbers the figures and their mentions in order."""
    if not report.figures or not report.sections:
        return report
    numbers = {figure.id: number for number, figure in enumerate(report.figures, start=1)}
    edits = _insertions(report, numbers)
    texts = [_edited(section.text or "", edits.get(section.id, [])) for section in report.sections]
    order = list(dict.fromkeys(name for text in texts for name in FIGURE.findall(text) if name in numbers))
    new = {str(numbers[name]): str(number) for number, name in enumerate(order, start=1)}
    for section in report.sections:
        for mention in _mentions().finditer(section.text or ""):
            if new.get(mention[1], mention[1]) != mention[1]:
                edits.setdefault(section.id, []).append((*mention.span(1), new[mention[1]]))
    figures = {figure.id: figure for figure in report.figures}
    return _with_edits(report, edits).model_copy(update={"figures": tuple(figures[name] for name in order)})


def _insertions(report: Report, numbers: Mapping[str, int]) -> dict[str, list[Edit]]:
    """Return by section the figures that no text shows.

    They follow the block that first mentions them, or cites most of their passages, or the last one of their section.
    """
    shown = {name for section in report.sections for name in FIGURE.findall(section.text or "")}
    left = [figure for figure in report.figures if figure.id not in shown]
    blocks = (
        [(section, *span) for section in report.sections for span in _block_spans(section.text or "")] if left else []
    )
    mentions = dict.fromkeys(_mentions().findall("\n".join(section.text or "" for section in report.sections)))
    order = {number: index for index, number in enumerate(mentions)}
    edits: dict[str, list[Edit]] = {}
    for figure in sorted(left, key=lambda figure: order.get(str(numbers[figure.id]), len(order))):
        section, _, end = _home(figure, str(numbers[figure.id]), blocks)
        edits.setdefault(section.id, []).append((end, end, f"\n\n![](figure:{figure.id})"))
    return edits


def _home(figure: Figure, number: str, blocks: Sequence[TextBlock]) -> TextBlock:
    """Return the block that mentions a figure or cites most of its passages, else the last one of its section."""
    shown, terms = {*figure.evidence_ids}, content_set(f"{figure.caption} {figure.alt}")

    def fit(block: TextBlock) -> tuple[bool, int, bool, int]:
        section, start, end = block
        text = (section.text or "")[start:end]
        shared = len(shown & {*cited(text)}) if section.id not in _FRAME else 0
        words = len(terms & content_set(f"{section.title} {text}"))
        return number in _mentions().findall(text), shared, section.id == figure.section_id, words

    def belongs(block: TextBlock) -> tuple[bool, int, bool]:
        section = block[0]
        return section.id == figure.section_id, len(shown & {*section.evidence_ids}), section.id not in _FRAME

    best = max(blocks, key=fit)
    return best if any(fit(best)[:2]) else max(reversed(blocks), key=belongs)


def _block_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the blocks at the top level; a text without any has one that is empty."""
    lines = [0, *(match.end() for match in re.finditer(r"\n|\Z", text))]
    places = (token.map for token in block_tokens(text) if token.level == 0 and token.map)
    spans = [(lines[first], lines[last]) for first, last in places]
    yield from ((start, start + len(text[start:end].rstrip())) for start, end in spans or [(0, 0)])


def _edited(text: str, edits: Sequence[Edit]) -> str:
    # Of several at one position the first stays first.
    for start, end, new in sorted(edits, key=lambda edit: edit[0])[::-1]:
        text = text[:start] + new + text[end:]
    return text


def _with_edits(report: Report, edits: Mapping[str, list[Edit]]) -> Report:
    """Return a report with changed texts, in which claims and uncited paragraphs keep their places."""

    def moved(item: T) -> T:
        start, end = item.span
        own = edits.get(item.section_id, ())
        start += sum(len(new) - (last - first) for first, last, new in own if last <= item.span[0])
        end += sum(len(new) - (last - first) for first, last, new in own if first < item.span[1])
        return item.model_copy(update={"span": (start, end)})

    if not any(edits.values()):
        return report
    changed = {
        "sections": tuple(
            section.model_copy(update={"text": _edited(section.text or "", edits.get(section.id, ()))})
            for section in report.sections
        ),
        "verdicts": tuple(verdict.model_copy(update={"claim": moved(verdict.claim)}) for verdict in report.verdicts),
        "uncited": tuple(map(moved, report.uncited)),
    }
    return report.model_copy(update=changed)


@cache
def _mentions() -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(map(re.escape, (*in_all_languages('figure'), *_SHORT)))})\s*(\d{{1,9}})")
