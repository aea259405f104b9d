"""Stage `route`: chooses the pipeline with which the run continues, by rules first, and by a model where they fail."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from pydantic import Field

from leadline.contracts import StageRun
from leadline.estimates import Expected, Scope
from leadline.findings import Findings
from leadline.plugin import PluginSettings, stage
from leadline.records import Record, Text
from leadline.research_findings import CONVERSATION, QUESTION, ROUTE, Question, Route
from leadline.settings import Names
from leadline.tasks import TaskKind
from leadline_plugins.knowledge import KnowledgeSettings
from leadline_plugins.prompting.conversations import conversation_text
from leadline_plugins.prompting.fallback import notify, perform_or
from leadline_plugins.prompting.inputs import bullet_list, paragraphs, question_input, template
from leadline_plugins.routing import FIRST, MIXED, by_rules, may_ask_more, refuse_small_talk
from leadline_plugins.writing.plain_report import in_own_language

_PIPELINES: Names = (
    "chat",
    "knowledge",
    "search",
    "code",
    "thinking",
    "requirements",
    "research",
    "longform",
)


_READ_BY_ALL = "The user has documents; `knowledge` answers from them alone, pipelines that search read them too."
_READ_BY_ONE = "The user has documents; only `knowledge` reads them."


class Described(Record):
    """A pipeline and what it is for."""

    name: str
    description: Text = ""


class RouteRequest(Record):
    """Asks for the pipeline of a question."""

    question: Question
    pipelines: tuple[Described, ...]
    conversation: Text = ""
    documents: Text = ""
    """Which pipelines read the user's own documents; empty if there are none."""

    def as_text(self) -> str:
        """Return the inputs as prompt text."""
        known = (f"{pipeline.name}: {pipeline.description}" for pipeline in self.pipelines)
        pipelines = "\n".join(bullet_list("Pipelines", known))
        return paragraphs(pipelines, self.documents, self.conversation, f"Question: {self.question.text}")


class Chosen(Record):
    """The name of a pipeline, why it was chosen, and what of the question it would not do."""

    pipeline: str
    reason: Text = ""
    left: Text = ""


def _fault(request: RouteRequest, reply: Chosen) -> str:
    names = [pipeline.name for pipeline in request.pipelines]
    return "" if reply.pipeline.strip() in names else f"pipeline must be one of {', '.join(names)}"


def _estimate(scope: Scope) -> Expected:
    """Expect no call where a rule decides; the chosen pipeline makes calls of its own."""
    route = by_rules(scope.question, _PIPELINES) if scope.question else None
    return Expected(calls=1 if route is None or may_ask_more(scope.question, route) else 0)


TASK = TaskKind(
    "route",
    RouteRequest,
    Chosen,
    template("route"),
    example='{"pipeline": "search", "reason": "a single fact that may have changed", "left": ""}',
    show=RouteRequest.as_text,
    check=_fault,
    expects=_estimate,
)


class RouteSettings(PluginSettings):
    """The pipelines among which a question is routed."""

    pipelines: Names = Field(_PIPELINES, description="Pipelines to choose from; those that do not exist are left out.")


@stage(
    "Chooses the pipeline for the question: by rules, else by a model",
    settings=RouteSettings,
    needs=(QUESTION,),
    wants=(CONVERSATION,),
    gives=(ROUTE,),
    uses=(TASK,),
)
class RouteStage:
    """Chooses a pipeline. Without a model, what no rule decides is researched."""

    def __init__(self, settings: RouteSettings) -> None:
        self._settings = settings

    async def run(self, findings: Findings, run: StageRun, /) -> None:
        question, known = findings[QUESTION], run.settings.pipelines
        await refuse_small_talk(question.text, run)
        documents = await run.fact("the run finds stored documents", lambda: asyncio.to_thread(_has_documents, run))
        names = [name for name in self._settings.pipelines if name in known and (name != FIRST or documents)]
        route = by_rules(question.text, names)
        is_partial = route is not None and may_ask_more(question.text, route)
        reads = run.settings.knowledge.base in run.settings.search.engines  # research then does all of it
        chosen, left = None, ""
        if (route is None or is_partial) and await run.by_chat(TASK.name, TASK.role):
            request = RouteRequest(
                question=question_input(in_own_language(question, run)),
                pipelines=tuple(Described(name=name, description=known[name].description) for name in names),
                conversation=conversation_text(findings.get(CONVERSATION)),
                documents=(_READ_BY_ALL if reads else _READ_BY_ONE) if documents else "",
            )
            reply = await perform_or(run, TASK.of(request), Chosen(pipeline=""), "no model chose a pipeline")
            chosen, left = _route(reply), reply.left.strip().rstrip(".")
        if chosen:
            route = chosen
        elif route is not None and is_partial and reads and MIXED in names and route.pipeline == FIRST:
            route = Route(pipeline=MIXED, reason=f"{route.reason}, and perhaps more")
        elif route is not None and is_partial:
            left = f"everything but {route.reason}"
        if left:
            await notify(run, "left out: {left}; ask for it in a question of its own", "undone", left=left)
        findings[ROUTE] = route or Route(pipeline=_usual(names), reason="no rule decides", by="default")


def _has_documents(run: StageRun) -> bool:
    """Return whether the run finds stored documents; their section is the default until a stage uses it."""
    section = dict(run.settings.plugins).get(run.settings.knowledge.base)
    from leadline_plugins.knowledge.base import finds_documents

    settings = section if isinstance(section, KnowledgeSettings) else KnowledgeSettings()
    return finds_documents(settings, run.settings.knowledge.documents, run.principal)


def _route(reply: Chosen) -> Route | None:
    if not (name := reply.pipeline.strip()):
        return None
    return Route(pipeline=name, reason=reply.reason.strip().rstrip(".") or "chosen by the model", by="model")


def _usual(names: Iterable[str]) -> str:
    names = tuple(names)
    return MIXED if MIXED in names or not names else names[-1]
