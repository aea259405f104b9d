"""Prompt templates, and the inputs that several tasks share: question, outline, past searches, research so far."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files

from leadline.contracts import Run
from leadline.records import Record, Source, Text
from leadline.research_findings import Digest, Found, Plan, PlannedSection, Question

# What a line of foreign text may begin with: nothing that a mark of a prompt begins with, such as `# Source` or `[1]`.
_PLAIN = re.compile(r"\s*[\w\-|>:`(\"'“‘«「$.)}]")


@cache
def template(name: str) -> str:
    """Return the instructions of a task, from `data/<name>.md`; `[prompts]` in the settings replaces them."""
    return files(__package__).joinpath("data", f"{name}.md").read_text(encoding="utf-8")


def start_date(run: Run) -> str:
    """Return the day on which the run began (ISO 8601); a resumed run keeps it."""
    return run.now().date().isoformat()


def question_input(question: Question) -> Question:
    """Return a question without the record of how it was clarified, which no task needs."""
    return question.model_copy(update={"needs_clarification": False, "reasons": (), "questions": (), "asked": ""})


def single_section_plan(question: Question) -> Plan:
    """Return a plan with one section for the whole question."""
    section = PlannedSection(id="1", title=question.text, questions=(question.text,))
    return Plan(title=question.text, sections=(section,))


class PastSearch(Record):
    """A search of this run, with the number of pages that no earlier search found, or why it failed."""

    query: Text
    goal: Text = ""
    section: str = ""
    pages: int = 0
    failure: Text = ""


def past_searches(searches: tuple[Found, ...], sources: tuple[Source, ...]) -> tuple[PastSearch, ...]:
    """Return all searches, each with the number of pages that no search before it had found."""
    pages = [source.task_id for source in sources]
    return tuple(
        PastSearch(
            query=search.task.query,
            goal=search.task.goal if search.task.round > 1 else "",
            section=search.task.section,
            pages=pages.count(search.task.id),
            failure=search.failure,
        )
        for search in searches
    )


# --- as text ---------------------------------------------------------------------------------------------------------


def question_text(question: Question, today: str = "") -> str:
    """Return the question with its language, the date and the assumptions made about it."""
    lines = [f"Question: {question.text}"]
    if question.context:
        lines.append(f"It follows up on: {question.context}")
    if question.language and question.language != "und":
        lines.append(f"Language: {question.language}")
    if today:
        lines.append(f"Today: {today}")
    lines += bullet_list("Assumptions", question.assumptions)
    return "\n".join(lines)


def outline_text(plan: Plan) -> str:
    """Return a plan: scope, form, and the sections, each with its id, goal, grid and key questions."""
    return "\n".join(_outline_lines(plan))


def _outline_lines(plan: Plan) -> Iterator[str]:
    yield f"Report: {plan.title}"
    yield from (f"{name}: {text}" for name, text in (("Scope", plan.scope), ("Form", plan.form)) if text)
    for section in plan.sections:
        goal = f" ({section.goal})" if section.goal not in ("", section.title) else ""
        yield f"Section {section.id}: {section.title}{goal}"
        yield from (f"- {line}" for line in (section.grid, *section.questions) if line not in ("", section.title))


def searches_text(past: Sequence[PastSearch]) -> str:
    """Return the searches of the run, each with its result."""
    searches = (
        f'"{search.query}"{f" ({search.goal})" if search.goal else ""}: '
        + (f"failed: {search.failure}" if search.failure else f"{search.pages} new pages")
        for search in past
    )
    return "\n".join(bullet_list("Searches so far", searches))


def digest_text(digest: Digest) -> str:
    """Return the state of the research after the earlier rounds: what is known, coverage by section, gaps."""
    coverage = [f"section {name}: {coverage}" for name, coverage in digest.section_coverage.items()]
    known = [f"Known so far: {digest.synthesis}"] if digest.synthesis else []
    return "\n".join((*known, *bullet_list("Coverage", coverage), *bullet_list("Gaps", digest.knowledge_gaps)))


def quoted(*texts: str) -> str:
    """Return foreign texts below each other, as a prompt shows them after a mark of its own.

    They have no blank line, and a line that could pass for a mark of the prompt begins with `>`.
    """
    first, *others = [line for text in texts for line in text.splitlines() if line.strip()] or [""]
    return "\n".join((first, *(line if _PLAIN.match(line) else f">{line}" for line in others)))


def bullet_list(title: str, items: Iterable[str]) -> list[str]:
    """Return the lines of a titled list; none if the list is empty."""
    lines = [f"- {quoted(item)}" for item in items]
    return [f"{title}:", *lines] if lines else []


def paragraphs(*parts: str) -> str:
    """Return the parts that are not empty, with a blank line between them."""
    return "\n\n".join(part for part in parts if part)
