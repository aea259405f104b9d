"""What the search engines over HTTP share: one request, one answer, and refusals in words for people.

The address of a service stands in the settings, so that a gateway or a test server can take its place; it is the
user's own choice and not judged by the guard, redirects are not followed, and no key ever stands in a message.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from leadline.contracts import Call, Context
from leadline.errors import BadReply, ProviderError, Unavailable, Unsupported
from leadline.printable import one_line
from leadline_plugins.search.refusals import Refusal, refused

if TYPE_CHECKING:
    import httpx

_LARGEST = 20_000_000
"""Bytes of an answer; hits with full text stay far below."""
_CONNECT = 10.0
_MASK = "[secret]"


class Api:
    """One search service with one account. `name` is for people, `key_field` the setting that holds the key."""

    def __init__(
        self,
        name: str,
        context: Context,
        base_url: str,
        *,
        key: SecretStr | None = None,
        key_field: str = "api_key",
        headers: Mapping[str, str] | None = None,
        causes: Mapping[int, type[ProviderError]] | None = None,
    ) -> None:
        self.name = name
        self._context = context
        self._base = base_url.rstrip("/")
        self._key = plain(key)
        self._where = f"plugins.{context.name}.{key_field}" if self._key else ""
        self._headers = dict(headers or {})
        self._causes = dict(causes or {})
        self._made: httpx.AsyncClient | None = None

    async def get(self, path: str, params: Mapping[str, object], call: Call) -> dict[str, Any]:
        """Return the JSON object that answers a GET; parameters that are empty or None are left out."""
        return self._object(await self.read(path, params, call))

    async def post(self, path: str, body: Mapping[str, object], call: Call) -> dict[str, Any]:
        """Return the JSON object that answers a POST of JSON; fields that are empty or None are left out."""
        return self._object(await self._ask("POST", path, call, json=_filled(body)))

    async def read(self, path: str, params: Mapping[str, object], call: Call) -> bytes:
        """Return the body that answers a GET. Raises `ProviderError` for a refusal."""
        return await self._ask("GET", path, call, params=_filled(params))

    async def location(self, path: str, call: Call) -> str:
        """Return where an address redirects to; empty where it does not."""
        import httpx

        try:
            answer = await self._client().head(self._base + path, timeout=max(call.remaining(), 0.001))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._unreached(error) from error
        return str(answer.headers.get("location", ""))

    def bad(self, what: str) -> BadReply:
        """Return the error for an answer that is not what the service documents."""
        return BadReply(f"{self.name}: {self.mask(what)}")

    def mask(self, text: str) -> str:
        """Return the text without the key."""
        return text.replace(self._key, _MASK) if self._key else text

    # --- one request -------------------------------------------------------------------------------------------------

    async def _ask(self, method: str, path: str, call: Call, **content: Any) -> bytes:
        import httpx

        timeout = httpx.Timeout(max(call.remaining(), 0.001), connect=_CONNECT, pool=None)
        try:
            async with self._client().stream(method, self._base + path, timeout=timeout, **content) as answer:
                body = await self._body(answer)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._unreached(error) from error
        if answer.status_code != httpx.codes.OK:
            raise self._refused(answer, body)
        return body

    async def _body(self, answer: httpx.Response) -> bytes:
        body = bytearray()
        async for piece in answer.aiter_bytes():
            body += piece
            if len(body) > _LARGEST:
                raise self.bad(f"the answer is larger than {_LARGEST // 1_000_000} MB")
        return bytes(body)

    def _client(self) -> httpx.AsyncClient:
        if self._made is None:
            self._made = self._context.http(headers=self._headers)
        return self._made

    def _object(self, body: bytes) -> dict[str, Any]:
        try:
            data = json.loads(body)
        except (ValueError, RecursionError) as error:
            begin = one_line(body[:60].decode("utf-8", "replace"))
            raise self.bad(f"the answer is no JSON; it begins {begin!r}") from error
        if not isinstance(data, dict):
            raise self.bad(f"the answer is no JSON object but {type(data).__name__}")
        return data

    def _refused(self, answer: httpx.Response, body: bytes) -> ProviderError:
        refusal = Refusal(answer.status_code, dict(answer.headers), body)
        error = refused(refusal, self.name, self._where, self._causes)
        return type(error)(self.mask(str(error)), retry_after=error.retry_after)

    def _unreached(self, error: Exception) -> ProviderError:
        import httpx

        match error:
            case httpx.TimeoutException():
                return Unavailable(f"{self.name}: no answer in time ({type(error).__name__})")
            case httpx.DecodingError():
                return self.bad("the answer cannot be decompressed")
            case httpx.UnsupportedProtocol() | httpx.InvalidURL():
                place = f"plugins.{self._context.name}.base_url"
                return Unsupported(f"{self.name}: {self._base!r} is no address; check {place}")
        told = f": {error}" if str(error) else ""
        return Unavailable(self.mask(f"{self.name}: no connection ({type(error).__name__}{told})"))


def plain(key: SecretStr | None) -> str:
    """Return a key as it is sent: what is pasted often brings a line's end along."""
    return key.get_secret_value().strip() if key else ""


def agent(contact: str = "") -> str:
    """Return how the house names itself, with whom to write to about it."""
    from leadline import __version__

    return f"leadline/{__version__} ({contact})" if contact else f"leadline/{__version__}"


def _filled(fields: Mapping[str, object]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None and value not in ("", [], {})}
