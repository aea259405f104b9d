"""The tables in the text of a report, as data."""

from __future__ import annotations

from itertools import groupby

from leadline.citations import cited
from leadline.records import Report, Table
from leadline_plugins.verification.blocks import blocks, row_cells


def tables_of(report: Report) -> tuple[Table, ...]:
    """Return the tables in the text of a report, in order; the title of a table is the heading above it."""
    found: list[Table] = []
    for section in report.sections:
        text = section.text or ""
        rows = [block for block in blocks(text, (section.title,)) if block.kind == "row"]
        for _, group in groupby(rows, key=lambda block: block.group):
            lines = list(group)
            raw = [text[block.start : block.end] for block in lines]
            found.append(
                Table(
                    id=f"table-{len(found) + 1}",
                    section_id=section.id,
                    title=lines[0].under[-1] if lines[0].under else section.title,
                    columns=lines[0].head,
                    rows=tuple(tuple(row_cells(line)) for line in raw),
                    evidence_ids=tuple(tuple(cited(line)) for line in raw),
                )
            )
    return tuple(found)
