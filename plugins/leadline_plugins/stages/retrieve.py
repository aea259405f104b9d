"""Stage `retrieve`: finds the passages of stored documents that answer the question."""

from __future__ import annotations

from leadline.contracts import StageRun
from leadline.findings import Findings
from leadline.plugin import stage
from leadline.records import PassageRequest
from leadline.research_findings import EVIDENCE, FOUND, QUESTION, SOURCES, Found, SearchTask
from leadline_plugins.stages.fetch import announce


@stage(
    "Finds the passages of your documents that answer the question",
    needs=(QUESTION,),
    gives=(FOUND, SOURCES, EVIDENCE),
    uses=("knowledge.base",),
)
class RetrieveStage:
    """Sets the search, the sources and the passages of an answer."""

    async def run(self, findings: Findings, run: StageRun, /) -> None:
        """Set the findings. Raises `CallFailed` if there are no documents, or another model embedded them."""
        asked = findings[QUESTION]
        passages = await run.retrieve(PassageRequest(query=asked.topic, limit=run.settings.knowledge.passages))
        for source in passages.sources:
            await announce(source, run)
        hits = tuple(source.hit for source in passages.sources)
        findings[FOUND] = (Found(id="1", task=SearchTask(id="1", query=asked.text), hits=hits),)
        findings[SOURCES] = passages.sources
        findings[EVIDENCE] = passages.evidence
