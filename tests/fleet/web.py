"""The plugin `north` of the tests of a fleet: a search engine of a made-up site, its pages, and a model that writes.

Further instances of the engine (`use = "north"`) find the pages of further sites, so that a run has calls enough.
"""

import asyncio
import time
from hashlib import blake2b

from leadline.plugin import (
    Blob,
    Call,
    ChatReply,
    ChatRequest,
    FetchRequest,
    Hit,
    Message,
    ModelTraits,
    PluginSettings,
    SearchPage,
    SearchRequest,
    ai_provider,
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


@ai_provider("Writes what time it is, again and again", settings=WebSettings)
class Writer:
    """Its pieces are `time.monotonic()` of the moment of each, so that a reader can tell how old it is."""

    def traits(self, model: str, /) -> ModelTraits:
        return ModelTraits()

    async def chat(self, request: ChatRequest, call: Call, /) -> ChatReply:
        pieces = []
        for _ in range(20):
            pieces.append(f"written {time.monotonic():.6f} \n")
            call.emit("text", pieces[-1])
            await asyncio.sleep(0.05)
        return ChatReply(message=Message(role="assistant", text="".join(pieces)))
