"""The engine walks a pipeline: stages side by side where possible, map stages item by item, and the loop.

The findings of the run are on its board; each stage has a view of those that it declared.

A stage starts when all earlier stages have ended that write its inputs or read its outputs. Adjacent map stages, where
one gives the items of the next, form a group: each item passes through the whole group as soon as it can. Results are
merged in the order of the items and not of their arrival, so that a second run of a question is the same run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Any

from leadline._runtime.runs.run_context import RunContext
from leadline._runtime.task_groups import bare_task_group, contain
from leadline.errors import CallRefused, PluginFault
from leadline.findings import Key
from leadline.hookspecs import map_stage
from leadline.pipeline import Loop, Pipeline, Step
from leadline.records import Document


class FindingsBoard:
    """All findings of a run by key. Only the engine merges into it, between stages."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}

    def has(self, key: Key[Any]) -> bool:
        """Return whether the key has a value; a growing key needs at least one item."""
        return bool(self._values.get(key.name)) if key.grows else key.name in self._values

    def get(self, key: Key[Any]) -> Any:
        """Return the value of a key; without one None, or the empty tuple for a growing key."""
        return self._values.get(key.name, () if key.grows else None)

    def put(self, key: Key[Any], value: Any) -> None:
        """Set a finding. Items of a growing key are appended; ids that it has already are skipped."""
        if key.grows:
            value = _appended(self.get(key), value)
        self._values[key.name] = value

    def replace(self, key: Key[Any], start: int, items: Iterable[Any]) -> None:
        """Replace the items of a growing key from the place `start` on."""
        self._values[key.name] = _appended(self.get(key)[:start], items)

    def changed(self, key: Key[Any], items: Iterable[Any]) -> Any:
        """Return the first item that differs from the one of the same id; None if there is none."""
        known = {item.id: item for item in self.get(key) if hasattr(item, "id")}
        return next((item for item in items if known.get(getattr(item, "id", None), item) != item), None)

    def snapshot(self) -> FindingsBoard:
        """Return a copy that later merges do not change; the findings are frozen and shared."""
        copy = FindingsBoard()
        copy._values = dict(self._values)
        return copy


def _appended(items: tuple[Any, ...], new: Iterable[Any]) -> tuple[Any, ...]:
    known = {item.id for item in items if hasattr(item, "id")}
    fresh = []
    for item in new:
        item_id = getattr(item, "id", None)
        if item_id is None or item_id not in known:
            fresh.append(item)
            known.add(item_id)
    return (*items, *fresh)


class StageFindings:
    """The findings that a stage declared (`leadline.findings.Findings`); its writes go into `patch`."""

    def __init__(
        self,
        stage: str,
        board: FindingsBoard,
        reads: Iterable[Key[Any]],
        writes: Iterable[Key[Any]],
        *,
        ends_loop: bool = True,
    ) -> None:
        self._stage = stage
        self._board = board
        self._reads = {key.name for key in reads}
        self._writes = {key.name: key for key in writes}
        self.patch: dict[Key[Any], Any] = {}
        self.loop_ended: str | None = None
        self._ends_loop = ends_loop

    def __getitem__(self, key: Key[Any], /) -> Any:
        self._check_read(key)
        if not key.grows and not self._board.has(key):
            raise PluginFault(f"stage '{self._stage}' reads '{key.name}', which has no value; use findings.get()")
        return self._board.get(key)

    def get(self, key: Key[Any], /) -> Any:
        """Return the finding, or None."""
        self._check_read(key)
        return self._board.get(key)

    def __setitem__(self, key: Key[Any], value: Any, /) -> None:
        if key.name not in self._writes:
            raise PluginFault(
                f"stage '{self._stage}' writes '{key.name}', but its offer gives only: {_joined(self._writes)}"
            )
        items = tuple(value) if key.grows else (value,)
        for item in items:
            if not isinstance(item, key.type):
                raise PluginFault(
                    f"stage '{self._stage}' writes a {type(item).__name__} to '{key.name}', "
                    f"which holds {key.type.__name__}"
                )
            if fault := misfit(item):
                raise PluginFault(f"stage '{self._stage}' writes to '{key.name}' {fault}")
        self.patch[key] = items if key.grows else value

    def end_loop(self, reason: str, /) -> None:
        """End the loop after this round."""
        if not self._ends_loop:
            raise PluginFault(f"stage '{self._stage}' ends the loop, but its offer does not declare ends_loop=True")
        self.loop_ended = reason

    def _check_read(self, key: Key[Any]) -> None:
        if key.name not in self._reads:
            raise PluginFault(
                f"stage '{self._stage}' reads '{key.name}', but its offer needs and wants only: {_joined(self._reads)}"
            )


def misfit(item: Any, before: Iterable[Any] = ()) -> str:
    """Return why the blocks of an item's document do not fit its text; empty if they do, or it has no document.

    `before` are the items that the stage was given; the one of the same id had the old text.
    """
    document = getattr(item, "document", None)
    if not isinstance(document, Document):
        return ""
    item_id = getattr(item, "id", None)
    given = next((one for one in before if getattr(one, "id", None) == item_id), None)
    old = getattr(given, "document", None)
    fault = document.misfit(old if isinstance(old, Document) else None)
    return f"'{item_id}', whose document is wrong: {fault}" if fault else ""


def _joined(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"


# The path component of the outputs of `rest`: it sorts them after those of all items.
_REST = 1 << 31


@dataclass
class Engine:
    """One pass of a run through its pipeline. `lost` maps each stage that produced nothing to the reason."""

    pipeline: Pipeline
    run: RunContext
    board: FindingsBoard = field(default_factory=FindingsBoard)
    lost: dict[str, str] = field(default_factory=dict)
    rounds: int = 0
    # Items of its `over` key that each map stage has taken so far.
    _taken: dict[str, int] = field(default_factory=dict)

    async def walk(self, only: Sequence[Step] = ()) -> None:
        """Run all stages, or `only` some. An error of a stage ends the run; a refused call only loses the stage."""
        for _, parts in groupby(only or self.pipeline.parts, lambda part: isinstance(part, Loop)):
            section = list(parts)
            await self._run_steps([part for part in section if isinstance(part, Step)])
            for loop in (part for part in section if isinstance(part, Loop)):
                await self._run_loop(loop)

    async def _run_loop(self, loop: Loop) -> None:
        for number in range(1, loop.at_most + 1):
            # The first round runs even in a shutdown: calls in flight and free work may suffice for a report.
            if number > 1 and await self.run.shuts_down_before(number):
                break
            self.rounds, self.run.rounds_left = number, loop.at_most - number
            lost = len(self.lost)
            if await self._run_steps(loop.steps) or len(self.lost) > lost:
                break
        self.run.rounds_left = 0

    async def _run_steps(self, steps: Sequence[Step]) -> bool:
        """Run steps, each group as soon as its dependencies allow; return whether one ended the loop."""
        started: list[tuple[list[Step], asyncio.Task[bool]]] = []
        async with bare_task_group() as tasks:
            for group in _groups(steps):
                dependencies = [task for earlier, task in started if _depends(group, earlier)]
                started.append((group, tasks.create_task(self._run_after(dependencies, group))))
        return any(task.result() for _, task in started)

    async def _run_after(self, dependencies: Sequence[asyncio.Task[bool]], group: list[Step]) -> bool:
        if dependencies:
            await asyncio.wait(dependencies)
        missing = next((key for key in group[0].needs if not self.board.has(key)), None)
        if missing is not None and not self._is_needless(missing):
            await self._lose(group, f"'{missing.name}' is missing")
            return False
        if missing is not None:
            for step in group:
                await self.run.report_progress(step.name, "finished", {"round": self.rounds, "idle": True})
            return False
        for step in group:
            await self.run.report_progress(step.name, "started", {"round": self.rounds})
        try:
            if isinstance(group[0].offer, map_stage):
                await self._run_map_group(group)
                return False
            return await self._run_stage(group[0])
        except CallRefused as refused:
            await self._lose(group, refused.record.message)
            return False

    def _is_needless(self, missing: Key[Any]) -> bool:
        """Return whether a stage has nothing to do without these items, because nothing was found."""
        return missing.grows and not self.lost

    async def _lose(self, group: Sequence[Step], reason: str) -> None:
        for step in group:
            self.lost.setdefault(step.name, reason)
            await self.run.report_progress(step.name, "failed", {"reason": reason})

    async def _run_stage(self, step: Step) -> bool:
        ends_loop = getattr(step.offer, "ends_loop", False)
        findings = StageFindings(step.name, self.board, step.reads, step.writes, ends_loop=ends_loop)
        stage = await self.run.stage(step)
        with self.run.in_stage(step):
            await contain(stage.run(findings, self.run))
        await self._merge(step, findings.patch, findings.loop_ended or "")
        for key in step.gives:
            if not key.grows and not self.board.has(key):
                raise PluginFault(
                    f"stage '{step.name}' set no '{key.name}', which its offer gives; a stage that may leave a finding "
                    "out declares it in may_give"
                )
        return findings.loop_ended is not None

    def _untaken(self, step: Step, before: Step | None) -> tuple[Any, ...]:
        """Return the items that a map stage has not processed, without those that the stage `before` it will change."""
        end = self._taken.get(before.name, 0) if before and before.changes else None
        items: tuple[Any, ...] = self.board.get(step.needs[0])[self._taken.get(step.name, 0) : end]
        return items

    async def _run_map_group(self, group: list[Step]) -> None:
        # Map stages see the findings as of now: what other items add must not depend on timing.
        levels = [MapLevel(step, await self.run.stage(step)) for step in group]
        items = [self._untaken(step, before) for before, step in zip((None, *group), group, strict=False)]
        await MapGroup(levels, self.board.snapshot(), self.run, self.lost).map_all(items)
        for level in levels:
            outputs, step = level.outputs_in_order(), level.step
            patch = {key: tuple(item for item in outputs if isinstance(item, key.type)) for key in step.writes}
            # All items by now are mapped: those that were there, and those that the stage before in the group gave.
            mapped = len(self.board.get(step.needs[0]))
            await self._merge(step, patch)
            self._taken[step.name] = len(self.board.get(step.changes)) if step.changes else mapped

    async def _merge(self, step: Step, patch: dict[Key[Any], Any], loop_end: str = "") -> None:
        """Merge the findings of a stage into the board, and report how many items the growing keys gained.

        A stage whose findings change nothing was idle. One that writes none has an effect elsewhere. `loop_end` is the
        reason why no further round follows.
        """
        gained: dict[str, int] = {}
        idle = bool(step.writes)
        for key, value in patch.items():
            # Items with known ids are skipped, so the gain may be less than the number of items.
            earlier = self.board.get(key)
            before = len(earlier) if key.grows else 0
            if step.changes and key.name == step.changes.name:
                self.board.replace(key, self._taken.get(step.name, 0), value)
            else:
                self._check_unchanged(step, key, value)
                self.board.put(key, value)
            if key.file:
                await self.run.save_finding(key, self.board.get(key))
            if key.grows:
                gained[key.name] = len(self.board.get(key)) - before
            idle = idle and self.board.get(key) == earlier
        note = ({"idle": True} if idle else {}) | ({"loop_end": loop_end} if loop_end else {})
        await self.run.report_progress(step.name, "finished", {"round": self.rounds, **gained, **note})

    def _check_unchanged(self, step: Step, key: Key[Any], value: Any) -> None:
        """Refuse changed items: the stage has read the key, so it means to change them, and they would be dropped."""
        if not key.grows or all(read.name != key.name for read in step.reads):
            return
        if (item := self.board.changed(key, value)) is not None:
            raise PluginFault(
                f"stage '{step.name}' changes the item {item.id!r} of '{key.name}', which only a map stage with "
                f"over and gives of this key may do: @map_stage(…, over=…, gives=…); others add items with new ids"
            )


@dataclass
class MapLevel:
    """One map stage of a group. Items and outputs are stored by path: `(0, 2)` is the third output of item 0."""

    step: Step
    stage: Any
    items: dict[tuple[int, ...], Any] = field(default_factory=dict)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    outputs: dict[tuple[int, ...], Any] = field(default_factory=dict)

    def outputs_in_order(self) -> tuple[Any, ...]:
        """Return the outputs in the order of the items, whatever the order of their arrival."""
        return tuple(self.outputs[path] for path in sorted(self.outputs))


@dataclass
class MapGroup:
    """Items passing through adjacent map stages; stages that lose an item are added to `lost` with the reason."""

    levels: list[MapLevel]
    board: FindingsBoard
    run: RunContext
    lost: dict[str, str]

    async def map_all(self, items: Sequence[Sequence[Any]]) -> None:
        """Pass the items of each level through it and through those after it."""
        async with bare_task_group() as tasks:
            for depth, given in enumerate(items):
                # Before the items that the level above gives: those were there first.
                path = (-1,) if depth else ()
                self._start(tasks, depth, {(*path, index): item for index, item in enumerate(given)})
            for depth, level in enumerate(self.levels):
                # A task starts those of the next level before it ends; so when a level is done, the next is complete.
                if left := [*level.tasks, *self._start_rest(tasks, depth)]:
                    await asyncio.wait(left)

    def _start(self, tasks: asyncio.TaskGroup, depth: int, items: dict[tuple[int, ...], Any]) -> None:
        if depth == len(self.levels):
            return
        level = self.levels[depth]
        level.items.update(items)
        for path, item in items.items():
            level.tasks.append(
                tasks.create_task(self._map(tasks, depth, path, partial(level.stage.map, item), (item,)))
            )

    def _start_rest(self, tasks: asyncio.TaskGroup, depth: int) -> list[asyncio.Task[None]]:
        """Start the stage's work after all of its items, if it has any."""
        level = self.levels[depth]
        if not hasattr(level.stage, "rest"):
            return []
        items = tuple(level.items[path] for path in sorted(level.items))
        work = self._map(tasks, depth, (_REST + depth,), partial(level.stage.rest, items), items)
        return [tasks.create_task(work)]

    async def _map(
        self,
        tasks: asyncio.TaskGroup,
        depth: int,
        path: tuple[int, ...],
        call: Callable[..., Awaitable[Sequence[Any]]],
        given: Sequence[Any],
    ) -> None:
        """Call a stage, check its outputs, and start the next stage with them."""
        level = self.levels[depth]
        findings = StageFindings(level.step.name, self.board, level.step.reads, ())
        try:
            with self.run.in_stage(level.step):
                outputs = tuple(await contain(call(findings, self.run)))
        except CallRefused as refused:
            # Only this item is lost: the others can still be written up.
            self.lost.setdefault(level.step.name, refused.record.message)
            return
        _check_outputs(level.step, outputs, given)
        by_path = {(*path, index): output for index, output in enumerate(outputs)}
        level.outputs.update(by_path)
        passed = level.step.gives[0].type
        self._start(tasks, depth + 1, {path: output for path, output in by_path.items() if isinstance(output, passed)})


def _check_outputs(step: Step, outputs: Sequence[Any], given: Sequence[Any]) -> None:
    """Raise `PluginFault` for outputs of a map stage that its offer does not give, or that do not fit the items."""
    types = tuple(key.type for key in step.writes)
    for output in outputs:
        if not isinstance(output, types):
            names = ", ".join(type_.__name__ for type_ in types)
            raise PluginFault(f"stage '{step.name}' returned a {type(output).__name__}, but its offer gives: {names}")
        if fault := misfit(output, given):
            raise PluginFault(f"stage '{step.name}' returned {fault}")


def _groups(steps: Sequence[Step]) -> Iterator[list[Step]]:
    """Split steps into single stages and groups of map stages."""
    group: list[Step] = []
    for step in steps:
        if group and not _joins(group, step):
            yield group
            group = []
        group.append(step)
    if group:
        yield group


def _joins(group: list[Step], step: Step) -> bool:
    """Return whether a map stage continues a group and reads nothing else that the group writes."""
    last = group[-1].offer
    if not isinstance(step.offer, map_stage) or not isinstance(last, map_stage):
        return False
    writes = {key.name for member in group for key in member.writes}
    reads = {key.name for key in (*step.offer.needs, *step.offer.wants)}
    return last.gives.name == step.offer.over.name and not writes & reads


def _depends(group: Sequence[Step], earlier: Sequence[Step]) -> bool:
    """Return whether a group must wait for an earlier one, because one of them writes a key that the other uses.

    A stage that writes no findings has an effect elsewhere, so it keeps its place in the order.
    """
    reads, writes = _keys(group)
    earlier_reads, earlier_writes = _keys(earlier)
    if not writes or not earlier_writes:
        return True
    return bool(writes & (earlier_reads | earlier_writes) or reads & earlier_writes)


def _keys(group: Sequence[Step]) -> tuple[set[str], set[str]]:
    """Return the names of the keys that a group reads and writes."""
    return ({key.name for step in group for key in step.reads}, {key.name for step in group for key in step.writes})
