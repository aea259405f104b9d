"""Everything of one user: to hand it over, and to erase it."""

from __future__ import annotations

import asyncio
import io
import json
import os
import shutil
import tarfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from leadline import Client
from leadline.errors import LeadlineError, UsageError
from leadline.records import DocumentList
from leadline.stores import store_of
from leadline_server.queue import Queue, QueuedRun
from leadline_server.store import Store

# Seconds that workers have to end the runs of a user who is erased.
_PATIENCE = 60.0
_REASON = "the user is erased"


def check_user(user: str, client: Client, store: Store, queue: Queue) -> None:
    """Raise `UsageError` if nothing is known of a user."""
    if not user.strip():
        raise UsageError("name a user: without a name, the runs of the operator would be meant")
    known = {token.principal for token in store.tokens()} | {*store.session_users()}
    known |= {item.principal or "" for item in queue.spent("")}
    if user in known or queue.orders(user) or store.audit.records(user):
        return
    if client.runs(principal=user) or client.runs_folder(principal=user).exists():
        return
    names = ", ".join(sorted(known - {""})) or "nobody yet"
    raise UsageError(f"nothing is known of the user {user!r}; the users: {names}")


async def export(user: str, client: Client, store: Store, queue: Queue, into: Path) -> int:
    """Write everything of a user to an archive, and return the number of its files. Raises `LeadlineError`."""
    check_user(user, client, store, queue)
    tokens = [asdict(token) for token in store.tokens() if token.principal == user]
    tables: dict[str, Any] = {
        "shares.json": [asdict(share) for share in store.shares(user)],
        "tokens.json": [{key: value for key, value in token.items() if key != "hash"} for token in tokens],
        "orders.json": [asdict(run) for run in queue.orders(user)],
        "mail.json": store.address(user),
        "notifications.json": queue.targets(user),
        "usage.json": [asdict(item) for item in queue.spent("") if item.principal == user],
        "audit.json": [json.loads(line) for line in store.audit.records(user)],
    }
    async with client:
        own = await _documents(user, client)
        listed = await client.knowledge.documents(*own, whole=True, principal=user) if own else DocumentList()
        tables["documents.json"] = listed.model_dump(mode="json")
        documents = await client.knowledge.folder(principal=user)
        with _runs(user, client, into.parent) as runs:
            count = _write(into, tables, {"runs": runs, "documents": documents})
    store.audit.write("user exported", None, principal=user)
    return count + len(tables)


@contextmanager
def _runs(user: str, client: Client, beside: Path) -> Iterator[Path]:
    """Provide the folder of the runs of a user, with all that one machine has in it."""
    top, folder = client.runs_folder(), client.runs_folder(principal=user)
    if not store_of(folder):
        yield folder
        return
    from leadline_server.fleet.transfer import export_runs

    with TemporaryDirectory(dir=beside, prefix=".export-") as copy:
        own = Path(copy) / folder.relative_to(top)
        export_runs(Path(copy), client.plugins.settings.runs, own)
        yield own


def _write(into: Path, tables: Mapping[str, Any], folders: Mapping[str, Path]) -> int:
    """Write an archive of tables and folders; return the number of files in these."""
    count = 0
    try:
        with (
            os.fdopen(os.open(into, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file,
            tarfile.open(fileobj=file, mode="w:gz", compresslevel=1) as archive,
        ):
            for name, table in tables.items():
                data = json.dumps(table, indent=2, ensure_ascii=False).encode("utf-8", "surrogatepass")
                about = tarfile.TarInfo(name)
                about.size, about.mtime, about.mode = len(data), int(time.time()), 0o600
                archive.addfile(about, io.BytesIO(data))
            for name, folder in folders.items():
                for path in sorted(folder.rglob("*")):
                    if path.is_file() and not path.is_symlink():
                        with suppress(FileNotFoundError):  # deleted meanwhile
                            archive.add(path, f"{name}/{path.relative_to(folder)}", recursive=False)
                            count += 1
    except OSError as error:
        raise LeadlineError(f"cannot write {into}: {error}") from error
    return count


async def erase(user: str, client: Client, store: Store, queue: Queue) -> None:
    """Erase everything of a user; only a line of the audit log stays, which says so. It can be repeated.

    The runs of the user are cancelled before. Raises `UsageError` if nobody is there to end them.
    """
    check_user(user, client, store, queue)
    store.remove_user(user)
    until = time.monotonic() + _PATIENCE
    async with client:
        while active := await _end_runs(user, client, queue):
            if time.monotonic() > until:
                ids = ", ".join(run.run_id for run in active)
                raise UsageError(f"no worker ends the runs {ids}: start `leadline worker`, then erase again")
            await asyncio.sleep(0.2)
        if own := await _documents(user, client):
            await client.knowledge.remove(*own, principal=user)  # with their vectors, wherever they are
        if aside := (await client.knowledge.documents(removed=True, principal=user)).documents:
            await client.knowledge.remove(*(document.id for document in aside), removed=True, principal=user)
        runs = client.runs_folder(principal=user)
        if shared := store_of(runs):
            await asyncio.to_thread(shared.delete, runs)
        for folder in (await client.knowledge.folder(principal=user), runs):
            if folder.exists():
                await asyncio.to_thread(shutil.rmtree, folder)
    if not queue.erase(user):
        raise UsageError(f"{user} has begun another run meanwhile: erase again")
    store.audit.write("user erased", None, erased=user)
    store.audit.erase(user)


async def _documents(user: str, client: Client) -> list[str]:
    """Return the ids of the documents of a user, and of those that the user shares."""
    listed = await client.knowledge.documents(principal=user)
    return [document.id for document in listed.documents if not document.shared or document.owner == user]


async def _end_runs(user: str, client: Client, queue: Queue) -> list[QueuedRun]:
    """Cancel the runs of a user; return those that have not ended yet."""
    active = [run for run in queue.orders(user) if run.is_active]
    for run in active:
        if not queue.withdraw(run.run_id, user, _REASON):
            folder = client.runs_folder(principal=user).absolute() / run.run_id
            with suppress(LeadlineError):  # it has just ended, or not begun
                await client.cancel(folder, _REASON, principal=user)
    return active
