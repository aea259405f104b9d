"""Observer `terminal`: the progress of a run on standard error, for the person who waits for it.

On a terminal it is a few lines that change in place; in a pipe, a log, or a terminal without colour, a plain line a
step. The command line brings it along; it is a plugin so that another can take its place.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from typing import Literal, Protocol, TextIO

from pydantic import Field

from leadline.contracts import Context
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.records import Event
from leadline_plugins.observers.lines import Lines


class TerminalSettings(PluginSettings):
    """How progress is shown."""

    style: Literal["auto", "live", "plain"] = Field("auto", description="auto, live (changing in place), plain lines.")


class View(Protocol):
    """The progress of one run on the screen."""

    def show(self, event: Event) -> None: ...
    def close(self) -> None: ...


class Terminal:
    """Shows runs, each by a view of its own; one at a time may change in place, any beside it gets lines."""

    deltas = False

    def __init__(self, settings: TerminalSettings) -> None:
        self._style = settings.style
        self._views: dict[str, View] = {}

    async def observe(self, event: Event, /) -> None:
        """Show an event."""
        if event.kind == "run.started":
            self._views[event.run_id] = self._view(sys.stderr)
        if event.run_id in self._views:
            self._views[event.run_id].show(event)
        if event.kind == "run.finished":
            self._views.pop(event.run_id).close()

    def close(self) -> None:
        """Give the terminal back, also where a run had no end."""
        while self._views:
            self._views.popitem()[1].close()

    def _view(self, out: TextIO) -> View:
        live = can_change(out, os.environ) if self._style == "auto" else self._style == "live"
        if self._views or not live:
            return Lines(out)
        from rich.console import Console

        from leadline_plugins.observers.live import LiveView

        return LiveView(Console(file=out, highlight=False, markup=False, force_terminal=True))


def can_change(out: TextIO, environ: Mapping[str, str]) -> bool:
    """Tell whether lines may change in place on this terminal."""
    plain = bool(environ.get("NO_COLOR")) or environ.get("TERM", "dumb" if os.name == "posix" else "") == "dumb"
    return out.isatty() and not plain and (out.encoding or "").lower().replace("-", "") == "utf8"


@hookimpl
def leadline_observers() -> Iterator[Offer[TerminalSettings, Terminal]]:
    """Offer the observer."""
    yield Offer(_make, TerminalSettings, "Shows the progress of a run on the terminal")


def _make(settings: TerminalSettings, context: Context) -> Terminal:
    return Terminal(settings)
