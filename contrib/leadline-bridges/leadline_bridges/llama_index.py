"""The plugin `llama_index`: a LlamaIndex retriever as a search engine."""

from __future__ import annotations

from leadline.plugin import Call, Hit, SearchRequest, search_provider
from leadline_bridges import BRIDGED, Bridge, faults


@search_provider("A LlamaIndex retriever", **BRIDGED)
class Retriever(Bridge):
    """A retriever, called in a thread: `aretrieve` of many retrievers blocks."""

    async def search(self, request: SearchRequest, call: Call, /) -> list[Hit]:
        """Return the nodes of the retriever."""
        with faults(self.name):
            nodes = await self.in_thread(self.target.retrieve, request.query)
            return self.hits(((item.node.get_content(), item.node.metadata) for item in nodes), request.limit)
