"""Progress as a few lines that change in place: the steps, the counts, the latest source."""

from __future__ import annotations

import time
from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from leadline.records import Event
from leadline_plugins.observers.standing import Standing

_MARKS = {"finished": ("✓", "green"), "failed": ("✗", "yellow"), "pending": ("·", "bright_black")}
_ENDS = {"complete": ("✓", "green"), "partial": ("◐", "yellow"), "failed": ("✗", "red")}


class LiveView:
    """Draws on the terminal; what matters later, as notices and errors, stays above the lines that change."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._standing = Standing()
        self._began = time.monotonic()
        self._spinner = Spinner("dots", style="cyan")
        # Its own thread draws: the clock goes on while the loop is busy.
        self._live = Live(self, console=console, refresh_per_second=10, transient=True, redirect_stdout=False)

    def show(self, event: Event) -> None:
        """Take the event in; the next drawing shows it."""
        self._standing.take(event)
        match event.kind:
            case "run.started":
                self._start()
            case "question":
                self._live.stop()  # the person answers on these very lines
            case "notice":
                self._say("note", "yellow", event)
            case "error":
                self._say("error", "red", event)
            case "call.held":
                if message := self._standing.held(event):
                    self._console.print(Text(message, "bright_black"))
            case "run.finished":
                self._finish()
            case _ if not self.drawing:
                self._live.start()

    @property
    def drawing(self) -> bool:
        """Whether the lines are on the screen."""
        return self._live.is_started

    def close(self) -> None:
        """Give the terminal back."""
        self._live.stop()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the lines that change."""
        yield from self._steps(options.max_width)
        yield Text(" · ".join([self._elapsed(), *self._standing.totals()]), no_wrap=True, overflow="ellipsis")
        yield Text(self._standing.source, "bright_black", no_wrap=True, overflow="ellipsis")

    def _steps(self, width: int) -> Iterator[Text]:
        """Yield the steps in as many lines as they need; a mark stays beside its name."""
        steps = Text()
        for name, status in self._standing.steps.items():
            step = self._step(name, status)
            if steps.cell_len and steps.cell_len + step.cell_len > width:
                yield steps
                steps = Text()
            steps.append_text(step).append("  ")
        yield steps

    def _step(self, name: str, status: str) -> Text:
        if status == "started":
            frame = self._spinner.render(time.monotonic())
            assert isinstance(frame, Text)
            return frame.append(f" {name}", "bold cyan")
        mark, style = _MARKS[status]
        return Text(f"{mark} {name}", style)

    def _start(self) -> None:
        self._console.print(Text(self._standing.question, "bold"))
        for choice in self._standing.choices:
            self._console.print(Text(choice, "bright_black"))
        self._live.start()

    def _say(self, word: str, style: str, event: Event) -> None:
        if message := self._standing.news(event):
            self._console.print(Text.assemble((f"{word}: ", style), message))

    def _finish(self) -> None:
        self._live.stop()
        mark, style = _ENDS.get(self._standing.status, ("○", "yellow"))
        words = [self._standing.status.replace("_", " "), *self._standing.totals(), self._elapsed()]
        self._console.print(Text.assemble((f"{mark} ", style), " · ".join(words)))

    def _elapsed(self) -> str:
        seconds = time.monotonic() - self._began
        return f"{seconds:.1f} s" if seconds < 60 else f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
