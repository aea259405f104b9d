import random
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

import docx
import pytest

from leadline.errors import BadReply, Unsupported
from leadline.records import Blob
from leadline_plugins.parse import word as module
from leadline_plugins.parse.media import DOCX
from leadline_plugins.parse.word import parse

Make = Callable[..., bytes]


def blob(data: bytes) -> Blob:
    return Blob(name="log.docx", media_type=DOCX, data=data)


def test_paragraphs_and_tables_stand_in_their_order(word: Make) -> None:
    document = parse(blob(word("Soundings", ["Before.", "After."], [["fathoms", "place"], ["12", "bay"]])))
    assert document.title == "Soundings"
    assert document.text == "# Soundings\n\nBefore.\n\nfathoms | place\n12 | bay\n\nAfter."


def test_headings_are_those_of_markdown() -> None:
    word = docx.Document()
    for level, title in enumerate(["Soundings", "The bay", "Its depth"]):
        word.add_heading(title, level)
    word.add_heading("Deeper than any", 9)
    word.add_paragraph("It is deep.")
    data = BytesIO()
    word.save(data)
    text = parse(blob(data.getvalue())).text
    assert text == "# Soundings\n\n# The bay\n\n## Its depth\n\n###### Deeper than any\n\nIt is deep."


@pytest.mark.parametrize("data", [b"", b"not a zip", b"PK\x03\x04 cut off"])
def test_a_broken_file_is_named(data: bytes) -> None:
    with pytest.raises(BadReply, match=r"log\.docx: is no readable Word file"):
        parse(blob(data))


def test_damage_anywhere_is_an_answer_and_no_crash(word: Make) -> None:
    data, chance = word("Soundings", ["Before.", "After."]), random.Random(5)
    for _ in range(60):
        damaged = bytearray(data)
        for _ in range(20):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        with suppress(BadReply, Unsupported):
            assert parse(blob(bytes(damaged))).text


def test_a_zip_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_UNPACKED", 10_000)
    data = BytesIO()
    with ZipFile(data, "w", ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b" " * 1_000_000)
    with pytest.raises(Unsupported, match="unpacks to 1,000,000 bytes; at most 10,000"):
        parse(blob(data.getvalue()))
