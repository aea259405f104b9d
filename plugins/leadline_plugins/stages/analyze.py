"""Stage `analyze`: a critical analysis of the findings from several perspectives."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from itertools import accumulate
from typing import Any, Literal

from pydantic import Field

from leadline.citations import cited
from leadline.contracts import Run
from leadline.estimates import Expected, Scope
from leadline.findings import Findings
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.records import Evidence
from leadline.research_findings import (
    ANALYSIS,
    BOOK,
    DIGEST,
    EVIDENCE,
    PLAN,
    QUESTION,
    SOURCES,
    TASKS,
    Analysis,
    Perspective,
)
from leadline.tasks import TaskKind
from leadline_plugins.passages.cutting import tokens_of
from leadline_plugins.prompting import estimates
from leadline_plugins.prompting.fallback import notify, perform_or
from leadline_plugins.prompting.inputs import start_date, template
from leadline_plugins.prompting.numbered_passages import group_by_source, ids_by_number
from leadline_plugins.prompting.shrinking import halve_request_passages
from leadline_plugins.prompting.writing_tasks import ANALYZE_EXAMPLE, ANALYZE_SCHEMA, AnalyzeRequest
from leadline_plugins.stages.synthesize import book_of
from leadline_plugins.text.reply_language import answered_in_language, foreign_paragraph
from leadline_plugins.writing.model_markdown import parse_section, plain_title

# Tokens of the passages in the prompt.
MAX_TOKENS = 6_000
# Questions of more characters ask for an analysis by their length.
LONG_QUESTION = 200


class AnalyzeSettings(PluginSettings):
    """When to write a critical analysis."""

    mode: Literal["off", "auto", "on"] = Field(
        "auto", description="Write a critical analysis: off, auto (if the question asks for it), on."
    )


class AnalyzeStage:
    """Has a model write the analysis; without a model the report has a notice instead."""

    def __init__(self, settings: AnalyzeSettings) -> None:
        self._settings = settings

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Set the analysis if the question asks for one and there is evidence."""
        question, evidence, sources = findings[QUESTION], findings[EVIDENCE], findings[SOURCES]
        if not evidence or not asks_for_analysis(question.text, self._settings):
            return
        if not await run.by_chat(TASK.name, TASK.role):
            if self._settings.mode == "on":
                await notify(run, "no critical analysis was made (no language model is set up)")
            return
        best = await _best_passages(findings, run)
        request = AnalyzeRequest(
            question=question,
            today=start_date(run),
            sources=group_by_source(best, sources),
            best_first=tuple(item.id for item in best),
        )
        reply = await perform_or(run, TASK.of(request), Analysis(), "no critical analysis was made")
        findings[ANALYSIS] = cited_perspectives(request, reply)


async def _best_passages(findings: Findings, run: Run) -> list[Evidence]:
    """Return the best passages of the report that fit into the prompt."""
    best = (await book_of(findings, run)).evidence
    sizes = accumulate(tokens_of(item.quote) for item in best)
    return [item for item, size in zip(best, sizes, strict=True) if size <= MAX_TOKENS]


def cited_perspectives(request: AnalyzeRequest, reply: Analysis) -> Analysis:
    """Return the perspectives that cite a passage, with their citations resolved."""
    known = ids_by_number(request.sources)
    read = (
        Perspective(name=plain_title(one.name), text=parse_section(one.text, known, one.name))
        for one in reply.perspectives
    )
    return Analysis(perspectives=tuple(one for one in read if cited(one.text)))


def asks_for_analysis(question: str, settings: AnalyzeSettings) -> bool:
    """Return whether a question asks for critical analysis."""
    if settings.mode != "auto":
        return settings.mode == "on"
    return (
        any(all(pattern.search(question) for pattern in patterns) for patterns in _rules())
        or len(question) > LONG_QUESTION
    )


@cache
def _rules() -> tuple[tuple[re.Pattern[str], ...], ...]:
    """Return the groups of patterns of `analyze.toml`: a question that all patterns of a group match asks for it."""
    data = tomllib.loads(files(__package__).joinpath("analyze.toml").read_text("utf-8"))
    words = data["analysis"]
    single = rf"{'|'.join(words['cjk'])}|\b(?:{'|'.join(words['english'])})\b"
    groups = ([single], data["trend"]["patterns"], data["market"]["patterns"])
    return tuple(tuple(re.compile(pattern, re.IGNORECASE) for pattern in group) for group in groups)


def _texts(reply: Analysis) -> Iterator[str]:
    yield from (one.text for one in reply.perspectives)


def _estimate(scope: Scope) -> Expected:
    settings = dict(scope.settings.plugins).get("analyze", AnalyzeSettings())
    return estimates.analyze(scope, bool(scope.question) and asks_for_analysis(scope.question, settings))


_IN_LANGUAGE = answered_in_language(_texts)


def reply_faults(request: AnalyzeRequest, reply: Analysis) -> str:
    """Return all faults of a reply at once, because the model has only one more attempt."""
    known = ids_by_number(request.sources)
    uncited_names = [one.name for one in reply.perspectives if not cited(parse_section(one.text, known))]
    faults = [
        f"'{name}' cites no passage: put the number of a passage, as [1], after every fact" for name in uncited_names
    ]
    language = _IN_LANGUAGE(request, reply) or foreign_paragraph(_texts(reply), request.question)
    return "; ".join(filter(None, (*faults, language)))


def accept_after_retry(request: AnalyzeRequest, reply: Analysis) -> tuple[Analysis, str] | None:
    """Accept the second reply if a perspective cites a passage and it is in the right language."""
    if _IN_LANGUAGE(request, reply) or not cited_perspectives(request, reply).perspectives:
        return None
    return reply, "parts of the analysis that cite no passage were left out"


TASK = TaskKind(
    "analyze",
    AnalyzeRequest,
    Analysis,
    template("analyze"),
    role="thinking",
    shrink=halve_request_passages,
    check=reply_faults,
    mend=accept_after_retry,
    shows=("name", "text"),
    expects=_estimate,
    schema=ANALYZE_SCHEMA,
    example=ANALYZE_EXAMPLE,
    show=AnalyzeRequest.as_text,
)


@hookimpl
def leadline_stages() -> Iterator[StageOffer[Any]]:
    """Offer the stage."""
    yield StageOffer(
        lambda settings, context: AnalyzeStage(settings),
        AnalyzeSettings,
        "Analyses the findings from several perspectives, where the question asks for it",
        needs=(QUESTION,),
        wants=(PLAN, EVIDENCE, SOURCES, TASKS, DIGEST, BOOK),
        may_give=(ANALYSIS, BOOK),
        tasks=(TASK,),
    )
