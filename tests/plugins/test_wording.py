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
from leadline.records import Failure, Notice, Section
from leadline_plugins.stages.write import report_sections
from leadline_plugins.verification.reports.references import is_list_title
from leadline_plugins.wording.notices import grouped, task_name, templates, translate_notice
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


def test_the_code_uses_every_word() -> None:
    code = code_of(PLUGINS)
    for name, said in words("en").items():
        assert re.search(rf"""['"]{name}['"]|"{re.escape(said)}\"""", code), name


TRANSLATED = ["zh", "zh-Hant", "ja", "de"]


def codes_in(path: Path) -> Iterator[str]:
    """Yield the codes of the notices that a module makes, or may make of pairs of a text and a code."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Call(func=ast.Name("Notice"), args=[_, ast.Constant(str(code))]):
                yield code
            case ast.Call(func=ast.Name("notify"), args=[_, _, ast.Constant(str(code))]):
                yield code
            case ast.Tuple([ast.Constant(str(text)), ast.Constant(str(code))]) if " " in text:
                yield code


def test_each_notice_has_a_template_in_other_languages_and_each_template_a_notice() -> None:
    paths = [path for root in (Path(leadline.__path__[0]), PLUGINS) for path in root.rglob("*.py")]
    made = {code for path in paths for code in codes_in(path)}
    known = {*templates("zh")} - {"because"}
    assert known - made == set(), "no code makes these"
    assert len(known) > 50
    reported = (path for folder in ("stages", "writing", "verification") for path in (PLUGINS / folder).rglob("*.py"))
    assert {code for path in reported for code in codes_in(path)} - known == set(), "not translated"


@pytest.mark.parametrize("tag", TRANSLATED)
def test_each_language_has_all_templates_with_the_same_names(tag: str) -> None:
    assert templates(tag).keys() == templates("de").keys()
    for code, text in templates("de").items():
        assert fields(templates(tag)[code]) == fields(text), code


@pytest.mark.parametrize("tag", TRANSLATED)
def test_a_notice_is_rendered_by_its_code_with_its_reason_in_the_language(tag: str) -> None:
    form = Notice("it does not have the requested form", "form")
    reason = Notice("the model's reply could not be used: {reason}", "unusable", reason=form)
    notice = Notice("no charts were planned", "charts").because(reason)
    unusable = templates(tag)["unusable"].format(reason=templates(tag)["form"])
    both = templates(tag)["because"].format(message=templates(tag)["charts"], reason=unusable)
    assert translate_notice(notice, tag) == both
    part = Notice("{task}: an unreadable part of the reply was left out", "part", task="digest")
    assert translate_notice(part, tag) == templates(tag)["part"].format(task=task_name("digest", tag))


@given(st.text(max_size=60))
def test_the_plain_text_of_a_plugin_is_shown_as_it_is(text: str) -> None:
    assert translate_notice(text, "zh") == ""
    assert grouped([Notice(text)], "en") == [text]


def test_notices_with_the_same_reason_become_one() -> None:
    first, other = (Notice(text, code).because("late") for text, code in (("no a", "a"), ("no b", "b")))
    assert grouped([first, Notice("so it is"), other], "en") == ["no a; no b (late)", "so it is"]
    queries, charts = (Notice("none", code).because("late") for code in ("no_queries", "charts"))
    assert grouped([queries, charts], "zh") == ["没有提出检索词；没有规划图表（late）"]


def test_a_notice_survives_json_with_its_parameters() -> None:
    failure = Failure(kind="chat", provider="a", category="LLM", type="BadReply", message=Notice("odd"))
    notice = Notice("the chart '{title}' was not drawn: {reason}", "chart", title="T", reason=failure.text)
    read = Section.model_validate_json(Section(id="1", title="", notices=(notice, "plain")).model_dump_json()).notices
    assert [(one, one.code) for one in read] == [(notice, "chart"), ("plain", "text")]
    assert read[0].parameters["reason"].parameters == {"kind": "chat", "provider": "a", "failure": "odd"}


@pytest.mark.parametrize("tag", TRANSLATED)
def test_joined_reasons_are_translated_together_or_not_at_all(tag: str) -> None:
    one = Notice("“{value}” does not occur in the cited passages", "not_occurring", value="3")
    other = Notice("no judge could decide", "undecided")
    parts = translate_notice(one, tag), translate_notice(other, tag)
    assert all(parts)
    assert translate_notice(Notice.several([one, other]), tag) == phrase("semicolon", tag).join(parts)
    assert translate_notice(Notice.several([one, "so it is"]), tag) == "", "half of it would stay English"


@pytest.mark.parametrize("tag", ["en", "zh", "ja", "fil"])
def test_a_task_has_a_name_that_readers_know(tag: str) -> None:
    assert task_name("verify_claim", tag) not in ("", "verify_claim")
    assert task_name("of a plugin", tag) == "of a plugin"
