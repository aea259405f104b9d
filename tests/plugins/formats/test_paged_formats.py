"""PDF, Word, EPUB and LaTeX; for real where the extras are installed."""

from __future__ import annotations

import re
from collections.abc import Callable
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import pytest

from leadline._hosting.catalog import PluginCatalog
from leadline.contracts import Context
from leadline.errors import Unsupported
from leadline.records import Blob, Files, Report
from leadline.testing.context import FakeCall
from leadline_plugins.formats.document import Medium

pytest.importorskip("pypandoc", reason="needs pip install 'leadline[pdf,docx,epub,latex]'")

INJECTION = '#panic("t") #read("/etc/passwd") = no heading \\input{/etc/passwd} $ <x> @y {=typst} "'
Make = Callable[..., Any]


@pytest.fixture
def call(make_call: Make) -> FakeCall:
    made: FakeCall = make_call()
    return made


@pytest.fixture
def write(context: Context, make_report: Make, call: FakeCall) -> Make:
    """Return the first file of a format for a report, or for the usual one with these changes."""

    async def write(name: str, report: Any = None, /, **changes: Any) -> bytes:
        report = report if isinstance(report, Report) else make_report(*([report] if report else []), **changes)
        return await data(maker(name, context), report, call)

    return write


def pdf_text(data: bytes) -> str:
    from pypdfium2 import PdfDocument  # type: ignore[import-untyped]

    document = PdfDocument(data)
    return "\n".join(page.get_textpage().get_text_range() for page in document)


def maker(name: str, context: Context) -> Any:
    if name == "pdf":
        pytest.importorskip("typst", reason="needs pip install 'leadline[pdf]'")
    offered = PluginCatalog.discover().offer("report_formatters", name)
    return offered.create(offered.settings(), context)


async def data(format_: Any, report: Report, call: FakeCall) -> bytes:
    blob = (await format_.format(report, call)).files[0]
    assert isinstance(blob.data, bytes)
    return blob.data


async def test_every_script_shows_and_nothing_is_missing(call: FakeCall, write: Make) -> None:
    text = pdf_text(await write("pdf"))
    for word in ("中文", "日本語", "한국어", "Привет", "Ελλάδα", "How deep?", "Cited Sources", "contradicted"):
        assert word in text
    assert call.run.told == []


@pytest.mark.parametrize("references", [True, False])
async def test_no_sign_of_typst_shows_after_a_mark_or_a_citation(
    context: Context, make_call: Make, make_report: Make, references: bool
) -> None:
    report = make_report("It is deep [@e4]. **So**.list [@e1](x).")
    text = pdf_text(await data(maker("pdf", context), report, make_call(references=references)))
    assert "It is deep [1]≠. So.list [2](x)." in text.replace("≠≠", "≠").replace("\xa0", " ")


async def test_a_character_without_a_glyph_is_replaced_with_a_notice(call: FakeCall, write: Make) -> None:
    text = pdf_text(await write("pdf", "Rare: \u0378 and private \ue000."))
    assert "[U+0378]" in text
    assert "[U+E000]" in text
    (told,) = call.run.told
    assert "U+0378" in told
    assert "fonts-noto" in told


def cut(data: bytes) -> bytes:
    return data[:40]


def with_wrong_checksum(data: bytes) -> bytes:
    end = data.index(b"IEND")
    return data[: end - 5] + bytes([data[end - 5] ^ 255]) + data[end - 4 :]


# Formulas that some converter refuses, and one of many groups in groups.
REFUSED = [r"\sqrt{}", r"\frac{}{}", r"\binom{}{}", r"\sqrt", r"\overbrace{}", r"\mathbb{}", "x^{{}" * 24 + "}" * 24]


async def test_a_formula_that_typst_refuses_costs_that_formula_and_not_the_others(call: FakeCall, write: Make) -> None:
    text = pdf_text(await write("pdf", f"Known: $E = m$. Not: {' or '.join(f'${x}$' for x in REFUSED)}."))
    assert "$" in text  # the deep one is no formula
    assert r"\frac{}{}" in text
    assert r"\overbrace{}" in text
    assert "E = m" not in text  # it is set in the letters of mathematics
    assert call.run.told == ["formulas that could not be set are shown as TeX: 6"]


@pytest.mark.parametrize("name", ["docx", "epub", "latex"])
async def test_no_formula_of_a_page_stops_a_format(write: Make, name: str, make_report: Make) -> None:
    report = make_report(" and ".join(f"${tex}$" for tex in REFUSED))
    assert await write(name, report)


async def test_a_report_that_pandoc_refuses_is_written_with_formulas_as_code(
    call: FakeCall, context: Context, make_report: Make
) -> None:
    from leadline_plugins.formats.pandoc_format import PandocFormat
    from leadline_plugins.formats.tree import formulas

    async def write(tree: Any, context: Context, call: Any) -> Files:
        if [*formulas(tree.blocks)]:
            raise Unsupported("pandoc could not write it: it did not end within 30 s of processor time")
        return Files(files=(Blob(name="x", media_type="text/plain", data=str(tree.blocks).encode()),))

    format_ = PandocFormat(Medium(), write, context)
    assert b"'Code', 'c': [['', [], []], 'E = m']" in await data(format_, make_report("So $E = m$."), call)
    assert call.run.told == ["formulas that could not be set are shown as TeX: 1"]
    with pytest.raises(Unsupported):
        await data(PandocFormat(Medium(), _refuse, context), make_report("Text."), call)


async def _refuse(tree: Any, context: Context, call: Any) -> Files:
    raise Unsupported("pandoc could not write it")


@pytest.mark.parametrize("spoil", [cut, with_wrong_checksum])
async def test_a_broken_picture_costs_that_picture_and_not_the_others(
    call: FakeCall, write: Make, make_report: Make, spoil: Callable[[bytes], bytes]
) -> None:
    report = make_report()
    (good, picture) = report.figures
    broken = picture.model_copy(update={"media": {"image/png": spoil(picture.media["image/png"])}})
    text = pdf_text(await write("pdf", report.model_copy(update={"figures": (broken, good)})))
    assert "How deep?" in text
    assert f"[{broken.alt}]" in text
    assert f"[{good.alt}]" not in text
    assert [told.partition(" could")[0] for told in call.run.told] == ["report.pdf: figure 2"]


async def test_long_words_of_a_table_break_without_a_sign_that_is_copied(write: Make) -> None:
    words = ["an_identifier_of_some_length", "https://example.org/averylongfoldername/page", "read_committed_only"]
    heads = " | ".join(f"Head {n}" for n in range(7))
    table = f"| {heads} |\n{'|---' * 7}|\n| {' | '.join(words)} | {' | '.join(['and more text ' * 9] * 4)} |"
    text = pdf_text(await write("pdf", table))
    said = re.sub(r"\s", "", text)
    assert all(word in said for word in words)
    assert "\u200b" not in text


async def test_a_long_title_is_cut_with_a_sign_above_the_pages(write: Make) -> None:
    text = pdf_text(await write("pdf", "word " * 3000, title="Long title " * 30))
    assert re.search(r"Long[ \w]*…", text)


async def test_the_pdf_has_title_bookmarks_links_and_alt(write: Make) -> None:
    from pypdfium2 import PdfDocument

    made = await write("pdf")
    document = PdfDocument(made)
    assert document.get_metadata_dict()["Title"] == "How deep?"
    assert "Depth" in [item.get_title() for item in document.get_toc()]
    assert b"https://example.org/1" in made
    assert b"/Alt" in made


@pytest.mark.parametrize("name", ["pdf", "docx", "epub", "latex"])
async def test_code_of_a_report_is_text(write: Make, name: str, make_report: Make) -> None:
    report = make_report(f"{INJECTION}\n\n```{{=typst}}\n#panic()\n```\n\n{INJECTION}", title=INJECTION)
    made = await write(name, report)
    if name == "latex":
        assert not re.search(rb"(?<!\\textbackslash)(?<![{a-z])\\input\{", made)
    assert made


async def test_word_has_headings_properties_and_repeated_table_heads(write: Make) -> None:
    import docx

    made = await write("docx")
    word = docx.Document(BytesIO(made))
    assert word.core_properties.title == "How deep?"
    assert next(p.text for p in word.paragraphs if p.style and p.style.name == "Heading 1") == "Depth"
    archive = ZipFile(BytesIO(made))
    xml = archive.read("word/document.xml").decode()
    assert "w:tblHeader" in xml
    assert 'descr="White &quot;all&quot; over"' in xml
    assert "PAGE" in "".join(
        ZipFile(BytesIO(made)).read(n).decode() for n in ZipFile(BytesIO(made)).namelist() if "footer" in n
    )


async def test_word_colours_the_marks_of_claims_that_are_not_borne(write: Make) -> None:
    made = await write("docx")
    xml = ZipFile(BytesIO(made)).read("word/document.xml").decode()
    (run,) = {found for found in re.findall(r"<w:rPr>(?:(?!<w:rPr>).)*?≠", xml) if "Hyperlink" in found}
    assert '<w:color w:val="A3261B"/>' in run
    assert "superscript" not in run


async def test_word_tables_have_styles_fitted_columns_and_space_after(write: Make) -> None:
    import docx
    from docx.oxml.ns import qn

    text = f"| a | some more words |\n|---|---|\n| 1 | 2 |\n\nBehind.\n\n---\n\n|{'h|' * 7}\n|{'-|' * 7}\n|{'c|' * 7}\n"
    made = await write("docx", text)
    word = docx.Document(BytesIO(made))
    narrow, wide = (table for table in word.tables if table._tbl.tblStyle_val == "Table")
    styles = [table.cell(1, 0).paragraphs[0].style for table in (narrow, wide)]
    assert [style.name for style in styles if style] == ["Table Text", "Table Text Smallest"]
    first, second = (int(column.get(qn("w:w"))) for column in narrow._tbl.tblGrid.iter(qn("w:gridCol")))
    assert first * 3 < second
    behind = next(paragraph for paragraph in word.paragraphs if paragraph.text == "Behind.")
    assert behind.paragraph_format.space_before
    assert "v:rect" not in word.element.xml
    assert word.sections[0].header.paragraphs[0].text == "How deep?"
    assert not word.sections[0].first_page_header.paragraphs[0].text


@pytest.mark.parametrize(("language", "turned"), [("ar", True), ("he-IL", True), ("en", False), ("zh-TW", False)])
async def test_word_reads_from_right_to_left_where_the_language_does_but_for_code(
    write: Make, language: str, turned: bool
) -> None:
    import docx
    from docx.oxml.ns import qn

    text = "Text.\n\n`x[1]`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\ncode\n```\n"
    made = await write("docx", text, language=language)
    word = docx.Document(BytesIO(made))
    normal = word.styles["Normal"].element
    paragraph, code, inline = (
        next(p for p in word.paragraphs if p.text == said)._p for said in ("Text.", "code", "x[1]")
    )
    assert (normal.find(f"{qn('w:pPr')}/{qn('w:bidi')}") is not None) is turned
    assert bool(word.styles["Normal"].font.rtl) is turned
    assert [child.tag for child in word.sections[0]._sectPr].count(qn("w:bidi")) == turned
    for table in word.tables:
        assert (table._tbl.tblPr.find(qn("w:bidiVisual")) is not None) is turned
    assert bool(list(paragraph.iter(qn("w:bidi")))) is turned
    assert bool(list(paragraph.iter(qn("w:rtl")))) is turned
    assert not list(code.iter(qn("w:bidi"), qn("w:rtl")))
    assert not list(inline.iter(qn("w:rtl")))
    order = [child.tag.rpartition("}")[2] for child in normal.find(qn("w:pPr"))]
    assert not turned or order.index("bidi") < order.index("spacing")


@pytest.mark.parametrize(
    ("language", "east", "complex_"),
    [
        ("zh-TW", "Microsoft JhengHei", "Arial"),
        ("zh-CN", "Microsoft YaHei", "Arial"),
        ("ja", "Yu Gothic", "Arial"),
        ("hi", "Microsoft YaHei", "Nirmala UI"),
    ],
)
async def test_word_names_fonts_of_the_language(write: Make, language: str, east: str, complex_: str) -> None:
    import docx
    from docx.oxml.ns import qn

    made = await write("docx", "Text.", language=language)
    for name in ("Normal", "Heading 1", "Table Text"):
        form = docx.Document(BytesIO(made)).styles[name].element.rPr
        assert form.rFonts.get(qn("w:eastAsia")) == east
        assert form.rFonts.get(qn("w:cs")) == complex_
        assert form.find(qn("w:szCs")).get(qn("w:val")) == form.sz.get(qn("w:val"))


async def test_epub_and_latex_have_the_direction(write: Make, make_report: Make) -> None:
    report = make_report("Text.", language="ar")
    book = ZipFile(BytesIO(await write("epub", report)))
    assert any(b'page-progression-direction="rtl"' in book.read(name) for name in book.namelist())
    assert b"bidi" in await write("latex", report)


async def test_the_book_holds_quotes_and_formulas(context: Context, make_call: Make, make_report: Make) -> None:
    book = ZipFile(BytesIO(await data(maker("epub", context), make_report(), make_call(passages=True))))
    assert book.infolist()[0].filename == "mimetype"
    text = "".join(book.read(name).decode() for name in book.namelist() if name.endswith("xhtml"))
    assert "Passage 1." in text
    assert "<math" in text
    assert "a.citation" in book.read("EPUB/styles/stylesheet1.css").decode()


async def test_latex_brings_its_pictures(context: Context, make_call: Make, make_report: Make) -> None:
    files = (await maker("latex", context).format(make_report(), make_call())).files
    assert [file.name for file in files] == ["report.tex", "figures/figure-1.png", "figures/figure-2.png"]
    assert b"figures/figure-2.png" in files[0].data


async def test_a_long_word_file_has_a_table_of_contents_with_links(write: Make) -> None:
    import docx
    from docx.oxml.ns import qn

    body = "\n\n".join(f"### Part {n}\n\n{'Deep water and long piers. ' * 120}" for n in range(7))
    for text, listed in ((body, 7), ("Short.", 0)):
        made = await write("docx", text)
        word = docx.Document(BytesIO(made))
        fields = [one for one in word.element.body.iter(qn("w:instrText")) if "TOC" in (one.text or "")]
        links = list(word.element.body.iter(qn("w:hyperlink")))
        texts = ["".join(part.text or "" for part in one.iter(qn("w:t"))) for one in links]
        assert bool(fields) is bool(listed)
        assert sum(text.startswith("Part ") for text in texts) == listed
        names = {one.get(qn("w:name")) for one in word.element.body.iter(qn("w:bookmarkStart"))}
        contents = [one for one, text in zip(links, texts, strict=True) if text.startswith("Part ")]
        assert {one.get(qn("w:anchor")) for one in contents} <= names
