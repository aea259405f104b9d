"""The engine over stages of the tests: order, groups of map stages, `rest`, lost stages, loops."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import pytest

from leadline._runtime.runs.engine import Engine
from leadline._runtime.runs.run_context import RunContext
from leadline.errors import CallRefused, PluginError
from leadline.findings import Findings, Key
from leadline.hookspecs import MapOffer, PluginSettings, StageOffer
from leadline.pipeline import Loop, Pipeline, Step
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


def never(settings: Any, context: Any) -> Any:
    raise AssertionError("the stub has the stages")


def stage(name: str, **keys: Any) -> Step:
    return Step(name, StageOffer(never, PluginSettings, "", **keys))


def mapped(name: str, **keys: Any) -> Step:
    return Step(name, MapOffer(never, PluginSettings, "", **keys))


SPEAK = stage("speak", wants=(WORDS,), gives=(WORDS,), ends_loop=True)
SPELL = mapped("spell", over=WORDS, gives=LETTERS)
SING = mapped("sing", over=LETTERS, gives=SOUNDS)


async def gone(stub: Stub, *parts: Step | Loop, words: Sequence[str] = ()) -> Engine:
    engine = Engine(Pipeline("test", parts), cast("RunContext", stub))
    engine.board.put(WORDS, tuple(Word(id=word) for word in words))
    await engine.walk()
    return engine


def ids(engine: Engine, key: Key[Any]) -> str:
    return "".join(item.id for item in engine.board.get(key))


async def test_results_have_the_order_of_the_items_not_of_their_arrival() -> None:
    slow_first = Spell(lambda word: 0.03 if word == "abc" else 0)
    engine = await gone(Stub(spell=slow_first, sing=Sing()), SPELL, SING, words=("abc", "de"))
    assert slow_first.seen == ["de", "abc"]
    assert ids(engine, LETTERS) == "abcde"
    assert ids(engine, SOUNDS) == "ABCDE"


async def test_an_item_passes_through_a_group_as_soon_as_it_can() -> None:
    sing = Sing()
    await gone(
        Stub(spell=Spell(lambda word: 0.03 if word == "abc" else 0), sing=sing), SPELL, SING, words=("abc", "de")
    )
    assert sing.seen == ["d", "e", "a", "b", "c"]


async def test_a_loop_maps_only_new_items_and_ends_when_a_stage_ends_it() -> None:
    spell, sing = Spell(), Sing()
    engine = await gone(Stub(speak=Speak(), spell=spell, sing=sing), Loop((SPEAK, SPELL, SING), at_most=9))
    assert engine.rounds == 3
    assert spell.seen == ["abc", "de", "fgh"]
    assert sing.seen == list("abcdefgh")


async def test_a_loop_ends_at_its_limit() -> None:
    engine = await gone(Stub(speak=Speak(), spell=Spell()), Loop((SPEAK, SPELL), at_most=2))
    assert (engine.rounds, ids(engine, LETTERS)) == (2, "abcde")


async def test_rest_is_called_once_with_all_items_and_its_results_are_passed_on() -> None:
    class Rest(Spell):
        async def rest(self, items: Sequence[Word], findings: Findings, run: Any, /) -> Sequence[Letter]:
            return [Letter(id=str(len(items)))]

    sing = Sing()
    engine = await gone(Stub(spell=Rest(), sing=sing), SPELL, SING, words=("abc", "de"))
    assert ids(engine, LETTERS) == "abcde2"
    assert ids(engine, SOUNDS) == "ABCDE2"


async def test_a_refused_item_is_lost_without_its_siblings() -> None:
    class Refusing(Spell):
        async def map(self, item: Word, findings: Findings, run: Any, /) -> Sequence[Letter]:
            if item.id == "abc":
                raise CallRefused(refusal())
            return await super().map(item, findings, run)

    engine = await gone(Stub(spell=Refusing()), SPELL, words=("abc", "de"))
    assert ids(engine, LETTERS) == "de"
    assert engine.lost == {"spell": "the budget is spent"}


async def test_a_refused_stage_ends_its_loop_and_skips_stages_that_need_it() -> None:
    class Refused:
        async def run(self, findings: Findings, run: Any, /) -> None:
            raise CallRefused(refusal())

    last = stage("last", wants=(WORDS,), gives=(WORDS,))

    class Last:
        async def run(self, findings: Findings, run: Any, /) -> None:
            findings[WORDS] = (Word(id="end"),)

    stub = Stub(speak=Refused(), spell=Spell(), last=Last())
    engine = await gone(stub, Loop((SPEAK, SPELL), at_most=3), last)
    assert engine.rounds == 1
    assert engine.lost == {"speak": "the budget is spent", "spell": "'words' is missing"}
    assert ids(engine, WORDS) == "end"
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
