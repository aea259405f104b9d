"""Stage `plan`: the outline of the report, and the first searches."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from pydantic import JsonValue

from leadline.contracts import StageRun
from leadline.findings import Findings
from leadline.plugin import stage
from leadline.records import Blob, Notice
from leadline.research_findings import PLAN, QUESTION, Plan, Question
from leadline.tasks import TaskKind
from leadline_plugins.prompting import estimates
from leadline_plugins.prompting.fallback import notify, perform_or
from leadline_plugins.prompting.inputs import question_input, single_section_plan, start_date, template
from leadline_plugins.prompting.lengths import plan_size, report_length
from leadline_plugins.prompting.research_tasks import (
    LONG_PLAN_EXAMPLE,
    LONG_PLAN_SCHEMA,
    PLAN_EXAMPLE,
    PLAN_SCHEMA,
    PlanRequest,
)
from leadline_plugins.stages.prefetch import SearchPrefetch, can_prefetch
from leadline_plugins.stages.query import query_limit
from leadline_plugins.text.reply_language import answered_in_language

_NO_PLAN = Notice("no usable plan: one section answers the whole question", "no_plan")
# Hits that the plan sees, and characters of each; seconds that it waits for them.
_HITS, _HIT, _WAIT = 8, 200, 1.5


def _texts(plan: Plan) -> Iterator[str]:
    yield plan.title
    for section in plan.sections:
        yield from (section.title, section.goal, *section.questions)


TASK = TaskKind(
    "plan",
    PlanRequest,
    Plan,
    template("plan"),
    role="thinking",
    schema=PLAN_SCHEMA,
    example=PLAN_EXAMPLE,
    show=PlanRequest.as_text,
    check=answered_in_language(_texts),
    shows=("title", "goal", "questions"),
    expects=estimates.one_call(350, 700),
)


@stage(
    "Writes the outline: sections, each with a goal and key questions", needs=(QUESTION,), gives=(PLAN,), uses=(TASK,)
)
class PlanStage:
    """Has a model write the outline; without a usable one, one section covers the whole question."""

    async def run(self, findings: Findings, run: StageRun, /) -> None:
        """Set the plan and save it as `plan.md`."""
        findings[PLAN] = plan = await self._plan(findings[QUESTION], run)
        await publish(plan, run)

    async def _plan(self, question: Question, run: StageRun) -> Plan:
        size = plan_size(run.settings, question.language)
        ahead = SearchPrefetch(question, run) if await can_prefetch(TASK, run) else None
        request = PlanRequest(
            question=question_input(question),
            length=report_length(run.settings, question.language) if size else run.settings.report.length,
            minimum=size.minimum if size else 0,
            maximum=size.maximum if size else 0,
            searches=max(1, query_limit(0, run) - 1),  # one is the question itself
            hits=await _hits(ahead, run) if ahead else (),
            today=start_date(run),
        )
        kind = replace(TASK, schema=LONG_PLAN_SCHEMA, example=LONG_PLAN_EXAMPLE) if size else TASK
        task, last_resort = kind.of(request), single_section_plan(question)
        if ahead:
            task = replace(task, heard=ahead.receive)
        # A spent budget costs the outline, not the report.
        plan = await perform_or(run, task, last_resort, _NO_PLAN, closing=True)
        if not plan.sections:
            await notify(run, _NO_PLAN.because(Notice("it has no sections", "no_sections")))
            return last_resort
        return with_unique_ids(plan.model_copy(update={"title": plan.title.strip() or question.text}))


async def _hits(ahead: SearchPrefetch, run: StageRun) -> tuple[str, ...]:
    """Return what the search for the question itself finds; nothing if it fails or takes long."""
    search = ahead.search_question()
    await asyncio.wait([search], timeout=_WAIT)
    # A resumed run has the same hits: the reply may have been paid for.
    if not await run.fact("plan.hits", search.done):
        return ()
    return tuple(f"{hit.title}: {hit.snippet[:_HIT]}" for hit in (await search).hits[:_HITS])


async def publish(plan: Plan, run: StageRun) -> None:
    """Emit the plan and save it as `plan.md`."""
    text = markdown(plan)
    sections: list[JsonValue] = [
        section.model_dump(mode="json", include={"id", "title", "questions"}) for section in plan.sections
    ]
    await run.emit("message", {"kind": "plan", "text": text, "sections": sections})
    await run.save(Blob(name="plan.md", media_type="text/markdown", data=text.encode()))


def with_unique_ids(plan: Plan) -> Plan:
    """Return the plan with a unique id for every section.

    The first section with an id keeps it, because queries refer to it; later ones get the lowest free number.
    """
    taken = {section.id.strip() for section in plan.sections}
    seen, sections = {""}, []
    free = (str(number) for number in count(1) if str(number) not in taken)
    for section in plan.sections:
        name = section.id.strip()
        name = next(free) if name in seen else name
        seen.add(name)
        title = section.title.strip() or section.goal or "".join(section.questions[:1]) or plan.title
        sections.append(section.model_copy(update={"id": name, "title": title}))
    return plan.model_copy(update={"sections": tuple(sections)})


def markdown(plan: Plan) -> str:
    lines = [f"# {plan.title}", "", *(f"{text}\n" for text in (plan.scope, plan.form) if text)]
    for number, section in enumerate(plan.sections, start=1):
        lines += [f"{number}. **{section.title}**" + (f": {section.goal}" if section.goal else "")]
        lines += [f"   - {line}" for line in (section.grid, *section.questions) if line]
    if plan.domains:
        lines += ["", f"Domains: {', '.join(plan.domains)}"]
    return "\n".join(lines) + "\n"
