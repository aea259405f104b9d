"""The plugin `json`: the whole report as data, from which every other format can be rendered again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leadline.contracts import Call
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.records import Blob, Files, Report


class Json:
    """Renders JSON."""

    async def format(self, report: Report, call: Call, /) -> Files:
        """Return `report.json`: the `Report` record."""
        data = report.model_dump_json(indent=1).encode()
        return Files(files=(Blob(name="report.json", media_type="application/json", data=data),))


@hookimpl
def leadline_report_formatters() -> Iterator[Offer[Any, Json]]:
    """Offer the format."""
    yield Offer(lambda settings, context: Json(), PluginSettings, "The whole report as data")
