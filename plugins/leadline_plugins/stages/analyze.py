"""Stage `analyze`: the findings seen critically, from several perspectives, where the question asks for that."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field

from leadline.citations import CITATION, cited_only
from leadline.contracts import Context, Run
from leadline.expecting import Expected, Scope
from leadline.findings import (
    ANALYSIS,
    DIGEST,
    EVIDENCE,
    QUESTION,
    SOURCES,
    TASKS,
    Analysis,
    Digest,
    Findings,
    Perspective,
)
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.records import Evidence
from leadline.task_kinds import TaskKind
from leadline_plugins import drafts, expect
from leadline_plugins.drafts.faults import faults, of_use
from leadline_plugins.prompts import template
from leadline_plugins.shrinking import less_shown
from leadline_plugins.stages.degrade import perform_or, tell_once
from leadline_plugins.stages.material import BEST
from leadline_plugins.stages.showing import asked, by_source, serving
from leadline_plugins.tasks.writing import AnalyzeRequest
from leadline_plugins.text.foreign import answered_in_language, strays

_ASKS = re.compile(
    r"分析|評估|评估|批判|批評|批评|比較|比较|對比|对比|為什麼|为什么|為何|为何|評価|なぜ|どうして|検討|比べ|違いは何"
    r"|\b(?:analy(?:[sz]e[sd]?|[sz]ing|s[ei]s|tical)|evaluat(?:e|es|ing|ions?)|assess(?:es|ing|ments?)?"
    r"|criti(?:ques?|cisms?|ci[sz]e[sd]?|ci[sz]ing|cal(?:ly)?)|compar(?:e[sd]?|ing|isons?|ative)|versus|vs|why)\b",
    re.IGNORECASE,
)
"""English verbs in the forms in which somebody is told to do it; `evaluated` is what happens to default values."""
_MIXED = (
    (re.compile(r"trends?\b|趨勢|趋势|傾向|動向", re.I), re.compile(r"impact|outlook|影響|影响|展望|見通し", re.I)),
    (
        re.compile(r"markets?\b|市場|市场", re.I),
        re.compile(r"views?\b|opinions?\b|perspectives?\b|forecast|看法|觀點|观点|予測|見方|見解", re.I),
    ),
)
"""Patterns that ask for analysis together: a trend and what it does, a market and a view of it."""


class AnalyzeSettings(PluginSettings):
    """When a critical analysis is made."""

    mode: Literal["off", "auto", "on"] = Field("auto", description="off, auto (where the question asks for it), on.")
    longer_than: int = Field(200, ge=1, description="Characters from which a question asks for it by its length.")


class Analyzing:
    """Has the analysis made; without a model that can, there is none, and the report says so."""

    def __init__(self, settings: AnalyzeSettings) -> None:
        self._settings = settings

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Give the analysis where it is wanted and there is something to analyse."""
        question, evidence = findings[QUESTION], findings[EVIDENCE]
        if not evidence or not wanted(question.text, self._settings):
            return
        chat = await run.by_chat(ASK.name, ASK.role)
        if self._settings.mode == "auto" and not chat:
            return  # nobody asked for it by name, and no algorithm analyses
        tasks, sources, digest = findings[TASKS], findings[SOURCES], findings.get(DIGEST)
        found = await serving(tasks, evidence, sources)
        # Without searches, in a pipeline of one's own, all was found somehow else.
        shown = found.in_turn([task.id for task in tasks]) or sorted(evidence, key=lambda item: -item.score)
        best = tuple(shown[:BEST])
        request = AnalyzeRequest(
            question=asked(question), digest=digest and _merged(digest), sources=by_source(best, sources)
        )
        made = await perform_or(run, ASK.of(request), Analysis(), "no critical analysis was made")
        taken = [_drafted(one, best) if chat else (_known(one, best), "") for one in made.perspectives]
        findings[ANALYSIS] = Analysis(perspectives=tuple(one for one, _ in taken if CITATION.search(one.text)))
        for one, told in taken:
            if told and CITATION.search(one.text):
                await tell_once(run, told)


def wanted(question: str, settings: AnalyzeSettings) -> bool:
    """Return whether a question asks for critical analysis."""
    if settings.mode != "auto":
        return settings.mode == "on"
    mixed = any(one.search(question) and other.search(question) for one, other in _MIXED)
    return mixed or bool(_ASKS.search(question)) or len(question) > settings.longer_than


def _expects(scope: Scope) -> Expected:
    settings = dict(scope.settings.plugins).get("analyze", AnalyzeSettings())
    return expect.analyze(scope, bool(scope.question) and wanted(scope.question, settings))


IN_LANGUAGE = answered_in_language(lambda made: (one.text for one in made.perspectives))


def _strays(request: AnalyzeRequest, made: Analysis) -> str:
    return strays((one.text for one in made.perspectives), request.question)


def _merged(digest: Digest) -> Digest:
    """Return a digest without its review, and what was to be searched next: that is the past of the research."""
    return Digest(synthesis=digest.synthesis, knowledge_gaps=digest.knowledge_gaps, cross_links=digest.cross_links)


def _shown(request: AnalyzeRequest) -> drafts.Known:
    quotes = [item for source in request.sources for item in source.quotes]
    return drafts.Known.of((item.id for item in quotes), (item.quote for item in quotes))


def unusable(request: AnalyzeRequest, made: Analysis) -> str:
    """Say all that is wrong with an analysis at once."""
    known = _shown(request)
    found = (f"'{one.name}': {fault}" for one in made.perspectives for fault in faults(one.text, known))
    return "; ".join(filter(None, (IN_LANGUAGE(request, made) or _strays(request, made), *found)))


def mended(request: AnalyzeRequest, made: Analysis) -> tuple[Analysis, str] | None:
    """Return the perspectives of an analysis that are of use, where some had faults twice."""
    known = _shown(request)
    texts = [of_use(one.text, known)[0] for one in made.perspectives]
    kept = (one.model_copy(update={"text": text}) for one, text in zip(made.perspectives, texts, strict=True) if text)
    if IN_LANGUAGE(request, made) or not any(texts):
        return None
    return Analysis(perspectives=tuple(kept)), "analyze: what cites nothing, or repeats itself, was left out"


ASK = TaskKind(
    "analyze",
    AnalyzeRequest,
    Analysis,
    template("analyze"),
    role="thinking",
    shrink=less_shown,
    check=unusable,
    mend=mended,
    shows=("name", "text"),
    expects=_expects,
)


def _drafted(one: Perspective, evidence: tuple[Evidence, ...]) -> tuple[Perspective, str]:
    """Return what a model wrote as a perspective, and what is told of marks of its own that were left out."""
    draft, name = drafts.normalised(one.text, drafts.Known.of_evidence(evidence), (one.name,)), drafts.title(one.name)
    return Perspective(name=name, text=draft.text), drafts.left_out(name, (draft,))


def _known(one: Perspective, evidence: tuple[Evidence, ...]) -> Perspective:
    """Return a perspective without citations of what is not there."""
    return Perspective(name=one.name, text=cited_only(one.text, {item.id for item in evidence}).strip())


def _make(settings: AnalyzeSettings, context: Context) -> Analyzing:
    return Analyzing(settings)


@hookimpl
def leadline_stages() -> Iterator[StageOffer[Any]]:
    """Offer the stage."""
    yield StageOffer(
        _make,
        AnalyzeSettings,
        "Looks at the findings from several perspectives, where the question asks for it",
        needs=(QUESTION,),
        wants=(EVIDENCE, TASKS, SOURCES, DIGEST),
        may_give=(ANALYSIS,),
        tasks=(ASK,),
    )
