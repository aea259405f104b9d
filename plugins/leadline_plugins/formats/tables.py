"""The tables of a report as data, and the plugin `tables`, which writes each as CSV and all of them as JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from leadline.citations import cited
from leadline.contracts import Call
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.records import Blob, Files, Report, Table
from leadline_plugins.verification.blocks import blocks, row_cells

# A cell that begins like this is a formula in spreadsheets.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


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


class Tables:
    """Renders tables as data."""

    async def format(self, report: Report, call: Call, /) -> Files:
        """Return `tables.json`, and `tables/table-1.csv` and so on."""
        tables = report.tables or tables_of(report)
        data = json.dumps([table.model_dump(mode="json") for table in tables], ensure_ascii=False, indent=1)
        whole = Blob(name="tables.json", media_type="application/json", data=data.encode("utf-8", "replace"))
        return Files(files=(whole, *map(_csv, tables)))


def _csv(table: Table) -> Blob:
    """Return a table as CSV with a byte-order mark, by which spreadsheets know UTF-8; no cell is a formula."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerows([_safe(cell) for cell in row] for row in (table.columns, *table.rows))
    data = out.getvalue().encode("utf-8-sig", "replace")
    return Blob(name=f"tables/{table.id}.csv", media_type="text/csv; charset=utf-8", data=data)


def _safe(cell: str) -> str:
    number = cell.replace(",", "").replace("−", "-").rstrip("%").strip()
    try:
        float(number)
    except ValueError:
        return f"'{cell}" if cell.startswith(_FORMULA) else cell
    return cell


@hookimpl
def leadline_report_formatters() -> Iterator[Offer[Any, Tables]]:
    """Offer the format."""
    yield Offer(
        lambda settings, context: Tables(), PluginSettings, "The tables of the report as CSV and JSON", keep=False
    )
