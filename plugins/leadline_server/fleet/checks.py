"""What `leadline doctor` finds of the parts that several machines share."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from hashlib import blake2b
from ipaddress import ip_address
from secrets import token_hex
from typing import TYPE_CHECKING

from leadline.contracts import Check
from leadline.errors import LeadlineError
from leadline_server.queue.database import VERSION

if TYPE_CHECKING:
    from leadline_server.fleet.files import RunFiles
    from leadline_server.queue.connections import Connections

# Seconds by which the clocks of machine and database may differ before a reader of the log is misled.
_APART = 5.0
_STATE = """SELECT current_setting('server_version'), extract(epoch FROM clock_timestamp())::float,
    to_regclass('leadline_queue') IS NOT NULL"""


def checks(connections: Connections, files: RunFiles, live: tuple[str, str]) -> Iterator[Check]:
    """Ask each part once, with a file of its own that is deleted again."""
    for what, found in ("database", _database(connections)), ("files", _files(connections, files)):
        try:
            yield from found
        except LeadlineError as error:
            yield Check(what, "bad", str(error), "leadline config show")
    yield _live(*live)


def _database(connections: Connections) -> Iterator[Check]:
    begun = time.time()
    [(version, clock, is_made)] = connections.rows(_STATE)
    seconds = time.time() - begun
    layout = connections.rows("SELECT version FROM leadline_queue")[0][0] if is_made else VERSION
    apart = time.time() - seconds / 2 - clock
    about = f"{connections.name}: Postgres {version}, layout {layout}, answers in {seconds * 1000:.0f} ms"
    if layout > VERSION:
        newer = f"{about}; this version of Leadline reads layouts up to {VERSION}"
        yield Check("database", "bad", newer, "leadline version")
    else:
        yield Check("database", "ok", about)
    if abs(apart) <= _APART:
        yield Check("clock", "ok", f"{abs(apart):.1f} s from that of the database")
        return
    differs = f"this machine is {abs(apart):.0f} s {'ahead of' if apart > 0 else 'behind'} the database"
    detail = f"{differs}: its log has other times, and S3 refuses 15 minutes"
    yield Check("clock", "note", detail, "timedatectl set-ntp true")


def _files(connections: Connections, files: RunFiles) -> Iterator[Check]:
    data = token_hex(16).encode()
    path, digest = f".doctor-{token_hex(8)}", blake2b(data, digest_size=16).hexdigest()
    begun = time.monotonic()
    with connections.transaction("SELECT 1") as (connection, _):
        files.put(connection, path, digest, data)
        same = files.get(connection, path, digest) == data
        files.delete(connection, path)
    about = f"{files.name}: one was written, read and deleted in {(time.monotonic() - begun) * 1000:.0f} ms"
    yield Check("files", "ok", about) if same else Check("files", "bad", f"{files.name} returns other bytes")


def _live(bound: str, advertised: str) -> Check:
    trial = "leadline doctor --set runs.live=HOST:ADVERTISED"
    try:
        socket.create_server((bound, 0)).close()
        addresses = {str(info[4][0]) for info in socket.getaddrinfo(advertised, None, type=socket.SOCK_STREAM)}
    except OSError as error:
        return Check("live text", "bad", f"runs.live, {bound}:{advertised}: {error.strerror or error}", trial)
    reached = f"bound to {bound}, reached as {advertised} ({', '.join(sorted(addresses))})"
    if _is_here(advertised):
        return Check("live text", "note", f"{reached}: other machines cannot reach that", trial)
    return Check("live text", "ok", reached)


def _is_here(host: str) -> bool:
    """Return whether an address stands for this machine alone; of a name, each machine may know another one."""
    try:
        address = ip_address(host)
    except ValueError:
        return host == "localhost"
    return address.is_loopback or address.is_unspecified
