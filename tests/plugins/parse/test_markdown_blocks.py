from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline.records import Block, Document
from leadline_plugins.parse.layout import lay_out
from leadline_plugins.parse.markdown_blocks import blocks_in, blocks_of, pieces_of

MARKDOWN = """\
# Soundings

The lead
is heavy.

Title
-----

- one
  more of it
  - nested

  its second paragraph
- two

| Sea | m |
|-----|---|
| North | 95 |

```sh
# no heading

$ sound
```

> Mark
> twain.

fathom
:   Six feet.

    indented
"""


def kinds(text: str) -> list[tuple[str, str]]:
    return [(block.kind, text[block.start : block.end]) for block in blocks_in(text)]


def relaid(text: str, *, plain: bool = True) -> str:
    return lay_out(pieces_of(dedent(text), plain=plain)).text


def test_the_blocks_of_markdown_span_its_lines() -> None:
    found = kinds(MARKDOWN)
    assert [kind for kind, _ in found] == [
        *("heading", "paragraph", "heading", "list", "table", "code", "quote", "definition"),
    ]
    assert found[1][1] == "The lead\nis heavy."
    assert found[3][1].endswith("its second paragraph\n- two")
    assert found[5][1] == "```sh\n# no heading\n\n$ sound\n```"
    assert [block.path for block in blocks_in(MARKDOWN)][1:4] == [
        ("Soundings",),
        ("Soundings",),
        ("Soundings", "Title"),
    ]


def test_a_documents_own_blocks_are_kept_and_others_are_read_from_its_text() -> None:
    own = (Block(kind="code", start=0, end=3),)
    assert blocks_of(Document(text="# A", blocks=own)) == own
    assert [block.page for block in blocks_of(Document(text="One.\n\nTwo.", pages=(0, 6)))] == [1, 2]


def test_markdown_is_laid_out_with_its_lines_joined() -> None:
    text = relaid(MARKDOWN, plain=False)
    assert "The lead is heavy.\n\n## Title\n\n- one more of it\n\n  - nested\n\n  its second paragraph\n\n- two" in text
    assert "```\n# no heading\n\n$ sound\n```" in text
    assert "> Mark twain." in text


def test_comments_in_plain_text_are_no_headings() -> None:
    text = "# set the depth\ndepth = 3\n# and the place\nplace = 4\n"
    assert all(block.kind != "heading" for block in lay_out(pieces_of(text, plain=True)).blocks)
    assert relaid("# Soundings\n\nThe lead is heavy.\n").startswith("# Soundings\n")


def test_underlined_titles_are_headings_by_their_order() -> None:
    text = relaid("Top\n***\n\nText.\n\nBelow\n=====\n\nMore.\n\n-----\nAside\n-----\n\nEnd.\n")
    assert text == "# Top\n\nText.\n\n## Below\n\nMore.\n\n### Aside\n\nEnd."


def test_indented_examples_are_code_and_indented_prose_is_not() -> None:
    text = """\
        An example:

           x = f(1)
           y = 2

        spam(n)

           Return the spam of a number, which is the count of all its parts and
           of the rest.
        """
    assert relaid(text) == (
        "An example:\n\n```\nx = f(1)\ny = 2\n```\n\nspam(n)\n\n"
        "Return the spam of a number, which is the count of all its parts and of the rest."
    )


def test_lines_of_unwrapped_text_are_paragraphs() -> None:
    lines = ["The lead sounds the depth of the sea. " * 5, "The line is marked with leather. " * 5]
    assert relaid("\n".join(lines)).count("\n\n") == 1


def test_directives_of_restructuredtext_leave_their_content() -> None:
    text = ".. image:: x.png\n   :alt: A lead\n\n.. code-block:: python\n\n   print(1)\n\nThe end of it.\n"
    assert relaid(text) == "```\nprint(1)\n```\n\nThe end of it."


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize(
    "part", ["- " * 50 + "x\n", "> " * 50 + "x\n", "```\n", "a\n: b\n", "|a|\n|-|\n", "== ==\n", "x\n"]
)
def test_monstrous_text_ends(part: str, plain: bool) -> None:
    lay_out(pieces_of(part * 3_000, plain=plain))


@given(st.text("ab#|`>-=:*+. 1)\n\t", max_size=60))
def test_any_text_has_blocks_in_order(text: str) -> None:
    end = 0
    for block in blocks_in(text):
        assert end <= block.start < block.end
        end = block.end
    lay_out(pieces_of(text))
    lay_out(pieces_of(text, plain=True))
