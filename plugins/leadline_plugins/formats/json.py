"""The plugin `json`: the whole report as data, from which every other format can be rendered again."""

from __future__ import annotations

from leadline.contracts import Call
from leadline.plugin import report_formatter
from leadline.records import Blob, Files, Report


@report_formatter("The whole report as data")
class Json:
    """Renders JSON."""

    async def format(self, report: Report, call: Call, /) -> Files:
        """Return `report.json`: the `Report` record."""
        data = report.model_dump_json().encode()
        return Files(files=(Blob(name="report.json", media_type="application/json", data=data),))
