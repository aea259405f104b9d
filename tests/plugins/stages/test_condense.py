"""The stage `condense`, and the other stages of a long report, in whole runs and by themselves."""

from __future__ import annotations

from typing import Any, cast

import pytest

from leadline.errors import CallRefused
from leadline.records import REPORT_PARTS, Claim, Failure, Section
from leadline.research_findings import EVIDENCE, QUESTION, SOURCES, Query, Question
from leadline.settings import Settings
from leadline_plugins.prompting.lengths import plan_size, report_length, report_parts
from leadline_plugins.prompting.research_tasks import PlanRequest
from leadline_plugins.stages.condense import CondenseStage, Repeat, acceptable
from leadline_plugins.stages.query import new_tasks
from leadline_plugins.stages.write import report_sections


def claims(**texts: str) -> dict[str, Claim]:
    found = {}
    for name, text in texts.items():
        number = name.removeprefix("n").replace("_", ".")
        found[number] = Claim(id=number, section_id=number[0], text=text, span=(0, 1))
    return found


MANY = {f"n2_{n}": f"Statement {n} of the second section" for n in range(2, 9)}
KNOWN = claims(n1_1="It is 9 fathoms deep", n2_1="The depth is 9 fathoms", **MANY)


def accepted(*pairs: tuple[str, str]) -> list[tuple[str, str]]:
    repeats = [Repeat(statement=statement, of=of) for statement, of in pairs]
    return [(claim.id, stays.id) for claim, stays in acceptable(repeats, KNOWN)]


def test_a_repeated_statement_is_removed_only_if_nothing_is_lost() -> None:
    assert accepted(("2.1", "1.1")) == [("2.1", "1.1")]
    assert accepted(("2.1", "2.1"), ("2.1", "9.9"), ("x", "1.1")) == []
    assert accepted(("2.2", "1.1")) == []  # the number 2 is not in the statement that would stay
    assert accepted(("2.1", "1.1"), ("1.1", "2.1")) == [("2.1", "1.1")]


def test_no_section_loses_most_of_its_statements_to_a_model() -> None:
    same = claims(n1_1="It is deep", **{f"n2_{n}": "It is deep, they say" for n in range(1, 6)})
    repeats = [Repeat(statement=f"2.{n}", of="1.1") for n in range(1, 6)]
    assert len(list(acceptable(repeats, same))) == 2


class SpentRun:
    """A run whose model may not be asked any more."""

    def __init__(self) -> None:
        self.notices: list[str] = []

    def prefetch(self, work: Any) -> None:
        work.close()

    async def by_chat(self, task: str, role: str = "task") -> bool:
        return True

    async def perform(self, task: Any) -> Any:
        record = Failure(kind="task", provider="leadline", category="LLM", type="Refused", message="the time is spent")
        raise CallRefused(record)

    async def emit(self, kind: str, data: dict[str, str]) -> None:
        self.notices.append(data["message"])

    async def save(self, file: Any) -> None:
        assert file.name == "repetition.json"


async def test_a_spent_budget_costs_no_section() -> None:
    sections = (Section(id="1", title="Depth", text="It is deep [@a]."),)
    found = cast("Any", {QUESTION: Question(text="How deep?", language="en"), EVIDENCE: (), SOURCES: ()})
    run = SpentRun()
    assert await CondenseStage().rest(sections, found, cast("Any", run)) == sections
    assert len(run.notices) == 1


@pytest.mark.parametrize(
    ("values", "language", "length", "size"),
    [
        ({"form": "standard"}, "en", 3_300, None),
        ({"form": "long"}, "en", 10_500, (9, 11)),
        ({"form": "academic"}, "zh", 34_500, (10, 12)),
        ({"form": "long", "length": 8_000}, "en", 8_000, (8, 9)),
        ({"form": "long", "length": 20_000}, "en", 20_000, (11, 12)),
    ],
)
def test_the_size_of_the_plan_follows_from_the_length(
    values: dict[str, Any], language: str, length: int, size: tuple[int, int] | None
) -> None:
    settings = Settings.model_validate({"report": values})
    assert (report_length(settings, language), plan_size(settings, language)) == (length, size)


@pytest.mark.parametrize(
    ("values", "without"),
    [({"form": "long"}, {"analysis", "keywords"}), ({"form": "academic", "analysis": True}, set())],
)
def test_analysis_and_keywords_are_parts_where_they_are_asked_for(values: dict[str, Any], without: set[str]) -> None:
    settings = Settings.model_validate({"report": values})
    assert report_parts(settings) == tuple(part for part in REPORT_PARTS if part not in without)


def test_the_planner_is_told_the_length_and_the_sizes() -> None:
    request = PlanRequest(question=Question(text="深い？", language="ja"), length=33_000, minimum=9, maximum=11)
    assert "about 33000 characters\nSections: 9 to 11\nAt most 7 queries." in request.as_text()


def test_searches_with_numeric_priorities_are_made_in_their_order_and_keep_their_category() -> None:
    queries = [Query(query=f"q{n}", priority=str(n), category=f"c{n}") for n in (5, 2, 1, 3)]
    tasks = new_tasks(queries, (), 9)
    assert [(task.query, task.priority, task.category) for task in tasks] == [
        ("q1", "high", "c1"), ("q2", "high", "c2"), ("q3", "medium", "c3"), ("q5", "low", "c5"),
    ]  # fmt: skip


SECTIONS = (Section(id="1", title="Soundings", text="Nine [@a]."), Section(id="2", title="Tides", text="Two [@a]."))
TEXTS = {
    "summary": "Deep [@a].",
    "introduction": "Why [@a].",
    "insights": "- So [@a].",
    "analysis": "Weak [@a].",
    "conclusion": "Thus [@a].",
    "keywords": "depth; tide",
}
PARTS = tuple(Section(id=name, title="", text=text) for name, text in TEXTS.items())


def test_a_long_report_has_all_its_parts_in_order() -> None:
    made = report_sections(PARTS, SECTIONS, "How deep?", "en", "long")
    assert [(one.title, one.part) for one in made] == [
        ("Executive summary", ""),
        ("Introduction", ""),
        ("Soundings", "Main findings"),
        ("Tides", "Main findings"),
        ("Analysis", "Main findings"),
        ("Key insights", ""),
        ("Conclusions", ""),
    ]


def test_an_academic_report_has_an_abstract_with_keywords() -> None:
    first = report_sections(PARTS, SECTIONS, "How deep?", "en", "academic")[0]
    assert (first.title, first.text) == ("Abstract", "Deep [@a].\n\n**Keywords**: depth; tide")
    assert report_sections(PARTS, SECTIONS, "多深？", "zh", "academic")[0].title == "学术摘要"
