"""Replies in OpenAI's form: chunks of a stream, whole completions, models."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from leadline_server.openai.requests import MODEL_PREFIX
from leadline_server.streams import encoded
from leadline_server.views import RunView

DONE = b"data: [DONE]\n\n"


@dataclass
class Reply:
    """One reply: its id, its model, and whether progress is told in fields, between `<think>` tags or not at all.

    `own` is Leadline's part of the first chunk: the run's id and address.
    """

    id: str
    model: str
    reasoning: str = "fields"
    own: dict[str, str] = field(default_factory=dict)
    created: int = field(default_factory=lambda: int(time.time()))
    _thinks: bool = False
    _answers: bool = False

    def first(self) -> bytes:
        """Return the first chunk, with the run's id."""
        return self._chunk({"role": "assistant", "content": ""}, leadline=self.own)

    def progress(self, text: str) -> bytes:
        """Return a chunk that tells progress; an empty chunk if none is wanted, or the answer has begun."""
        if self.reasoning == "off" or self._answers:
            return self._chunk({})
        if self.reasoning == "fields":
            return self._chunk({"reasoning": text, "reasoning_content": text})
        begin, self._thinks = "" if self._thinks else "<think>\n", True
        return self._chunk({"content": begin + text})

    def content(self, text: str) -> bytes:
        """Return a chunk of the answer."""
        end, self._thinks, self._answers = "\n</think>\n\n" if self._thinks else "", False, True
        return self._chunk({"content": end + text})

    def end(self) -> bytes:
        """Return the last chunk with a choice."""
        return self._chunk({}, finish_reason="stop")

    def usage(self, view: RunView | None) -> bytes:
        """Return the chunk with the usage of a run."""
        return encoded({**self._head("chat.completion.chunk"), "choices": [], "usage": usage_of(view)})

    def whole(self, text: str, reasoning: str = "", view: RunView | None = None) -> dict[str, Any]:
        """Return a whole completion."""
        message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
        if reasoning and self.reasoning == "fields":
            message |= {"reasoning": reasoning, "reasoning_content": reasoning}
        elif reasoning and self.reasoning == "think":
            message["content"] = f"<think>\n{reasoning}\n</think>\n\n{text}"
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        found = {**self._head("chat.completion"), "choices": [choice], "usage": usage_of(view)}
        return {**found, "leadline": self.own} if self.own else found

    def _chunk(self, delta: dict[str, Any], finish_reason: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return encoded({**self._head("chat.completion.chunk"), "choices": [choice], **more})

    def _head(self, form: str) -> dict[str, Any]:
        return {"id": self.id, "object": form, "created": self.created, "model": self.model}


def usage_of(view: RunView | None) -> dict[str, Any]:
    """Return the tokens of a run; none for what was no run."""
    used: dict[str, Any] = dict(view.usage) if view else {}

    def tokens(name: str) -> int:
        return int(used.get(name) or 0)

    prompt, completion = tokens("input_tokens"), tokens("output_tokens")
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": tokens("cached_tokens")},
        "completion_tokens_details": {"reasoning_tokens": tokens("reasoning_tokens")},
    }


def model_of(pipeline: str, description: str, created: int) -> dict[str, Any]:
    """Return a model: a pipeline as the API lists it."""
    found = {"id": f"{MODEL_PREFIX}{pipeline}", "object": "model", "created": created, "owned_by": "leadline"}
    return {**found, "description": description}
