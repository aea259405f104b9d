"""A reply in another language than was asked for is found out, and nothing else is."""

from __future__ import annotations

import pytest

from leadline.research_findings import Question
from leadline_plugins.prompting.writing_tasks import SectionText, SynthesizeRequest
from leadline_plugins.text import language
from leadline_plugins.text.reply_language import answered_in_language, foreign_paragraph, wrong_language

ENGLISH = (
    "The harbour was sounded in 1871, and the survey found a depth of nine fathoms at the mole [@e12]. It was the "
    "first of its kind on this coast, which is why the figures of the board were questioned by those who paid for it."
)
GERMAN = (
    "Der Hafen wurde 1871 gelotet, und die Vermessung fand eine Tiefe von neun Faden an der Mole [@e12]. Sie war "
    "die erste ihrer Art an dieser Küste, und so wurden die Zahlen der Behörde von denen bezweifelt, die zahlten."
)
FRENCH = (
    "Le port a été sondé en 1871, et le levé a trouvé une profondeur de neuf brasses au môle [@e12]. C'était le "
    "premier de ce genre sur la côte, et les chiffres du bureau ont été mis en doute par ceux qui les avaient payés."
)
CHINESE = (
    "该港口于一八七一年进行了测深，测量结果显示防波堤处水深为九英寻[@e12]。这是该海岸的首次此类测量，"
    "因此多年来出资者一直质疑港务局的数据，直到后来的复测证实了这些结果。"
)
JAPANESE = (
    "この港は一八七一年に測深され、防波堤のところで九尋の深さがあることがわかった[@e12]。この海岸では初めての調査であり、"
    "費用を出した人々は長いあいだ港湾局の数字を疑っていたが、後の再測定によって確かめられた。"
)
TEXTS = {"en": ENGLISH, "de": GERMAN, "fr": FRENCH, "zh": CHINESE, "ja": JAPANESE}


@pytest.mark.parametrize("wanted", TEXTS)
@pytest.mark.parametrize("found", TEXTS)
def test_each_language_is_distinguished_from_the_others(wanted: str, found: str) -> None:
    assert wrong_language(TEXTS[found], wanted) == ("" if found == wanted else found)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", "en"),
        ("9 fathoms, 1871.", "de"),
        ("Nine fathoms.", "zh"),
        (f"{ENGLISH} “{GERMAN}”", "en"),
        (f"{ENGLISH} The plaque says: Der Hafen wurde gelotet, und es war die erste Vermessung.", "en"),
        (CHINESE + " Port Ellery Harbour Board, Lloyd's Register of Shipping, London Gazette", "zh-TW"),
        (CHINESE + "「この港は一八七一年に測深された」", "zh"),
        (JAPANESE, "ja-JP"),
        (ENGLISH, "und"),
        (ENGLISH, ""),
        ("Satama luodattiin vuonna 1871, ja mittaus löysi yhdeksän sylen syvyyden laiturin luona rannalla. " * 3, "fi"),
        ("| Port | Depth | Year |\n|---|---|---|\n| Ellery | 9 | 1871 |\n| Antwerp | 12 | 1902 |\n" * 4, "de"),
    ],
)
def test_a_text_that_may_be_right_is_accepted(text: str, wanted: str) -> None:
    assert wrong_language(text, wanted) == ""


SIMPLIFIED = (
    "全民健康保险于1995年开办，目前纳保率超过百分之九十九，医疗费用持续增长，财务压力不断扩大，专家认为应当调整费率。"
)
TRADITIONAL = (
    "全民健康保險於1995年開辦，目前納保率超過百分之九十九，醫療費用持續增長，財務壓力不斷擴大，專家認為應當調整費率。"
)


def test_simplified_is_foreign_to_traditional_and_names_in_it_are_not() -> None:
    assert wrong_language(SIMPLIFIED, "zh-Hant") == "zh"
    assert wrong_language(TRADITIONAL, "zh-Hant") == ""
    assert wrong_language(f"{TRADITIONAL}{TRADITIONAL}国务院卫生部", "zh-Hant") == ""
    assert wrong_language(TRADITIONAL, "zh") == wrong_language(SIMPLIFIED, "zh") == ""
    assert wrong_language(ENGLISH, "zh-Hant") == "en"
    assert said(Question(text="健保？", language="zh-Hant"), SIMPLIFIED) == (
        "it is in Simplified Chinese and must be in Traditional Chinese"
    )


def test_languages_of_other_scripts_are_held_to_as_well() -> None:
    assert wrong_language(ENGLISH, "vi") == "en"
    assert wrong_language(ENGLISH, "bn") == "en"
    assert wrong_language(ENGLISH, "hy") == "en"


UKRAINIAN = (
    "Гавань вимірювали у 1871 році, і тоді вона була глибокою, але що з нею було після того, "
    "не знає ні він, ні хто-небудь. "
)


def test_a_guess_among_the_languages_of_a_script_is_not_held_against_the_others() -> None:
    assert wrong_language(UKRAINIAN * 2, "ru") == "uk"
    assert said(Question(text="Порт Одеса", language="ru"), UKRAINIAN * 2) == ""
    assert said(Question(text="Порт Одеса", language="ru"), ENGLISH).endswith("must be in Russian")
    assert said(Question(text="Порт Одеса", language="pl"), UKRAINIAN * 2).endswith("must be in Polish")


def said(question: Question, text: str) -> str:
    check = answered_in_language(lambda written: (written.text,))
    return check(SynthesizeRequest(question=question, outline=(), sources=()), SectionText(text=text))


def test_a_task_says_which_language_it_wants() -> None:
    question = Question(text="Wie tief war der Hafen, und wer hat das gemessen?", language="de")
    assert said(question, ENGLISH) == "it is in English and must be in German"
    assert said(question, GERMAN) == ""


def test_a_language_somebody_set_is_held_to_and_a_guess_is_not() -> None:
    text = "CO2 Scania Volvo 2024 sul km"
    guessed = Question(text=text, language=language(text))
    assert guessed.language == "und"
    assert said(guessed, ENGLISH) == ""
    assert said(Question(text="How deep was the harbour?", language="fr"), ENGLISH).endswith("must be in French")


QUESTION = Question(text="How deep was the harbour, and who measured that?", language="en")
GAP = (
    "Los pasajes no dicen quién midió la profundidad del puerto en los años de la guerra, ni lo que costó a la ciudad; "
)
GAP += "tampoco se sabe cuál era la profundidad."


def part(text: str, gap: str = "") -> str:
    return said(QUESTION, text) or foreign_paragraph((text, gap), QUESTION)


def test_paragraphs_and_open_questions_must_be_in_the_language() -> None:
    told = part(f"{ENGLISH}\n\n{ENGLISH}\n\n{GERMAN}")
    assert told.startswith('a part of it is in German and must be in English ("Der Hafen wurde 1871 gelotet, und')
    assert part(ENGLISH, GAP).startswith("a part of it is in Spanish and must be in English")
    assert part(GERMAN) == "it is in German and must be in English"


@pytest.mark.parametrize(
    "text",
    [
        f"> {GERMAN}",
        f"- {GERMAN}",
        f"| {GERMAN} |\n|---|\n| a |",
        f"### {GERMAN}",
        f'The plaque says: "{GERMAN}"',
        f"The plaque says: «{GERMAN}»",
        "Der Hafen wurde 1871 gelotet, und zwar von der Behörde.",
    ],
)
def test_a_quotation_a_list_a_title_and_a_short_paragraph_may_be_in_another_language(text: str) -> None:
    assert part(f"{ENGLISH}\n\n{text}\n\n{ENGLISH}") == ""
