"""Read `paragraphs.jsonl`, to check it alone: against the passages of a run, or as a report with a list of sources."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from pydantic import ValidationError

from leadline.citations import CITATION, cite, cited
from leadline.errors import UsageError
from leadline.records import Report, Section
from leadline_plugins.verification.claims import Paragraph

_FIELDS = "id, section_id, text, cite_ids, states, ends_with_citation"


def read_paragraphs(text: str, name: str) -> list[Paragraph]:
    """Return the lines of a file. Raises `UsageError` for the first line that is none, or a repeated id."""
    lines: list[Paragraph] = []
    seen: set[str] = set()
    for number, row in enumerate(text.splitlines(), start=1):
        if not row.strip():
            continue
        try:
            line = Paragraph.model_validate(json.loads(row))
        except (ValueError, ValidationError) as error:
            problem = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
            raise UsageError(f"{name}, line {number}: {problem}; a line is a JSON object with {_FIELDS}") from None
        if line.id in seen:
            raise UsageError(f"{name}, line {number}: the id {line.id!r} occurs twice")
        seen.add(line.id)
        lines.append(line)
    if not lines:
        raise UsageError(f"{name} has no paragraph: give the paragraphs.jsonl of a run")
    return lines


def with_paragraphs(report: Report, lines: Iterable[Paragraph]) -> Report:
    """Return the report of a run with the text of these paragraphs, citing the passages that they name."""
    titles = {section.id: section.title for section in report.sections}
    sections = tuple(
        Section(id=name, title=titles.get(name, ""), text="\n\n".join(map(_with_ids, group)))
        for name, group in groupby(lines, key=lambda line: line.section_id)
    )
    return report.model_copy(update={"sections": sections, "figures": (), "verdicts": (), "uncited": ()})


def _with_ids(line: Paragraph) -> str:
    """Return a paragraph with citations of exactly its `cite_ids`, which the file may name without placing them."""
    placed = cited(line.markdown)
    return f"{line.markdown or _text(line)}{''.join(cite(name) for name in line.cite_ids if name not in placed)}"


def paragraphs_as_markdown(lines: Sequence[Paragraph]) -> str:
    """Return the paragraphs as a report whose list of sources has the ids, so that files can be matched to them."""
    numbers = {name: str(place) for place, name in enumerate(_ids(lines), start=1)}

    def with_numbers(line: Paragraph) -> str:
        return CITATION.sub(lambda match: "".join(f"[{numbers[name]}]" for name in cited(match[0])), _with_ids(line))

    entries = [f"[{place}] {name}" for name, place in numbers.items()]
    return "\n\n".join(["# Paragraphs", *map(with_numbers, lines), "## References", "\n".join(entries)]) + "\n"


def _ids(lines: Iterable[Paragraph]) -> Iterator[str]:
    yield from dict.fromkeys(name for line in lines for name in (*line.cite_ids, *cited(line.markdown)))


def _text(line: Paragraph) -> str:
    return f"{' '.join(line.text.split())} "
