"""Synthesizer `brief`: whole passages, word for word, without a language model.

A brief claims nothing: it shows the passages that rank highest, and first names the words of the question that none of
them has. After them it lists where else the question's words occur.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from leadline.citations import cite, uncitable
from leadline.contracts import Call
from leadline.plugin import synthesizer
from leadline.records import Evidence, Section, Source, Synthesis, SynthesisRequest
from leadline.workers import compute
from leadline_plugins.documents.text_index import full_text
from leadline_plugins.text import language
from leadline_plugins.text.missing import missing_words
from leadline_plugins.text.tokens import CJK, has_cjk
from leadline_plugins.wording.phrases import phrase

# Words of a brief whose length is not set; a CJK character counts as half a word.
LENGTH = 400
# A further passage is shown from this share of the best one's score: five of six sets choose it for the sixth.
_SHARE = 0.5
# Places that the list after the passages names.
_FURTHER = 8
_WORD = re.compile(rf"[^\W_{CJK}]+")
_CJK = re.compile(f"[{CJK}]")
# An underscore inside a word is no markup.
_MARKUP = re.compile(r"[\\*<\[\]]|\b_|_\b")
_IMAGE = re.compile(r"(?<!\\)!\[")
_CELLS = re.compile(r"(?<!\\)\|")
_DEFINED = re.compile(r"(?<=\n):   ")


@synthesizer("The best passages, quoted: no language model")
class BriefSynthesizer:
    """Shows the passages of each section."""

    async def synthesize(self, request: SynthesisRequest, call: Call, /) -> Synthesis:
        """Return the sections with their text."""
        return Synthesis(sections=tuple([await compute(brief, request, section) for section in request.wanted]))


def brief(request: SynthesisRequest, section: Section) -> Section:
    """Return a section as a brief. Without scores, the order of its passages counts alone."""
    code = request.language or language(request.question)
    room = request.length or LENGTH
    book, ranked = request.book, request.book.passages(section)
    shown = chosen(ranked, room, _SHARE)
    titles = {source.id: source.hit.title or source.document.title for source in book.sources}
    # A word is missing only if even the passages that would fill the room lack it.
    texts = (full_text(titles.get(item.source_id, ""), item) for item in chosen(ranked, room))
    missing = tuple(missing_words(request.question, texts))
    rest = [item for item in ranked if item not in shown]
    parts = [_introduction(missing, code), *_documents(shown, book.sources, titles, code)]
    parts += _further(rest, shown, book.sources, titles, code)
    return section.model_copy(
        update={
            "title": phrase("brief", code) if len(book.outline) < 2 else section.title,
            "text": "\n\n".join(parts) if shown else "",
            "evidence_ids": tuple(item.id for item in shown),
            "missing_words": missing,
            "quotes": True,
        }
    )


def chosen(ranked: Sequence[Evidence], room: float, share: float = 0.0) -> list[Evidence]:
    """Return the passages that fit into a room of so many words, best first, each text once.

    Only those of at least a share of the best score are taken; the first one is taken whatever its length.
    """
    shown: list[Evidence] = []
    texts = set[str]()
    for item in ranked:
        if item.score < share * ranked[0].score:
            break
        text, size = " ".join(item.quote.split()), _length(f"{item.lead} {item.quote}")
        if text not in texts and (size <= room or not shown):
            texts.add(text)
            shown.append(item)
            room -= size
    return shown


def _length(text: str) -> float:
    return len(_WORD.findall(text)) + len(_CJK.findall(text)) / 2


def _introduction(missing: Sequence[str], code: str) -> str:
    lines = [phrase("brief_missing", code, what=phrase("comma", code).join(f"“{word}”" for word in missing))]
    return "\n\n".join([*map(escape_markdown, lines if missing else []), f"*{phrase('brief_about', code)}*"])


def _documents(
    shown: Sequence[Evidence], sources: Iterable[Source], titles: Mapping[str, str], code: str
) -> Iterator[str]:
    """Yield the passages below their documents, in the order of the best passage of each, and of the document."""
    urls = {source.id: source.hit.url for source in sources}
    ids = list(dict.fromkeys(item.source_id for item in shown))
    names = [titles.get(name, "") for name in ids]
    for name, title in zip(ids, names, strict=True):
        address = f" ({urls.get(name, '')})" if names.count(title) > 1 else ""
        yield f"### {escape_markdown(f'{title or urls.get(name, name)}{address}')}"
        own = sorted((item for item in shown if item.source_id == name), key=lambda item: item.span)
        for where, passages in groupby(own, key=lambda item: _where(item, title, code)):
            if where:
                yield f"#### *{escape_markdown(where)}*"
            yield from map(_quoted, passages)


def _further(
    rest: Sequence[Evidence],
    shown: Iterable[Evidence],
    sources: Iterable[Source],
    titles: Mapping[str, str],
    code: str,
) -> Iterator[str]:
    """Yield the list of further places, best first: document, heading and page, with a link and without text."""
    urls = {source.id: source.hit.url for source in sources}

    def places(passages: Iterable[Evidence]) -> dict[str, str]:
        names = ((titles.get(item.source_id, ""), item) for item in passages)
        where = ((", ".join(filter(None, (title, _where(item, title, code)))), item) for title, item in names)
        return {location: urls.get(item.source_id, "") for location, item in where}

    above = places(shown)
    if further := [(location, url) for location, url in places(rest).items() if location not in above]:
        yield f"### {phrase('brief_further', code)}"
        yield "\n".join(f"- {_linked(escape_markdown(location), url)}" for location, url in further[:_FURTHER])


def _linked(words: str, url: str) -> str:
    """Return words as a link to an address of the web or of a stored document."""
    is_page = url.startswith(("http://", "https://", "knowledge://")) and not {*"<> \\"} & {*url}
    return f"[{words}](<{url}>)" if is_page else words


def _where(passage: Evidence, title: str, code: str) -> str:
    """Return the heading path of a passage without the document's title, and its page."""
    path = [heading for heading in passage.path if heading != title]
    page = "" if passage.page is None else phrase("page", code, pages=passage.page)
    return ", ".join(filter(None, (" › ".join(path), page)))


def _quoted(passage: Evidence) -> str:
    """Return a passage as a quotation that ends with its citation."""
    text = uncitable(_IMAGE.sub(r"!\[", _as_paragraphs(f"{_lead(passage)}{passage.quote}")))
    apart = text.rstrip().endswith(("|", "```"))
    lines = f"{text}{chr(10) * 2 if apart else '' if has_cjk(text[-1:]) else ' '}{cite(passage.id)}".split("\n")
    return "\n".join(f"> {line}".rstrip() for line in lines)


def _lead(passage: Evidence) -> str:
    """Return the lead of a passage; below the header of a divided table its rows continue."""
    header = passage.lead.rsplit("\n", 1)[-1].strip()
    if header.startswith("|") and passage.quote.startswith("|"):
        return f"{passage.lead}\n|{' --- |' * (len(_CELLS.findall(header)) - 1)}\n"
    return f"{passage.lead}\n\n" if passage.lead else ""


def _as_paragraphs(text: str) -> str:
    """Return definitions as paragraphs: most Markdown has no definition lists."""
    return text if "```" in text else _DEFINED.sub("\n", text)


def escape_markdown(text: str) -> str:
    """Return text of a page or question on one line, with its Markdown markup escaped; marks of code are dropped."""
    return _MARKUP.sub(r"\\\g<0>", " ".join(text.replace("`", "").split()))
