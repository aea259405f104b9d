"""What reaches a model's writers: what serves any of the things asked, of every source its share, and no noise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline.findings import Plan, PlannedSection, Question, SearchTask
from leadline.records import Confidence, Document, Evidence, Hit, Source
from leadline_plugins.ai.embedded.choose import Rated, choose_material, mean_of_best
from leadline_plugins.ai.embedded.sort import sort
from leadline_plugins.tasks.sorting import SortRequest
from leadline_plugins.text import length

QUESTION = Question(text="What is known about how bridges of the Elm Valley are kept in repair?", language="en")
PLAN = Plan(
    title="x",
    sections=(
        PlannedSection(id="1", title="Corrosion of cables", questions=("How is rust on hangers measured?",)),
        PlannedSection(id="2", title="Who pays", goal="Name the sums that towns and the crown give."),
    ),
)
TASKS = (
    SearchTask(id="q1", query="Elm Valley suspension bridges rust", section="1"),
    SearchTask(id="q2", query="bridge tolls upkeep budget", section="2"),
)
ON_TOPIC = {
    "Bridges of the Elm Valley": [
        "The bridges of the Elm Valley are kept in repair by two towns.",
        "Each spring the hangers are weighed, and rust is measured by what they have lost.",
        "It takes three days.",
        "The crown gives a third of the sums, and tolls give the rest.",
    ],
    "Rust on suspension cables": [
        "Corrosion of cables begins where the paint is thin.",
        "Inspectors hear the rust of hangers by tapping.",
    ],
}
NOISE = {
    "Product bundling by large models": [
        "Specifically, Large Models (LMs) are known to bundle products.",
        "First, we show how LMs are tuned.",
        "Unlike prior work, ours asks what LMs are told.",
        "Existing LMs are kept small.",
    ],
    "A history of tea": ["Tea is known in the valley of the Ganges.", "The crown took a part of it."],
}


def corpus(pages: dict[str, list[str]]) -> tuple[tuple[Source, ...], tuple[Evidence, ...]]:
    sources, found = [], []
    for page, (title, lines) in enumerate(pages.items()):
        name, text = f"s{page}", " ".join(lines)
        sources.append(Source(id=name, hit=Hit(url=f"https://x/{page}", title=title), document=Document(text=text)))
        for place, line in enumerate(lines):
            at = text.index(line)
            span = (at, at + len(line))
            found.append(Evidence(id=f"{name}.{place}", source_id=name, quote=line, span=span, claim=line))
    return tuple(sources), tuple(found)


SOURCES, FOUND = corpus(ON_TOPIC | NOISE)


def chosen(found: Sequence[Evidence] = FOUND, sources: Sequence[Source] = SOURCES, material: int = 1000) -> set[str]:
    request = SortRequest(
        question=QUESTION, plan=PLAN, evidence=tuple(found), sources=tuple(sources), tasks=TASKS, material=material
    )
    return {name for part in sort(request).sections for name in part.evidence_ids}


def test_what_serves_a_search_or_a_section_is_there_and_what_shares_a_common_word_is_not() -> None:
    assert chosen() == {item.id for item in FOUND if item.source_id in ("s0", "s1")}


def test_what_stands_under_a_heading_that_was_asked_for_is_there() -> None:
    sources, found = corpus(ON_TOPIC | {"Notes": ["It is done each May.", "Tea is sold there."]})
    bare = chosen(found, sources)
    headed = [
        item.model_copy(update={"under": "How rust on hangers is measured"}) if item.id == "s2.0" else item
        for item in found
    ]
    assert bare.isdisjoint({"s2.0", "s2.1"})
    assert chosen(headed, sources) >= {"s2.0"}


def learned(place: int, score: float, confidence: Confidence = "medium") -> Evidence:
    return Evidence(
        id=f"m{place}",
        source_id="s3",
        quote=FOUND[-1].quote,
        span=FOUND[-1].span,
        claim=f"A claim of {place}.",
        score=score,
        confidence=confidence,
    )


@pytest.mark.parametrize(
    ("score", "confidence", "there"),
    [(0.9, "medium", True), (0.1, "high", False), (0.0, "high", True), (0.0, "low", False)],
)
def test_what_a_model_extracted_is_chosen_by_its_judgement(score: float, confidence: Confidence, there: bool) -> None:
    assert ("m1" in chosen([*FOUND[:6], learned(1, score, confidence)])) == there


def test_scores_on_a_scale_of_ten_are_read_as_such() -> None:
    page = "The crown took a part of it."
    ten = [learned(1, 9.0), learned(2, 1.0).model_copy(update={"quote": f"{page} Once more, and twice as much of it."})]
    assert {"m1", "m2"} & chosen([*FOUND[:6], *ten]) == {"m1"}


def quoted(name: str, source: str, quote: str, rating: float) -> Rated:
    return Rated(Evidence(id=name, source_id=source, quote=quote, span=(0, len(quote)), claim=quote), rating)


def test_a_source_that_says_the_most_leaves_room_for_the_others() -> None:
    flood = [quoted(f"a{place}", "a", f"word{place} " * 10, 0.9) for place in range(30)]
    others = [quoted(f"{name}0", name, f"other{name} " * 10, 0.5) for name in "bcd"]
    taken = Counter(item.evidence.source_id for item in choose_material([*flood, *others], 110, "en"))
    assert taken == {"a": 7, "b": 1, "c": 1, "d": 1}


PASSAGES = st.lists(st.tuples(st.sampled_from("abcd"), st.floats(0, 1), st.integers(1, 30)), max_size=30)


@given(PASSAGES, st.integers(0, 99))
def test_what_is_chosen_is_no_noise_and_none_that_fits_is_left(made: list[tuple[str, float, int]], room: int) -> None:
    rated = [
        quoted(f"e{place}", source, f"w{place} " * size, rating) for place, (source, rating, size) in enumerate(made)
    ]
    taken = choose_material(rated, room, "en")
    left = room - sum(length(item.evidence.quote) + 1 for item in taken)
    floor = 0.4 * mean_of_best([item.rating for item in rated if item.rating])
    assert left >= 0
    assert all(item.rating >= floor and item.rating > 0 for item in taken)
    assert [item.rating for item in taken] == sorted((item.rating for item in taken), reverse=True)
    missed = [item for item in rated if item not in taken and item.rating > 0 and item.rating >= floor]
    assert all(length(item.evidence.quote) + 1 > left for item in missed)
