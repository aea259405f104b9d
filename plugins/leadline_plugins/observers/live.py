"""Progress as a few lines that change in place: steps, counts and the latest source."""

from __future__ import annotations

import time
from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from leadline.progress import RunProgress, format_review
from leadline.records import Event

_MARKS = {"finished": ("✓", "green"), "failed": ("✗", "yellow"), "pending": ("·", "bright_black")}
_ENDS = {"complete": ("✓", "green"), "partial": ("◐", "yellow"), "failed": ("✗", "red")}


class LiveView:
    """Draws on the terminal; notices and errors stay above the lines that change."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = RunProgress()
        self._start_time = time.monotonic()
        self._spinner = Spinner("dots", style="cyan")
        # A thread draws, so that the clock runs on while the event loop is busy.
        self._live = Live(self, console=console, refresh_per_second=10, transient=True, redirect_stdout=False)

    def show(self, event: Event) -> None:
        """Update the lines, which the next refresh draws."""
        self._progress.update(event)
        match event.kind:
            case "run.started":
                self._start()
            case "question":
                self._live.stop()  # the user answers on these lines
            case "notice":
                self._print("note", "yellow", event)
            case "error":
                self._print("error", "red", event)
            case "review":
                self._console.print(Text(format_review(event), "bright_black"))
            case "call.held":
                if message := self._progress.wait_message(event):
                    self._console.print(Text(message, "bright_black"))
            case "run.finished":
                self._finish()
            case _ if not self.drawing:
                self._live.start()

    @property
    def drawing(self) -> bool:
        """True while the lines are on the screen."""
        return self._live.is_started

    def close(self) -> None:
        """Restore the terminal."""
        self._live.stop()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the lines that change."""
        yield from self._steps(options.max_width)
        yield Text(" · ".join([self._elapsed(), *self._progress.totals()]), no_wrap=True, overflow="ellipsis")
        yield Text(self._progress.source, "bright_black", no_wrap=True, overflow="ellipsis")

    def _steps(self, width: int) -> Iterator[Text]:
        """Yield the steps in as many lines as needed; a mark stays beside its name."""
        steps = Text()
        for name, status in self._progress.steps.items():
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
        self._console.print(Text(self._progress.question, "bold"))
        for choice in self._progress.choices:
            self._console.print(Text(choice, "bright_black"))
        self._live.start()

    def _print(self, word: str, style: str, event: Event) -> None:
        if message := self._progress.new_message(event):
            self._console.print(Text.assemble((f"{word}: ", style), message))

    def _finish(self) -> None:
        self._live.stop()
        mark, style = _ENDS.get(self._progress.status, ("○", "yellow"))
        words = [self._progress.status.replace("_", " "), *self._progress.totals(), self._elapsed()]
        self._console.print(Text.assemble((f"{mark} ", style), " · ".join(words)))

    def _elapsed(self) -> str:
        seconds = time.monotonic() - self._start_time
        return f"{seconds:.1f} s" if seconds < 60 else f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
