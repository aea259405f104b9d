"""Stage `condense`: removes statements that another section makes already, before anything is made of the sections.

A model names repetitions in other words, by their numbers; nothing is rewritten. What repeats an earlier statement word
for word is removed without a model.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated

from pydantic import JsonValue

from leadline.contracts import StageRun
from leadline.findings import Findings
from leadline.plugin import map_stage
from leadline.records import SINGLE, Blob, Claim, Notice, Record, Section, Text
from leadline.research_findings import EVIDENCE, QUESTION, SECTIONS, SOURCES
from leadline.tasks import TaskKind
from leadline.workers import compute
from leadline_plugins.prompting import estimates
from leadline_plugins.prompting.fallback import model_writes, perform_or
from leadline_plugins.prompting.inputs import bullet_list, paragraphs, template
from leadline_plugins.verification.claims import section_statements
from leadline_plugins.verification.number_parsing import find_numbers
from leadline_plugins.verification.repair import without_claims
from leadline_plugins.verification.repetition import Repetition, repetitions, without_repetitions
from leadline_plugins.verification.verdicts import prejudge

FILE = "repetition.json"
# The share of a section's statements that a model may remove.
_MOST = 0.4
# Pairs that the prompt names.
_NAMED = 40


class ShownStatement(Record):
    """A statement with its number, such as `4.7`."""

    number: str
    text: Text


class ShownSection(Record):
    """A section as its statements."""

    title: Text
    statements: tuple[ShownStatement, ...] = ()


class CondenseRequest(Record):
    """Asks which statements repeat another; `pairs` are numbers of statements that share words."""

    sections: tuple[ShownSection, ...]
    pairs: tuple[Text, ...] = ()

    def as_text(self) -> str:
        """Return the inputs as prompt text."""
        parts = (
            "\n".join((f"Section: {section.title}", *(f"{line.number} {line.text}" for line in section.statements)))
            for section in self.sections
        )
        return paragraphs(*parts, "\n".join(bullet_list("Look first at", self.pairs)))


class Repeat(Record):
    """A statement that can be removed, and the one that stays."""

    statement: str
    of: str


class Repeats(Record):
    """The repetitions."""

    repeats: tuple[Annotated[Repeat, SINGLE], ...] = ()


def _halved(request: CondenseRequest) -> CondenseRequest | None:
    """Return the request with the first half of each section's statements; None if only one is left."""
    halves = tuple(
        section.model_copy(update={"statements": section.statements[: -(-len(section.statements) // 2)]})
        for section in request.sections
    )
    return None if halves == request.sections else request.model_copy(update={"sections": halves})


TASK = TaskKind(
    "condense",
    CondenseRequest,
    Repeats,
    template("condense"),
    example='{"repeats": [{"statement": "4.7", "of": "2.3"}, {"statement": "5.1", "of": "1.2"}]}',
    show=CondenseRequest.as_text,
    shrink=_halved,
    expects=estimates.condense,
)


@map_stage(
    "Removes statements that another section makes already",
    over=SECTIONS,
    gives=SECTIONS,
    needs=(QUESTION,),
    wants=(EVIDENCE, SOURCES),
    uses=(TASK,),
)
class CondenseStage:
    """Reads all sections together; saves what it removed as `repetition.json`."""

    async def map(self, item: Section, findings: Findings, run: StageRun, /) -> Sequence[Section]:
        """Return nothing: `rest` returns the sections."""
        return ()

    async def rest(self, items: Sequence[Section], findings: Findings, run: StageRun, /) -> Sequence[Section]:
        """Return the sections without repeated statements. Of statements written by no model none is removed."""
        if not await model_writes(run):
            return items
        named = await self._named(items, run)
        condensed, removed = await compute(_condensed, tuple(items), tuple(named))
        await _save(removed, condensed, run)
        question, evidence, sources = findings[QUESTION], findings[EVIDENCE], findings[SOURCES]
        run.prefetch(prejudge(run, condensed, evidence, sources, question.language))
        return condensed

    async def _named(self, items: Sequence[Section], run: StageRun) -> Sequence[tuple[Claim, Claim]]:
        """Return the statements that the model calls repetitions, each with the one that stays."""
        claims = section_statements(items).claims
        numbers = numbered(items, claims)
        places = {claim.id: number for number, claim in numbers.items()}
        shared = await compute(repetitions, items)
        request = CondenseRequest(
            sections=tuple(
                ShownSection(
                    title=section.title,
                    statements=tuple(
                        ShownStatement(number=number, text=claim.text)
                        for number, claim in numbers.items()
                        if claim.section_id == section.id
                    ),
                )
                for section in items
            ),
            pairs=tuple(
                f"{places[repetition.earlier.id]} and {places[repetition.claim.id]}" for repetition in shared[:_NAMED]
            ),
        )
        notice = Notice("repetitions in other words were not looked for", "not_condensed")
        reply = await perform_or(run, TASK.of(request), Repeats(), notice, closing=True)
        return list(acceptable(reply.repeats, numbers))


def numbered(sections: Sequence[Section], claims: Iterable[Claim]) -> dict[str, Claim]:
    """Return the statements by numbers such as `4.7`: the place of the section, and that of the statement in it."""
    places = {section.id: number for number, section in enumerate(sections, start=1)}
    counts: Counter[str] = Counter()
    by_number = {}
    for claim in claims:
        counts[claim.section_id] += 1
        by_number[f"{places[claim.section_id]}.{counts[claim.section_id]}"] = claim
    return by_number


def acceptable(repeats: Iterable[Repeat], numbers: Mapping[str, Claim]) -> Iterator[tuple[Claim, Claim]]:
    """Yield the repetitions that can be removed without loss.

    Both statements exist, the one that stays is not removed itself, it has all numbers of the other, and the section of
    the other keeps most of its statements.
    """
    sizes = Counter(claim.section_id for claim in numbers.values())
    gone: Counter[str] = Counter()
    removed: set[str] = set()
    remaining: set[str] = set()
    for repeat in repeats:
        claim, stays = numbers.get(repeat.statement.strip()), numbers.get(repeat.of.strip())
        if claim is None or stays is None or claim.id == stays.id:
            continue
        if claim.id in (removed | remaining) or stays.id in removed or not _values(claim) <= _values(stays):
            continue
        if gone[claim.section_id] + 1 > _MOST * sizes[claim.section_id]:
            continue
        gone[claim.section_id] += 1
        removed.add(claim.id)
        remaining.add(stays.id)
        yield claim, stays


def _values(claim: Claim) -> frozenset[object]:
    return frozenset(number.readings for number in find_numbers(claim.text))


def _condensed(
    sections: tuple[Section, ...], named: tuple[tuple[Claim, Claim], ...]
) -> tuple[tuple[Section, ...], list[dict[str, JsonValue]]]:
    """Return the sections without repetitions, and what was removed."""
    rows: list[dict[str, JsonValue]] = [_row(claim, stays, "model") for claim, stays in named]
    sections = without_claims(sections, {claim.id for claim, _ in named})
    remaining, same = without_repetitions(sections)
    return remaining, [*rows, *(_row(repetition.claim, repetition.earlier, "words") for repetition in same)]


def _row(claim: Claim, stays: Claim, found_by: str) -> dict[str, JsonValue]:
    return {
        "section_id": claim.section_id,
        "removed": claim.text,
        "of_section_id": stays.section_id,
        "of": stays.text,
        "found_by": found_by,
    }


async def _save(removed: Sequence[dict[str, JsonValue]], remaining: Sequence[Section], run: StageRun) -> None:
    left: Sequence[Repetition] = await compute(repetitions, remaining)
    data = {
        "statements": len(section_statements(remaining).claims),
        "removed": list(removed),
        "shared": [
            _row(repetition.claim, repetition.earlier, "words") | {"words": repetition.words} for repetition in left
        ],
    }
    text = json.dumps(data, ensure_ascii=False, indent=1)
    await run.save(Blob(name=FILE, media_type="application/json", data=text.encode("utf-8", "replace")))
