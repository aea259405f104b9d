"""The plugin `langchain`: a LangChain retriever as a search engine, a chat model as an AI provider."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, cast

import leadline.plugin as api
from leadline_bridges import BRIDGED, Bridge, faults
from leadline_plugins.ai.openai.chat_completions import FINISH
from leadline_plugins.ai.openai.replies import PartialToolCall, ReplyBuilder, parse_usage


@api.search_provider("A LangChain retriever", **BRIDGED)
class Retriever(Bridge):
    """A retriever, or any runnable from a query to documents."""

    async def search(self, request: api.SearchRequest, call: api.Call, /) -> list[api.Hit]:
        """Return the documents of the retriever."""
        with faults(self.name):
            documents = await self.target.ainvoke(request.query)
            return self.hits(((item.page_content, item.metadata) for item in documents), request.limit)


@api.ai_provider("A LangChain chat model", **BRIDGED, priced=True)
class ChatModel(Bridge):
    """One chat model, with what is bound to it."""

    def traits(self, model: str, /) -> api.ModelTraits:
        """Return what the model's profile says; without one, tools are supported if they can be bound."""
        profile = getattr(self.target, "profile", None) or {}
        tools = profile.get("tool_calling")
        with suppress(AttributeError, NotImplementedError):
            tools = bool(self.target.bind_tools([])) if tools is None else tools
        name = str(getattr(self.target, "model_name", "") or getattr(self.target, "model", ""))
        return api.ModelTraits(tools=bool(tools), context_tokens=profile.get("max_input_tokens"), model=name)

    async def chat(self, request: api.ChatRequest, call: api.Call, /) -> api.ChatReply:
        """Return the reply, in pieces if somebody follows."""
        name = self.traits("").model
        if request.model not in ("", name):
            raise api.Unsupported(f"{self.name} is the model {name!r}, not {request.model!r}")
        builder, reply = ReplyBuilder(call.emit), cast("Any", None)
        with faults(self.name):
            async for piece in self._pieces(request, call):
                if (task := asyncio.current_task()) and task.cancelling():  # `wait_for` of Python 3.11 may lose it
                    raise asyncio.CancelledError
                reply = piece if reply is None else reply + piece
                for block in piece.content_blocks:
                    builder.reasoning(block.get("reasoning") or "")
                builder.text(str(piece.text))
                builder.pass_on()
            if usage := reply.usage_metadata:
                cached = usage.get("input_token_details", {}).get("cache_read")
                thought = usage.get("output_token_details", {}).get("reasoning")
                call.spend(parse_usage({**usage, "cached_tokens": cached, "reasoning_tokens": thought}))
            # `tool_calls` of a stream complete arguments that were cut off.
            calls = getattr(reply, "tool_call_chunks", ()) or (*reply.tool_calls, *reply.invalid_tool_calls)
            texts = [it["args"] if isinstance(it["args"], str) else json.dumps(it["args"] or {}) for it in calls]
            tools = zip(calls, texts, strict=True)
            builder.tools = [PartialToolCall(it["id"] or "", it["name"] or "", text) for it, text in tools]
            opaque = {"type": reply.type, "data": reply.model_dump(mode="json")} if calls else None
        about = reply.response_metadata
        reasons = (about.get(key) for key in ("finish_reason", "stop_reason", "done_reason"))
        return builder.build(name, FINISH.get(str(next(filter(None, reasons), "")).lower(), "stop"), opaque)

    async def _pieces(self, request: api.ChatRequest, call: api.Call) -> AsyncIterator[Any]:
        wanted = {"temperature": request.temperature, "max_tokens": request.max_tokens}
        options = {name: value for name, value in wanted.items() if value is not None}
        tools = [{"type": "function", "function": tool.model_dump(mode="json")} for tool in request.tools]
        model = self.target.bind_tools(tools) if tools else self.target
        messages = [_message(message) for message in request.messages]
        if call.followed:
            async for piece in model.astream(messages, **options):
                yield piece
        else:
            yield await model.ainvoke(messages, **options)


def _message(message: api.Message) -> Any:
    """Return a message in LangChain's form; a turn of the model as it was, with the signatures of its reasoning."""
    if isinstance(message.opaque, dict):
        from langchain_core.messages import messages_from_dict

        return messages_from_dict([message.opaque])[0]
    calls = [{"id": it.id, "name": it.name, "args": dict(it.arguments)} for it in message.tool_calls]
    about = {"tool_calls": calls, "tool_call_id": message.tool_call_id}
    return {"role": message.role, "content": message.text, **{key: value for key, value in about.items() if value}}
