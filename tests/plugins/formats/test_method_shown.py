"""The method of a report: what was done and what is wanting, in its language and in sentences."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from leadline.records import Evidence, Failure, Notice, Report, Section
from leadline.research_findings import Plan, PlannedSection, Review, SectionReview
from leadline.settings import Settings
from leadline_plugins.formats.document import Medium, document
from leadline_plugins.formats.markdown import Markdown
from leadline_plugins.formats.method import paragraphs
from leadline_plugins.formats.tree import text
from leadline_plugins.wording.phrases import languages
from leadline_plugins.writing.methodology import count_shown_sources, missing_parts

FACTS: dict[str, Any] = {
    "queries": ["depth of the bay", "width of the bay"],
    "rounds": 2,
    "engines": ["web"],
    "hits": 9,
    "sources_read": 5,
    "failed_searches": [],
    "unread": [],
    "assumptions": [],
    "notices": [],
}


def said(language: str = "en", models: list[str] | None = None, **facts: Any) -> list[str]:
    metadata = {"created": "2026-11-23T05:00:00+00:00", "method": FACTS | facts}
    metadata |= {} if models is None else {"models": models}
    report = Report(title="A", language=language, sections=(), sources=(), evidence=(), metadata=metadata)
    return ["\n".join((part.text, *part.items)) for part in paragraphs(report)]


def test_the_method_names_models_day_searches_and_used_sources() -> None:
    assert said(models=["gpt-5"], sources_used=3) == [
        "Made on 2026-11-23 with gpt-5. 2 rounds of searches: 2 queries on web returned 9 results; "
        "5 sources were read. Passages from 3 of them reached the writer; 0 are cited. "
        "Searched for: depth of the bay; width of the bay."
    ]
    assert said(models=[])[0].startswith("Made on 2026-11-23, without a language model. 2 rounds")
    assert said()[0].startswith("2 rounds of search")


def test_the_method_names_the_limits() -> None:
    told = said(gaps=["How deep is the mole?", "Who sounded it."], left_out=["Width"])
    assert told[1] == ("Still open: How deep is the mole?; Who sounded it. Planned, but not written: Width.")


@pytest.mark.parametrize("language", languages())
def test_every_language_tells_all_of_it(language: str) -> None:
    facts = {"gaps": ["GAP"], "left_out": ["LEFT"], "sources_used": 3}
    text = " ".join(said(language, ["MODEL"], **facts))
    assert all(word in text for word in ("2026-11-23", "MODEL", "depth of the bay", "GAP", "LEFT", "web"))


def test_notices_about_the_installation_are_not_for_readers() -> None:
    skipped = Notice("charts were skipped: there is no chart runner", "chart_skipped").because("pip install it")
    assert said(notices=[skipped.data(), "it was odd"])[1] == "It was odd."


def test_an_unread_document_is_named_by_its_path_in_the_folder() -> None:
    unread = [{"url": "local://local/bay/a.txt", "reason": "it is empty"}]
    assert said(unread=unread)[-1] == "1 source could not be read: bay/a.txt (it is empty)."


def test_a_question_at_the_end_needs_no_other_stop() -> None:
    assert said("zh", gaps=["谁测的？", "多深？"])[1] == "仍未解决的问题：谁测的？多深？"


def test_a_section_without_passages_is_named_once() -> None:
    told = said("zh", left_out=["宽度"], notices=[Notice("'{title}' was left out", "left_out", title="宽度").data()])
    assert told[1:] == ["计划了但没有写成的章节：宽度。"]


def test_notices_end_with_one_stop_and_frequent_ones_are_translated() -> None:
    late = Notice("a summary, analysis or conclusion is missing", "alone").because("it was late")
    notices = [late.data(), "it was odd."]
    assert said(notices=notices)[1] == "A summary, analysis or conclusion is missing (it was late). It was odd."
    assert said("zh", notices=notices)[1:] == ["缺少摘要、分析或结论（it was late）。", "程序提示（英文）：It was odd."]


def test_the_gaps_of_the_last_review_are_named() -> None:
    plan = Plan(title="A", sections=(PlannedSection(id="1", title="Depth"), PlannedSection(id="2", title="Width")))
    review = Review(sections=(SectionReview(id="1", coverage="partial"),), priority_gaps=("How deep?",))
    assert missing_parts(review, plan, ())["gaps"] == ["How deep?"]
    found = missing_parts(review, plan, (Section(id="1", title="Depth"),))
    assert (found["gaps"], found["left_out"]) == ([], ["Width"]), "the writers saw more passages"


def test_used_are_the_sources_whose_passages_writers_were_shown() -> None:
    evidence = [Evidence(id=f"e{n}", source_id=f"s{n % 2}", quote="a", span=(0, 1)) for n in range(4)]
    sections = (Section(id="1", title="A", evidence_ids=("e0", "e2", "e1"), unsent=("e1",)),)
    assert count_shown_sources(sections, evidence) == 1


def test_more_queries_than_a_sentence_holds_are_a_list_that_may_be_folded() -> None:
    queries = ["depth", "width", "length", "how was it sounded?"]
    assert said(queries=queries)[1] == "Searched for (4 queries):\ndepth\nwidth\nlength\nhow was it sounded?"
    assert said("zh", queries=queries)[1].startswith("检索词（4 个）：\n")
    assert said(queries=["Is it deep?"])[0].endswith("Searched for: Is it deep?")


async def test_only_the_screen_lists_all_queries_and_folds_them() -> None:
    metadata = {"method": FACTS | {"queries": [f"depth {place}" for place in range(9)]}}
    report = Report(title="A", language="en", sections=(), sources=(), evidence=(), metadata=metadata)
    shown = "Searched for (9 queries): depth 0; depth 1; depth 2; … +6"
    call: Any = SimpleNamespace(run=SimpleNamespace(settings=Settings()))
    markdown = (await Markdown().format(report, call)).files[0].data.decode()
    print_blocks = document(report, Medium()).blocks
    assert shown in markdown
    assert shown in [text(block) for block in print_blocks]
    assert "BulletList" not in json.dumps([block for block in print_blocks if "depth" in text(block)])
    (folded,) = (block for block in document(report, Medium(screen=True)).blocks if "depth 8" in text(block))
    assert "folded" in folded["c"][0][1]


def test_open_questions_are_listed_in_their_section() -> None:
    facts: dict[str, Any] = {
        "unanswered": [{"section": "Dues", "gap": "The passages name no year."}],
        "notices": [Notice("not found: {gap}", "open", gap="The passages name no year.").data()],
    }
    assert said(**facts)[1:] == []


def test_notices_are_in_the_order_of_a_run_grouped_by_reason() -> None:
    form = Notice("it does not have the requested form", "form")
    unusable = Notice("the model's reply could not be used: {reason}", "unusable", reason=form)
    why = Failure(kind="task", provider="openai", category="LLM", type="BadReply", message=unusable).text
    made = [
        Notice("{task}: the second reply ended in the middle; its complete part is used", "broken", task="digest"),
        Notice("no charts were planned", "charts").because(why),
        Notice("no queries were proposed", "no_queries").because(why),
        Notice("no usable plan: one section answers the whole question", "no_plan").because(why),
    ]
    notices = [notice.data() for notice in made]
    expected = (
        "No usable plan: one section answers the whole question; no queries were proposed; no charts were planned (the "
        "reply of openai could not be used: it does not have the requested form). "
        "The digest of a round: the second reply ended in the middle; its complete part is used."
    )
    assert said(notices=notices)[1:] == [expected]
    assert said(notices=notices[::-1])[1:] == [expected]
    assert said("zh", notices=notices)[1:] == [
        "没有可用的提纲：用一章回答整个问题；没有提出检索词；没有规划图表（模型的回复无法使用：格式不符合要求）。"
        "一轮检索的归纳：模型的第二次回复中途断开，只取了其中完整的部分。"
    ]


def test_notices_about_sections_are_in_the_order_of_sections() -> None:
    sections = (Section(id="1", title="Width"), Section(id="2", title="Depth"))
    left_out = [Notice("section '{title}' was left out", "left_out", title=title) for title in ("Depth", "Width")]
    notices = [notice.data() for notice in left_out]
    short = [f"section '{title}' may be incomplete" for title in ("Depth", "Width")]
    metadata: Any = {"method": FACTS | {"notices": [*notices, *short]}}
    report = Report(title="A", language="en", sections=sections, sources=(), evidence=(), metadata=metadata)
    told = [part.text for part in paragraphs(report)][1]
    assert told.index("'Width'") < told.index("'Depth'")


def test_open_questions_are_kept_by_section() -> None:
    plan = Plan(title="A", sections=(PlannedSection(id="1", title="Depth"),))
    section = Section(id="1", title="Depth", text="It is deep [@e1].", unanswered=("Which year?", "Which year?"))
    assert missing_parts(None, plan, (section,))["unanswered"] == [{"section": "Depth", "gap": "Which year?"}]
