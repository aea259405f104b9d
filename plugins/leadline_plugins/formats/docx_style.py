"""What `assets/report.docx`, whose styles Pandoc uses, cannot set: fonts by language, tables, marks, writing direction.

Imports python-docx.
"""

from __future__ import annotations

from copy import deepcopy
from io import BytesIO
from pathlib import Path
from typing import Any

import docx
from docx.oxml import OxmlElement, parse_xml
from docx.oxml.ns import nsdecls, qn
from docx.shared import Mm, Pt, RGBColor
from docx.text.paragraph import Paragraph
from docx.text.run import Run

from leadline.errors import ConfigError
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


_RULE, _BAD, _PART = (RGBColor.from_string(color) for color in ("C9C3B6", "A3261B", "8A6100"))
_BAD_SIGNS = [form.sign for form in VERDICTS.values() if form.tone == "bad"]
# Fonts of Word and its systems: a style names one for Latin letters, one for CJK, one for the complex scripts.
_EAST = {"zh": "Microsoft YaHei", "zh-hant": "Microsoft JhengHei", "ja": "Yu Gothic", "ko": "Malgun Gothic"}
_INDIA = ("as", "bn", "gu", "hi", "kn", "ml", "mr", "ne", "or", "pa", "sa", "si", "ta", "te")
_COMPLEX = dict.fromkeys(_INDIA, "Nirmala UI") | dict.fromkeys(("th", "lo", "km"), "Leelawadee UI")
# Styles of the text in cells: up to 4 columns, up to 6, and more.
_CELL_TEXTS = ("Table Text", "Table Text Small", "Table Text Smallest")
# Twips of a character of a wide font at 9 points, and of both margins of a cell.
_CHARACTER, _MARGINS = 120, 220
# Points between a table and the next paragraph.
_TABLE_SPACE = 10
# Characters of the title that fit the header of a page.
_HEADER = 90
# Prefix of the anchors that marks at claims link to.
_CHECK = "check-"
_OFFICE_RULE = "{urn:schemas-microsoft-com:vml}rect"
# Word requires the properties of a paragraph in order: these come after the direction.
_LAST_NAMES = (
    "adjustRightInd snapToGrid spacing ind contextualSpacing mirrorIndents suppressOverlap jc textDirection "
    "textAlignment textboxTightWrap outlineLvl divId cnfStyle rPr sectPr pPrChange"
)
_LAST = tuple(f"w:{name}" for name in _LAST_NAMES.split())


def styled(data: bytes, title: str, language: str, depth: int, own: Path, reference: Path) -> bytes:
    """Return a Word file that Pandoc wrote, styled as a report; `depth` is the deepest level of its contents.

    Styles that it lacks are those of the file `own`. The title is written above the pages where there is nothing, or
    the title of the reference, which may be a report.
    """
    word: Any = docx.Document(BytesIO(data))
    old_title = docx.Document(str(reference)).core_properties.title
    _add_styles(word.styles, docx.Document(str(own)).styles)
    _set_fonts(word.styles, language)
    _detach(word, reference)
    fill_contents(word, depth)
    for table in word.tables:
        _set_table(table)
    _replace_breaks(word)
    _color_marks(word)
    if right_to_left(language):
        _set_right_to_left(word)
    for section in word.sections:
        for paragraph in () if section.header.is_linked_to_previous else section.header.paragraphs[:1]:
            if paragraph.text in ("", _running(old_title)) and not paragraph._p.xpath(".//w:drawing | .//w:pict"):
                paragraph.text = _running(title)
        if section.page_width:  # else Pandoc's own page
            _limit_pictures(word, section.page_width - (section.left_margin or 0) - (section.right_margin or 0))
    word.core_properties.title = title[:255]
    word.core_properties.author = word.core_properties.last_modified_by = "Leadline"
    word.core_properties.language = language
    out = BytesIO()
    word.save(out)
    return out.getvalue()


def _detach(word: Any, reference: Path) -> None:
    """Remove the template that Word would load with the file. Raises `ConfigError` for anything else that it would."""
    for part in word.part.package.iter_parts():
        for name, relation in [*part.rels.items()]:
            kind = relation.reltype.rpartition("/")[2]
            if not relation.is_external or kind == "hyperlink":
                continue
            if kind != "attachedTemplate":
                what = f"{part.partname} loads {relation.target_ref}: insert it into the file, not as a link"
                raise ConfigError(f"plugins.docx.reference: {reference}: {what}")
            del part.rels[name]
            for element in part.element.findall(qn("w:attachedTemplate")):
                part.element.remove(element)


def _running(title: str) -> str:
    return title if len(title) <= _HEADER else f"{title[:_HEADER].rstrip()}…"


def _add_styles(styles: Any, own: Any) -> None:
    names = {style.name for style in styles}
    for style in own:
        if style.name not in names:
            styles.element.append(deepcopy(style.element))


def _set_fonts(styles: Any, language: str) -> None:
    """Name the fonts of the language in each style that names ours."""
    east, complex_ = for_language(_EAST, language, _EAST["zh"]), for_language(_COMPLEX, language, "Arial")
    for fonts in styles.element.iter(qn("w:rFonts")):
        if fonts.get(qn("w:eastAsia")) in _EAST.values():
            fonts.set(qn("w:eastAsia"), east)
            fonts.set(qn("w:cs"), complex_)


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
