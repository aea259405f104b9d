"""What a chat shows of a run: its progress in lines, and its report with links to the passages."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from leadline.display import one_line, shortened
from leadline.progress import RunProgress, format_step
from leadline.records import Event
from leadline_server.openai.writing import Draft
from leadline_server.problems import Problem
from leadline_server.service import Service
from leadline_server.views import RunView

# Characters of a plan that are shown.
_PLAN = 4_000
_MARKUP = re.compile(r"([\\`*_\[\]<>])")
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


async def answer(service: Service, view: RunView, principal: str | None, url: str) -> list[str]:
    """Return the answer of a run that has ended, in pieces. Raises `Problem` if it failed."""
    if view.status in ("complete", "partial"):
        return [*_status(view), *await _report(service, view, principal, url), *_end(view, url)]
    if view.status == "no_evidence":
        return [f"No evidence was found: {view.reason}\n\n", *_end(view, url)]
    code = "run_cancelled" if view.status == "cancelled" else "run_failed"
    raise Problem(500, code, f"the run is {view.status}: {view.reason or 'no reason is known'}", url)


def _status(view: RunView) -> Iterator[str]:
    if view.status == "partial":
        yield f"*Partial: {view.reason}*\n\n"


async def _report(service: Service, view: RunView, principal: str | None, url: str) -> list[str]:
    report = await service.report(view.id, principal)
    if len(report.sections) == 1 and not report.sources and not report.figures:  # an answer, not a document
        return [report.sections[0].text or ""]
    # A chat cannot load pictures of the run: they need its token.
    about = {**report.metadata, "addresses": {"passages": f"{url}/evidence/{{id}}"}}
    shown = report.model_copy(update={"figures": (), "metadata": about})
    files = await service.client.format(shown, "markdown")
    text = "\n\n".join(file.data.decode() for file in files.files if file.media_type.startswith("text/markdown"))
    pieces = _SECTION.split(text)
    if report.figures:
        pieces.append(f"*The {len(report.figures)} figures are on [the page of the run]({url}).*\n\n")
    return pieces


def _end(view: RunView, url: str) -> Iterator[str]:
    yield f"\n\n---\n[Report, passages and downloads]({url})\n"
