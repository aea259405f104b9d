"""Observer `terminal`: shows the progress of a run on standard error.

On a terminal a few lines change in place; in a pipe, a log or a terminal without colour each step is a plain line. The
command line enables it; it is a plugin so that another one can replace it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Literal, Protocol, TextIO

from pydantic import Field

from leadline.plugin import PluginSettings, observer
from leadline.progress import RunProgress, format_review, format_step
from leadline.records import Event


class TerminalSettings(PluginSettings):
    """The form of the progress display."""

    style: Literal["auto", "live", "plain"] = Field(
        "auto", description="live: lines change in place; plain: one line per step"
    )


class View(Protocol):
    """Shows the progress of one run."""

    def show(self, event: Event) -> None: ...
    def close(self) -> None: ...


@observer("Shows the progress of a run on the terminal", settings=TerminalSettings)
class Terminal:
    """Shows runs; the first may change lines in place, others at the same time write plain lines."""

    deltas = False

    def __init__(self, settings: TerminalSettings) -> None:
        self._style = settings.style
        self._views: dict[str, View] = {}

    async def observe(self, event: Event, /) -> None:
        if event.kind == "run.started":
            self._views[event.run_id] = self._view(sys.stderr)
        if event.run_id in self._views:
            self._views[event.run_id].show(event)
        if event.kind == "run.finished":
            self._views.pop(event.run_id).close()

    def close(self) -> None:
        """Restore the terminal, even if a run has not ended."""
        while self._views:
            self._views.popitem()[1].close()

    def _view(self, out: TextIO) -> View:
        live = can_change(out, os.environ) if self._style == "auto" else self._style == "live"
        if self._views or not live:
            return PlainView(out)
        from rich.console import Console

        from leadline_plugins.observers.live import LiveView

        return LiveView(Console(file=out, highlight=False, markup=False, force_terminal=True))


def can_change(out: TextIO, environ: Mapping[str, str]) -> bool:
    """Return whether lines can change in place on this terminal."""
    plain = bool(environ.get("NO_COLOR")) or environ.get("TERM", "dumb" if os.name == "posix" else "") == "dumb"
    return out.isatty() and not plain and (out.encoding or "").lower().replace("-", "") == "utf8"


class PlainView:
    """Writes a line per finished step, notice and error: for files, pipes and simple terminals."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._closed = False
        self._progress = RunProgress()
        self._start = 0.0

    def show(self, event: Event) -> None:
        """Write the line of an event, if it has one."""
        self._progress.update(event)
        now, data = event.time.timestamp(), event.data
        match event.kind:
            case "run.started":
                self._start = now
                for text in (self._progress.question, *self._progress.choices):
                    self._write(text)
            case "progress" if step := format_step(event):
                self._write(f"{now - self._start:6.1f} s  {step}")
            case "review":
                self._write(f"{now - self._start:6.1f} s  {format_review(event)}")
            case "message" if data.get("kind") == "index":
                self._write(f"{now - self._start:6.1f} s  {self._progress.source}")
            case "notice" | "error":
                if message := self._progress.new_message(event):
                    self._write(f"{'note' if event.kind == 'notice' else 'error'}: {message}")
            case "call.held":
                if message := self._progress.wait_message(event):
                    self._write(f"{now - self._start:6.1f} s  {message}")
            case "run.finished":
                totals = self._progress.totals()
                self._write(", ".join([self._progress.status, *totals, f"{now - self._start:.1f} s"]))

    def close(self) -> None:
        """Do nothing: the view holds no resources."""

    def _write(self, text: str) -> None:
        if self._closed:
            return
        try:
            print(text, file=self._out, flush=True)
        except BrokenPipeError:
            self._closed = True  # as with `2>&1 | head`
