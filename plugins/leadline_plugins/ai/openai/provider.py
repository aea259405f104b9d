"""The AI provider: one request, one reply, asked in the manner that the endpoint understands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from leadline.contracts import Call, Context
from leadline.errors import BadReply, ProviderError, Unsupported
from leadline.nearest import choose_from
from leadline.records import ChatReply, ChatRequest, ModelTraits
from leadline_plugins.ai.openai import chat, responses
from leadline_plugins.ai.openai.answer import RefusedError, read
from leadline_plugins.ai.openai.chat_reading import ChatReading
from leadline_plugins.ai.openai.endpoint import Endpoint
from leadline_plugins.ai.openai.failures import Refusal
from leadline_plugins.ai.openai.lessons import learn, loosen
from leadline_plugins.ai.openai.manner import Manner, Manners, streams
from leadline_plugins.ai.openai.responses_reading import ResponsesReading
from leadline_plugins.ai.openai.settings import DEFAULT_MODEL, ModelSettings, OpenAISettings
from leadline_plugins.ai.openai.usage import read_usage

_LESSONS = 6
"""Refusals of the form of a request that are learnt from, one after the other, until it is given up."""


class OpenAI:
    """Chats with the models of one endpoint."""

    def __init__(self, settings: OpenAISettings, context: Context) -> None:
        self._settings = settings
        self._endpoint = Endpoint(settings, context)
        self._manners = Manners(context.cache_dir / "manners.json")
        self._only_model = ""

    def traits(self, model: str, /) -> ModelTraits:
        """Return what a model can do: all of it, but for what the settings deny."""
        name = model or self._named or (DEFAULT_MODEL if self._settings.at_openai else "")
        return ModelTraits(model=name, **self._settings.models.get(name, ModelSettings()).model_dump())

    async def chat(self, request: ChatRequest, call: Call, /) -> ChatReply:
        """Return the reply; a refusal of the request's form teaches another form, which is tried at once."""
        model = request.model or await self._default()
        name = f"{self._settings.root} {model}"
        begun = learnt = manner = self._manners.get(name, self._usual())
        for _ in range(_LESSONS):
            streamed = streams(self._settings.stream, manner, followed=call.followed)
            body = self._body(request, model, replace(manner, stream=streamed))
            try:
                reply = await self._ask(body, model, manner, call)
            except RefusedError as refused:
                said = refused.said
            else:
                if learnt is not begun:  # and it proved right
                    self._manners.put(name, learnt)
                return reply if reply.model else reply.model_copy(update={"model": model})
            if looser := loosen(manner, said):  # for this request only
                manner = looser
            elif better := self._taught(manner, said, body):
                manner, learnt = better, self._taught(learnt, said, body) or learnt
            else:
                raise await self._error(said, model)
        raise Unsupported(f"{self._endpoint.host} refuses every form of the request to {model!r}")

    def _usual(self) -> Manner:
        newest = self._settings.at_openai or self._settings.at_azure
        return Manner(
            api="responses" if self._settings.api == "responses" else "chat",
            limit="max_completion_tokens" if newest else "max_tokens",
            # Elsewhere a mask is refused, ignored, or read as something else: a call of a masked tool is answered.
            choice=newest,
        )

    @property
    def _named(self) -> str:
        return self._settings.model or self._settings.deployment

    async def _default(self) -> str:
        """Return the model of the settings, or the only one that a server of one's own has."""
        if self._named or self._settings.at_openai:
            return self._named or DEFAULT_MODEL
        if not self._only_model:
            served = await self._endpoint.models()
            if len(served) != 1:
                there = f"there are: {', '.join(served)}" if served else "the endpoint lists none"
                raise Unsupported(f"{self._endpoint.host}: no model is named; set model in the section ({there})")
            self._only_model = served[0]
        return self._only_model

    def _body(self, request: ChatRequest, model: str, manner: Manner) -> dict[str, Any]:
        dialect = responses if manner.api == "responses" else chat
        body: dict[str, Any] = dialect.body(request, model, manner)
        return body | self._settings.extra_body

    def _taught(self, manner: Manner, said: Refusal, body: Mapping[str, Any]) -> Manner | None:
        learnt = learn(manner, said, body, may_stream=self._settings.stream == "auto")
        return None if learnt is None or (learnt.api != manner.api and self._settings.api != "auto") else learnt

    async def _error(self, said: Refusal, model: str) -> ProviderError:
        error = self._endpoint.error(said, model)
        words = str(error)
        if isinstance(error, Unsupported) and "has no model" in words and (served := await self._endpoint.models()):
            words = f"{words}; {choose_from(model, served[:20])}"
            return type(error)(self._endpoint.mask(words))
        return error

    # --- one request -------------------------------------------------------------------------------------------------

    async def _ask(self, body: dict[str, Any], model: str, manner: Manner, call: Call) -> ChatReply:
        responding = manner.api == "responses"
        reading = ResponsesReading(call) if responding else ChatReading(call)
        what = "responses" if responding else "chat/completions"
        try:
            async with self._endpoint.post(what, model, body, call) as answer:
                await read(answer, reading)
            return reading.reply()
        except (BadReply, Unsupported) as error:
            whose = f"{self._endpoint.host}: "
            raise type(error)(self._endpoint.mask(f"{whose}{str(error).removeprefix(whose)}")) from error
        finally:
            if reading.usage is not None:
                call.spend(read_usage(reading.usage))
