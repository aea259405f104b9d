import random
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from leadline.errors import Unsupported
from leadline.records import Blob
from leadline_plugins.parse import word as module
from leadline_plugins.parse.media import DOCX
from leadline_plugins.parse.word import parse

Make = Callable[..., bytes]
Text = Callable[..., str]


def blob(data: bytes) -> Blob:
    return Blob(name="log.docx", media_type=DOCX, data=data)


def test_paragraphs_and_tables_are_in_their_order(word: Make) -> None:
    document = parse(blob(word("Soundings", ["Before.", "After."], [["fathoms", "place"], ["12", "bay | cove"]])))
    assert document.title == "Soundings"
    table = "| fathoms | place |\n| --- | --- |\n| 12 | bay \\| cove |"
    assert document.text == f"# Soundings\n\nBefore.\n\n{table}\n\nAfter."
    assert [block.kind for block in document.blocks] == ["heading", "paragraph", "table", "paragraph"]


def test_styles_and_numberings_make_headings_lists_code_and_definitions(word_file: Make, paragraph: Text) -> None:
    body = [
        paragraph("Soundings", "heading 1"),
        paragraph("Leads", "heading 2"),
        paragraph("deep", level=0),
        paragraph("first", level=1),
        paragraph("second", level=1),
        paragraph("shallow", level=0),
        paragraph("$ sound", "Source Code"),
        paragraph("12", "Source Code"),
        paragraph("fathom", "Definition Term"),
        paragraph("Six feet.", "Definition"),
        paragraph("Mark twain.", "Block Text"),
    ]
    document = parse(blob(word_file("".join(body))))
    assert document.text == (
        "# Soundings\n\n## Leads\n\n- deep\n  1. first\n  2. second\n- shallow\n\n```\n$ sound\n12\n```\n\n"
        "fathom\n:   Six feet.\n\n> Mark twain."
    )
    assert document.blocks[-1].path == ("Soundings", "Leads")


@pytest.mark.parametrize("hidden", ["<w:vanish/>", '<w:vanish w:val="true"/>', '<w:sz w:val="2"/>'])
def test_hidden_and_tiny_text_is_not_read(word_file: Make, hidden: str) -> None:
    runs = "<w:r>{}<w:t>{}</w:t></w:r>"
    shown = runs.format('<w:rPr><w:vanish w:val="0"/><w:sz w:val="24"/></w:rPr>', "Seen.")
    body = f"<w:p>{shown}{runs.format(f'<w:rPr>{hidden}</w:rPr>', 'SECRET')}</w:p>"
    assert parse(Blob(name="a.docx", media_type=DOCX, data=word_file(body))).text == "Seen."


def test_a_span_is_bounded(word_file: Make, paragraph: Text) -> None:
    cell = '<w:tc><w:tcPr><w:gridSpan w:val="2000000000"/></w:tcPr>{}</w:tc>'
    rows = "".join(f"<w:tr>{cell.format(paragraph(text))}</w:tr>" for text in ("deep", "shallow"))
    assert len(parse(blob(word_file(f"<w:tbl>{rows}</w:tbl>"))).text) < 1000


def test_too_many_paragraphs_are_refused(word_file: Make, paragraph: Text, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PARAGRAPHS", 10)
    with pytest.raises(Unsupported, match="over 10 paragraphs"):
        parse(blob(word_file(paragraph("x") * 11)))


@pytest.mark.parametrize("data", [b"", b"not a zip", b"PK\x03\x04 cut off"])
def test_a_broken_file_is_named(data: bytes) -> None:
    with pytest.raises(Unsupported, match=r"log\.docx: not a readable Word file"):
        parse(blob(data))


def test_damage_anywhere_is_an_answer_and_no_crash(word: Make) -> None:
    data, chance = word("Soundings", ["Before.", "After."]), random.Random(5)
    for _ in range(60):
        damaged = bytearray(data)
        for _ in range(20):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        with suppress(Unsupported):
            assert parse(blob(bytes(damaged))).text


def test_a_zip_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_UNPACKED", 10_000)
    data = BytesIO()
    with ZipFile(data, "w", ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b" " * 1_000_000)
    with pytest.raises(Unsupported, match="unpacks to over 10,000 bytes"):
        parse(blob(data.getvalue()))
