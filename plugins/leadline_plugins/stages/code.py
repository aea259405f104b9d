"""Stage `code`: a model writes a program for the request, the sandbox runs it, and a failed one is repaired once.

Code runs in the sandbox of `code.sandbox` and nowhere else: a run without one is refused before it starts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from pydantic import JsonValue

from leadline.contracts import StageRun
from leadline.errors import CallFailed, CallRefused
from leadline.estimates import Expected
from leadline.findings import Findings
from leadline.plugin import stage
from leadline.records import Blob, Code, Execution, Figure, Record, Report, Section, Text
from leadline.research_findings import QUESTION, REPORT, Question
from leadline.tasks import TaskKind
from leadline_plugins.parse.media import MOST_PIXELS, declared_pixels, media_type
from leadline_plugins.prompting.fallback import notify
from leadline_plugins.prompting.inputs import paragraphs, question_input, question_text, start_date, template
from leadline_plugins.text.reply_language import answered_in_language
from leadline_plugins.wording.phrases import phrase
from leadline_plugins.writing.plain_report import in_own_language

_FENCE = re.compile(r"\s*(?P<mark>`{3,}|~{3,})[^\n`]*\n(?P<inside>.*?)\n?(?P=mark)\s*", re.DOTALL)


class CodeRequest(Record):
    """Asks for a program; with `error`, for a correction of `code`. `seconds` is its time limit."""

    question: Question
    today: str = ""
    seconds: int = 60
    code: Text = ""
    error: Text = ""

    def as_text(self) -> str:
        """Return the inputs as prompt text."""
        return paragraphs(
            question_text(self.question, self.today),
            f"Time limit: {self.seconds} seconds",
            f"Program:\n{self.code}" if self.error else "",
            f"Error:\n{self.error}" if self.error else "",
        )


class WrittenCode(Record):
    """A program with its title and an explanation of how it works."""

    title: Text = ""
    explanation: Text = ""
    code: Text

    @property
    def program(self) -> str:
        """The program without the code fence that some models put around it."""
        match = _FENCE.fullmatch(self.code)
        return (match["inside"] if match else self.code).strip("\n")


CODE_EXAMPLE = (
    '{"title": "Mean of five lengths", "explanation": "It adds up the lengths and divides the sum by their number.", '
    "\"code\": \"lengths = [3, 4, 5, 6, 7]\\nprint('mean length:', sum(lengths) / len(lengths), 'm')\"}"
)


# Seconds that a program may run.
SECONDS = 60
# Characters of the error that the model sees, from its end; of each output in the report.
_ERROR_END, _SHOWN = 3_000, 10_000
_FOLDER = "code"


TASK = TaskKind(
    "code",
    CodeRequest,
    WrittenCode,
    template("code"),
    role="thinking",
    example=CODE_EXAMPLE,
    show=CodeRequest.as_text,
    check=answered_in_language(lambda written: (written.explanation,)),
    mend=lambda asked, written: (written, ""),
    shows=("explanation", "code"),
    expects=lambda scope: Expected(inputs=400, reply=500),
)


class Attempt(NamedTuple):
    """A program and the result of running it."""

    written: WrittenCode
    execution: Execution

    @property
    def error(self) -> str:
        """The error of the program; empty if it ended well."""
        return self.execution.stderr[-_ERROR_END:] if self.execution.exit_code else ""


@stage(
    "Writes a program for the request, runs it in the sandbox, and reports the result",
    needs=(QUESTION,),
    gives=(REPORT,),
    uses=(TASK, "code.sandbox", "ai.providers"),
)
class CodeStage:
    """Writes, runs and reports a program; saves it with its output and files in the folder `code` of the run."""

    async def run(self, findings: Findings, run: StageRun, /) -> None:
        question = in_own_language(findings[QUESTION], run)
        request = CodeRequest(question=question_input(question), today=start_date(run), seconds=SECONDS)
        attempts = [await _attempt(request, run)]
        if attempts[0].error:
            repair = request.model_copy(update={"code": attempts[0].written.program, "error": attempts[0].error})
            attempts += await _repaired(repair, run)
        files = await _save(attempts, run)
        findings[REPORT] = report = code_report(question, attempts, files, run)
        text = "\n\n".join(section.text or "" for section in report.sections)
        await run.emit("message", {"kind": "report", "text": text})


async def _attempt(request: CodeRequest, run: StageRun) -> Attempt:
    written = await run.perform(TASK.of(request))
    execution = await run.execute(Code(language="python", text=written.program, seconds=SECONDS))
    return Attempt(written, execution)


async def _repaired(request: CodeRequest, run: StageRun) -> Sequence[Attempt]:
    """Return the second attempt; none if the model could not be asked, so that the first stays."""
    try:
        return [await _attempt(request, run)]
    except CallFailed as failed:
        if isinstance(failed, CallRefused) and run.settings.budget.model_calls > 1:
            raise
        await notify(run, "the program was not repaired ({reason})", "not_repaired", reason=failed.record.text)
        return []


async def _save(attempts: Sequence[Attempt], run: StageRun) -> list[str]:
    """Save the program, its result and its files; return the names of its files in the folder of the run."""
    last = attempts[-1]
    names = [f"{_FOLDER}/files/{file.name}" for file in last.execution.files]
    data = [_result(attempt) for attempt in attempts]
    await run.save(_text(f"{_FOLDER}/main.py", f"{last.written.program}\n", "text/x-python"))
    await run.save(_text("execution.json", json.dumps(data, ensure_ascii=False, indent=1), "application/json"))
    for name, file in zip(names, last.execution.files, strict=True):
        await run.save(file.model_copy(update={"name": name}))
    return names


def _result(attempt: Attempt) -> dict[str, JsonValue]:
    execution = attempt.execution
    files: list[JsonValue] = [file.name for file in execution.files]
    result = execution.model_dump(mode="json", exclude={"files"})
    return {"code": attempt.written.program, **result, "files": files}


def _text(name: str, text: str, media_type: str) -> Blob:
    return Blob(name=name, media_type=media_type, data=text.encode("utf-8", "replace"))


# --- the report ------------------------------------------------------------------------------------------------------


def code_report(question: Question, attempts: Sequence[Attempt], files: Sequence[str], run: StageRun) -> Report:
    """Return the report: result, program, execution. A program that failed leaves the report incomplete."""
    last, wording = attempts[-1], question.language
    figures = tuple(_figures(last))
    sections = (
        Section(id="answer", title=phrase("answer", wording), text=_answer(last, figures, wording)),
        Section(id="code", title=phrase("code", wording), text=_fenced(last.written.program, "python")),
        Section(id="execution", title=phrase("execution", wording), text=_facts(attempts, files, run, wording)),
    )
    return Report(
        title=" ".join(last.written.title.split()) or question.text,
        language=wording,
        sections=sections,
        sources=(),
        evidence=(),
        figures=figures,
        lacks=(f"the program ended with exit code {last.execution.exit_code}",) if last.execution.exit_code else (),
        metadata={
            "question": question.text,
            "created": run.now().isoformat(),
            "execution": [_result(attempt) for attempt in attempts],
        },
    )


def _answer(last: Attempt, figures: Sequence[Figure], wording: str) -> str:
    """Return the explanation, what the program printed, its value and its error, and its pictures."""
    execution = last.execution
    value = "" if execution.value is None else json.dumps(execution.value, ensure_ascii=False)
    shown = (("output", execution.stdout), ("value", value), ("error", execution.stderr))
    parts = [last.written.explanation.strip()]
    for name, text in shown:
        if text.strip():
            parts += [f"**{phrase(name, wording)}**", _fenced(_shortened(text), "text")]
    return "\n\n".join([*filter(None, parts), *(f"![](figure:{figure.id})" for figure in figures)])


def _facts(attempts: Sequence[Attempt], files: Sequence[str], run: StageRun, wording: str) -> str:
    """Return a table: exit code, time, sandbox, attempts, the error that was corrected, files."""
    last = attempts[-1].execution
    rows = [
        (phrase("exit_code", wording), str(last.exit_code)),
        (phrase("time", wording), f"{last.seconds:.2f} s"),
        (phrase("sandbox", wording), run.settings.code.sandbox),
        (phrase("attempts", wording), str(len(attempts))),
        *((phrase("error", wording), f"`{_last_line(attempt.error)}`") for attempt in attempts[:-1]),
        (phrase("files", wording), ", ".join(f"`{name}`" for name in files) or phrase("none", wording)),
    ]
    lines = [f"| {name} | {value} |" for name, value in rows]
    return "\n".join(["|  |  |", "|---|---|", *lines])


def _last_line(error: str) -> str:
    """Return the last line of an error, such as `ZeroDivisionError: division by zero`, for a cell of a table."""
    line = (error.strip().splitlines() or [""])[-1]
    return line.replace("`", "'").replace("|", "\\|")[:200]


def _figures(last: Attempt) -> Iterator[Figure]:
    """Yield the pictures that the program saved; one of too many pixels is a file only."""
    for file in last.execution.files:
        kind = media_type(file.name)
        if kind in ("image/png", "image/jpeg") and declared_pixels(file.data) <= MOST_PIXELS:
            name = PurePosixPath(file.name).stem
            yield Figure(id=f"file-{name}", caption=file.name, alt=file.name, media={kind: file.data})


def _shortened(text: str) -> str:
    left = len(text) - _SHOWN
    return text if left <= 0 else f"{text[:_SHOWN]}\n… +{left:,}"


def _fenced(text: str, kind: str) -> str:
    """Return a text as a block of code that nothing in it can close."""
    mark = "`" * 3
    while mark in text:
        mark += "`"
    return f"{mark}{kind}\n{text.strip(chr(10))}\n{mark}"
