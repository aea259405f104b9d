"""A search engine that returns the pages of its settings, late, not at all, or with an error."""

import asyncio
from pathlib import Path

from leadline.plugin import Call, Hit, PluginSettings, SearchPage, SearchRequest, Unavailable, search_provider


class PagesSettings(PluginSettings):
    texts: tuple[str, ...] = ()
    site: str = "pages"
    late: float = 0
    fails: bool = False
    log: Path | None = None


@search_provider("The pages of its settings", settings=PagesSettings)
class Pages:
    def __init__(self, settings: PagesSettings) -> None:
        self._settings = settings

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        own = self._settings
        if own.log:
            with own.log.open("a", encoding="utf-8") as file:
                file.write(f"{own.site}\n")
        await asyncio.sleep(own.late)
        if own.fails:
            raise Unavailable(f"{own.site} is down")
        numbered = enumerate(own.texts, start=1)
        hits = [
            Hit(url=f"https://{own.site}.example/{number}", title=text[:20], text=text) for number, text in numbered
        ]
        return SearchPage(hits=tuple(hits))
