"""Who may come in beside the owners of tokens: the settings of `--access`, and logins at a provider of OpenID Connect.

A login is an authorization code with PKCE, `state` and `nonce`. What belongs to it is kept here for ten minutes, under
its `state` and the secret of a cookie: a reply counts once, and only in the browser that began the login.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import logging
import os
import secrets
import time
import tomllib
from base64 import urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote, urlencode, urlsplit

import httpx
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    IPvAnyNetwork,
    PrivateAttr,
    StringConstraints,
    ValidationError,
    model_validator,
)

from leadline.display import choose_from
from leadline.errors import ConfigError, UsageError
from leadline_server.problems import Problem
from leadline_server.store import Role

log = logging.getLogger("leadline.server")
CALLBACK = "/login/callback"
# The environment variable with the password of [mail]. Those with the prefix LEADLINE_ are settings.
PASSWORD = "SMTP_PASSWORD"  # noqa: S105 - its name
# Everybody who logs in, whatever the groups.
EVERYBODY = "*"
_RANKS: tuple[Role, ...] = ("admin", "user", "reader")
# Headers that have a meaning of their own.
_OTHER_HEADERS = ("authorization", "cookie", "host", "origin", "x-forwarded-for")
_LONGEST_NAME = 200
# Logins that wait for their reply at the same time, and seconds that each may wait.
_WAITING, LOGIN_SECONDS = 1_000, 600
# Seconds that the provider may take to answer, that its clock may be wrong by, and that its keys are kept.
_TIMEOUT, _LEEWAY, _FRESH = 10.0, 60, 3_600.0
# Signatures with the provider's private key: a token without one, or with a shared secret, is none of its.
_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")

Header = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9-]+$")]
Names = tuple[str, ...]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class OidcSettings(_Table):
    """The provider of OpenID Connect, and what it calls users and groups."""

    issuer: str
    client_id: str
    client_secret_file: Path | None = None
    scopes: Names = ("openid", "profile")
    user: str = "sub"
    groups: str = "groups"

    @property
    def secret(self) -> str:
        """The secret of the client; empty for a public one. Raises `UsageError`."""
        if self.client_secret_file is None:
            return ""
        try:
            secret = self.client_secret_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UsageError(f"oidc.client_secret_file: cannot read {self.client_secret_file}: {reason}") from None
        if not secret:
            raise UsageError(f"oidc.client_secret_file: {self.client_secret_file} is empty")
        return secret


class ProxySettings(_Table):
    """The proxies that are believed, by the address from which they connect, and the headers that they set."""

    addresses: tuple[IPvAnyNetwork, ...] = Field(min_length=1)
    user_header: Header = "X-Forwarded-User"
    groups_header: Header | Literal[""] = ""

    @model_validator(mode="after")
    def _check(self) -> ProxySettings:
        if any(network.prefixlen == 0 for network in self.addresses):
            raise ValueError("addresses: this network is everybody; name the addresses of the proxies")
        names = [name.lower() for name in (self.user_header, self.groups_header)]
        if names[0] == names[1] or {*names} & {*_OTHER_HEADERS}:
            raise ValueError("user_header and groups_header: two headers without another meaning")
        return self

    def is_proxy(self, peer: str) -> bool:
        """Return whether a connection from this address is that of a proxy."""
        try:
            address = ipaddress.ip_address(peer)
        except ValueError:
            return False
        address = getattr(address, "ipv4_mapped", None) or address
        return any(address in network for network in self.addresses)


class SessionSettings(_Table):
    """When browsers must log in again."""

    hours: float = Field(168, gt=0, le=8_760)
    idle_hours: float = Field(24, gt=0, le=8_760)


class RoleSettings(_Table):
    """The groups of each role; the highest role of a user counts, and nobody without one comes in."""

    admin: Names = ()
    user: Names = (EVERYBODY,)
    reader: Names = ()

    def of(self, groups: Collection[str]) -> Role | None:
        """Return the role of whoever is in these groups."""
        return next((role for role in _RANKS if {EVERYBODY, *groups} & {*getattr(self, role)}), None)


class ModelSettings(_Table):
    """Models that runs may be given instead of those of the settings, by role; those of a user replace his role's."""

    roles: dict[Role, Names] = {}
    users: dict[str, Names] = {}

    def of(self, principal: str | None, role: Role) -> Names:
        """Return the models that somebody may choose."""
        return self.users.get(principal or "", self.roles.get(role, ()))


class WebhookSettings(_Table):
    """Webhooks that orders may name. `allow` opens other ports and local networks, as that of the fetcher `web`."""

    allow: Names = ()


class MailSettings(_Table):
    """The SMTP server that takes mail for users, and who sends it. The password of `user` is in the environment."""

    host: str
    sender: str
    port: int = Field(587, ge=1, le=65_535)
    security: Literal["starttls", "tls", "none"] = "starttls"
    user: str = ""

    @property
    def password(self) -> str:
        """The password of the user. Raises `UsageError`."""
        if self.user and not os.environ.get(PASSWORD):
            raise UsageError(f"[mail] user is {self.user}: set the password in {PASSWORD}")
        return os.environ.get(PASSWORD, "")


class AccessSettings(_Table):
    """The file of `--access`."""

    oidc: OidcSettings | None = None
    proxy: ProxySettings | None = None
    sessions: SessionSettings = SessionSettings()
    roles: RoleSettings = RoleSettings()
    models: ModelSettings = ModelSettings()
    webhooks: WebhookSettings | None = None
    mail: MailSettings | None = None
    _path: Path = PrivateAttr(Path("--access"))

    @model_validator(mode="after")
    def _check(self) -> AccessSettings:
        if {"reader", "metrics"} & {*self.models.roles}:
            raise ValueError("models.roles: only admin and user start runs")
        if self.sessions.idle_hours > self.sessions.hours and "idle_hours" in self.sessions.model_fields_set:
            raise ValueError("sessions.idle_hours: at most sessions.hours, after which a session ends anyway")
        named = {*self.roles.admin, *self.roles.user, *self.roles.reader} - {EVERYBODY}
        if named and not self.oidc and not (self.proxy and self.proxy.groups_header):
            raise ValueError("roles: nothing tells the groups of users; set [oidc], or proxy.groups_header")
        if "roles" in self.model_fields_set and not self.signs_in:
            raise ValueError("roles: they are those of users of [oidc] or [proxy], and neither is set")
        return self

    @property
    def signs_in(self) -> bool:
        """Whether users come in without a token."""
        return self.oidc is not None or self.proxy is not None

    def check_models(self, check: Callable[[str], object]) -> None:
        """Raise `ConfigError` with file and setting if `check` raises it for one of the models."""
        for table, listed in (("roles", self.models.roles), ("users", self.models.users)):
            for name, models in listed.items():
                for model in models:
                    try:
                        check(model)
                    except ConfigError as error:
                        raise ConfigError(
                            f"{self._path}: models.{table}.{name}: no run can use {model!r}: {error}"
                        ) from None


def read_access(path: Path, url: str) -> AccessSettings:
    """Read the file of `--access`, which must work with this address of the server. Raises `UsageError`."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
        settings = AccessSettings.model_validate(values)
        settings._path = path
    except ValidationError as error:
        raise UsageError("\n".join(f"{path}: {_fault(dict(detail))}" for detail in error.errors())) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"--access: cannot read {path}: {reason}") from None
    for name in ("webhooks", "mail"):
        if getattr(settings, name) and not url:
            raise UsageError(f"{path}: [{name}] needs --url, the address that its messages link to")
    _ = settings.mail and settings.mail.password
    if settings.oidc:
        if find_spec("joserfc") is None:
            raise UsageError(f"{path}: [oidc] needs joserfc: leadline plugins install 'leadline[oidc]'")
        _ = settings.oidc.secret
        if "openid" not in settings.oidc.scopes:
            raise UsageError(f'{path}: oidc.scopes: "openid" must be among them')
        for name, address in (("oidc.issuer", settings.oidc.issuer), ("--url", url)):
            if not _is_safe(address):
                raise UsageError(f"{path}: [oidc] needs {name}, an address with https:// (http:// only on loopback)")
    return settings


def _fault(detail: dict[str, Any]) -> str:
    """Return what is wrong with a setting, and the valid names for an unknown one."""
    key = ".".join(map(str, detail["loc"]))
    if detail["type"] == "extra_forbidden":
        table = _TABLES.get(str(detail["loc"][0]), AccessSettings)
        return f"{key}: unknown setting; {choose_from(str(detail['loc'][-1]), table.model_fields)}"
    return f"{key}: {detail['msg'].removeprefix('Value error, ')}".removeprefix(": ")


_TABLES: Mapping[str, type[_Table]] = {
    "oidc": OidcSettings,
    "proxy": ProxySettings,
    "sessions": SessionSettings,
    "roles": RoleSettings,
    "models": ModelSettings,
    "webhooks": WebhookSettings,
    "mail": MailSettings,
}


def _is_safe(address: str) -> bool:
    parts = urlsplit(address)
    is_local = parts.scheme == "http" and parts.hostname in ("localhost", "127.0.0.1", "::1")
    return bool(parts.hostname) and (parts.scheme == "https" or is_local)


def check_name(name: object) -> str:
    """Return the name of a user. Raises `Problem` for what is none: a comma is that of two headers made one."""
    text = name if isinstance(name, str) else ""
    if not 0 < len(text) <= _LONGEST_NAME or "," in text or not text.isprintable() or text != text.strip():
        raise refused("no name of a user came with it")
    return text


def refused(reason: str) -> Problem:
    """Return the error for a login that does not count."""
    return Problem(403, "login_refused", f"the login was refused: {reason}", "begin it again; or ask the operator")


@dataclass(frozen=True)
class _Login:
    """A login that waits for the reply of the provider."""

    browser: bytes
    target: str
    nonce: str = field(default_factory=secrets.token_urlsafe)
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))
    began: float = field(default_factory=time.monotonic)


@dataclass(frozen=True)
class SignedIn:
    """Who logged in, where the browser wanted to go, and the address for mail that the provider has verified."""

    user: str
    groups: frozenset[str]
    target: str
    address: str


class Provider:
    """The provider of OpenID Connect, which is asked when somebody logs in."""

    def __init__(self, settings: OidcSettings, url: str) -> None:
        self._settings, self._secret = settings, settings.secret
        self._redirect = url.rstrip("/") + CALLBACK
        self._logins: OrderedDict[str, _Login] = OrderedDict()
        self._about: tuple[float, dict[str, Any], Any] | None = None

    async def begin(self, target: str) -> tuple[str, str]:
        """Return the address of the provider where somebody logs in, and the secret for the cookie of the browser."""
        about, _, _ = await self._discover()
        secret, state = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        login = self._logins[state] = _Login(_sha256(secret), target)
        while len(self._logins) > _WAITING:
            self._logins.popitem(last=False)
        challenge = urlsafe_b64encode(_sha256(login.verifier)).rstrip(b"=").decode()
        query = {
            "response_type": "code",
            "client_id": self._settings.client_id,
            "redirect_uri": self._redirect,
            "scope": " ".join(self._settings.scopes),
            "state": state,
            "nonce": login.nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        address = about["authorization_endpoint"]
        return f"{address}{'&' if '?' in address else '?'}{urlencode(query)}", secret

    async def finish(self, query: list[tuple[str, str]], secret: str) -> SignedIn:
        """Return who logged in by the reply of the provider. Raises `Problem`."""
        reply = dict(query)
        if len(reply) != len(query):
            raise refused("a parameter came twice")
        login = self._logins.pop(reply.get("state", ""), None)
        if login is None or time.monotonic() - login.began > LOGIN_SECONDS:
            raise refused("it is unknown, too old, or was used before")
        if not hmac.compare_digest(login.browser, _sha256(secret)):
            raise refused("another browser began it")
        about, _, _ = await self._discover()
        issuer, named = self._settings.issuer, about.get("authorization_response_iss_parameter_supported")
        if reply.get("iss", "" if named else issuer) != issuer:
            raise refused("the reply is of another provider")
        if "code" not in reply:
            raise refused(f"the provider said {reply.get('error', 'nothing')[:60]!r}")
        tokens = await self._tokens(about, reply["code"], login.verifier)
        claims = await self._claims(str(tokens.get("id_token", "")), login.nonce)
        wanted = {self._settings.user, self._settings.groups, *({"email"} & {*self._settings.scopes})}
        if not wanted <= claims.keys() and "userinfo_endpoint" in about:
            headers = {"Authorization": f"Bearer {tokens.get('access_token', '')}"}
            info = await self._ask("GET", about["userinfo_endpoint"], headers=headers)
            if info.get("sub") != claims["sub"]:
                raise refused("the provider told about another user")
            claims = {**info, **claims}
        is_verified = claims.get("email_verified") is True
        if self._settings.user == "email" and not is_verified:
            raise refused("the provider has not verified the address")
        groups = claims.get(self._settings.groups) or ()
        groups = [groups] if isinstance(groups, str) else groups
        user, address = check_name(claims.get(self._settings.user)), str(claims.get("email", "")) if is_verified else ""
        return SignedIn(user, frozenset(map(str, groups)), login.target, address)

    async def _tokens(self, about: dict[str, Any], code: str, verifier: str) -> dict[str, Any]:
        data = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._redirect,
            "code_verifier": verifier,
            "client_id": self._settings.client_id,
        }
        more: dict[str, Any] = {}
        methods = about.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        if self._secret and "client_secret_basic" in methods:
            more["auth"] = (quote(data.pop("client_id"), safe=""), quote(self._secret, safe=""))
        elif self._secret:
            data["client_secret"] = self._secret
        return await self._ask("POST", about["token_endpoint"], data=data, **more)

    async def _claims(self, token: str, nonce: str) -> dict[str, Any]:
        """Return what an ID token says that this provider signed for this login. Raises `Problem`."""
        from joserfc import jwt
        from joserfc.errors import JoseError

        client = {"essential": True, "value": self._settings.client_id}
        checks = jwt.JWTClaimsRegistry(
            leeway=_LEEWAY,
            iss={"essential": True, "value": self._settings.issuer},
            aud=client,  # type: ignore[arg-type]
            nonce={"essential": True, "value": nonce},
            sub={"essential": True},
            exp={"essential": True},
            iat={"essential": True},
        )
        _, keys, is_fresh = await self._discover()
        while True:
            try:
                claims = jwt.decode(token, keys, algorithms=_ALGORITHMS).claims
                checks.validate(claims)
            except (JoseError, ValueError) as error:
                if is_fresh:
                    log.warning("an ID token is not valid: %s", error)
                    raise refused("the provider's statement is not valid") from None
                _, keys, is_fresh = await self._discover(anew=True)  # its keys may have changed
            else:
                break
        if claims.get("azp", self._settings.client_id) != self._settings.client_id:
            raise refused("the provider's statement is for another client")
        if isinstance(claims["aud"], list) and len(claims["aud"]) > 1 and "azp" not in claims:
            raise refused("the provider's statement is for several clients")
        return dict(claims)

    async def _discover(self, *, anew: bool = False) -> tuple[dict[str, Any], Any, bool]:
        """Return the provider's description and keys, and whether they were read just now. Raises `Problem`."""
        from joserfc.errors import JoseError
        from joserfc.jwk import KeySet

        if self._about and not anew and time.monotonic() - self._about[0] < _FRESH:
            return *self._about[1:], False
        issuer = self._settings.issuer
        about = await self._ask("GET", f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        if about.get("issuer") != issuer:
            raise _unavailable(f"it calls itself {about.get('issuer')}, and oidc.issuer is {issuer}")
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint"):
            if not _is_safe(str(about.get(name, "" if name != "userinfo_endpoint" else issuer))):
                raise _unavailable(f"its {name} is no address with https://")
        try:
            keys = KeySet.import_key_set(await self._ask("GET", about["jwks_uri"]))  # type: ignore[arg-type]
        except (JoseError, ValueError, KeyError) as error:
            raise _unavailable(f"its keys cannot be read: {error}") from None
        self._about = (time.monotonic(), about, keys)
        return about, keys, True

    async def _ask(self, method: str, url: str, **more: Any) -> dict[str, Any]:
        try:
            async with httpx.AsyncClient(timeout=_TIMEOUT) as http:
                reply = await http.request(method, url, **more)
            if reply.status_code == 400 and method == "POST":
                raise refused("the provider did not accept the code")
            value = reply.raise_for_status().json()
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise _unavailable(str(error)) from None
        if not isinstance(value, dict):
            raise _unavailable(f"{url} is no object")
        return value


def _unavailable(reason: str) -> Problem:
    log.error("the provider of logins cannot be used: %s", reason)
    return Problem(502, "login_unavailable", "the provider of logins cannot be used now", "the server's log says why")


def _sha256(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
