"""Which documents a run searches, and the folders whose files are documents of everybody."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from pydantic import SecretStr

from leadline import Client
from leadline.errors import CallFailed, ConfigError, LeadlineError, UsageError
from leadline.records import StoredDocument
from leadline.settings import Settings
from leadline_server.problems import Problem
from leadline_server.requests import NewRun

# No document has this name.
NO_DOCUMENTS = "/"
log = logging.getLogger("leadline.server")
# Seconds between two looks at the shared folders, and those that a question waits for the first.
_REFRESH, _PATIENCE = 30.0, 15.0


@dataclass(frozen=True)
class SourceChoice:
    """What the form to ask offers as sources: the engines of the web, documents by collection, and what is chosen."""

    web: Sequence[str]
    collections: Sequence[tuple[str, Sequence[StoredDocument]]]
    chosen: Sequence[str] = ()
    which: str = "all"
    uses_web: bool = True
    is_reading: bool = False

    @property
    def count(self) -> int:
        """How many documents there are."""
        return sum(len(documents) for _, documents in self.collections)


def in_collections(documents: Iterable[StoredDocument]) -> list[tuple[str, list[StoredDocument]]]:
    """Return documents by collection, the part of their names before the first slash; first those without one."""
    collections: dict[str, list[StoredDocument]] = {}
    for document in documents:
        collections.setdefault(document.name.rpartition("/")[0].partition("/")[0], []).append(document)
    return sorted(collections.items())


def check_shared(settings: Settings) -> None:
    """Raise `UsageError` if the runs are on several machines and documents on this one, where no other finds them."""
    base = settings.knowledge.base
    own = getattr(dict(settings.plugins).get(base), "database", None)
    if settings.runs.database.get_secret_value() and isinstance(own, SecretStr) and not own.get_secret_value():
        raise UsageError(
            f"with runs.database, documents need plugins.{base}.database and a vector store that all machines reach, "
            "such as Qdrant: docs/how-to/fleet.md"
        )


class Documents:
    """The documents of a server as sources of its runs."""

    def __init__(self, client: Client) -> None:
        self._client = client
        # Set when the shared folders were read for the first time.
        self._read = asyncio.Event()

    def check_folders(self) -> None:
        """Raise `UsageError` for shared folders whose documents other machines would not find."""
        if self._folders():
            check_shared(self._client.knowledge.settings)

    async def follow_folders(self) -> None:
        """Keep the documents of the shared folders up to date until this is cancelled."""
        while True:
            try:
                await self._client.knowledge.read_folders()
            except (LeadlineError, OSError) as error:
                log.warning("the shared folders cannot be read now: %s", error)
            self._read.set()
            if not self._folders():
                return
            await asyncio.sleep(_REFRESH)

    def _folders(self) -> set[str]:
        """Return the names of the engines that search folders; on a server, their files are documents."""
        sections = dict(self._client.knowledge.settings.plugins)
        return {name for name, section in sections.items() if getattr(section, "folders", ())}

    @property
    def is_reading(self) -> bool:
        """Whether the shared folders are being read for the first time."""
        return bool(self._folders()) and not self._read.is_set()

    def web(self, pipeline: str = "") -> Sequence[str]:
        """Return the engines of a pipeline that search elsewhere than in documents."""
        documents = {*self._folders(), self._settings.knowledge.base}
        return [name for name in self._engines(pipeline) if name not in documents]

    def _engines(self, pipeline: str) -> Sequence[str]:
        own = self._settings.pipelines[pipeline].settings.get("search.engines") if pipeline else None
        return own if isinstance(own, list | tuple) else self._client.plugins.loaded.chosen["search.engines"]

    async def choice(self, form: Mapping[str, list[str]], principal: str | None) -> SourceChoice:
        """Return the sources that a form offers, and those that it chooses."""
        try:
            documents, web = (await self._client.knowledge.documents(principal=principal)).documents, self.web()
        except LeadlineError:  # the page of documents tells why
            documents, web = (), ()
        which = (form.get("documents") or ["all"])[0]
        uses_web = "web" in form or "sources" not in form
        chosen = form.get("document") or ()
        ordered = sorted(documents, key=lambda it: (it.id not in chosen, (it.title or it.name).casefold()))
        collections = in_collections(ordered)
        collections.sort(key=lambda it: not {f"{it[0]}/", *(document.id for document in it[1])} & {*chosen})
        return SourceChoice(web, collections, chosen, which, uses_web, self.is_reading)

    async def sources(self, body: NewRun, principal: str | None) -> dict[str, Any]:
        """Return the settings by which a run searches what a request asks for: documents, the web, or both.

        By default these are all documents that the principal finds, and the web if the server searches it. Raises
        `Problem` if there is nothing to search, or no such document.
        """
        base, changed = self._settings.knowledge.base, dict[str, Any]()
        try:
            if self._folders():
                with suppress(TimeoutError):
                    async with asyncio.timeout(_PATIENCE):
                        await self._read.wait()
            if body.documents:
                listed = (await self._client.knowledge.documents(*body.documents, principal=principal)).documents
                # Not by its path, which the knowledge base knows, too: that is told to the operator alone.
                known = {name for it in listed for name in (it.id, *accumulate(it.name.split("/"), "{}/{}".format))}
                if unknown := [name for name in body.documents if name.rstrip("/") not in known]:
                    hint = "GET /v1/knowledge lists them"
                    raise Problem(422, "no_such_document", f"documents: there is no {unknown[0]!r}", hint)
            has_documents = body.documents != [] and await self._client.knowledge.version(principal=principal)
        except (CallFailed, ConfigError):
            if body.documents is not None or not body.web:  # never the web instead
                raise
            return {}  # a run that needs documents tells why
        web = self.web(body.pipeline) if body.web else []
        engines = [*([base] if has_documents else []), *web]
        if not engines and (body.documents is not None or not body.web):
            raise Problem(422, "nothing_to_search", "neither documents nor the web are to be searched", "choose one")
        chosen = self._client.plugins.loaded.chosen
        if engines and engines != [*self._engines(body.pipeline)]:
            changed["search.engines"] = engines
            if has_documents and base not in chosen["read.fetchers"]:
                changed["read.fetchers"] = [base, *chosen["read.fetchers"]]
        if body.documents is not None:
            changed["knowledge.documents"] = body.documents or [NO_DOCUMENTS]
        return changed

    @property
    def _settings(self) -> Settings:
        return self._client.plugins.settings
