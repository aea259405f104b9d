"""The routes of documents: each principal lists, opens, adds, removes, shares and searches documents of its own.

What a principal finds are its documents and those that the operator and other users share. A file arrives as the body
of a request, is parsed in a worker process, and leaves the folder of its principal only when it is shared.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import Literal

from starlette.requests import Request

from leadline.errors import CallFailed, UsageError
from leadline.records import AddedDocuments, Blob, Document, DocumentList, Passages, StoredDocument
from leadline_server.documents import check_shared
from leadline_server.endpoint import Endpoint
from leadline_server.limits import Slots
from leadline_server.problems import Problem, problem_of
from leadline_server.requests import UPLOAD_TIMEOUT, ChangedDocuments, read, read_body
from leadline_server.run_routes import number
from leadline_server.service import Service, principal_of
from leadline_server.views import Done

# Parameters, as the description of the routes tells them.
_REMOVED = {"removed": "1 for the removed documents, which can be restored for a day"}
_NAME = {"name": "the name of the file, with its ending"}
_PURGE = {"purge": "1 to delete it at once; else it can be restored for a day"}
_SEARCH = {"q": "the question", "limit": "at most so many passages: 1 to 50"}
Change = Literal["removed", "restored", "shared", "private"]
# Passages of one reply, and their characters.
_MOST, _CHARACTERS = 50, 1_000_000
# Characters of the name of a file.
_LONGEST = 300


class KnowledgeRoutes:
    """The handlers of `/v1/knowledge`."""

    def __init__(self, service: Service) -> None:
        self._base, self._limits, self._audit = service.client.knowledge, service.limits, service.store.audit
        self._check_disk = service.check_disk
        # Reading, parsing and embedding one file after the other leaves room for the others' requests.
        self.adding = Slots(1, "a file is being added; wait for the reply before you send the next")

    def endpoints(self) -> list[Endpoint]:
        """Return the routes."""
        top, document = "/v1/knowledge", "/v1/knowledge/{document_id}"
        return [
            Endpoint("GET", top, self.list_, DocumentList, query=_REMOVED),
            Endpoint("POST", top, self.add, AddedDocuments, query=_NAME, errors=(408, 409, 413, 422), upload=True),
            Endpoint("POST", f"{top}/changes", self.change, DocumentList, ChangedDocuments, errors=(404,)),
            Endpoint("DELETE", document, self.remove, Done, query=_PURGE, errors=(404,)),
            Endpoint("GET", f"{top}/search", self.search, Passages, query=_SEARCH, errors=(409, 422)),
            Endpoint("GET", document, self.open, DocumentList, errors=(404,)),
        ]

    async def list_(self, request: Request) -> DocumentList:
        """Return the documents that the principal finds: its own, and the shared ones."""
        return await self.listed(principal_of(request), removed=request.query_params.get("removed", "") == "1")

    async def listed(self, principal: str | None, *, removed: bool = False) -> DocumentList:
        """Return the documents that a principal finds, or those that it removed and can restore."""
        return await self._base.documents(removed=removed, principal=principal)

    async def open(self, request: Request) -> DocumentList:
        """Return a document with its text and its passages."""
        wanted, principal = request.path_params["document_id"], principal_of(request)
        listed = await self._base.documents(wanted, whole=True, principal=principal)
        if [document.id for document in listed.documents] != [wanted]:
            raise _no_such_document()
        return listed

    async def add(self, request: Request) -> AddedDocuments:
        """Add the file in the body; one with the same name is replaced."""
        media_type = request.headers.get("content-type", "application/octet-stream")
        file = Blob(name=request.query_params.get("name", "").strip(), media_type=media_type, data=b"")
        principal = principal_of(request)
        with self.adding.taken(principal):
            return await self.store(principal, file, partial(read_body, request, self._limits.upload, UPLOAD_TIMEOUT))

    async def store(
        self, principal: str | None, file: Blob, read: Callable[[], Awaitable[bytes]] | None = None
    ) -> AddedDocuments:
        """Add a file, whose bytes are read when there is room for it; hold `adding` meanwhile. Raises `Problem`."""
        name = file.name.lstrip("/")
        if not name or len(name) > _LONGEST or not name.isprintable():
            example = "POST /v1/knowledge?name=minutes.pdf"
            raise Problem(
                422, "invalid_request", f"name: the file needs a name of at most {_LONGEST} characters", example
            )
        try:
            check_shared(self._base.settings)
        except UsageError as error:
            raise Problem(409, "not_shared", f"{error}") from None
        await self._check_room(principal, name)
        file = file.model_copy(update={"name": name, "data": await read() if read else file.data})
        try:
            added = await self._base.add(files=[file], principal=principal)
        except CallFailed as failed:
            raise _problem(failed) from failed
        if added.problems:
            raise Problem(422, "unreadable_file", f"{name}: {added.problems[0].reason}", "nothing was added")
        self._audit.write("document added", principal, document=name)
        return added

    async def remove(self, request: Request) -> Done:
        """Remove a document of the principal; it can be restored for a day."""
        names, principal = [request.path_params["document_id"]], principal_of(request)
        if request.query_params.get("purge", "") == "1":
            await self.purge(principal, names)
        else:
            await self.move(principal, names, "removed")
        return Done()

    async def change(self, request: Request) -> DocumentList:
        """Remove, restore or share documents of the principal, or make them private again."""
        body = await read(request, ChangedDocuments, self._limits.body)
        return await self.move(principal_of(request), body.names, body.to)

    async def move(self, principal: str | None, names: Sequence[str], to: Change) -> DocumentList:
        """Change where documents of a principal are kept. Raises `Problem` if it has none of these."""
        try:
            changed = await self._base.change(to, *names, principal=principal)
        except CallFailed as failed:
            raise _problem(failed) from failed
        return self._noted(changed, principal, to)

    async def purge(self, principal: str | None, names: Sequence[str]) -> DocumentList:
        """Delete documents of a principal for good, also removed ones. Raises `Problem` if it has none of these."""
        there = await self._base.remove(*names, principal=principal)
        aside = await self._base.remove(*names, removed=True, principal=principal)
        both = there.model_copy(update={"documents": (*there.documents, *aside.documents)})
        return self._noted(both, principal, "deleted")

    def _noted(self, changed: DocumentList, principal: str | None, how: str) -> DocumentList:
        if not changed.documents:
            raise _no_such_document()
        for document in changed.documents:
            self._audit.write(f"document {how}", principal, document=document.name)
        return changed

    async def search(self, request: Request) -> Passages:
        """Return the passages that answer a question best, without the whole texts of their documents."""
        principal, query = principal_of(request), request.query_params.get("q", "")[:20_000]
        limit = number(request.query_params, "limit", 5, 1, _MOST)
        if not (await self._base.documents(principal=principal)).documents:
            return Passages()
        try:
            passages = await self._base.search(query, limit=limit, whole=False, principal=principal)
        except CallFailed as failed:
            raise _problem(failed) from failed
        sizes = accumulate(
            len(passage.quote) + len(passage.lead) + sum(map(len, passage.path)) for passage in passages.evidence
        )
        shown = tuple(passage for passage, size in zip(passages.evidence, sizes, strict=True) if size <= _CHARACTERS)
        used = {passage.source_id for passage in shown}
        brief = (
            source.model_copy(update={"document": Document(text="", title=source.document.title)})
            for source in passages.sources
            if source.id in used
        )
        return Passages(evidence=shown, sources=tuple(brief))

    async def _check_room(self, principal: str | None, name: str) -> None:
        """Raise `Problem` if the disk is full, or the principal has, or removed, as many documents as it may."""
        self._check_disk()
        own = [
            document.name
            for document in (await self._base.documents(principal=principal)).documents
            if is_own(document, principal)
        ]
        aside = (await self._base.documents(removed=True, principal=principal)).documents
        if max(len(own), len(aside)) >= self._limits.documents and name not in own:
            message = f"you have {len(own):,} documents, and {len(aside):,} removed ones; the limit is"
            hint = "DELETE /v1/knowledge/{id} removes one, and ?purge=1 deletes it at once"
            raise Problem(409, "too_many_documents", f"{message} {self._limits.documents:,} of each", hint)


def is_own(document: StoredDocument, principal: str | None) -> bool:
    """Whether a principal added the document, and may change it."""
    return not document.from_folder and (not document.shared or document.owner == (principal or ""))


def _problem(failed: CallFailed) -> Problem:
    """Return the reply for a failed call; only the operator can change the embedder, and read where folders are."""
    if failed.record.message.code == "reembed":
        message = "the documents were embedded with another model than the server now uses"
        return Problem(409, "embedder_changed", message, "the operator of the server has them embedded again")
    return problem_of(failed)


def _no_such_document() -> Problem:
    return Problem(404, "not_found", "there is no such document of yours", "GET /v1/knowledge lists them")
