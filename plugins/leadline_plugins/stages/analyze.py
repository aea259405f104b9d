"""Stage `analyze`: a critical analysis of the findings from several perspectives, where the question asks for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, Literal

from pydantic import Field

from leadline.citations import cited, uncited
from leadline.contracts import Context, Run
from leadline.expecting import Expected, Scope
from leadline.findings import ANALYSIS, DIGEST, EVIDENCE, QUESTION, SOURCES, Analysis, Findings, Perspective
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.records import Evidence
from leadline.task_kinds import TaskKind
from leadline_plugins import expect
from leadline_plugins.passages import tokens_of
from leadline_plugins.prompting.passages import numbers, shown
from leadline_plugins.prompts import template
from leadline_plugins.shrinking import fewer_passages
from leadline_plugins.stages.degrade import perform_or
from leadline_plugins.synthesizers import draft
from leadline_plugins.tasks.writing import ANALYZE_EXAMPLE, ANALYZE_SCHEMA, AnalyzeRequest
from leadline_plugins.text.foreign import answered_in_language, strays

TOKENS = 6_000
"""Of the passages that the analysis is shown."""
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
    """Has the analysis written; without a model there is none, and the report says so."""

    def __init__(self, settings: AnalyzeSettings) -> None:
        self._settings = settings

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Set the analysis where it is wanted and there is evidence to analyse."""
        question, evidence, sources = findings[QUESTION], findings[EVIDENCE], findings[SOURCES]
        if not evidence or not wanted(question.text, self._settings):
            return
        if self._settings.mode == "auto" and not await run.by_chat(ASK.name, ASK.role):
            return  # nobody asked for it by name, and no algorithm analyses
        best, digest = best_passages(evidence), findings.get(DIGEST)
        request = AnalyzeRequest(
            question=question,
            today=run.now().date().isoformat(),
            synthesis=uncited(digest.synthesis) if digest else "",
            sources=shown(best, sources),
            best_first=tuple(item.id for item in best),
        )
        made = await perform_or(run, ASK.of(request), Analysis(), "no critical analysis was made")
        findings[ANALYSIS] = taken(request, made)


def best_passages(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Return the best passages by score, as many as the analysis is shown."""
    best = sorted(evidence, key=lambda item: -item.score)
    sizes = accumulate(tokens_of(item.quote) for item in best)
    return [item for item, size in zip(best, sizes, strict=True) if size <= TOKENS]


def taken(request: AnalyzeRequest, made: Analysis) -> Analysis:
    """Return the perspectives that cite a passage, their citations resolved."""
    known = numbers(request.sources)
    read = (
        Perspective(name=draft.title(one.name), text=draft.read(one.text, known, one.name)) for one in made.perspectives
    )
    return Analysis(perspectives=tuple(one for one in read if cited(one.text)))


def wanted(question: str, settings: AnalyzeSettings) -> bool:
    """Return whether a question asks for critical analysis."""
    if settings.mode != "auto":
        return settings.mode == "on"
    mixed = any(one.search(question) and other.search(question) for one, other in _MIXED)
    return mixed or bool(_ASKS.search(question)) or len(question) > settings.longer_than


def _texts(made: Analysis) -> Iterator[str]:
    yield from (one.text for one in made.perspectives)


def _expects(scope: Scope) -> Expected:
    settings = dict(scope.settings.plugins).get("analyze", AnalyzeSettings())
    return expect.analyze(scope, bool(scope.question) and wanted(scope.question, settings))


_IN_LANGUAGE = answered_in_language(_texts)


def unusable(request: AnalyzeRequest, made: Analysis) -> str:
    """Return everything that is wrong with an analysis: it is asked for only once more."""
    known = numbers(request.sources)
    bare = [one.name for one in made.perspectives if not cited(draft.read(one.text, known))]
    faults = [f"'{name}' cites no passage: put the number of a passage, as [1], after every fact" for name in bare]
    return "; ".join(filter(None, (*faults, _IN_LANGUAGE(request, made) or strays(_texts(made), request.question))))


def mended(request: AnalyzeRequest, made: Analysis) -> tuple[Analysis, str] | None:
    """Return an analysis that was asked for twice, if a perspective cites and it is in the right language."""
    if _IN_LANGUAGE(request, made) or not taken(request, made).perspectives:
        return None
    return made, "the analysis is shown without what cites no passage"


ASK = TaskKind(
    "analyze",
    AnalyzeRequest,
    Analysis,
    template("analyze"),
    role="thinking",
    shrink=fewer_passages,
    check=unusable,
    mend=mended,
    shows=("name", "text"),
    expects=_expects,
    schema=ANALYZE_SCHEMA,
    example=ANALYZE_EXAMPLE,
    show=AnalyzeRequest.as_text,
)


def _make(settings: AnalyzeSettings, context: Context) -> Analyzing:
    return Analyzing(settings)


@hookimpl
def leadline_stages() -> Iterator[StageOffer[Any]]:
    """Offer the stage."""
    yield StageOffer(
        _make,
        AnalyzeSettings,
        "Analyses the findings from several perspectives, where the question asks for it",
        needs=(QUESTION,),
        wants=(EVIDENCE, SOURCES, DIGEST),
        may_give=(ANALYSIS,),
        tasks=(ASK,),
    )
