"""Cut documents into passages: adjacent whole blocks below one heading path and of one page, 40 to 200 words.

A passage is verbatim, `document.text[start:end]`. A list, table or code block keeps the paragraph that introduces it:
in the passage if it fits, else as the passage's `lead`. Blocks that are too long are divided between items, rows or
sentences; the caption and header of a table and the term of a definition become the `lead` of later parts.
"""

from __future__ import annotations

import re
from base64 import b32encode
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from leadline.records import Block, Document, Evidence, Passage, Source
from leadline_plugins.parse.markdown_blocks import blocks_of
from leadline_plugins.text import sentences
from leadline_plugins.text.tokens import CJK

# Words of a passage. Shorter ones found fewer facts in a prototype: .95 at 100 words, .98 at 150, .99 at 200.
MOST, LEAST = 200, 40
# Blocks of up to this many times `MOST` stay whole: half a table is worse than a long passage.
_UNDIVIDED = 1.5
# Characters that count as a word at least, and of a sentence: what has longer ones is data, and is divided anywhere.
_LONGEST_WORD, _LONGEST_SENTENCE = 50, 10_000
# Words of a paragraph that can introduce a list.
_LONGEST_LEAD = 80
# Words of a paragraph that can be the title of the next one.
_LONGEST_TITLE = 10
_STOPS = tuple(".!?…。！？")
_LED = frozenset({"list", "definition", "table", "code", "quote"})
_INTRODUCES = frozenset({"paragraph", "caption"})
_ITEM = re.compile(r"^(?:[-*+] |\d+[.)] |:   )", re.MULTILINE)
_DELIMITER = re.compile(r"^\|(?:\s*:?-+:?\s*\|)+\s*$")
_ID_BYTES = 5
_CJK = re.compile(f"[{CJK}]")
_WORD = re.compile(rf"[^\W_{CJK}]+")
# 500 Chinese characters correspond to 200 English words.
_WORDS_PER_CJK = 0.4
_CHARACTERS_PER_TOKEN, _CJK_PER_TOKEN = 4.0, 1.5


@dataclass(frozen=True)
class _Piece:
    """A block, or a part of a divided block."""

    block: Block
    start: int
    end: int
    words: float
    # The text from earlier in its block that readers need.
    lead: str = ""

    @property
    def whole(self) -> bool:
        return (self.start, self.end) == (self.block.start, self.block.end)


def passages_of(source: Source) -> list[Evidence]:
    """Return the passages of a source in document order; headings are in their paths."""
    url, document = source.hit.url, source.document
    if document.passages:  # their places depend on what was searched for, so their ids do not
        named = [(f"{url}:{item.text}", _as_evidence(item)) for item in document.passages]
    else:
        named = [("{}:{}:{}".format(url, *item.span), item) for item in cut(document)]
    located = {"source_id": source.id, "task_id": source.task_id}
    return [item.model_copy(update={"id": passage_id(name), **located}) for name, item in named]


def _as_evidence(passage: Passage) -> Evidence:
    return Evidence(
        id="",
        source_id="",
        quote=passage.text,
        span=(passage.start, passage.start + len(passage.text)),
        path=passage.path,
        page=passage.page,
        lead=passage.lead,
        score=passage.score,
    )


def as_passage(item: Evidence, score: float | None = None) -> Passage:
    """Return a passage as a search engine returns it with a hit."""
    known = item.score if score is None else score
    return Passage(text=item.quote, start=item.span[0], path=item.path, page=item.page, lead=item.lead, score=known)


def as_document(passages: Iterable[Passage], title: str) -> Document:
    """Return the document that has these passages in their order, below their headings and leads.

    All that a passage shows is in the text, so that whoever removes words of it removes them everywhere.
    """
    own, text, path = list[Passage](), "", tuple[str, ...]()
    for passage in sorted(passages, key=lambda passage: passage.start):
        headings = [f"{'#' * depth} {name}" for depth, name in enumerate(passage.path, 1) if passage.path != path]
        before = "\n\n".join(filter(None, (text, *headings, passage.lead)))
        text = before + (("\n" if passage.lead else "\n\n") if before else "") + passage.text
        own.append(passage.model_copy(update={"start": len(text) - len(passage.text)}))
        path = passage.path
    incomplete = "the passages that the search returned"
    return Document(text=text, title=title, passages=tuple(own), incomplete=incomplete)


def cut(document: Document) -> list[Evidence]:
    """Return the passages of a document in order, not yet located: their ids are empty."""
    text, pages, passages = document.text, document.pages, []
    for pieces, lead in _grouped(text, blocks_of(document)):
        first, last = pieces[0], pieces[-1]
        passages.append(
            Evidence(
                id="",
                source_id="",
                quote=text[first.start : last.end],
                span=(first.start, last.end),
                path=first.block.path,
                page=bisect_right(pages, first.start) if pages else first.block.page,
                lead=lead,
            )
        )
    return passages


def passage_id(name: str) -> str:
    """Return a short id that is the same in every run: `p` and seven letters or digits."""
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=_ID_BYTES).digest()
    return "p" + b32encode(digest).decode().lower()[:7]


def _grouped(text: str, blocks: Sequence[Block]) -> Iterator[tuple[list[_Piece], str]]:
    """Yield the pieces and the lead of each passage."""
    group: list[_Piece] = []
    lead, previous = "", None
    for block in blocks:
        if block.kind == "heading":
            previous = None
            continue
        intro = previous if previous is not None and _introduces(text, previous, block) else None
        for index, piece in enumerate(_divided(text, block)):
            starts_led = intro is not None and index == 0
            if group and not _fits(group, piece):
                carried = _carried(group, intro) if starts_led else _titles(text, group, piece)
                if len(carried) < len(group):
                    yield group[: len(group) - len(carried)], lead
                    lead = ""
                group = carried
            if not group:
                needed = "" if intro is None else text[intro.start : intro.end]
                lead = "\n".join(filter(None, (needed, piece.lead)))
            group.append(piece)
        previous = block
    if group:
        yield group, lead


def _fits(group: Sequence[_Piece], piece: _Piece) -> bool:
    last = group[-1].block
    if last.path != piece.block.path or not (piece.whole or last is piece.block):
        return False
    if last.page != piece.block.page:  # a citation names the page on which its passage begins
        return False
    size = sum(unit.words for unit in group)
    return size + piece.words <= MOST or (min(size, piece.words) < LEAST and max(size, piece.words) <= MOST)


def _carried(group: Sequence[_Piece], intro: Block | None) -> list[_Piece]:
    """Return the introduction of the next block if it ends a group: it moves to the next passage."""
    return [group[-1]] if group[-1].block is intro and group[-1].whole else []


def _titles(text: str, group: Sequence[_Piece], piece: _Piece) -> list[_Piece]:
    """Return the last paragraphs of a group that are short and have no full stop: titles, which move on too.

    "Option: depth", "Default: 11" and what describes the option are paragraphs on many pages.
    """
    first = len(group)
    if piece.start == piece.block.start and piece.block.path == group[-1].block.path:
        while first and _is_title(text, group[first - 1]):
            first -= 1
    return [*group[first:]] if first else []


def _is_title(text: str, piece: _Piece) -> bool:
    short = piece.whole and piece.block.kind == "paragraph" and piece.words <= _LONGEST_TITLE
    return short and not text[piece.start : piece.end].endswith(_STOPS)


def _introduces(text: str, previous: Block, block: Block) -> bool:
    """Return whether a paragraph or caption introduces the list, table or code after it."""
    if block.kind not in _LED or previous.kind not in _INTRODUCES or previous.path != block.path:
        return False
    return words_of(text[previous.start : previous.end]) <= _LONGEST_LEAD


def _divided(text: str, block: Block) -> list[_Piece]:
    """Return a block whole, or in parts of at most `MOST` words if it is much longer."""
    size = words_of(text[block.start : block.end])
    if size <= _UNDIVIDED * MOST:
        return [_Piece(block, block.start, block.end, size)]
    head = _head(text, block)
    parts: list[_Piece] = []
    for start, end in _units(text, block):
        words = words_of(text[start:end])
        if parts and parts[-1].words + words <= MOST:
            last = parts[-1]
            parts[-1] = _Piece(block, last.start, end, last.words + words, last.lead)
        else:
            parts.append(_Piece(block, start, end, words, head if parts else ""))
    return parts


def _head(text: str, block: Block) -> str:
    """Return the head of every part of a divided block: caption and header of a table, or a definition's term."""
    lines = text[block.start : block.end].split("\n", 8)
    head = ""
    if block.kind == "table":
        head = "\n".join(lines[: next((index for index, line in enumerate(lines) if _DELIMITER.match(line)), 0)])
    elif block.kind == "definition" and len(lines) > 1:
        head = lines[0]
    return head if words_of(head) <= MOST else ""


def _units(text: str, block: Block) -> list[tuple[int, int]]:
    """Return the spans between which a block may be divided."""
    body = text[block.start : block.end]
    if block.kind in ("table", "code"):
        starts = [0, *(match.end() for match in re.finditer("\n", body))]
    elif block.kind in ("list", "definition"):
        starts = [match.start() for match in _ITEM.finditer(body)] or [0]
        starts[0] = 0
    else:
        starts = [start for start, _ in sentences(body)] or [0]
        starts[0] = 0
    ends = [*starts[1:], len(body)]
    spans = (
        (block.start + start, block.start + start + len(body[start:end].rstrip()))
        for start, end in zip(starts, ends, strict=True)
    )
    return [part for start, end in spans for part in _portions(text, start, end)]


def _portions(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield a span whole, or one that is no sentence in portions, which end at spaces where there are any."""
    while end - start > _LONGEST_SENTENCE:
        space = text.rfind(" ", start + 1, start + _LONGEST_SENTENCE)
        at = space if space > 0 else start + _LONGEST_SENTENCE
        yield start, at
        start = at + (space > 0)
    if end > start:
        yield start, end


# --- sizes --------------------------------------------------------------------------------------------------------


def cjk_characters(text: str) -> int:
    """Return the number of Chinese, Japanese and Korean characters."""
    return 0 if text.isascii() else len(_CJK.findall(text))


def words_of(text: str) -> float:
    """Return the length in words; a CJK character counts as 0.4, and so do 20 characters of data."""
    words = len(_WORD.findall(text)) + _WORDS_PER_CJK * cjk_characters(text)
    return max(words, len(text) / _LONGEST_WORD)


def tokens_of(text: str) -> float:
    """Return the approximate tokens of a text: one per four characters, or 1.5 CJK characters."""
    cjk = cjk_characters(text)
    return cjk / _CJK_PER_TOKEN + (len(text) - cjk) / _CHARACTERS_PER_TOKEN
