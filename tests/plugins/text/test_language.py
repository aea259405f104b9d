from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline_plugins.text import language
from leadline_plugins.text.language import _words


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
def test_script_and_stop_words_identify_the_language(text: str, expected: str) -> None:
    assert language(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Jakie są koszty energii jądrowej w Polsce?", "pl"),
        ("Jaké jsou náklady na jadernou energii?", "cs"),
        ("Mennyi az atomenergia költsége és hogyan változik?", "hu"),
        ("Care este costul energiei nucleare în România?", "ro"),
        ("Köprü ne kadar uzun ve nasıl inşa edildi?", "tr"),
        ("Biến đổi khí hậu ở Việt Nam ảnh hưởng thế nào?", "vi"),
        ("Bagaimana dampak perubahan iklim di Indonesia?", "id"),
        ("Missä silta on, ja kuka sen rakensi?", "fi"),
        ("Hvad er klimaet i Danmark, og hvordan har det ændret sig?", "da"),
        ("Hva er klimaet i Norge, og hvordan har det endret seg?", "no"),
        ("Які перспективи відновлюваної енергетики?", "uk"),
        ("Какво се случва и как се развива?", "bg"),
        ("آیا ایران با بحران آب روبرو است؟", "fa"),
        ("کیا پاکستان میں پانی کا بحران ہے؟", "ur"),
        ("पुल कब बना था?", "hi"),
        ("पूल कधी आणि का बांधला?", "mr"),
        ("ভারতে জল সংকট", "bn"),
        ("தமிழ்நாட்டில் நீர்", "ta"),
        ("Հայաստանի տնտեսությունը", "hy"),
        ("საქართველოს ეკონომიკა", "ka"),
        ("សេដ្ឋកិច្ចកម្ពុជា", "km"),
    ],
)
def test_further_languages_are_not_taken_for_their_neighbours(text: str, expected: str) -> None:
    assert language(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Volvo Scania emissions 2024",
        "Population of Paris",
        "What does 你好 mean?",
        "Sushi (寿司, すし) is a dish of rice.",
        "Zürich housing prices",
        "Kraków travel",
        "Côte d'Ivoire economy since 2010",
        "Population of São Paulo",
        "The Hồ Chí Minh trail",
        "Real Madrid CF vs FC Bayern München",
        "naïve Bayes classifier",
        "résumé tips",
        "café culture in Paris",
        "β-catenin Wnt signaling pathway",
        "São Paulo population",
        "Dvořák symphony",
        "El Niño effects",
    ],
)
def test_english_stays_english(text: str) -> None:
    assert language(text) == "en"


@pytest.mark.parametrize(
    "text",
    [
        "Wärmepumpen Kosten Altbau",
        "Mitä ydinvoima maksaa?",
        "Žilina Ľubovňa",
        "Sanierung Gebäude energetisch",
        "Bevölkerung in Österreich",
        "Évolution population Paris",
        "Türkiye ekonomi haber",
        "İstanbul nüfusu",
        "België bevolking",
        "Överlevnad cancer",
        "Kraków ceny",
    ],
)
def test_a_language_without_enough_evidence_is_unknown(text: str) -> None:
    assert language(text) == "und"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("評估台灣全民健保", "zh-Hant"),
        ("臺北", "zh-Hant"),
        ("中国高速铁路", "zh"),
        ("北京人口", "zh"),
        ("陶喆的歌", "zh"),
        ("他心裏想着電視劇", "zh-Hant"),
        ("馬雲 張學良", "zh-Hant"),
        ("東京 人口 2023", "zh"),
        ("東京 大阪 人口 推移", "zh"),
        ("国際 会議 参加", "ja"),
        ("医療 費用", "ja"),
        ("京都 観光 統計", "ja"),
        ("中国 社会 会议", "zh"),
        ("東京電力福島第一原発事故 影響", "ja"),
        ("日本経済 分析", "ja"),
        ("比较日本动漫《鬼滅の刃》的影响与历史", "zh"),
        ("分析OpenAI与Anthropic的GPT-5 Claude模型 API pricing strategy in enterprise market", "zh"),
        ("OpenAI와 Anthropic의 enterprise pricing strategy 분석", "ko"),
    ],
)
def test_the_form_of_han_distinguishes_simplified_traditional_and_japanese(text: str, expected: str) -> None:
    assert language(text) == expected


@given(st.text(st.characters(max_codepoint=127)))
def test_words_of_ascii_are_runs_of_letters_in_lower_case(text: str) -> None:
    assert _words(text) == re.findall("[a-z]+", text.lower()) == _words(f"{text} é")[:-1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("El pont es va construir l'any 1912 i encara avui hi passen milers de cotxes cada dia.", "ca"),
        ("Most bol postavený v roku 1912 a dodnes po ňom každý deň prejdú tisíce áut.", "sk"),
        ("Most je izgrađen 1912. godine i još uvijek njime svaki dan prolaze tisuće automobila.", "hr"),
        ("Tiltas buvo pastatytas 1912 metais ir iki šiol juo kasdien pravažiuoja tūkstančiai automobilių.", "lt"),
        ("Мостот е изграден во 1912 година и сè уште секој ден по него минуваат илјадници возила.", "mk"),
        ("Silta valmistui vuonna 1912, ja sen yli ajaa edelleen tuhansia autoja joka päivä.", "fi"),
    ],
)
def test_cld3_identifies_languages_without_stop_words(text: str, expected: str) -> None:
    pytest.importorskip("gcld3", reason="cld3-py has no wheel for this platform")
    assert language(text) == expected
