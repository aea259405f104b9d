from __future__ import annotations

import pytest

from leadline_plugins.text.missing import missing_words


@pytest.mark.parametrize(
    ("question", "text", "missing"),
    [
        ("Which cipher encrypts the archived backups?", "A backup is kept in the archive.", ["cipher", "encrypts"]),
        (
            "Who sells Hoover's file-integrity checker?",
            "Hoover sells dams.",
            ["file-integrity", "checker"],
        ),
        ("How many of them are there, and since when?", "Nothing.", []),
        ("when was postgresql 15 released", "PostgreSQL 14", ["15", "released"]),
        ("Wie lang ist der Schlüssel von DKIM?", "Die Standardschlüsselgröße beträgt 2048 Bit.", ["DKIM"]),
        ("Welche Abhängigkeiten haben die Pakete?", "Jede Abhängigkeit eines Pakets", []),
        ("Quel est le prix de l'électricité ?", "Le chauffage à l'eau", ["prix", "l'électricité"]),
        ("大桥的守门人是谁？", "大桥很长。", ["守门人"]),
        ("谁是天津犹太会堂的创始人？", "天津犹太会堂", ["创始人"]),
        ("旧大桥建于哪一年？", "大桥很长。", []),
        ("cron-apt 默认使用哪个端口？", "默认如此。", ["cron-apt", "端口"]),
        ("この橋の設計者は西暦何年に来ましたか", "橋がある。", ["設計者", "西暦"]),
        ("アルバムの料金はいくらですか", "アルバイトの", ["料金"]),
        ("서울의 다리는 언제 지었나요?", "부산의 다리", ["서울", "지었"]),
    ],
)
def test_words_that_no_text_has_are_named_as_written(question: str, text: str, missing: list[str]) -> None:
    assert missing_words(question, [text]) == missing


def test_a_word_is_looked_for_in_all_texts_and_named_once() -> None:
    assert missing_words("moon temple, Temple of gold", ["The moon", "golden"]) == ["temple", "Temple"]
    assert missing_words("moon temple", ["The moon", "Two temples"]) == []
    assert missing_words("moon temple", []) == ["moon", "temple"]


def test_the_language_decides_what_a_function_word_is() -> None:
    assert missing_words("die", ["rolls"], language="de") == []
    assert missing_words("sauce", ["rolls"], language="en") == missing_words("sauce", ["rolls"]) == ["sauce"]
