"""Reports without sources: what a model wrote from the question alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from leadline.contracts import StageRun
from leadline.findings import Findings
from leadline.records import Report, Section
from leadline.research_findings import CONVERSATION, QUESTION, Question
from leadline_plugins.prompting.answering_tasks import ReplyRequest
from leadline_plugins.prompting.conversations import conversation_text
from leadline_plugins.prompting.inputs import question_input, start_date
from leadline_plugins.text import language
from leadline_plugins.wording.phrases import phrase
from leadline_plugins.writing.model_markdown import parse_section


def in_own_language(question: Question, run: StageRun) -> Question:
    """Return the question with its language, where no stage has found it yet."""
    if question.language:
        return question
    wanted = run.settings.language
    return question.model_copy(update={"language": language(question.text) if wanted == "auto" else wanted})


def answer_request(findings: Findings, run: StageRun) -> ReplyRequest:
    """Return the inputs of a task that answers from the question and the conversation alone."""
    return ReplyRequest(
        question=question_input(in_own_language(findings[QUESTION], run)),
        today=start_date(run),
        conversation=conversation_text(findings.get(CONVERSATION)),
    )


def plain_report(question: Question, run: StageRun, texts: Mapping[str, str], title: str = "") -> Report:
    """Return a report of a section for each text that is not empty; the keys are names of phrases, as `answer`.

    A model's citations are removed: there is no passage that they could name.
    """
    return Report(
        title=run.settings.report.title or title.strip() or question.text,
        language=question.language,
        sections=tuple(_sections(question.language, texts.items())),
        sources=(),
        evidence=(),
        metadata={"question": question.text, "created": run.now().isoformat()},
    )


def _sections(language: str, texts: Iterable[tuple[str, str]]) -> Iterable[Section]:
    for name, text in texts:
        title = phrase(name, language)
        if written := parse_section(text, {}, title):
            yield Section(id=name, title=title, text=written)
