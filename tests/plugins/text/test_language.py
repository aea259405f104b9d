from __future__ import annotations

import pytest

from leadline_plugins.text import language


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("When was the bridge built?", "en"),
        ("Wann wurde die Brücke gebaut und von wem?", "de"),
        ("Quand le pont a-t-il été construit et par qui ?", "fr"),
        ("¿Cuándo se construyó el puente y quién lo hizo?", "es"),
        ("大桥是什么时候建成的？", "zh"),
        ("Python 的装饰器是什么？", "zh"),
        ("橋はいつ完成しましたか", "ja"),
        ("다리는 언제 지어졌습니까?", "ko"),
        ("Когда построен мост?", "ru"),
        ("123 …", "und"),
    ],
)
def test_script_and_stop_words_tell_the_language(text: str, expected: str) -> None:
    assert language(text) == expected
