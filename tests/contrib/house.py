"""An object with the methods of those of LangChain, LlamaIndex and Haystack."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import SimpleNamespace as Thing
from typing import Any

PAGES = {
    "A fathom is six feet.": {"source": "lengths.md"},
    "A cable is a hundred fathoms.": {"source": "lengths.md"},
    "A league is three miles.": {"url": "https://a.example/"},
    "A knot is a speed.": {"url": "http://a.example"},
}


class RefusedError(Exception):
    status_code = 401
    body = {"error": {"message": "no such key", "code": "invalid_api_key"}}


class Index:
    """A retriever, a component and a chat model."""

    model_name = "house-1"

    def __init__(self, *, closed: bool = False) -> None:
        self.closed = closed

    def run(self, query: Any) -> dict[str, Any]:
        if self.closed:
            raise RefusedError
        documents = [Thing(content=it, page_content=it, meta=page, metadata=page) for it, page in PAGES.items()]
        return {"documents": documents}

    def retrieve(self, query: str) -> list[Any]:
        documents = self.run(query)["documents"]
        return [Thing(node=Thing(get_content=lambda it=it: it.content, metadata=it.meta)) for it in documents]

    async def ainvoke(self, query: Any, **options: Any) -> Any:
        documents = self.run(query)["documents"]
        return documents if isinstance(query, str) else Piece("Nine fathoms.")

    async def astream(self, messages: Any, **options: Any) -> AsyncIterator[Piece]:
        self.run(messages)
        for text in ("Nine", " ", "fathoms."):
            yield Piece(text)

    def bind_tools(self, tools: Any) -> Index:
        return self


class Piece:
    """A reply, or a part of one."""

    tool_calls, invalid_tool_calls, content_blocks = (), (), ({"type": "text"},)
    usage_metadata = {"input_tokens": 7, "output_tokens": 3, "input_token_details": {"cache_read": 5}}
    response_metadata = {"stop_reason": "max_tokens"}

    def __init__(self, text: str) -> None:
        self.text = text

    def __add__(self, other: Piece) -> Piece:
        return Piece(self.text + other.text)


index = Index()
