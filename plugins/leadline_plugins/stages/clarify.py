"""Stage `clarify`: checks whether the question is clear, before anything is searched."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Literal

from pydantic import Field

from leadline.contracts import StageRun
from leadline.display import one_line
from leadline.errors import ClarificationFailed, NeedsClarification
from leadline.estimates import Expected, Scope
from leadline.findings import Findings
from leadline.plugin import PluginSettings, stage
from leadline.records import Blob, Json, Notice
from leadline.research_findings import QUESTION, Question
from leadline.tasks import TaskKind
from leadline_plugins.passages.cutting import cjk_characters
from leadline_plugins.prompting import estimates
from leadline_plugins.prompting.fallback import notify, perform_or
from leadline_plugins.prompting.inputs import start_date, template
from leadline_plugins.prompting.research_tasks import CLARIFY_EXAMPLE, Clarification, ClarifyRequest
from leadline_plugins.routing import refuse_small_talk
from leadline_plugins.text import content_words, language
from leadline_plugins.text.reply_language import answered_in_language
from leadline_plugins.text.tokens import has_cjk

# Under the relaxed rules, a CJK character counts as this many Latin letters.
CJK_WEIGHT = 3
# Characters below which a question is unclear.
MIN_LENGTH = 20
# Maximum number of questions to the user.
MAX_QUESTIONS = 3
# A personal question of at least this many characters has enough details.
_DETAILED = 200
# The questions to the user if no model proposes any.
_DEFAULT_QUESTIONS = (
    "What exactly do you want to know?",
    "What is your situation: location, budget, time, experience, needs and preferences?",
    "What is it for: purpose, audience, scope, format?",
)
AMBIGUOUS = "it can be understood in several ways"


def _texts(reply: Clarification) -> Iterator[str]:
    yield from (*reply.questions, *reply.assumptions)


def _estimate(scope: Scope) -> Expected:
    settings = dict(scope.settings.plugins).get("clarify", ClarifySettings())
    asked = scope.question and (any(unclear_reasons(scope.question, settings)) or is_complex(scope.question))
    return estimates.clarify(scope, asked=bool(asked))


TASK = TaskKind(
    "clarify",
    ClarifyRequest,
    Clarification,
    template("clarify"),
    check=answered_in_language(_texts),
    expects=_estimate,
    example=CLARIFY_EXAMPLE,
    show=ClarifyRequest.as_text,
)


class ClarifySettings(PluginSettings):
    """When and how to clarify an ambiguous question."""

    mode: Literal["ask", "assume", "off"] = Field(
        "assume", description="For an unclear question: ask the user, assume the usual meaning, or off."
    )
    rules: Literal["relaxed", "literal"] = Field(
        "relaxed", description="Rules that find a question unclear: relaxed, literal."
    )
    timeout: float = Field(0, ge=0, description="Seconds to wait for an answer; 0 is no limit.")


@stage(
    "Gates an unclear question: asks back, or writes down what it assumes",
    settings=ClarifySettings,
    needs=(QUESTION,),
    gives=(QUESTION,),
    uses=(TASK,),
)
class ClarifyStage:
    """Finds what is unclear; then asks the user, states assumptions, or continues, depending on `clarify.mode`.

    Rules decide whether a question is unclear; a model proposes questions and assumptions. For a complex question that
    passes all rules, the model decides.
    """

    def __init__(self, settings: ClarifySettings) -> None:
        self._settings = settings

    async def run(self, findings: Findings, run: StageRun, /) -> None:
        """Replace the question with the clarified one."""
        question, wanted = findings[QUESTION], run.settings.language
        await refuse_small_talk(question.text, run)
        detected = language(question.text) if wanted == "auto" else wanted
        question = question.model_copy(update={"language": detected})
        if self._settings.mode != "off":
            question = await self._gated(question, run)
        findings[QUESTION] = question

    async def _gated(self, question: Question, run: StageRun) -> Question:
        reasons = tuple(unclear_reasons(question.topic, self._settings))
        question = question.model_copy(update={"reasons": reasons})
        if not reasons and not is_complex(question.text):
            return question
        reply = await self._by_model(question, run)
        if not reasons:
            if not reply.needs_clarification or not reply.questions:
                return question
            question = question.model_copy(update={"reasons": (AMBIGUOUS,)})
        return await self._settle(question, reply, run)

    async def _by_model(self, question: Question, run: StageRun) -> Clarification:
        """Return the model's questions and assumptions; none without a model."""
        silent = Clarification(needs_clarification=False)
        if not await run.by_chat(TASK.name, TASK.role):
            return silent
        notice = Notice("no model checked whether the question is clear", "unseen")
        request = ClarifyRequest(question=question, today=start_date(run))
        return await perform_or(run, TASK.of(request), silent, notice, closing=True)

    async def _settle(self, question: Question, reply: Clarification, run: StageRun) -> Question:
        reasons = "; ".join(question.reasons)
        asked = reply.questions[:MAX_QUESTIONS] or _DEFAULT_QUESTIONS
        question = question.model_copy(update={"needs_clarification": True, "questions": asked})
        if self._settings.mode == "ask":
            listed = [f"{number}. {text}" for number, text in enumerate(asked, start=1)] if asked[1:] else [*asked]
            # A model's questions say themselves what is unclear.
            message = "\n".join(listed if reply.questions else (f"The question is unclear: {reasons}.", *listed))
            if answered := await self._ask(question, message, run):
                return answered
        assumptions = reply.assumptions[:MAX_QUESTIONS]
        if not assumptions:  # nothing is known beyond the question itself
            return question
        await notify(
            run, f"{reasons}: assumed: {'; '.join(assumption.rstrip(' .。;；') for assumption in assumptions)}"
        )
        return question.model_copy(update={"assumptions": assumptions})

    async def _ask(self, question: Question, message: str, run: StageRun) -> Question | None:
        """Return the question with its answer; None if the user has the run go on without one."""
        fields: Json = {"answer": {"type": "string", "title": "Your answer"}}
        schema: Json = {"type": "object", "properties": dict(fields), "required": ["answer"]}
        # The finding is saved when the stage ends: too late for whoever has to answer, or finds the run waiting.
        data = question.model_dump_json(indent=1).encode() + b"\n"
        await run.save(Blob(name=QUESTION.file, media_type="application/json", data=data))
        try:
            answer = await run.ask(message, schema, wait=self._settings.timeout or None)
        except NeedsClarification as error:
            advice = "Write the question more precisely, or add --set clarify.mode=assume"
            raise NeedsClarification(f"{one_line(message)} {advice}") from error
        if answer.action == "decline":
            return None
        answer_text = str(answer.content.get("answer", "")).strip()
        if answer.action != "accept" or not answer_text:
            raise ClarificationFailed(f"there was no usable answer to: {one_line(message)}")
        return question.model_copy(
            update={"text": f"{question.text} ({answer_text})", "answers": (answer_text,), "needs_clarification": False}
        )


@cache
def _words() -> Mapping[str, tuple[str, ...]]:
    """Return the word lists of the rules by name."""
    data = tomllib.loads(files(__package__).joinpath("clarify.toml").read_text("utf-8"))
    return {name: tuple(entry["words"]) for name, entry in data.items()}


def is_complex(text: str) -> bool:
    """Return whether a question contains a mark of complexity."""
    return any(
        term in text.lower() if has_cjk(term) else re.search(rf"\b{term}", text, re.IGNORECASE)
        for term in _words()["complex"]
    )


def unclear_reasons(text: str, settings: ClarifySettings) -> Iterator[str]:
    """Yield the reasons why a question is unclear by the rules of `[clarify]`.

    The rule about personal questions applies only with `rules = "relaxed"`; figures:
    docs/decisions/0024-pipelines-and-routing.md.
    """
    literal, size = settings.rules == "literal", len(text) + (CJK_WEIGHT - 1) * cjk_characters(text)
    if (len(text) if literal else size) < MIN_LENGTH:
        yield "it is very short"
    words = re.findall(r"\w+", text.lower())
    vague = list(dict.fromkeys(word for word in words if word in _words()["vague"]))
    if vague and (literal or not set(content_words(text)) - set(vague)):
        yield f"it contains vague terms ({', '.join(vague)})" if literal else "it does not say what it is about"
    if words and set(words) <= set(_words()["short"]):
        yield f"it consists of short terms only ({', '.join(dict.fromkeys(words))})"
    plain = text.lower().replace("’", "'")
    own = [word for word in _words()["own"] if (word in plain if has_cjk(word) else re.search(rf"\b{word}\b", plain))]
    if own and not literal and size < _DETAILED:
        yield f"it is about a personal case and gives few details ({', '.join(own)})"
