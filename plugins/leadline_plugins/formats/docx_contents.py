"""The table of contents of a long Word file: its field, filled in, so that every program shows it at once.

Word renews the field, with page numbers, when the file is opened. Imports python-docx.
"""

from __future__ import annotations

from typing import Any

from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.text.paragraph import Paragraph

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
