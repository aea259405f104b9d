"""The contracts of those who do the typed tasks: chat vendors, and algorithms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from leadline.contracts import AIProvider
from leadline.door.secrets import Secrets
from leadline.errors import Unsupported
from leadline.records import ChatReply, ChatRequest, Message, ModelTraits, Record, Tool, ToolCall
from leadline.tasks import Task
from leadline.testing.context import FakeCall
from leadline.testing.contracts.base import AT_ONCE, PluginContract
from leadline.testing.contracts.conduct import answered, must, outcome, told, within

_TOOL = Tool(
    name="sound",
    description="Sounds the depth at a place.",
    parameters={"type": "object", "properties": {"place": {"type": "string"}}},
)


class AIProviderContract(PluginContract[ChatRequest, ChatReply]):
    """What every chat vendor does. Fixture: `offer`; `requests`, where the empty model is not the vendor's default."""

    kind = "ai_providers"
    record = ChatReply
    verb = "chat"

    @pytest.fixture
    def requests(self) -> Sequence[ChatRequest]:
        """Return ten prompts."""
        texts = (f"How deep is harbour {place}?" for place in range(AT_ONCE))
        return [ChatRequest(model="", messages=(Message(role="user", text=text),)) for text in texts]

    def check(self, request: ChatRequest, reply: ChatReply, call: FakeCall) -> None:
        """Check who speaks, what is called, and that the pieces that were streamed are the reply."""
        message = reply.message
        must(message.role == "assistant", f"the reply is said by {message.role!r}: it is the assistant's")
        offered = {tool.name for tool in request.tools}
        strange = [wish.name for wish in message.tool_calls if wish.name not in offered]
        must(not strange, f"calls tools that it was not offered: {strange}")
        ids = [wish.id for wish in message.tool_calls]
        must(all(ids) and len({*ids}) == len(ids), f"the calls of tools need ids of their own: {ids}")
        for piece in call.emitted:
            must(piece[0] in ("text", "reasoning"), f"emits pieces of an unknown kind: {piece[0]!r}")
            must(isinstance(piece[1], str), f"emits {type(piece[1]).__name__}: pieces are texts")
        for kind, whole in (("text", message.text), ("reasoning", reply.reasoning)):
            pieces = [text for of, text in call.emitted if of == kind]
            must(not pieces or "".join(pieces) == whole, f"the pieces of {kind} do not add up to that of the reply")

    @pytest.mark.parametrize("model", ["", "no-such-model"])
    async def test_its_traits_are_known_at_once(self, model: str, plugin: Any) -> None:
        """Asked before each call, of any name that stands in the settings; nothing is awaited for it."""
        try:
            traits, again = plugin.traits(model), plugin.traits(model)
        except Exception as error:
            raise AssertionError(f"traits({model!r}) raised {told(error)}") from error
        must(isinstance(traits, ModelTraits), f"traits({model!r}) is {type(traits).__name__}, not ModelTraits")
        must(traits == again, f"traits({model!r}) differs from one time to the next")
        known = traits.context_tokens
        must(known is None or known > 0, f"traits({model!r}) has a context of {known} tokens: None where it is unknown")

    async def test_it_answers_where_nobody_follows(
        self, plugin: Any, requests: Sequence[ChatRequest], new_call: Callable[[], FakeCall], secrets: Secrets
    ) -> None:
        call = new_call()
        call.followed = False
        await self.reply(plugin, requests[0], call, secrets)

    async def test_it_takes_a_talk_with_tools(
        self,
        plugin: AIProvider,
        requests: Sequence[ChatRequest],
        new_call: Callable[[], FakeCall],
        secrets: Secrets,
    ) -> None:
        """What it called comes back to it with what came of the call."""
        if not plugin.traits(requests[0].model).tools:
            pytest.skip("by its traits it takes no tools")
        wish = ToolCall(id="call_1", name=_TOOL.name, arguments={"place": "the mole"})
        turns = (
            *requests[0].messages,
            Message(role="assistant", tool_calls=(wish,)),
            Message(role="tool", text="nine fathoms", tool_call_id=wish.id),
        )
        request = requests[0].model_copy(update={"messages": turns, "tools": (_TOOL,)})
        await self.reply(plugin, request, new_call(), secrets)


class _Unheard(Record):
    text: str = ""


class TaskProviderContract(PluginContract[Any, Any]):
    """What every provider of typed tasks without chat does. Fixtures: `offer`, and `requests`: tasks it knows."""

    kind = "ai_providers"
    verb = "perform"

    async def reply(self, plugin: Any, request: Task[Any], call: FakeCall, secrets: Secrets) -> Any:
        """Return the reply to a task, of the task's own record."""
        return await answered(self.ask(plugin, request, call), request.reply, secrets, self.patience)

    async def test_a_task_it_does_not_know_is_unsupported(
        self, plugin: Any, new_call: Callable[[], FakeCall], secrets: Secrets
    ) -> None:
        task = Task("a_task_nobody_knows", _Unheard(), _Unheard)
        found = await within(self.patience, outcome(self.ask(plugin, task, new_call()), secrets))
        must(isinstance(found, Unsupported), f"gives {found!r} for a task it does not know: raise Unsupported")
