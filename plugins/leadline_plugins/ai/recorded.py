"""The plugin `recorded`: a model that repeats the replies in the journal of an earlier run.

It is for tests and demonstrations: stages, settings and templates are the real ones, but no model is called. (To see a
finished run again, use replay; this provider drives a new run.)
"""

from __future__ import annotations

import re
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

from pydantic import Field

from leadline.contracts import Call, Context
from leadline.errors import Unsupported
from leadline.plugin import PluginSettings, ai_provider
from leadline.recordings import Recording, journal_path, read_recording, request_key
from leadline.records import ChatReply, ChatRequest, ModelTraits

# The date in the inputs of a task, as JSON or as text. It is replaced, so that a recording answers on any day.
_TODAY = re.compile(r'("today": ?"|^Today: )\d{4}-\d\d-\d\d\b', re.MULTILINE)


class RecordedSettings(PluginSettings):
    """The run to repeat."""

    run: Path = Field(description="the folder of a finished run whose replies to repeat, or its journal")

    @property
    def journal(self) -> Path:
        """The file of the journal."""
        return journal_path(self.run.expanduser())


def _ready(settings: RecordedSettings) -> str | None:
    return None if settings.journal.is_file() else f"no journal of a run at {settings.journal}"


@ai_provider(
    "A model that repeats the replies of an earlier run, for tests and demonstrations",
    settings=RecordedSettings,
    ready=_ready,
    cache_key=None,
)
class Recorded:
    """Answers a chat with the reply to the same messages in the recorded run; enter it before use."""

    def __init__(self, settings: RecordedSettings, context: Context) -> None:
        self._path = settings.journal
        self._recording = Recording()
        # The calls that were answered, by request.
        self._answered: defaultdict[bytes, list[str]] = defaultdict(list)

    async def __aenter__(self) -> Recorded:
        """Read the recording."""
        self._recording = await read_recording(self._path)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Forget the recording."""
        self._recording = Recording()

    def traits(self, model: str, /) -> ModelTraits:
        """Return the capabilities that the run used."""
        requests = [exchange.request for exchange in self._recording.exchanges]
        return ModelTraits(
            json_schema=any("json_schema" in request for request in requests),
            tools=any("tools" in request for request in requests),
        )

    async def chat(self, request: ChatRequest, call: Call, /) -> ChatReply:
        """Return the recorded reply. Raises `Unsupported`, with the nearest recorded request, if there is none."""
        request = self._on_recorded_day(request)
        matching = self._recording.matching(request)
        if not matching:
            raise Unsupported(self._missing(request))
        exchange = matching[min(self._turn(request, call.key), len(matching) - 1)]
        try:
            reply = exchange.reply()
        except Unsupported as error:
            raise Unsupported(f"{self._path}: {error}") from error
        for notice in exchange.notices:
            await call.run.emit("notice", {"message": notice})
        call.emit("text", reply.message.text)
        call.spend(exchange.usage.model_copy(update={"cost": Decimal(0)}))
        return reply

    def _on_recorded_day(self, request: ChatRequest) -> ChatRequest:
        """Return the request with the date of the recorded run."""
        day = self._recording.day
        if not day:
            return request
        messages = (
            message.model_copy(update={"text": _TODAY.sub(rf"\g<1>{day}", message.text)})
            for message in request.messages
        )
        return request.model_copy(update={"messages": tuple(messages)})

    def _turn(self, request: ChatRequest, key: str) -> int:
        """Return the place of this call among those with the same request; further attempts have the same place."""
        answered = self._answered[request_key(request)]
        if key not in answered:
            answered.append(key)
        return answered.index(key)

    def _missing(self, request: ChatRequest) -> str:
        count, damaged = len(self._recording.exchanges), self._recording.damaged
        note = f" ({damaged} recorded ones are damaged)" if damaged else ""
        message = f"{self._path} has no reply to this request{note}"
        if not count:
            return f"{message}: that run called no language model"
        return f"{message}; the nearest of {count} recorded ones differs at {self._recording.difference(request)}"
