"""A model with a script: it says one thing after another, calls tools where the script does, and keeps what was asked.

For tests of stages, tools and prompts; offer it as an AI provider with `leadline.testing.plugins.plugin`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from leadline.contracts import Call
from leadline.records import ChatReply, ChatRequest, Message, ModelTraits, ToolCall, Usage
from leadline.tasks import FENCE

Reply = Message | Exception | Callable[[ChatRequest], Message]
"""A turn, an error to raise, or what makes a turn of the request."""


def calls(*wanted: tuple[str, dict[str, Any]], text: str = "") -> Message:
    """Return a turn with these calls of tools: the name and the arguments of each."""
    made = tuple(ToolCall(id=f"c{n}", name=name, arguments=arguments) for n, (name, arguments) in enumerate(wanted))
    return Message(role="assistant", text=text, tool_calls=made, opaque={"items": ["sealed"]})


def brought(request: ChatRequest) -> list[str]:
    """Return what the calls of the last turn brought: the texts of the messages behind it."""
    last = max(place for place, message in enumerate(request.messages) if message.role == "assistant")
    return [message.text for message in request.messages[last + 1 :]]


def data(text: str) -> Any:
    """Return what a message shows as data, decoded."""
    return json.loads(text.partition(f"<{FENCE}>\n")[2].partition(f"\n</{FENCE}>")[0])


class ScriptedChat:
    """Says the replies one after the other; `asked` are the requests. Each reply uses 100 tokens in and 10 out."""

    def __init__(self, replies: Sequence[Reply], *, tools: bool = True) -> None:
        self.replies = list(replies)
        self.asked: list[ChatRequest] = []
        self._tools = tools

    def traits(self, model: str, /) -> ModelTraits:
        return ModelTraits(tools=self._tools)

    async def chat(self, request: ChatRequest, call: Call, /) -> ChatReply:
        """Return the next reply. Raises IndexError behind the last one."""
        self.asked.append(request)
        call.spend(Usage(input_tokens=100, output_tokens=10))
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        said = reply(request) if callable(reply) else reply
        return ChatReply(message=said, finish_reason="tool_calls" if said.tool_calls else "stop")
