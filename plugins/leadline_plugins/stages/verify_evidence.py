"""Stage `verify_evidence`: keeps only passages that stand word for word in the stored text of their source.

It runs directly after the stage that gives the passages, so that nothing else is ever shown to a writer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from leadline.contracts import StageRun
from leadline.findings import Findings
from leadline.plugin import map_stage
from leadline.records import Blob, Evidence, Source
from leadline.research_findings import EVIDENCE, SOURCES
from leadline_plugins.prompting.fallback import notify
from leadline_plugins.verification.verdicts import occurs

FILE = "evidence.json"


@map_stage(
    "Drops passages that are not word for word in the stored text of their source",
    over=EVIDENCE,
    gives=EVIDENCE,
    wants=(SOURCES,),
)
class VerifyEvidenceStage:
    """Looks up each passage in its source; one that is not there is dropped, and `evidence.json` lists all."""

    async def map(self, item: Evidence, findings: Findings, run: StageRun, /) -> Sequence[Evidence]:
        """Return the passage if its source contains it."""
        sources = findings[SOURCES]
        return (item,) if occurs(item, _by_id(sources).get(item.source_id)) else ()

    async def rest(self, items: Sequence[Evidence], findings: Findings, run: StageRun, /) -> Sequence[Evidence]:
        """Save the passages of all rounds, and name those that were dropped."""
        stored, earlier = findings[SOURCES], findings[EVIDENCE]
        sources = _by_id(stored)
        new = {item.id for item in items}
        there = {item.id: occurs(item, sources.get(item.source_id)) for item in items}
        verified = [item for item in items if there[item.id]]
        dropped = [item for item in items if not there[item.id]]
        remaining = [*(item for item in earlier if item.id not in new), *verified]
        data = {
            "passages": len(remaining) + len(dropped),
            "verified": len(remaining),
            "dropped": [_row(item, sources) for item in dropped],
            "evidence": [_row(item, sources) for item in remaining],
        }
        text = json.dumps(data, ensure_ascii=False, indent=1)
        await run.save(Blob(name=FILE, media_type="application/json", data=text.encode("utf-8", "replace")))
        if dropped:
            missing = "{count} of {all} passages are not in the stored text of their source"
            await notify(run, missing, "unlocated", count=len(dropped), all=len(items))
        return ()


def _by_id(sources: Sequence[Source]) -> Mapping[str, Source]:
    return {source.id: source for source in sources}


def _row(item: Evidence, sources: Mapping[str, Source]) -> dict[str, JsonValue]:
    source = sources.get(item.source_id)
    return {
        "id": item.id,
        "source_id": item.source_id,
        "url": source.hit.url if source else "",
        "page": item.page,
        "span": list(item.span),
        "quote": item.quote,
    }
