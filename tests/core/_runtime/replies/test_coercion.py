"""Habits of models that are read as what they mean: a sound reply is read as ever, a mangled one as the sound one."""

from __future__ import annotations

import contextlib
import json
import random
import time
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field
from tests.forms import Composition, WrittenSection

from leadline._runtime.replies.coercion import coerce, fields_of, text_field
from leadline._runtime.replies.parsing import parse, parse_reply
from leadline.errors import BadReply
from leadline.records import SINGLE, Confidence, Record, Text
from leadline.research_findings import Digest, Plan, Review
from leadline.schemas import schema_of
from leadline_plugins.charts.planning import ChartPlan, PlannedChart
from leadline_plugins.prompting.research_tasks import Queries


class Learning(Record):
    """A claim with its quote."""

    claim: Text
    quote: Text
    start: int = -1
    confidence: Confidence = "medium"
    score: float = 0.0


class Learnings(Record):
    """A list of records that stand by themselves."""

    learnings: tuple[Annotated[Learning, SINGLE], ...] = ()


class PlacedSection(Record):
    """The numbers of pieces that belong to a section."""

    id: str
    pieces: tuple[int, ...]


class Placed(Record):
    """Lists of numbers."""

    sections: tuple[PlacedSection, ...]
    nowhere: tuple[int, ...] = ()


class ClaimVerdict(Record):
    """A choice, with a number between 0 and 1."""

    id: str
    verdict: Literal["supported", "partial", "contradicted", "unsupported", "remark"]
    reason: Text = ""
    confidence: Annotated[float, Field(ge=0, le=1)] = 0.5
    words: Text = ""


class ClaimVerdicts(Record):
    """A list of ids beside a list of records."""

    supported: tuple[str, ...] = ()
    confidence: Annotated[float, Field(ge=0, le=1)] = 0.5
    others: tuple[ClaimVerdict, ...] = ()


REPLIES: list[type[Record]] = [
    *(Plan, Queries, Learnings, Digest, Review, Placed, WrittenSection, Composition, ClaimVerdicts, ChartPlan),
    PlannedChart,
]


def sample(form: Any, forms: Any, dice: random.Random) -> Any:
    """Return a value that a schema allows."""
    if "$ref" in form:
        return sample(forms[form["$ref"].rpartition("/")[2]], forms, dice)
    if choices := form.get("enum") or form.get("anyOf"):
        chosen = dice.choice(choices)
        return sample(chosen, forms, dice) if isinstance(chosen, dict) else chosen
    match form.get("type"):
        case "object" if "properties" in form:
            return {name: sample(one, forms, dice) for name, one in form["properties"].items()}
        case "object":
            return {"1": sample(form["additionalProperties"], forms, dice)}
        case "array":
            return [sample(form["items"], forms, dice) for _ in range(dice.randrange(4))]
        case "boolean":
            return dice.random() < 0.5
        case "null":
            return None
        case ["number", "null"]:
            return dice.choice((None, 0.5))
    number = dice.randrange(100)
    texts = (
        "",
        "none",
        "1",
        "Ports pay.\n\nShips pay, too [@e1].",
        "# high",
        "{}",
        '"text": 水深',
        "null\\frac",
        "95%",
    )
    return {"integer": number, "number": number / 100}.get(form.get("type"), dice.choice(texts))


@st.composite
def sound_objects(draw: st.DrawFn) -> tuple[type[Record], Record, Any]:
    """Return a reply that fits, as a record and as the JSON that a model would write."""
    form = draw(st.sampled_from(REPLIES))
    dice = random.Random(draw(st.integers(0, 2**32)))
    record = form.model_validate(sample(schema_of(form), schema_of(form).get("$defs", {}), dice))
    return form, record, record.model_dump(mode="json")


def keys(change: Callable[[str], str]) -> Callable[[Any], Any]:
    def changed(tree: Any) -> Any:
        if isinstance(tree, dict):
            return {change(name): changed(one) for name, one in tree.items()}
        return [changed(one) for one in tree] if isinstance(tree, list) else tree

    return changed


def camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.title() for word in others)


HABITS: dict[str, Callable[[Any], Any]] = {
    "camel case": keys(camel),
    "kebab case": keys(lambda name: name.replace("_", "-")),
    "upper case": keys(str.upper),
    "title case": keys(lambda name: name.replace("_", " ").title()),
    "wrapped": lambda tree: {"reply": tree},
    "wrapped beside": lambda tree: {"status": "ok", "response": {"result": tree}},
    "in a list": lambda tree: [tree],
}


@given(sound_objects())
def test_a_valid_reply_is_read_unchanged(case: tuple[type[Record], Record, Any]) -> None:
    form, record, tree = case
    assert coerce(tree, form) == tree
    assert parse(json.dumps(tree), form) == record


@pytest.mark.parametrize("habit", HABITS)
@given(sound_objects())
def test_habits_of_models_do_not_change_a_reply(habit: str, case: tuple[type[Record], Record, Any]) -> None:
    form, record, tree = case
    assert parse(json.dumps(HABITS[habit](tree)), form) == record


def spoilt(value: Any, form: type[Record], dice: random.Random) -> Any:
    """Return a tree with what it leaves to defaults said as null, enumerations in capitals, nulls in lists."""
    fields = fields_of(form)
    found: dict[str, Any] = {}
    for name, one in value.items():
        shape, plain = fields[name].shape, form.model_fields[name].get_default(call_default_factory=True)
        found[name] = one
        if not fields[name].required and not shape.nullable and one == (list(plain) if plain == () else plain):
            found[name] = dice.choice((None, one))
        elif shape.kind == "choice" and isinstance(one, str):
            found[name] = dice.choice((one.upper(), one.title(), f" {one}\n"))
        elif shape.kind == "list" and shape.items[0].kind == "record":
            found[name] = [spoilt(item, shape.items[0].model, dice) for item in one] + [None] * dice.randrange(2)
        elif shape.prose and dice.random() < 0.5 and isinstance(one, str):
            found[name] = one.split("\n\n")
    return found


@given(sound_objects(), st.integers(0, 2**32))
def test_nulls_capitals_and_lists_of_paragraphs_do_not_change_a_reply(
    case: tuple[type[Record], Record, Any], seed: int
) -> None:
    form, record, tree = case
    read = parse(json.dumps(spoilt(tree, form, random.Random(seed))), form)
    for name, value in record.model_dump(mode="json").items():
        said = read.model_dump(mode="json")[name]
        assert said == pytest.approx(value) if isinstance(value, float) else rounded(said) == rounded(value)


def rounded(tree: Any) -> Any:
    return json.loads(json.dumps(tree), parse_float=lambda said: round(float(said), 6))


@pytest.mark.parametrize(
    ("said", "form", "means"),
    [
        (
            {"title": "T", "sections": [{"id": 1, "title": 2024}]},
            Plan,
            {"sections.0.id": "1", "sections.0.title": "2024"},
        ),
        ({"title": "T", "sections": ["A"]}, Plan, {"sections.0.title": "A", "sections.0.id": ""}),
        ({"title": "T", "sections": [{"title": "A"}]}, Plan, {"sections.0.id": ""}),
        ({"title": "T", "sections": [{"id": None, "title": "A"}]}, Plan, {"sections.0.id": ""}),
        ({"title": "T", "queries": ["q"], "sections": []}, Plan, {"queries.0.query": "q"}),
        ({"title": "T", "queries": "none", "sections": []}, Plan, {"queries": ()}),
        ({"title": "T", "queries": {"query": "q"}, "sections": []}, Plan, {"queries.0.query": "q"}),
        ({"isSufficient": True, "sections": []}, Review, {"is_sufficient": True}),
        ({"confidence": "0.95"}, ClaimVerdicts, {"confidence": 0.95}),
        ({"confidence": None}, ClaimVerdicts, {"confidence": 0.5}),
        *(({"confidence": said}, ClaimVerdicts, {"confidence": 0.5}) for said in (1.5, "95%", "sure")),
        (
            {"sections": [{"id": "[@1]", "pieces": [1, "7"]}], "nowhere": "8"},
            Placed,
            {"sections.0.id": "1", "sections.0.pieces": (1, 7), "nowhere": (8,)},
        ),
        ({"sections": [{"id": "b", "coverage": "partial", "depth": "low"}]}, Review, {"sections.0.depth": 0.0}),
        (
            {"learnings": [{"claim": "C.", "quote": "Q.", "confidence": "so so"}]},
            Learnings,
            {"learnings.0.claim": "C."},
        ),
        ({"supported": "[@1][@3]"}, ClaimVerdicts, {"supported": ("1", "3")}),
        ({"supported": [1, "2"]}, ClaimVerdicts, {"supported": ("1", "2")}),
        ({"text": ["One.", "Two."]}, WrittenSection, {"text": "One.\n\nTwo."}),
        ({"section": {"title": "A", "text": "One."}}, WrittenSection, {"text": "One."}),
    ],
)
def test_clear_values_are_coerced(said: Any, form: type[Record], means: dict[str, Any]) -> None:
    record: Any = parse(json.dumps(said), form)
    for path, value in means.items():
        found = record
        for name in path.split("."):
            found = found[int(name)] if name.isdecimal() else getattr(found, name)
        assert found == value


@pytest.mark.parametrize(
    ("said", "form", "says"),
    [
        ({"is_sufficient": "mostly"}, Review, "is_sufficient"),
        ({"content": "One."}, WrittenSection, r'none of the fields text, .*you wrote "content"'),
        ({"others": [{"id": 3, "verdict": "Not Supported"}]}, ClaimVerdicts, "verdict must be one of"),
        ({"sections": [{"coverage": "covered"}]}, Review, r'sections\[0\] lacks "id"'),
        ({"sections": [{"id": "1", "coverage": "partially done"}]}, Review, r"sections\[0\]\.coverage must be one of"),
        (
            {"sections": [{"id": None, "coverage": "covered"}]},
            Review,
            r"sections\[0\]\.id must be a text; you wrote null",
        ),
        ({"title": None, "sections": []}, Plan, "title"),
        ({"title": True, "sections": []}, Plan, "title"),
        ({"learnings": ["Ports pay."]}, Learnings, r"learnings\[0\] must be an object with the fields claim, quote"),
        ({"text": {"a": "One.", "b": "Two."}}, WrittenSection, "text"),
    ],
)
def test_other_values_are_refused(said: Any, form: type[Record], says: str) -> None:
    with pytest.raises(BadReply, match=says):
        parse(json.dumps(said), form)


@pytest.mark.parametrize(
    ("said", "form"),
    [
        ({"Summary": "S [@e1].", "Sections": [{"x": 1}]}, Composition),
        ({"Charts": [{"title": "a"}]}, ChartPlan),
        ({"Queries": [{"x": "zoo"}]}, Queries),
        ({"Learnings": [{"claim": "a"}]}, Learnings),
        ({"Review": {"sections": [{"x": 1}]}}, Digest),
        ({"Supported": ["1"], "Others": [{"id": "2"}]}, ClaimVerdicts),
    ],
)
def test_a_bad_value_under_a_key_in_another_case_is_refused(said: Any, form: type[Record]) -> None:
    with pytest.raises(BadReply, match=r" lacks \""):
        parse(json.dumps(said), form)


@pytest.mark.parametrize(
    ("said", "form", "means"),
    [
        ({"title": "T", "sections": [{"title": "A"}, {"id": "2"}, {"title": "B"}]}, Plan, {"sections.1.title": "B"}),
        ({"queries": [{"query": "a"}, {"why": "b"}]}, Queries, {"queries.0.query": "a"}),
        ({"learnings": [{"claim": "a"}, {"claim": "b", "quote": "c"}]}, Learnings, {"learnings.0.quote": "c"}),
    ],
)
def test_independent_items_that_do_not_fit_are_left_out(said: Any, form: type[Record], means: dict[str, Any]) -> None:
    assert parse_reply(json.dumps(said), form).left_out == 1
    test_clear_values_are_coerced(said, form, means)


def test_optional_parts_are_left_out_of_the_last_reply() -> None:
    said = json.dumps({"summary": "S [@e1].", "sections": [{"x": 1}]})
    found = parse_reply(said, Composition, last=True)
    assert (found.reply, found.left_out) == (Composition(summary="S [@e1]."), 1)
    verdicts = json.dumps(
        {"supported": ["1"], "others": [{"id": "3", "verdict": "?"}, {"id": "4", "verdict": "partial"}]}
    )
    with pytest.raises(BadReply, match=r"others\[0\].verdict"):
        parse(verdicts, ClaimVerdicts)  # that nothing is said of a claim is no verdict: it is asked for again
    assert [one.id for one in parse_reply(verdicts, ClaimVerdicts, last=True).reply.others] == ["4"]
    with pytest.raises(BadReply, match=r"sections\[0\] lacks"):
        parse_reply('{"title": "T", "sections": [{"goal": "a"}]}', Plan, last=True)


def test_all_faults_are_explained_at_once() -> None:
    said = {"sections": [{"name": "1", "coverage": "so so"}], "is_sufficient": "perhaps", "priority_gaps": 3}
    with pytest.raises(BadReply) as told:
        parse(json.dumps(said), Review)
    for words in (
        'sections[0] lacks "id" (you wrote "name")',
        'sections[0].coverage must be one of "covered", "partial", "missing"; you wrote "so so"',
        '"is_sufficient" must be true or false; you wrote "perhaps"',
    ):
        assert words in str(told.value)
    with pytest.raises(BadReply, match=r"\"sections\" must be a list of objects with the fields id, pieces"):
        parse('{"sections": null}', Placed)
    many = {"sections": [{"id": str(number), "coverage": "so so"} for number in range(9)]}
    with pytest.raises(BadReply, match="and 4 more like these"):
        parse(json.dumps(many), Review)
    with pytest.raises(BadReply, match=r"none of the fields title, scope, form, sections, queries \(you wrote \"x\"\)"):
        parse('{"x": 1}', Plan)  # what a model is not asked for is not named


class Pointer(Record):
    evidence_id: str


@pytest.mark.parametrize(
    "said", ["[@edb44a4feea]", "@edb44a4feea", "[edb44a4feea]", " [@ edb44a4feea] ", "edb44a4feea"]
)
def test_an_id_is_read_without_citation_marks(said: str) -> None:
    assert parse(json.dumps({"evidence_id": said}), Pointer).evidence_id == "edb44a4feea"


def test_an_empty_list_is_refused() -> None:
    with pytest.raises(BadReply):
        parse("[]", Digest)


@pytest.mark.parametrize("form", REPLIES)
def test_a_repeated_schema_is_skipped(form: type[Record]) -> None:
    said = json.dumps(schema_of(form))
    with pytest.raises(BadReply, match="it has none of the fields"):
        parse(said, form)
    dice = random.Random(7)
    record = form.model_validate(sample(schema_of(form), schema_of(form).get("$defs", {}), dice))
    assert parse(f"{said}\n{record.model_dump_json()}", form) == record


class Described(Record):
    type: str
    properties: dict[str, Any] = {}


def test_a_reply_may_have_the_fields_of_a_schema() -> None:
    said = {"type": "object", "properties": {"a": {"type": "string"}}}
    assert parse(json.dumps(said), Described) == Described.model_validate(said)


def test_the_reply_with_most_fields_wins_and_the_last_of_equals() -> None:
    draft, whole = '{"title": "A"}', '{"title": "B", "summary": "S."}'
    assert parse(draft + whole, Composition).title == "B"
    assert parse(whole + draft, Composition).title == "B"
    assert parse('{"title": "A"} {"title": "B"}', Composition).title == "B"


def test_a_part_of_a_reply_is_not_taken_for_the_whole() -> None:
    said = {"summary": "S. [@e1]", "sections": [{"title": "A", "text": "T."}]}
    with pytest.raises(BadReply, match=r'sections\[0\] lacks "id"'):
        parse(json.dumps(said), Composition)
    assert parse(json.dumps({"title": "Reply", "reply": {"title": "A", "summary": "S."}}), Composition).title == "Reply"
    plan = {"title": "The plan", "plan": {"title": "A", "sections": ["B"]}}
    assert parse(json.dumps(plan), Plan).title == "A"


def test_a_valid_reply_wins_over_a_coerced_one() -> None:
    lenient, strict = '{"title": "A", "summary": null, "conclusion": "C."}', '{"title": "B"}'
    assert parse(lenient + strict, Composition).title == "B"


SECTION = "Ports pay for shore power by fees, and ships pay for what they draw [@e1]. " * 4


@pytest.mark.parametrize("cites", ["[1]", "[^1]", "【1】"])
def test_prose_may_cite_by_number(cites: str) -> None:
    assert parse(SECTION.replace("[@e1]", cites), WrittenSection).text == SECTION.replace("[@e1]", cites).strip()


@pytest.mark.parametrize("text", [SECTION, f"```markdown\n{SECTION}\n```", f"<think>Cite.</think>{SECTION}"])
def test_prose_with_citations_is_the_only_text_of_a_reply(text: str) -> None:
    assert parse(text, WrittenSection).text == SECTION.strip()
    with pytest.raises(BadReply):
        parse(text, Composition)


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I cannot help with that. [@e1]",
        SECTION.replace(" [@e1]", ""),
        '{"tex": "' + SECTION,
        'Here is the object with "text": ' + SECTION,
    ],
)
def test_remarks_uncited_texts_and_broken_json_are_refused(text: str) -> None:
    with pytest.raises(BadReply):
        parse(text, WrittenSection)


def test_a_text_can_stand_for_a_record_with_one_required_text() -> None:
    assert [text_field(form) for form in (WrittenSection, Plan, Learnings)] == ["text", "", ""]


@pytest.mark.parametrize(
    "tree",
    [
        {"sections": [{"id": number, "title": ["a"] * 3, "goal": None} for number in range(30_000)], "Title": "T"},
        {"a": [{"b": {"c": number}} for number in range(100_000)]},
        {str(number): {"title": number} for number in range(100_000)},
    ],
)
def test_parsing_takes_linear_time(tree: Any) -> None:
    text, began = json.dumps(tree), time.process_time()
    with contextlib.suppress(BadReply):
        parse(text, Plan)
    assert time.process_time() - began < 3
