from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from leadline.errors import Unsupported
from leadline.records import Blob, Document
from leadline.testing.context import FakeCall
from leadline_plugins.parse import pdf as reader
from leadline_plugins.parse.media import media_type, missing
from leadline_plugins.parse.pdf import PdfParser, parse
from leadline_plugins.parse.pdf_blocks import Title

Make = Callable[..., bytes]


def blob(data: bytes) -> Blob:
    return Blob(name="chart.pdf", media_type="application/pdf", data=data)


def test_pages_begin_where_their_offsets_say(pdf: Make) -> None:
    document = parse(blob(pdf([["First page."], [], ["Third page."]], title="Soundings")))
    assert document.title == "Soundings"
    assert len(document.pages) == 3
    assert document.text[document.pages[0] :].startswith("First page.")
    assert document.text[document.pages[2] :] == "Third page."


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
def test_a_broken_file_is_named(pdf: Make, share: float) -> None:
    data = pdf([["Some text."]])
    with pytest.raises(Unsupported, match=r"chart\.pdf: (not a readable PDF|no text)"):
        parse(blob(data[: int(len(data) * share)]))


def test_a_scan_is_refused_with_a_hint_at_ocr(pdf: Make) -> None:
    with pytest.raises(Unsupported, match="OCR"):
        parse(blob(pdf([[], []])))


def test_threads_read_side_by_side_and_agree(pdf: Make) -> None:
    data = blob(pdf([[f"Page {number}."] for number in range(20)]))
    with ThreadPoolExecutor(8) as threads:
        documents = list(threads.map(parse, [data] * 40))
    assert all(document == documents[0] for document in documents)


# Ends a string of a page, and begins the next one.
SMALL = ") Tj /F1 7 Tf {} Ts ({}) Tj /F1 12 Tf 0 Ts ("
PICTURE = ") Tj ET q 500 0 0 700 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 ID x EI Q BT ("


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (f"It is y{SMALL.format(7, 2)} + y = x{SMALL.format(7, 3)} - 7x.", "It is y^2 + y = x^3 - 7x."),
        (f"It was in 1990.{SMALL.format(5, 3)} So", "It was in 1990.^3 So"),
        (f"It grew by 0.{SMALL.format(5, 1)} %.", "It grew by 0.1 %."),
        (f"It counted 10{SMALL.format(5, 6)} fish.", "It counted 10^6 fish."),
        (f"More than the year before.{SMALL.format(5, 3)} The wall", "More than the year before.^3 The wall"),
        (
            f"The area is 14 m{SMALL.format(5, 2)} and CO{SMALL.format(-3, 2)} rises.",
            "The area is 14 m^2 and CO₂ rises.",
        ),
        (f"{SMALL.format(5, 1)}Counted in 2021.", "[^1] Counted in 2021."),
    ],
)
def test_raised_and_lowered_figures_are_marked(pdf: Make, line: str, text: str) -> None:
    assert parse(blob(pdf([[line]]))).text == text


def test_a_raised_number_is_the_mark_of_a_note_on_its_page_or_at_the_end(pdf: Make) -> None:
    marked = f"More than before.{SMALL.format(5, 3)}"
    assert parse(blob(pdf([[marked, f"{SMALL.format(5, 3)}By count."]]))).text == "More than before.[^3] [^3] By count."
    assert parse(blob(pdf([[marked], ["", "3. By count."]]))).text.startswith("More than before.[^3]")


def test_glyphs_without_unicode_shift_no_figures(pdf: Make) -> None:
    lines = [r"\000\000\000It is 'so'", "", "", "4 Tools"]
    assert parse(blob(pdf([lines]))).text == "It is ’so’\n\n4 Tools"


def test_letters_that_a_font_does_not_name_are_told(pdf: Make) -> None:
    assert parse(blob(pdf([["Find it."], [r"O\033ce"]]))).incomplete == (
        "letters or signs on page 2 of 2 that their fonts do not name are left out"
    )


def test_accents_that_are_glyphs_are_combined_with_their_letters(pdf: Make) -> None:
    lines = [r") Tj [(Cio\301) 333 (e vero, perch)] TJ [(e) 445 (\302)] TJ (.", "", "", r"The sign \301 stays."]
    assert parse(blob(pdf([lines]))).text == "Cioè vero, perché.\n\nThe sign ` stays."


def test_words_that_only_a_gap_separates_have_a_space(pdf: Make) -> None:
    assert parse(blob(pdf([["W) Tj 13.18 0 Td (Winds are of the west."]]))).text == "W Winds are of the west."
    assert parse(blob(pdf([[") Tj 1.84 Tc (WWWWW) Tj 0 Tc ("]]))).text == "WWWWW"


def test_a_mark_with_a_wide_gap_makes_a_list_and_no_table(pdf: Make) -> None:
    lines = [f"{mark}) Tj 40 0 Td ({text}) Tj -40 0 Td (" for mark, text in (("1.", "bollards"), ("2.", "ladders"))]
    assert parse(blob(pdf([lines]))).text == "1. bollards\n2. ladders"


def test_pages_that_are_pictures_are_named(pdf: Make) -> None:
    pages = [["First."], [PICTURE], [PICTURE], ["Fourth."], [PICTURE, "Page 5"], []]
    assert parse(blob(pdf(pages))).incomplete == (
        "pages 2-3, 5 of 6 are pictures, whose text was not read (OCR needs tesseract)"
    )


# What tesseract prints: level, page, block, paragraph, line, word, left, top, width, height, confidence, text.
WORDS = """level\t…\ttext
1\t1\t0\t0\t0\t0\t0\t0\t2550\t3300\t-1\t
5\t1\t1\t1\t1\t1\t300\t300\t200\t40\t96\tThe
5\t1\t1\t1\t1\t2\t510\t300\t300\t40\t91\ttoll
5\t1\t1\t1\t2\t1\t300\t360\t300\t40\t93\tis
5\t1\t1\t1\t2\t2\t610\t360\t300\t40\t88\tfive.
"""


async def read_by(program: str, file: Blob, path: Path, monkeypatch: pytest.MonkeyPatch) -> Document:
    """Return a document that is parsed beside a program that is named tesseract."""
    tool = path / "tesseract"
    tool.write_text(f"#!/bin/sh\n[ $1 = --list-langs ] && echo List && echo eng && exit\ncat > /dev/null\n{program}")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(path), prepend=":")
    return await PdfParser().parse(file, FakeCall())


async def test_pages_that_are_pictures_are_read_and_marked(
    pdf: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "words").write_text(WORDS)
    pages = pdf([["First."], [PICTURE], ["Third."]])
    document = await read_by(f"cat {tmp_path}/words", blob(pages), tmp_path, monkeypatch)
    assert document.text == "First.\n\nThe toll is five.\n\nThird."
    assert document.incomplete.startswith("page 2 of 3 is a picture and read by machine")
    whole = await read_by(f"cat {tmp_path}/words", blob(pdf([[PICTURE]])), tmp_path, monkeypatch)
    assert whole.text == "The toll is five."


@pytest.mark.parametrize("program", ["exit 1", "kill -9 $$"])
async def test_a_picture_that_cannot_be_read_is_named(
    pdf: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    document = await read_by(program, blob(pdf([["First."], [PICTURE]])), tmp_path, monkeypatch)
    assert document.incomplete == "page 2 of 2 is a picture, whose text was not read"


# A TIFF of three pages without content: each directory has no entries, and the offset of the next one.
TIFF = b"II*\0" + b"".join(at.to_bytes(4, "little") + bytes(2) for at in (8, 14, 20)) + bytes(4)


@pytest.mark.parametrize(
    ("data", "kind", "pages"),
    [
        (b"\x89PNG\r\n\x1a\n", "png", 1),
        (b"\xff\xd8\xff", "jpeg", 1),
        (b"RIFF\0\0\0\0WEBP", "webp", 1),
        (TIFF, "tiff", 3),
    ],
)
async def test_each_page_of_a_picture_is_read_and_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, kind: str, pages: int
) -> None:
    (tmp_path / "words").write_text(WORDS)
    # The second page is not readable.
    program = f"case $* in *page_number=1*) exit 1;; esac; cat {tmp_path}/words"
    file = Blob(name=f"toll.{kind}", media_type=media_type(f"toll.{kind}"), data=data)
    document = await read_by(program, file, tmp_path, monkeypatch)
    assert document.text == "\n\n".join(["The toll is five."] * (2 if pages == 3 else 1))
    assert len(document.pages) == pages
    marked = "pages 1, 3 of 3 are pictures" if pages == 3 else "page 1 of 1 is a picture"
    unread = "; page 2 of 3 is a picture, whose text was not read" if pages == 3 else ""
    assert document.incomplete == f"{marked} and read by machine (tesseract), perhaps not all rightly{unread}"


async def test_what_is_no_picture_never_reaches_tesseract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = Blob(name="list.png", media_type="image/png", data=b"/etc/secret.png")
    with pytest.raises(Unsupported, match=r"list\.png: not a readable picture"):
        await read_by(f"touch {tmp_path}/called", file, tmp_path, monkeypatch)
    assert not (tmp_path / "called").exists()


async def test_a_picture_whose_program_fails_is_not_taken_for_one_without_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tesseract").write_text("#!/nonexistent/shell\n")
    (tmp_path / "tesseract").chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    file = Blob(name="toll.png", media_type="image/png", data=b"\x89PNG\r\n\x1a\n")
    with pytest.raises(Unsupported, match=r"toll\.png: tesseract does not run"):
        await PdfParser().parse(file, FakeCall())


def test_pictures_are_accepted_if_tesseract_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not PdfParser().accepts("image/png")
    assert missing("text/plain", "image/png") == " (a picture: install tesseract)"
    (tmp_path / "tesseract").write_text("")
    (tmp_path / "tesseract").chmod(0o755)
    assert PdfParser().accepts("image/png")
    assert not PdfParser().accepts("image/gif")
    assert missing("image/png") == ""


def test_values_of_forms_and_typed_notes_stand_beside_their_labels(pdf: Make) -> None:
    fields = [
        "<< /Subtype /Widget /FT /Tx /T (ship) /V (Seagull) /Rect [200 716 300 732] >>",
        "<< /Subtype /Widget /FT /Btn /T (b) /V /Yes /AS /Yes /Rect [60 702 70 714] /AP << /N << /Yes 8 0 R >> >> >>",
        "<< /Subtype /Widget /FT /Tx /T (Remarks) /V (none) /Rect [72 400 300 420] >>",
        "<< /Subtype /FreeText /Contents (Seen by the port office.) /Rect [72 300 300 320] >>",
    ]
    made = pdf(
        [["Name of the ship:", "Insured"]],
        catalog="/AcroForm << /Fields [7 0 R 8 0 R 9 0 R] >>",
        page="/Annots [7 0 R 8 0 R 9 0 R 10 0 R]",
        more=fields,
    )
    text = parse(blob(made)).text
    assert text == "Name of the ship: Seagull ☒ Insured\n\nRemarks: none\n\nSeen by the port office."


def test_a_typed_note_on_a_page_without_text_is_of_this_page(pdf: Make) -> None:
    note = "<< /Subtype /FreeText /Contents (Seen.) /Rect [72 300 300 320] >>"
    document = parse(blob(pdf([["First."], []], page="/Annots [9 0 R]", more=[note])))
    assert document.text[document.pages[1] :] == "Seen."
    assert [block.page for block in document.blocks] == [1, 1, 2]


@pytest.mark.parametrize(
    ("turn", "matrix"),
    [(90, "0 1 -1 0 612 0 cm"), (180, "-1 0 0 -1 612 792 cm"), (270, "0 -1 1 0 0 792 cm")],
)
def test_a_turned_page_is_read_as_it_is_shown(pdf: Make, turn: int, matrix: str) -> None:
    lines = [f") Tj ET q {matrix} BT /F1 12 Tf 72 400 Td 14 TL (The lead is", "heavy.", "", "Two follow.) Tj ET Q BT ("]
    assert parse(blob(pdf([lines], page=f"/Rotate {turn}"))).text == "The lead is heavy.\n\nTwo follow."


@pytest.mark.parametrize(
    "title",
    ["untitled", "Microsoft Word - a.docx", r"C:\\\\anna\\\\v3.indd", "report.pdf", "/tmp/x", "2021_03_b", "Slide 1"],
)
def test_a_title_that_a_program_wrote_is_not_used(pdf: Make, title: str) -> None:
    assert parse(blob(pdf([["Some text."]], title=title))).title == "chart"


@pytest.mark.parametrize(("chapters", "title"), [(1, "1 Introduction"), (2, "chart")])
def test_of_several_chapters_none_is_the_title(
    pdf: Make, chapters: int, title: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = reader._read
    outline = [Title("1 Introduction", 0, 0), Title("2 Ropes", 0, 0)][:chapters]
    monkeypatch.setattr(reader, "_read", lambda blob: replace(read(blob), outline=outline))
    assert (
        parse(blob(pdf([["Soundings", "1 Introduction", "A rope is long.", "2 Ropes", "It is heavy."]]))).title == title
    )
