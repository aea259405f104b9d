"""What of a page can be quoted, and what is furniture: entries of lists, labels, listings, a model's chatter."""

from __future__ import annotations

import pytest

from leadline.findings import Question
from leadline.records import Document, Hit, Source
from leadline_plugins.ai.embedded.extract import extract
from leadline_plugins.ai.embedded.quotable import LONGEST, leads, quotable
from leadline_plugins.tasks.reading import ExtractRequest, Learning


def learnings(text: str, question: str, again: str = "", limit: int = 40) -> tuple[Learning, ...]:
    source = Source(id="s", hit=Hit(url="http://a.example/", title="A page"), document=Document(text=text))
    asked = Question(text=question, language="en")
    query = again or question
    request = ExtractRequest(question=asked, query=query, source=source, limit=limit, again=bool(again))
    return extract(request).learnings


@pytest.mark.parametrize(
    "text",
    [
        "Gold rose by 20% in 2024 ([Lorn](https://a.example/gold)).",
        "- Gold rose by 20% in 2024 ([Lorn](https://a.example/gold))",
        "[3] The bay is the deepest of them.",
        "Its code is on https://a.example/code and was read by three million people.",
        "1. [Lorn](https://a.example) - a tool that keeps clusters alike",
        "```\nlorn install bridge\n```",
        "- Lorn 7.2",
        "- 易于扩展",
        "我国的研究显示，增长放缓。",
        "我们需要更多的投资。",
        "> - A bridge of stone",
        ">     - 桥梁费目标44万元",
        "- **Toll of 1931: 4 pence**",
        "- **The toll fell.**",
        "1. **Toll**: it fell in May",
        "```\nTolls\n├── 1931\n│   ├── low: 3 pence\n│   └── high: 4 pence\n├── 1932\n│   └── 5 pence\n```",
    ],
)
def test_what_states_something_is_quotable(text: str) -> None:
    assert quotable(text)


@pytest.mark.parametrize(
    "text",
    [
        "[6] Bridges - keeping them: https://a.example/b [7] Tolls: https://a.example/t",
        "[15] 世界桥梁协会（中文）: https://a.example/18949",
        "[12] A. Lorn et al. Arches are all you need. 1917.",
        "1. Title of a page. https://a.example/x (accessed 3 May 2024)",
        "- Manual of bridges – https://a.example",
        "- [Manual of bridges](https://a.example/m)",
        "[One](https://a.example/1), [Two](https://a.example/2)",
        "DOI:10.1145/3698038.3698509.",
        "November 2024.",
        "2024年11月3日。",
    ],
)
def test_entries_of_a_list_of_sources_are_not_quotable(text: str) -> None:
    assert not quotable(text)


@pytest.mark.parametrize(
    "text",
    [
        "- Bridges:",
        "- **2010-2011年：**",
        "**Advantages:**",
        "(2025).",
        "- Tolls",
        "- 优点",
        "1. **Care of Bridges**",
        "3. **桥梁养护**",
        "- __Care of Bridges__",
        ">     - 桥梁与养护",
    ],
)
def test_labels_are_not_quotable(text: str) -> None:
    assert not quotable(text)


@pytest.mark.parametrize(
    "item",
    [
        "- TOLL+ older carters",
        "- Elmford Bridge Friends and the Tollkeepers",
        "- Elm Porch/Well Kept (formerly “a house without walls”)",
        "* Freunde der Brücke für Lorn",
        "1. 桥梁养护",
    ],
)
@pytest.mark.parametrize("below", ["  - They mend the bridge.", "\t* They mend it", "   1. They mend it"])
def test_a_name_over_items_that_speak_of_it_is_a_label(item: str, below: str) -> None:
    text = f"They help.\n{item}\n{below}\n"
    place = text.index(item)
    assert quotable(item)
    assert leads(text, place, place + len(item))
    assert leads(text, place, place + len(item) + 1)
    alone = f"They help.\n{item}\n- Others\n"
    assert not leads(alone, place, place + len(item)), "it may be what was asked for"
    deep = f"They help.\n  {item}\n  - Others\n"
    assert not leads(deep, place + 2, place + 2 + len(item))
    assert not leads(text[: place + len(item)], place, place + len(item))


@pytest.mark.parametrize(
    "item",
    [
        "- Carters paid more than others did",
        "- Elmford Bridge is the oldest",
        "- Elmford Bridge 1871",
        "- Tolls fell.",
        "Elmford Bridge",
    ],
)
def test_what_says_something_over_items_is_no_label(item: str) -> None:
    text = f"{item}\n  - They mend the bridge.\n"
    assert not leads(text, 0, len(item))


def test_of_an_outline_the_items_are_taken_and_not_what_leads_to_them() -> None:
    items = "- Friends of Elmford Bridge\n  - They mend Elmford Bridge in May\n- Tarn Masons\n"
    text = f"# Who keeps Elmford Bridge\n\n{items}"
    found = learnings(text, "Who keeps Elmford Bridge?")
    assert {one.quote for one in found} == {"- They mend Elmford Bridge in May", "- Tarn Masons"}


@pytest.mark.parametrize(
    "text",
    [
        "我需要查询最新的市场数据和专业分析。",
        "为了全面分析桥梁自1871年以来的表现，我将收集并分析最新的数据。",
        "为了全面了解桥梁的研究状况，我将对现有成果进行系统梳理。",
        "I'll research the history of the bridge for you.",
        "Let me quickly look for the newest figures.",
    ],
)
def test_what_its_author_is_about_to_do_is_not_quotable(text: str) -> None:
    assert not quotable(text)


@pytest.mark.parametrize(
    "lines", [["a | b", "x = 1 | y"] * 3, ["| no | figures |"] * 6, ["prose 1", "prose 2"] * 3], ids=str
)
def test_a_block_that_is_no_table_is_not_quotable(lines: list[str]) -> None:
    assert not quotable("\n".join(["```", *lines, "```"]))


def test_a_listing_is_not_quotable() -> None:
    listing = "\n".join(["```", *(f"line_{n} = {n}" for n in range(20)), "```"])
    assert not quotable(listing)


@pytest.mark.parametrize("heading", ["References", "Quellen", "参考文献", "Источники"])
def test_a_list_of_sources_gives_nothing(heading: str) -> None:
    entry = "- Lorn, A. (1931). The copper of Elmford Bridge. Tarn Press, pp. 3-9."
    text = f"# Bridges\n\nElmford Bridge has copper on its towers.\n\n## {heading}\n\n{entry}\n{entry}\n"
    found = learnings(text, "What is of copper on Elmford Bridge?")
    assert [one.quote for one in found] == ["Elmford Bridge has copper on its towers."]


@pytest.mark.parametrize("head", ["References:", "**Sources:**", "参考文献："])
def test_a_line_may_begin_a_list_of_sources(head: str) -> None:
    entry = (
        "[3] https://a.example/c - Why? Elmford Bridge, the story of its copper as the oldest papers of Tarn tell it"
    )
    other = "[4] https://a.example/b - Bridges"
    text = (
        f"# Bridges\n\nElmford Bridge has copper.\n\n{head}\n{entry}\n{other}\n\n## Tolls\n\nElmford Bridge has tolls."
    )
    found = learnings(text, "What has Elmford Bridge?")
    assert {one.quote for one in found} == {"Elmford Bridge has copper.", "Elmford Bridge has tolls."}


def test_the_mark_of_the_sentence_before_is_no_part_of_a_quote() -> None:
    text = (
        "Elmford Bridge is old. [2] Elmford Bridge is of stone. [3][4] Elmford Bridge has tolls.\n[5] Elmford is deep."
    )
    found = learnings(text, "What is Elmford Bridge?")
    starts = (
        "Elmford Bridge is old.",
        "Elmford Bridge is of stone.",
        "Elmford Bridge has tolls.",
        "[5] Elmford is deep.",
    )
    assert sorted(one.quote for one in found) == sorted(starts)
    assert all(text.startswith(one.quote, one.start) for one in found)


def test_a_heading_that_is_called_so_over_prose_hides_nothing() -> None:
    text = "# Noise\n\n## Main sources\n\nThe main sources of noise are lorries. Noise is worst at night.\n"
    assert len(learnings(text, "Where does noise come from?")) == 2


def test_items_below_a_heading_that_names_the_subject_are_taken() -> None:
    items = [f"- It carries weight number {n}" for n in range(12)]
    text = "\n".join(["# Notes", "", "### Elmford Bridge", "", *items, "", "### Other", "", "- It is of wood now"])
    found = learnings(text, "What does Elmford Bridge carry?")
    assert [one.quote for one in found] == items


def test_of_a_row_that_is_too_long_the_cells_are_taken_sentence_by_sentence() -> None:
    said = " ".join(f"Elmford Bridge was mended in the year {1800 + n}." for n in range(60))
    text = f"| Name | Story |\n|---|---|\n| Elmford Bridge | {said}<br>The bridge stands |\n"
    assert len(said) > LONGEST
    found = learnings(text, "When was Elmford Bridge mended?")
    assert len(found) == 40
    assert all(one.quote.endswith(".") and "|" not in one.quote for one in found)
    assert all(text[one.start : one.start + len(one.quote)] == one.quote for one in found)


def test_the_head_of_a_table_is_not_taken() -> None:
    text = "# Tolls\n\n| Toll | Elmford Bridge |\n|---|---|\n| Carts of Elmford | a penny |\n"
    assert [one.quote for one in learnings(text, "What is the toll of Elmford Bridge?")] == [
        "| Carts of Elmford | a penny |"
    ]


def test_of_a_page_that_is_read_again_only_what_serves_the_search_is_taken() -> None:
    text = "# Bridges\n\nElmford Bridge is of stone.\n\n## Its tolls\n\n- A cart pays a penny\n- Elmford pays none\n"
    found = learnings(text, "What is Elmford Bridge?", again="tolls")
    assert {one.quote for one in found} == {"- A cart pays a penny", "- Elmford pays none"}


@pytest.mark.parametrize(
    ("said", "again"),
    [
        ("渡船费44万元，比上年增加。", "桥梁税 渡船费 铁路附加费 灯塔捐 增加"),
        ("It faces questions of the Office of Bridges and Canals.", "OBC investigation Elmford"),
        ("Larkin held three of them at once.", "Larkin three bridges owned probability ruin"),
    ],
)
def test_what_says_a_part_of_what_a_search_names_is_taken_of_a_page_that_is_read_again(said: str, again: str) -> None:
    text = "\n\n".join(["# Elmford", said, *(f"Elmford is a town of {number} houses." for number in range(20))])
    assert [one.quote for one in learnings(text, "How old is it?", again=again)] == [said]


def test_of_a_page_that_is_read_again_the_best_few_are_taken() -> None:
    text = "\n\n".join(f"Elmford Bridge has toll house number {number}." for number in range(20))
    assert len(learnings(text, "What is Elmford Bridge?")) == 20
    assert len(learnings(text, "What is Elmford Bridge?", again="toll houses")) == 16
    assert len(learnings(text, "What is Elmford Bridge?", again="toll houses", limit=10)) == 6


def test_a_sentence_that_semicolons_part_is_taken_whole_where_it_is_of_usual_length() -> None:
    said = "2024年渡船费44万元，比上年减少；桥梁税12万元，比上年增加25%。"
    assert learnings(f"# 收入\n\n{said}其他不变。", "桥梁税是多少？")[0].quote == said
    long = f"渡船费44万元{'，比上年增加' * 30}；桥梁税12万元。"
    assert [one.quote for one in learnings(f"# 收入\n\n{long}", "桥梁税是多少？")] == ["桥梁税12万元。"]
    lines = "- 渡船费44万元；\n- 桥梁税12万元；\n"
    assert [one.quote for one in learnings(lines, "桥梁税是多少？")] == ["- 桥梁税12万元；"]


def test_where_amounts_are_asked_for_what_tells_one_is_taken_before_what_shares_as_many_words() -> None:
    lines = [f"The tolls of the bridge are kept in ledger {number}." for number in range(20)]
    said = "Tolls of the bridge came to $44 million."
    text = "\n\n".join([*lines, said])
    page = Source(id="s", hit=Hit(url="http://a.example/", title="A page"), document=Document(text=text))
    for asked, taken in (
        ("How large are the tolls of the bridge?", True),
        ("Who takes the tolls of the bridge?", False),
    ):
        question = Question(text=asked, language="en")
        request = ExtractRequest(question=question, query=asked, source=page, limit=8, material=True)
        assert (said in {one.quote for one in extract(request).learnings}) == taken


def test_the_first_sentence_of_an_item_counts_for_all_of_it() -> None:
    text = "- Elmford Bridge.\n- Ashby Ferry. It was built late. A flood took it.\n- Elmford Mill. It stood long."
    assert "A flood took it." in {one.quote for one in learnings(text, "What became of Ashby Ferry?")}


def test_for_a_writer_what_serves_the_search_is_among_what_is_taken_of_a_page() -> None:
    said = "The ferry of Ashby took forty crowns."
    lines = [f"Elmford Bridge has toll house number {number}." for number in range(60)]
    text = "\n\n".join([*lines, said])
    page = Source(id="s", hit=Hit(url="http://a.example/", title="A page"), document=Document(text=text))
    asked = Question(text="What toll houses has Elmford Bridge?", language="en")
    for query, material, taken in (
        ("ferry crowns Ashby", True, True),
        (asked.text, True, False),
        ("ferry", False, False),
    ):
        request = ExtractRequest(question=asked, query=query, source=page, limit=40, material=material)
        found = extract(request).learnings
        assert len(found) == 40
        assert (said in {one.quote for one in found}) == taken
        assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
