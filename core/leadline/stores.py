"""Where runs are kept: each in its own folder, or in a store that several machines share.

With a store, a folder of runs is a copy: it is brought up to date before it is read, and what a session writes into it
is stored at once. Code that reads the folder of a run knows nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from leadline.errors import UsageError
from leadline.runs import PRINCIPALS

if TYPE_CHECKING:
    from leadline.contracts import Check, Observer
    from leadline.records import Event
    from leadline.settings import Runs

# The entry-point group of stores: a name is the scheme of a URL, its value a function that opens the store.
GROUP = "leadline.stores"
Mode = Literal["write", "read"]
# A journal in a file. Blobs have row ids, so that a new one is appended; in the order of digests each changed a page.
LAYOUT = """
create table entries (space text, name text, value text, mark text, primary key (space, name)) without rowid;
create table blobs (digest text primary key, data blob);
"""
LAYOUT_VERSION = 1
# Files of a run that a store keeps in another form, and the hidden ones that it keeps as files.
_ELSEWHERE = ("journal.sqlite", "events.jsonl", "live.sock", "metadata.json")
_HIDDEN = (".complete", ".forgotten")


def kept_files(folder: Path) -> list[str]:
    """Return the names of the files of a run that a store keeps beside its metadata, journal and events."""
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(
        name
        for name in names
        if not name.startswith(_ELSEWHERE) and "/." not in name and (name[0] != "." or name.split("/")[0] in _HIDDEN)
    )


class Records(Protocol):
    """The entries and blobs of one journal, within a transaction."""

    def put(self, space: str, name: str, value: str, mark: str) -> None:
        """Write an entry; `mark` is its checksum."""

    def delete(self, space: str, names: Iterable[str] | None = None) -> None:
        """Delete these entries of a space, or all."""

    def entries(self) -> Sequence[Sequence[Any]]:
        """Return all entries as (space, name, value, mark). Raises `JournalError` if they would fill the memory."""

    def put_blob(self, digest: str, data: bytes) -> None:
        """Write a blob, compressed by the caller."""

    def blob(self, digest: str) -> Any:
        """Return a blob; None if it is missing."""

    def next_session(self) -> int:
        """Return the number of a new session. It is a fencing token: earlier sessions can commit nothing more."""

    def keep_files(self) -> None:
        """Store the metadata and the files of the folder with the transaction."""


class JournalStore(Protocol):
    """The journal of one run. The journal calls it on one thread.

    Raises `JournalBusy` if the run belongs to a later session or the store does not answer, else `JournalError`.
    """

    # The session that writes; 0 before it has begun.
    session: int

    @property
    def is_open(self) -> bool: ...

    @property
    def records(self) -> Records:
        """The records, for reading."""

    def open(self) -> None: ...

    def transaction(self, *, durable: bool) -> AbstractContextManager[Records]:
        """Commit at the end, unless a later session has begun; a `durable` one survives a power loss."""

    def was_taken_over(self) -> bool: ...

    def close(self) -> None:
        """Release the run; a second time does nothing."""


class EventLog(Protocol):
    """The stored events of a run, read from where the last read ended."""

    # The number of the last event that was read.
    last: int

    def has_grown(self) -> bool:
        """Return whether there may be more, without waiting for anything."""

    def read(self) -> list[Event]: ...


class Mailbox(Protocol):
    """Messages to a run by name, each with at most one reply."""

    def send(self, name: str, text: bytes) -> None: ...

    def messages(self) -> Sequence[tuple[str, bytes]]:
        """Return the messages to the present session that have no reply, the oldest first."""

    def reply(self, name: str, text: bytes) -> None: ...

    def reply_to(self, name: str) -> bytes | None: ...

    def remove(self, name: str) -> None:
        """Remove a message with its reply."""


class RunStore(Protocol):
    """The runs of several machines. A `folder` is the copy of a run on this machine, or holds copies.

    All methods may be called in any thread, and raise a `LeadlineError` if the store does not answer.
    """

    def close(self) -> None: ...

    def check(self) -> Iterable[Check]:
        """Return what `leadline doctor` tells of its parts."""

    def pull(self, folder: Path, *, files: bool = False) -> None:
        """Bring the copies in a folder up to date; of a run, or with `files`, also the files beside the metadata."""

    def changing(self, folder: Path) -> AbstractContextManager[None]:
        """Bring a run on which no session works up to date, and store what is changed of it. Raises `JournalBusy`."""

    def delete(self, folder: Path) -> None:
        """Delete a run, or all in a folder, but not the copies here. Raises `JournalBusy` if a session works on one."""

    def drop(self, folder: Path) -> None:
        """Remove the copy of a run here; it is made again when it is wanted."""

    def is_active(self, folder: Path) -> bool:
        """Return whether a session works on a run."""

    def journal(self, folder: Path, mode: Mode, owns: Callable[[], bool] | None) -> JournalStore: ...

    def observer(self, folder: Path, session: int) -> Observer:
        """Return what stores the events of a session."""

    def next_seq(self, folder: Path) -> int:
        """Return the number of the next event."""

    def events(self, folder: Path, after: int) -> EventLog: ...

    def mailbox(self, folder: Path) -> Mailbox: ...

    def live_host(self) -> tuple[str, str]:
        """Return the address to which live text is bound, and the one by which other machines reach it."""

    def set_live(self, folder: Path, address: str) -> None:
        """Tell other machines the address of the live text of a run, with its password."""

    def live(self, folder: Path) -> str:
        """Return that address as `is_active` last read it, without waiting; empty if there is none."""


_stores: dict[Path, RunStore] = {}


def use_store(folder: Path, store: RunStore) -> None:
    """Keep the runs of a folder in a store, in this process."""
    _stores[folder.absolute()] = store


def open_store(runs: Runs) -> RunStore | None:
    """Use the store that the settings name, by the entry point for the scheme of its URL.

    Return it for its owner to close; None if there is none, or it is used already. Raises `UsageError`.
    """
    scheme = runs.database.get_secret_value().partition("://")[0]
    if not scheme or store_of(runs.folder):
        return None
    from importlib.metadata import entry_points

    points = entry_points(group=GROUP)
    if scheme not in points.names:  # it may be a password
        raise UsageError(f"runs.database: not the URL of a store; write {' or '.join(sorted(points.names))}://…")
    folder = runs.folder.absolute()
    if folder.parent.name == PRINCIPALS:  # that of a principal, whose runs are in the same store
        folder = folder.parents[1]
    store: RunStore = points[scheme].load()(runs.model_copy(update={"folder": folder}))
    use_store(folder, store)
    return store


def close_store(store: RunStore) -> None:
    """Close a store, and use it no more."""
    for folder in [folder for folder, used in _stores.items() if used is store]:
        del _stores[folder]
    store.close()


def store_of(path: Path) -> RunStore | None:
    """Return the store of the runs at a path; None if their folder itself keeps them."""
    if not _stores:
        return None
    path = path.absolute()
    return next((store for folder, store in _stores.items() if path.is_relative_to(folder)), None)


def refresh(folder: Path, *, files: bool = False) -> None:
    """Bring the copies of runs in a folder up to date, if a store keeps them."""
    if store := store_of(folder):
        store.pull(folder, files=files)


def changing(folder: Path) -> AbstractContextManager[None]:
    """Change the files of a run on which no session works, also in the store that keeps it. Raises `JournalBusy`."""
    store = store_of(folder)
    return store.changing(folder) if store else nullcontext()
