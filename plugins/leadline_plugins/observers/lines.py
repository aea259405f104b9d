"""Progress as plain lines, one a step: for files, pipes, and terminals that can do no more."""

from __future__ import annotations

from typing import TextIO

from leadline.printable import one_line
from leadline.records import Event
from leadline_plugins.observers.standing import IN_ROUNDS, Standing, given


class Lines:
    """Writes a line whenever something is through."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._read = True
        self._standing = Standing()
        self._began: float = 0.0

    def show(self, event: Event) -> None:
        """Write what the event tells, if anything."""
        self._standing.take(event)
        now, data = event.time.timestamp(), event.data
        match event.kind:
            case "run.started":
                self._began = now
                for text in (self._standing.question, *self._standing.choices):
                    self._write(text)
            case "progress" if data["status"] != "started":
                self._write(f"{now - self._began:6.1f} s  {_step(event)}")
            case "notice" | "error":
                if message := self._standing.news(event):
                    self._write(f"{'note' if event.kind == 'notice' else 'error'}: {message}")
            case "call.held":
                if message := self._standing.held(event):
                    self._write(f"{now - self._began:6.1f} s  {message}")
            case "run.finished":
                self._write(", ".join([self._standing.status, *self._standing.totals(), f"{now - self._began:.1f} s"]))

    def close(self) -> None:
        """Nothing is held."""

    def _write(self, text: str) -> None:
        if not self._read:
            return
        try:
            print(text, file=self._out, flush=True)
        except BrokenPipeError:
            self._read = False  # `2>&1 | head`: nobody reads on


def _step(event: Event) -> str:
    """Return a step that is through, in words: `search (round 1): 5 searches`."""
    data = event.data["data"]
    assert isinstance(data, dict)
    number = f" (round {data['round']})" if data.get("round") and any(key in data for key in IN_ROUNDS) else ""
    told = f"not done: {one_line(data.get('reason', ''))}" if event.data["status"] == "failed" else given(data)
    return f"{event.data['step']}{number}" + (f": {told}" if told else "")
