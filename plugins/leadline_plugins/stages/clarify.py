"""Stage `clarify`: gates the question before anything is searched for it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from leadline.contracts import Run
from leadline.errors import ClarificationFailed
from leadline.expecting import Expected, Scope
from leadline.findings import QUESTION, Findings, Question
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.records import Json
from leadline.task_kinds import TaskKind
from leadline_plugins import expect
from leadline_plugins.passages.size import cjk_characters
from leadline_plugins.prompts import template
from leadline_plugins.stages.degrade import perform_or, tell
from leadline_plugins.stages.rounds import today
from leadline_plugins.tasks.planning import CLARIFY_EXAMPLE, CLARIFY_SCHEMA, Clarification, ClarifyRequest
from leadline_plugins.text import content_words, language
from leadline_plugins.text.foreign import answered_in_language
from leadline_plugins.text.tokens import has_cjk

CJK_WEIGHT = 3
"""How many Latin letters a CJK character counts for, under the relaxed rules."""
MOST = 3
"""Questions that are asked back at most."""
_TOLD = 200
"""Characters from which a question about the asker's own case tells enough of it; a CJK character counts 3."""
_ASKED_BACK = (
    "What exactly do you want to know?",
    "What is your situation: location, budget, time, experience, needs and preferences?",
    "What is it for: purpose, audience, scope, format?",
)
"""What is asked where no model proposes questions."""
BY_MODEL = "it can be understood in several ways"


def _said(made: Clarification) -> Iterator[str]:
    yield from (*made.questions, *made.assumptions)


def _expects(scope: Scope) -> Expected:
    rules = scope.settings.clarify
    asked = scope.question and (any(unclear(scope.question, rules)) or is_complex(scope.question))
    return expect.clarify(scope, asked=bool(asked))


ASK = TaskKind(
    "clarify",
    ClarifyRequest,
    Clarification,
    template("clarify"),
    check=answered_in_language(_said),
    expects=_expects,
    schema=CLARIFY_SCHEMA,
    example=CLARIFY_EXAMPLE,
    show=ClarifyRequest.as_text,
)


class Clarify:
    """Names what is unclear; then asks, assumes, or lets it pass, as the settings say.

    Rules decide, and a model says what to ask and what to assume. Of a complex question, which the rules have nothing
    against, the model says whether.
    """

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Refine the question in place."""
        text, rules = findings[QUESTION].text, run.settings.clarify
        wanted = run.settings.language
        question = Question(text=text, language=language(text) if wanted == "auto" else wanted)
        if rules.mode != "off":
            question = await self._gated(question, run)
        findings[QUESTION] = question

    async def _gated(self, question: Question, run: Run) -> Question:
        rules = run.settings.clarify
        reasons = tuple(unclear(question.text, rules))
        question = question.model_copy(update={"reasons": reasons})
        if not reasons and not is_complex(question.text):
            return question
        said = await self._by_model(question, run)
        if not reasons:
            if not said.needs_clarification or not said.questions:
                return question
            question = question.model_copy(update={"reasons": (BY_MODEL,)})
        return await self._settle(question, said, run)

    async def _by_model(self, question: Question, run: Run) -> Clarification:
        """Return what a model says of it; nothing where there is none, for no algorithm knows what was meant."""
        silent = Clarification(needs_clarification=False)
        if not await run.by_chat(ASK.name, ASK.role):
            return silent
        saying = "no model looked at whether the question is clear"
        request = ClarifyRequest(question=question, today=today(run))
        return await perform_or(run, ASK.of(request), silent, saying, closing=True)

    async def _settle(self, question: Question, said: Clarification, run: Run) -> Question:
        reasons = "; ".join(question.reasons)
        asked = said.questions[:MOST] or _ASKED_BACK
        question = question.model_copy(update={"needs_clarification": True, "questions": asked})
        if run.settings.clarify.mode == "ask":
            return await self._ask(question, f"The question is unclear: {reasons}. {' '.join(asked)}", run)
        assumptions = said.assumptions[:MOST] or ("the question is meant as it stands, in its most usual sense",)
        await tell(run, f"{reasons}: assumed: {'; '.join(one.rstrip(' .。;；') for one in assumptions)}")
        return question.model_copy(update={"assumptions": assumptions})

    async def _ask(self, question: Question, message: str, run: Run) -> Question:
        schema: Json = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
        answer = await run.ask(message, schema)
        said = str(answer.content.get("answer", "")).strip()
        if answer.action != "accept" or not said:
            raise ClarificationFailed(f"no usable answer came to: {message}")
        return question.model_copy(
            update={"text": f"{question.text} ({said})", "answers": (said,), "needs_clarification": False}
        )


@cache
def _words() -> Mapping[str, tuple[str, ...]]:
    """Return the word lists of the rules, by name."""
    data = tomllib.loads(files(__package__).joinpath("clarify.toml").read_text("utf-8"))
    return {name: tuple(entry["words"]) for name, entry in data.items()}


def is_complex(text: str) -> bool:
    """Return whether a question has a mark of complexity."""
    return any(
        term in text.lower() if has_cjk(term) else re.search(rf"\b{term}", text, re.IGNORECASE)
        for term in _words()["complex"]
    )


def unclear(text: str, rules: Any) -> Iterator[str]:
    """Yield the reasons why a question needs clarifying by the rules of `[clarify]`; none when it is clear.

    The last rule is not of the literal rules. `docs/decisions/0034-evidence-brief.md` has its figures.
    """
    literal, size = rules.rules == "literal", _weight(text)
    if (len(text) if literal else size) < rules.min_length:
        yield f"it is short (under {rules.min_length} characters)"
    words = re.findall(r"\w+", text.lower())
    vague = _among(words, "vague")
    if vague and (literal or not set(content_words(text)) - set(vague)):
        yield f"it has vague terms ({', '.join(vague)})"
    if words and set(words) <= set(_words()["short"]):
        yield f"it is only short terms ({', '.join(dict.fromkeys(words))})"
    plain = text.lower().replace("’", "'")
    own = [one for one in _words()["own"] if (one in plain if has_cjk(one) else re.search(rf"\b{one}\b", plain))]
    if own and not literal and size < _TOLD:
        yield f"it asks about a case of one's own and tells little of it ({', '.join(own)})"


def _among(words: Iterable[str], name: str) -> list[str]:
    return list(dict.fromkeys(word for word in words if word in _words()[name]))


def _weight(text: str) -> int:
    return len(text) + (CJK_WEIGHT - 1) * cjk_characters(text)


@hookimpl
def leadline_stages() -> Iterator[StageOffer[Any]]:
    """Offer the stage."""
    yield StageOffer(
        lambda settings, context: Clarify(),
        PluginSettings,
        "Gates an unclear question: asks back, or writes down what it assumes",
        needs=(QUESTION,),
        gives=(QUESTION,),
        tasks=(ASK,),
    )
