"""Streams of litellm, with a limit on silence and without the end that litellm invents.

If a vendor's stream breaks, litellm ends it with a `stop` and a token count of its own, so that half a reply looks
complete. The vendor's own data is in three places: the wrapper keeps the finish reason that it received, its chunks
have the usage, and the parser of the vendor's events sees them unchanged.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

from leadline.errors import Unavailable

T = TypeVar("T")
# Seconds in which usage may follow the end of a reply. Some servers leave the connection open after it.
_USAGE_DELAY = 1.5


class Stream:
    """One streamed answer; iterate over it once."""

    def __init__(self, answer: Any, silence: float, vendor: str) -> None:
        self._answer = answer
        self._silence = silence
        self._vendor = vendor
        self._watched = False
        # The vendor's finish reason; empty if it is not visible.
        self.reason = ""
        if (call := getattr(answer, "make_call", None)) and getattr(answer, "completion_stream", None) is None:
            answer.make_call = self._watch_result_of(call)
        else:
            self._watch(getattr(answer, "completion_stream", None))

    async def __aiter__(self) -> AsyncIterator[Any]:
        """Yield the chunks. Raises `Unavailable` for silence before the end of the reply."""
        chunks = aiter(self._answer)
        try:
            while True:
                over = self.end != ""
                patience = min(_USAGE_DELAY, self._silence) if over else self._silence
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
                with suppress(Exception):  # the chunks that arrived are valid
                    await close()

    @property
    def end(self) -> str:
        """The finish reason of the vendor; empty before the end."""
        return str(getattr(self._answer, "received_finish_reason", None) or self.reason)

    @property
    def finished(self) -> bool:
        """True if the reply has ended, as far as is known."""
        if self.end or not hasattr(self._answer, "received_finish_reason"):
            return True
        # For Gemini this is sometimes invented: its own events decide if they are visible.
        return not self._watched and bool(getattr(self._answer, "intermittent_finish_reason", None))

    @property
    def counted(self) -> bool:
        """True if the usage comes from the vendor."""
        kept = getattr(self._answer, "chunks", None)
        return kept is None or any(getattr(chunk, "usage", None) for chunk in kept)

    def _watch_result_of(self, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
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
    """Return the finish reason in an event of Gemini, Anthropic or OpenAI; empty if there is none."""
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
    """Return the result of a step. Raises `Unavailable` if it takes longer: not every client respects timeouts."""
    began = time.monotonic()
    try:
        async with asyncio.timeout(seconds):
            return await step
    except TimeoutError as error:
        if time.monotonic() - began < seconds:  # litellm's own timeout
            raise
        raise Unavailable(f"{vendor}: connected, then silent for {seconds:g} s (read_timeout)") from error
