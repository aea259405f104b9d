"""The extractive synthesizer: sections of verbatim quotes, each with its citation."""

from __future__ import annotations

from collections.abc import Iterable

from leadline.contracts import Call
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.records import Section, SectionRequest
from leadline_plugins.text import length

_SAME = 0.8


class Extractive:
    """Sets the evidence of a section as Markdown, in the order given."""

    async def synthesize(self, request: SectionRequest, call: Call, /) -> Section:
        """Return the section with its text: a quote, its citation, and nothing else."""
        by_id = {evidence.id: evidence for evidence in request.evidence}
        parts: list[str] = []
        used: list[str] = []
        room = request.length or 10**9
        for id_ in request.section.evidence_ids or tuple(by_id):
            evidence = by_id[id_]
            size = length(evidence.quote)
            if size <= room:
                parts.append(f"{' '.join(evidence.quote.split())} [@{id_}]")
                used.append(id_)
                room -= size
        return request.section.model_copy(update={"text": "\n\n".join(parts), "evidence_ids": tuple(used)})


@hookimpl
def leadline_synthesizers() -> Iterable[Offer[PluginSettings, Extractive]]:
    """Offer the writer of quotes."""
    yield Offer(lambda settings, context: Extractive(), PluginSettings, "Sections of verbatim quotes")
