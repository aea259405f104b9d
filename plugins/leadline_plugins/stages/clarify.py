"""Stage `clarify`: gates the question before anything is searched for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from leadline.contracts import Run
from leadline.errors import ClarificationFailed
from leadline.findings import QUESTION, Findings, Question
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.records import Json
from leadline_plugins.stages.degrade import tell
from leadline_plugins.text import content_words, language

_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
CJK_WEIGHT = 3
"""How many Latin letters a CJK character counts for, under the relaxed rules."""


class Clarify:
    """Names what is unclear; then asks, assumes, or lets it pass, as the settings say."""

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Refine the question in place."""
        text = findings[QUESTION].text
        wanted = run.settings.language
        question = Question(text=text, language=language(text) if wanted == "auto" else wanted)
        reasons = () if run.settings.clarify.mode == "off" else tuple(unclear(text, run.settings.clarify))
        if reasons:
            question = await self._settle(question, reasons, run)
        findings[QUESTION] = question

    async def _settle(self, question: Question, reasons: tuple[str, ...], run: Run) -> Question:
        asked = f"The question is unclear: {'; '.join(reasons)}. What exactly do you want to know?"
        question = question.model_copy(update={"needs_clarification": True, "reasons": reasons, "questions": (asked,)})
        if run.settings.clarify.mode == "ask":
            return await self._ask(question, asked, run)
        assumption = "the question is meant as it stands, in its most usual sense"
        await tell(run, f"{'; '.join(reasons)}: assumed that {assumption}")
        return question.model_copy(update={"assumptions": (assumption,)})

    async def _ask(self, question: Question, message: str, run: Run) -> Question:
        schema: Json = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
        answer = await run.ask(message, schema)
        said = str(answer.content.get("answer", "")).strip()
        if answer.action != "accept" or not said:
            raise ClarificationFailed(f"no usable answer came to: {message}")
        return question.model_copy(
            update={"text": f"{question.text} ({said})", "answers": (said,), "needs_clarification": False}
        )


def unclear(text: str, rules: Any) -> Iterator[str]:
    """Yield the reasons why a question needs clarifying, by the rules of `[clarify]`; none when it is clear."""
    literal = rules.rules == "literal"
    weight = len(text) if literal else len(text) + (CJK_WEIGHT - 1) * len(_CJK.findall(text))
    if weight < rules.min_length:
        yield f"it is short (under {rules.min_length} characters)"
    words = re.findall(r"\w+", text.lower())
    vague = _among(words, rules.vague_terms)
    others = [word for word in content_words(text) if word not in set(rules.vague_terms)]
    if vague and (literal or not others):
        yield f"it holds vague terms ({', '.join(vague)})"
    if words and len(_among(words, rules.short_terms)) == len(set(words)):
        yield f"it is only short terms ({', '.join(dict.fromkeys(words))})"


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
    )
