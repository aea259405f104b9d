"""The plugin `tables`: the tables of a report as data, each as CSV and all of them as JSON."""

from __future__ import annotations

import csv
import io
import json
import re

from leadline.contracts import Call
from leadline.plugin import report_formatter
from leadline.records import Blob, Files, Report, Table

# What a cell may begin with: spreadsheets take other signs, also full-width ones, for formulas. Where `;` separates
# cells, one begins after each, and a quotation mark there is read as that of a cell.
_TEXT = r"\w\s'(\[{<>~≈≤≥±€$£¥–—…•·*#§°†‡.!?%&/:;“”„‘’«»"
_BEGINS = re.compile(rf'(^(?=[^{_TEXT}"])|;\s*(?=[^{_TEXT}]))')


@report_formatter("The tables of the report as CSV and JSON", cache_key=None)
class Tables:
    """Renders tables as data."""

    async def format(self, report: Report, call: Call, /) -> Files:
        """Return `tables.json`, and `tables/table-1.csv` and so on."""
        tables = report.tables
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
    cell = " ".join(cell.split())
    try:
        float(cell.replace(",", "").replace("−", "-").rstrip("%"))
    except ValueError:
        return _BEGINS.sub(r"\1'", cell)
    return cell
