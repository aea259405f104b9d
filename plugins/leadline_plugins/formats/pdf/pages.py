"""Pages: the tree as Typst, Typst as PDF, and once more where a character had no glyph."""

from __future__ import annotations

from dataclasses import dataclass, replace

from leadline.contracts import Call, Context
from leadline_plugins.formats.document import Document
from leadline_plugins.formats.pandoc import write
from leadline_plugins.formats.pdf.adapted import adapted
from leadline_plugins.formats.pdf.missing import lacks_glyphs, missing, private, probe, probe_source, spelt
from leadline_plugins.formats.pdf.press import press
from leadline_plugins.formats.tree import para, text, words
from leadline_plugins.wording import fitting, right_to_left, say

LONG = 20_000
"""Characters from which a report gets a title page and contents, where the settings leave it open."""
_EAST = {"ja": "Noto Sans CJK JP", "ko": "Noto Sans CJK KR", "zh-hk": "Noto Sans CJK HK", "zh-hant": "Noto Sans CJK TC"}
_REGION = 2
"""Letters of a tag's part that names a region."""


@dataclass(frozen=True)
class Pages:
    """A PDF, the characters that no font had, and whether every glyph of it shows now."""

    pdf: bytes
    missing: str
    whole: bool


async def set_pages(document: Document, paper: str, title_page: str, context: Context, call: Call) -> Pages:
    """Set a document. Raises `BadReply` where it cannot be set."""
    document = await context.in_thread(_spelt, document, private(document.title + text(document.blocks)))
    inputs = _inputs(document, paper, title_page, call)
    pdf = await _compiled(document, inputs, context, call)
    lost: set[str] = set()
    whole = not await context.in_thread(lacks_glyphs, pdf)
    if not whole:
        lost = await _lost(document.title + text(document.blocks), inputs, context, call)
        document = await context.in_thread(_spelt, document, lost)
        pdf = await _compiled(document, {**inputs, "title": document.title}, context, call)
        whole = not await context.in_thread(lacks_glyphs, pdf)
    return Pages(pdf, "".join(sorted(lost)), whole)


def _spelt(document: Document, characters: set[str]) -> Document:
    if not characters:
        return document
    note = para([{"t": "Emph", "c": words(say("unset", document.language))}])
    blocks = [*spelt(document.blocks, characters), note]
    return replace(document, blocks=blocks, title=spelt(document.title, characters))


async def _lost(content: str, inputs: dict[str, str], context: Context, call: Call) -> set[str]:
    """Return the characters of a text that no font has."""
    characters = probe(content)
    plain = {**inputs, "title": "", "about": "", "cover": "no"}
    return missing(characters, await press(probe_source(characters), (), plain, context, call))


async def _compiled(document: Document, inputs: dict[str, str], context: Context, call: Call) -> bytes:
    body = await write(list(adapted(document.blocks)), {}, "typst", call, "--wrap=none")
    return await press(body, document.files, inputs, context, call)


def _inputs(document: Document, paper: str, title_page: str, call: Call) -> dict[str, str]:
    """Return what the template shows besides the text; as values, so that nothing in them is code."""
    language, *rest = (document.language or "en").lower().split("-")
    region = next((part for part in rest if len(part) == _REGION and part.isalpha()), "")
    cover = title_page == "always" or (title_page == "auto" and document.length > LONG)
    return {
        "title": document.title,
        "description": f"{say('generated', document.language)}: Leadline",
        "about": document.about(call.run.now()),
        "contents": say("contents", document.language),
        "language": language if len(language) in {2, 3} and language.isascii() and language.isalpha() else "en",
        "region": region,
        "east": fitting(_EAST, document.language, "Noto Sans CJK SC"),
        "side": "right" if right_to_left(document.language) else "left",
        "paper": paper,
        "cover": "yes" if cover else "no",
    }
