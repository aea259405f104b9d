"""What verification found stands where it belongs: at the citations of its own claim, and first what is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leadline.citations import CITATIONS, cited, number
from leadline.findings import VerdictKind
from leadline.records import Report, Section
from leadline_plugins.citing import read
from leadline_plugins.formats.checks import Checks
from leadline_plugins.formats.document import Medium, document
from leadline_plugins.formats.html import MEDIUM
from leadline_plugins.formats.html.page import page
from leadline_plugins.formats.markdown import body, checks
from leadline_plugins.formats.tree import text
from leadline_plugins.stages.claims import claims_of

Make = Callable[..., Report]
TWICE = "The bay is deep [@e1]. The bay is dry [@e1]. It is wide [@e2][@e3]. So it is ([@e1])."


def judged(report: Report, bad: dict[str, VerdictKind], *, placed: bool = True, **found: Any) -> Report:
    """Return a report with a verdict on each claim: what `bad` says of a word in it, else support."""
    verdicts = [
        {
            "id": f"{claim.id}.{place}",
            "section_id": claim.section_id,
            "evidence_id": name,
            "claim": claim.text,
            "verdict": next((kind for word, kind in bad.items() if word in claim.text), "supported"),
            "reason": "so it says",
            "by": "model",
            **({"at": claim.run[0]} if placed else {}),
        }
        for claim in claims_of(report)
        for place, name in enumerate(claim.cite_ids, start=1)
    ]
    return report.model_copy(update={"metadata": {"verification": {"verdicts": verdicts, **found}}})


def marks(report: Report, medium: Medium = MEDIUM) -> list[str]:
    """Return the numbers of the citations as they are set, each with its mark."""
    return [text(node["c"][1]) for node in _links(document(report, medium).blocks)]


def _links(tree: Any) -> Iterator[Any]:
    if isinstance(tree, dict):
        if tree["t"] == "Link" and "citation" in tree["c"][0][1]:
            yield tree
        yield from _links(tree.get("c"))
    elif isinstance(tree, list):
        for item in tree:
            yield from _links(item)


def test_only_the_citations_of_the_claim_that_fails_are_marked(make_report: Make) -> None:
    report = judged(make_report(TWICE), {"dry": "contradicted", "wide": "unsupported"})
    assert marks(report)[:5] == ["[1]", "[1]≠", "[2]?", "[3]?", "[1]"]


def test_a_caption_has_no_verdict_of_sentences(make_report: Make) -> None:
    shown = "Here it is ![](figure:f2) as said [@e5]. And there [@e5]."
    report = judged(make_report(shown), {"there": "unsupported"})
    assert marks(report) == ["[1]", "[1]?", "[1]"]


def test_without_a_place_no_number_is_marked_and_the_list_stands(make_report: Make) -> None:
    report = judged(make_report(TWICE), {"dry": "contradicted"}, placed=False)
    assert "≠" not in "".join(marks(report))
    assert "contradicted: The bay is dry (so it says)" in text(document(report, Medium()).blocks)


def test_the_worst_claim_of_a_run_marks_it(make_report: Make) -> None:
    report = judged(make_report("The bay is deep. The bay is dry [@e1]."), {"dry": "unsupported"})
    assert marks(report)[0] == "[1]?"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # it gives a function, which keeps nothing
@given(st.lists(st.tuples(st.sampled_from(["e1", "e2", "e1][@e2"]), st.booleans()), min_size=1, max_size=12))
def test_each_sentence_has_the_mark_of_its_own_verdict(make_report: Make, said: list[tuple[str, bool]]) -> None:
    lines = (f"Fact {place} is {'dry' if bad else 'deep'} [@{name}]." for place, (name, bad) in enumerate(said))
    report = judged(make_report("\n\n".join(lines)), {"dry": "unsupported"})
    expected = [bad for name, bad in said for _ in name.split("]")]
    assert [mark.endswith("?") for mark in marks(report)][: len(expected)] == expected


@given(st.text(alphabet="a. \n(),|", max_size=30), st.lists(st.sampled_from(["e1", "e2"]), max_size=6))
def test_every_citation_is_asked_for_once(filling: str, names: list[str]) -> None:
    said = filling.join(f"[@{name}]" for name in names)
    section = Section(id="1", title="A", text=said)
    verdicts = [
        {"id": f"1.1.{run.start()}.1", "section_id": "1", "evidence_id": name, "claim": "a", "verdict": "supported"}
        | {"at": run.start()}
        for run in CITATIONS.finditer(said)
        for name in cited(run.group())
    ]
    report = Report(title="A", language="en", sections=(section,), sources=(), evidence=())
    taking = Checks(report.model_copy(update={"metadata": {"verification": {"verdicts": verdicts}}})).at(section)
    assert all(taking.take(name) for name in names)
    assert not taking.take("e1")


def test_what_is_pointed_at_tells_its_verdict_in_words(make_report: Make) -> None:
    made = page(document(judged(make_report(TWICE), {"dry": "contradicted"}), MEDIUM))
    assert 'title="contradicted" aria-label="[1] contradicted"' in made
    assert 'data-claims="claim-2"' in made
    assert "≠ one that it contradicts." in made


def test_a_report_that_is_not_accepted_says_so_and_why(make_report: Make) -> None:
    failed: dict[str, Any] = {
        "passed": False,
        "report_passed": True,
        "paragraph_without_citation_count": 1,
        "paragraphs_without_citation": ["1.2"],
    }
    report = judged(make_report(f"{TWICE}\n\nNobody *knows* why."), {"dry": "unsupported"}, **failed)
    told = "Not accepted: 1 claim is not borne by the passages cited; 1 paragraph ends without a citation. 4 claims"
    made = page(document(report, MEDIUM))
    assert made.count(told) == 2
    assert '<div class="uncited" title="this paragraph ends without a citation"><p>Nobody' in made
    assert made.count('class="uncited"') == 1
    for said in (text(document(report, Medium()).blocks), "\n".join(checks(report))):
        assert told in said
        assert "Depth: Nobody knows why." in said


@pytest.mark.parametrize(
    ("language", "shown", "slanted"),
    [
        ("en", "The bay is dry (so it says)", True),
        ("zh", "The bay is dry（so it says）", False),
        ("ko", "(so it says)", False),
    ],
)
def test_a_reason_is_slanted_and_in_brackets_as_its_language_has_them(
    make_report: Make, language: str, shown: str, slanted: bool
) -> None:
    report = judged(make_report(TWICE), {"dry": "contradicted"}).model_copy(update={"language": language})
    blocks = document(report, MEDIUM).blocks
    assert shown in text(blocks)
    assert ("Emph', 'c': [{'t': 'Str', 'c': '(so" in str(blocks)) is slanted


def test_a_claim_contradicted_in_the_summary_is_told_first(make_report: Make) -> None:
    report = make_report(sections=(Section(id="summary", title="Summary", text=TWICE),))
    told = document(judged(report, {"dry": "contradicted"}, passed=True), MEDIUM).checks
    assert told.startswith("The summary says what its source contradicts: The bay is dry. 4 claims checked:")


def test_claims_are_counted_and_equal_ones_listed_once(make_report: Make) -> None:
    said = "It is *dry* [@e1][@e2]. It is *dry* [@e3]. It is deep [@e4]."
    told = "\n".join(checks(judged(make_report(said), {"dry": "unsupported"})))
    assert "3 claims checked: supported 1, unsupported 2." in told
    assert told.count("**unsupported:** It is dry × 2 (so it says)") == 1


def test_what_was_changed_is_told_those_that_were_hedged_apart(make_report: Make) -> None:
    change = {"section_id": "1", "claim": "a", "verdict": "unsupported", "now": ""}
    repairs = [change | {"done": "weakened", "now": "b"}, change | {"done": "weakened"}, change | {"done": "weakened"}]
    told = "\n".join(checks(judged(make_report(TWICE), {}, repairs=repairs)))
    assert "3 sentences were changed, for what was cited did not bear them:" in told
    assert "said anew 1, marked as not confirmed 2." in told


def test_the_reasons_of_rules_are_told_in_the_language(make_report: Make) -> None:
    report = judged(make_report("很深 [@e1]。").model_copy(update={"language": "zh"}), {"很深": "contradicted"})
    verdict: Any = report.metadata["verification"]
    verdict["verdicts"][0]["reason"] = "the claim says 39%, the passage does not"
    assert "(论断说的是“39%”，原文：没有)" in "\n".join(checks(report))


def test_a_sentence_without_a_citation_marks_none_of_its_neighbour_unless_it_is_denied_there(make_report: Make) -> None:
    text = "It is the usual harbour. The bay is deep [@e1]. It is dry. Ships come [@e1]."
    report = judged(make_report(text), {"usual": "unsupported", "dry": "contradicted"})
    found: Any = report.metadata["verification"]
    for claim, verdict in zip(claims_of(report), found["verdicts"], strict=True):
        verdict["own"] = claim.own
    assert marks(report)[:2] == ["[1]", "[1]≠"]
    assert "**unsupported:** It is the usual harbour" in markdown(report)


def test_what_is_borne_in_part_is_listed_behind_what_is_marked(make_report: Make) -> None:
    report = judged(make_report(TWICE), {"deep": "partial", "wide": "unsupported"})
    found: Any = report.metadata["verification"]
    for verdict in found["verdicts"]:
        verdict["by"] = "model"
    assert marks(report)[0] == "[1]≈"
    told = "\n".join(checks(report))
    assert "4 claims checked: supported 2, supported in part 1, unsupported 1." in told
    listed = ["unsupported: It is wide", "supported in part: The bay is deep"]
    assert [line[2:].replace("**", "").split(" (")[0] for line in told.split("\n") if line[:4] == "- **"] == listed
    tree = text(document(report, Medium()).blocks)
    assert tree.index(listed[0]) < tree.index(listed[1])


@pytest.mark.parametrize("by", ["words", "model"])
def test_not_decided_is_said_only_of_what_nobody_decided(make_report: Make, by: str) -> None:
    report = judged(make_report("It is deep [@e1]."), {"deep": "partial"})
    verdict: Any = report.metadata["verification"]
    verdict["verdicts"][0]["by"] = by
    told = "\n".join(checks(report))
    assert f"1 claim checked: {'not decided' if by == 'words' else 'supported in part'} 1." in told


UNSHOWN = "the claim says 3, the passage 4; the model calls it supported, and shows no words of a passage that say so"


def markdown(report: Report) -> str:
    return "\n\n".join([*body(report, number(report), {}, inline=False), *checks(report)])


def test_markdown_has_the_marks_of_the_page_and_says_what_they_mean(make_report: Make) -> None:
    report = judged(make_report(TWICE), {"dry": "contradicted", "wide": "unsupported"})
    told = markdown(report)
    assert "The bay is deep [1]. The bay is dry [1]≠. It is wide [2]?[3]?. So it is [1]." in told
    assert "≈ marks a claim that its passage bears only in part, ? one that it does not bear" in told
    assert "?" not in markdown(judged(make_report(TWICE), {}))


@pytest.mark.parametrize("language", ["en", "zh", "fr"])
def test_a_report_with_marks_is_read_as_one_without(make_report: Make, language: str) -> None:
    report = make_report(TWICE).model_copy(update={"language": language})
    plain, marked = (
        read(markdown(judged(report, {}))),
        read(markdown(judged(report, {"dry": "contradicted", "wide": "unsupported"}))),
    )
    assert [(one.text, one.keys) for one in plain.claims] == [(one.text, one.keys) for one in marked.claims]


def test_a_question_of_another_tools_report_stays_one_and_states_nothing() -> None:
    found = read("Is it deep [1]? It is [2].\n\n[1] A - <https://a.org/>\n[2] B - <https://b.org/>")
    assert [one.text for one in found.claims] == ["It is."]


@given(st.lists(st.sampled_from(["dry", "wide", "deep"]), min_size=1, max_size=6), st.sampled_from(["", " ", "; "]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_marks_of_markdown_are_those_of_the_tree(make_report: Make, said: list[str], between: str) -> None:
    text = between.join(f"It is {word} [@e1][@e2]." for word in said)
    report = judged(make_report(text), {"dry": "contradicted", "wide": "unsupported"})
    shown = "".join(body(report, number(report), {}, inline=False))
    assert [mark for mark in marks(report) if mark[-1] in "?≠"] == [
        f"[{place}]{sign}" for place, sign in re.findall(r"\[(\d)\]([?≠])", shown)
    ]


def test_what_a_rule_objects_to_and_the_model_cannot_show_is_marked_and_listed(make_report: Make) -> None:
    report = judged(make_report(TWICE), {"dry": "partial"})
    verdict: Any = report.metadata["verification"]
    verdict["verdicts"][1]["reason"] = UNSHOWN
    assert marks(report)[1] == "[1]?"
    told = "\n".join(checks(report))
    assert "4 claims checked: supported 3, doubted by a rule 1." in told
    assert f"- **doubted by a rule:** The bay is dry ({UNSHOWN})" in told


def test_what_the_text_itself_hedges_is_no_open_verdict(make_report: Make) -> None:
    report = judged(make_report("It is deep (not confirmed by the source cited) [@e1]."), {"deep": "partial"})
    assert "1 claim checked: marked as not confirmed 1." in "\n".join(checks(report))


def test_sentences_held_against_nothing_are_named_with_the_reason(make_report: Make) -> None:
    left = [{"id": "1", "section_id": "1", "text": "Nobody *knows*.", "kind": "sources"}]
    report = judged(make_report(TWICE), {}, unjudged=left, unjudged_by_kind={"sources": 1})
    assert "- of the sources themselves: Nobody knows." in "\n".join(checks(report))
    made = page(document(report, MEDIUM))
    assert "<details><summary>Held against no passage: 1 sentence.</summary>" in made
    zh = report.model_copy(update={"language": "zh"})
    assert "- 关于来源本身：Nobody knows." in "\n".join(checks(zh))


def test_a_table_is_known_by_its_rows_and_no_number_is_cut(make_report: Make) -> None:
    table = "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |"
    prose = f"{'It is so and stays so for long. ' * 2}In real terms it is 13,500.55 a year."
    bare: dict[str, Any] = {"paragraphs_without_citation": ["1.1", "1.2"]}
    told = "\n".join(checks(judged(make_report(f"{table}\n\n{prose}\n\n{TWICE}"), {}, **bare)))
    assert "- Depth: a table of 2 rows" in told
    assert "In real terms it is …" in told


def test_what_is_told_of_the_judge_stands_under_the_checks(make_report: Make) -> None:
    lazy = "8 of 23 claims were judged by words, not by the model (it said nothing of them)"
    report = judged(make_report(TWICE), {})
    report = report.model_copy(update={"metadata": {**report.metadata, "method": {"notices": [lazy]}}})
    assert lazy in "\n".join(checks(report))
    zh = report.model_copy(update={"language": "zh"})
    assert "23 条论断中有 8 条只按词语比对，未经模型判定（模型没有提及）。" in "\n".join(checks(zh))
    assert "**与原文矛盾：**" in "\n".join(checks(judged(zh, {"dry": "contradicted"})))


def test_the_page_lists_the_passages_that_are_cited_and_no_others(make_report: Make) -> None:
    report = make_report("It is deep [@e1].").model_copy(update={"figures": ()})
    other = report.evidence[0].model_copy(update={"id": "e1b", "quote": "Another passage of the same page."})
    report = report.model_copy(update={"evidence": (*report.evidence, other)})
    made = page(document(judged(report, {}), MEDIUM))
    assert made.count('class="quote"') == 1
    assert "Another passage" not in made
