"""The words of reports: every language has all of them, and each tag finds its own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leadline
import leadline_plugins.stages
from leadline.records import Section
from leadline_plugins.stages.write import report_sections
from leadline_plugins.verification.reports.references import is_list_title
from leadline_plugins.wording.notices import notice_keys, parse_notice, task_name, translate_notice
from leadline_plugins.wording.notices import notice_texts as notice_words
from leadline_plugins.wording.phrases import for_language, languages, phrase, right_to_left, translate, wider_tags
from leadline_plugins.wording.phrases import phrases as words  # no front door: a report asks word by word

LANGUAGES = {"en", "zh", "zh-Hant", "ja", "ko", "de", "fr", "es", "pt", "it", "ru", "ar"}
PLUGINS = Path(leadline_plugins.stages.__path__[0]).parent
SIMPLIFIED = set("图来报结论检询轮无证断关闭条阅读个总计统设编题体应现义语")
"""Characters of our words that Traditional Chinese writes otherwise."""


def fields(said: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(said) if name}


def test_the_languages_are_there() -> None:
    assert set(languages()) >= LANGUAGES


@pytest.mark.parametrize("tag", sorted(LANGUAGES - {"en"}))
def test_every_language_has_each_word_with_its_numbers_and_names(tag: str) -> None:
    assert words(tag).keys() == words("en").keys()
    for name, said in words("en").items():
        assert fields(words(tag)[name]) == fields(said), name
        assert words(tag)[name] or name in ("space", "notices"), name


@pytest.mark.parametrize("tag", ["zh-TW", "zh-HK", "zh-Hant", "zh_tw", "ZH-hant-HK", "yue"])
def test_traditional_chinese_has_its_own_words(tag: str) -> None:
    assert phrase("conclusion", tag) == "結論"
    assert for_language({"zh": "simplified", "zh-hant": "traditional"}, tag, "") == "traditional"


@pytest.mark.parametrize("tag", ["zh", "zh-CN", "zh-Hans", "zh-Hans-HK", "zh-SG"])
def test_simplified_chinese_keeps_its_own(tag: str) -> None:
    assert phrase("conclusion", tag) == "结论"


def test_no_traditional_word_is_written_in_simplified_characters() -> None:
    assert not set("".join(words("zh-Hant").values())) & SIMPLIFIED


@pytest.mark.parametrize(
    ("tag", "word"), [("de-AT", "Fazit"), ("en-GB", "Conclusion"), ("fil", "Conclusion"), ("", "Conclusion")]
)
def test_a_tag_finds_the_nearest_language_and_else_english(tag: str, word: str) -> None:
    assert phrase("conclusion", tag) == word


@pytest.mark.parametrize(
    ("tag", "expected"), [("ar", True), ("he-IL", True), ("yi", True), ("ckb", True), ("az-Arab", True)]
)
def test_right_to_left(tag: str, expected: bool) -> None:
    assert right_to_left(tag) is expected


@pytest.mark.parametrize("tag", ["en", "zh-Hant", "ku-Latn", "ar-Latn", "", "arn"])
def test_left_to_right(tag: str) -> None:
    assert not right_to_left(tag)


@given(st.text(max_size=30))
def test_whatever_the_tag_there_is_a_word(tag: str) -> None:
    assert phrase("summary", tag)
    assert list(wider_tags(tag))


def test_numbers_agree_with_their_noun() -> None:
    assert phrase("total", "en", total=1) == "Total: 1 source"
    assert phrase("total", "en", total=2) == "Total: 2 sources"
    assert phrase("total", "de", total=1) == "Insgesamt: 1 Quelle"


def test_what_a_record_says_in_english_is_translated_where_it_is_ours() -> None:
    assert translate(phrase("none", "en"), "fr") == phrase("none", "fr")
    assert translate("the year is 2020", "fr") == "the year is 2020"


@pytest.mark.parametrize("tag", sorted(LANGUAGES))
def test_verify_finds_the_lists_under_the_headings_we_write(tag: str) -> None:
    assert is_list_title(phrase("cited", tag))
    assert is_list_title(phrase("additional", tag))
    assert not is_list_title(phrase("statistics", tag))


@pytest.mark.parametrize("language", ["en", "de", "zh-TW"])
def test_what_stands_around_the_sections_has_titles_in_the_language(language: str) -> None:
    stand = (Section(id="1", title="Own", text="Text. [@e]"), Section(id="2", title="Other", text="Text. [@e]"))
    around = ("summary", "analysis", "conclusion")
    parts = [Section(id=name, title="", text="S. [@e]") for name in around]
    whole = report_sections(parts, stand, "Why?", language)
    titles = [section.title for section in whole if section.title not in ("Own", "Other")]
    assert titles == [phrase(name, language) for name in around]
    (alone, *_) = report_sections((), (stand[0].model_copy(update={"title": "Why?"}),), "Why?", language)
    assert alone.title == phrase("answer", language)


def code_of(*roots: Path) -> str:
    code = "".join(path.read_text("utf-8") for root in roots for path in root.rglob("*.py"))
    return re.sub(r'"\n\s+f?"', "", code)  # a text over several lines


def test_the_notices_of_each_language_are_known_by_the_words_of_the_code() -> None:
    code = code_of(Path(leadline.__path__[0]), PLUGINS)
    for said in notice_words("en").values():
        for literal in re.split(r"\{\w+\}", said):
            assert literal.strip(" ();:'") in code, said


def test_the_code_uses_every_word() -> None:
    code = code_of(PLUGINS)
    for name, said in words("en").items():
        assert re.search(rf"""['"]{name}['"]|"{re.escape(said)}\"""", code), name


def told(path: Path) -> Iterator[str]:
    """Yield the notices in the code of a module, with `x` for what is set into them."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "notify":
            yield from filter(None, (_text(one) for one in node.args[1:]))
        if isinstance(node, ast.Yield) and node.value and path.name == "synthesize.py":
            yield from filter(None, (_text(node.value),))


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(value) for value in node.values)
    if isinstance(node, ast.FormattedValue):
        return "'x'" if node.conversion == ord("r") else "x"
    return str(node.value) if isinstance(node, ast.Constant) else ""


def test_each_notice_of_the_stages_has_words_in_other_languages() -> None:
    notices = [
        one
        for folder in ("stages", "writing", "verification")
        for path in (PLUGINS / folder).rglob("*.py")
        for one in told(path)
    ]
    assert len(notices) > 12
    assert [one for one in notices if not one.startswith("x") and not parse_notice(one)[0]] == []


@pytest.mark.parametrize("tag", ["zh", "zh-Hant", "ja", "de"])
def test_each_notice_tells_in_a_language_what_the_english_one_does(tag: str) -> None:
    assert notice_words(tag).keys() == notice_words("en").keys()
    for name, said in notice_words("en").items():
        values = {field: "digest" if field == "task" else f"<{field}>" for field in fields(said)}
        told = values | {"task": task_name("digest", tag)}
        assert translate_notice(said.format(**values), tag) == notice_words(tag)[name].format(**told)


@given(st.text(max_size=60))
def test_any_other_notice_is_left_as_it_is(notice: str) -> None:
    assert translate_notice(notice, "zh") == "" or any(sign.isalpha() for sign in notice)
    assert translate_notice(notice, "en") == translate_notice(notice, "fil") == ""


def test_a_notice_is_known_by_its_key_and_what_stands_in_it() -> None:
    assert parse_notice("“3 km” does not occur in the cited passages") == ("not_occurring", {"value": "3 km"})
    assert parse_notice("no charts were planned (it was late)") == ("charts", {"reason": "it was late"})
    assert parse_notice("it was odd") == ("", {})
    assert notice_keys().index("no_plan") < notice_keys().index("charts") < notice_keys().index("not_occurring")


@pytest.mark.parametrize("tag", ["zh", "zh-Hant", "ja", "de"])
def test_reasons_that_are_joined_are_told_each_in_the_language(tag: str) -> None:
    one, other = "“3” does not occur in the cited passages", "no judge could decide"
    assert translate_notice(f"{one}; {other}", tag) == translate_notice(one, tag) + phrase(
        "semicolon", tag
    ) + translate_notice(other, tag)
    assert translate_notice(f"{one}; so it is", tag) == "", "half of it would stay English"


@pytest.mark.parametrize("tag", ["en", "zh", "ja", "fil"])
def test_a_task_has_a_name_that_readers_know(tag: str) -> None:
    assert task_name("verify_claim", tag) not in ("", "verify_claim")
    assert task_name("of a plugin", tag) == "of a plugin"
