"""A run's report as data, judged again after the run."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given as over
from hypothesis import strategies as st

from leadline.findings import Audit
from leadline.records import Document, Evidence, Hit, Report, Section, Source
from leadline_plugins.stages.audit import markdown
from leadline_plugins.stages.claims import claims_of
from leadline_plugins.stages.library import Library
from leadline_plugins.stages.paragraphs import paragraphs
from leadline_plugins.stages.rechecking import recheck
from leadline_plugins.stages.verdicts import by_rule
from leadline_plugins.stages.verify import verification

QUOTE = "The bay is 40 fathoms deep."
STORED = f"{QUOTE} It was sounded in 1831."


def report(text: str, stored: str = STORED, **metadata: Any) -> Report:
    return Report(
        title="Depth",
        language="en",
        sections=(Section(id="1", title="Depth", text=text),),
        sources=(Source(id="s1", hit=Hit(url="https://example.org/"), document=Document(text=stored)),),
        evidence=(Evidence(id="e1", source_id="s1", quote=QUOTE, span=(0, len(QUOTE)), claim=QUOTE),),
        metadata=metadata,
    )


@pytest.mark.parametrize(
    ("text", "verdict", "by"),
    [
        ("The bay is 40 fathoms deep. [@e1]", "supported", "exact"),
        ("The bay is 41 fathoms deep. [@e1]", "contradicted", "exact"),
        ("Its depth is of 40 fathoms, the bay. [@e1]", "supported", "words"),
    ],
)
def test_the_verdict_says_who_judged(text: str, verdict: str, by: str) -> None:
    (claim,) = recheck(report(text)).claims
    assert (claim.verdict, claim.by, claim.source) == (verdict, by, "1")


@pytest.mark.parametrize("said", ["Deep it is, that bay, 40 fathoms or so.", "The bay is 41 fathoms deep."])
def test_a_verdict_of_the_runs_model_is_kept_while_the_quote_stands(said: str) -> None:
    given = report(f"{said} [@e1]")
    verdicts = by_rule(claims_of(given), Library(given))
    found = [one.model_copy(update={"verdict": "supported", "reason": "it says so", "by": "model"}) for one in verdicts]
    recorded = verification(given, paragraphs(given), found, False).model_dump(mode="json")
    text = given.sections[0].text or ""
    (kept,) = recheck(report(text, verification=recorded)).claims
    assert (kept.verdict, kept.reason, kept.by) == ("supported", "it says so", "model")
    (lost,) = recheck(report(text, stored="The bay is wide.", verification=recorded)).claims
    assert (lost.verdict, lost.reason) == ("unsupported", "the quote does not stand in the source")


def test_an_id_that_points_nowhere_fails() -> None:
    found = recheck(report("The bay is 40 fathoms deep. [@e1] It is wide. [@e9]"))
    assert found.dangling == ("e9",)
    assert not found.passed


SAID = st.sampled_from(["supported", "partial", "contradicted", "unsupported", "remark"])
SENTENCES = ("So much for its depth.", "Deep it is, that bay, 40 fathoms or so.", "Nobody sounded it since, it seems.")


@over(st.lists(st.tuples(st.sampled_from(SENTENCES), SAID), min_size=1, max_size=6))
def test_an_unchanged_run_is_rechecked_to_its_own_counts(said: list[tuple[str, str]]) -> None:
    """Also where the model called a sentence a remark, and where it judged the same words elsewhere in another way."""
    words = [f"{text} [@e1]" for text, _ in said]
    given = report("").model_copy(
        update={"sections": tuple(Section(id=f"{at}", title="Depth", text=one) for at, one in enumerate(words))}
    )
    found = [
        one.model_copy(update={"verdict": "unsupported", "by": "model", "remark": True})
        if kind == "remark"
        else one.model_copy(update={"verdict": kind, "by": "model"})
        for one, (_, kind) in zip(by_rule(claims_of(given), Library(given)), said, strict=True)
    ]
    run = verification(given, paragraphs(given), found, False)
    again = recheck(given.model_copy(update={"metadata": {"verification": run.model_dump(mode="json")}}))
    assert again.counts == run.claims
    assert len(again.claims) == sum(kind != "remark" for _, kind in said)


TWO = "The bay is wide at its mouth."


def summed_up(said: str, cites: str = "[@e1]") -> Report:
    """Return a report whose summary opens with a sentence that cites nothing itself."""
    summary = Section(id="summary", title="Summary", text=f"{said} The bay is 40 fathoms deep. {cites}")
    given = report(f"{TWO} [@e2]", stored=f"{QUOTE} {TWO}")
    other = Evidence(id="e2", source_id="s1", quote=TWO, span=(len(QUOTE) + 1, len(QUOTE) + 1 + len(TWO)), claim=TWO)
    return given.model_copy(update={"sections": (summary, *given.sections), "evidence": (*given.evidence, other)})


def test_what_cites_nothing_itself_is_held_against_what_the_report_cites_for_the_same_elsewhere() -> None:
    first, second, _ = claims_of(summed_up("At its mouth the bay is wide."))
    assert (first.own, first.cite_ids, first.beside) == (False, ("e1",), ("e2",))
    assert (second.own, second.beside) == (True, ())
    found = recheck(summed_up(TWO)).claims[0]
    assert (found.verdict, found.own) == ("supported", False)


@pytest.mark.parametrize("said", ["The bay is wide, 300 yards, at its mouth.", "The rest is silence.", "It is wide."])
def test_what_has_another_figure_or_few_of_its_words_is_not_the_same(said: str) -> None:
    assert claims_of(summed_up(said))[0].beside == ()


def test_the_verdict_tells_what_cites_nothing_itself() -> None:
    given = summed_up(TWO)
    assert [one.own for one in by_rule(claims_of(given), Library(given))] == [False, True, True]


@pytest.mark.parametrize(
    ("text", "require_support", "grounds"),
    [
        ("The bay is 40 fathoms deep. [@e1]", True, ()),
        ("The bay is 41 fathoms deep. [@e1]", False, ()),
        ("The bay is 41 fathoms deep. [@e1]", True, ("unborne",)),
        ("The bay is 41 fathoms deep. [@e1] It is wide. [@e9] So.", False, ("unknown_ids", "bare")),
        ("The bay is deep.", False, ("no_claims", "bare")),
    ],
)
def test_a_verification_is_passed_where_nothing_is_against_it(
    text: str, require_support: bool, grounds: tuple[str, ...]
) -> None:
    given = report(text)
    found = verification(given, paragraphs(given), by_rule(claims_of(given), Library(given)), require_support)
    assert (found.grounds, found.passed) == (grounds, not grounds)


def test_verification_md_says_of_what_cites_nothing_itself_what_it_was_held_against() -> None:
    given = report("Nobody fishes there in winter. The bay is 41 fathoms deep. [@e1]")
    found = verification(given, paragraphs(given), by_rule(claims_of(given), Library(given)), False)
    lines = markdown(given, Audit(accepted=True), found).splitlines()
    first, second = (line for line in lines if "[1] e1" in line)
    assert "by measure, without a citation of its own, held against [1] e1: Nobody" in first
    assert "by rule, [1] e1: The bay" in second
