"""Files of each format, made here: the suite depends on no data but its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

W = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
)
STYLES = "".join(
    f'<w:style w:styleId="{name.replace(" ", "")}"><w:name w:val="{name}"/></w:style>'
    for name in ("Title", "heading 1", "heading 2", "Source Code", "Definition Term", "Definition", "Block Text")
)
LISTS = """<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val="•"/></w:lvl>
<w:lvl w:ilvl="1"><w:numFmt w:val="decimal"/><w:lvlText w:val="%2."/></w:lvl></w:abstractNum>
<w:abstractNum w:abstractNumId="2"><w:lvl w:ilvl="0"><w:numFmt w:val="upperRoman"/><w:lvlText w:val="%1."/></w:lvl>
<w:lvl w:ilvl="1"><w:numFmt w:val="decimal"/><w:lvlText w:val="§ %2"/></w:lvl></w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="2"/></w:num>"""


def make_paragraph(text: str, style: str = "", level: int | None = None) -> str:
    """Return a paragraph in a style, or of a list at a level."""
    named = f'<w:pStyle w:val="{style.replace(" ", "")}"/>' if style else ""
    listed = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="1"/></w:numPr>' if level is not None else ""
    return f"<w:p><w:pPr>{named}{listed}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def make_word_file(body: str, parts: Mapping[str, str] = {}) -> bytes:
    """Return a Word file with this body, and with other parts."""
    data = BytesIO()
    with ZipFile(data, "w", ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", f"<w:document {W}><w:body>{body}</w:body></w:document>")
        archive.writestr("word/styles.xml", f"<w:styles {W}>{STYLES}</w:styles>")
        archive.writestr("word/numbering.xml", f"<w:numbering {W}>{LISTS}</w:numbering>")
        for name, content in parts.items():
            archive.writestr(name, content)
    return data.getvalue()


def make_word(title: str, paragraphs: Sequence[str], table: Sequence[Sequence[str]] = ()) -> bytes:
    """Return a Word file: title, the first paragraph, the table, the other paragraphs."""
    cells = ["".join(f"<w:tc>{make_paragraph(text)}</w:tc>" for text in row) for row in table]
    grid = f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in cells)}</w:tbl>" if table else ""
    first, *rest = map(make_paragraph, paragraphs)
    return make_word_file(make_paragraph(title, "Title") + first + grid + "".join(rest))


@pytest.fixture
def word() -> Callable[..., bytes]:
    return make_word


@pytest.fixture
def word_file() -> Callable[..., bytes]:
    return make_word_file


@pytest.fixture
def paragraph() -> Callable[..., str]:
    return make_paragraph
