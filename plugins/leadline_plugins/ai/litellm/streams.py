"""A stream of litellm, read with patience for silence, and told apart from what litellm makes up at its end.

Where a vendor's stream just ends, litellm closes it with a `stop` and a count of tokens of its own, so that half a
reply looks like a whole one. What the vendor itself said is known in three places: the wrapper notes the reason that it
received, the chunks it keeps have the usage that came, and the parser of a vendor's events sees them as they are.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

from leadline.errors import Unavailable

T = TypeVar("T")
_AFTERWARDS = 1.5
"""Seconds in which usage may follow the end of a reply: some servers then leave the connection open."""


class Stream:
    """One streamed answer; iterate over it once."""

    def __init__(self, answer: Any, silence: float, vendor: str) -> None:
        self._answer = answer
        self._silence = silence
        self._vendor = vendor
        self._watched = False
        self.reason = ""
        """Why the reply ended, in the vendor's own word; empty where that cannot be seen."""
        if (call := getattr(answer, "make_call", None)) and getattr(answer, "completion_stream", None) is None:
            answer.make_call = self._watching_what(call)
        else:
            self._watch(getattr(answer, "completion_stream", None))

    async def __aiter__(self) -> AsyncIterator[Any]:
        """Yield the chunks. Raises `Unavailable` for silence, unless the reply is all there."""
        chunks = aiter(self._answer)
        try:
            while True:
                over = self.end != ""
                patience = min(_AFTERWARDS, self._silence) if over else self._silence
                try:
                    yield await within(anext(chunks), patience, self._vendor)
                except StopAsyncIteration:
                    return
                except Unavailable:
                    if over:
                        return
                    raise
        finally:
            if close := getattr(self._answer, "aclose", None):
                with suppress(Exception):  # what was read is read
                    await close()

    @property
    def end(self) -> str:
        """Why the reply ended, as the vendor said; empty as long as it said nothing of an end."""
        return str(getattr(self._answer, "received_finish_reason", None) or self.reason)

    @property
    def finished(self) -> bool:
        """Whether the reply is at its end, as far as can be told."""
        if self.end or not hasattr(self._answer, "received_finish_reason"):
            return True
        # Gemini's is noted here, and made up here: the word of its own events decides, where those can be seen.
        return not self._watched and bool(getattr(self._answer, "intermittent_finish_reason", None))

    @property
    def counted(self) -> bool:
        """Whether the usage is the vendor's."""
        kept = getattr(self._answer, "chunks", None)
        return kept is None or any(getattr(chunk, "usage", None) for chunk in kept)

    def _watching_what(self, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def made(*args: Any, **named: Any) -> Any:
            self._watch(events := await call(*args, **named))
            return events

        return made

    def _watch(self, events: Any) -> None:
        parse = getattr(events, "chunk_parser", None)
        if parse is None:
            return

        def seen(chunk: Any, *args: Any, **named: Any) -> Any:
            self.reason = ended(chunk) or self.reason
            return parse(chunk, *args, **named)

        events.chunk_parser = seen
        self._watched = True


def ended(event: Any) -> str:
    """Return why a reply ended, by an event of Gemini, Anthropic, or OpenAI; empty where it goes on."""
    match event:
        case {"candidates": [{"finishReason": str(reason)}, *_]}:
            return reason
        case {"promptFeedback": {"blockReason": str(reason)}}:
            return reason
        case {"delta": {"stop_reason": str(reason)}}:
            return reason
        case {"choices": [{"finish_reason": str(reason)}, *_]}:
            return reason
    return ""


async def within(step: Awaitable[T], seconds: float, vendor: str) -> T:
    """Return what a step gives. Raises `Unavailable` where it takes longer: not every vendor's client heeds a limit."""
    began = time.monotonic()
    try:
        async with asyncio.timeout(seconds):
            return await step
    except TimeoutError as error:
        if time.monotonic() - began < seconds:  # a timeout of litellm's own
            raise
        raise Unavailable(f"{vendor}: connected, then silent for {seconds:g} s (read_timeout)") from error
