"""HTTP clients for plugins: httpx, with certificates that are loaded once for the whole process.

Loading them takes 90 ms, so clients share one context. Providers limit their own parallel requests, so that
connections are not limited here.
"""

from __future__ import annotations

import ssl
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from httpx import AsyncClient

# Idle connections that a client keeps. Each request inspects all of them.
IDLE_CONNECTIONS = 16


@cache
def default_certificates() -> ssl.SSLContext:
    """Return a context that trusts the usual authorities, or those in SSL_CERT_FILE or SSL_CERT_DIR."""
    import httpx

    return httpx.create_ssl_context()


@cache
def _user_agent() -> str:
    return f"leadline/{version('leadline')}"


def make_client(**options: Any) -> AsyncClient:
    """Return an httpx client with Leadline's user agent; proxies come from the environment.

    `options` are those of `httpx.AsyncClient` and win over the defaults.
    """
    import httpx

    headers = {"User-Agent": _user_agent()} | dict(options.pop("headers", None) or {})
    if "transport" not in options:
        options.setdefault("limits", httpx.Limits(max_connections=None, max_keepalive_connections=IDLE_CONNECTIONS))
        if not options.get("http2"):  # HTTP/2 is negotiated by a context of its own
            options.setdefault("verify", default_certificates())
    return httpx.AsyncClient(headers=headers, **options)
