"""Parts of a request that an endpoint does not support, learned from its refusals.

No list exists of what OpenAI-compatible servers leave out. A request is sent in its full form; the first refusal that
names a part of it shows which part to leave out. The provider remembers this by model, as long as it lives.
"""

from __future__ import annotations

import tomllib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from leadline.records import ChatReply
from leadline_plugins.ai.openai.settings import Streaming
from leadline_plugins.service_errors import Refusal, longest

# Attempts in different forms before a request fails.
_FORMS = 6
# 500 is included because some servers fail on parameters that they do not know.
_STATUSES = (400, 403, 404, 405, 415, 422, 500, 501)
# Statuses of gateways that do not wait for a reply in one piece.
_GATEWAY_TIMEOUTS = (408, 504, 524)


@dataclass(frozen=True)
class Quirks:
    """The form in which one model of one endpoint takes requests."""

    api: Literal["chat", "responses"] = "chat"
    # How a structured reply is requested: with the schema, as any JSON object, or only in words.
    form: Literal["schema", "object", "plain"] = "schema"
    strict: bool = True
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    stream: bool = True
    # Whether a reply may come in one piece: some gateways time out during the silence, some models only stream.
    patient: bool = True
    # Whether a stream can report usage.
    usage: bool = True
    temperature: bool = True
    effort: bool = True
    # Without a system role, the first user message starts with the instructions.
    system: bool = True
    # Whether the tools that may be called can be restricted.
    choice: bool = True
    # Whether encrypted reasoning can be requested (responses).
    include: bool = True


def streams(setting: Streaming, quirks: Quirks, *, followed: bool) -> bool:
    """Return whether to stream a reply; by default only if somebody follows it or the endpoint needs it."""
    return quirks.stream and (followed or not quirks.patient if setting == "auto" else setting)


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("endpoint_quirks.toml").read_text(encoding="utf-8"))


def learn(quirks: Quirks, refusal: Refusal, body: Mapping[str, Any], *, may_stream: bool = True) -> Quirks | None:
    """Return the form for the next attempt after a refusal of `body`; None if the refusal does not show one.

    `may_stream`: the settings allow streaming a reply that nobody follows.
    """
    table = _table()
    if may_stream and quirks.stream and quirks.patient and not body.get("stream") and _requires_stream(refusal):
        return replace(quirks, patient=False)
    if refusal.status not in _STATUSES or refusal.fault == "bad_reply" or longest(refusal.words, table["value"]):
        return None
    # The type of every refusal of OpenAI, whatever its cause, says nothing.
    kind = "" if refusal.kind.casefold().replace("_", "").startswith(("invalidrequest", "badrequest")) else refusal.kind
    if not longest(f"{refusal.message} {refusal.code} {kind}", table["unsupported"]):
        return None
    system = any(message.get("role") == "system" for message in body.get("messages", ()))
    sent = {*body, "system"} if system else {*body}
    lessons = [lesson for lesson in table["lessons"] if not sent.isdisjoint(lesson["sent"])]
    best = max(lessons, key=lambda lesson: longest(refusal.words, lesson["words"]), default=None)
    if best is None or not longest(refusal.words, best["words"]):
        return None
    change = best["change"]
    if change.get("form") == "weaker":
        change = {"form": "object" if quirks.form == "schema" else "plain"}
    learned = replace(quirks, **change)
    return learned if learned != quirks else None


def _requires_stream(refusal: Refusal) -> bool:
    named = refusal.status in (400, 422) and longest(refusal.words, _table()["stream"])
    return refusal.status in _GATEWAY_TIMEOUTS or bool(named)


def relax_schema(quirks: Quirks, refusal: Refusal) -> Quirks | None:
    """Return the form for a schema that the endpoint refuses; it applies to this request only."""
    if refusal.status != 400 or quirks.form != "schema" or not longest(refusal.words, _table()["schema"]):
        return None
    return replace(quirks, strict=False) if quirks.strict else replace(quirks, form="object")


class RefusedError(Exception):
    """An answer that is an error."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class Forms:
    """The forms in which the models of an endpoint take requests, learned from refusals."""

    def __init__(self, streaming: Streaming, *, fixed_api: bool = False) -> None:
        self._streaming = streaming
        self._fixed_api = fixed_api
        self._known: dict[str, Quirks] = {}

    async def send(
        self,
        model: str,
        usual: Quirks,
        body_of: Callable[[Quirks], dict[str, Any]],
        send: Callable[[dict[str, Any], Quirks], Awaitable[ChatReply]],
        *,
        followed: bool,
    ) -> ChatReply:
        """Return the reply in the first form that is not refused. Raises the last `RefusedError`."""
        known = learned = quirks = self._known.get(model) or usual
        attempts = 0
        while True:
            attempts += 1
            body = body_of(replace(quirks, stream=streams(self._streaming, quirks, followed=followed)))
            try:
                reply = await send(body, quirks)
            except RefusedError as error:
                if relaxed := relax_schema(quirks, error.refusal):  # for this request only, so it is not learned
                    quirks = relaxed
                elif better := self._learn(quirks, error.refusal, body):
                    quirks, learned = better, self._learn(learned, error.refusal, body) or learned
                else:
                    raise
                if attempts == _FORMS:
                    raise
            else:
                if learned is not known:
                    self._known[model] = learned
                return reply

    def _learn(self, quirks: Quirks, refusal: Refusal, body: Mapping[str, Any]) -> Quirks | None:
        learned = learn(quirks, refusal, body, may_stream=self._streaming == "auto")
        return None if learned and self._fixed_api and learned.api != quirks.api else learned
