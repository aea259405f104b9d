import csv
from pathlib import Path

from leadline.contracts import Call, Context
from leadline.hookspecs import Offer, Offers, PluginSettings, hookimpl
from leadline.records import Hit, SearchPage, SearchRequest


class GlossarySettings(PluginSettings):
    file: Path


class Glossary:
    def __init__(self, settings: GlossarySettings, context: Context) -> None:
        self._rows = list(csv.DictReader(settings.file.read_text(encoding="utf-8").splitlines()))

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        found = [row for row in self._rows if row["term"].lower() in request.query.lower()]
        hits = (Hit(url=row["url"], title=row["term"], text=row["text"] or None) for row in found)
        return SearchPage(hits=tuple(hits)[: request.limit])


@hookimpl
def leadline_search_providers() -> Offers[Glossary]:
    yield Offer(Glossary, GlossarySettings, "A glossary in a CSV file")
