import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline.errors import Unsupported
from leadline.records import Blob
from leadline_plugins.parse.decode import clean, decode, document, file_title
from leadline_plugins.parse.layout import Layout

CHINESE = "吕凯，字季平，永昌不韦县人，三国时蜀汉永昌郡五官掾功曹。"


@pytest.mark.parametrize("name", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "gb18030"])
def test_chinese_is_read_in_every_usual_charset(name: str) -> None:
    assert decode(CHINESE.encode(name)) == CHINESE


def test_the_byte_order_mark_outranks_the_charset_that_was_named() -> None:
    assert decode(codecs.BOM_UTF8 + b"caf\xc3\xa9", "latin-1") == "café"


def test_the_named_charset_outranks_utf8() -> None:
    assert decode("日本".encode("shift_jis"), "shift_jis") == "日本"


def test_a_charset_that_is_wrong_or_unknown_is_passed_over() -> None:
    assert decode("naïve".encode(), "ascii") == "naïve" or decode("naïve".encode(), "ascii") == "naÃ¯ve"
    assert decode("naïve".encode(), "no-such-charset") == "naïve"


def test_invisible_and_unstorable_characters_are_removed() -> None:
    assert clean("a\x00b\x07\ud800\ufeff soft\xadhyphen") == "ab\ufffd softhyphen"


def test_line_ends_and_blanks_become_one_form() -> None:
    assert clean("\n\none \r\ntwo\rthree\u2028four\n\n\n\nfive\n") == "one\ntwo\nthree\nfour\n\nfive"


def test_indentation_of_the_first_line_stays() -> None:
    assert clean("    code\n    more\n") == "    code\n    more"


@given(st.text())
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    assert clean(clean(text)) == clean(text)


def test_a_text_of_nothing_is_refused() -> None:
    with pytest.raises(Unsupported, match=r"empty\.txt: no text"):
        document(Blob(name="empty.txt", media_type="text/plain", data=b""), Layout(" \n", ()))


@pytest.mark.parametrize(
    ("name", "title"),
    [("a/my_notes.md", "my notes"), ("https://x.org/a%20b.html?q=1#f", "a b"), ("line\nbreak.txt", "line break")],
)
def test_a_name_makes_a_title(name: str, title: str) -> None:
    assert file_title(name) == title
