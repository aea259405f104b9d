"""Stage `judge`: the claims of sections and analysis judged by a model while summary and charts are being made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leadline.contracts import Run
from leadline.findings import ANALYSIS, EVIDENCE, QUESTION, SECTIONS, SOURCES, Findings, Key, Verdict
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.records import Report
from leadline_plugins.stages.claims import claims_of
from leadline_plugins.stages.library import Library
from leadline_plugins.stages.questioning import ASK
from leadline_plugins.stages.verdicts import judged
from leadline_plugins.stages.write import seen_critically

JUDGED: Key[tuple[Verdict, ...]] = Key("judged", Verdict, grows=True)
"""Verdicts on claims as they stood when sections and analysis were written; `verify` asks nobody what stands here."""


class Judging:
    """Judges ahead what `verify` would wait for at the end; without a model there is nothing to wait for.

    Nor is it done where the sections are still to be written anew, for other claims will stand there.
    """

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Give the verdicts, none where no model judges."""
        verdicts: list[Verdict] = []
        if run.settings.report.write == "compose" and await run.by_chat(ASK.name):
            sections, evidence, sources = findings[SECTIONS], findings[EVIDENCE], findings[SOURCES]
            stand = (*sections, *seen_critically(findings.get(ANALYSIS), findings[QUESTION].language))
            draft = Report(title="", language="", sections=stand, evidence=evidence, sources=sources)
            verdicts = await judged(run, claims_of(draft), Library(draft), ahead=True)
        findings[JUDGED] = tuple(verdicts)


@hookimpl
def leadline_stages() -> Iterator[StageOffer[Any]]:
    """Offer the stage."""
    yield StageOffer(
        lambda settings, context: Judging(),
        PluginSettings,
        "Has a model judge the claims of sections and analysis, while summary and charts are being made",
        needs=(QUESTION, SECTIONS),
        wants=(EVIDENCE, SOURCES, ANALYSIS),
        gives=(JUDGED,),
        closing=True,
    )
