"""Which evidence the words of the sections sort surely, and which they leave open."""

from __future__ import annotations

from leadline.findings import Plan, PlannedSection, Question, SearchTask
from leadline.records import Document, Evidence, Hit, Source
from leadline_plugins.ai.embedded.arrange import Shares, arrange, shares, unsure
from leadline_plugins.ai.embedded.asked import asked
from leadline_plugins.ai.embedded.choose import Rated
from leadline_plugins.ai.embedded.sort import sort
from leadline_plugins.tasks.sorting import SortRequest

COSTS, HISTORY = PlannedSection(id="1", title="Costs and fees"), PlannedSection(id="2", title="History of the harbour")
PLAN = Plan(title="The harbour", sections=(COSTS, HISTORY))
TASKS = (SearchTask(id="q1.1", query="fees", section="1"),)


def piece(name: str, quote: str, task: str = "", under: str = "") -> Evidence:
    return Evidence(id=name, source_id="s", quote=quote, span=(0, len(quote)), claim=quote, task_id=task, under=under)


def titled(title: str) -> Source:
    return Source(id="s", hit=Hit(url="https://example.org/", title=title), document=Document(text=""))


def first_of(shares: Shares) -> int:
    """Return the section that a piece fits best."""
    return list(shares.fits).index(max(shares.fits))


def left_open(*evidence: Evidence, plan: Plan = PLAN, title: str = "") -> list[str]:
    return [item.id for item in unsure(evidence, shares(plan.sections, evidence, (titled(title),), TASKS))]


def homes(*evidence: Evidence, plan: Plan = PLAN, title: str = "", written: bool = True) -> dict[str, list[str]]:
    """Return the sections of each piece."""
    sources = (titled(title),)
    parted = shares(plan.sections, evidence, sources, TASKS)
    rated = [Rated(item, 1.0) for item in evidence]
    made = arrange(plan, rated, sources, asked("What does the harbour cost?"), parted, most=10 if written else None)
    return {item.id: [part.section.id for part in made if item.id in part.evidence_ids] for item in evidence}


def test_what_speaks_of_one_section_is_sure() -> None:
    assert left_open(piece("a", "The fees rose in 1871."), piece("b", "The history of the harbour is long.")) == []


def test_what_speaks_of_no_section_or_of_both_alike_is_left_open() -> None:
    both = piece("b", "The costs of the harbour rose.")
    assert left_open(piece("a", "It rained."), both) == ["a", "b"]


def test_a_search_decides_between_near_equals_and_not_against_words() -> None:
    other = "The history of the harbour is long."
    rain, past = (
        piece("a", "It rained.", "q1.1"),
        Evidence(**piece("b", other, "q1.1").model_dump() | {"source_id": "t"}),
    )
    assert homes(rain, past) == {"a": ["1"], "b": ["2"]}
    assert left_open(rain, past, piece("c", "It froze.")) == ["c"]


def test_a_search_decides_nothing_where_the_plan_is_in_another_language_than_the_pages() -> None:
    pieces = [piece(name, "Es regnete.", "q1.1") for name in "abcd"]
    assert left_open(*pieces) == ["a", "b", "c", "d"]
    assert left_open(*pieces, piece("e", "The history of the harbour is long.", "q1.1")) == ["a", "b", "c", "d"]


def page(name: str, *quotes: str, task: str = "q1.1") -> list[Evidence]:
    """Return the passages of a page that a search found."""
    return [
        Evidence(id=f"{name}{place}", source_id=name, quote=quote, span=(place, place + 1), claim="", task_id=task)
        for place, quote in enumerate(quotes)
    ]


def test_a_search_settles_nothing_on_a_page_that_speaks_of_other_sections_as_much() -> None:
    fees, past, rain = "The fees rose in 1871.", "The history of the harbour is long.", "It rained."
    evidence = [*page("both", fees, past, rain), *page("one", fees, rain)]
    assert left_open(*evidence) == ["both2"]
    assert homes(*evidence)["both2"] == ["1"], "where nobody is asked, it is better than nothing"


def test_goal_and_key_questions_of_a_section_speak_for_it() -> None:
    sections = (
        PlannedSection(id="1", title="Europe", goal="Trace growth in Sweden.", questions=("Who led NATO?",)),
        PlannedSection(id="2", title="Asia", goal="Trace growth in Japan."),
        PlannedSection(id="3", title="Outlook"),
    )
    pieces = [
        piece("a", "Sweden had the most generous unions."),
        piece("b", "NATO was led by others."),
        piece("c", "Its recovery was slow.", under="Asia › Japan › After the war"),
    ]
    rows = shares(sections, pieces)
    assert [first_of(row) for row in rows] == [0, 0, 1]
    assert unsure(pieces, rows) == ()


def test_what_the_title_of_its_document_names_is_sure_where_others_have_another() -> None:
    evidence = (piece("a", "It is long."), Evidence(id="b", source_id="t", quote="Rain.", span=(0, 5), claim=""))
    assert left_open(*evidence, title="A history of the harbour") == ["b"]


def test_a_word_of_a_title_makes_no_passage_sure_and_decides_where_nothing_else_does() -> None:
    title = "Review of the new cranes at Elmford: the history is probably enough to convince you"
    rain, fees = piece("a", "It rained."), piece("b", "The fees rose in 1871.")
    assert left_open(rain, fees, title=title) == ["a"]
    assert homes(rain, fees, title=title) == {"a": ["2"], "b": ["1"]}


def test_a_word_of_a_title_tells_that_plan_and_pages_are_in_one_language() -> None:
    pieces = [piece(name, "It rained.", "q1.1") for name in "abcd"]
    assert left_open(*pieces, title="How the cranes of Elmford were paid for: a survey of their fees") == []
    assert left_open(*pieces, title="Wie die Kräne von Elmford bezahlt wurden") == ["a", "b", "c", "d"]


BOATS = (
    PlannedSection(id="1", title="Dues", questions=("What do small fishing boats pay?",)),
    PlannedSection(id="2", title="Dredging"),
)


def test_a_heading_over_a_whole_page_does_not_outweigh_what_a_passage_says() -> None:
    under = "What was done for small fishing boats"
    dredged = piece("a", "Dredging took three years.", under=under)
    rain = [piece(f"e{n}", f"It rained {n} times.", under=under) for n in range(9)]
    row, *_ = shares(BOATS, [dredged, *rain, *page("other", *["It froze."] * 30)])
    assert first_of(row) == 1


def test_a_heading_over_a_chapter_makes_nothing_sure() -> None:
    silent, against = piece("a", "It rained."), piece("b", "Dredging took three years.")
    agreeing, others = piece("c", "The boats pay less."), [piece(f"e{n}", "It froze.") for n in range(9)]
    under = "Help that the council gave to fishing boats, and what was thought of it"
    rows = shares(BOATS, [*(item.model_copy(update={"under": under}) for item in (silent, against, agreeing)), *others])
    assert [row.sure for row in rows[:3]] == [False, False, True]
    assert first_of(rows[0]) == 0, "where nobody is asked, it is better than nothing"


def test_what_is_searched_for_every_section_tells_none_from_another() -> None:
    queries = {"1": "dues of small fishing boats", "2": "dredging small fishing boats"}
    tasks = tuple(SearchTask(id=f"q1.{name}", query=query, section=name) for name, query in queries.items())
    boats, dredged = piece("a", "Small fishing boats are many."), piece("b", "Dredging for small fishing boats began.")
    rows = shares(BOATS, (boats, dredged), (), tasks)
    assert [row.sure for row in rows] == [False, True]
    assert first_of(rows[1]) == 1


def test_a_section_of_which_all_is_searched_for_every_section_is_still_one() -> None:
    tasks = tuple(SearchTask(id=f"q1.{name}", query="dues, dredging", section=name) for name in "12")
    dues, dredging = (PlannedSection(id=name, title=title) for name, title in (("1", "Dues"), ("2", "Dredging")))
    rows = shares((dues, dredging), (piece("a", "The dues rose."), piece("b", "Dredging began.")), (), tasks)
    assert [(first_of(row), row.sure) for row in rows] == [(0, True), (1, True)]


def test_what_every_passage_says_sends_none_of_them_anywhere() -> None:
    sections = (PlannedSection(id="1", title="The three ports compared"), PlannedSection(id="2", title="Dues"))
    under = "The three ports, compared in depth"
    pieces = [piece(f"e{n}", f"Dues rose {n} times.", under=under) for n in range(20)]
    pieces += [piece(f"f{n}", f"It rained {n} times.", under=under) for n in range(3)]
    rows = shares(sections, pieces)
    assert [first_of(row) for row in rows[:20]] == [1] * 20


def test_where_titles_and_passages_are_in_different_languages_all_is_unsure() -> None:
    sections = (PlannedSection(id="1", title="支持动物园的理由"), PlannedSection(id="2", title="反对动物园的理由"))
    tasks = (SearchTask(id="q1.1", query="zoo pros and cons", section="1"),)
    pieces = [piece("a", "Captivity harms elephants.", "q1.1"), piece("b", "Breeding saves species.", "q1.1")]
    pieces += [piece("c", "Online, pros are paid for advice.", "q1.1"), piece("d", "The zoo opened.")]
    assert unsure(pieces, shares(sections, pieces, (), tasks)) == tuple(pieces), "a word of a query decides nothing"


def test_a_passage_that_fits_two_sections_serves_both_where_a_model_writes_and_stands_once_as_a_quote() -> None:
    both, other = piece("a", "Costs and history: the fees of the harbour."), piece("b", "It rained.")
    assert homes(both, other)["a"] == ["2", "1"] or homes(both, other)["a"] == ["1", "2"]
    assert len(homes(both, other, written=False)["a"]) == 1


def test_a_passage_that_bears_on_two_sections_a_little_and_alike_serves_both_and_of_unlike_ones_the_first() -> None:
    plan = Plan(
        title="Ports",
        sections=(
            PlannedSection(id="1", title="Size", goal="Rank ports by quays."),
            PlannedSection(id="2", title="Use", goal="Tell quays for ferries."),
            PlannedSection(id="3", title="History", goal="Trace who dredged the channel, and when."),
        ),
    )
    quays, ferries, rain = piece("a", "It has 13 quays."), piece("b", "Ferries land at 9."), piece("c", "It rained.")
    found = homes(quays, ferries, rain, plan=plan)
    assert (sorted(found["a"]), found["b"]) == (["1", "2"], ["2"])


def test_one_section_leaves_nothing_open() -> None:
    assert left_open(piece("a", "It rained."), plan=Plan(title="x", sections=(COSTS,))) == []


def test_where_a_model_writes_each_section_there_are_no_more_than_a_plan_has() -> None:
    quote = "The harbour was measured again."
    chosen = [
        Rated(Evidence(id=f"e{n}", source_id=f"s{n % 20}", quote=quote, span=(n, n + len(quote)), claim=quote), 1.0)
        for n in range(100)
    ]
    sources = [
        Source(
            id=f"s{n}", hit=Hit(url=f"https://example.org/{n}", title=f"Sounding {n}"), document=Document(text=quote)
        )
        for n in range(20)
    ]
    question = asked("How do the harbours of the coast pay for their soundings, and what does it bring them?")
    plan = Plan(title="x", sections=(COSTS,))
    free, capped = (arrange(plan, chosen, sources, question, [], most=most) for most in (None, 10))
    assert (len(free), len(capped)) == (21, 10)
    assert {name for part in free for name in part.evidence_ids} == {item.evidence.id for item in chosen}
    assert {name for part in capped for name in part.evidence_ids} == {item.evidence.id for item in chosen}


def test_what_is_about_someone_whom_another_section_asks_of_is_left_open_unless_its_words_decide() -> None:
    under = "Allocation and approaches › The fund of the bay (LORN)"
    evidence = [
        piece("a", "It came to $2 billion in 1931.", under=under),
        piece("b", "It holds equities and bonds.", under=under),
        piece("c", "Wheat fell.", under="Markets and sizes › Wheat"),
        piece("d", "Size tells.", under="Markets and sizes › Ships"),
    ]

    def plan(asked: str) -> Plan:
        size = PlannedSection(id="1", title="Sizes of funds", questions=(asked,))
        parts = PlannedSection(id="2", title="Allocation", questions=("Which equities and bonds does LORN hold?",))
        return Plan(title="Funds", sections=(size, parts))

    before = left_open(*evidence, plan=plan("How much do they manage?"))
    after = left_open(*evidence, plan=plan("How much do Ashby and LORN manage?"))
    assert "a" in after
    assert "a" not in before
    assert "b" not in after


def test_the_head_of_a_table_sends_its_rows_nowhere() -> None:
    under = "Costs › Fees | The harbour | History"
    rows = [piece(name, f"| {name} | 4 pence | 1831 |", under=under) for name in ("Boats", "Carts")]
    assert not any(any(one.fits) for one in shares((HISTORY, PlannedSection(id="3", title="Tides")), rows))


def test_what_is_of_a_page_that_names_nothing_the_question_names_is_left_open_to_a_model() -> None:
    texts = {
        "s": "Ashby kept its fees low. The history of its harbour is long.",
        "t": "The history of a fair. Fees rose.",
    }
    sources = tuple(
        Source(id=name, hit=Hit(url=f"https://example.org/{name}", title=""), document=Document(text=text))
        for name, text in texts.items()
    )
    quotes = [(name, quote) for name, text in texts.items() for quote in text.replace(". ", ".|").split("|")]
    evidence = tuple(
        Evidence(id=f"{name}{at}", source_id=name, quote=quote, span=(at, at + 1), claim=quote)
        for at, (name, quote) in enumerate(quotes)
    )
    asked_for = Question(text="What fees had the harbours of Ashby and Elmford in history?", language="en")
    request = SortRequest(question=asked_for, plan=PLAN, evidence=evidence, sources=sources, material=1000)
    assert set(sort(request).unsure) == {"t2", "t3"}
    assert set(sort(request.model_copy(update={"material": 0})).unsure).isdisjoint({"t2", "t3"})
