"""Stage `requirements`: a structured requirements document from a question or a conversation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from leadline.contracts import StageRun
from leadline.display import one_line
from leadline.findings import Findings, Key
from leadline.plugin import stage
from leadline.research_findings import CONVERSATION, QUESTION, REPORT
from leadline.tasks import TaskKind
from leadline_plugins.prompting import estimates
from leadline_plugins.prompting.answering_tasks import (
    REQUIREMENTS_EXAMPLE,
    ReplyRequest,
    Requirements,
)
from leadline_plugins.prompting.inputs import template
from leadline_plugins.text.reply_language import answered_in_language
from leadline_plugins.wording.phrases import phrase
from leadline_plugins.writing.plain_report import answer_request, plain_report

REQUIREMENTS: Key[Requirements] = Key("requirements", Requirements, file="requirements.json")
_NEEDS = ("must", "should", "could")


def _texts(reply: Requirements) -> Iterator[str]:
    yield from (reply.title, reply.summary, *reply.goals, *reply.constraints, *reply.open_questions)
    yield from (user.needs for user in reply.users)
    yield from (function.description for function in reply.functions)


_IN_LANGUAGE = answered_in_language(_texts)


def reply_faults(request: ReplyRequest, reply: Requirements) -> str:
    """Return all faults of a document at once, because the model has only one more attempt."""
    empty = [name for name in ("goals", "users", "functions") if not getattr(reply, name)]
    faults = [f"{' and '.join(empty)} must not be empty"] if empty else []
    return "; ".join(filter(None, (*faults, _IN_LANGUAGE(request, reply))))


def accept_after_retry(request: ReplyRequest, reply: Requirements) -> tuple[Requirements, str] | None:
    """Accept the second reply if it has any requirement and is in the right language."""
    if _IN_LANGUAGE(request, reply) or not (reply.goals or reply.functions):
        return None
    empty = [name for name in ("goals", "users", "functions") if not getattr(reply, name)]
    return reply, f"the requirements have no {' and no '.join(empty)}"


TASK = TaskKind(
    "requirements",
    ReplyRequest,
    Requirements,
    template("requirements"),
    role="thinking",
    example=REQUIREMENTS_EXAMPLE,
    show=ReplyRequest.as_text,
    check=reply_faults,
    mend=accept_after_retry,
    shows=("summary", "goals", "description", "constraints", "open_questions"),
    expects=estimates.one_call(300, 900),
)


@stage(
    "Writes a requirements document: goals, users, functions, constraints, open questions",
    needs=(QUESTION,),
    wants=(CONVERSATION,),
    gives=(REQUIREMENTS, REPORT),
    closing=True,
    uses=(TASK, "ai.providers"),
)
class RequirementsStage:
    """Makes the document of the model the report, with a section for each part."""

    async def run(self, findings: Findings, run: StageRun, /) -> None:
        request = answer_request(findings, run)
        reply = await run.perform(TASK.of(request))
        findings[REQUIREMENTS] = reply
        parts = markdown_parts(reply, request.question.language)
        findings[REPORT] = plain_report(request.question, run, parts, reply.title)
        await run.emit("message", {"kind": "report", "text": "\n\n".join(filter(None, parts.values()))})


def markdown_parts(document: Requirements, language: str) -> Mapping[str, str]:
    """Return the sections as Markdown by the names of their phrases; an empty one is left out of the report."""
    users = ([user.name, user.needs] for user in document.users)
    functions = (
        [
            f"F{number}",
            function.name,
            function.description,
            phrase(_need(function.priority), language),
            function.acceptance,
        ]
        for number, function in enumerate(document.functions, start=1)
    )
    return {
        "summary": document.summary,
        "goals": _list(document.goals),
        "users": _table([phrase(name, language) for name in ("users", "needs")], users),
        "functions": _table(
            ["", *(phrase(name, language) for name in ("function", "description", "priority", "acceptance"))], functions
        ),
        "constraints": _list(document.constraints),
        "open_questions": _list(document.open_questions),
    }


def _need(priority: str) -> str:
    return next((name for name in _NEEDS if name in priority.casefold()), "should")


def _list(items: Iterable[str]) -> str:
    return "\n".join(f"- {one_line(item)}" for item in dict.fromkeys(items) if item.strip())


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(one_line(cell).replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(head)} |", "|---" * len(head) + "|", *lines]) if lines else ""
