import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline_plugins.parse.layout import Item, Layout, Piece, collapse, lay_out


def paragraph(text: str) -> Piece:
    return Piece("paragraph", text)


def spans(layout: Layout) -> list[tuple[str, str]]:
    return [(block.kind, layout.text[block.start : block.end]) for block in layout.blocks]


def test_each_block_spans_its_markdown() -> None:
    layout = lay_out(
        [
            Piece("heading", "Depths", level=2),
            paragraph("snake_case and [x] * stay."),
            Piece("caption", "Seas"),
            Piece("table", rows=[["Sea", "m"], ["a|b", "95"]], header=1),
            Piece("code", "# no heading\n```"),
            Piece("quote", items=[Item([paragraph("One."), paragraph("Two.")])]),
        ]
    )
    assert spans(layout) == [
        ("heading", "## Depths"),
        ("paragraph", "snake_case and [x] * stay."),
        ("caption", "Seas"),
        ("table", "| Sea | m |\n| --- | --- |\n| a\\|b | 95 |"),
        ("code", "````\n# no heading\n```\n````"),
        ("quote", "> One.\n>\n> Two."),
    ]
    assert layout.text == "\n\n".join(text for _, text in spans(layout))


def test_a_list_is_one_block_with_its_nested_items() -> None:
    inner = Piece("list", ordered=True, level=3, items=[Item([paragraph("c")]), Item([paragraph("d")])])
    layout = lay_out([Piece("list", items=[Item([paragraph("a"), inner]), Item([paragraph("b")])])])
    assert spans(layout) == [("list", "- a\n  3. c\n  4. d\n- b")]


def test_each_term_is_a_block() -> None:
    items = [Item([paragraph("Six feet."), Piece("code", "1.8 m")], "fathom"), Item([], "lead")]
    layout = lay_out([Piece("definition", items=items)])
    assert spans(layout) == [
        ("definition", "fathom\n:   Six feet.\n\n    ```\n    1.8 m\n    ```"),
        ("definition", "lead"),
    ]


def test_a_long_definition_continues_after_its_first_paragraph_under_its_term() -> None:
    long = "The lead is heavy. " * 80
    layout = lay_out([Piece("definition", items=[Item([paragraph("Short."), paragraph(long)], "lead")])])
    first, second = layout.blocks
    assert spans(layout)[0] == ("definition", "lead\n:   Short.")
    assert (first.path, second.path, second.kind) == ((), ("lead",), "paragraph")


def test_a_path_names_the_headings_above() -> None:
    pieces = [Piece("heading", title, level=level) for title, level in (("A", 1), ("B", 3), ("C", 2), ("D", 1))]
    assert [block.path for block in lay_out(pieces).blocks] == [(), ("A",), ("A",), ()]


def test_a_table_without_a_header_has_an_empty_one() -> None:
    assert lay_out([Piece("table", rows=[["1", "2"]])]).text == "|  |  |\n| --- | --- |\n| 1 | 2 |"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("a \n b", "a b"),
        ("測鉛\n  線", "測鉛線"),
        ("测深\nlead", "测深 lead"),
        ("측심\n줄은", "측심 줄은"),
        ("句。\n「次", "句。「次"),
    ],
)
def test_white_space_collapses_and_a_break_between_cjk_characters_vanishes(written: str, read: str) -> None:
    assert collapse(written) == read


PIECES = st.recursive(
    st.builds(Piece, st.sampled_from(["heading", "paragraph", "caption", "code"]), st.text("ab#|`> -\n", max_size=9)),
    lambda inner: st.builds(
        lambda kind, items: Piece(kind, items=items),
        st.sampled_from(["list", "definition", "quote"]),
        st.lists(st.builds(Item, st.lists(inner, max_size=3), st.text("ab", max_size=3)), min_size=1, max_size=3),
    ),
    max_leaves=9,
)


@given(st.lists(PIECES, max_size=6))
def test_blocks_are_in_order_and_never_overlap(pieces: list[Piece]) -> None:
    layout, end = lay_out(pieces), 0
    for block in layout.blocks:
        assert end <= block.start < block.end <= len(layout.text)
        assert layout.text[block.start : block.end].strip()
        end = block.end
