"""The one way to a server: addresses, headers, the client, and what goes wrong on the way."""

from __future__ import annotations

import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, quote, urlsplit

from leadline.contracts import Call, Context
from leadline.errors import BadReply, ProviderError, Unavailable, Unsupported
from leadline_plugins.ai.openai.causes import error_of
from leadline_plugins.ai.openai.failures import Refusal
from leadline_plugins.ai.openai.proxies import proxies_named, proxy_between, proxy_fault
from leadline_plugins.ai.openai.settings import AZURE, OpenAISettings, trusting, unsendable

if TYPE_CHECKING:
    import httpx

_MASK = "[secret]"
_SHORTEST_SECRET = 8
"""Characters; a shorter header value is a word."""
_PROXY_ASKS = 407
"""The status by which a proxy wants to know who asks."""


class Endpoint:
    """One endpoint with one account."""

    def __init__(self, settings: OpenAISettings, context: Context) -> None:
        self.settings = settings
        self._context = context
        self._made: httpx.AsyncClient | None = None

    @property
    def host(self) -> str:
        """The host, for errors."""
        return self.settings.host

    def url(self, what: str, model: str) -> str:
        """Return the address of `chat/completions`, `responses`, `embeddings` or `models`."""
        root, version = self.settings.root, self.settings.version
        parts = urlsplit(root)
        if not self.settings.at_azure:
            return parts._replace(path=f"{parts.path}/{what}").geturl()
        base = f"{parts.scheme}://{parts.netloc}{_before(parts)}/openai"
        query = f"?api-version={quote(version)}" if version else ""
        if not version:  # the newer paths, which are OpenAI's own
            return f"{base}/v1/{what}"
        by_deployment = what in ("chat/completions", "embeddings")
        return f"{base}/deployments/{quote(model)}/{what}{query}" if by_deployment else f"{base}/{what}{query}"

    @asynccontextmanager
    async def post(self, what: str, model: str, body: dict[str, Any], call: Call) -> AsyncIterator[httpx.Response]:
        """Send a request; the answer's body is still to be read. Raises `ProviderError` in words for people.

        Silence is a fault in a stream only: a reply that comes whole is silent until the model is through.
        """
        import httpx

        settings, streamed = self.settings, bool(body.get("stream"))
        headers = {"Accept": "text/event-stream, application/json"} if streamed else {}
        if call.traceparent:
            headers["traceparent"] = call.traceparent
        silence = settings.read_timeout if streamed else max(settings.read_timeout, call.remaining())
        timeout = httpx.Timeout(silence, connect=settings.connect_timeout, pool=None)
        asked: dict[str, Any] = {"json": body, "headers": headers, "timeout": timeout}
        begun = False
        try:
            async with self._client().stream("POST", self.url(what, model), **asked) as answer:
                begun = answer.is_success
                yield answer
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            cause, words = self._cause(error)
            if begun and isinstance(error, httpx.RemoteProtocolError | httpx.ReadError):
                cause = BadReply  # it was written, and is billed
            raise cause(self.mask(words)) from error

    def error(self, said: Refusal, model: str, **more: str) -> ProviderError:
        """Return the error that a refusal amounts to; no secret stands in it. What a proxy refused, no vendor saw."""
        if said.status == _PROXY_ASKS and (between := proxy_between(self.settings.proxy, self.settings.root)):
            words = f"{self.host}: {between} asks for a name and a password (HTTP {_PROXY_ASKS}): {said.message}"
            return Unsupported(self.mask(words.rstrip(": ")))
        found = error_of(said, self.host, model, **more)
        return type(found)(self.mask(str(found)), retry_after=found.retry_after)

    async def models(self) -> tuple[str, ...]:
        """Return the names of the models that are served; none where the endpoint does not say."""
        try:
            answer = await self._client().get(self.url("models", ""), timeout=self.settings.connect_timeout)
            listed = answer.json()["data"]
            return tuple(sorted(str(one["id"]) for one in listed))
        except Exception:  # noqa: BLE001 - asked for a better error only, and that is told in any case
            return ()

    def mask(self, text: str) -> str:
        """Return the text without the key and the values of the headers."""
        secrets = [self.settings.api_key, *self.settings.headers.values()]
        for secret in sorted((one.get_secret_value() for one in secrets), key=len, reverse=True):
            if len(secret) >= _SHORTEST_SECRET:
                text = text.replace(secret, _MASK)
        return text

    def _client(self) -> httpx.AsyncClient:
        if self._made is None:
            import httpx

            settings = self.settings
            options: dict[str, Any] = {"proxy": settings.proxy} if settings.proxy else {}
            if settings.ca_file:
                options["verify"] = trusted = _trusting(settings.ca_file)
                if settings.proxy.startswith("https://"):  # which httpx would judge by the usual authorities
                    options["proxy"] = httpx.Proxy(settings.proxy, ssl_context=trusted)
            elif settings.root.startswith("http://") and not settings.proxy:
                # Reading the usual authorities takes 90 ms that plain HTTP does not need; this trusts nobody.
                options["verify"] = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            # Vendors send an event a token, and each would wake the event loop: of a stream no more may be read than is
            # asked for. httpx's own transport, which it is with limits of our own, does that; the house's can over
            # plain HTTP, at a third of the CPU.
            if settings.root.startswith("http://"):
                options["held"] = True
            else:
                options["limits"] = httpx.Limits(max_connections=None, max_keepalive_connections=16)
            options["timeout"] = httpx.Timeout(settings.read_timeout, connect=settings.connect_timeout, pool=None)
            if fault := unsendable(settings.api_key, settings.headers):
                raise Unsupported(f"{self.host}: {fault}")
            try:
                self._made = self._context.http(headers=self._headers(), **options)
            except (ImportError, ValueError, httpx.InvalidURL) as error:
                fault = proxy_fault(settings.proxy) or f"{error}; check {proxies_named(settings.proxy)}"
                raise Unsupported(self.mask(f"{self.host}: {fault}")) from error
        return self._made

    def _headers(self) -> dict[str, str]:
        settings = self.settings
        headers = {"OpenAI-Organization": settings.organization, "OpenAI-Project": settings.project}
        if key := settings.api_key.get_secret_value().strip():
            headers |= {"api-key": key} if settings.at_azure else {"Authorization": f"Bearer {key}"}
        headers |= {name: value.get_secret_value() for name, value in settings.headers.items()}
        return {name: value for name, value in headers.items() if value}

    def _cause(self, error: Exception) -> tuple[type[ProviderError], str]:
        import httpx

        settings, host = self.settings, self.host
        between = proxy_between(settings.proxy, settings.root)
        match error:
            case httpx.ConnectTimeout() | httpx.ConnectError() if between and "CERTIFICATE" not in str(error):
                return Unavailable, f"{host}: no connection to {between}: {error}".rstrip(": ")
            case httpx.ConnectTimeout():
                return Unavailable, f"{host}: no connection within {settings.connect_timeout:g} s (connect_timeout)"
            case httpx.ReadTimeout():
                return Unavailable, f"{host}: connected, then silent for {settings.read_timeout:g} s (read_timeout)"
            case httpx.ConnectError() if "CERTIFICATE_VERIFY_FAILED" in str(error):
                return Unsupported, f"{host}: its certificate is not trusted; name the authority's file in ca_file"
            case httpx.ConnectError():
                return Unavailable, f"{host}: no connection: {error}"
            case httpx.ProxyError():
                return Unavailable, f"{host}: {between or 'the proxy'} does not let through: {error}"
            case httpx.RemoteProtocolError():
                return Unavailable, f"{host}: the connection broke off: {error}"
            case httpx.DecodingError():
                return BadReply, f"{host}: the answer cannot be decompressed: {error}"
            case httpx.UnsupportedProtocol() | httpx.InvalidURL() | httpx.TooManyRedirects():
                return Unsupported, f"{host}: {error}; check base_url"
        return Unavailable, f"{host}: {type(error).__name__}: {error}".rstrip(": ")


def _before(parts: SplitResult) -> str:
    """Return what stands before Azure's own paths: of a gateway its prefix, of Azure's own hosts nothing."""
    if (parts.hostname or "").endswith(AZURE):
        return ""
    return re.sub(r"/openai(/.*)?$", "", parts.path)


def _trusting(path: Path) -> ssl.SSLContext:
    try:
        return trusting(path)
    except OSError as error:  # it could be read when the settings were
        raise Unsupported(f"ca_file {path} holds no certificates that can be read: {error}") from error
