import pytest

from leadline.errors import Unsupported
from leadline.records import Blob
from leadline_plugins.parse.text import heading, parse


def blob(text: str | bytes, name: str = "a_note.md") -> Blob:
    return Blob(name=name, media_type="text/markdown", data=text.encode() if isinstance(text, str) else text)


def test_front_matter_goes_and_its_title_stays() -> None:
    document = parse(blob("---\ntitle: 'Rope'\ntags: [a]\n---\n\n# Other\n\nBody --- of it.\n"))
    assert document.title == "Rope"
    assert document.text == "# Other\n\nBody --- of it."


def test_a_rule_in_the_text_is_no_front_matter() -> None:
    assert parse(blob("One.\n\n---\n\nTwo.\n\n---\n")).text == "One.\n\n---\n\nTwo.\n\n---"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# Knots ##\n\nbody", "Knots"),
        ("Intro text.\n\n## Later\n", "Later"),
        ("=====\nKnots\n=====\n\nbody", "Knots"),
        ("Knots\n-----\nbody", "Knots"),
        ("Knots\n\nA body of text.", "Knots"),
        ("One line of prose.", ""),
        ("Two lines\nof prose.\n\nMore.", ""),
        ("x" * 200 + "\n\nMore.", ""),
    ],
)
def test_the_title_is_the_first_heading(text: str, title: str) -> None:
    assert heading(text) == title


def test_the_file_name_stands_in_for_a_heading() -> None:
    assert parse(blob("Just prose.")).title == "a note"


def test_binary_is_refused() -> None:
    with pytest.raises(Unsupported, match="is binary"):
        parse(blob(b"\x7fELF\x00\x00"))


def test_the_same_bytes_give_the_same_document() -> None:
    data = "Zeile eins\r\n\r\ngrün \xa0\x07".encode("latin-1")
    assert parse(blob(data)) == parse(blob(data))
