"""A synthesizer without a model whose reports have claims: it states what the best passage states, and cites it.

Tests of verdicts use it; a brief, which is what a run without a model shows, claims nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leadline.citations import cite
from leadline.contracts import Call
from leadline.plugin import synthesizer
from leadline.records import Synthesis, SynthesisRequest
from leadline.testing.plugins import plugin

SETTINGS = {"research.synthesizer": "stating"}


@synthesizer("For tests")
class Stating:
    """States the best passage."""

    async def synthesize(self, request: SynthesisRequest, call: Call, /) -> Synthesis:
        best = request.book.evidence[0]
        update = {"text": f"{best.quote} {cite(best.id)}", "evidence_ids": (best.id,)}
        return Synthesis(sections=tuple(section.model_copy(update=update) for section in request.wanted))


def stating() -> Any:
    """Return the plugin for a client."""
    return plugin("stating", Stating)


def install(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Install the plugin for commands in this process, and select it."""
    info = folder / "stating-site" / "stating-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stating\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[leadline.v2]\nstating = tests.stating\n")
    patch.syspath_prepend(str(info.parent))
    patch.setenv("LEADLINE_RESEARCH__SYNTHESIZER", "stating")
