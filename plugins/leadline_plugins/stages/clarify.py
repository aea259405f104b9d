"""Stage `clarify`: gates the question before anything is searched for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from leadline.contracts import Run
from leadline.errors import ClarificationFailed
from leadline.expecting import Expected, Scope
from leadline.findings import QUESTION, Findings, Question
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.records import Json
from leadline.task_kinds import TaskKind
from leadline_plugins import expect
from leadline_plugins.prompts import template
from leadline_plugins.stages.degrade import perform_or, tell
from leadline_plugins.stages.rounds import today
from leadline_plugins.tasks.planning import Clarification, ClarifyRequest
from leadline_plugins.text import content_words, language
from leadline_plugins.text.foreign import answered_in_language

_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
CJK_WEIGHT = 3
"""How many Latin letters a CJK character counts for, under the relaxed rules."""
MOST = 3
"""Questions that are asked back at most."""
_WHAT = "What exactly do you want to know?"
_OWN = "What is your situation: location, budget, time, experience, needs and preferences?"
_OPEN = "Which type, source, criteria and specific aspects do you mean?"
_USE = "What is it for: purpose, audience, scope, format?"
"""What is asked where no model says what to ask."""
_LEAD = re.compile(
    r"^\W*(?:(?:please|can you|could you)\s+)*(?:tell me|find|give|show|get)?\s*(?:me|us)?\s*"
    r"(?:more|some)?\s*(?:about|information (?:on|about|regarding))\s+"
    r"|^\W*i(?:['’]?m| am| would like|['’]d like)\s+(?:looking for|interested in|interested to know about|to know)\s+"
    r"(?:(?:more )?about |(?:some )?information (?:on|about) |the topic of )?"
    r"|^[请請]?介[绍紹](?:一下)?|について(?:教えて|説明して|知りたい)?.*$",
    re.IGNORECASE,
)
"""What only says that something is to be told of a topic."""
BY_MODEL = "it can be understood in several ways"


def _said(made: Clarification) -> Iterator[str]:
    yield from (*made.questions, *made.assumptions)


def _expects(scope: Scope) -> Expected:
    rules = scope.settings.clarify
    asked = scope.question and (any(unclear(scope.question, rules)) or is_complex(scope.question, rules))
    return expect.clarify(scope, asked=bool(asked))


ASK = TaskKind(
    "clarify",
    ClarifyRequest,
    Clarification,
    template("clarify"),
    check=answered_in_language(_said),
    expects=_expects,
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
        if not reasons and not is_complex(question.text, rules):
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
        asked = said.questions[:MOST] or tuple(by_rules(question.text, run.settings.clarify))
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


def is_complex(text: str, rules: Any) -> bool:
    """Return whether a question bears a mark of complexity, by `clarify.complex_terms`."""
    return any(
        term.lower() in text.lower() if _CJK.search(term) else re.search(rf"\b{re.escape(term)}", text, re.IGNORECASE)
        for term in rules.complex_terms
    )


def unclear(text: str, rules: Any) -> Iterator[str]:
    """Yield the reasons why a question needs clarifying, by the rules of `[clarify]`; none when it is clear."""
    literal = rules.rules == "literal"
    if (len(text) if literal else _weight(text)) < rules.min_length:
        yield f"it is short (under {rules.min_length} characters)"
    elif not literal and _weight(_LEAD.sub("", text)) < rules.min_length:
        yield "it names a topic, and nothing to know of it"
    words = re.findall(r"\w+", text.lower())
    vague = _among(words, rules.vague_terms)
    others = [word for word in content_words(text) if word not in set(rules.vague_terms)]
    if vague and (literal or not others):
        yield f"it holds vague terms ({', '.join(vague)})"
    if words and len(_among(words, rules.short_terms)) == len(set(words)):
        yield f"it is only short terms ({', '.join(dict.fromkeys(words))})"
    if literal or _weight(text) >= rules.told_length:
        return
    if own := _said_in(text, rules.own_terms):
        yield f"it is asked for a case of one's own, of which it tells little ({', '.join(own)})"
    if left := _said_in(text, rules.open_terms):
        yield f"it leaves open which, or by what measure ({', '.join(left)})"


def by_rules(text: str, rules: Any) -> Iterator[str]:
    """Yield what to ask back where no model says it: first what the rules have against the question."""
    relaxed = rules.rules != "literal"
    own, left = (relaxed and _said_in(text, terms) for terms in (rules.own_terms, rules.open_terms))
    yield from (_OWN, _OPEN) if own else (_OPEN, _OWN) if left else (_WHAT, _OPEN)
    yield _USE


def _weight(text: str) -> int:
    return len(text) + (CJK_WEIGHT - 1) * len(_CJK.findall(text))


def _said_in(text: str, terms: Iterable[str]) -> list[str]:
    """Return the terms that stand in a text: whole words, CJK anywhere."""
    plain = text.lower().replace("’", "'")
    return [
        term
        for term in dict.fromkeys(terms)
        if (term in plain if _CJK.search(term) else re.search(rf"(?<!\w){re.escape(term.lower())}(?![\w-])", plain))
    ]


def _among(words: Iterable[str], terms: Iterable[str]) -> list[str]:
    known = set(terms)
    return list(dict.fromkeys(word for word in words if word in known))


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
