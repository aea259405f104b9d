"""Tokens, sessions of browsers and links to shared reports, in one SQLite file in the folder of runs, or in Postgres.

`leadline serve token` and servers on other machines write the same tables while the server runs. Of all three only
SHA-256 hashes are stored: they are random, so guessing them is hopeless.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import hmac
import os
import re
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parseaddr
from pathlib import Path
from typing import Literal, ParamSpec, TypeVar

from leadline.errors import LeadlineError, UsageError
from leadline.files import private_file
from leadline_server.logs import Audit, SharedAudit
from leadline_server.queue import QueueUnavailable
from leadline_server.queue.database import Cursor, copy_rows, secret_of
from leadline_server.queue.sql import open_database

FILE = ".server.sqlite"
_LOCK = ".server.lock"
_KEY = ".server.key"
_VERSION = 7
_NAMES = ("tokens", "sessions", "shares", "mail")
_TABLES = (
    """CREATE TABLE IF NOT EXISTS leadline_tokens (
        name TEXT PRIMARY KEY, hash BYTEA NOT NULL, principal TEXT NOT NULL, scope TEXT NOT NULL,
        created DOUBLE PRECISION NOT NULL, expires DOUBLE PRECISION NOT NULL, used DOUBLE PRECISION NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS leadline_sessions (
        hash BYTEA PRIMARY KEY, token BYTEA NOT NULL, principal TEXT NOT NULL, role TEXT NOT NULL,
        created DOUBLE PRECISION NOT NULL, used DOUBLE PRECISION NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS leadline_shares (
        hash BYTEA PRIMARY KEY, run_id TEXT NOT NULL, principal TEXT NOT NULL, audience TEXT NOT NULL,
        created DOUBLE PRECISION NOT NULL, expires DOUBLE PRECISION NOT NULL, UNIQUE (run_id, principal))""",
    "CREATE TABLE IF NOT EXISTS leadline_mail (principal TEXT PRIMARY KEY, address TEXT NOT NULL)",
)
_TOKEN = ", ".join(f"t.{column}" for column in ("name", "principal", "scope", "created", "expires", "used", "hash"))
# Seconds after which the use of a token is noted again.
_SEEN = 600.0
# Sessions of a login elsewhere have no token, and those of a removed token end.
_END_SESSIONS = "DELETE FROM leadline_sessions WHERE token <> ? AND token NOT IN (SELECT hash FROM leadline_tokens)"
_END_OLD = "DELETE FROM leadline_sessions WHERE created < ? OR used < ?"
# Begins every token, so that scanners for leaked secrets recognize it.
TOKEN_PREFIX = "leadline_"  # noqa: S105 - no secret
# Begins every secret of a link, which is part of an address: so logs can leave it out.
SHARE_PREFIX = "share_"
_ADDRESS = re.compile(r"[^\s@<>,;:\"\x00-\x1f\x7f]{1,64}@[A-Za-z0-9.-]{1,189}")
Audience = Literal["team", "anyone"]
Role = Literal["admin", "user", "reader", "metrics"]
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Token:
    """A token without its secret: what it is called, for whom it acts, what it allows, and the hash of its secret.

    Times are in seconds: `expires` is 0 for never, `used` is that of the last use, at most `_SEEN` ago. The token of a
    session that began elsewhere has no name and no hash.
    """

    name: str
    principal: str
    role: Role
    created: float
    expires: float
    used: float = field(compare=False)
    hash: bytes = field(repr=False)


@dataclass(frozen=True)
class Share:
    """A link to the report of a run, without its secret; `expires` is 0 for never, `principal` None for no user."""

    run_id: str
    principal: str | None
    audience: Audience
    created: float
    expires: float


class Store:
    """The tables, in Postgres at a `url`. Its methods may be called in any thread; those that write wait for the disk.

    Sessions end after `session_seconds`, and after `idle_seconds` without a request. All methods raise
    `QueueUnavailable` if the database does not answer.
    """

    def __init__(self, folder: Path, url: str = "") -> None:
        self._folder, self._is_remote = folder, bool(url)
        self.session_seconds, self.idle_seconds = 7 * 86_400.0, 86_400.0
        self._database = open_database(url, folder / FILE)
        self.audit = SharedAudit(self._database) if url else Audit(folder)
        self._server_lock: int | None = None
        self._key = b""
        try:
            self._database.write(self._prepare, lasting=True, silent=True)
        except BaseException:
            self.close()
            raise

    def _prepare(self, cursor: Cursor) -> None:
        version = 0 if self._is_remote else cursor.rows("PRAGMA user_version")[0][0]
        if version not in (0, _VERSION - 1, _VERSION):
            other = "a newer version of Leadline: update it, or use another --folder"
            other = other if version > _VERSION else "an old version of Leadline: move it away, and make new tokens"
            raise LeadlineError(f"{self._folder / FILE} is of {other}")
        for name in _NAMES if version == _VERSION - 1 else ():
            cursor(f"ALTER TABLE {name} RENAME TO leadline_{name}")
        for statement in (*_TABLES, *self.audit.tables):
            cursor(statement)
        if not self._is_remote and version < _VERSION:
            cursor(f"PRAGMA user_version = {_VERSION}")

    def close(self) -> None:
        self.audit.close()
        self._database.close()
        if self._server_lock is not None:
            os.close(self._server_lock)
            self._server_lock = None

    async def ask(self, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a method that reads: in a thread, where it waits for another machine."""
        return await asyncio.to_thread(method, *args, **kwargs) if self._is_remote else method(*args, **kwargs)

    def lock(self) -> None:
        """Reserve the folder for this server until it ends in any way. Raises `UsageError` if another one has it."""
        if self._is_remote:
            self.key()  # now, not while requests wait
            return  # there may be several
        fd = os.open(self._folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            raise UsageError(
                f"another server uses the folder of runs {self._folder}; end it, or name another one with --folder"
            ) from None
        self._server_lock = fd

    def key(self) -> bytes:
        """Return the key of the server, from which the secrets of its webhooks are derived."""
        self._key = self._key or secret_of(self._folder / _KEY, self._database if self._is_remote else None)
        return self._key

    def copy_from(self, other: Store) -> None:
        """Take over tokens, sessions, links, addresses, the audit log and the key, unless they are here already."""
        copy_rows(_NAMES, other._database, self._database)
        self.audit.add(other.audit.lines())
        private_file(self._folder / _KEY).write_bytes(other.key())
        self.key()

    def _write(self, statement: str, *values: object) -> int:
        return self._database.write(lambda cursor: cursor(statement, *values), lasting=True, silent=True)

    def add_token(self, name: str, principal: str, role: Role = "user", days: int = 0) -> str:
        """Make a token and return it; it cannot be shown again. Raises `UsageError` if the name is taken."""
        token, now = TOKEN_PREFIX + secrets.token_urlsafe(32), time.time()
        values = (name, _hash(token), principal, role, now, now + days * 86_400 if days else 0)
        statement = (
            "INSERT INTO leadline_tokens (name, hash, principal, scope, created, expires, used) "
            "VALUES (?, ?, ?, ?, ?, ?, 0) ON CONFLICT (name) DO NOTHING"
        )
        if not self._write(statement, *values):
            raise UsageError(
                f"there is a token {name!r}; choose another name, or first: leadline serve token remove {name}"
            )
        self.audit.write("token added", None, token=name, principal=principal, role=role)
        return token

    def tokens(self) -> list[Token]:
        rows = self._database.read(f"SELECT {_TOKEN} FROM leadline_tokens t ORDER BY name")  # noqa: S608
        return [Token(*row) for row in rows]

    def has_tokens(self) -> bool:
        return bool(self._database.read("SELECT 1 FROM leadline_tokens LIMIT 1"))

    def remove_token(self, name: str) -> None:
        """Remove a token with its sessions. Raises `UsageError` if there is none."""
        if not self._write("DELETE FROM leadline_tokens WHERE name = ?", name):
            names = ", ".join(token.name for token in self.tokens()) or "there are none"
            raise UsageError(f"there is no token {name!r}; the tokens: {names}")
        self._write(_END_SESSIONS, b"")
        self.audit.write("token removed", None, token=name)

    def token(self, secret: str) -> Token | None:
        """Return the token with this secret, unless it has expired."""
        given, match = _hash(secret), None
        for token in self.tokens():  # all of them: the time tells nothing
            if hmac.compare_digest(token.hash, given):
                match = token
        return self._valid(match)

    def _valid(self, token: Token | None) -> Token | None:
        now = time.time()
        if token is None or 0 < token.expires < now:
            return None
        if now - token.used > _SEEN:
            with suppress(QueueUnavailable):  # a full disk locks nobody out
                self._write("UPDATE leadline_tokens SET used = ? WHERE hash = ?", now, token.hash)
        return token

    def add_session(self, token: Token) -> str:
        """Log a browser in and return the secret for its cookie; empty if the token has been removed meanwhile."""
        secret, now = secrets.token_urlsafe(32), time.time()
        self._write(_END_OLD, now - self.session_seconds, now - self.idle_seconds)
        # One statement: nobody removes the token between the check and the session.
        statement = (
            "INSERT INTO leadline_sessions SELECT ?, ?, ?, ?, ?, ? WHERE ? = ? OR "
            "EXISTS (SELECT 1 FROM leadline_tokens WHERE hash = ?) ON CONFLICT (hash) DO NOTHING"
        )
        values = (_hash(secret), token.hash, token.principal, token.role, now, now, token.hash, b"", token.hash)
        return secret if self._write(statement, *values) else ""

    def session(self, secret: str) -> Token | None:
        """Return the token of a browser that is logged in."""
        # By its hash: the time of a look-up tells something of a hash, and nothing of the secret.
        now, key = time.time(), _hash(secret)
        statement = (
            f"SELECT s.token, s.principal, s.role, s.created, s.used, {_TOKEN} FROM leadline_sessions s "  # noqa: S608
            "LEFT JOIN leadline_tokens t ON t.hash = s.token WHERE s.hash = ? AND s.created > ? AND s.used > ?"
        )
        rows = self._database.read(statement, key, now - self.session_seconds, now - self.idle_seconds)
        if not rows:
            return None
        of_token, principal, role, created, used, *known = rows[0]
        if now - used > min(_SEEN, self.idle_seconds / 4):
            with suppress(QueueUnavailable):
                self._write("UPDATE leadline_sessions SET used = ? WHERE hash = ?", now, key)
        if not of_token:
            return Token("", principal, role, created, 0, now, b"")
        return self._valid(Token(*known) if known[0] is not None else None)

    def session_users(self) -> dict[str, float]:
        """Return who is logged in, and when the last request came."""
        rows = self._database.read("SELECT principal, MAX(used) FROM leadline_sessions GROUP BY principal")
        return dict(rows)  # type: ignore[arg-type]

    def set_address(self, principal: str, address: str) -> None:
        """Keep the address to which a user gets mail. Raises `UsageError` for what is none."""
        if parseaddr(address)[1] != address or not _ADDRESS.fullmatch(address):
            raise UsageError(f"{address!r} is no address for mail, such as ada@example.org")
        anew = "ON CONFLICT (principal) DO UPDATE SET address = excluded.address"
        self._write(f"INSERT INTO leadline_mail VALUES (?, ?) {anew}", principal, address)  # noqa: S608

    def address(self, principal: str | None) -> str:
        """Return the address to which a user gets mail; empty if none is known."""
        rows = self._database.read("SELECT address FROM leadline_mail WHERE principal = ?", principal or "")
        return str(rows[0][0]) if rows else ""

    # --- shared reports --------------------------------------------------------------------------------------------

    def share(self, run_id: str, principal: str | None, audience: Audience, days: int = 0) -> str:
        """Return the secret of a new link to a report, which ends the one before; it cannot be shown again."""
        secret, now = SHARE_PREFIX + secrets.token_urlsafe(32), time.time()
        values = (_hash(secret), run_id, principal or "", audience, now, now + days * 86_400 if days else 0)
        columns = ("hash", "audience", "created", "expires")
        changed = ", ".join(f"{column} = excluded.{column}" for column in columns)
        anew = f"ON CONFLICT (run_id, principal) DO UPDATE SET {changed}"
        self._write(f"INSERT INTO leadline_shares VALUES (?, ?, ?, ?, ?, ?) {anew}", *values)  # noqa: S608
        self.audit.write("run shared", principal, run_id=run_id, audience=audience, days=days)
        return secret

    def end_share(self, run_id: str, principal: str | None) -> bool:
        """End the link to a report; return False if there was none."""
        statement = "DELETE FROM leadline_shares WHERE run_id = ? AND principal = ?"
        if ended := self._write(statement, run_id, principal or "") > 0:
            self.audit.write("run no longer shared", principal, run_id=run_id)
        return ended

    def shared(self, secret: str) -> Share | None:
        """Return the link with this secret, unless it has expired; found by its hash, like a session."""
        return next(iter(self._shares("hash = ?", _hash(secret))), None)

    def shares(self, principal: str | None, run_id: str = "") -> list[Share]:
        """Return the links of a user, or that to one report."""
        return self._shares("principal = ? AND ? IN ('', run_id)", principal or "", run_id)

    def _shares(self, condition: str, *values: object) -> list[Share]:
        statement = (
            "SELECT run_id, NULLIF(principal, ''), audience, created, expires FROM leadline_shares "  # noqa: S608
            f"WHERE (expires = 0 OR expires > ?) AND {condition}"
        )
        return [Share(*row) for row in self._database.read(statement, time.time(), *values)]

    def remove_user(self, principal: str) -> None:
        """Remove all tokens, sessions and links of a user, and the address for mail."""
        for name in _NAMES:
            self._write(f"DELETE FROM leadline_{name} WHERE principal = ?", principal)  # noqa: S608

    def end_session(self, secret: str) -> None:
        """Log a browser out."""
        self._write("DELETE FROM leadline_sessions WHERE hash = ?", _hash(secret))


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
