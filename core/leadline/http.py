"""HTTP for plugins: clients of httpx, and provider errors for the answers of services.

Loading certificates takes 90 ms, so clients share one context. Providers limit their own parallel requests, so that
connections are not limited here. NO_PROXY is read as by curl and Go: hosts, domains and networks, which httpx ignores.
"""

from __future__ import annotations

import os
import re
import ssl
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from importlib.metadata import version
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies, proxy_bypass

from leadline.display import one_line
from leadline.errors import BadReply, Denied, ProviderError, QuotaSpent, RateLimited, TooLong, Unavailable, Unsupported

if TYPE_CHECKING:
    from httpx import AsyncBaseTransport, AsyncClient, Request, Response, TransportError

# Idle connections that a client keeps. Each request inspects all of them.
IDLE_CONNECTIONS = 16


@cache
def default_certificates() -> ssl.SSLContext:
    """Return a context that trusts the usual authorities, or those in SSL_CERT_FILE or SSL_CERT_DIR.

    Raises `Unsupported` if these cannot be read.
    """
    import httpx

    try:
        return httpx.create_ssl_context()
    except OSError as error:
        raise Unsupported(f"the certificates of {_authorities()} cannot be read: {error}") from error


def untrusted(error: BaseException) -> str:
    """Return what a message says of a server whose certificate is not trusted; empty for other errors."""
    if "CERTIFICATE_VERIFY_FAILED" not in str(error):
        return ""
    if "certificate is not valid for" in str(error):
        return "its certificate is for another name"
    return f"its certificate is not trusted: no authority of {_authorities()} signed it; set SSL_CERT_FILE to its file"


def _authorities() -> str:
    names = [f"{name}={os.environ[name]}" for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if os.environ.get(name)]
    return " and ".join(names) or "the usual list"


@cache
def _user_agent() -> str:
    return f"leadline/{version('leadline')}"


def proxy_of(scheme: str, host: str) -> str:
    """Return the proxy of the environment for an address; empty if there is none, or NO_PROXY names the host."""
    proxies = getproxies()
    proxy = proxies.get(scheme) or proxies.get("all") or ""
    host = host.strip("[]").lower()
    if not proxy or _is_direct(host, re.split(r"[\s,]+", proxies.get("no", ""))) or proxy_bypass(host):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _is_direct(host: str, entries: list[str]) -> bool:
    """Return whether an entry of NO_PROXY names a host, on any port: `*`, the host, a domain above it, a network."""
    for entry in filter(None, entries):
        name = re.sub(r"^(\[.*\]|[^:]+):\d+$", r"\1", entry.rpartition("://")[2].lstrip("*.").lower())
        if not name or f".{host}".endswith(f".{name}"):
            return True
        with suppress(ValueError):
            if ip_address(host) in ip_network(name.strip("[]"), strict=False):
                return True
    return False


def _transport_by_environment(**options: Any) -> AsyncBaseTransport:
    """Return a transport that sends each request through the proxy of the environment for its address, if any."""
    import httpx

    direct = httpx.AsyncHTTPTransport(**options)
    # All are made now, because a proxy that cannot be used is an error of the client, not of a request.
    proxies = {proxy_of(scheme, "") for scheme in ("http", "https")} - {""}
    proxied = {proxy: httpx.AsyncHTTPTransport(proxy=proxy, **options) for proxy in proxies}

    class Transport(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: Request) -> Response:
            proxy = proxy_of(request.url.scheme, request.url.host)
            return await proxied.get(proxy, direct).handle_async_request(request)

        async def aclose(self) -> None:
            for transport in (direct, *proxied.values()):
                await transport.aclose()

    return Transport()


def make_client(**options: Any) -> AsyncClient:
    """Return an httpx client with Leadline's user agent; proxies come from the environment.

    `options` are those of `httpx.AsyncClient` and win over the defaults.
    """
    import httpx

    headers = {"User-Agent": _user_agent(), "Accept-Encoding": "gzip, deflate"} | dict(
        options.pop("headers", None) or {}
    )
    hooks = options.pop("event_hooks", None) or {}
    options["event_hooks"] = {**hooks, "response": [_check_encoding, *hooks.get("response", ())]}
    if "transport" not in options:
        options.setdefault("limits", httpx.Limits(max_connections=None, max_keepalive_connections=IDLE_CONNECTIONS))
        if not options.get("http2"):  # HTTP/2 is negotiated by a context of its own
            options.setdefault("verify", default_certificates())
        if "proxy" not in options and (proxy_of("http", "") or proxy_of("https", "")):
            names = ("verify", "cert", "http1", "http2", "limits", "trust_env")
            options["transport"] = _transport_by_environment(**{key: options[key] for key in names if key in options})
    return httpx.AsyncClient(headers=headers, **options)


async def _check_encoding(response: Response) -> None:
    """Raise `BadReply` for an answer packed twice, or not as asked for: 2 KB of it could unpack to gigabytes."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    asked = response.request.headers.get("accept-encoding", "")
    if encoding not in ("", "identity", *re.split(r"[\s,;]+", asked)):
        raise BadReply(
            f"{response.request.url.host}: the answer is packed as {one_line(encoding[:40])}, not as {asked}"
        )


# --- errors of HTTP services ------------------------------------------------------------------------------------------


# Statuses that mean the same at every service.
_BY_STATUS: Mapping[int, type[ProviderError]] = {
    401: Denied,
    402: QuotaSpent,
    403: Denied,
    408: Unavailable,
    413: TooLong,
    425: Unavailable,
    429: RateLimited,
}


def status_error(status: int) -> type[ProviderError]:
    """Return the class of error that a status other than 2xx means."""
    return _BY_STATUS.get(status, Unavailable if status >= 500 else Unsupported)


def http_error(error: BaseException) -> ProviderError | None:
    """Return the error of a plugin for an exception of httpx; None for any other exception."""
    httpx = sys.modules.get("httpx")  # imported if one of its errors was raised
    if httpx is None or not isinstance(error, httpx.HTTPError | httpx.InvalidURL):
        return None
    message = f"{type(error).__name__}: {one_line(error)}".rstrip(": ")
    match error:
        case httpx.HTTPStatusError(response=response):
            url = response.request.url.copy_with(query=None)  # the query may hold a key
            wait = retry_after_seconds(response.headers.get("retry-after", ""))
            return status_error(response.status_code)(f"HTTP {response.status_code} from {url}", retry_after=wait)
        case httpx.DecodingError():
            return BadReply(message)
        case httpx.UnsupportedProtocol() | httpx.TooManyRedirects() | httpx.InvalidURL():
            return Unsupported(message)
        case httpx.TransportError():
            return Unsupported(reason) if (reason := untrusted(error)) else Unavailable(_unreached(error, message))
    return None


def _unreached(error: TransportError, message: str) -> str:
    """Return a message with the address and, if a timeout of the plugin's client struck, its name and seconds."""
    request = getattr(error, "_request", None)  # `error.request` raises an error if there is none
    if request is None:
        return message
    name, address = type(error).__name__, f"{request.url.host}:{request.url.port or request.url.scheme}"
    limit = name.removesuffix("Timeout").lower()
    seconds = (request.extensions.get("timeout") or {}).get(limit)
    if name != "ConnectTimeout" and name.endswith("Timeout") and seconds:
        return f"{name}: {address} sent nothing for {seconds:g} s, the `{limit}` timeout of the plugin's HTTP client"
    return f"{message} ({address}{f', {seconds:g} s' if seconds else ''})"


def retry_after_seconds(header: str) -> float | None:
    """Return the seconds that a Retry-After header asks for (RFC 9110: seconds or a date); None if it has neither."""
    if header.strip().isdigit():
        return float(header)
    try:
        date = parsedate_to_datetime(header)
    except ValueError:
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - datetime.now(UTC)).total_seconds())
