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
from contextvars import ContextVar
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from leadline_server import logs
from leadline_server.limits import Address, Rate
from leadline_server.problems import Problem, problem_of
from leadline_server.queue import QueueUnavailable
from leadline_server.sign_in import CALLBACK, check_name
from leadline_server.store import SHARE_PREFIX, TOKEN_PREFIX, Role, Store

log = logging.getLogger("leadline.server")
COOKIE = "leadline_session"
# The address that connected, in the scope of a request: its `client` may be what a proxy said.
PEER = "leadline.peer"
# Replies that tell nothing of any run.
PUBLIC = frozenset(
    {
        ("GET", "/healthz"),
        ("GET", "/readyz"),
        ("GET", "/openapi.json"),
        ("POST", "/v1/session"),
        ("GET", "/login"),
        ("POST", "/login"),
        ("GET", "/login/start"),
        ("GET", CALLBACK),
    }
)
# Files of the page, which are the same for everybody.
_STATIC = "/static/"
# Shared reports: whoever sends no token and no cookie of a session is nobody there, and is not refused.
SHARED = "/shared/"
_SECRET = re.compile(rf"{SHARE_PREFIX}[\w-]+")
_OF_SHARED = {"x-robots-tag": "noindex, nofollow", "referrer-policy": "no-referrer"}
# Requests of probes and browsers that are in the log only if they fail.
_SILENT = ("/healthz", "/readyz", "/metrics", _STATIC)
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::\d{1,5})?")
_READING = ("GET", "HEAD")
# What a reader may send beside: the tools of MCP check for themselves what they start.
_OF_READERS = frozenset({("POST", "/logout"), ("DELETE", "/v1/session"), ("POST", "/mcp"), ("DELETE", "/mcp")})
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
    """Who sent a request: a principal, or None on a machine of one person; `session` is the secret of its cookie.

    `is_nobody`: the request has neither, and asks for a shared report.
    """

    principal: str | None
    role: Role
    session: str = ""
    is_nobody: bool = False


# Who sent the request that is being handled. A task of no request may choose nothing.
SENDER: ContextVar[Identity | None] = ContextVar("sender of the request", default=None)


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
        self._settings = address.access
        # A server that others can reach, or that has had a token, stays closed when its last token is removed.
        self._needs_token = bool(address.names) or not address.is_loopback or address.access.signs_in
        # When users of a proxy came last: they log in there.
        self._seen: dict[str, float] = {}
        self._requests = Rate(address.limits.requests, "more than %(number)s requests in a minute")
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
                if scope["path"].startswith(SHARED):
                    headers.update(_OF_SHARED)
            await send(message)

        with logs.context(request_id=state["request_id"], address=_address(scope)):
            try:
                await self._answer(scope, receive, protected)
            finally:
                silent = status < 400 and scope["path"].startswith(_SILENT)
                identity, taken = state.get("identity"), round(time.monotonic() - began, 3)
                path = without_secrets(scope["path"])
                about = {"method": scope["method"], "path": path, "status": status, "seconds": taken}
                user = identity.principal if identity else None
                logs.write(log, "request", logging.DEBUG if silent else logging.INFO, **about, user=user)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            scope["state"]["identity"] = identity = await self._identify(scope)
        except (Problem, QueueUnavailable) as error:
            problem = error if isinstance(error, Problem) else problem_of(error)
            await self._shown(Request(scope, receive), problem)(scope, receive, send)
            return
        SENDER.set(identity)
        await self._app(scope, receive, send)

    async def _identify(self, scope: Scope) -> Identity:
        try:
            return await self._sender(scope)
        except Problem as problem:
            is_shared = scope["path"].startswith(SHARED) and scope["method"] in _READING
            if not is_shared or problem.body.code not in ("token_required", "unknown_token"):
                raise
            self._requests.take((SHARED, _address(scope)))
            return Identity(None, "reader", is_nobody=True)

    async def _sender(self, scope: Scope) -> Identity:
        headers, method = Headers(scope=scope), str(scope["method"])
        self._check_host(headers)
        reading = method.replace("HEAD", "GET")
        is_public = (reading, scope["path"]) in PUBLIC or (reading == "GET" and scope["path"].startswith(_STATIC))
        forwarded = self._forwarded(headers, scope)
        given = _bearer(headers)
        if given is not None or not is_public:  # a probe needs no database
            self._needs_token = self._needs_token or await self._store.ask(self._store.has_tokens)
        needs_token = self._needs_token
        # Clients of OpenAI's API cannot do without a key. A server without tokens ignores what is no token of Leadline.
        if given is not None and (needs_token or given.startswith(TOKEN_PREFIX)):
            token = await self._store.ask(self._store.token, given)
            if token is None:
                self._guesses.take(_address(scope))
                raise unknown_token()
            identity = Identity(token.principal, token.role)
        else:
            self._check_origin(headers, method)
            if is_public:
                return Identity(None, "reader")
            identity = forwarded or await self._without_bearer(headers, needs_token=needs_token)
            if (forwarded or identity.session) and method not in _READING and "origin" not in headers:
                raise Problem(403, "cross_origin", "a request with a cookie needs the header Origin")
        if not is_public:
            self._requests.take(identity.principal)
            self._check_role(identity, method, scope["path"], needs_token=needs_token)
        return identity

    def _check_role(self, identity: Identity, method: str, path: str, *, needs_token: bool) -> None:
        if needs_token and (identity.role == "metrics") != (path == "/metrics"):
            only = (
                "this token reads /metrics only" if identity.role == "metrics" else "/metrics needs a token of its own"
            )
            raise Problem(403, "forbidden", only, "the operator of the server makes one for metrics")
        if identity.role == "reader" and method not in _READING and (method, path) not in _OF_READERS:
            what = f"{method} {without_secrets(path)}"
            raise role_refused(self._store, identity, "readers start and change nothing", what)

    def _forwarded(self, headers: Headers, scope: Scope) -> Identity | None:
        """Return the user that a proxy names. Raises `Problem` if somebody else does, or the user has no role."""
        proxy = self._settings.proxy
        if proxy is None:
            return None
        users, groups = (headers.getlist(name) if name else [] for name in (proxy.user_header, proxy.groups_header))
        if not users and not groups:
            return None
        if not proxy.is_proxy(scope.get(PEER, "")):
            raise Problem(403, "unknown_proxy", f"only a proxy of this server may send the header {proxy.user_header}")
        if len(users) > 1 or len(groups) > 1:
            raise Problem(403, "unknown_proxy", "the proxy sent a header of the user twice", "it must replace them")
        if not users or not users[0]:
            return None
        try:  # headers are read as Latin-1
            user, group = (value.encode("latin-1").decode("utf-8") for value in (users[0], "".join(groups)))
        except UnicodeDecodeError:  # two names must not become one
            raise Problem(403, "unknown_proxy", "the proxy sent a header of the user that is no UTF-8") from None
        name = check_name(user)
        role = self._settings.roles.of([part.strip() for part in group.split(",")])
        identity = Identity(name, role or "reader")
        if role is None:
            self._guesses.take(name)
            raise role_refused(self._store, identity, "none of your groups has a role on this server", "login")
        now = time.monotonic()
        if now - self._seen.get(name, float("-inf")) > self._store.idle_seconds:
            self._store.audit.write("logged in", name, by="proxy", role=role)
        self._seen[name] = now
        return identity

    async def _without_bearer(self, headers: Headers, *, needs_token: bool) -> Identity:
        if not needs_token:
            if any(name in headers for name in _FORWARDED):
                # Everybody who reaches the proxy would be the owner of this machine.
                raise Problem(
                    403,
                    "token_required",
                    "the request came through a proxy, and the server has no tokens",
                    "the operator of the server makes a token for each user",
                )
            return Identity(None, "admin")
        if (secret := cookie(headers)) and (token := await self._store.ask(self._store.session, secret)):
            return Identity(token.principal, token.role, secret)
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


def role_refused(store: Store, identity: Identity, reason: str, what: str) -> Problem:
    """Return the error for what a role does not allow, and note it in the audit log."""
    store.audit.write("refused", identity.principal, role=identity.role, request=what)
    return Problem(403, "role", reason, "ask the operator of the server for another role")


def keep_session(request: Request, reply: Response, secret: str, seconds: float) -> None:
    """Send the cookie of a session."""
    secure, age = request.url.scheme == "https", int(seconds)
    reply.set_cookie(COOKIE, secret, max_age=age, path="/", secure=secure, httponly=True, samesite="strict")


def unknown_token() -> Problem:
    """Return the error for a wrong token."""
    return Problem(
        401,
        "unknown_token",
        "the token is not valid",
        "ask the operator of the server for a new one",
        {"WWW-Authenticate": 'Bearer error="invalid_token"'},
    )


def without_secrets(path: str) -> str:
    """Return a path for logs: that of a shared report has the secret of its link."""
    return _SECRET.sub(f"{SHARE_PREFIX}…", path)


def _address(scope: Scope) -> str:
    return scope["client"][0] if scope.get("client") else ""


def _bearer(headers: Headers) -> str | None:
    """Return the token of a request; an empty one is a wrong one. Several headers are refused as a wrong one."""
    given = headers.getlist("authorization")
    if not given:
        return None
    scheme, _, token = given[0].strip().partition(" ")
    if scheme.lower() != "bearer":
        return None
    return token.strip() if len(given) == 1 else ""


def cookie(headers: Headers, name: str = COOKIE) -> str:
    """Return the value of a cookie."""
    try:
        morsel = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return morsel.value if morsel else ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
