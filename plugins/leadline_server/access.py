"""Who may send what: hosts, origins, tokens, sessions, and how often. Everything passes here before any route.

A request of a browser that another site caused is refused by its `Host` (DNS rebinding), `Origin` and `Sec-Fetch-Site`
(CSRF). Programs send a token in the header `Authorization`, which no other site can make a browser send.
"""

from __future__ import annotations

import ipaddress
import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from leadline_server import logs
from leadline_server.limits import Address, Rate
from leadline_server.problems import Problem
from leadline_server.store import SESSION_SECONDS, TOKEN_PREFIX, Store, Token

log = logging.getLogger("leadline.server")
COOKIE = "leadline_session"
# Replies that tell nothing of any run.
PUBLIC = frozenset(
    {
        ("GET", "/healthz"),
        ("GET", "/readyz"),
        ("GET", "/openapi.json"),
        ("POST", "/v1/session"),
        ("GET", "/login"),
        ("POST", "/login"),
    }
)
# Files of the page, which are the same for everybody.
_STATIC = "/static/"
# Requests of probes and browsers that are in the log only if they fail.
_SILENT = ("/healthz", "/readyz", "/metrics", _STATIC)
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::\d{1,5})?")
_READING = ("GET", "HEAD")
_FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip")
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
}


@dataclass(frozen=True)
class Identity:
    """Who sent a request: a principal, or None on a machine of one person; `session` is the secret of its cookie."""

    principal: str | None
    metrics_only: bool = False
    session: str = ""


class Access:
    """The outermost layer of the application. Routes find the `Identity` in `request.state.identity`."""

    def __init__(
        self,
        app: ASGIApp,
        store: Store,
        address: Address,
        guesses: Rate,
        shown: Callable[[Request, Problem], Response] = lambda request, problem: problem.response(request.url.path),
    ) -> None:
        self._app, self._store = app, store
        # Makes the reply for a request that is refused: JSON for programs, a page for people.
        self._shown = shown
        self._hosts = {host.lower() for host in address.names} | {"localhost"}
        # A server that others can reach, or that has had a token, stays closed when its last token is removed.
        self._needs_token = bool(address.names) or not address.is_loopback
        self._requests = Rate(address.limits.requests, f"more than {address.limits.requests} requests in a minute")
        self._guesses = guesses

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request and pass it on; headers that protect the reader are added to every reply."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        state, status, began = scope.setdefault("state", {}), 0, time.monotonic()
        state["request_id"] = logs.request_id(Headers(scope=scope).get("x-request-id", ""))

        async def protected(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status, headers = message["status"], MutableHeaders(scope=message)
                for name, value in {**HEADERS, "x-request-id": state["request_id"]}.items():
                    headers.setdefault(name, value)
            await send(message)

        with logs.context(request_id=state["request_id"], address=_address(scope)):
            try:
                await self._answer(scope, receive, protected)
            finally:
                silent = status < 400 and scope["path"].startswith(_SILENT)
                identity, taken = state.get("identity"), round(time.monotonic() - began, 3)
                about = {"method": scope["method"], "path": scope["path"], "status": status, "seconds": taken}
                user = identity.principal if identity else None
                logs.write(log, "request", logging.DEBUG if silent else logging.INFO, **about, user=user)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            scope["state"]["identity"] = self._identify(scope)
        except Problem as problem:
            await self._shown(Request(scope, receive), problem)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _identify(self, scope: Scope) -> Identity:
        headers, method = Headers(scope=scope), str(scope["method"])
        self._check_host(headers)
        reading = method.replace("HEAD", "GET")
        is_public = (reading, scope["path"]) in PUBLIC or (reading == "GET" and scope["path"].startswith(_STATIC))
        needs_token = self._needs_token = self._needs_token or self._store.has_tokens()
        given = _bearer(headers)
        # Clients of OpenAI's API cannot do without a key. A server without tokens ignores what is no token of Leadline.
        if given is not None and (needs_token or given.startswith(TOKEN_PREFIX)):
            token = self._store.token(given)
            if token is None:
                self._guesses.take(_address(scope))
                raise unknown_token()
            identity = _identity(token)
        else:
            self._check_origin(headers, method)
            identity = self._without_bearer(headers, method, needs_token=needs_token, is_public=is_public)
        if needs_token and not is_public and identity.metrics_only != (scope["path"] == "/metrics"):
            only = "this token reads /metrics only" if identity.metrics_only else "/metrics needs a token of its own"
            raise Problem(403, "forbidden", only, "the operator of the server makes one for metrics")
        if not is_public:
            self._requests.take(identity.principal)
        return identity

    def _without_bearer(self, headers: Headers, method: str, *, needs_token: bool, is_public: bool) -> Identity:
        if is_public:
            return Identity(None)
        if not needs_token:
            if any(name in headers for name in _FORWARDED):
                # Everybody who reaches the proxy would be the owner of this machine.
                raise Problem(
                    403,
                    "token_required",
                    "the request came through a proxy, and the server has no tokens",
                    "the operator of the server makes a token for each user",
                )
            return Identity(None)
        if secret := _cookie(headers):
            token = self._store.session(secret)
            if token:
                if method not in _READING and "origin" not in headers:
                    raise Problem(403, "cross_origin", "a request with a cookie needs the header Origin")
                return _identity(token, secret)
        raise Problem(
            401,
            "token_required",
            "send a token: Authorization: Bearer TOKEN",
            "the operator of the server makes one for you",
            {"WWW-Authenticate": "Bearer"},
        )

    def _check_host(self, headers: Headers) -> None:
        """Refuse names that do not belong to this server: a foreign name may lead here by DNS rebinding."""
        match = _HOST.fullmatch(headers.get("host", ""))
        name = match[1].lower().rstrip(".") if match else ""
        if name in self._hosts or _is_address(name):
            return
        raise Problem(
            421,
            "unknown_host",
            "this server does not have the name that the request gives as its host",
            "use an address of the server, or have its operator allow this name",
        )

    def _check_origin(self, headers: Headers, method: str) -> None:
        """Refuse requests that pages of other sites cause."""
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        follows_link = method in _READING and headers.get("sec-fetch-mode") == "navigate"
        foreign = origin is not None and origin.partition("://")[2].lower() != headers.get("host", "").lower()
        if foreign or (site not in ("same-origin", "none") and not follows_link):
            raise Problem(403, "cross_origin", "requests of other sites are refused")


def keep_session(request: Request, reply: Response, secret: str) -> None:
    """Send the cookie of a session."""
    secure = request.url.scheme == "https"
    reply.set_cookie(COOKIE, secret, max_age=SESSION_SECONDS, path="/", secure=secure, httponly=True, samesite="strict")


def unknown_token() -> Problem:
    """Return the error for a wrong token."""
    return Problem(
        401,
        "unknown_token",
        "the token is not valid",
        "ask the operator of the server for a new one",
        {"WWW-Authenticate": 'Bearer error="invalid_token"'},
    )


def _address(scope: Scope) -> str:
    return scope["client"][0] if scope.get("client") else ""


def _identity(token: Token, session: str = "") -> Identity:
    return Identity(token.principal, token.scope == "metrics", session)


def _bearer(headers: Headers) -> str | None:
    """Return the token of a request; an empty one is a wrong one. Several headers are refused as a wrong one."""
    given = headers.getlist("authorization")
    if not given:
        return None
    scheme, _, token = given[0].strip().partition(" ")
    if scheme.lower() != "bearer":
        return None
    return token.strip() if len(given) == 1 else ""


def _cookie(headers: Headers) -> str:
    try:
        morsel = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return morsel.value if morsel else ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
