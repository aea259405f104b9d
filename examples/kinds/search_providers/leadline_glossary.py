import csv
from pathlib import Path

from leadline.plugin import Call, Context, Hit, PluginSettings, SearchRequest, search_provider


class GlossarySettings(PluginSettings):
    file: Path


@search_provider("A glossary in a CSV file", settings=GlossarySettings)
class Glossary:
    def __init__(self, settings: GlossarySettings, context: Context) -> None:
        self._rows = list(csv.DictReader(settings.file.read_text(encoding="utf-8").splitlines()))

    async def search(self, request: SearchRequest, call: Call, /) -> list[Hit]:
        found = [row for row in self._rows if row["term"].lower() in request.query.lower()]
        return [Hit(url=row["url"], title=row["term"], text=row["text"] or None) for row in found][: request.limit]
