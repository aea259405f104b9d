"""Requests to search services.

The address of a service is a setting, so that a gateway or a test server can replace it. The guard does not check it,
because the user chose it; redirects are not followed, and no message contains a key.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from leadline.contracts import Call, Context
from leadline.display import one_line
from leadline.errors import BadReply, ProviderError
from leadline_plugins.service_errors import Refusal, read_refusal, transport_error

if TYPE_CHECKING:
    import httpx

# Bytes of an answer; hits with full text are far smaller.
_LARGEST = 20_000_000
_CONNECT = 10.0
_MASK = "[secret]"


class Api:
    """One search service with one account. Messages contain `name`; `key_field` is the setting with the key.

    In headers, `{key}` stands for the key; without a key they are not sent.
    """

    def __init__(
        self,
        name: str,
        context: Context,
        base_url: str,
        *,
        key: SecretStr | None = None,
        key_field: str = "api_key",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self._context = context
        self._base = base_url.strip().rstrip("/")
        self._key = key.get_secret_value().strip() if key else ""  # a line end is often pasted with it
        self._key_setting = f"plugins.{context.name}.{key_field}" if self._key else ""
        self._address_setting = f"plugins.{context.name}.base_url"
        given = (headers or {}).items()
        sent = [(header, value) for header, value in given if self._key or "{key}" not in value]
        self._headers = {header: value.replace("{key}", self._key) for header, value in sent}
        self._made: httpx.AsyncClient | None = None

    async def get(self, path: str, params: Mapping[str, object], call: Call) -> dict[str, Any]:
        """Send a GET and return the JSON object; empty parameters are omitted."""
        return self._object(await self.read(path, params, call))

    async def post(self, path: str, body: Mapping[str, object], call: Call) -> dict[str, Any]:
        """Send a POST of JSON and return the JSON object; empty fields are omitted."""
        return self._object(await self._ask("POST", path, call, json=filled(body)))

    async def read(self, path: str, params: Mapping[str, object], call: Call) -> bytes:
        """Send a GET and return the body. Raises `ProviderError` for a refusal."""
        return await self._ask("GET", path, call, params=filled(params))

    async def through(self, answer: Awaitable[dict[str, Any]]) -> dict[str, Any]:
        """Return the JSON object that a vendor's SDK received. Raises `ProviderError`, without the key."""
        import httpx

        try:
            return await answer
        except ProviderError:
            raise
        except Exception as error:
            # An SDK hides an exception of httpx behind its own, or reads an answer as an object without a look.
            hidden = next((it for it in (error, error.__context__) if isinstance(it, httpx.HTTPError)), None)
            raise self._unreached(hidden) if hidden else self.bad("the answer is not a JSON object") from error

    async def location(self, path: str, call: Call) -> str:
        """Return the target of a redirect; empty if there is none."""
        import httpx

        try:
            answer = await self.client().head(self._base + path, timeout=max(call.remaining(), 0.001))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._unreached(error) from error
        return str(answer.headers.get("location", ""))

    def bad(self, what: str) -> BadReply:
        """Return the error for an answer that does not fit the documentation of the service."""
        return BadReply(f"{self.name}: {self.mask(what)}")

    def mask(self, text: str) -> str:
        """Return the text without the key."""
        return text.replace(self._key, _MASK) if self._key else text

    # --- one request -------------------------------------------------------------------------------------------------

    async def _ask(self, method: str, path: str, call: Call, **content: Any) -> bytes:
        import httpx

        timeout = httpx.Timeout(max(call.remaining(), 0.001), connect=_CONNECT, pool=None)
        try:
            answer = await self.client().request(method, self._base + path, timeout=timeout, **content)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._unreached(error) from error
        return answer.content

    async def _receive(self, answer: httpx.Response) -> None:
        """Read an answer of at most 20 MB, unpacked. Raises the error that a refusal means."""
        import httpx

        if answer.request.method == "HEAD":
            return
        body, packed = bytearray(), httpx.Response(answer.status_code, headers=answer.headers, stream=answer.stream)
        async for piece in packed.aiter_bytes():
            body += piece
            if len(body) > _LARGEST:
                raise self.bad(f"the answer is larger than {_LARGEST // 1_000_000} MB")
        if answer.status_code != httpx.codes.OK:
            raise self.refused(read_refusal(answer.status_code, bytes(body), answer.headers))
        answer.headers.pop("content-encoding", None)
        answer.stream = httpx.ByteStream(bytes(body))

    def client(self) -> httpx.AsyncClient:
        """Return the client of this account, which raises the errors of `ProviderError` for answers."""
        if self._made is None:
            hooks = {"response": [self._receive]}
            self._made = self._context.http(headers=self._headers, event_hooks=hooks, base_url=self._base)
        return self._made

    def _object(self, body: bytes) -> dict[str, Any]:
        try:
            data = json.loads(body)
        except (ValueError, RecursionError) as error:
            begin = one_line(body[:60].decode("utf-8", "replace"))
            raise self.bad(f"the answer is not JSON; it begins {begin!r}") from error
        if not isinstance(data, dict):
            raise self.bad(f"the answer is not a JSON object but {type(data).__name__}")
        return data

    def refused(self, refusal: Refusal) -> ProviderError:
        """Return the error that a refusal means, without the key."""
        return refusal.masked(self.mask).error(self.name, key=self._key_setting, address=self._address_setting)

    def _unreached(self, error: Exception) -> ProviderError:
        failed = transport_error(error, self.name, address=self._address_setting)
        return type(failed)(self.mask(str(failed)))


def filled(fields: Mapping[str, object]) -> dict[str, Any]:
    """Return the fields that are not empty."""
    return {name: value for name, value in fields.items() if value is not None and value not in ("", [], {})}
