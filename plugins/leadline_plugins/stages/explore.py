"""Stage `explore`: the model searches and reads by itself, with tools, until it says that it has enough.

It stands in place of `query`, `search` and `fetch`, and leaves what they leave. Where no model can call tools, it does
what they do, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    Found,
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
from leadline_plugins.stages.rounds import past_searches
from leadline_plugins.stages.search import Searching
from leadline_plugins.tasks.planning import ExploreRequest
from leadline_plugins.tools import TOOLS
from leadline_plugins.tools.calling import Calling
from leadline_plugins.tools.desk import Desk
from leadline_plugins.tools.web_fetch import WEB_FETCH

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
        reason, refused = "the model made no search", False
        try:
            calling = Calling(desk, run.settings.tools)
            await Exploring(desk, calling, self._settings).go(ASK, await self._opening(desk, findings))
        except CallFailed as failed:
            reason, refused = failed.record.text, isinstance(failed, CallRefused)
            if refused and desk.untouched:
                raise
            if not desk.untouched:
                await tell(run, f"the exploration ended before the model said that it has enough ({reason})")
        if desk.untouched:
            await self._as_usual(findings, run, reason)
            return
        if not desk.tasks and not desk.pages:
            findings.end_loop("the exploration added nothing new")
        await self._leave(desk, findings, () if refused else await self._instead(desk, findings))

    async def _instead(self, desk: Desk, findings: Findings) -> Sequence[Source | Unread]:
        """Return the best pages of what was found, where the model may read and has read nothing: weak ones forget."""
        mask = desk.run.settings.tools
        hits = any(found.hits for found in desk.found)
        if desk.sources or desk.read_before or not hits or (mask and WEB_FETCH.name not in mask):
            return ()
        await tell(desk.run, "the model read no page of what it found: the best were read as usual")
        return await _best_pages(desk.found, findings, desk.run)

    async def _opening(self, desk: Desk, findings: Findings) -> ExploreRequest:
        review, digest = findings.get(REVIEW), findings.get(DIGEST)
        gaps = review.priority_gaps if review else digest.knowledge_gaps if digest else ()
        return ExploreRequest(
            question=desk.question,
            plan=desk.plan,
            steps=self._settings.steps,
            searches=desk.searches_left,
            past=past_searches(desk.before, findings[SOURCES]),
            gaps=gaps,
        )

    async def _leave(self, desk: Desk, findings: Findings, others: Sequence[Source | Unread]) -> None:
        findings[TASKS], findings[FOUND] = tuple(desk.tasks), desk.found
        _leave_read((*desk.sources, *desk.unread, *others), findings)
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
        tasks = await query.chosen(findings, run)
        found = [
            one for many in await run.each(tasks, lambda task: Searching().map(task, findings, run)) for one in many
        ]
        findings[TASKS], findings[FOUND] = tasks, tuple(found)
        _leave_read(await _best_pages(found, findings, run), findings)


async def _best_pages(found: Sequence[Found], findings: Findings, run: Run) -> list[Source | Unread]:
    reading = Reading()
    read = [one for many in await run.each(found, lambda item: reading.map(item, findings, run)) for one in many]
    return [*read, *await reading.rest(found, findings, run)]


def _leave_read(read: Sequence[Source | Unread], findings: Findings) -> None:
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
        ends_loop=True,
    )
