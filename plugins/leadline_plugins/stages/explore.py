"""Stage `explore`: the model searches and reads by itself, with tools, until it says that it has enough.

It stands in place of `query`, `search` and `fetch`, and leaves what they leave. Where no model can call tools, it does
what they do, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leadline.contracts import Context, Run
from leadline.errors import CallFailed, CallRefused
from leadline.expecting import Expected, Scope
from leadline.findings import (
    DIGEST,
    EVIDENCE,
    FOUND,
    PLAN,
    QUESTION,
    REVIEW,
    SOURCES,
    TASKS,
    UNREAD,
    Digest,
    Findings,
    Unread,
)
from leadline.hookspecs import StageOffer, hookimpl
from leadline.records import Message, Source
from leadline.task_kinds import TaskKind
from leadline_plugins import expect
from leadline_plugins.prompts import template
from leadline_plugins.shrinking import fewer_results
from leadline_plugins.stages import query
from leadline_plugins.stages.degrade import tell
from leadline_plugins.stages.exploring import ExploreSettings, Exploring
from leadline_plugins.stages.fetch import Reading
from leadline_plugins.stages.search import Searching
from leadline_plugins.tasks import ExploreRequest
from leadline_plugins.tools import TOOLS
from leadline_plugins.tools.calling import Calling
from leadline_plugins.tools.desk import Desk

_AS_USUAL = "the searches of the plan were made in place of an exploration by the model"


class Explore:
    """Has the model explore; what it searched and read goes into the findings as the stages of the rounds leave it."""

    def __init__(self, settings: ExploreSettings) -> None:
        self._settings = settings

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Give searches, what they brought, sources, and the model's own account of it."""
        desk = Desk(
            run,
            findings[QUESTION],
            findings[PLAN],
            findings[TASKS],
            findings[FOUND],
            findings[SOURCES],
            self._settings.page,
        )
        if not await run.by_chat(ASK.name, ASK.role):
            await self._as_usual(findings, run, "no language model is asked first")
            return
        try:
            calling = Calling(desk, run.settings.tools)
            await Exploring(desk, calling, self._settings).go(ASK, self._opening(desk, findings))
        except CallFailed as failed:
            if not desk.tasks and isinstance(failed, CallRefused):
                raise
            if not desk.tasks:
                await self._as_usual(findings, run, failed.record.text)
                return
            await tell(run, f"the exploration ended before the model said that it has enough ({failed.record.text})")
        await self._leave(desk, findings)

    def _opening(self, desk: Desk, findings: Findings) -> ExploreRequest:
        review, digest = findings.get(REVIEW), findings.get(DIGEST)
        gaps = review.priority_gaps if review else digest.knowledge_gaps if digest else ()
        return ExploreRequest(
            question=desk.question,
            plan=desk.plan,
            steps=self._settings.steps,
            searches=desk.searches_left,
            past=tuple(query.past(found) for found in desk.before),
            gaps=gaps,
        )

    async def _leave(self, desk: Desk, findings: Findings) -> None:
        findings[TASKS], findings[FOUND] = tuple(desk.tasks), desk.found
        findings[SOURCES], findings[UNREAD] = desk.sources, desk.unread
        if desk.answer is None:
            return
        if desk.answer.strip():
            await desk.run.emit("message", {"kind": "learning", "text": desk.answer})
        last = findings.get(DIGEST) or Digest()
        told = {"synthesis": f"{last.synthesis}\n\n{desk.answer}".strip(), "knowledge_gaps": desk.missing}
        findings[DIGEST] = last.model_copy(update=told | {"review": None, "queries": ()})

    async def _as_usual(self, findings: Findings, run: Run, reason: str) -> None:
        """Search and read as the stages `query`, `search` and `fetch` do."""
        await tell(run, f"{_AS_USUAL} ({reason})")
        tasks, reading = await query.chosen(findings, run), Reading()
        found = [
            one for many in await run.each(tasks, lambda task: Searching().map(task, findings, run)) for one in many
        ]
        read = [one for many in await run.each(found, lambda item: reading.map(item, findings, run)) for one in many]
        read += await reading.rest(found, findings, run)
        findings[TASKS], findings[FOUND] = tasks, tuple(found)
        findings[SOURCES] = tuple(item for item in read if isinstance(item, Source))
        findings[UNREAD] = tuple(item for item in read if isinstance(item, Unread))


def _expects(scope: Scope) -> Expected:
    settings = dict(scope.settings.plugins).get("explore", ExploreSettings())
    return expect.explore(scope, settings.steps, settings.page)


ASK = TaskKind("explore", ExploreRequest, Message, template("explore"), shrink=fewer_results, expects=_expects)


def _make(settings: ExploreSettings, context: Context) -> Explore:
    return Explore(settings)


@hookimpl
def leadline_stages() -> Iterator[StageOffer[Any]]:
    """Offer the stage."""
    yield StageOffer(
        _make,
        ExploreSettings,
        "Has the model search and read by itself, with tools, until it has enough",
        needs=(QUESTION, PLAN),
        wants=(TASKS, FOUND, SOURCES, EVIDENCE, DIGEST, REVIEW),
        gives=(TASKS, FOUND, SOURCES),
        may_give=(UNREAD, DIGEST),
        tasks=(ASK,),
        tools=tuple(kind.tool for kind in TOOLS),
    )
