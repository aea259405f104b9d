"""Documents that Leadline keeps, the passages that answer a question, and their vectors in a vector store."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from leadline.records.base import Record, Text
from leadline.records.documents import Blob, Evidence, Source


class NewDocuments(Record):
    """Files to add: the paths of files and folders on this machine, or files with their bytes."""

    paths: tuple[str, ...] = ()
    files: tuple[Blob, ...] = ()
    reembed: bool = False
    """True if all documents of the collection are embedded again, with the embedder of the settings."""
    folders: bool = False
    """True if the shared documents of folders are brought up to date: those of the settings of `local`."""


class StoredDocument(Record):
    """A document that Leadline keeps. The part of its name before the first `/` is its collection."""

    id: str
    name: str
    """The path or name under which it was added; adding it again replaces it."""
    title: Text = ""
    media_type: str
    size: int
    """Bytes of the file."""
    passages: int
    pages: int = 0
    """0 for formats without pages."""
    added: datetime
    shared: bool = True
    """True if every user finds it; false if it belongs to the principal of the call."""
    owner: str = ""
    """The principal who shares it; empty for a document of the operator, and for a private one."""
    from_folder: bool = False
    """True if it is a file of a folder that the operator shares; it changes with the file."""
    removed: datetime | None = None
    """When it was removed; it can be restored for a day."""


class UnreadFile(Record):
    """A file that could not be added."""

    name: str
    reason: Text


class AddedDocuments(Record):
    """What an addition changed. Files with the content that they had are `unchanged`."""

    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    embedded_again: int = 0
    problems: tuple[UnreadFile, ...] = ()
    documents: tuple[StoredDocument, ...] = ()
    """The documents that were added or replaced."""
    notices: tuple[str, ...] = ()
    """What of the files was not read: parts of documents, and files of kinds that no parser reads."""


class DocumentSelection(Record):
    """Documents by id or name; a name ending in `/` stands for everything below a folder. None stands for all."""

    names: tuple[str, ...] | None = None
    removed: bool = False
    """True if the removed documents are meant, which can be restored."""
    whole: bool = False
    """True if the texts and passages of the documents are wanted."""


class Passages(Record):
    """The passages that answer a question best, the best first, and their documents."""

    evidence: tuple[Evidence, ...] = ()
    sources: tuple[Source, ...] = ()


class DocumentChange(Record):
    """A change of documents of the call's principal: set aside for a day, or back; shared with all users, or not."""

    names: tuple[str, ...]
    to: Literal["removed", "restored", "shared", "private"]


class DocumentList(Record):
    """Documents by name, and what their passages were embedded with."""

    documents: tuple[StoredDocument, ...] = ()
    embedder: str = ""
    unfinished: int = 0
    """Documents that an interrupted addition left out."""
    version: str = ""
    """Changes with the documents that the caller finds, whichever were asked for; empty without any."""
    unread: tuple[UnreadFile, ...] = ()
    """Files of shared folders that could not be read."""
    opened: Passages | None = None
    """The texts and all passages of the documents, if they were wanted."""


class PassageRequest(Record):
    """A question to answer from the passages of documents."""

    query: Text
    limit: int = 5
    whole: bool = True
    """Whether the sources have the texts of their documents."""


# --- vectors of passages ----------------------------------------------------------------------------------------------


class DocumentVectors(Record):
    """The vectors of one document: one for each of its passages, in their order."""

    document: str
    vectors: tuple[tuple[float, ...], ...]


class VectorBatch(Record):
    """Documents of a collection to store; the vectors replace those that the documents had."""

    collection: str
    documents: tuple[DocumentVectors, ...]


class VectorRemoval(Record):
    """Documents to remove from a collection; None removes the whole collection."""

    collection: str
    documents: tuple[str, ...] | None = None


class VectorCount(Record):
    """How many passages were stored or removed."""

    passages: int = 0


class VectorQuery(Record):
    """A vector, and how many of the nearest passages of some collections are wanted."""

    collections: tuple[str, ...]
    vector: tuple[float, ...]
    limit: int = 10


class VectorMatch(Record):
    """A passage near the vector of a query."""

    collection: str
    document: str
    passage: int
    """The place of the passage in its document, from 0."""
    score: float
    """The cosine of the angle between the two vectors: 1 for the same direction."""


class VectorMatches(Record):
    """The nearest passages, best first."""

    matches: tuple[VectorMatch, ...] = ()


class VectorListing(Record):
    """A collection whose contents are asked for."""

    collection: str


class VectorCollection(Record):
    """The contents of a collection; empty if the store has none of that name."""

    documents: Mapping[str, int] = {}
    """The number of passages of each document."""
    size: int = 0
    """The numbers of each vector."""
