"""How the lines of PDF pages are joined."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leadline_plugins.parse.layout import Piece
from leadline_plugins.parse.pdf_blocks import Cell, Line, Page, Pdf, Title, pieces_of

FULL, SHORT = 500.0, 200.0


def line(text: str, row: int, right: float = FULL, size: float = 10.0, left: float = 50.0, code: bool = False) -> Line:
    """Return a line in a row of its page, of 12 points each, the first at the top; the page is set later."""
    base = 700.0 - 12 * row
    return Line(text, 0, base, left, right, base - 2, base + 8, size, code)


def pieces(*pages: list[Line], outline: tuple[Title, ...] = ()) -> list[Piece]:
    made = [
        Page(
            [Line(**{**{name: getattr(one, name) for name in Line.__slots__}, "page": number}) for one in lines], 800.0
        )
        for number, lines in enumerate(pages)
    ]
    return pieces_of(Pdf("", made, list(outline)))


def texts(*pages: list[Line], outline: tuple[Title, ...] = ()) -> list[str]:
    return [piece.text or piece.items[0].pieces[0].text for piece in pieces(*pages, outline=outline)]


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        ("The lead is", "heavy.", "The lead is heavy."),
        ("The sound-", "ing is deep.", "The sounding is deep."),
        ("It is self-", "made.", "It is self-made."),
        ("The sound\ufffe", "ing", "The sounding"),
        ("测深锤是水手用来测量", "水深的工具。", "测深锤是水手用来测量水深的工具。"),
        ("A Baltic-", "North Sea line", "A Baltic- North Sea line"),
    ],
)
def test_lines_of_a_paragraph_are_joined(first: str, second: str, joined: str) -> None:
    assert texts([line(first, 1), line(second, 2, SHORT)]) == [joined]


def test_a_hyphen_at_the_end_of_a_line_stays_if_the_file_has_it_elsewhere() -> None:
    known = [line("Long-term plans, rescued boats and sounding leads.", 1, SHORT)]
    page = [
        line("The long-", 2),
        line("term cost of sound\ufffe", 3),
        line("ing, see https://a.example/b-", 4),
        line("c1.", 5),
    ]
    assert texts([*known, *page])[1] == "The long-term cost of sounding, see https://a.example/b-c1."


def test_lines_of_wrapped_cells_are_rows_of_a_table() -> None:
    def cell(text: str, row: int, left: float) -> Line:
        return line(text, row, left + 40, left=left)

    page = [line("Toll of each vehicle in winter crowns.", 1, SHORT), cell("Vehi", 3, 50), cell("cle", 4, 50)]
    page += [cell("Fee in", 3, 100), cell("winter", 4, 100), cell("Since", 3, 150)]
    page += [cell("Cart", 6, 50), cell("4", 6, 100), cell("1931,", 6, 150), cell("May", 7, 150), line("So it is.", 9)]
    table = next(piece for piece in pieces(page) if piece.kind == "table")
    assert table.rows == [["Vehicle", "Fee in winter", "Since"], ["Cart", "4", "1931, May"]]
    columns = [cell(f"of column {number}", row, 50 + 200 * number) for number in (0, 1) for row in range(2, 30)]
    assert not [piece for piece in pieces(columns) if piece.kind == "table"]


def test_the_mark_of_a_note_and_a_citation_at_an_edge_are_no_page_numbers() -> None:
    page = [
        line("It was.", 1),
        line("[53].", 60),
        replace(line("1", 61, 54.0, 6.0), left=50.0),
        line("A note.", 61, left=60.0),
    ]
    assert texts(page, page) == ["It was.", "[53].", "1", "A note.", "It was.", "[53].", "1", "A note."]


def test_a_paragraph_begins_after_a_gap_a_short_end_and_another_size() -> None:
    page = [line("One", 1), line("ends.", 2, SHORT), line("Two is", 3), line("open", 4, SHORT), line("Three", 6)]
    assert texts([*page, line("small", 7, size=7.0)]) == ["One ends.", "Two is open", "Three", "small"]


def test_an_unfinished_sentence_continues_on_the_next_page() -> None:
    (piece,) = pieces([line("The lead is", 20)], [line("heavy.", 1)])
    assert (piece.text, piece.page, piece.turns) == ("The lead is heavy.", 1, [(2, 12)])


def test_items_are_one_list_and_keep_their_numbers() -> None:
    found = pieces([line("• deep", 1), line("• shallow", 2), line("3. third", 4), line("4. fourth", 5)])
    assert [(piece.kind, piece.ordered, piece.level, len(piece.items)) for piece in found] == [
        ("list", False, 1, 2),
        ("list", True, 3, 2),
    ]


def test_monospaced_lines_are_code_with_their_indentation() -> None:
    (code,) = pieces([line("if deep:", 1, 90.0, code=True), line("go()", 2, 90.0, left=70.0, code=True)])
    assert (code.kind, code.text) == ("code", "if deep:\n    go()")


def test_headings_come_from_the_outline_else_from_size() -> None:
    page = [line("1.2 The", 1, size=10.0), line("lead", 2), line("It is heavy.", 4)]
    found = pieces(page, outline=(Title("The lead", 1, 0),))
    assert (found[0].kind, found[0].text, found[0].level) == ("heading", "1.2 The lead", 2)
    found = pieces([line("The lead", 1, size=14.0), *(line("It is heavy.", row) for row in (3, 4))])
    assert [piece.kind for piece in found] == ["heading", "paragraph"]


def test_running_heads_page_numbers_and_contents_lines_go() -> None:
    pages = [
        [line(f"Soundings {n}", -5), line(f"Text of page {n} is here.", 5), line("More.", 8), line(f"{n}", 55)]
        for n in range(6)
    ]
    assert texts(*pages) == [text for n in range(6) for text in (f"Text of page {n} is here.", "More.")]


def test_only_the_lines_of_a_list_of_contents_go() -> None:
    page = [line("A title", 1, SHORT), line("In short.", 3, SHORT), line("1 Leads 12", 5)]
    page += [line("1.1 Leads of lead . . . . . . . . 12", 6), line("1.2 Lines, and what they", 7)]
    page += [line("are made of ........ 13", 8), line("2 Ports ........ 14", 9), line("3 Quays ........ 14", 10)]
    page += [line("4 Poles ........ 15", 11), line("A few words 15", 12), line("The lead is heavy.", 14)]
    assert " ".join(texts(page)) == "A title In short. The lead is heavy."


def row(number: float, *cells: tuple[str, float, float]) -> Line:
    """Return a line of cells, each with its left and right edge."""
    made = line(" ".join(text for text, _, _ in cells), 0, cells[-1][2], left=cells[0][1])
    base = 700.0 - 12 * number
    parts = tuple(Cell(*cell) for cell in cells) if len(cells) > 1 else ()
    return replace(made, baseline=base, bottom=base - 2, top=base + 8, cells=parts)


HEAD = row(2, ("Year", 50, 80), ("Herring", 150, 190), ("Cod", 250, 270))


def test_rows_keep_their_cells_under_the_head() -> None:
    body = [row(4, ("2023", 50, 75), ("88", 260, 270)), row(5.5, ("2024", 50, 75), ("402", 170, 190)), line("Text.", 8)]
    (table, text) = pieces([HEAD, *body])
    assert table.rows == [["Year", "Herring", "Cod"], ["2023", "", "88"], ["2024", "402", ""]]
    assert text.text == "Text."


def test_a_wrapped_cell_belongs_to_its_row_and_a_table_goes_on_with_its_head() -> None:
    first = [
        HEAD,
        row(4, ("2023", 50, 75), ("many", 160, 185)),
        row(5, ("herrings", 150, 190)),
        row(7, ("x", 50, 60), ("y", 160, 170)),
    ]
    found = pieces(
        first, [row(1, ("2024", 50, 75), ("1", 160, 170), ("2", 260, 270)), row(2.5, ("2025", 50, 75), ("3", 260, 270))]
    )
    assert [piece.rows for piece in found] == [
        [["Year", "Herring", "Cod"], ["2023", "many herrings", ""], ["x", "y", ""]],
        [["Year", "Herring", "Cod"], ["2024", "1", "2"], ["2025", "", "3"]],
    ]


def test_pages_with_rows_that_form_no_columns_are_told() -> None:
    lines = [
        row(n, ("a", 50 + 60 * n, 90 + 60 * n), ("b", 130 + 60 * n, 170 + 60 * n), ("c", 400, 410)) for n in range(4)
    ]
    lost: set[int] = set()
    made = Pdf("", [Page([replace(one, baseline=one.baseline * 4) for one in lines], 800.0)], [])
    pieces_of(made, lost)
    assert lost == {1}


def test_a_word_with_wide_spaces_in_prose_is_no_table() -> None:
    (piece,) = pieces([row(1, ("The lead", 50, 300), ("is", 312, 500)), line("heavy and", 2), line("deep.", 3, SHORT)])
    assert piece.text == "The lead is heavy and deep."
