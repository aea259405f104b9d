"""Requests to search services, and the errors that their refusals mean.

The address of a service is a setting, so that a gateway or a test server can replace it. The guard does not check it,
because the user chose it; redirects are not followed, and no message contains a key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from leadline.contracts import Call, Context
from leadline.display import one_line, strip_markup
from leadline.errors import (
    BadReply,
    Denied,
    ProviderError,
    QuotaSpent,
    RateLimited,
    TooLong,
    Unavailable,
    Unsupported,
)
from leadline.http import ERRORS_BY_STATUS, RATE_LIMIT_WORDS, untrusted
from leadline_plugins.ai.openai.errors import wait_seconds

if TYPE_CHECKING:
    import httpx

# Bytes of an answer; hits with full text are far smaller.
_LARGEST = 20_000_000
_CONNECT = 10.0
_MASK = "[secret]"


class Api:
    """One search service with one account. Messages contain `name`; `key_field` is the setting with the key."""

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
        """Send a GET and return the JSON object; empty parameters are omitted."""
        return self._object(await self.read(path, params, call))

    async def post(self, path: str, body: Mapping[str, object], call: Call) -> dict[str, Any]:
        """Send a POST of JSON and return the JSON object; empty fields are omitted."""
        return self._object(await self._ask("POST", path, call, json=_filled(body)))

    async def read(self, path: str, params: Mapping[str, object], call: Call) -> bytes:
        """Send a GET and return the body. Raises `ProviderError` for a refusal."""
        return await self._ask("GET", path, call, params=_filled(params))

    async def location(self, path: str, call: Call) -> str:
        """Return the target of a redirect; empty if there is none."""
        import httpx

        try:
            answer = await self._client().head(self._base + path, timeout=max(call.remaining(), 0.001))
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
            raise self.bad(f"the answer is not JSON; it begins {begin!r}") from error
        if not isinstance(data, dict):
            raise self.bad(f"the answer is not a JSON object but {type(data).__name__}")
        return data

    def _refused(self, answer: httpx.Response, body: bytes) -> ProviderError:
        refusal = ServiceRefusal(answer.status_code, dict(answer.headers), body)
        error = service_error(refusal, self.name, self._where, self._causes)
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
                return Unsupported(f"{self.name}: {self._base!r} is not an address; check {place}")
        if reason := untrusted(error):
            return Unsupported(f"{self.name}: {reason}")
        detail = f": {error}" if str(error) else ""
        return Unavailable(self.mask(f"{self.name}: no connection ({type(error).__name__}{detail})"))


def plain(key: SecretStr | None) -> str:
    """Return a key without the line end that is often pasted with it."""
    return key.get_secret_value().strip() if key else ""


def agent(contact: str = "") -> str:
    """Return the user agent of Leadline, with an address for questions."""
    from leadline import __version__

    return f"leadline/{__version__} ({contact})" if contact else f"leadline/{__version__}"


def _filled(fields: Mapping[str, object]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None and value not in ("", [], {})}


# Characters of the service's message that an error repeats.
_LONGEST_MESSAGE = 200
# Fields with the reason of a refusal.
_MESSAGE_FIELDS = ("error", "message", "detail", "errors", "info", "code", "tag", "title")
_SPENT = re.compile(r"credit|quota|usage.limit|plan.{0,12}limit|insufficient|payment|billing|budget", re.IGNORECASE)
_KEY = re.compile(r"(api|subscription|access)[ _-]?(key|token)|unauthori[sz]ed|forbidden", re.IGNORECASE)
_BY_STATUS: Mapping[int, type[ProviderError]] = {**ERRORS_BY_STATUS, 414: TooLong}


@dataclass(frozen=True)
class ServiceRefusal:
    """An answer that is an error: status, headers (names in lower case), body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def message(self) -> str:
        """The message of the service on one line; empty if there is none."""
        body = self.body.decode("utf-8", "replace")
        try:
            message = "; ".join(dict.fromkeys(_messages(json.loads(body))))
        except (ValueError, RecursionError):
            message = strip_markup(body[:2000])
        line = one_line(message)
        return line if len(line) <= _LONGEST_MESSAGE else f"{line[:_LONGEST_MESSAGE]}…"


def service_error(
    refusal: ServiceRefusal, name: str, where: str = "", causes: Mapping[int, type[ProviderError]] | None = None
) -> ProviderError:
    """Return the error for a refusal; `where` is the setting of the key, `causes` are statuses of the service."""
    words = refusal.message
    wait = wait_seconds(refusal.headers, words, limited=refusal.status < 500)
    cause = (causes or {}).get(refusal.status) or _cause(refusal.status, words, wait, keyed=bool(where))
    detail = f" (HTTP {refusal.status}): {words}" if words else f" (HTTP {refusal.status})"
    return cause(_sentence(cause, refusal, name, where) % detail, retry_after=wait if cause.retry else None)


def _cause(status: int, words: str, wait: float | None, *, keyed: bool) -> type[ProviderError]:
    passing = wait is not None or (status == 429 and RATE_LIMIT_WORDS.search(words))
    if status in (400, 403, 429) and not passing and _SPENT.search(words):
        return QuotaSpent
    if keyed and status in (400, 422) and _KEY.search(words):
        return Denied
    return _BY_STATUS.get(status) or (Unavailable if status >= 500 else Unsupported)


def _sentence(cause: type[ProviderError], refusal: ServiceRefusal, name: str, where: str) -> str:
    """Return a sentence with a placeholder for the status and the message of the service."""
    name = name.replace("%", "%%")
    if cause is Denied and where:
        return f"{name} does not accept the key%s; check {where}"
    if cause is QuotaSpent:
        return f"{name}: the account has no credit left%s"
    if cause is RateLimited:
        return f"{name}: rate limit reached%s"
    if cause is Unavailable:
        return f"{name} is not available%s"
    if 300 <= refusal.status < 400:
        return f"{name} redirects%s; check base_url"
    if refusal.status == 404:
        return f"{name} has no such address%s; check base_url"
    return f"{name} refuses the request%s"


def _messages(data: object) -> Iterator[str]:
    """Yield the texts of the fields with reasons, at any depth."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, list):
        for item in data[:3]:
            yield from _messages(item)
    elif isinstance(data, dict):
        for name in _MESSAGE_FIELDS:
            yield from _messages(data.get(name))
