"""What a client is told of a run: its progress in lines, and its report with links to the passages."""

from __future__ import annotations

import asyncio
import re
import time
from base64 import b64encode
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from leadline.display import one_line, shortened
from leadline.errors import LeadlineError
from leadline.events import utc_now
from leadline.progress import RunProgress, format_step
from leadline.records import Blob, Event, Report
from leadline_server.openai.turns import Turn
from leadline_server.openai.writing import Answer, Draft
from leadline_server.problems import Problem
from leadline_server.service import Service
from leadline_server.views import RunView

# Characters of a plan that are shown.
_PLAN = 4_000
_MARKUP = re.compile(r"([\\`*_\[\]<>])")
# Seconds in which the state of a run shows the question that its events tell.
_SHOWN = 2.0
# The report is sent in pieces that begin with these headings.
_SECTION = re.compile(r"(?=^## )", re.MULTILINE)


class Narration:
    """Tells the events of a run in lines of Markdown, and between them the texts that models write."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._progress = RunProgress()
        self._draft, self._lines = Draft(), ""
        self._began = time.monotonic()

    def text(self, event: Event) -> str:
        """Return what an event tells; empty for most. Lines wait for the end of a text that is being told."""
        text = self._draft.text(event)
        self._lines += self._line_of(event)
        if self._draft.is_open:
            return text
        lines, self._lines = self._lines, ""
        return text + lines

    def _line_of(self, event: Event) -> str:
        self._progress.update(event)
        data = event.data
        match event.kind:
            case "run.started":
                return f"[Run {event.run_id}]({self._url})\n\n"
            case "progress":
                return _line(format_step(event))
            case "source":
                return _line(f"read: {one_line(data.get('title') or data['url'])}")
            case "message" if data.get("kind") == "plan":
                return f"\n{shortened_lines(str(data['text']))}\n\n"
            case "message" if data.get("kind") == "index":
                return _line(self._progress.source)
            case "notice" | "error":
                return _line(self._progress.new_message(event))
            case "call.held":
                return _line(self._progress.wait_message(event))
        return ""

    def alive(self) -> str:
        """Return what the run does at present, for a quiet time."""
        if self._draft.is_open:
            return ""
        step = next((name for name, status in self._progress.steps.items() if status == "started"), "waiting")
        return _line(f"{step} … {time.monotonic() - self._began:.0f} s")


def _line(text: str) -> str:
    """Return a text of a third party as an item of a list."""
    plain = _MARKUP.sub(r"\\\1", shortened(text))
    return f"- {plain}\n" if text else ""


def shortened_lines(text: str) -> str:
    """Return the beginning of a text of several lines."""
    return text.strip() if len(text) <= _PLAN else f"{text[:_PLAN].rstrip()} …"


def asked(message: str, url: str) -> str:
    """Return the question of a run to the user, as the answer of a chat."""
    return f"{message}\n\n*Answer with your next message, or on [the page of the run]({url}).*"


@dataclass(frozen=True)
class Step:
    """What a client is told at once: a text that belongs to the answer or to the progress, or an event of the run."""

    text: str = ""
    is_answer: bool = False
    event: Event | None = None


@dataclass
class Exchange:
    """What a client is told of one turn. `url` is the run's page, `figures` how texts have the report's figures."""

    service: Service
    turn: Turn
    principal: str | None
    url: str
    figures: str = "links"

    def __post_init__(self) -> None:
        self.narration = Narration(self.url)

    async def steps(self, *, deltas: bool = False) -> AsyncGenerator[Step, None]:
        """Yield texts, and the events of searches and pages. Raises `Problem` if there is no answer.

        With `deltas` an answer that nothing checks comes as it is written, and drafts of a report are told as progress.
        Without, a repetition yields the same.
        """
        finished, written = False, Answer()
        stream = self.service.events(self.turn.run_id, self.principal, self.turn.after, deltas=deltas)
        async with aclosing(stream) as events:  # type: ignore[type-var]
            async for event in events:
                if event.kind == "question" and await self._is_open(event):
                    yield Step(asked(str(event.data["message"]), self.url), is_answer=True)
                    return
                if event.kind in ("query", "found", "source"):
                    yield Step(event=event)
                if piece := written.text(event):
                    yield Step(piece, is_answer=True)
                elif not written.sent and (text := self.narration.text(event)):
                    yield Step(text)
                finished = event.kind == "run.finished"
        if not finished:
            raise closing(self.url)
        first, *others = await answer(self, await self.view())
        for piece in (written.rest(first), *others):
            yield Step(piece, is_answer=True)

    async def cancel(self, reason: str = "the client left") -> None:
        """End the run, unless it has ended."""
        with suppress(Problem, LeadlineError):
            await self.service.cancel(self.turn.run_id, self.principal, reason)

    async def view(self) -> RunView:
        """Return the run as of now."""
        return await self.service.view(self.turn.run_id, self.principal)

    async def report(self) -> Report:
        """Return the report of the run. Raises `Problem`."""
        return await self.service.report(self.turn.run_id, self.principal)

    def with_picture(self, text: str, picture: Blob, view: RunView) -> str:
        """Return a text with a picture in it, or with a link to its file: a chat loads nothing that needs a token."""
        before, target, after = text.partition(f"]({picture.name})")
        if not target:
            return text
        if self.figures == "data":
            data = b64encode(picture.data).decode()
            return f"{before}](data:{picture.media_type};base64,{data}){after}"
        image = before.rindex("![")
        run = f"{self.url.removesuffix(f'/runs/{view.id}')}{view.links.files}"
        address = f"{run}{quote(picture.name)}" if picture.name in view.files else self.url
        return f"{before[:image]}{before[image + 1 :]}]({address}){after}"

    async def _is_open(self, event: Event) -> bool:
        """Return whether a question waits for its answer; the run's state shows it a little later than its events."""
        name = event.data.get("id")
        until = event.time.timestamp() + _SHOWN
        while True:
            view = await self.view()
            if any(question.id == name for question in view.questions):
                return True
            if view.ended or utc_now().timestamp() > until:
                return False
            await asyncio.sleep(0.05)


def tokens_of(view: RunView) -> tuple[int, int, int, int]:
    """Return the tokens that a run has read, written, read from a cache, and used for reasoning."""
    used: Any = view.usage
    read, written, cached, reasoning = (
        int(used.get(f"{name}_tokens") or 0) for name in ("input", "output", "cached", "reasoning")
    )
    return read, written, cached, reasoning


def closing(url: str) -> Problem:
    """Return the error for a client whose server shuts down."""
    return Problem(503, "closing", "the server is shutting down; the run continues when it is back", url)


async def answer(exchange: Exchange, view: RunView) -> list[str]:
    """Return the answer of a run that has ended, in pieces. Raises `Problem` if it failed."""
    if view.status in ("complete", "partial"):
        return [*_status(view), *await _report(exchange, view), *_end(exchange.url)]
    if view.status == "no_evidence":
        return [f"No evidence was found: {view.reason}\n\n", *_end(exchange.url)]
    code = "run_cancelled" if view.status == "cancelled" else "run_failed"
    raise Problem(500, code, f"the run is {view.status}: {view.reason or 'no reason is known'}", exchange.url)


def _status(view: RunView) -> Iterator[str]:
    if view.status == "partial":
        yield f"*Partial: {view.reason}*\n\n"


async def _report(exchange: Exchange, view: RunView) -> list[str]:
    report = await exchange.report()
    if len(report.sections) == 1 and not report.sources and not report.figures:  # an answer, not a document
        return [report.sections[0].text or ""]
    about = {**report.metadata, "addresses": {"passages": f"{exchange.url}/evidence/{{id}}"}}
    files = await exchange.service.client.format(report.model_copy(update={"metadata": about}), "markdown")
    text = "\n\n".join(file.data.decode() for file in files.files if file.media_type.startswith("text/markdown"))
    for picture in (file for file in files.files if file.media_type.startswith("image/")):
        text = exchange.with_picture(text, picture, view)
    return _SECTION.split(text)


def _end(url: str) -> Iterator[str]:
    yield f"\n\n---\n[Report, passages and downloads]({url})\n"
