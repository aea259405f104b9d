"""In how many parts the sections of a report are written: what is saved by each is worth its call."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from leadline.records import Evidence, Section, SectionRequest
from leadline_plugins.stages.material import CJK_LENGTH, LENGTH
from leadline_plugins.synthesizers.parts import CJK_LONGEST, LONGEST, MOST, count_of, parts

LANGUAGES = st.sampled_from([("en", LENGTH, LONGEST), ("zh", CJK_LENGTH, CJK_LONGEST)])


def section(length: int, sections: int, language: str, passages: int = 40, questions: int = 3) -> SectionRequest:
    outline = tuple(Section(id=f"{number}", title="Ports") for number in range(sections))
    evidence = tuple(
        Evidence(id=f"e{number}", source_id="s", quote=f"Port {number}", span=(0, 6), claim="")
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


@given(LANGUAGES, st.integers(1, 8), st.integers(1, 60), st.integers(0, 4))
def test_every_passage_is_in_one_part(kind: tuple[str, int, int], sections: int, passages: int, questions: int) -> None:
    language, length, _ = kind
    whole = section(length // sections, sections, language, passages, questions)
    written = [item for _, part in parts(whole) for item in part.evidence]
    assert sorted(written, key=lambda item: item.id) == sorted(whole.evidence, key=lambda item: item.id)


def test_a_section_that_is_little_over_the_longest_is_written_in_one_go() -> None:
    assert [count_of(length, 7, cjk=False) for length in (471, 540)] == [1, 1]
    assert count_of(660, 5, cjk=False) == 2
