"""The engine over stages of the tests: order, groups of map stages, `rest`, lost stages, loops."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import pytest

from leadline import hookspecs
from leadline._runtime.runs.engine import walk
from leadline._runtime.runs.findings_board import FindingsBoard
from leadline._runtime.runs.run import Run
from leadline.errors import CallRefused, ConfigError, PluginError
from leadline.findings import Findings, Key
from leadline.pipeline import Loop, Pipeline, Step, check
from leadline.plugin import map_stage
from leadline.records import Failure, Record


class Word(Record):
    id: str


class Letter(Record):
    id: str


class Sound(Record):
    id: str


WORDS: Key[tuple[Word, ...]] = Key("words", Word, grows=True)
LETTERS: Key[tuple[Letter, ...]] = Key("letters", Letter, grows=True)
SOUNDS: Key[tuple[Sound, ...]] = Key("sounds", Sound, grows=True)


class Stub:
    """Stands in for the run: keeps what it was told."""

    def __init__(self, **stages: Any) -> None:
        self.stages = stages
        self.rounds_left = 0
        self.board = FindingsBoard()
        self.pipeline = Pipeline("test", ())
        self.told: list[tuple[str, str]] = []

    async def shuts_down_before(self, number: int) -> bool:
        return False

    async def stage(self, step: Step) -> Any:
        return self.stages[step.name]

    @contextmanager
    def in_stage(self, step: Step) -> Iterator[None]:
        yield

    async def report_progress(self, step: str, status: str, data: dict[str, Any]) -> None:
        self.told.append((step, status))

    async def save_finding(self, key: Key[Any], value: Any) -> None:
        raise AssertionError("no key here has a file")


class Speak:
    """Gives one more word a round, and ends the loop at the third."""

    words = ("abc", "de", "fgh")

    async def run(self, findings: Findings, run: Any, /) -> None:
        there = findings[WORDS]
        findings[WORDS] = (Word(id=self.words[len(there)]),)
        if len(there) == 2:
            findings.end_loop("all is said")


class Spell:
    """Gives the letters of a word, the first word's last of all."""

    def __init__(self, pause: Callable[[str], float] = lambda _: 0) -> None:
        self.pause = pause
        self.seen: list[str] = []

    async def map(self, item: Word, findings: Findings, run: Any, /) -> Sequence[Letter]:
        await asyncio.sleep(self.pause(item.id))
        self.seen.append(item.id)
        return [Letter(id=letter) for letter in item.id]


class Sing:
    def __init__(self) -> None:
        self.seen: list[str] = []

    async def map(self, item: Letter, findings: Findings, run: Any, /) -> Sequence[Sound]:
        self.seen.append(item.id)
        return [Sound(id=item.id.upper())]


def stage(name: str, **keys: Any) -> Step:
    return Step(name, hookspecs.stage("", **keys))


def mapped(name: str, **keys: Any) -> Step:
    return Step(name, map_stage("", **keys))


SPEAK = stage("speak", wants=(WORDS,), gives=(WORDS,), ends_loop=True)
SPELL = mapped("spell", over=WORDS, gives=LETTERS)
SING = mapped("sing", over=LETTERS, gives=SOUNDS)


async def gone(stub: Stub, *parts: Step | Loop, words: Sequence[str] = ()) -> FindingsBoard:
    stub.pipeline = Pipeline("test", parts)
    stub.board.put(WORDS, tuple(Word(id=word) for word in words))
    await walk(cast("Run", stub))
    return stub.board


def ids(board: FindingsBoard, key: Key[Any]) -> str:
    return "".join(item.id for item in board.get(key))


async def test_results_have_the_order_of_the_items_not_of_their_arrival() -> None:
    slow_first = Spell(lambda word: 0.03 if word == "abc" else 0)
    board = await gone(Stub(spell=slow_first, sing=Sing()), SPELL, SING, words=("abc", "de"))
    assert slow_first.seen == ["de", "abc"]
    assert ids(board, LETTERS) == "abcde"
    assert ids(board, SOUNDS) == "ABCDE"


async def test_an_item_passes_through_a_group_as_soon_as_it_can() -> None:
    sing = Sing()
    await gone(
        Stub(spell=Spell(lambda word: 0.03 if word == "abc" else 0), sing=sing), SPELL, SING, words=("abc", "de")
    )
    assert sing.seen == ["d", "e", "a", "b", "c"]


async def test_a_loop_maps_only_new_items_and_ends_when_a_stage_ends_it() -> None:
    spell, sing = Spell(), Sing()
    board = await gone(Stub(speak=Speak(), spell=spell, sing=sing), Loop((SPEAK, SPELL, SING), at_most=9))
    assert board.rounds == 3
    assert spell.seen == ["abc", "de", "fgh"]
    assert sing.seen == list("abcdefgh")


async def test_a_loop_ends_at_its_limit() -> None:
    board = await gone(Stub(speak=Speak(), spell=Spell()), Loop((SPEAK, SPELL), at_most=2))
    assert (board.rounds, ids(board, LETTERS)) == (2, "abcde")


async def test_rest_is_called_once_with_all_items_and_its_results_are_passed_on() -> None:
    class Rest(Spell):
        async def rest(self, items: Sequence[Word], findings: Findings, run: Any, /) -> Sequence[Letter]:
            return [Letter(id=str(len(items)))]

    sing = Sing()
    board = await gone(Stub(spell=Rest(), sing=sing), SPELL, SING, words=("abc", "de"))
    assert ids(board, LETTERS) == "abcde2"
    assert ids(board, SOUNDS) == "ABCDE2"


async def test_a_refused_item_is_lost_without_its_siblings() -> None:
    class Refusing(Spell):
        async def map(self, item: Word, findings: Findings, run: Any, /) -> Sequence[Letter]:
            if item.id == "abc":
                raise CallRefused(refusal())
            return await super().map(item, findings, run)

    board = await gone(Stub(spell=Refusing()), SPELL, words=("abc", "de"))
    assert ids(board, LETTERS) == "de"
    assert board.lost == {"spell": "the budget is spent"}


async def test_a_refused_stage_ends_its_loop_and_skips_stages_that_need_it() -> None:
    class Refused:
        async def run(self, findings: Findings, run: Any, /) -> None:
            raise CallRefused(refusal())

    last = stage("last", wants=(WORDS,), gives=(WORDS,))

    class Last:
        async def run(self, findings: Findings, run: Any, /) -> None:
            findings[WORDS] = (Word(id="end"),)

    stub = Stub(speak=Refused(), spell=Spell(), last=Last())
    board = await gone(stub, Loop((SPEAK, SPELL), at_most=3), last)
    assert board.rounds == 1
    assert board.lost == {"speak": "the budget is spent", "spell": "'words' is missing"}
    assert ids(board, WORDS) == "end"
    assert ("spell", "failed") in stub.told


async def test_independent_stages_run_concurrently() -> None:
    order: list[str] = []
    both = asyncio.Barrier(2)

    class Noted:
        def __init__(self, name: str, *, met: bool = False) -> None:
            self.name, self.met = name, met

        async def run(self, findings: Findings, run: Any, /) -> None:
            if self.met:
                await asyncio.wait_for(both.wait(), 5)
            order.append(self.name)

    first = stage("first", gives=(WORDS,))
    left = stage("left", wants=(WORDS,), may_give=(LETTERS,))
    right = stage("right", wants=(WORDS,), may_give=(SOUNDS,))
    after = stage("after", wants=(LETTERS, SOUNDS), may_give=(SOUNDS,))
    outward = stage("outward", wants=(WORDS,))
    stub = Stub(
        first=Noted("first"),
        left=Noted("left", met=True),
        right=Noted("right", met=True),
        after=Noted("after"),
        outward=Noted("outward"),
    )
    await gone(stub, first, left, right, after, outward)
    assert order[0] == "first"
    assert set(order[1:3]) == {"left", "right"}
    assert order[3:] == ["after", "outward"]


async def test_the_first_error_is_raised_without_a_group_and_cancels_the_rest() -> None:
    class Breaking(Spell):
        async def map(self, item: Word, findings: Findings, run: Any, /) -> Sequence[Letter]:
            if item.id == "de":
                raise KeyError("mine")
            await asyncio.sleep(60)
            raise AssertionError("was not cancelled")

    with pytest.raises(KeyError, match="mine"):
        await gone(Stub(spell=Breaking()), SPELL, words=("abc", "de"))
    assert len(asyncio.all_tasks()) == 1


async def test_a_result_of_the_wrong_type_names_the_stage() -> None:
    class Wrong(Spell):
        async def map(self, item: Word, findings: Findings, run: Any, /) -> Sequence[Any]:
            return ["text"]

    with pytest.raises(PluginError, match="stage 'spell' returned a str, but its offer gives: Letter"):
        await gone(Stub(spell=Wrong()), SPELL, words=("abc",))


def refusal() -> Failure:
    return Failure(kind="task", provider="x", category="RESOURCE_LIMIT", type="Refused", message="the budget is spent")


# --- stages that change the items of a key ----------------------------------------------------------------------------


class Page(Record):
    id: str
    text: str = ""


PAGES: Key[tuple[Page, ...]] = Key("pages", Page, grows=True)
QUOTES: Key[tuple[Page, ...]] = Key("quotes", Page, grows=True)


class Read:
    """Gives the pages of a word, one of them already found in an earlier round."""

    async def map(self, item: Word, findings: Findings, run: Any, /) -> Sequence[Page]:
        return [Page(id=f"{item.id}{number}", text=f"secret {item.id}{number}") for number in range(2)]


class Redact:
    """Changes each page; drops one; divides another."""

    async def map(self, item: Page, findings: Findings, run: Any, /) -> Sequence[Page]:
        clean = item.model_copy(update={"text": item.text.replace("secret", "xxx")})
        if item.id == "abc0":
            return []
        if item.id == "de0":
            return [clean, clean.model_copy(update={"id": "de0b"})]
        return [clean]


class Quote:
    def __init__(self) -> None:
        self.seen: list[str] = []

    async def map(self, item: Page, findings: Findings, run: Any, /) -> Sequence[Page]:
        self.seen.append(item.text)
        return [Page(id=f"q{item.id}", text=item.text)]


class Apart:
    """Does nothing; stands between two map stages, which are then no group."""

    async def run(self, findings: Findings, run: Any, /) -> None:
        """Nothing."""


READ = mapped("read", over=WORDS, gives=PAGES)
REDACT = mapped("redact", over=PAGES, gives=PAGES)
QUOTE = mapped("quote", over=PAGES, gives=QUOTES)
APART, APART2 = stage("apart"), stage("apart2")
CLEANED = ["xxx abc1", "xxx de0", "xxx de0", "xxx de1", "xxx fgh0", "xxx fgh1"]


@pytest.mark.parametrize(
    "steps",
    [
        (READ, REDACT, QUOTE),
        (READ, APART, REDACT, QUOTE),
        (READ, REDACT, APART, QUOTE),
        (READ, APART, REDACT, APART2, QUOTE),
    ],
    ids=["one group", "after a group", "before a group", "apart"],
)
@pytest.mark.parametrize("loop", [False, True], ids=["once", "in rounds"])
async def test_a_changed_item_replaces_the_one_it_was_made_of_for_all_later_stages(
    steps: tuple[Step, ...], loop: bool
) -> None:
    quote = Quote()
    stub = Stub(speak=Speak(), read=Read(), redact=Redact(), quote=quote, apart=Apart(), apart2=Apart())
    parts: tuple[Step | Loop, ...] = (Loop((SPEAK, *steps), at_most=9),) if loop else steps
    board = await gone(stub, *parts, words=() if loop else Speak.words)
    assert [page.text for page in board.get(PAGES)] == CLEANED
    assert [page.id for page in board.get(PAGES)] == ["abc1", "de0", "de0b", "de1", "fgh0", "fgh1"]
    assert sorted(quote.seen) == sorted(CLEANED)
    assert [page.text for page in board.get(QUOTES)] == CLEANED


async def test_pages_from_elsewhere_are_changed_too_before_a_group() -> None:
    class Bring:
        async def run(self, findings: Findings, run: Any, /) -> None:
            findings[PAGES] = (Page(id="own", text="secret own"),)

    quote = Quote()
    stub = Stub(bring=Bring(), read=Read(), redact=Redact(), quote=quote)
    board = await gone(stub, stage("bring", gives=(PAGES,)), READ, REDACT, QUOTE, words=("fgh",))
    cleaned = ["xxx own", "xxx fgh0", "xxx fgh1"]
    assert [page.text for page in board.get(PAGES)] == cleaned
    assert [page.text for page in board.get(QUOTES)] == cleaned
    assert sorted(quote.seen) == sorted(cleaned)


async def test_an_item_whose_change_was_refused_is_not_shown_unchanged() -> None:
    class Refusing(Redact):
        async def map(self, item: Page, findings: Findings, run: Any, /) -> Sequence[Page]:
            if item.id == "fgh0":
                raise CallRefused(refusal())
            return await super().map(item, findings, run)

    board = await gone(Stub(read=Read(), redact=Refusing()), READ, REDACT, words=("fgh",))
    assert [page.text for page in board.get(PAGES)] == ["xxx fgh1"]
    assert board.lost == {"redact": "the budget is spent"}


async def test_any_other_stage_that_changes_an_item_it_has_read_is_refused_by_name() -> None:
    class Change:
        async def run(self, findings: Findings, run: Any, /) -> None:
            findings[PAGES] = tuple(page.model_copy(update={"text": "xxx"}) for page in findings[PAGES])

    change = stage("change", needs=(PAGES,), gives=(PAGES,))
    with pytest.raises(PluginError, match=r"stage 'change' changes the item 'fgh0' of 'pages'.*@map_stage\(…, over=…"):
        await gone(Stub(read=Read(), change=Change()), READ, change, words=("fgh",))


async def test_a_stage_may_give_items_again_that_it_has_not_changed() -> None:
    class Same:
        async def run(self, findings: Findings, run: Any, /) -> None:
            findings[PAGES] = (*findings[PAGES], Page(id="new"))

    again = stage("again", needs=(PAGES,), gives=(PAGES,))
    board = await gone(Stub(read=Read(), again=Same()), READ, again, words=("fgh",))
    assert [page.id for page in board.get(PAGES)] == ["fgh0", "fgh1", "new"]


SUMMARY: Key[Page] = Key("summary", Page)
SUM = stage("sum", wants=(PAGES,), gives=(SUMMARY,))
AGAIN = stage("again", wants=(PAGES,), gives=(SUMMARY,))


@pytest.mark.parametrize(
    ("parts", "user"),
    [
        ((READ, QUOTE, REDACT), "quote"),
        ((READ, SUM, REDACT, QUOTE), "sum"),
        ((READ, REDACT, QUOTE), ""),
        ((AGAIN, READ, REDACT, QUOTE), ""),
        ((Loop((SPEAK, SUM, READ, REDACT, QUOTE), at_most=3),), ""),
        ((Loop((SPEAK, READ, QUOTE), at_most=3), REDACT), "quote"),
        ((READ, Loop((REDACT, SPEAK, READ, QUOTE), at_most=3)), "quote"),
    ],
)
def test_changes_that_come_after_the_use_of_the_items_are_refused(parts: tuple[Step | Loop, ...], user: str) -> None:
    words = stage("words", gives=(WORDS,))
    pipeline = Pipeline("mine", (words, *parts))
    if not user:
        check(pipeline)
        return
    message = f"stage 'redact' changes 'pages', but by then '{user}' has used it unchanged; put 'redact' directly after"
    with pytest.raises(ConfigError, match=f"pipeline 'mine': {message} 'read'"):
        check(pipeline)
