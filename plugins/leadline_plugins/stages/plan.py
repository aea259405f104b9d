"""Stage `plan`: the outline of the report."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from typing import Any

from leadline.contracts import Run
from leadline.errors import CallFailed
from leadline.findings import PLAN, QUESTION, Findings, NextSearch, Plan, PlannedSection, Question
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.records import Blob
from leadline.task_kinds import TaskKind
from leadline.tasks import Task
from leadline_plugins import drafts, expect
from leadline_plugins.prompts import template
from leadline_plugins.stages.ahead import Ahead, can_be_ahead, fitting
from leadline_plugins.stages.degrade import tell
from leadline_plugins.stages.showing import asked, today
from leadline_plugins.tasks.planning import PlanRequest
from leadline_plugins.text.foreign import answered_in_language

_BEGUN = "the plan did not come whole: the part that had come stands"


def _said(plan: Plan) -> Iterator[str]:
    yield plan.title
    for section in plan.sections:
        yield from (section.title, section.goal, *section.questions)


_AROUND = re.compile(
    r"references?|bibliography|works cited|sources|(?:executive )?summary|abstract|conclusions?"
    r"|summary and conclusions?"
    r"|literatur(?:verzeichnis)?|quellen(?:verzeichnis)?|zusammenfassung|fazit|références|bibliographie|résumé|conclusion"
    r"|referencias|bibliografía|resumen|conclusi(?:ón|ones)|参考(?:文献|資料|资料)|參考(?:文獻|資料)|摘要|结论|結論|总结|總結|まとめ|要約",
    re.IGNORECASE,
)
"""Titles of what is no section of a plan."""
ASK = TaskKind(
    "plan",
    PlanRequest,
    Plan,
    template("plan"),
    role="thinking",
    check=answered_in_language(_said),
    shows=("title", "goal", "questions"),
    expects=expect.plan,
)


class Outline:
    """Has the outline made; an unusable one becomes one section over the whole question, announced."""

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Give the plan, and save it for people as `plan.md`."""
        question = findings[QUESTION]
        plan = await self._plan(question, run)
        findings[PLAN] = plan
        text = markdown(plan)
        await run.emit("message", {"kind": "plan", "text": text})
        await run.save(Blob(name="plan.md", media_type="text/markdown", data=text.encode()))

    async def _plan(self, question: Question, run: Run) -> Plan:
        request = PlanRequest(question=asked(question), length=run.settings.report.length, today=today(run))
        saying = "no usable plan: one section over the whole question"
        task, last_resort, ahead = ASK.of(request), whole(question), None
        if await can_be_ahead(task, run):
            ahead = Ahead(question, run, promising(task))
            task = replace(task, heard=ahead.heard)
        try:
            plan = await run.perform(task)
        except CallFailed as failed:
            plan = await _begun(last_resort, ahead, run) if ahead else last_resort
            kept = plan.sections != last_resort.sections
            await tell(run, f"{_BEGUN if kept else saying} ({failed.record.text})")
            return plan
        plan = sound(plan, question) if await run.by_chat(ASK.name, ASK.role) else plan
        if plan.sections:
            return numbered(plan).model_copy(update={"domains": plan.domains or domains(plan)})
        await tell(run, f"{saying} (it came without sections)")
        return last_resort


async def _begun(last_resort: Plan, ahead: Ahead, run: Run) -> Plan:
    """Return what had come of a plan that never came whole: its searches are made already.

    Without its sections what they brought is arranged under the titles of the pages, and each is written by itself.
    """
    begun = await run.fact("searches begun ahead of the plan", ahead.begun)
    if isinstance(begun, list):  # of an older version: the queries alone
        begun = {"queries": [{"query": query} for query in begun]}
    if len(begun.get("sections", ())) > 1:  # one alone may be a small part of the question
        return numbered(Plan.model_validate({"title": last_resort.title, **begun}))
    plain = tuple(NextSearch(query=query["query"]) for query in begun.get("queries", ()))
    return last_resort.model_copy(update={"queries": plain})


def promising(task: Task[Plan]) -> Callable[[Any], bool]:
    """Return what tells of the part of a plan before its searches whether it will be taken; sections may follow."""
    return fitting(task, lambda plan: bool(plan.sections), {"sections": [{"id": "1", "title": ""}]})


def sound(plan: Plan, question: Question) -> Plan:
    """Return a plan with the titles of a report, and no section for what every report has anyway.

    A title that a form shows is none; a list of sources, a summary and a conclusion stand around the sections.
    """
    titled = [
        one.model_copy(update={"title": drafts.title(one.title) or one.goal or "".join(one.questions[:1])})
        for one in plan.sections
    ]
    own = [one for one in titled if not _AROUND.fullmatch(one.title)]
    title = drafts.title(plan.title) or question.text
    return plan.model_copy(update={"title": title, "sections": tuple(own or titled)})


def whole(question: Question) -> Plan:
    """Return the plan of last resort: one section over the whole question."""
    section = PlannedSection(id="1", title=question.text, goal=question.text, questions=(question.text,))
    return Plan(title=question.text, sections=(section,))


def numbered(plan: Plan) -> Plan:
    """Return the plan with an id of its own for every section: evidence finds its section by that.

    The first of a name keeps it, so that searches point where they did; the others are numbered by their place, or,
    where a section of the plan has that number, by the lowest one that is free.
    """
    taken = {section.id.strip() for section in plan.sections}
    seen, sections = {""}, []
    free = (str(number) for number in count(1) if str(number) not in taken)
    for place, section in enumerate(plan.sections, start=1):
        name = section.id.strip()
        if name in seen:
            name = str(place) if str(place) not in taken else next(free)
            taken.add(name)
        seen.add(name)
        sections.append(section if name == section.id else section.model_copy(update={"id": name}))
    return plan.model_copy(update={"sections": tuple(sections)})


def domains(plan: Plan) -> tuple[str, ...]:
    """Return what its sections cover, each once."""
    return tuple(dict.fromkeys(section.domain for section in plan.sections if section.domain))


def markdown(plan: Plan) -> str:
    """Return the plan for people."""
    lines = [f"# {plan.title}", ""]
    for place, section in enumerate(plan.sections, start=1):
        lines += [f"{place}. **{section.title}**" + (f": {section.goal}" if section.goal else "")]
        lines += [f"   - {question}" for question in section.questions]
    if plan.domains:
        lines += ["", f"Domains: {', '.join(plan.domains)}"]
    return "\n".join(lines) + "\n"


@hookimpl
def leadline_stages() -> Iterator[StageOffer[Any]]:
    """Offer the stage."""
    yield StageOffer(
        lambda settings, context: Outline(),
        PluginSettings,
        "Makes the outline: sections, each with a goal and key questions",
        needs=(QUESTION,),
        gives=(PLAN,),
        tasks=(ASK,),
    )
