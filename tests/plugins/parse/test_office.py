"""Spreadsheets, presentations, OpenDocument, books, RTF and mail, made here with the libraries that write them."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from email.message import EmailMessage
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from leadline.errors import Unsupported
from leadline.records import Blob, Document
from leadline_plugins.parse import office
from leadline_plugins.parse.media import media_type
from leadline_plugins.parse.office import displayed, parse
from leadline_plugins.parse.text import parse as parse_text


def read(name: str, data: bytes) -> Document:
    return parse(Blob(name=name, media_type=media_type(name), data=data))


def packed(files: Mapping[str, str]) -> bytes:
    data = BytesIO()
    with ZipFile(data, "w", ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


# --- spreadsheets ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "form", "shown"),
    [
        (1250.5, '#,##0.00 "crowns"', "1,250.50 crowns"),
        (-1250.5, "#,##0.00;(#,##0.00)", "(1,250.50)"),
        (0.125, "0.0%", "12.5%"),
        (0.1 + 0.2, "General", "0.3"),
        (1e21, "0.00E+00", "1.00E+21"),
        (3, "000", "003"),
        (5.0, "0.##", "5"),
        (5.25, "[$€-407] #,##0.00", "€ 5.25"),
        (-3, "0;[Red]-0", "-3"),
        (datetime.datetime(2026, 3, 1), "d mmmm yyyy", "2026-03-01"),
        (datetime.time(9, 30), "hh:mm", "09:30:00"),
        (True, "General", "TRUE"),
    ],
)
def test_a_value_reads_as_its_format_shows_it(value: Any, form: str, shown: str) -> None:
    assert displayed(value, form) == shown


def test_sheets_are_headings_and_what_is_hidden_or_has_no_value_is_named() -> None:
    from openpyxl import Workbook  # type: ignore[import-untyped]

    book, data = Workbook(), BytesIO()
    fees, hidden = book.active, book.create_sheet("Old")
    fees.title, hidden.sheet_state = "Fees", "hidden"
    for row in (["Route", None, "Fee"], ["Lipa", None, 14], [], ["one note"], [], ["=1+1"]):
        fees.append(row)
    hidden.append(["Secret", 77777])
    book.save(data)
    document = read("fees.xlsx", data.getvalue())
    assert document.text == "# Fees\n\n| Route | Fee |\n| --- | --- |\n| Lipa | 14 |\n\none note"
    assert document.incomplete == (
        "the hidden sheet 'Old' was not read; 1 formulas have no stored value: open and save the file in its program"
    )


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
def test_csv_is_a_table_with_its_head(sign: str) -> None:
    rows = [["Year", "Catch"], ["2024", '"1.234{}5"'.format("," if sign != "," else "")], ["2025", "987"]]
    data = "\n".join(sign.join(row) for row in rows).encode()
    document = parse_text(Blob(name="catch.csv", media_type="text/csv", data=data))
    assert document.text.startswith("| Year | Catch |\n| --- | --- |\n| 2024 | 1.234")


# --- presentations ---------------------------------------------------------------------------------------------------


def test_slides_are_pages_with_their_tables_and_notes() -> None:
    from pptx import Presentation
    from pptx.util import Inches

    deck, data = Presentation(), BytesIO()
    for title in ("The lamp", "Repairs", "Draft"):
        slide = deck.slides.add_slide(deck.slide_layouts[5])
        slide.shapes.title.text = title
        slide.notes_slide.notes_text_frame.text = f"About {title}."
    deck.slides[2]._element.set("show", "0")
    frame = deck.slides[0].shapes.add_textbox(0, 0, 0, 0).text_frame
    frame.text = "It weighs 10"
    raised = frame.paragraphs[0].add_run()
    raised.text = "6"
    raised._r.get_or_add_rPr().set("baseline", "30000")
    table = deck.slides[1].shapes.add_table(2, 2, 0, 0, Inches(1), Inches(1)).table
    for (row, column), text in {(0, 0): "Part", (0, 1): "Cost", (1, 0): "Stairs", (1, 1): "64"}.items():
        table.cell(row, column).text = text
    deck.save(data)
    document = read("lamp.pptx", data.getvalue())
    first, second = "## The lamp\n\nIt weighs 10^6\n\nNotes: About The lamp.", "## Repairs\n\n| Part | Cost |"
    assert document.text.startswith(f"{first}\n\n{second}")
    assert document.pages[:2] == (0, document.text.index("## Repairs"))
    assert document.incomplete == "hidden slides were not read: 3"


# --- OpenDocument ----------------------------------------------------------------------------------------------------

URN = "urn:oasis:names:tc:opendocument:xmlns:{}:1.0"
NAMES = {name: URN.format(name) for name in ("office", "text", "table", "style", "presentation")}
NAMES |= {"draw": URN.format("drawing"), "xlink": "http://www.w3.org/1999/xlink"}
STYLES = """<style:style style:name="up"><style:text-properties style:text-position="super 58%"/></style:style>
<style:style style:name="out"><style:text-properties style:text-line-through-style="solid"/></style:style>
<style:style style:name="no"><style:text-properties text:display="none"/></style:style>
<style:style style:name="gone"><style:table-properties table:display="false"/></style:style>
<text:list-style style:name="L"><text:list-level-style-number text:level="1"/></text:list-style>"""


def open_document(kind: str, body: str, parts: Mapping[str, str] = {}) -> bytes:
    spaces = " ".join(f'xmlns:{name}="{uri}"' for name, uri in NAMES.items())
    root = f"<office:document-content {spaces}><office:automatic-styles>{STYLES}</office:automatic-styles>"
    content = f"{root}<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    return packed({"content.xml": content, **parts})


def test_a_text_keeps_marks_notes_lists_and_formulas() -> None:
    note = "<text:note><text:note-body><text:p>Seen in 2019.</text:p></text:note-body></text:note>"
    span = '<text:span text:style-name="{}">{}</text:span>'
    body = (
        '<text:h text:outline-level="2">The mill</text:h>'
        f"<text:p>It grinds 12{span.format('up', 3)} kilograms{note} for "
        f"{span.format('out', 9)} 8{span.format('no', 7)}.</text:p>"
        '<text:list text:style-name="L"><text:list-item><text:p>rye</text:p></text:list-item></text:list>'
        '<text:p>So <draw:frame><draw:object xlink:href="./Object 1"/></draw:frame>.</text:p>'
        "<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>"
    )
    formula = {"Object 1/content.xml": "<math><mfrac><mn>1</mn><mn>2</mn></mfrac></math>"}
    assert read("mill.odt", open_document("text", body, formula)).text == (
        "## The mill\n\nIt grinds 12^3 kilograms[^1] for ~~9~~ 8.\n\n[^1] Seen in 2019.\n\n1. rye\n\nSo 1/2."
    )


def test_a_sheet_has_its_shown_values_and_no_endless_rows() -> None:
    def row(*cells: str, more: str = "") -> str:
        inner = "".join(f"<table:table-cell><text:p>{cell}</text:p></table:table-cell>" for cell in cells)
        empty = '<table:table-cell table:number-columns-repeated="16000"/>'
        return f"<table:table-row {more}>{inner}{empty}</table:table-row>"

    rows = row("Route", "Fee") + row("Lipa", "1.250,50 €") + row(more='table:number-rows-repeated="1000000"')
    body = f'<table:table table:name="Fees">{rows}</table:table>'
    body += f'<table:table table:name="Old" table:style-name="gone">{row("Secret")}</table:table>'
    document = read("fees.ods", open_document("spreadsheet", body))
    assert document.text == "# Fees\n\n| Route | Fee |\n| --- | --- |\n| Lipa | 1.250,50 € |"
    assert document.incomplete == "the hidden sheet 'Old' was not read"


def test_a_presentation_has_titles_and_notes() -> None:
    frame = "<draw:frame {}><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>"
    notes = f"<presentation:notes>{frame.format('', 'Retired in 1987.')}</presentation:notes>"
    title = frame.format('presentation:class="title"', "The lamp")
    body = f"<draw:page>{title}{frame.format('', 'It reaches far.')}{notes}</draw:page><draw:page/>"
    document = read("lamp.odp", open_document("presentation", body))
    assert document.text == "## The lamp\n\nIt reaches far.\n\nNotes: Retired in 1987.\n\n## Slide 2"
    assert document.pages == (0, document.text.index("## Slide 2"))


# --- books, RTF, mail ------------------------------------------------------------------------------------------------


def test_a_book_has_its_chapters_in_their_order() -> None:
    spine = '<spine><itemref idref="b"/><itemref idref="a"/></spine>'
    items = "".join(f'<item id="{name}" href="{name}.xhtml"/>' for name in "ab")
    files = {
        "META-INF/container.xml": '<container><rootfile full-path="OPS/book.opf"/></container>',
        "OPS/book.opf": f"<package><manifest>{items}</manifest>{spine}</package>",
        "OPS/a.xhtml": "<?xml version='1.0'?><html><body><h1>Flood</h1><p>4.7 metres</p></body></html>",
        "OPS/b.xhtml": "<html><body><h1>Begin</h1><p>It begins.</p></body></html>",
    }
    assert read("book.epub", packed(files)).text == "# Begin\n\nIt begins.\n\n# Flood\n\n4.7 metres"
    with pytest.raises(Unsupported, match="protected against copying"):
        read("book.epub", packed({**files, "META-INF/rights.xml": ""}))


def test_rtf_keeps_powers_tables_and_notes() -> None:
    source = (
        r"{\rtf1\ansi {\pard The quay holds 10{\super 6} litres{\super\chftn}{\*\footnote\pard Seen in 2021.\par}.\par}"
        r"\trowd {Year\par}\cell {Cod\par}\cell\row \trowd {23\par}\cell {88\par}\cell\row {\pard Gr\u246?n\'e9.\par}}"
    )
    assert read("quay.rtf", source.encode()).text == (
        "The quay holds 10^6 litres[^1].\n\n| Year | Cod |\n| --- | --- |\n| 23 | 88 |\n\nGröné.\n\n[^1] Seen in 2021."
    )


def test_a_mail_has_its_own_words_what_it_quotes_and_its_attachments() -> None:
    mail = EmailMessage()
    mail["From"], mail["Subject"] = "port@example.org", "Dredging"
    mail.set_content("It costs €2.4 million.\n\n> Earlier it was 1.9 million.\n")
    mail.add_attachment(b"The depth is 8.5 metres.", maintype="text", subtype="plain", filename="depth.txt")
    mail.add_attachment(b"\x00\x01", maintype="application", subtype="x-y", filename="plan.dwg")
    document = read("dredging.eml", mail.as_bytes())
    assert document.text == (
        "# Dredging\n\nFrom: port@example.org\n\nIt costs €2.4 million.\n\n> Earlier it was 1.9 million.\n\n"
        "## Attachment depth.txt\n\nThe depth is 8.5 metres."
    )
    assert document.incomplete.startswith("the attachment plan.dwg was not read (no parser reads ")


# --- what is refused -------------------------------------------------------------------------------------------------


def test_the_bytes_of_a_file_win_over_an_old_name(word: Callable[..., bytes]) -> None:
    assert read("a.doc", rb"{\rtf1 The quay holds.}").text == "The quay holds."
    assert read("a.doc", word("Quay", ["It holds."])).text == "# Quay\n\nIt holds."


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.doc", b"\xd0\xcf\x11\xe0", "format before 2007: save it as"),
        ("a.xlsx", b"\xd0\xcf\x11\xe0" + "EncryptedPackage".encode("utf-16-le"), "has a password"),
        ("a.pptx", b"\xd0\xcf\x11\xe0", "format before 2007"),
        ("a.odt", open_document("text", "", {"META-INF/manifest.xml": "<a><encryption-data/></a>"}), "has a password"),
        ("a.ods", b"no zip", "not a readable file of its kind"),
        ("a.epub", packed({"x": ""}), "not a readable file of its kind"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(name: str, data: bytes, reason: str) -> None:
    with pytest.raises(Unsupported, match=f"{name}: .*{reason}"):
        read(name, data)


def test_a_missing_library_is_named_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def reader(blob: Blob) -> office.Parts:
        raise ModuleNotFoundError("No module named 'openpyxl'", name="openpyxl")

    monkeypatch.setitem(office.READERS, media_type("a.xlsx"), reader)
    with pytest.raises(Unsupported, match=r"a\.xlsx: needs openpyxl: leadline plugins install 'leadline\[office\]'"):
        read("a.xlsx", b"")
