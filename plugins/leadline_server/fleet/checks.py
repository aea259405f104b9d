"""What `leadline doctor` finds of the parts that several machines share."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from secrets import token_hex

from leadline.contracts import Check
from leadline.encoding import digest as digest_of
from leadline.errors import LeadlineError
from leadline_server.fleet.files import RunFiles
from leadline_server.queue.connections import Connections
from leadline_server.queue.database import VERSION

# Seconds between the clocks of machine and database, from which on a reader of the log is misled.
_APART = 5
_STATE = """SELECT current_setting('server_version'), extract(epoch FROM clock_timestamp())::float,
    to_regclass('leadline_queue') IS NOT NULL"""


def checks(connections: Connections, files: RunFiles, live: tuple[str, str]) -> Iterator[Check]:
    """Ask each part once, with a file that is deleted again."""
    parts = {"database": _database(connections), "files": _files(connections, files), "live": _live(*live)}
    for what, results in parts.items():
        try:
            yield from results
        except (LeadlineError, OSError) as error:
            yield Check(what, "bad", f"runs.{what}: {error}", "leadline config show")


def _database(connections: Connections) -> Iterator[Check]:
    begun = time.time()
    [(version, clock, is_made)] = connections.rows(_STATE)
    seconds, apart = time.time() - begun, (begun + time.time()) / 2 - clock
    layout = connections.rows("SELECT version FROM leadline_queue")[0][0] if is_made else VERSION
    about = f"{connections.name}: Postgres {version}, layout {layout}, answers in {seconds * 1000:.0f} ms"
    newer = "" if layout <= VERSION else f"; this Leadline knows layouts up to {VERSION}: update it"
    yield Check("database", "bad" if newer else "ok", about + newer)
    yield Check("clock", "note" if abs(apart) > _APART else "ok", f"{apart:+.1f} s from that of the database")


def _files(connections: Connections, files: RunFiles) -> Iterator[Check]:
    data, path, begun = token_hex().encode(), f".doctor-{token_hex(8)}", time.monotonic()
    key = digest_of(data)
    with connections.transaction() as (connection, _):
        files.put(connection, path, key, data)
        same = files.get(connection, path, key) == data
        files.delete(connection, path)
    about = f"{files.name}: one was written, read and deleted in {(time.monotonic() - begun) * 1000:.0f} ms"
    yield Check("files", "ok" if same else "bad", about if same else f"{files.name}: other bytes than were written")


def _live(bound: str, advertised: str) -> Iterator[Check]:
    socket.create_server((bound, 0)).close()
    address = socket.getaddrinfo(advertised, None)[0][4][0]
    lone = "" if advertised not in ("127.0.0.1", "localhost") else ": no other machine reaches that; set runs.live"
    yield Check("live", "note" if lone else "ok", f"bound to {bound}, reached as {advertised} ({address}){lone}")
