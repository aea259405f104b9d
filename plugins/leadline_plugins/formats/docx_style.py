"""Styles of a Word file: fonts, headings, tables, page numbers, writing direction. Imports python-docx."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import docx
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import OxmlElement, parse_xml
from docx.oxml.ns import nsdecls, qn
from docx.shared import Mm, Pt, RGBColor
from docx.text.paragraph import Paragraph
from docx.text.run import Run

from leadline.rendering import VERDICTS
from leadline_plugins.formats.blocks import ems
from leadline_plugins.wording.phrases import for_language, right_to_left

# The styles of the entries, by the level of the heading; deeper headings are not listed.
CONTENTS = ("toc 1", "toc 2")


def fill_contents(word: Any, depth: int) -> None:
    """Put a link to each heading between the start and the end of the field; nothing without a field."""
    ends = [field for field in word.element.body.iter(qn("w:fldChar")) if field.get(qn("w:fldCharType")) == "separate"]
    if not ends:
        return
    run = ends[0].getparent()
    paragraph = run.getparent()
    close = _paragraph()
    last = OxmlElement("w:r")
    # What follows the separator, the end of the field, goes after the entries.
    for part in list(run)[list(run).index(ends[0]) + 1 :]:
        last.append(part)
    close.append(last)
    paragraph.addnext(close)
    for level, text, anchor in _headings(word, depth):
        entry = _paragraph()
        close.addprevious(entry)
        Paragraph(entry, word).style = word.styles[CONTENTS[level - 1]]
        entry.append(_link(text, anchor))


def _headings(word: Any, depth: int) -> list[tuple[int, str, str]]:
    """Return the level, text and bookmark of each heading that is listed."""
    headings = []
    for paragraph in word.paragraphs:
        name = paragraph.style.name if paragraph.style else ""
        level = int(name[-1]) if name.startswith("Heading ") and name[-1].isdigit() else 0
        before = paragraph._p.getprevious()
        while before is not None and before.tag == qn("w:bookmarkEnd"):
            before = before.getprevious()
        if 0 < level <= depth and before is not None and before.tag == qn("w:bookmarkStart"):
            headings.append((level, paragraph.text, before.get(qn("w:name"))))
    return headings


def _paragraph() -> Any:
    return OxmlElement("w:p")


def _link(text: str, anchor: str) -> Any:
    link, run, content = OxmlElement("w:hyperlink"), OxmlElement("w:r"), OxmlElement("w:t")
    link.set(qn("w:anchor"), anchor)
    content.text = text
    run.append(content)
    link.append(run)
    return link


_BODY, _HEAD, _MONO = "Cambria", "Calibri", "Consolas"
_INK, _RULE, _FAINT, _ACCENT, _GROUND, _BAD, _PART = (
    RGBColor.from_string(color) for color in ("1C1B19", "C9C3B6", "6A665E", "0B4F6C", "F6F3EC", "A3261B", "8A6100")
)
_BAD_SIGNS = [form.sign for form in VERDICTS.values() if form.tone == "bad"]
# Fonts of Word and its systems: a style names one for Latin letters, one for CJK, one for the complex scripts.
_EAST = {"zh": "Microsoft YaHei", "zh-hant": "Microsoft JhengHei", "ja": "Yu Gothic", "ko": "Malgun Gothic"}
_INDIA = ("as", "bn", "gu", "hi", "kn", "ml", "mr", "ne", "or", "pa", "sa", "si", "ta", "te")
_COMPLEX = dict.fromkeys(_INDIA, "Nirmala UI") | dict.fromkeys(("th", "lo", "km"), "Leelawadee UI")
# Size, space above and below, in points.
_HEADINGS = {"Heading 1": (16, 24, 8), "Heading 2": (13, 16, 6), "Heading 3": (11.5, 12, 4), "Heading 4": (11, 10, 4)}
_TEXTS = {"Normal": 10.5, "Body Text": 10.5, "First Paragraph": 10.5, "Compact": 10.5, "Block Text": 10.5}
_SMALL = {"Image Caption": 9, "Table Caption": 9, "Footnote Text": 9, "Caption": 9}
_EDGES = {"Header": 8.5, "Footer": 8.5}
# Styles of the text in cells, in points: up to 4 columns, up to 6, and more.
_CELL_TEXTS = {"Table Text": 9.0, "Table Text Small": 8.0, "Table Text Smallest": 7.0}
# Twips of a character at 9 points, and of both margins of a cell.
_CHARACTER, _MARGINS = 100, 220
# Points between a table and the next paragraph.
_TABLE_SPACE = 10
# Characters of the title that fit the header of a page.
_HEADER = 90
# Prefix of the anchors that marks at claims link to.
_CHECK = "check-"
_OFFICE_RULE = "{urn:schemas-microsoft-com:vml}rect"
# Word requires the properties of a paragraph in order: these come before borders and grounds, and after the direction.
_FIRST = [qn(f"w:{name}") for name in ("pStyle", "keepNext", "keepLines", "pageBreakBefore", "widowControl", "numPr")]
_LAST_NAMES = (
    "adjustRightInd snapToGrid spacing ind contextualSpacing mirrorIndents suppressOverlap jc textDirection "
    "textAlignment textboxTightWrap outlineLvl divId cnfStyle rPr sectPr pPrChange"
)
_LAST = tuple(f"w:{name}" for name in _LAST_NAMES.split())


def styled(data: bytes, title: str, language: str, depth: int = 2) -> bytes:
    """Return a Word file that Pandoc wrote, styled as a report; `depth` is the deepest level of its contents."""
    word: Any = docx.Document(BytesIO(data))
    _Styles(word.styles, language).set_all()
    fill_contents(word, depth)
    for table in word.tables:
        _set_table(table)
    _replace_breaks(word)
    _color_marks(word)
    if right_to_left(language):
        _set_right_to_left(word)
    for section in word.sections:
        section.page_width, section.page_height = Mm(210), Mm(297)
        section.left_margin = section.right_margin = Mm(26)
        section.top_margin = section.bottom_margin = Mm(25)
        _set_header(section, title)
        for footer in (section.footer, section.first_page_footer):
            _add_page_number(footer)
        _limit_pictures(word, section.page_width - section.left_margin - section.right_margin)
    word.core_properties.title = title[:255]
    word.core_properties.author = word.core_properties.last_modified_by = "Leadline"
    word.core_properties.language = language
    out = BytesIO()
    word.save(out)
    return out.getvalue()


class _Styles:
    """The styles of a file, and the fonts of its language."""

    def __init__(self, styles: Any, language: str) -> None:
        self._styles = styles
        self._east = for_language(_EAST, language, _EAST["zh"])
        self._complex = for_language(_COMPLEX, language, "Arial")

    def set_all(self) -> None:
        self._set_texts()
        self._set_headings()
        self._set_tables()
        self._set_boxes()

    def _set_texts(self) -> None:
        styles = self._styles
        for name, size in (_TEXTS | _SMALL).items():
            if name in styles:
                self._set_font(styles[name], _BODY if name in _TEXTS else _HEAD, size)
        for name in ("Body Text", "First Paragraph", "Normal"):
            form = styles[name].paragraph_format
            form.line_spacing, form.space_before, form.space_after = 1.25, Pt(0), Pt(8)
        for name, size in _EDGES.items():
            if name not in styles:
                styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH).base_style = styles["Normal"]
            self._set_font(styles[name], _HEAD, size)
        for name in ("Image Caption", "Caption", *_EDGES):
            if name in styles:
                styles[name].font.color.rgb = _FAINT
        if "Verbatim Char" in styles:
            self._set_font(styles["Verbatim Char"], _MONO, 9)
        if "Hyperlink" in styles:
            styles["Hyperlink"].font.color.rgb = _ACCENT

    def _set_headings(self) -> None:
        styles = self._styles
        for name, (size, above, below) in _HEADINGS.items():
            self._set_heading(styles[name], size, _INK)
            styles[name].font.italic = False
            form = styles[name].paragraph_format
            form.space_before, form.space_after, form.keep_with_next = Pt(above), Pt(below), True
        self._set_heading(styles["Title"], 24, _INK)
        self._set_heading(styles["Subtitle"], 10, _FAINT, bold=False)
        styles["Title"].paragraph_format.alignment = styles["Subtitle"].paragraph_format.alignment = 0
        for spacing in styles["Subtitle"].element.rPr.findall(qn("w:spacing")):
            styles["Subtitle"].element.rPr.remove(spacing)
        if "TOC Heading" in styles:
            self._set_heading(styles["TOC Heading"], _HEADINGS["Heading 1"][0], _INK)
        for level, name in enumerate(CONTENTS):
            style = styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH, builtin=True)
            style.base_style = styles["Normal"]
            form = style.paragraph_format
            form.line_spacing, form.space_before, form.space_after = 1.1, Pt(0), Pt(3)
            form.left_indent = Mm(6) * level
        styles["Compact"].paragraph_format.space_before = styles["Compact"].paragraph_format.space_after = Pt(1)

    def _set_heading(self, style: Any, size: float, color: RGBColor, *, bold: bool = True) -> None:
        self._set_font(style, _HEAD, size)
        style.font.bold = style.font.cs_bold = bold  # Word keeps it separately for the complex scripts
        style.font.color.rgb = color

    def _set_font(self, style: Any, name: str, size: float) -> None:
        """Set the fonts of a style, and their size in points."""
        style.font.name, style.font.size = name, Pt(size)
        form = style.element.get_or_add_rPr()
        fonts = form.get_or_add_rFonts()
        for theme in ("asciiTheme", "hAnsiTheme", "eastAsiaTheme", "cstheme"):
            fonts.attrib.pop(qn(f"w:{theme}"), None)
        fonts.set(qn("w:eastAsia"), self._east)
        fonts.set(qn("w:cs"), self._complex)
        points = form.find(qn("w:szCs"))
        if points is None:
            points = OxmlElement("w:szCs")
            form.sz.addnext(points)
        points.set(qn("w:val"), form.sz.get(qn("w:val")))

    def _set_tables(self) -> None:
        """Set the rules of Pandoc's table style, and add the styles of the text in cells."""
        for name, size in _CELL_TEXTS.items():
            style = self._styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH)
            style.base_style = self._styles["Normal"]
            self._set_font(style, _HEAD, size)
            form = style.paragraph_format
            form.space_before = form.space_after = Pt(0)
            form.line_spacing = 1.1
        table = self._styles["Table"].element
        for old in list(table)[1:]:
            if old.tag.endswith(("}tblPr", "}tblStylePr")):
                table.remove(old)
        thin = f'w:val="single" w:sz="4" w:space="0" w:color="{_RULE}"'
        thick = f'w:val="single" w:sz="8" w:space="0" w:color="{_INK}"'
        sides = (("top", 50), ("left", 80), ("bottom", 50), ("right", 80))
        margins = "".join(f'<w:{side} w:w="{width}" w:type="dxa"/>' for side, width in sides)
        table.append(
            parse_xml(
                f"<w:tblPr {nsdecls('w')}><w:tblBorders><w:top {thick}/><w:bottom {thick}/><w:insideH {thin}/>"
                f"</w:tblBorders><w:tblCellMar>{margins}</w:tblCellMar></w:tblPr>"
            )
        )
        table.append(
            parse_xml(
                f'<w:tblStylePr {nsdecls("w")} w:type="firstRow"><w:rPr><w:b/><w:bCs/></w:rPr><w:tblPr/><w:tcPr>'
                f"<w:tcBorders><w:bottom {thick}/></w:tcBorders></w:tcPr></w:tblStylePr>"
            )
        )

    def _set_boxes(self) -> None:
        """Set a line at the left of quotations, and a ground below code."""
        line = f'<w:left w:val="single" w:sz="12" w:space="8" w:color="{_RULE}"/>'
        marks = {
            "Block Text": f"<w:pBdr {nsdecls('w')}>{line}</w:pBdr>",
            "Source Code": f'<w:shd {nsdecls("w")} w:val="clear" w:color="auto" w:fill="{_GROUND}"/>',
        }
        for name, mark in marks.items():
            if name in self._styles:
                form = self._styles[name].element.get_or_add_pPr()
                form.insert(sum(child.tag in _FIRST for child in form), parse_xml(mark))


def _set_table(table: Any) -> None:
    """Keep rows whole across pages, and set the text by the number of columns and the columns by their text."""
    for row in table._tbl.iter(qn("w:tr")):
        row.get_or_add_trPr().append(OxmlElement("w:cantSplit"))
    if table._tbl.tblStyle_val != "Table":
        return  # Pandoc's frame around a figure
    small, smaller, smallest = _CELL_TEXTS
    name = small if len(table.columns) <= 4 else smaller if len(table.columns) <= 6 else smallest
    style = table.part.document.styles[name].style_id  # a slow search: once, not for each cell
    for paragraph in table._tbl.iter(qn("w:p")):
        paragraph.style = style
    if table._tbl.tblPr.find(qn("w:tblLayout")) is None:
        _fit_columns(table)
    after = next((item for item in table._tbl.itersiblings() if item.tag in (qn("w:p"), qn("w:tbl"))), None)
    if after is not None and after.tag == qn("w:p"):
        paragraph = Paragraph(after, table._parent)
        if paragraph.style and not str(paragraph.style.name).startswith("Heading"):
            paragraph.paragraph_format.space_before = Pt(_TABLE_SPACE)


def _fit_columns(table: Any) -> None:
    """Make the columns of a small table as wide as their text; without widths some programs make them equal."""
    rows = [
        ["".join(part.text or "" for part in cell.iter(qn("w:t"))) for cell in row.iter(qn("w:tc"))]
        for row in table._tbl.iter(qn("w:tr"))
    ]
    for column, texts in zip(table._tbl.tblGrid.iter(qn("w:gridCol")), zip(*rows, strict=True), strict=True):
        column.set(qn("w:w"), str(int(_MARGINS + _CHARACTER * max(map(ems, texts)))))


def _replace_breaks(word: Any) -> None:
    """Replace Pandoc's thematic breaks, which are thick bars, by a short thin line."""
    line = f'<w:pBdr {nsdecls("w")}><w:bottom w:val="single" w:sz="4" w:space="1" w:color="{_RULE}"/></w:pBdr>'
    for bar in list(word.element.body.iter(_OFFICE_RULE)):
        run = bar.getparent().getparent()
        paragraph = run.getparent()
        if run.tag == qn("w:r") and paragraph.tag == qn("w:p"):
            paragraph.remove(run)
            paragraph.get_or_add_pPr().append(parse_xml(line))
            form = Paragraph(paragraph, word).paragraph_format
            form.left_indent = form.right_indent = Mm(55)


def _color_marks(word: Any) -> None:
    """Color the marks at claims, which otherwise look like footnotes."""
    for link in word.element.body.iter(qn("w:hyperlink")):
        if not link.get(qn("w:anchor"), "").startswith(_CHECK):
            continue
        for element in link.iter(qn("w:r")):
            run = Run(element, word)
            if run.font.superscript:
                run.font.superscript, run.font.bold = None, True
                run.font.color.rgb = _BAD if run.text in _BAD_SIGNS else _PART


def _set_header(section: Any, title: str) -> None:
    """Set the title above all pages but the first, which shows it in large type."""
    section.different_first_page_header_footer = True
    section.header.paragraphs[0].text = title if len(title) <= _HEADER else f"{title[:_HEADER].rstrip()}…"


def _add_page_number(footer: Any) -> None:
    paragraph = footer.paragraphs[0]
    paragraph.alignment = 1
    for kind, content in (("begin", ""), ("", "PAGE"), ("end", "")):
        element = OxmlElement("w:fldChar" if kind else "w:instrText")
        if kind:
            element.set(qn("w:fldCharType"), kind)
        else:
            element.text = content
        paragraph.add_run()._r.append(element)


def _limit_pictures(word: Any, width: int) -> None:
    """Reduce pictures that are wider than the text."""
    for shape in word.inline_shapes:
        if shape.width > width:
            shape.height = int(shape.height * width / shape.width)
            shape.width = width


def _set_right_to_left(word: Any) -> None:
    """Set styles, tables and pages from right to left, but not code. Pandoc marks the other paragraphs and runs."""
    styles = word.styles
    _set_direction(styles["Normal"])
    styles["Normal"].font.rtl = True
    for name, tag in (("Source Code", "w:p"), ("Verbatim Char", "w:r")):
        if name in styles:
            styles[name].font.rtl = False
            for part in word.element.body.iter(qn(tag)):
                if part.style == styles[name].style_id:
                    for mark in [*part.iter(qn("w:bidi"), qn("w:rtl"))]:
                        mark.getparent().remove(mark)
    if "Source Code" in styles:
        _set_direction(styles["Source Code"], "0")
    for form in word.element.body.iter(qn("w:tblPr")):
        before = sum(child.tag in (qn("w:tblStyle"), qn("w:tblpPr"), qn("w:tblOverlap")) for child in form)
        form.insert(before, OxmlElement("w:bidiVisual"))
    for section in word.sections:
        grid = section._sectPr.find(qn("w:docGrid"))
        mark = OxmlElement("w:bidi")
        section._sectPr.append(mark) if grid is None else grid.addprevious(mark)


def _set_direction(style: Any, value: str = "") -> None:
    mark = OxmlElement("w:bidi")
    if value:
        mark.set(qn("w:val"), value)
    style.element.get_or_add_pPr().insert_element_before(mark, *_LAST)
