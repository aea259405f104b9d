"""Tables of a Word file: rules between rows, a bold head, text in named styles by the number of columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from leadline_plugins.formats.tables import ems

INK, RULE = "1C1B19", "C9C3B6"
_TEXTS = {"Table Text": 9.0, "Table Text Small": 8.0, "Table Text Smallest": 7.0}
"""Styles of what stands in cells, in points: up to 4 columns, up to 6, and more."""
_CHARACTER, _MARGINS = 100, 220
"""Twips of a character at 9 points, and of both margins of a cell."""
_SPACE = 10
"""Points between a table and what follows it."""


def add_styles(word: Any, font: Callable[[Any, float], None]) -> None:
    """Give Pandoc's table style its look, and add the styles of the text in cells; `font` sets family and size."""
    from docx.enum.style import WD_STYLE_TYPE
    from docx.shared import Pt

    for name, size in _TEXTS.items():
        style = word.styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH)
        style.base_style = word.styles["Normal"]
        font(style, size)
        form = style.paragraph_format
        form.space_before = form.space_after = Pt(0)
        form.line_spacing = 1.1
    _rules(word.styles["Table"].element)


def _rules(style: Any) -> None:
    from docx.oxml import parse_xml
    from docx.oxml.ns import nsdecls

    for old in list(style)[1:]:
        if old.tag.endswith(("}tblPr", "}tblStylePr")):
            style.remove(old)
    line = f'w:val="single" w:sz="4" w:space="0" w:color="{RULE}"'
    thick = f'w:val="single" w:sz="8" w:space="0" w:color="{INK}"'
    parts = (
        f"<w:tblPr {nsdecls('w')}><w:tblBorders><w:top {thick}/><w:bottom {thick}/><w:insideH {line}/></w:tblBorders>"
        '<w:tblCellMar><w:top w:w="50" w:type="dxa"/><w:left w:w="80" w:type="dxa"/><w:bottom w:w="50" w:type="dxa"/>'
        '<w:right w:w="80" w:type="dxa"/></w:tblCellMar></w:tblPr>',
        f'<w:tblStylePr {nsdecls("w")} w:type="firstRow"><w:rPr><w:b/><w:bCs/></w:rPr><w:tblPr/><w:tcPr><w:tcBorders>'
        f"<w:bottom {thick}/></w:tcBorders></w:tcPr></w:tblStylePr>",
    )
    for part in parts:
        style.append(parse_xml(part))


def set_table(table: Any) -> None:
    """Set a table: text by its number of columns, rows whole across pages, columns by their text, room behind it."""
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    for row in table._tbl.iter(qn("w:tr")):
        row.get_or_add_trPr().append(OxmlElement("w:cantSplit"))
    if table._tbl.tblStyle_val != "Table":
        return  # Pandoc's frame around a figure
    small, smaller, smallest = _TEXTS
    name = small if len(table.columns) <= 4 else smaller if len(table.columns) <= 6 else smallest
    style = table.part.document.styles[name].style_id  # looked up by a search: once, not for each cell
    for paragraph in table._tbl.iter(qn("w:p")):
        paragraph.style = style
    if table._tbl.tblPr.find(qn("w:tblLayout")) is None:
        _fit(table)
    _space_behind(table)


def _fit(table: Any) -> None:
    """Make the columns of a small table as wide as their text: without widths some programs make them all equal."""
    from docx.oxml.ns import qn

    rows = [[_said(cell) for cell in row.iter(qn("w:tc"))] for row in table._tbl.iter(qn("w:tr"))]
    for column, texts in zip(table._tbl.tblGrid.iter(qn("w:gridCol")), zip(*rows, strict=True), strict=True):
        column.set(qn("w:w"), str(int(_MARGINS + _CHARACTER * max(map(ems, texts)))))


def _said(cell: Any) -> str:
    from docx.oxml.ns import qn

    return "".join(part.text or "" for part in cell.iter(qn("w:t")))


def _space_behind(table: Any) -> None:
    """Give the paragraph behind a table room; headings have it."""
    from docx.oxml.ns import qn
    from docx.shared import Pt
    from docx.text.paragraph import Paragraph

    after = next((item for item in table._tbl.itersiblings() if item.tag in (qn("w:p"), qn("w:tbl"))), None)
    if after is None or after.tag == qn("w:tbl"):
        return
    paragraph = Paragraph(after, table._parent)
    if paragraph.style and not str(paragraph.style.name).startswith("Heading"):
        paragraph.paragraph_format.space_before = Pt(_SPACE)
