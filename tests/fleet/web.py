"""The plugin `north` of the tests of a fleet: a search engine of a made-up site, and its pages.

Further instances of the engine (`use = "north"`) find the pages of further sites, so that a run has calls enough.
"""

from hashlib import blake2b

from leadline.plugin import (
    Blob,
    Call,
    FetchRequest,
    Hit,
    PluginSettings,
    SearchPage,
    SearchRequest,
    fetcher,
    search_provider,
)


class WebSettings(PluginSettings):
    site: str = "north"
    sentences: int = 20


def digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=4).hexdigest()


@search_provider("Finds the pages of a made-up site", settings=WebSettings)
class Engine:
    def __init__(self, settings: WebSettings) -> None:
        self._site = settings.site

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        top = f"https://{self._site}.example/{digest(request.query)}"
        title = f"{self._site}: {request.query}"
        numbers = range(min(10, request.limit))
        return SearchPage(
            hits=tuple(Hit(url=f"{top}/{number}", title=f"{title} ({number})", snippet=title) for number in numbers)
        )


@fetcher("Serves the pages of made-up sites", settings=WebSettings)
class Pages:
    def __init__(self, settings: WebSettings) -> None:
        self._sentences = settings.sentences

    def accepts(self, url: str, /) -> bool:
        return ".example/" in url

    async def fetch(self, request: FetchRequest, call: Call, /) -> Blob:
        name = digest(request.url)
        depth = int(name, 16)
        lines = (
            f"The harbour of page {name} measured {depth % 997 + number} fathoms at sounding {number}."
            for number in range(self._sentences)
        )
        return Blob(name=f"{name}.txt", media_type="text/plain", data=" ".join(lines).encode())
