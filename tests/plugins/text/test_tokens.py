from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline_plugins.text import content_set, content_words, identifiers, index_words, tokens


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("bridges", "bridge"),
        ("cities", "city"),
        ("movies", "movie"),
        ("stopped", "stop"),
        ("moving", "move"),
        ("houses", "house"),
        ("based", "base"),
        ("settlements", "settlement"),
        ("implemented", "implement"),
        ("São", "sao"),
        ("Ｐｙｔｈｏｎ", "python"),
        ("Hoover's", "hoover"),
        ("कीमतों", "कीमत"),
        ("ледокола", "ледокол"),
        ("введён", "введен"),
        ("перспективами", "перспективи"),
        ("الكتاب", "كتاب"),
        ("كَتَبَ", "كتب"),
        ("الكـــتاب", "الكتاب"),
        ("١٩٩٥", "1995"),
        ("می\u200cشود", "میشود"),
        ("ספרים", "ספר"),
        ("co\u00adoperate", "cooperate"),
    ],
)
def test_forms_of_a_word_meet(one: str, other: str) -> None:
    assert tokens(one) == tokens(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("care", "car"), ("bus", "bu"), ("need", "ne"), ("glass", "glas"), ("statement", "state")],
)
def test_different_words_stay_apart(one: str, other: str) -> None:
    assert tokens(one) != tokens(other)


def test_cjk_is_indexed_by_characters_and_pairs() -> None:
    assert tokens("東京塔") == ["东", "京", "塔", "东京", "京塔"]


@pytest.mark.parametrize(
    ("text", "expected"), [("योजना", 1), ("কৃষি ঋণ", 2), ("தமிழ்நாட்டில் நீர்", 2), ("x\u0301y", 1), ("שָׁלוֹם", 1)]
)
def test_signs_on_letters_break_no_word(text: str, expected: int) -> None:
    assert len(tokens(text)) == expected


def test_thai_and_its_like_are_indexed_by_clusters_and_pairs() -> None:
    assert tokens("น้ำมัน") == ["น้ํา", "มั", "น", "น้ํามั", "มัน"]
    assert content_words("ราคาของน้ำมันเท่าไร") == ["ราคา", "น้ํามั", "มัน"]
    assert tokens("ក្រុង") == ["ក្រុ", "ង", "ក្រុង"]
    assert set(content_words("รัฐบาล")) <= set(content_words("นโยบายรัฐบาลใหม่"))
    assert tokens("ปี 2566 PM2.5") == tokens("ปี ๒๕๖๖ pm2 5")


def test_korean_particles_carry_nothing() -> None:
    assert content_words("서울은 얼마나 큰가") == ["서울", "큰가"]
    assert content_words("국가") == ["국가"]


@given(st.text(max_size=60) | st.text(alphabet="กาน้ำเที่ยกขម្រုကျ်क़िं ٣ـَب'한국의", max_size=30))
def test_content_words_are_found_as_tokens(text: str) -> None:
    assert set(content_words(text)) <= set(tokens(text))


def test_content_words_leave_out_question_words_and_particles() -> None:
    assert content_words("When was the bridge of Elm built?") == ["bridg", "elm", "built"]
    assert content_words("大桥的长度是多少？") == ["大桥", "长度"]
    assert content_words("この橋の名前はなんですか") == ["桥", "名前"]
    assert content_words("建てられた橋のとうもろこしについて教えてください") == [
        *("建", "桥", "教"),
        *("とう", "うも", "もろ", "ろこ", "こし"),
    ]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("猫", "黒猫が好き"),
        ("塩はどこですか", "食塩水を飲む"),
        ("盐", "食盐和糖"),
        ("みかん", "甘いみかんを食べる"),
        ("みかんの産地はどこですか？", "みかんや柿の産地"),
        ("うどんについて教えてください", "教科書に讃岐うどんが載る"),
        ("그 다리는 언제", "서울의 다리"),
    ],
)
def test_what_a_question_asks_for_is_indexed(question: str, text: str) -> None:
    assert content_words(question)
    assert set(content_words(question)) <= set(index_words(text))


@given(st.text(max_size=60) | st.text(alphabet="橋のかんはをタ国a", max_size=20))
def test_the_words_of_a_text_are_indexed(text: str) -> None:
    assert set(content_words(text)) <= set(index_words(text))


LATIN = st.text("abst' ’-_.,é½ \n1E", max_size=60)


@given(LATIN)
def test_a_text_is_cut_alike_whether_or_not_there_is_cjk_in_it(text: str) -> None:
    assert tokens(text) == tokens(f"{text}\n塔")[:-1]
    assert content_words(text) == content_words(f"{text}\n塔")[:-1]


@given(LATIN)
def test_a_long_text_is_cut_as_a_short_one(text: str) -> None:
    assert content_set(text) == set(content_words(text)) == content_set(text + 1000 * " ")


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("老桥什么时候重建？", "老桥 重建"),
        ("老橋什麼時候重建？", "老橋 重建"),
    ],
)
def test_question_words_of_chinese_and_japanese_are_no_topic(question: str, topic: str) -> None:
    assert set(content_words(question)) == set(content_words(topic))


def test_identifiers_have_marks_capitals_or_digits_inside() -> None:
    text = "Set archive_mode, gc.auto. APT::Install and MaxClients on ext4, RAID-5在PostgreSQL中, but no 10.5 or Word."
    assert identifiers(text) == [
        "archive_mode",
        "gc.auto",
        "apt::install",
        "maxclients",
        "ext4",
        "raid-5",
        "postgresql",
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("臺灣的橋樑", "台湾的桥梁"),
        ("這個問題怎麼解決", "这个问题怎么解决"),
        ("ΑΘΗΝΑ", "Αθήνα"),
        ("ΟΔΟΣ", "οδός"),
        ("Müller", "Mueller"),
        ("Århus", "Aarhus"),
        ("Søren", "Soeren"),
        ("Göteborg", "Goeteborg"),
        ("Straße", "STRASSE"),
        ("Ærø", "Aero"),
        ("Œuvre", "oeuvre"),
        ("Þórshöfn", "Thorshofn"),
        ("İstanbul", "ISTANBUL"),
        ("ＡＢＣ１２３", "abc123"),
        ("ﾊﾝｶｸ", "ハンカク"),
    ],
)
def test_letters_that_readers_take_as_one_find_each_other(one: str, other: str) -> None:
    assert {*content_words(other)} <= {*index_words(one)}
    assert {*content_words(one)} <= {*index_words(other)}
