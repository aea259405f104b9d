"""The inputs of research tasks as text: the question, the outline, past searches, the state of the research."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from leadline.findings import Digest, Plan, Question
from leadline.records import Record, Text


class PastSearch(Record):
    """A search of this run: what it found that no search before it had, or why it failed."""

    query: Text
    section: str = ""
    pages: int = 0
    failure: Text = ""


def about(question: Question, today: str = "") -> str:
    """Return the question with its language, the date, and what is assumed or answered about it."""
    lines = [f"Question: {question.text}"]
    if question.language and question.language != "und":
        lines.append(f"Language: {question.language}")
    if today:
        lines.append(f"Today: {today}")
    lines += listed("Assumptions", question.assumptions)
    return "\n".join(lines)


def outline(plan: Plan) -> str:
    """Return the sections of a plan, each with its id, goal and key questions."""
    return "\n".join(_outline(plan))


def _outline(plan: Plan) -> Iterator[str]:
    yield f"Report: {plan.title}"
    for section in plan.sections:
        yield f"Section {section.id}: {section.title}" + (f" ({section.goal})" if section.goal else "")
        yield from (f"- {question}" for question in section.questions)


def searches(past: Sequence[PastSearch]) -> str:
    """Return the searches of the run, each with what it found."""
    return "\n".join(listed("Searches so far", map(_search, past)))


def _search(one: PastSearch) -> str:
    result = f"failed: {one.failure}" if one.failure else f"{one.pages} new pages"
    return f'"{one.query}": {result}'


def state(digest: Digest) -> str:
    """Return what is known after the rounds before: synthesis, coverage by section, gaps."""
    coverage = [f"section {name}: {coverage}" for name, coverage in digest.section_coverage.items()]
    known = [f"Known so far: {digest.synthesis}"] if digest.synthesis else []
    return "\n".join((*known, *listed("Coverage", coverage), *listed("Gaps", digest.knowledge_gaps)))


def listed(title: str, items: Iterable[str]) -> list[str]:
    """Return a title with a list under it; nothing where the list is empty."""
    lines = [f"- {item}" for item in items]
    return [f"{title}:", *lines] if lines else []


def joined(*parts: str) -> str:
    """Return the parts that say something, with a blank line between them."""
    return "\n\n".join(part for part in parts if part)
