"""Search results, downloads, documents, and the passages that reports cite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field

from leadline.records.base import Failure, Json, Labels, Record, Text, Tier


class SearchRequest(Record):
    """A search query. It contains only what engines need, because it is the cache key."""

    query: Text
    limit: int = 10
    language: str = ""
    cursor: str | None = None
    images: bool = False
    """Find pictures, each a hit with its address in `images`, its page as `url` and its caption as `title`."""


class Passage(Record):
    """A passage that a search engine returns with a hit, verbatim."""

    text: Text
    start: int = 0
    """Where it begins in its document, in characters: passages are shown in this order."""
    path: tuple[Text, ...] = ()
    """The headings above it, outermost first."""
    page: int | None = None
    lead: Text = ""
    """Verbatim context from earlier in the document, such as the lead-in of a list."""
    score: float = 0.0
    """How well it answers the query; larger is better."""


class Hit(Record):
    """One search result. The engine fills in the fields it knows; the core sets `engine` and `tier`."""

    url: str
    """The address to cite; any scheme but one that only the fetcher of another plugin reads."""
    title: Text = ""
    snippet: Text = ""
    text: Text | None = None
    """The full text if the engine has it; the page is then not fetched."""
    passages: tuple[Passage, ...] = ()
    """The passages that answer the query best, if the engine has them; without a model, they are all that is read."""
    content_url: str | None = None
    """The address to read if it differs from `url`, such as the PDF of a DOI."""
    published: str | None = None
    """ISO 8601 date, as precise as known."""
    score: float | None = None
    """Relevance on a scale that is comparable within one search; None if the engine only ranks."""
    images: tuple[str, ...] = ()
    rights: Text = ""
    """The licence and the author of the images, if the engine says."""
    citable: bool = True
    """False if reports must not cite this hit."""
    labels: Labels = frozenset()
    csl: Json = {}
    """CSL-JSON: author, container-title, DOI, …"""
    engine: str = ""
    tier: Tier = 3

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy. One that is given a snippet or a text has no passages but those of `update`."""
        if update and not update.keys().isdisjoint(("snippet", "text")):
            update = {"passages": (), **update}
        return super().model_copy(update=update, deep=deep)


class SearchPage(Record):
    """Hits, best first; `cursor` requests the next page."""

    hits: tuple[Hit, ...] = ()
    cursor: str | None = None
    suggestion: str = ""
    """The query in another spelling ("did you mean"), if the engine knows a better one."""
    failures: tuple[Failure, ...] = ()
    """Failures of engines while others succeeded; set by the core and by strategies that stop waiting for an engine."""


class FetchRequest(Record):
    """A URL to fetch."""

    url: str
    accept: tuple[str, ...] = ()
    """Acceptable media types, such as `image/png`; empty: everything that a configured parser reads."""
    size: int | None = None
    """Maximum number of bytes; None leaves it to the fetcher."""
    engine: str = Field("", exclude=True)
    """The engine that found it, which is asked first if it is a fetcher too; no part of the request's key."""


class Blob(Record):
    """Bytes with a name (of a file, or a URL) and a media type (`text/html; charset=gbk`)."""

    name: str
    media_type: str
    data: bytes
    labels: Labels = frozenset()


class Files(Record):
    """The files of a formatted report, the main file first."""

    files: tuple[Blob, ...]


class Image(Record):
    """An illustration of a page, with its alternative text and caption."""

    url: str
    alt: Text = ""
    caption: Text = ""


BlockKind = Literal["heading", "paragraph", "list", "definition", "table", "code", "quote", "caption"]


class Block(Record):
    """One block of a document: `document.text[start:end]` is its Markdown.

    A table keeps its header row, a definition its term, code its fences.
    """

    kind: BlockKind
    start: int
    """Offset in characters."""
    end: int
    """Exclusive."""
    path: tuple[Text, ...] = ()
    """The headings above the block, outermost first. The path of a heading does not include the heading."""
    page: int | None = None
    """The page on which the block begins, from 1; None for formats without pages."""


class Document(Record):
    """A document as Markdown. `pages` are the offsets in characters at which each page begins."""

    text: Text
    blocks: tuple[Block, ...] = ()
    """In the order of the text, without overlap. Without blocks, they are read from the Markdown."""
    passages: tuple[Passage, ...] = ()
    """If a search engine returned them: all that is cited of the document, by their places in its text."""
    title: Text = ""
    language: str = ""
    pages: tuple[int, ...] = ()
    author: Text = ""
    """Several authors are separated by semicolons."""
    published: str | None = None
    """ISO 8601 date from the document itself."""
    images: tuple[Image, ...] = ()
    """Illustrations, best first."""
    incomplete: Text = ""
    """What was left out of a file that is too long, for a notice; empty if nothing was."""
    labels: Labels = frozenset()
    """The core adds those of the file that was parsed."""

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy. One with another text has no blocks, pages and passages but those of `update`."""
        if update and update.get("text", self.text) != self.text:
            update = {"blocks": (), "pages": (), "passages": (), **update}
        return super().model_copy(update=update, deep=deep)

    def misfit(self, before: Document | None = None) -> str:
        """Return why the blocks or pages do not fit the text; empty if they do.

        `before` is the document from which this one was made: offsets in its text are wrong in a text of another
        length.
        """
        end = 0
        for number, block in enumerate(self.blocks, start=1):
            if not end <= block.start <= block.end <= len(self.text):
                after = f"after {end}" if end else "from 0"
                return (
                    f"block {number} is from {block.start} to {block.end}, but must lie {after} to {len(self.text)}, "
                    "the end of the text: blocks are in the order of the text, without overlap"
                )
            end = block.end
        for passage in self.passages:
            if not self.text.startswith(passage.text, passage.start):
                return f"the passage at {passage.start} is not in the text: give new passages, or passages=()"
            if not all(part in self.text for part in (passage.lead, *passage.path)):
                return f"the lead or a heading of the passage at {passage.start} is not in the text"
        places = (0, *self.pages, len(self.text))
        if list(places) != sorted(places):
            return f"page offsets are not ascending or not in the text: {self.pages}"
        if before is None or len(before.text) == len(self.text) or self.text.startswith(before.text):
            return ""
        if self.blocks and self.blocks == before.blocks:
            return "its text has changed, but its blocks are those of the old text: give new ones, or blocks=()"
        if self.pages[1:] and self.pages == before.pages:
            return "its text has changed, but its pages are those of the old text: give new ones, or pages=()"
        return ""

    def labelled(self, labels: Labels) -> Document:
        """Return the document with these labels added."""
        return self.model_copy(update={"labels": self.labels | labels}) if labels - self.labels else self


class Source(Record):
    """A hit that was read: reports cite `hit.url` and quote `document.text`."""

    id: str
    hit: Hit
    document: Document
    engine: str = ""
    tier: Tier = 3
    labels: Labels = frozenset()
    """Those of the hit and of the document."""
    task_id: str = ""
    """The search task that found it first."""


class Evidence(Record):
    """A passage of a source: one or more whole blocks, verbatim: `document.text[span[0]:span[1]] == quote`."""

    id: str
    """A short id that is the same in every run: `pq3v7k2a`."""
    source_id: str
    quote: Text
    span: tuple[int, int]
    """Offsets in characters, end exclusive."""
    path: tuple[Text, ...] = ()
    """The headings above the passage in its document, the outermost first."""
    page: int | None = None
    """The page on which the passage begins, from 1; None for documents without pages."""
    lead: Text = ""
    """Verbatim context from earlier in the document: the lead-in of a list, the caption and header of a divided table.

    Empty if the passage contains it.
    """
    score: float = 0.0
    """How well the passage answers the question it was selected for; larger is better."""
    task_id: str = ""
    """The search task that found the source."""
