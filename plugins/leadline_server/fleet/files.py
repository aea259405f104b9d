"""The files of runs: in Postgres, or in an object store such as S3. Each is stored under the digest of its bytes."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any, Protocol

import psycopg

from leadline.errors import UsageError
from leadline_server.queue.records import QueueUnavailable

# Seconds in which the object store must answer.
_PATIENCE = 4


class RunFiles(Protocol):
    """Files by the path of their run and their digest. Methods with a connection are part of its transaction."""

    # Where they are, for messages.
    name: str

    def put(self, connection: psycopg.Connection, path: str, digest: str, data: bytes) -> None: ...

    def get(self, connection: psycopg.Connection, path: str, digest: str) -> bytes: ...

    def delete(self, connection: psycopg.Connection, path: str) -> None:
        """Delete all files of a run."""


class TableFiles:
    """Files in a table of the database."""

    name = "in the database"

    def put(self, connection: psycopg.Connection, path: str, digest: str, data: bytes) -> None:
        statement = "INSERT INTO leadline_files VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
        connection.execute(statement, (path, digest, data))

    def get(self, connection: psycopg.Connection, path: str, digest: str) -> bytes:
        statement = "SELECT data FROM leadline_files WHERE path = %s AND digest = %s"
        row = connection.execute(statement, (path, digest)).fetchone()
        return bytes(row[0]) if row else b""

    def delete(self, connection: psycopg.Connection, path: str) -> None:
        connection.execute("DELETE FROM leadline_files WHERE path = %s", (path,))


class ObjectFiles:
    """Files in an object store by URL, `s3://BUCKET/PREFIX`. Its account is in the variables that its tools read."""

    def __init__(self, url: str) -> None:
        from obstore.store import from_url

        patience: Any = {"timeout": f"{_PATIENCE}s", "connect_timeout": f"{_PATIENCE}s"}
        patience["allow_http"] = os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://")
        try:
            retries: Any = {"max_retries": 1, "retry_timeout": timedelta(seconds=_PATIENCE)}
            self._store: Any = from_url(url, client_options=patience, retry_config=retries)
        except Exception as error:
            why = str(error).splitlines()[0]
            raise UsageError(f"runs.files: {url}: {why}; write s3://BUCKET/PREFIX, or leave it empty") from error
        self.name = url

    def put(self, connection: psycopg.Connection, path: str, digest: str, data: bytes) -> None:
        self._do("put", f"{path}/{digest}", data)

    def get(self, connection: psycopg.Connection, path: str, digest: str) -> bytes:
        reply = self._do("get", f"{path}/{digest}")
        return bytes(reply.bytes()) if reply else b""

    def delete(self, connection: psycopg.Connection, path: str) -> None:
        self._do("delete", [item["path"] for part in self._do("list", path) for item in part])

    def _do(self, action: str, *values: Any) -> Any:
        from obstore.exceptions import BaseError

        try:
            return getattr(self._store, action)(*values)
        except FileNotFoundError:
            return None
        except BaseError as error:
            why = str(error).splitlines()[0]
            raise QueueUnavailable(f"the files of runs at {self.name} do not work: {why}; see runs.files") from error


def files_at(url: str) -> RunFiles:
    """Return the files at a URL; without one, those of the database. Raises `UsageError`."""
    return ObjectFiles(url) if url else TableFiles()
