"""Format `csl`: the sources as CSL-JSON, which Zotero and every citation processor read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from leadline.contracts import Call, Context
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.records import Blob, Files, Report
from leadline_plugins.formats.bibliography import items


class Csl:
    """Renders CSL-JSON."""

    async def format(self, report: Report, call: Call, /) -> Files:
        """Return `references.json`: all sources, as the report numbers them."""
        data = json.dumps(items(report), ensure_ascii=False, indent=1).encode("utf-8", "replace")
        media_type = "application/vnd.citationstyles.csl+json"
        return Files(files=(Blob(name="references.json", media_type=media_type, data=data),))


def _make(settings: PluginSettings, context: Context) -> Csl:
    return Csl()


@hookimpl
def leadline_report_formatters() -> Iterator[Offer[Any, Csl]]:
    """Offer the format."""
    yield Offer(_make, PluginSettings, "The sources as CSL-JSON, for reference managers", keep=False)
