"""HTTP requests to an endpoint: addresses, headers, transport errors, and the events of a streamed answer."""

from __future__ import annotations

import asyncio
import codecs
import json
import re
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote, urlsplit

from leadline.contracts import Call, Context
from leadline.errors import BadReply, ProviderError, Unsupported
from leadline_plugins.ai.openai.endpoint_quirks import RefusedError
from leadline_plugins.ai.openai.replies import objects_in
from leadline_plugins.ai.openai.settings import (
    AZURE,
    OpenAISettings,
    header_fault,
    proxy_fault,
    proxy_for,
    ssl_context,
)
from leadline_plugins.service_errors import Refusal, find_refusal, page_text, read_refusal, transport_error

if TYPE_CHECKING:
    import httpx

# Characters from which a header value is masked in errors; a shorter one is a word.
_SHORTEST_SECRET = 8
_PROXY_AUTHENTICATION = 407
KEY_SETTING = "api_key in the plugin's section"
MODEL_SETTING = "ai.roles, ai.tasks or the section's model"
# Bytes of an answer; no model writes more.
_LONGEST_ANSWER = 50_000_000
# Characters of one line of a stream. A longer line is a fault, and would be copied with every piece that arrives.
_LONGEST_LINE = 8_000_000
# Seconds between two times that the pieces of a stream are passed on; vendors send an event per token.
_PASS_ON = 0.1
# Seconds in which usage may follow the end of a reply. Some servers leave the connection open after it.
_USAGE_DELAY = 1.5
_DONE = "[DONE]"
# The beginning of a stream; JSON never begins like this.
_EVENT = re.compile(rb"\s*(data|event|id|retry)?:")
# A CR at the very end waits, because a LF may follow in the next piece. `splitlines` would also split at U+2028.
_LINE_END = re.compile(r"\r\n|\n|\r(?=[^\n])")


class Endpoint:
    """One endpoint with one account."""

    def __init__(self, settings: OpenAISettings, context: Context) -> None:
        self.settings = settings
        self.host = settings.host
        self._context = context
        self._http: httpx.AsyncClient | None = None

    def url(self, path: str, model: str) -> str:
        """Return the address of `chat/completions`, `responses`, `embeddings` or `models`."""
        root, version = self.settings.root, self.settings.version
        parts = urlsplit(root)
        if not self.settings.at_azure:
            return parts._replace(path=f"{parts.path}/{path}").geturl()
        # A gateway has its prefix before Azure's own paths; Azure's hosts have none.
        prefix = "" if (parts.hostname or "").endswith(AZURE) else re.sub(r"/openai(/.*)?$", "", parts.path)
        base = f"{parts.scheme}://{parts.netloc}{prefix}/openai"
        if not version:  # the newer paths, which equal OpenAI's
            return f"{base}/v1/{path}"
        by_deployment = path in ("chat/completions", "embeddings")
        return f"{base}/{f'deployments/{quote(model)}/' * by_deployment}{path}?api-version={quote(version)}"

    @asynccontextmanager
    async def post(self, path: str, model: str, body: dict[str, Any], call: Call) -> AsyncIterator[httpx.Response]:
        """Send a request and yield the answer, its body unread. Raises `ProviderError`.

        `read_timeout` limits silence in a stream only: a reply in one piece is silent until the model has finished.
        """
        import httpx

        settings, streamed = self.settings, bool(body.get("stream"))
        headers = {"Accept": "text/event-stream, application/json"} if streamed else {}
        if call.traceparent:
            headers["traceparent"] = call.traceparent
        silence = settings.read_timeout if streamed else max(settings.read_timeout, call.remaining())
        timeout = httpx.Timeout(silence, connect=settings.connect_timeout, pool=None)
        url, begun = self.url(path, model), False
        try:
            async with self._client().stream("POST", url, json=body, headers=headers, timeout=timeout) as answer:
                begun = answer.is_success
                yield answer
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._transport_error(error, begun=begun) from error

    def error(self, refusal: Refusal, model: str, model_setting: str = MODEL_SETTING) -> ProviderError:
        """Return the error that a refusal means, without secrets."""
        proxy = proxy_for(self.settings.root, self.settings.proxy)
        if refusal.status == _PROXY_AUTHENTICATION and proxy:
            message = f"{self.host}: {proxy} requires a name and a password (HTTP 407): {refusal.message}"
            return Unsupported(self.mask(message.rstrip(": ")))
        masked = refusal.masked(self.mask)
        return masked.error(self.host, model=model, key=KEY_SETTING, model_setting=model_setting)

    async def models(self) -> tuple[str, ...]:
        """Return the names of the models; empty if the endpoint does not list them.

        Raises `ProviderError` if the endpoint cannot be reached, is not available or does not accept the key.
        """
        import httpx

        try:
            answer = await self._client().get(self.url("models", ""), timeout=self.settings.connect_timeout)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._transport_error(error) from error
        if not answer.is_success:
            refused = self.error(read_refusal(answer.status_code, answer.content, answer.headers), "")
            if not isinstance(refused, Unsupported):  # an endpoint without a list of models is of use
                raise refused
        try:
            return tuple(sorted(str(model["id"]) for model in answer.json()["data"]))
        except (ValueError, TypeError, KeyError):
            return ()

    def mask(self, text: str) -> str:
        """Return the text without the key and the values of the headers."""
        secrets = (secret.get_secret_value() for secret in (self.settings.api_key, *self.settings.headers.values()))
        for secret in sorted(secrets, key=len, reverse=True):
            if len(secret) >= _SHORTEST_SECRET:
                text = text.replace(secret, "[secret]")
        return text

    def _client(self) -> httpx.AsyncClient:
        if self._http is None:
            self._http = self._new_client()
        return self._http

    def _new_client(self) -> httpx.AsyncClient:
        import httpx

        settings = self.settings
        options: dict[str, Any] = {"proxy": settings.proxy} if settings.proxy else {}
        if settings.ca_file:
            try:
                options["verify"] = ssl_context(settings.ca_file)
            except OSError as error:  # the file was readable when the settings were checked
                raise Unsupported(f"ca_file {settings.ca_file} has no readable certificates: {error}") from error
            if settings.proxy.startswith("https://"):  # httpx would check it against the usual authorities
                options["proxy"] = httpx.Proxy(settings.proxy, ssl_context=options["verify"])
        options["timeout"] = httpx.Timeout(settings.read_timeout, connect=settings.connect_timeout, pool=None)
        if fault := header_fault(settings.api_key, settings.headers):
            raise Unsupported(f"{self.host}: {fault}")
        try:
            return self._context.http(headers=self._headers(), **options)
        except (ImportError, ValueError, httpx.InvalidURL) as error:
            fault = proxy_fault(settings.proxy) or f"{error}; check the setting proxy, or HTTP_PROXY and HTTPS_PROXY"
            raise Unsupported(self.mask(f"{self.host}: {fault}")) from error

    def _headers(self) -> dict[str, str]:
        settings = self.settings
        headers = {"OpenAI-Organization": settings.organization, "OpenAI-Project": settings.project}
        if key := settings.api_key.get_secret_value().strip():
            headers |= {"api-key": key} if settings.at_azure else {"Authorization": f"Bearer {key}"}
        headers |= {name: value.get_secret_value() for name, value in settings.headers.items()}
        return {name: value for name, value in headers.items() if value}

    def _transport_error(self, error: Exception, *, begun: bool = False) -> ProviderError:
        import httpx

        settings = self.settings
        failed = transport_error(
            error,
            self.host,
            address="base_url",
            proxy=proxy_for(settings.root, settings.proxy),
            connect=settings.connect_timeout,
            silence=settings.read_timeout,
        )
        if begun and isinstance(error, httpx.RemoteProtocolError | httpx.ReadError):
            return BadReply(self.mask(str(failed)))  # the model wrote it, and the vendor bills it
        return type(failed)(self.mask(str(failed)))


# --- reading an answer -----------------------------------------------------------------------------------------------


class ReplyReader(Protocol):
    """Reads the objects of an answer."""

    @property
    def finished(self) -> bool: ...
    def read(self, data: dict[str, Any]) -> None: ...
    def pass_on(self) -> None: ...


async def read_reply(answer: httpx.Response, reader: ReplyReader) -> None:
    """Read an answer to its end, streamed or not: some servers do not do as requested.

    Raises `RefusedError` for an error anywhere, `BadReply` if the answer was cut off or is malformed, `Unsupported` for
    a web page.
    """
    if not 200 <= answer.status_code < 300:
        raise RefusedError(read_refusal(answer.status_code, await read_body(answer), answer.headers))
    content_type = answer.headers.get("content-type", "")
    if "event-stream" in content_type:
        await _read_stream(answer, reader)
    elif _EVENT.match(body := await read_body(answer)):  # some servers and gateways send another type
        events = EventParser()
        try:
            for event in (*events.feed(body), *events.close()):
                if event != _DONE:
                    _read_object(parse_event(event), reader)
        finally:
            reader.pass_on()
    else:
        _read_object(parse_json(body, content_type), reader)
    if not reader.finished:
        raise BadReply("the reply was cut off before its end")


async def _read_stream(answer: httpx.Response, reader: ReplyReader) -> None:
    events, size, passed_on = EventParser(), 0, time.monotonic()
    try:
        async for piece in _pieces(answer, reader):
            size += len(piece)
            if size > _LONGEST_ANSWER:
                raise BadReply(f"the stream is longer than {_LONGEST_ANSWER} bytes")
            for event in events.feed(piece):
                if event == _DONE:
                    return
                _read_object(parse_event(event), reader)
            if time.monotonic() - passed_on > _PASS_ON:
                reader.pass_on()
                passed_on = time.monotonic()
        for event in events.close():
            if event != _DONE:
                _read_object(parse_event(event), reader)
    finally:
        reader.pass_on()


async def _pieces(answer: httpx.Response, reader: ReplyReader) -> AsyncIterator[bytes]:
    """Yield the pieces of a body; after the end of the reply only those that follow soon, ignoring errors."""
    import httpx

    pieces = aiter(answer.aiter_bytes())
    async for piece in pieces:
        yield piece
        if reader.finished:
            break
    end = asyncio.get_running_loop().time() + _USAGE_DELAY
    with suppress(StopAsyncIteration, TimeoutError, httpx.TransportError):
        while True:
            async with asyncio.timeout_at(end):
                piece = await anext(pieces)
            yield piece


def _read_object(data: Any, reader: ReplyReader) -> None:
    if data is None:
        return
    failed = data.get("response") if isinstance(data, dict) and data.get("type") == "response.failed" else None
    if refusal := (failed and find_refusal(failed)) or find_refusal(data):
        raise RefusedError(refusal)
    if not isinstance(data, dict):
        raise BadReply("the answer is not a JSON object")
    for choice in objects_in(data.get("choices")):
        if refusal := find_refusal(choice):  # OpenRouter, if the vendor failed in the middle
            raise RefusedError(refusal)
    reader.read(data)


async def read_body(answer: httpx.Response) -> bytes:
    """Return the body. Raises `BadReply` if it is too long."""
    body = b""
    async for piece in answer.aiter_bytes():
        body += piece
        if len(body) > _LONGEST_ANSWER:
            raise BadReply(f"the answer is longer than {_LONGEST_ANSWER} bytes")
    return body


def parse_json(body: bytes, content_type: str) -> Any:
    """Return the JSON of a body. Raises `Unsupported` for a web page, `BadReply` for anything else."""
    text = body.decode("utf-8", "replace").strip()
    if not text:
        raise BadReply("the answer is empty")
    try:
        return json.loads(text)
    except ValueError as error:
        if "html" in content_type or text[:1] == "<":
            raise Unsupported(f"the answer is {page_text(text)} instead of JSON; check base_url") from None
        raise BadReply(f"the answer is not JSON: {error}") from None


def parse_event(text: str) -> Any:
    """Return the JSON of an event; None for an empty one, which only keeps the connection open."""
    try:
        return json.loads(text) if text.strip() else None
    except ValueError as error:
        raise BadReply(f"an event of the stream is not JSON, or was cut off: {error}") from None


class EventParser:
    """Parses server-sent events (WHATWG) into their data; comments, names, ids and retry times are ignored."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._rest = ""
        self._data: list[str] = []

    def feed(self, data: bytes) -> list[str]:
        """Return the events that are complete. Raises `BadReply` for a line without end."""
        return list(self._events(self._decoder.decode(data)))

    def close(self) -> list[str]:
        """Return the last event: many servers omit the blank line after it."""
        return list(self._events(self._decoder.decode(b"", final=True) + "\n\n"))

    def _events(self, text: str) -> Iterator[str]:
        *lines, self._rest = _LINE_END.split(self._rest + text)
        if len(self._rest) > _LONGEST_LINE:
            raise BadReply(f"the stream has a line of more than {_LONGEST_LINE} characters")
        for line in lines:
            field, _, value = line.partition(":")
            if not line:
                if self._data:
                    yield "\n".join(self._data)
                self._data = []
            elif field == "data":
                self._data.append(value.removeprefix(" "))
            elif line[0] == "{":  # a bare JSON error after the stream has begun
                self._data.append(line)
            elif field == "error":  # older versions of llama.cpp
                self._data.append(f'{{"error": {value}}}')
