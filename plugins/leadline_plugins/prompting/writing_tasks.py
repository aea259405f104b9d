"""Requests and replies of the task that writes the report."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated

from leadline.records import SINGLE, Record, Text
from leadline.research_findings import Question
from leadline_plugins.prompting.inputs import bullet_list, paragraphs, question_text
from leadline_plugins.prompting.numbered_passages import ShownSource, only_passages, passages_text
from leadline_plugins.text import is_cjk

# Passages that are named for a section; it may use any other.
_MOST_NAMED = 12


class OutlinedSection(Record):
    """A planned section as writers see it, with the numbers of the passages that were selected for it, best first."""

    id: str
    title: Text
    goal: Text = ""
    questions: tuple[Text, ...] = ()
    passages: tuple[int, ...] = ()


class Disagreement(Record):
    """Passages that say different things about a subject, by number; `primary` is that of the primary source, or 0."""

    about: Text
    passages: tuple[int, ...]
    primary: int = 0


class SectionText(Record):
    """A written section or part, which cites passages by number; without an id the only one asked for."""

    id: str = ""
    text: Text


class PartToWrite(Record):
    """A section or part to write; `length` is in words (CJK: characters), 0 for any."""

    id: str
    length: int = 0


class SynthesizeRequest(Record):
    """Asks for the text of some parts of a report. All but the last fields are the same for all parts."""

    question: Question
    today: str = ""
    scope: Text = ""
    form: Text = ""
    outline: tuple[OutlinedSection, ...]
    sources: tuple[ShownSource, ...]
    # Ids of the passages, best first: the last are left out if they exceed a model's context.
    best_first: tuple[str, ...] = ()
    conflicts: tuple[Disagreement, ...] = ()
    figures: tuple[Text, ...] = ()
    # The parts that are written already, and the conclusions of their writers.
    written: tuple[SectionText, ...] = ()
    inferences: tuple[Text, ...] = ()
    wanted: tuple[PartToWrite, ...] = ()

    def as_text(self) -> str:
        """Return the inputs as prompt text, which begins alike for all parts, so that vendors' caches hit."""
        figures = [f"Figure {number}: {caption}" for number, caption in enumerate(self.figures, start=1)]
        return paragraphs(
            question_text(self.question, self.today),
            f"Scope: {self.scope}" if self.scope else "",
            f"Form: {self.form}" if self.form else "",
            "\n".join(("Sections of the report:", *self._outline())),
            "\n".join(bullet_list("Where sources disagree", self._conflicts())),
            passages_text(self.sources),
            "\n".join(bullet_list("Charts of the report", figures)),
            *(f'<section id="{part.id}">\n{part.text}\n</section>' for part in self.written),
            "\n".join(bullet_list("Conclusions of the writers that no passage states", self.inferences)),
            f"Write now:\n{json.dumps({'sections': list(self._parts())}, ensure_ascii=False)}",
        )

    def _outline(self) -> Iterator[str]:
        for section in self.outline:
            goal = f" ({section.goal})" if section.goal not in ("", section.title) else ""
            yield f"Section {section.id}: {section.title}{goal}"
            yield from (f"- {question}" for question in section.questions if question != section.title)

    def _conflicts(self) -> Iterator[str]:
        for conflict in self.conflicts:
            numbers = " and ".join(f"[{number}]" for number in conflict.passages)
            primary = f"; [{conflict.primary}] is the primary source" if conflict.primary else ""
            yield f"{conflict.about}: {numbers}{primary}"

    def _parts(self) -> Iterator[dict[str, object]]:
        unit = "characters" if is_cjk(self.question.language) else "words"
        shown = {passage.number for source in self.sources for passage in source.passages}
        passages = {section.id: [number for number in section.passages if number in shown] for section in self.outline}
        for part in self.wanted:
            length = {unit: part.length} if part.length else {}
            best = {"passages": passages[part.id][:_MOST_NAMED]} if part.id in passages else {}
            yield {"id": part.id, **length, **best}


def shrunk(inputs: SynthesizeRequest) -> SynthesizeRequest | None:
    """Return the inputs with less material, numbers unchanged; None if nothing more can be left out.

    First only the passages of the wanted sections stay, those that written sections cite, and those in conflict; then
    the better half of them; at last, the first half of the paragraphs of each written section.
    """
    wanted = {part.id for part in inputs.wanted}
    own = {number for section in inputs.outline if section.id in wanted for number in section.passages}
    own |= {number for conflict in inputs.conflicts for number in conflict.passages}
    ids = {
        passage.id
        for source in inputs.sources
        for passage in source.passages
        if passage.number in own or any(f"[{passage.number}]" in part.text for part in inputs.written)
    }
    remaining = tuple(name for name in inputs.best_first if name in ids)
    if not remaining or len(remaining) == len(inputs.best_first):
        remaining = inputs.best_first[: len(inputs.best_first) // 2]
    if remaining:
        sources = only_passages(inputs.sources, remaining)
        return inputs.model_copy(update={"sources": sources, "best_first": remaining})
    parts = [part.text.split("\n\n") for part in inputs.written]
    if all(len(blocks) < 2 for blocks in parts):
        return None
    texts = ("\n\n".join(blocks[: -(-len(blocks) // 2)]) for blocks in parts)
    written = (part.model_copy(update={"text": text}) for part, text in zip(inputs.written, texts, strict=True))
    return inputs.model_copy(update={"written": tuple(written)})


class OpenQuestion(Record):
    """A question of a section that no passage answers."""

    section: str = ""
    question: Text


class Inference(Record):
    """A conclusion of the writer of a section."""

    section: str = ""
    inference: Text


class StatedFigure(Record):
    """A figure in the text, and the number of the passage that states it."""

    label: Text
    value: Text
    unit: Text = ""
    passage: int = 0


class WrittenSections(Record):
    """The written parts as Markdown that cites passages by number; a text is empty if the passages answer nothing."""

    sections: tuple[Annotated[SectionText, SINGLE], ...]
    unanswered: tuple[Annotated[OpenQuestion, SINGLE], ...] = ()
    inferences: tuple[Annotated[Inference, SINGLE], ...] = ()
    figures: tuple[Annotated[StatedFigure, SINGLE], ...] = ()


SYNTHESIZE_EXAMPLE = (
    '{"sections": [{"id": "2", "text": "Installation costs 12,000 euros on average [1]. In old houses it costs more, '
    'because the pipes must be replaced [2][3]."}], "unanswered": [{"section": "2", "question": "What does the '
    'electricity cost?"}], "inferences": [{"section": "2", "inference": "A subsidy of a third would make both systems '
    'equally expensive."}], "figures": [{"label": "average cost of installation", "value": "12,000", "unit": "euros", '
    '"passage": 1}]}'
)
