"""Cut the Markdown of a report into claims, and find the paragraphs that end without a citation.

Sentences, list items, table rows (with their header cells) and whole blockquotes are claims; a judge decides which of
them assert nothing. A claim without a citation is covered by the next citation in its paragraph, list or table, and
by the one before it if another follows. No claims are questions, headings, code, and lead-ins to lists that have no
citation. The time is linear in the length of the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from pydantic import ValidationError

from leadline.citations import CITATION, cite
from leadline.citations import cited as cited_ids
from leadline.errors import UsageError
from leadline.records import Claim, Record, Report, Section, Table, Text, Uncited
from leadline_plugins.text import sentences
from leadline_plugins.verification.blocks import FENCE, ITEM, QUOTE, Block, blocks, row_cells, visible_text

_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"\w")
_BOLD = re.compile(r"\*\*[^*]+\*\*|__[^_]+__")
# Code in a sentence; the dots in it end no sentence.
_CODE = re.compile(r"(`+)[^`]+\1")
_NO_ENDS = str.maketrans(dict.fromkeys(".?!…。！？", "_"))
_LEADS = (":", "：")
_ASKS = ("?", "？", "؟")
_FIELDS = "id, section_id, text, cite_ids, states, ends_with_citation"


@dataclass(frozen=True)
class Statement:
    """A sentence, item, row or quotation; `cited` are the ids of the citations in it or right after it."""

    text: str
    start: int
    end: int
    block: Block
    cited: tuple[str, ...] = ()
    before: str = ""
    claims: bool = True


class Paragraph(Record):
    """A paragraph, list or table, as in `paragraphs.jsonl`. `states`: it makes a statement, and so needs a citation.

    `text` is what readers see; `markdown` has the citations in their places; without it they end the text.
    """

    id: str
    section_id: str = ""
    text: Text
    markdown: Text = ""
    cite_ids: tuple[str, ...] = ()
    states: bool = True
    ends_with_citation: bool = True


@dataclass
class Statements:
    """The claims, uncited paragraphs and paragraphs of sections."""

    claims: list[Claim] = field(default_factory=list)
    uncited: list[Uncited] = field(default_factory=list)
    paragraphs: list[Paragraph] = field(default_factory=list)

    def to_judge(self) -> list[Claim]:
        """Return the claims, and uncited paragraphs as claims without a citation, by section.

        Of these a judge only decides whether they assert something.
        """
        places = {section: index for index, section in enumerate(dict.fromkeys(p.section_id for p in self.paragraphs))}
        return sorted((*self.claims, *self.bare()), key=lambda claim: places[claim.section_id])

    def bare(self) -> Iterator[Claim]:
        """Yield the uncited paragraphs as claims without a citation."""
        return (Claim(id=s.id, section_id=s.section_id, text=s.text, span=s.span) for s in self.uncited)


def report_statements(report: Report) -> Statements:
    """Return the claims and uncited paragraphs of a report, in order."""
    return section_statements(report.sections)


def section_statements(sections: Sequence[Section]) -> Statements:
    """Return the claims and uncited paragraphs of sections, in order."""
    statements = Statements()
    for section in sections:
        if not section.quotes:
            _read_section(section, statements)
    return statements


def table_rows(text: str) -> Iterator[str]:
    """Yield the table rows of a Markdown text as claims: `header: cell; header: cell`."""
    return (row_text(text[block.start : block.end], block.head) for block in blocks(text) if block.kind == "row")


def unit_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of sentences, items, rows, quotations, headings and code in a Markdown text."""
    end = 0
    for block in blocks(text):
        if block.start > end:
            yield end, block.start
        end = block.end
        yield block.start, block.end
        if block.kind in ("paragraph", "item"):
            yield from ((statement.start, statement.end) for statement in _block_statements(text, block))
    yield end, len(text)


def _read_section(section: Section, statements: Statements) -> None:
    text = section.text or ""
    groups: list[list[Statement]] = []
    last = -1
    for block in blocks(text, (section.title,) if section.title else ()):
        if block.kind in ("heading", "head"):
            continue
        stated = list(_block_statements(text, block))
        only_cites = bool(stated) and not stated[0].text
        if groups and (only_cites or block.group == last):
            groups[-1] += stated
        elif stated and not only_cites:
            groups.append(stated)
        last = block.group
    led: tuple[str, ...] = ()
    lead = ""
    number = 0
    for position, group in enumerate(groups, start=1):
        listed = group[0].block.kind in ("item", "row")
        covered = _with_citations(
            [_with_lead_in(lead, statement) for statement in group] if listed else group, led if listed else ()
        )
        final = group[-1]
        led = final.cited if final.block.kind == "paragraph" else ()
        lead = final.text if final.block.kind == "paragraph" and final.text.endswith(_LEADS) else ""
        for statement, ids in covered:
            if statement.claims and ids:
                number += 1
                statements.claims.append(_claim(section.id, number, statement, ids))
        statements.paragraphs.append(_paragraph(section.id, position, text, covered))
        uncited = [statement for statement, ids in covered if statement.claims and not ids]
        if uncited:
            span = uncited[0].start, uncited[-1].end
            name = f"{section.id}.p{position}"
            statements.uncited.append(
                Uncited(id=name, section_id=section.id, text=visible_text(text[slice(*span)]), span=span)
            )


def _with_lead_in(lead: str, statement: Statement) -> Statement:
    """Return a statement of a list or table with the lead-in before it, if it is the first of its item."""
    return statement if statement.before or not lead else replace(statement, before=lead)


def _with_citations(group: Sequence[Statement], led: tuple[str, ...]) -> list[tuple[Statement, tuple[str, ...]]]:
    """Return the statements of a paragraph, list or table, each with its own citations or those around it.

    The citations of the paragraph above a list or table cover the statements that no other citation follows. What
    stands between two citations may follow from the first as well as from the second.
    """
    previous: list[tuple[str, ...]] = [()]
    for statement in group:
        previous.append(statement.cited or previous[-1])
    following = led
    made: list[tuple[Statement, tuple[str, ...]]] = []
    for statement, before in zip(reversed(group), reversed(previous[:-1]), strict=True):
        following = statement.cited or following
        made.append((statement, following if statement.cited or not following else (*following, *before)))
    return made[::-1]


def _claim(section: str, number: int, statement: Statement, ids: tuple[str, ...]) -> Claim:
    return Claim(
        id=f"{section}.{number}",
        section_id=section,
        text=statement.text,
        span=(statement.start, statement.end),
        evidence_ids=tuple(dict.fromkeys(ids)),
        under=statement.block.under,
        before=statement.before,
    )


def _paragraph(section: str, number: int, text: str, covered: Sequence[tuple[Statement, tuple[str, ...]]]) -> Paragraph:
    raw, head = text[covered[0][0].start : covered[-1][0].end], covered[0][0].block.head
    header = f"| {' | '.join(head)} |\n|{'---|' * len(head)}\n" if head else ""
    return Paragraph(
        id=f"{section}.p{number}",
        section_id=section,
        text=visible_text(raw),
        markdown=header + raw,
        cite_ids=tuple(dict.fromkeys(name for statement, _ in covered for name in statement.cited)),
        states=any(statement.claims for statement, _ in covered),
        ends_with_citation=all(ids for statement, ids in covered if statement.claims),
    )


# --- statements of a block -------------------------------------------------------------------------------------------


def _block_statements(text: str, block: Block) -> Iterator[Statement]:
    """Yield the statements of a block; one without text if the block has only citations."""
    raw = text[block.start : block.end]
    cited = tuple(cited_ids(raw))
    if not _WORD.search(CITATION.sub("", raw)):
        yield Statement("", block.start, block.end, block, cited, claims=False)
    elif block.kind == "quote":
        lines = [QUOTE.sub("", line) for line in raw.split("\n")]
        visible = visible_text("\n".join(_without_code(lines)))
        yield Statement(
            visible if _WORD.search(visible) else visible_text("\n".join(lines)), block.start, block.end, block, cited
        )
    elif block.kind == "row":
        yield Statement(row_text(raw, block.head), block.start, block.end, block, cited)
    else:
        yield from _sentences(raw, block)


def _without_code(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a quotation, with an omission mark in place of each code block."""
    mark = ""
    for line in lines:
        fence = FENCE.match(line)
        if mark:
            mark = "" if fence and fence[1].startswith(mark) else mark
        elif fence and fence[1] != "$$":
            mark = fence[1]
            yield "[…]"
        else:
            yield line


def _sentences(raw: str, block: Block) -> Iterator[Statement]:
    """Yield the sentences of a paragraph or list item, each with the citations in it and right after it."""
    marker = ITEM.match(raw) if block.kind == "item" else None
    begin = marker.end() if marker else 0
    blank = CITATION.sub(lambda match: " " * len(match[0]), raw).replace("\n", " ")
    blank = _CODE.sub(lambda match: match[0].translate(_NO_ENDS), blank)
    spans = sentences(" " * begin + blank[begin:])
    if len(spans) > 1 and _is_bold_heading(raw, *spans[:2]):
        spans = [(spans[0][0], spans[1][1]), *spans[2:]]
    before = ""
    for index, (start, end) in enumerate(spans):
        limit = spans[index + 1][0] if index + 1 < len(spans) else len(raw)
        after = list(CITATION.finditer(raw, end, limit))
        end = after[-1].end() if after else end
        cited = tuple(cited_ids(raw[start:end]))
        visible = visible_text(raw[start:end])
        last = index + 1 == len(spans)
        stripped = visible.rstrip("\"'”’」』)）*_ ")
        own = bool(cited) and raw[start:end].endswith(_LEADS)  # a citation after the colon belongs to the list
        leads = last and not own and stripped.endswith(_LEADS)
        claims = bool(_LETTER.search(visible)) and not (leads or stripped.endswith(_ASKS))
        yield Statement(visible, block.start + start, block.start + end, block, cited, before, claims)
        before = visible


def _is_bold_heading(raw: str, first: tuple[int, int], second: tuple[int, int]) -> bool:
    """Return whether the first sentence is a heading in bold without a citation, which belongs to the second one."""
    bold = _BOLD.match(raw, first[0])
    if bold is None:
        return False
    return first[1] <= bold.end() < second[1] and not raw[bold.end() : second[0]].strip()


def row_text(line: str, head: Sequence[str]) -> str:
    """Return a table row as text, each cell after its header: `City: Bonn; People: 330,000`."""
    named = zip(row_cells(line), [*head, *[""] * line.count("|")], strict=False)
    return "; ".join(f"{name}: {cell}" if name else cell for cell, name in named if cell)


# --- tables as data -------------------------------------------------------------------------------------------------


def tables_of(report: Report) -> tuple[Table, ...]:
    """Return the tables in the text of a report, in order; the title of a table is the heading above it."""
    tables: list[Table] = []
    for section in report.sections:
        text = section.text or ""
        rows = [block for block in blocks(text, (section.title,)) if block.kind == "row"]
        for _, group in groupby(rows, key=lambda block: block.group):
            lines = list(group)
            raw = [text[block.start : block.end] for block in lines]
            tables.append(
                Table(
                    id=f"table-{len(tables) + 1}",
                    section_id=section.id,
                    title=lines[0].under[-1] if lines[0].under else section.title,
                    columns=lines[0].head,
                    rows=tuple(tuple(row_cells(line)) for line in raw),
                    evidence_ids=tuple(tuple(cited_ids(line)) for line in raw),
                )
            )
    return tuple(tables)


# --- paragraphs.jsonl, to check it alone ---------------------------------------------------------------------------


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
    placed = cited_ids(line.markdown)
    return f"{line.markdown or _text(line)}{''.join(cite(name) for name in line.cite_ids if name not in placed)}"


def paragraphs_as_markdown(lines: Sequence[Paragraph]) -> str:
    """Return the paragraphs as a report whose list of sources has the ids, so that files can be matched to them."""
    numbers = {name: str(number) for number, name in enumerate(_ids(lines), start=1)}

    def with_numbers(line: Paragraph) -> str:
        return CITATION.sub(
            lambda match: "".join(f"[{numbers[name]}]" for name in cited_ids(match[0])), _with_ids(line)
        )

    entries = [f"[{number}] {name}" for name, number in numbers.items()]
    return "\n\n".join(["# Paragraphs", *map(with_numbers, lines), "## References", "\n".join(entries)]) + "\n"


def _ids(lines: Iterable[Paragraph]) -> Iterator[str]:
    yield from dict.fromkeys(name for line in lines for name in (*line.cite_ids, *cited_ids(line.markdown)))


def _text(line: Paragraph) -> str:
    return f"{' '.join(line.text.split())} "
