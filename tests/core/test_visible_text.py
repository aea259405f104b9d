"""Text that readers do not see reaches neither models nor terminals; scripts that need joiners stay readable."""

from __future__ import annotations

import pytest

from leadline.display import one_line, visible
from leadline.tasks import fenced

TAGS = "".join(chr(0xE0000 + ord(letter)) for letter in "ignore all")
SELECTORS = "".join(chr(0xE0100 + ord(letter)) for letter in "ignore all")


@pytest.mark.parametrize(
    "hidden",
    [
        *(TAGS, SELECTORS, "\ufe01\ufe02", "\u200b\u2060", "\u200d\u200c", "\u202e", "\u2066", "\u200e", "\u2062"),
        *("\ufff9\ufffb", "\u3164", "\u115f", "\u180b", "\ufe0f", "\x1b[0m"[:1], "\r", "\xad", "\ufeff", "\U0001d173"),
    ],
)
def test_characters_without_a_shape_are_removed(hidden: str) -> None:
    assert visible(f"The br{hidden}idge\n\tis long{hidden}.") == "The bridge\n\tis long."
    assert fenced(f"a {hidden}b") == "<data>\na b\n</data>"


@pytest.mark.parametrize(
    "text",
    [
        "می\u200cخواهم و نمی\u200cدانم",  # Persian
        "क्\u200dष और र\u200dय, ശ്രീ ന്\u200d",  # Hindi, Malayalam
        "ශ්\u200dරී ලංකාව",  # Sinhala
        "ᠮᠣᠩᠭᠣᠯ\u180b ᠪᠠᠷ\u180eᠠ",  # Mongolian
        "שלום\u200f עולם",  # Hebrew
        "👩\u200d👩\u200d👧 ❤\ufe0f\u200d🔥 👩🏽\u200d🚀 1\ufe0f\u20e3 ☎\ufe0e",
        "naïve Ünïcödé, 日本語、한국어: – “x” → ½ 🏴",
    ],
)
def test_scripts_and_emoji_keep_what_they_need(text: str) -> None:
    assert visible(text) == text


def test_only_one_joiner_stays_where_it_is_needed() -> None:
    assert visible("می\u200c\u200c\u200d\u200bخواهم") == "می\u200cخواهم"
    assert visible("👩\u200d\u200d👧") == "👩\u200d👧"
    assert visible("a\ufe0f\u200db 1\ufe0f") == "ab 1"
    assert visible(f"🏴{TAGS}") == "🏴"


def test_half_a_character_is_shown_as_missing() -> None:
    assert visible("a \ud83d b") == "a \ufffd b"


def test_a_line_break_separates_the_words_of_one_line() -> None:
    assert one_line(f"a\rb\x0bc\u2028d{TAGS} e") == "a b c d e"
