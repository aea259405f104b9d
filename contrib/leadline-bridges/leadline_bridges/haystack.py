"""The plugin `haystack`: a Haystack component or pipeline that returns documents, as a search engine."""

from __future__ import annotations

from leadline.plugin import Call, Field, Hit, SearchRequest, Unsupported, search_provider
from leadline_bridges import BRIDGED, Bridge, BridgeSettings, faults


class HaystackSettings(BridgeSettings):
    """Which component or pipeline is bridged, and what receives the query."""

    inputs: tuple[str, ...] = Field(("query",), description='the inputs that receive the query: ["query", "text"]')


@search_provider("A Haystack component or pipeline", **{**BRIDGED, "settings": HaystackSettings})
class Component(Bridge):
    """A component or a pipeline, called in a thread."""

    model = HaystackSettings
    settings: HaystackSettings

    async def search(self, request: SearchRequest, call: Call, /) -> list[Hit]:
        """Return the `documents` of the component, or of all outputs of the pipeline."""
        inputs = dict.fromkeys(self.settings.inputs, request.query)
        is_pipeline = hasattr(self.target, "add_component")  # which passes each input to the components that have it
        with faults(self.name):
            outputs = await self.in_thread(self.target.run, *[inputs] * is_pipeline, **({} if is_pipeline else inputs))
            lists = [part["documents"] for part in (outputs, *outputs.values()) if "documents" in part]
            if not lists:
                raise Unsupported(f"{self.name} returns {', '.join(outputs)}, and no documents")
            return self.hits(((item.content or "", item.meta) for part in lists for item in part), request.limit)
