"""The plugin `pdf`: the report as pages for print, set by Typst, and the parser of PDF files."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pydantic import Field

from leadline.contracts import Call, Context
from leadline.errors import ConfigError, Unsupported
from leadline.plugin import Limits, PluginSettings, parser, report_formatter
from leadline.records import Blob, Files, Report
from leadline_plugins.formats.arrangement import arranged
from leadline_plugins.formats.document import Document, Medium
from leadline_plugins.formats.figures import numbered
from leadline_plugins.formats.house_style import check_prelude, file_fault, report_name
from leadline_plugins.formats.pandoc import write
from leadline_plugins.formats.pandoc_format import build_document, notice_of_formulas
from leadline_plugins.formats.tree import formulas, para, text, with_code, words
from leadline_plugins.formats.typst import (
    compile_typst,
    glyph_candidates,
    lacks_glyphs,
    missing_glyphs,
    picture_source,
    private_use,
    probe_source,
    typst_blocks,
    with_code_points,
)
from leadline_plugins.parse.pdf import PdfParser
from leadline_plugins.wording.phrases import for_language, phrase, right_to_left

EXTRA = "leadline[pdf]"
MEDIUM = Medium(columns=10, inline=False)
NO_PICTURE = "report.pdf: figure {number} could not be set; its description replaces it ({error})"
NO_GLYPHS = "report.pdf: signs in a formula or composed character have no glyph in the fonts; boxes replace them"
_EAST = {"ja": "Noto Sans CJK JP", "ko": "Noto Sans CJK KR", "zh-hk": "Noto Sans CJK HK", "zh-hant": "Noto Sans CJK TC"}
_SAMPLE = b'= Heading\n- item\n#link("https://example.org")[link] #table([cell]) #quote(block: true)[quote]\n'
# Characters without a glyph that the notice names.
_NAMED = 8


class PdfSettings(PluginSettings):
    """Settings of the pages."""

    authority = {"prelude": "Typst code"}

    paper: Literal["a4", "us-letter"] = Field("a4", description="Paper size: a4, us-letter.")
    title_page: Literal["auto", "always", "never"] = Field(
        "auto", description="A page of its own for answer and contents: auto (for long reports), always, never."
    )
    prelude: Path | None = Field(
        None, description="a Typst file that defines logo, accent, font, heading-font, style, head"
    )


@dataclass(frozen=True)
class Pages:
    """A PDF, the characters without a glyph in any font, and whether all glyphs show now."""

    pdf: bytes
    missing: str
    complete: bool


@report_formatter(
    "Pages for print: contents, bookmarks, page numbers, every script",
    settings=PdfSettings,
    ready=lambda settings: file_fault("pdf.prelude", settings.prelude, ".typ", check_prelude),
    requires=tuple(f"{module}={EXTRA}" for module in ("pypandoc", "typst", "manimgx_fonts", "manimgx_fonts_cjk")),
    cache_key=None,
    limits=Limits(at_once=2, timeout=120),
)
class Pdf:
    """Renders PDF with Typst."""

    def __init__(self, settings: PdfSettings, context: Context) -> None:
        self._settings = settings
        self._context = context

    async def format(self, report: Report, call: Call, /) -> Files:
        """Return `report.pdf`; a notice names the characters that no font has. Raises `ConfigError` for the prelude."""
        report = arranged(report)
        tree = await build_document(report, MEDIUM, self._context, call)
        try:
            pages = await self._pages(tree, call)
        except Unsupported:
            await self._check_prelude(tree, call)
            # One broken picture or formula fails the whole report, and Typst does not always name it.
            broken = await self._broken_pictures(report, tree, call)
            unset = await self._unset_formulas(formulas(tree.blocks), tree, call)
            if not broken and not unset:
                raise
            tree = await build_document(_without_pictures(report, broken), MEDIUM, self._context, call)
            pages = await self._pages(replace(tree, blocks=with_code(tree.blocks, unset.__contains__)), call)
            if unset:
                await notice_of_formulas(call, len(unset))
            for number, error in broken.items():
                await call.run.emit("notice", {"message": NO_PICTURE.format(number=number, error=error)})
        if pages.missing:
            await call.run.emit("notice", {"message": missing_notice(pages.missing)})
        if not pages.complete:
            await call.run.emit("notice", {"message": NO_GLYPHS})
        return Files(
            files=(Blob(name=report_name(self._context, "pdf"), media_type="application/pdf", data=pages.pdf),)
        )

    async def _pages(self, tree: Document, call: Call) -> Pages:
        return await typeset(tree, self._settings, self._context, call)

    async def _check_prelude(self, tree: Document, call: Call) -> None:
        """Raise `ConfigError` if Typst cannot set a small report with the prelude."""
        if self._settings.prelude:
            try:
                await compile_typst(_SAMPLE, (), _inputs(tree, self._settings, call), self._context, call)
            except Unsupported as error:
                raise ConfigError(f"plugins.pdf.prelude: {self._settings.prelude}: {error}") from None

    async def _unset_formulas(self, tried: list[str], tree: Document, call: Call) -> list[str]:
        """Return the formulas that Typst cannot set, which are looked for by halves."""
        blocks = [para([{"t": "Math", "c": [{"t": "InlineMath"}, tex]}]) for tex in tried]
        trial = replace(tree, blocks=blocks, title="", files=())
        try:
            await _compile(trial, _plain(_inputs(trial, self._settings, call)), self._context, call)
        except Unsupported:
            if len(tried) <= 1:
                return tried
            halves = tried[: len(tried) // 2], tried[len(tried) // 2 :]
            return [formula for half in halves for formula in await self._unset_formulas(half, tree, call)]
        return []

    async def _broken_pictures(self, report: Report, tree: Document, call: Call) -> dict[int, str]:
        """Return the errors of the pictures that Typst cannot set alone, by the numbers of their figures."""
        inputs = _plain(_inputs(tree, self._settings, call))
        broken: dict[int, str] = {}
        for item in numbered(report, MEDIUM.pictures).values():
            if item.file is None:
                continue
            try:
                await compile_typst(picture_source(item.file.name), (item.file,), inputs, self._context, call)
            except Unsupported as error:
                broken[item.number] = str(error)
        return broken


def _without_pictures(report: Report, numbers: Container[int]) -> Report:
    """Return a report in which the figures of these numbers have no pictures."""
    figures = (
        figure.model_copy(update={"media": {}}) if number in numbers else figure
        for number, figure in enumerate(report.figures, start=1)
    )
    return report.model_copy(update={"figures": tuple(figures)})


def _plain(inputs: dict[str, str]) -> dict[str, str]:
    """Return the inputs of a document that only tries something."""
    return {**inputs, "title": "", "about": "", "cover": "no"}


def missing_notice(characters: str) -> str:
    """Return a notice that names the characters without a glyph and the packages to install."""
    named = " ".join(f"{character} (U+{ord(character):04X})" for character in characters[:_NAMED])
    more = " …" if len(characters) > _NAMED else ""
    return (
        f"report.pdf: no installed font has {named}{more}; their code points replace them. Install a font with them "
        "(Debian: fonts-noto-core, fonts-noto-extra; fonts-noto-cjk-extra for rare Chinese) and render again"
    )


async def typeset(document: Document, settings: PdfSettings, context: Context, call: Call) -> Pages:
    """Set a document, twice if a character has no glyph. Raises `Unsupported` if Typst fails."""
    content = document.title + text(document.blocks)
    document = await context.in_thread(_with_code_points, document, private_use(content))
    inputs = _inputs(document, settings, call)
    pdf = await _compile(document, inputs, context, call)
    if not await context.in_thread(lacks_glyphs, pdf):
        return Pages(pdf, "", complete=True)
    characters = glyph_candidates(document.title + text(document.blocks))
    probe = await compile_typst(probe_source(characters), (), _plain(inputs), context, call)
    missing = missing_glyphs(characters, probe)
    document = await context.in_thread(_with_code_points, document, missing)
    pdf = await _compile(document, {**inputs, "title": document.title}, context, call)
    return Pages(pdf, "".join(sorted(missing)), complete=not await context.in_thread(lacks_glyphs, pdf))


def _with_code_points(document: Document, characters: set[str]) -> Document:
    if not characters:
        return document
    note = para([{"t": "Emph", "c": words(phrase("unset", document.language))}])
    blocks = [*with_code_points(document.blocks, characters), note]
    return replace(document, blocks=blocks, title=with_code_points(document.title, characters))


async def _compile(document: Document, inputs: dict[str, str], context: Context, call: Call) -> bytes:
    blocks = typst_blocks(document.blocks, document.answer if inputs["cover"] == "yes" else None)
    body = await write(list(blocks), {}, "typst", call, "--wrap=none")
    return await compile_typst(body, document.files, inputs, context, call)


def _inputs(document: Document, settings: PdfSettings, call: Call) -> dict[str, str]:
    """Return the template's inputs besides the text; they are values, so that Typst runs none of them as code."""
    language, *rest = (document.language or "en").lower().split("-")
    cover = settings.title_page == "always" or (settings.title_page == "auto" and document.is_long)
    return {
        "title": document.title,
        "description": f"{phrase('generated', document.language)}: Leadline",
        "about": document.about(call.run.now()),
        "contents": phrase("contents", document.language),
        "depth": str(document.depth),
        "language": language if len(language) in {2, 3} and language.isascii() and language.isalpha() else "en",
        "region": next((part for part in rest if len(part) == 2 and part.isalpha()), ""),
        "east": for_language(_EAST, document.language, "Noto Sans CJK SC"),
        "side": "right" if right_to_left(document.language) else "left",
        "paper": settings.paper,
        "prelude": str(settings.prelude.expanduser()) if settings.prelude else "",
        "cover": "yes" if cover else "no",
    }


@parser("Text of PDF files, and of pictures with tesseract", settings=PdfSettings, work="local", cache_key=())
def _parser() -> PdfParser:
    return PdfParser()
