"""The engine: takes a run through its pipeline, stage by stage, item by item where the stages allow it.

A stage begins when those before it are through that write what it reads, or read what it writes; stages that have
nothing to do with each other run side by side. Map stages standing next to each other, where one gives what the next
goes over, are fused: every item goes down the whole group as soon as it can. Whatever the order of arrival, results
are merged in the order of the items, so that a second run of the same question is the same run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Protocol

from leadline.concurrency.tasking import bare_task_group
from leadline.errors import CallRefused
from leadline.findings import Key
from leadline.hookspecs import MapOffer
from leadline.pipeline import Loop, Pipeline, Step
from leadline.runs.board import Board, View
from leadline.runs.flow import Flow, Level


class Host(Protocol):
    """What the engine needs of the run it drives."""

    rounds_left: int
    """How many rounds of the loop can follow the one that is gone through."""

    async def ends_before(self, number: int) -> bool:
        """Return whether the run winds down, or did when it was recorded, before this round of the loop."""
        ...

    async def turn(self) -> None:
        """Wait until it is this run's turn, where many share the event loop."""
        ...

    async def made(self, step: Step) -> Any:
        """Return the stage itself."""
        ...

    def inside(self, step: Step) -> AbstractContextManager[None]:
        """Attribute what is done in this context to the stage."""
        ...

    async def progress(self, step: str, status: str, data: dict[str, Any]) -> None:
        """Tell where the run stands."""
        ...

    async def keep(self, key: Key[Any], value: Any) -> None:
        """Save a finding that has a file."""
        ...


@dataclass
class Engine:
    """One run going through one pipeline. `lost` are the stages that gave nothing, with the reason."""

    pipeline: Pipeline
    host: Host
    run: Any
    board: Board = field(default_factory=Board)
    lost: dict[str, str] = field(default_factory=dict)
    rounds: int = 0
    _taken: dict[str, int] = field(default_factory=dict)

    async def go(self) -> None:
        """Go through all stages; what escapes is what ends the run."""
        for _, stretch in groupby(self.pipeline.parts, lambda part: isinstance(part, Loop)):
            parts = list(stretch)
            await self._stretch([part for part in parts if isinstance(part, Step)])
            for loop in (part for part in parts if isinstance(part, Loop)):
                await self._loop(loop)

    async def _loop(self, loop: Loop) -> None:
        for number in range(1, loop.at_most + 1):
            # The first is gone through all the same: what was begun ahead, and what is free, may make a report.
            if number > 1 and await self.host.ends_before(number):
                break
            self.rounds, self.host.rounds_left = number, loop.at_most - number
            lost = len(self.lost)
            if await self._stretch(loop.steps) or len(self.lost) > lost:
                break
        self.host.rounds_left = 0

    async def _stretch(self, steps: Sequence[Step]) -> bool:
        """Run steps, each group as soon as those before it are through whose findings it reads or changes.

        Returns whether one of them ended the loop.
        """
        turns: list[tuple[list[Step], asyncio.Task[bool]]] = []
        async with bare_task_group() as tasks:
            for group in _groups(steps):
                before = [task for earlier, task in turns if _hangs_on(group, earlier)]
                turns.append((group, tasks.create_task(self._in_turn(group, before))))
        return any(task.result() for _, task in turns)

    async def _in_turn(self, group: list[Step], before: Sequence[asyncio.Task[bool]]) -> bool:
        if before:
            await asyncio.wait(before)
        missing = next((key for step in group[:1] for key in step.needs if not self.board.has(key)), None)
        if missing is not None:
            await self._lose(group, f"'{missing.name}' is missing")
            return False
        return await self._run_group(group)

    async def _lose(self, group: Sequence[Step], reason: str) -> None:
        for step in group:
            self.lost.setdefault(step.name, reason)
            await self.host.progress(step.name, "failed", {"reason": reason})

    async def _run_group(self, group: list[Step]) -> bool:
        for step in group:
            await self.host.progress(step.name, "started", {"round": self.rounds})
        try:
            if isinstance(group[0].offer, MapOffer):
                await self._run_maps(group)
                return False
            return await self._run_stage(group[0])
        except CallRefused as refused:
            await self._lose(group, refused.record.message)
            return False

    async def _run_stage(self, step: Step) -> bool:
        view = View(step.name, self.board, step.reads, step.writes)
        stage = await self.host.made(step)
        await self.host.turn()
        with self.host.inside(step):
            await stage.run(view, self.run)
        await self._finished(step, {key: await self._merge(key, value) for key, value in view.patch.items()})
        return view.loop_ended is not None

    async def _run_maps(self, group: list[Step]) -> None:
        first = group[0].offer
        assert isinstance(first, MapOffer)
        everything = self.board.get(first.over)
        items = everything[self._taken.get(group[0].name, 0) :]
        self._taken[group[0].name] = len(everything)
        levels = [Level(step, await self.host.made(step)) for step in group]
        await Flow(levels, self.board.snapshot(), self.run, self.host.inside, self.lost).go(items)
        for depth, level in enumerate(levels):
            await self._merge_level(level)
            # What flowed on inside the group is taken by the stage it flowed to.
            for follower in levels[depth + 1 : depth + 2]:
                self._taken[follower.step.name] = len(self.board.get(level.step.gives[0]))

    async def _merge_level(self, level: Level) -> None:
        outputs = level.in_order()
        patch = {key: tuple(item for item in outputs if isinstance(item, key.type)) for key in level.step.writes}
        await self._finished(level.step, {key: await self._merge(key, items) for key, items in patch.items()})

    async def _merge(self, key: Key[Any], value: Any) -> int:
        """Merge a finding; return by how many items a key that grows has grown."""
        before = len(self.board.get(key)) if key.grows else 0
        self.board.put(key, value)
        if key.file:
            await self.host.keep(key, self.board.get(key))
        return len(self.board.get(key)) - before if key.grows else 0

    async def _finished(self, step: Step, new: dict[Key[Any], int]) -> None:
        counts = {key.name: count for key, count in new.items() if key.grows}
        await self.host.progress(step.name, "finished", {"round": self.rounds, **counts})


def _groups(steps: Sequence[Step]) -> Iterator[list[Step]]:
    """Split steps into groups: single stages, and map stages that can be fused."""
    group: list[Step] = []
    for step in steps:
        if group and not _fuses(group, step):
            yield group
            group = []
        group.append(step)
    if group:
        yield group


def _hangs_on(group: Sequence[Step], earlier: Sequence[Step]) -> bool:
    """Return whether a group must wait for an earlier one: neither may read what the other writes, or write the same.

    A stage without findings to give has its effect elsewhere; its place in the order is all that is known of it.
    """
    reads, writes = _touched(group)
    read, written = _touched(earlier)
    return not writes or not written or bool(writes & (read | written) or reads & written)


def _touched(group: Sequence[Step]) -> tuple[set[str], set[str]]:
    """Return the names of the keys that a group reads and writes."""
    return ({key.name for step in group for key in step.reads}, {key.name for step in group for key in step.writes})


def _fuses(group: list[Step], step: Step) -> bool:
    last = group[-1].offer
    if not isinstance(step.offer, MapOffer) or not isinstance(last, MapOffer):
        return False
    made = {key.name for member in group for key in member.writes}
    others = {key.name for key in (*step.offer.needs, *step.offer.wants)}
    return last.gives.name == step.offer.over.name and not made & others
