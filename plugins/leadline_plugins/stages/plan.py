"""Stage `plan`: the outline of the report, and the first searches; a person may change them before they are made."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from textwrap import indent
from typing import Any, Literal

from pydantic import Field, JsonValue

from leadline.contracts import StageRun
from leadline.display import one_line
from leadline.errors import ClarificationFailed, NeedsClarification
from leadline.findings import Findings
from leadline.plugin import PluginSettings, stage
from leadline.records import Blob, Json, Notice
from leadline.research_findings import PLAN, QUESTION, Plan, PlannedSection, Query, Question
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
from leadline_plugins.stages.query import query_limit, with_sections
from leadline_plugins.text.reply_language import answered_in_language

_NO_PLAN = Notice("no usable plan: one section answers the whole question", "no_plan")
# Hits that the plan sees, and characters of each; seconds that it waits for them.
_HITS, _HIT, _WAIT = 8, 200, 1.5
# The answer that follows the plan as it is, where nobody can press a button.
_GO_ON = "go on"
# The page shows the first paragraph, and the plan in a field.
_APPROVE = f"""\
This is the plan: change, add or delete lines; one without a name is a search. The question is searched for in any case.

{{plan}}

Answer with all the lines; to follow the plan as it is, answer: {_GO_ON}.
The lines are also in plan.txt, in the folder of the run {{run}}."""
# The lines of an edited plan by name, with the fields that they set: above the first section, and in a section.
_HEAD = {"title": "title", "scope": "scope", "form": "form", "search": "queries", "section": "title"}
_SECTION = {"section": "title", "goal": "goal", "table": "grid", "question": "questions", "search": "queries"}


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


class PlanSettings(PluginSettings):
    """Whether a person sees the plan first."""

    approve: Literal["never", "ask"] = Field(
        "never",
        description="Have a person approve or change the plan before its searches begin: never, ask.",
    )


@stage(
    "Writes the outline: sections, each with a goal and key questions",
    settings=PlanSettings,
    needs=(QUESTION,),
    gives=(PLAN,),
    uses=(TASK,),
)
class PlanStage:
    """Has a model write the outline; without a usable one, one section covers the whole question."""

    def __init__(self, settings: PlanSettings) -> None:
        self._asks = settings.approve == "ask"

    async def run(self, findings: Findings, run: StageRun, /) -> None:
        """Set the plan and save it as `plan.md`."""
        plan = await self._plan(findings[QUESTION], run)
        findings[PLAN] = plan = await _approved(plan, run) if self._asks else plan
        await publish(plan, run)

    async def _plan(self, question: Question, run: StageRun) -> Plan:
        size = plan_size(run.settings, question.language)
        ahead = SearchPrefetch(question, run, reads=not self._asks) if await can_prefetch(TASK, run) else None
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
        if ahead and not self._asks:
            task = replace(task, heard=ahead.receive)
        # A spent budget costs the outline, not the report.
        plan = await perform_or(run, task, last_resort, _NO_PLAN, closing=True)
        if ahead and self._asks:  # the session may end with the question to the user: a search in flight would be lost
            await ahead.search_question()
        if not plan.sections:
            await notify(run, _NO_PLAN.because(Notice("it has no sections", "no_sections")))
            return last_resort
        title = plan.title.strip() or question.text
        return with_unique_ids(plan.model_copy(update={"title": title, "approval": ""}))


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


async def _approved(plan: Plan, run: StageRun) -> Plan:
    """Return the plan as a person approves or changes it. Raises `NeedsClarification` if there is nobody to ask now."""
    limit = max(0, query_limit(0, run) - 1) if "query" in run.stages else 0  # one is the question itself
    plan = plan.model_copy(update={"queries": tuple(with_sections(plan, plan.queries))[:limit]})
    approved, first = plan.model_copy(update={"approval": "approved"}), editable(plan)
    text, fault, answers = first, "", 0
    if not (run.folder / "plan.txt").exists():  # somebody may be changing it
        await run.save(Blob(name="plan.txt", media_type="text/plain", data=text.encode()))
    while True:
        # Several lines of default make a field of several lines.
        schema: Json = {
            "type": "object",
            "properties": {"plan": {"type": "string", "title": "Plan", "default": text}},
            "required": ["plan"],
        }
        try:
            answer = await run.ask(fault + _APPROVE.format(plan=indent(text, "    "), run=run.id), schema)
        except NeedsClarification as error:
            advice = "to change it, edit plan.txt in its folder, and answer with @ and the path of the file"
            raise NeedsClarification(f"{fault}The plan waits for your approval; {advice}") from error
        if answer.action == "cancel":
            raise ClarificationFailed("the plan was neither approved nor changed")
        given = str(answer.content.get("plan", "")).strip()
        if answer.action == "decline" or given.casefold() in ("", _GO_ON) or given.split() == first.split():
            return approved
        try:
            return read_plan(given, plan, limit)
        except ValueError as error:
            answers += 1  # equal questions of a run are one question
            fault, text = (
                f"Answer {answers} cannot be used: {error}\n",
                given if "\n" in given else f"{given}\n\n{first}",
            )


def editable(plan: Plan) -> str:
    """Return the plan as lines `Name: text`, which `read_plan` reads: each section with its questions and searches."""
    ids = {section.id for section in plan.sections}
    lines = [("Title", plan.title), ("Scope", plan.scope), ("Form", plan.form)]
    lines += [("Search", query.query) for query in plan.queries if query.section not in ids]
    for section in plan.sections:
        lines += [("\nSection", section.title), ("  Goal", section.goal), ("  Table", section.grid)]
        lines += [("  Question", question) for question in section.questions]
        lines += [("  Search", query.query) for query in plan.queries if query.section == section.id]
    return "\n".join(f"{name}: {one_line(text)}" for name, text in lines if text.strip())


def read_plan(text: str, plan: Plan, limit: int) -> Plan:
    """Return a plan as a person changed it, with at most `limit` searches. Raises `ValueError` naming the line."""
    known = {one_line(query.query): query for query in plan.queries}
    domains = {one_line(section.title): section.domain for section in plan.sections}
    parts: list[dict[str, Any]] = [{}]  # the head, then the sections
    queries: list[Query] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        name, *rest = re.split("[:：]", line, maxsplit=1)
        if not rest and "\n" in text:  # a single line may be a remark
            name, rest = "search", [line]
        name, value, fields = name.strip().casefold(), one_line("".join(rest)), _SECTION if parts[1:] else _HEAD
        if not rest or name not in fields:
            names = ", ".join(f"{known_name.capitalize()}:" for known_name in fields)
            raise ValueError(f"line {number}, {one_line(line)[:60]!r}, must begin with one of {names}")
        if not value:
            raise ValueError(f"line {number}: nothing follows {name.capitalize()}: (write it, or delete the line)")
        if name == "section":
            parts.append({"id": str(len(parts)), "title": value, "questions": [], "domain": domains.get(value, "")})
        elif name == "search":
            section = parts[-1].get("id", "")
            queries.append(known.get(value, Query(query=value)).model_copy(update={"section": section}))
        elif name == "question":
            parts[-1]["questions"].append(value)
        elif parts[-1].setdefault(fields[name], value) is not value:
            raise ValueError(f"line {number} is a second {name.capitalize()}: (there can be one)")
    head, *sections = parts
    has_only_searches = bool(queries) and not head and not sections
    if not sections and not has_only_searches:
        raise ValueError("it has no line that begins with Section:")
    if plan.queries and not queries:
        raise ValueError("it has no line that begins with Search:")
    if len(queries) > limit:
        raise ValueError(f"it has {len(queries)} searches; there can be {limit} (research.first_queries, max_queries)")
    if has_only_searches:
        return plan.model_copy(update={"queries": tuple(queries), "approval": "edited"})
    return Plan(
        title=head.get("title", plan.title),
        scope=head.get("scope", ""),
        form=head.get("form", ""),
        sections=tuple(PlannedSection(**section) for section in sections),
        queries=tuple(queries),
        approval="edited",
    )


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
