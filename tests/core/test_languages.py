"""A language in the settings is taken however it is written, and what is none is refused by name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from leadline.languages import tag
from leadline.settings import Settings


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("auto", "auto"),
        ("Auto", "auto"),
        ("en", "en"),
        ("EN-us", "en-US"),
        ("pt_BR", "pt-BR"),
        ("sr-latn-rs", "sr-Latn-RS"),
        ("es-419", "es-419"),
        ("Japanese", "ja"),
        ("日本語", "ja"),
        ("deutsch", "de"),
        ("Français", "fr"),
        ("nb", "no"),
        ("ZH-tw", "zh-Hant"),
        ("zh_TW", "zh-Hant"),
        ("zh-HK", "zh-Hant"),
        ("zh-hant-hk", "zh-Hant"),
        ("繁體中文", "zh-Hant"),
        ("Traditional Chinese", "zh-Hant"),
        ("zh-CN", "zh-CN"),
        ("zh-Hans-TW", "zh-Hans-TW"),
        ("fil", "fil"),
        (" de ", "de"),
    ],
)
def test_a_language_is_taken_as_people_write_it(said: str, code: str) -> None:
    assert tag(said) == code
    assert tag(code) == code
    assert Settings(language=said).language == code


@pytest.mark.parametrize(
    ("said", "named"),
    [("xx", "xx"), ("Germann", "'german'"), ("Jpanese", "'japanese'"), ("jp", "'ja'"), ("en-", "en-"), ("", "''")],
)
def test_an_unknown_language_is_refused_with_the_nearest(said: str, named: str) -> None:
    with pytest.raises(ValidationError, match="is no language") as caught:
        Settings(language=said)
    assert named in str(caught.value)


@given(st.text(max_size=20))
def test_any_text_is_a_tag_or_an_error(text: str) -> None:
    try:
        found = tag(text)
    except ValueError:
        found = "auto"
    assert tag(found) == found
