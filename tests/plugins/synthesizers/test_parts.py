"""In how many parts the sections of a report are written: what is saved by each is worth its call."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from leadline.records import Document, Evidence, Hit, Section, SectionRequest, Source
from leadline_plugins.stages.material import CJK_LENGTH, LENGTH
from leadline_plugins.synthesizers.lengths import bearable
from leadline_plugins.synthesizers.parts import CJK_LONGEST, FEWEST, LONGEST, MOST, count_of, parts

FILLING = " It was written down in the books of the year by the clerk of the works, who kept them in good order." * 4
LANGUAGES = st.sampled_from([("en", LENGTH, LONGEST), ("zh", CJK_LENGTH, CJK_LONGEST)])


def section(length: int, sections: int, language: str, passages: int = 40, questions: int = 3) -> SectionRequest:
    outline = tuple(Section(id=f"{number}", title="Ports") for number in range(sections))
    evidence = tuple(
        Evidence(id=f"e{number}", source_id="s", quote=f"Port {number}. {FILLING}", span=(0, 6), claim="")
        for number in range(passages)
    )
    return SectionRequest(
        section=outline[0],
        evidence=evidence,
        sources=(),
        outline=outline,
        question="Who pays?",
        language=language,
        length=length,
        questions=tuple(f"Who pays for port {number}?" for number in range(questions)),
    )


@given(LANGUAGES, st.integers(1, 10), st.floats(0.95, 1.05))
def test_a_report_of_the_usual_length_has_few_parts_however_it_is_planned(
    kind: tuple[str, int, int], sections: int, off: float
) -> None:
    language, length, _ = kind
    one = section(round(length / sections * off), sections, language)
    assert 1 <= len(parts(one)) * sections <= MOST


@given(LANGUAGES, st.integers(1, 12), st.integers(0, 60_000))
def test_a_longer_report_has_a_part_for_each_stretch_at_most(
    kind: tuple[str, int, int], sections: int, length: int
) -> None:
    language, _, longest = kind
    count = count_of(length // sections, sections, cjk=language == "zh")
    assert count >= 1
    assert count == 1 or count * sections <= max(MOST, -(-length // longest))


@given(LANGUAGES, st.integers(1, 8), st.integers(1, 60), st.integers(0, 9), st.sampled_from([1, 2, 6]))
def test_every_question_is_in_one_part_and_told_to_the_others_and_every_passage_in_a_part_or_more(
    kind: tuple[str, int, int], sections: int, passages: int, questions: int, times: int
) -> None:
    language, length, _ = kind
    whole = section(times * length // sections, sections, language, passages, questions)
    made = parts(whole)
    assert tuple(question for part in made for question in part.request.questions) == whole.questions
    for part in made:
        assert sorted((*part.request.questions, *part.others)) == sorted(whole.questions)
        assert list(part.request.evidence) == [item for item in whole.evidence if item in part.request.evidence]
        assert len(made) == 1 or len(part.request.evidence) >= FEWEST
        assert len(made) == 1 or part.request.length <= bearable(
            (item.quote for item in part.request.evidence), language
        )
    assert {item.id for part in made for item in part.request.evidence} == {item.id for item in whole.evidence}
    assert len(made) <= max(1, min(questions, passages // FEWEST))


DUES, DREDGING = "What did the port dues bring?", "How was the channel dredged?"


def long_section(quotes: list[str], *, under: str = "") -> SectionRequest:
    whole = section(1_000, 2, "en", passages=0)
    evidence = tuple(
        Evidence(id=f"e{number}", source_id="s", quote=quote, span=(0, 6), claim="", under=under)
        for number, quote in enumerate(quotes)
    )
    return whole.model_copy(update={"evidence": evidence, "questions": (DUES, DREDGING)})


def shown(request: SectionRequest) -> list[list[str]]:
    return [[item.id for item in part.request.evidence] for part in parts(request)]


def test_passages_go_to_the_questions_they_bear_on_however_many_and_the_others_to_both() -> None:
    dues = [f"Port dues brought {n} pounds.{FILLING}" for n in range(20)]
    dredging = [f"The channel was dredged to {n} fathoms.{FILLING}" for n in range(9)]
    rest = [f"It rained for {n} days.{FILLING}" for n in range(3)]
    first, second = shown(long_section([*dues, *dredging, *rest]))
    assert first == [f"e{n}" for n in (*range(20), *range(29, 32))]
    assert second == [f"e{n}" for n in range(20, 32)]


def test_a_part_that_few_passages_bear_on_has_the_next_best_too() -> None:
    dues = [f"Port dues brought {n} pounds.{FILLING}" for n in range(30)]
    first, second = shown(long_section([*dues, f"The channel was dredged.{FILLING}"]))
    assert len(first) == 30
    assert (len(second), "e30" in second) == (FEWEST, True)


def test_passages_in_another_language_than_the_questions_go_to_every_part() -> None:
    first, second = shown(long_section([f"港口收费{n}英镑。{'账目由工程书记员按年度记录。' * 40}" for n in range(20)]))
    assert first == second
    assert len(first) == 20


def test_a_name_in_one_question_keeps_no_passage_in_another_language_from_the_others_while_there_is_room() -> None:
    said = [
        "Ashby brought 9 pounds.",
        "Elmford brought 4 pounds.",
        *(f"港口{n}收费。{'账目' * 100}" for n in range(30)),
    ]
    page = Source(id="t", hit=Hit(url="https://a.example/t"), document=Document(text=FILLING + said[0] + said[1]))
    whole = long_section(said)
    evidence = tuple(
        item.model_copy(update={"source_id": "t"}) if place < 2 else item for place, item in enumerate(whole.evidence)
    )
    told = {
        "evidence": evidence,
        "language": "zh",
        "questions": ("Ashby和港口的规模是多少？", "收费的账目如何？"),
        "length": 2_000,
    }
    alone = shown(whole.model_copy(update=told))
    assert "e0" not in alone[1]
    both = shown(whole.model_copy(update=told | {"sources": (page,)}))
    assert all({"e0", "e1"} <= set(one) for one in both)
    long = [f"Ashby brought {n} pounds.{FILLING}" for n in range(30)]
    found = tuple(item.model_copy(update={"source_id": "t"}) for item in long_section(long).evidence)
    first, second = shown(whole.model_copy(update=told | {"evidence": found, "sources": (page,)}))
    assert len(second) < len(first) == 30


def test_no_section_is_written_in_parts_that_are_shown_the_same_few_passages() -> None:
    for quote in ("Port dues brought nine pounds, as the clerk of the works says.", "港口收费九英镑，工程书记员说。"):
        whole = long_section([quote] * 40)
        assert [part.request.questions for part in parts(whole)] == [whole.questions]
        assert len(parts(long_section([quote] * 200))) == 2


def test_what_stands_over_a_passage_counts() -> None:
    dredged = long_section([f"It took {n} years.{FILLING}" for n in range(20)], under="Dredging the channel")
    dues = [item.model_copy(update={"id": f"d{item.id}", "under": "Port dues"}) for item in dredged.evidence]
    first, second = shown(dredged.model_copy(update={"evidence": (*dredged.evidence, *dues)}))
    assert {name[0] for name in first} == {"d"}
    assert {name[0] for name in second} == {"e"}


def test_a_heading_over_a_whole_page_does_not_outweigh_what_a_passage_says() -> None:
    dredged = [f"The channel was dredged to {n} fathoms.{FILLING}" for n in range(20)]
    whole = long_section(dredged, under="What port dues were levied for")
    pages = {
        "d": [f"Port dues brought {n} pounds.{FILLING}" for n in range(10)],
        "r": [f"It rained for {n} days.{FILLING}" for n in range(40)],
    }
    others = [
        item.model_copy(update={"id": f"{name}{item.id}", "source_id": name})
        for name, quotes in pages.items()
        for item in long_section(quotes).evidence
    ]
    first, second = shown(whole.model_copy(update={"evidence": (*whole.evidence, *others)}))
    assert {name[0] for name in first} == {"d", "r"}
    assert {name[0] for name in second} == {"e", "r"}


def test_a_section_that_is_little_over_the_longest_is_written_in_one_go() -> None:
    assert [count_of(length, 7, cjk=False) for length in (471, 540)] == [1, 1]
    assert count_of(660, 5, cjk=False) == 2
