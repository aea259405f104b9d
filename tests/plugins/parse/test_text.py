import time

import pytest

from leadline.errors import Unsupported
from leadline.records import Blob
from leadline_plugins.parse.text import heading, parse, without_readings


def blob(text: str | bytes, name: str = "a_note.md") -> Blob:
    return Blob(name=name, media_type="text/markdown", data=text.encode() if isinstance(text, str) else text)


def test_front_matter_is_removed_and_its_title_kept() -> None:
    document = parse(blob("---\ntitle: 'Rope'\ntags: [a]\n---\n\n# Other\n\nBody --- of it.\n"))
    assert document.title == "Rope"
    assert document.text == "# Other\n\nBody --- of it."


def test_a_rule_in_the_text_is_no_front_matter() -> None:
    assert parse(blob("One.\n\n---\n\nTwo.\n\n---\n")).text == "One.\n\nTwo."


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


def test_the_bold_and_underlined_of_terminals_is_no_text() -> None:
    document = parse(
        Blob(
            name="man.txt", media_type="text/plain", data=b"\x1b[1mman-db - pages\x1b[0m\n\nUses \x1b[4;22mman\x1b[m.\n"
        )
    )
    assert document.title == "man-db - pages"
    assert document.text.endswith("Uses man.")


def test_the_file_name_replaces_a_missing_heading() -> None:
    assert parse(blob("Just prose.")).title == "a note"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("<ruby>再生可能<rt>さいせいかのう</rt></ruby>エネルギー", "再生可能エネルギー"),
        ("<ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp>字<rp>(</rp><rt>じ</rt><rp>)</rp></ruby>だ", "漢字だ"),
        ("<ruby>漢<rt>かん<rt>字<rt>じ</ruby>", "漢"),
        ('<RUBY lang="ja"><rb>漢</rb><RT class="x">かん</RT></RUBY>', "漢"),
        ("<ruby>**漢**<rt>かん</rt></ruby>\n続く", "**漢** 続く"),
        ("A <ruby> is a gem</ruby>.", "A <ruby> is a gem</ruby>."),
        ("Write `<ruby>漢<rt>かん</rt></ruby>` here.", "Write `<ruby>漢<rt>かん</rt></ruby>` here."),
        ("```html\n<ruby>漢<rt>かん</rt></ruby>\n```", "```\n<ruby>漢<rt>かん</rt></ruby>\n```"),
        ("<ruby>漢<rt>かん and no end", "<ruby>漢<rt>かん and no end"),
        ("List<rt> and <rp> of no ruby", "List<rt> and <rp> of no ruby"),
    ],
)
def test_readings_of_ruby_go_and_nothing_that_only_looks_like_it(written: str, read: str) -> None:
    assert parse(blob(written)).text == read


def test_ruby_stays_in_code_of_programs() -> None:
    text = "<ruby>漢<rt>かん</rt></ruby>"
    assert parse(Blob(name="a.py", media_type="text/x-python", data=text.encode())).text == f"```\n{text}\n```"


@pytest.mark.parametrize(
    "hostile", ["<ruby>", "<ruby>" + "<rt>" * 300, "`", "`a", "```\n", "<ruby" + "x" * 190, "<ruby>a<rt>b"]
)
def test_ruby_is_looked_for_in_time_with_the_length_of_the_text(hostile: str) -> None:
    text = "<ruby>" + hostile * (300_000 // len(hostile))
    began = time.monotonic()
    without_readings(text)
    assert time.monotonic() - began < 2


def test_binary_is_refused() -> None:
    with pytest.raises(Unsupported, match="binary, not text"):
        parse(blob(b"\x7fELF\x00\x00"))


def test_the_same_bytes_give_the_same_document() -> None:
    data = "Zeile eins\r\n\r\ngrün \xa0\x07".encode("latin-1")
    assert parse(blob(data)) == parse(blob(data))


def test_the_text_of_a_note_is_no_footnote_of_a_report_that_quotes_it() -> None:
    text = "Built in 1950.[^1]\n\n[^1]: By forty men.\n"
    read = parse(Blob(name="a.md", media_type="text/markdown", data=text.encode())).text
    assert read == "Built in 1950.[^1]\n\n[^1] By forty men."
