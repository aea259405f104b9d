"""Tokens, sessions of browsers and links to shared reports, in one SQLite file in the folder of runs.

`leadline serve token` writes the same file while the server runs. Of all three only SHA-256 hashes are stored:
they are random, so guessing them is hopeless.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import os
import re
import secrets
import sqlite3
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parseaddr
from pathlib import Path
from typing import Literal

from leadline.errors import LeadlineError, UsageError
from leadline.files import private_file
from leadline_server.logs import Audit

FILE = ".server.sqlite"
_LOCK = ".server.lock"
_KEY = ".server.key"
_VERSION = 6
_TABLES = """
CREATE TABLE IF NOT EXISTS tokens (
    name TEXT PRIMARY KEY, hash BLOB NOT NULL, principal TEXT NOT NULL, scope TEXT NOT NULL, created REAL NOT NULL,
    expires REAL NOT NULL DEFAULT 0, used REAL NOT NULL DEFAULT 0
);
UPDATE tokens SET scope = 'user' WHERE scope = 'runs';
DROP TABLE IF EXISTS sessions;
CREATE TABLE sessions (
    hash BLOB PRIMARY KEY, token BLOB NOT NULL, principal TEXT NOT NULL, role TEXT NOT NULL, created REAL NOT NULL,
    used REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS shares (
    hash BLOB PRIMARY KEY, run_id TEXT NOT NULL, principal TEXT NOT NULL, audience TEXT NOT NULL, created REAL NOT NULL,
    expires REAL NOT NULL, UNIQUE (run_id, principal)
);
CREATE TABLE IF NOT EXISTS mail (principal TEXT PRIMARY KEY, address TEXT NOT NULL);
"""
_COLUMNS = "name, principal, scope, created, expires, used, hash"
# Seconds after which the use of a token is noted again.
_SEEN = 600.0
# Sessions of a login elsewhere have no token, and those of a removed token end.
_END_SESSIONS = "DELETE FROM sessions WHERE token <> x'' AND token NOT IN (SELECT hash FROM tokens)"
_END_OLD = "DELETE FROM sessions WHERE created < ? OR used < ?"
# Begins every token, so that scanners for leaked secrets recognize it.
TOKEN_PREFIX = "leadline_"  # noqa: S105 - no secret
# Begins every secret of a link, which is part of an address: so logs can leave it out.
SHARE_PREFIX = "share_"
_ADDRESS = re.compile(r"[^\s@<>,;:\"\x00-\x1f\x7f]{1,64}@[A-Za-z0-9.-]{1,189}")
Audience = Literal["team", "anyone"]
Role = Literal["admin", "user", "reader", "metrics"]


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
    """The file. Its methods may be called in any thread; those that write wait for the disk.

    Sessions end after `session_seconds`, and after `idle_seconds` without a request.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.session_seconds, self.idle_seconds = 7 * 86_400.0, 86_400.0
        self.audit = Audit(folder)
        self._lock = threading.Lock()
        self._server_lock: int | None = None
        try:
            path = private_file(folder / FILE)
            self._writer = _connect(path)
            version = self._writer.execute("PRAGMA user_version").fetchone()[0]
            if version > _VERSION:
                raise LeadlineError(f"{path} is of a newer version of Leadline: update it, or use another --folder")
            if version < _VERSION:
                self._writer.executescript(_TABLES)
                known = {row[1] for row in self._writer.execute("PRAGMA table_info(tokens)")}
                for column in {"expires", "used"} - known:  # of a file of an earlier version
                    self._writer.execute(f"ALTER TABLE tokens ADD COLUMN {column} REAL NOT NULL DEFAULT 0")
                self._writer.execute(f"PRAGMA user_version = {_VERSION}")
            # Readers never wait for a writer that waits for the disk.
            self._reader = _connect(path)
        except (OSError, sqlite3.Error) as error:
            raise LeadlineError(f"cannot use {folder / FILE}: {error}") from error

    def close(self) -> None:
        with self._lock:
            self._reader.close()
            self._writer.close()
            if self._server_lock is not None:
                os.close(self._server_lock)
                self._server_lock = None

    def lock(self) -> None:
        """Reserve the folder for this server until it ends in any way. Raises `UsageError` if another one has it."""
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
        """Return the key of this folder's server, from which the secrets of its webhooks are derived."""
        path = private_file(self._folder / _KEY)
        if not path.stat().st_size:
            path.write_bytes(secrets.token_bytes(32))
        return path.read_bytes()

    def _write(self, statement: str, *values: object) -> int:
        with self._lock:
            return self._writer.execute(statement, values).rowcount

    def add_token(self, name: str, principal: str, role: Role = "user", days: int = 0) -> str:
        """Make a token and return it; it cannot be shown again. Raises `UsageError` if the name is taken."""
        token = TOKEN_PREFIX + secrets.token_urlsafe(32)
        try:
            now = time.time()
            values = (name, _hash(token), principal, role, now, now + days * 86_400 if days else 0)
            self._write(
                "INSERT INTO tokens (name, hash, principal, scope, created, expires) VALUES (?, ?, ?, ?, ?, ?)", *values
            )
        except sqlite3.IntegrityError:
            raise UsageError(
                f"there is a token {name!r}; choose another name, or first: leadline serve token remove {name}"
            ) from None
        self.audit.write("token added", None, token=name, principal=principal, role=role)
        return token

    def tokens(self) -> list[Token]:
        rows = self._reader.execute(f"SELECT {_COLUMNS} FROM tokens ORDER BY name").fetchall()  # noqa: S608
        return [Token(*row) for row in rows]

    def has_tokens(self) -> bool:
        return bool(self._reader.execute("SELECT 1 FROM tokens LIMIT 1").fetchone())

    def remove_token(self, name: str) -> None:
        """Remove a token with its sessions. Raises `UsageError` if there is none."""
        if not self._write("DELETE FROM tokens WHERE name = ?", name):
            names = ", ".join(token.name for token in self.tokens()) or "there are none"
            raise UsageError(f"there is no token {name!r}; the tokens: {names}")
        self._write(_END_SESSIONS)
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
            with suppress(sqlite3.Error):  # a full disk locks nobody out
                self._write("UPDATE tokens SET used = ? WHERE hash = ?", now, token.hash)
        return token

    def add_session(self, token: Token) -> str:
        """Log a browser in and return the secret for its cookie; empty if the token has been removed meanwhile."""
        secret, now = secrets.token_urlsafe(32), time.time()
        self._write(_END_OLD, now - self.session_seconds, now - self.idle_seconds)
        # One statement: nobody removes the token between the check and the session.
        statement = (
            "INSERT INTO sessions SELECT ?, ?, ?, ?, ?, ? WHERE ? = x'' OR EXISTS (SELECT 1 FROM tokens WHERE hash = ?)"
        )
        values = (_hash(secret), token.hash, token.principal, token.role, now, now, token.hash, token.hash)
        return secret if self._write(statement, *values) else ""

    def session(self, secret: str) -> Token | None:
        """Return the token of a browser that is logged in."""
        # By its hash: the time of a look-up tells something of a hash, and nothing of the secret.
        now, key = time.time(), _hash(secret)
        statement = (
            "SELECT token, principal, role, created, used FROM sessions WHERE hash = ? AND created > ? AND used > ?"
        )
        row = self._reader.execute(statement, (key, now - self.session_seconds, now - self.idle_seconds)).fetchone()
        if row is None:
            return None
        of_token, principal, role, created, used = row
        if now - used > min(_SEEN, self.idle_seconds / 4):
            with suppress(sqlite3.Error):
                self._write("UPDATE sessions SET used = ? WHERE hash = ?", now, key)
        if not of_token:
            return Token("", principal, role, created, 0, now, b"")
        return self._valid(next((token for token in self.tokens() if token.hash == of_token), None))

    def session_users(self) -> dict[str, float]:
        """Return who is logged in, and when the last request came."""
        return dict(self._reader.execute("SELECT principal, MAX(used) FROM sessions GROUP BY principal").fetchall())

    def set_address(self, principal: str, address: str) -> None:
        """Keep the address to which a user gets mail. Raises `UsageError` for what is none."""
        if parseaddr(address)[1] != address or not _ADDRESS.fullmatch(address):
            raise UsageError(f"{address!r} is no address for mail, such as ada@example.org")
        self._write("INSERT OR REPLACE INTO mail VALUES (?, ?)", principal, address)

    def address(self, principal: str | None) -> str:
        """Return the address to which a user gets mail; empty if none is known."""
        rows = self._reader.execute("SELECT address FROM mail WHERE principal = ?", (principal or "",)).fetchall()
        return str(rows[0][0]) if rows else ""

    # --- shared reports --------------------------------------------------------------------------------------------

    def share(self, run_id: str, principal: str | None, audience: Audience, days: int = 0) -> str:
        """Return the secret of a new link to a report, which ends the one before; it cannot be shown again."""
        secret, now = SHARE_PREFIX + secrets.token_urlsafe(32), time.time()
        values = (_hash(secret), run_id, principal or "", audience, now, now + days * 86_400 if days else 0)
        self._write("INSERT OR REPLACE INTO shares VALUES (?, ?, ?, ?, ?, ?)", *values)
        self.audit.write("run shared", principal, run_id=run_id, audience=audience, days=days)
        return secret

    def end_share(self, run_id: str, principal: str | None) -> bool:
        """End the link to a report; return False if there was none."""
        ended = self._write("DELETE FROM shares WHERE run_id = ? AND principal = ?", run_id, principal or "") > 0
        if ended:
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
            "SELECT run_id, NULLIF(principal, ''), audience, created, expires FROM shares "  # noqa: S608
            f"WHERE (expires = 0 OR expires > ?) AND {condition}"
        )
        return [Share(*row) for row in self._reader.execute(statement, (time.time(), *values)).fetchall()]

    def remove_user(self, principal: str) -> None:
        """Remove all tokens, sessions and links of a user, and the address for mail."""
        for table in ("tokens", "sessions", "shares", "mail"):
            self._write(f"DELETE FROM {table} WHERE principal = ?", principal)  # noqa: S608

    def end_session(self, secret: str) -> None:
        """Log a browser out."""
        self._write("DELETE FROM sessions WHERE hash = ?", _hash(secret))


def _connect(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    return database


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
