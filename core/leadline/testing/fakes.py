"""Fakes of the outside world: a scripted model, a search engine, a small web with an engine and pages, a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from importlib.metadata import EntryPoint

from leadline.contracts import Call
from leadline.hookspecs import PluginSettings, fetcher, search_provider
from leadline.records import (
    Blob,
    ChatReply,
    ChatRequest,
    Document,
    Evidence,
    FetchRequest,
    Hit,
    Message,
    ModelTraits,
    Report,
    SearchPage,
    SearchRequest,
    Section,
    Source,
    Usage,
)
from leadline.testing.plugins import plugin

# A turn, an error to raise, or a function from the request to a turn.
Reply = Message | Exception | Callable[[ChatRequest], Message]


class ScriptedChat:
    """A model that returns scripted replies in order and records the requests in `asked`.

    Each reply uses 100 input tokens and 10 output tokens.
    """

    def __init__(self, replies: Sequence[Reply], *, tools: bool = True) -> None:
        self.replies = list(replies)
        self.asked: list[ChatRequest] = []
        self._tools = tools

    def traits(self, model: str, /) -> ModelTraits:
        return ModelTraits(tools=self._tools)

    async def chat(self, request: ChatRequest, call: Call, /) -> ChatReply:
        """Return the next reply. Raises IndexError after the last one."""
        self.asked.append(request)
        call.spend(Usage(input_tokens=100, output_tokens=10))
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        message = reply(request) if callable(reply) else reply
        return ChatReply(message=message, finish_reason="tool_calls" if message.tool_calls else "stop")


SITE = "https://example.org/"


class WebSettings(PluginSettings):
    """The number of hits per search and of sentences per page."""

    hits: int = 5
    sentences: int = 20


@search_provider("Finds made-up pages", settings=WebSettings)
class FakeEngine:
    """Finds pages whose addresses contain a digest of the query."""

    def __init__(self, settings: WebSettings) -> None:
        self._hits = settings.hits

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        """Return the hits of a query."""
        mark = blake2b(request.query.encode(), digest_size=4).hexdigest()
        hits = (
            Hit(url=f"{SITE}{mark}/{number}", title=f"On {request.query} ({number})", snippet=request.query)
            for number in range(min(self._hits, request.limit))
        )
        return SearchPage(hits=tuple(hits))


@fetcher("Serves made-up pages", settings=WebSettings)
class FakePages:
    """Serves the pages that `FakeEngine` finds: plain text, with a number in every sentence."""

    def __init__(self, settings: WebSettings) -> None:
        self._sentences = settings.sentences

    def accepts(self, url: str, /) -> bool:
        """Accept the addresses of this web."""
        return url.startswith(SITE)

    async def fetch(self, request: FetchRequest, call: Call, /) -> Blob:
        """Return a page."""
        mark = request.url.removeprefix(SITE)
        depth = int(blake2b(mark.encode(), digest_size=4).hexdigest(), 16)
        lines = (
            f"The harbour of page {mark} measured {depth % 997 + number} fathoms at sounding {number}."
            for number in range(self._sentences)
        )
        return Blob(name=f"{mark}.txt", media_type="text/plain", data=" ".join(lines).encode())


def fake_web(name: str = "fakeweb") -> EntryPoint:
    """Return the engine and its pages as one plugin, for `search.engines` and `read.fetchers`."""
    return plugin(name, FakeEngine, FakePages)


def quoting(*texts: str, quotes: Sequence[str]) -> Report:
    """Return a report with one section per text and one source; the quotes are its evidence, cited as `[@e1]`, ….

    The source is `s1`; its text consists of the quotes.
    """
    spans, stored = [], " ".join(quotes)
    for quote in quotes:
        start = stored.index(quote)
        spans.append((start, start + len(quote)))
    return Report(
        title="Depth",
        language="en",
        sections=tuple(Section(id=str(n), title=f"Part {n}", text=text) for n, text in enumerate(texts, start=1)),
        sources=(Source(id="s1", hit=Hit(url="https://example.org/"), document=Document(text=stored)),),
        evidence=tuple(
            Evidence(id=f"e{n}", source_id="s1", quote=quote, span=span)
            for n, (quote, span) in enumerate(zip(quotes, spans, strict=True), start=1)
        ),
    )
