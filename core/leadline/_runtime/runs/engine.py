"""The engine walks a pipeline: stages side by side where possible, map stages item by item, and the loop.

The findings of the run are on its board; each stage has a view of those that it declared.

A stage starts when all earlier stages have ended that write its inputs or read its outputs. Adjacent map stages, where
one gives the items of the next, form a group: each item passes through the whole group as soon as it can. Results are
merged in the order of the items and not of their arrival, so that a second run of a question is the same run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Any

from leadline._runtime.runs.findings_board import FindingsBoard, StageFindings, misfit
from leadline._runtime.runs.run import Run
from leadline._runtime.task_groups import bare_task_group
from leadline.errors import CallRefused, PluginFault
from leadline.findings import Key
from leadline.hookspecs import map_stage
from leadline.pipeline import Loop, Step

# The path component of the outputs of `rest`: it sorts them after those of all items.
_REST = 1 << 31


async def walk(run: Run, only: Sequence[Step] = ()) -> None:
    """Run all stages of the pipeline, or `only` some. An error of a stage ends the run, a refused call loses it."""
    for _, parts in groupby(only or run.pipeline.parts, lambda part: isinstance(part, Loop)):
        section = list(parts)
        await _run_steps(run, [part for part in section if isinstance(part, Step)])
        for loop in (part for part in section if isinstance(part, Loop)):
            for number in range(1, loop.at_most + 1):
                # The first round runs even in a shutdown: calls in flight and free work may suffice for a report.
                if number > 1 and await run.shuts_down_before(number):
                    break
                run.board.rounds, run.rounds_left = number, loop.at_most - number
                lost = len(run.board.lost)
                if await _run_steps(run, loop.steps) or len(run.board.lost) > lost:
                    break
            run.rounds_left = 0


async def _run_steps(run: Run, steps: Sequence[Step]) -> bool:
    """Run steps, each group as soon as its dependencies allow; return whether one ended the loop."""
    started: list[tuple[list[Step], asyncio.Task[bool]]] = []
    async with bare_task_group() as tasks:
        for group in _groups(steps):
            dependencies = [task for earlier, task in started if _depends(group, earlier)]
            started.append((group, tasks.create_task(_run_after(run, dependencies, group))))
    return any(task.result() for _, task in started)


async def _run_after(run: Run, dependencies: Sequence[asyncio.Task[bool]], group: list[Step]) -> bool:
    if dependencies:
        await asyncio.wait(dependencies)
    board = run.board
    missing = next((key for key in group[0].needs if not board.has(key)), None)
    if missing is not None and missing.grows and not board.lost:  # nothing to do, because nothing was found
        for step in group:
            await run.report_progress(step.name, "finished", {"round": board.rounds, "idle": True})
        return False
    if missing is not None:
        await _lose(run, group, f"'{missing.name}' is missing")
        return False
    for step in group:
        await run.report_progress(step.name, "started", {"round": board.rounds})
    try:
        if isinstance(group[0].offer, map_stage):
            await _run_map_group(run, group)
            return False
        return await _run_stage(run, group[0])
    except CallRefused as refused:
        await _lose(run, group, refused.record.message)
        return False


async def _lose(run: Run, group: Sequence[Step], reason: str) -> None:
    for step in group:
        run.board.lost.setdefault(step.name, reason)
        await run.report_progress(step.name, "failed", {"reason": reason})


async def _run_stage(run: Run, step: Step) -> bool:
    ends_loop = getattr(step.offer, "ends_loop", False)
    findings = StageFindings(step.name, run.board, step.reads, step.writes, ends_loop=ends_loop)
    stage = await run.stage(step)
    with run.in_stage(step):
        await stage.run(findings, run)
    await _merge(run, step, findings.patch, findings.loop_ended or "")
    for key in step.gives:
        if not key.grows and not run.board.has(key):
            raise PluginFault(
                f"stage '{step.name}' set no '{key.name}', which its offer gives; a stage that may leave a finding "
                "out declares it in may_give"
            )
    return findings.loop_ended is not None


async def _run_map_group(run: Run, steps: list[Step]) -> None:
    """Pass the items of each stage through it and through those after it; then merge their outputs."""
    # Map stages see the findings as of now: what other items add must not depend on timing.
    group = MapGroup([MapLevel(step, await run.stage(step)) for step in steps], run.board.snapshot(), run)
    items = [_untaken(run.board, step, before) for before, step in zip((None, *steps), steps, strict=False)]
    async with bare_task_group() as tasks:
        for depth, given in enumerate(items):
            # Before the items that the level above gives: those were there first.
            path = (-1,) if depth else ()
            group.start(tasks, depth, {(*path, index): item for index, item in enumerate(given)})
        for depth, level in enumerate(group.levels):
            # A task starts those of the next level before it ends; so when a level is done, the next is complete.
            if left := [*level.tasks, *group.start_rest(tasks, depth)]:
                await asyncio.wait(left)
    for level in group.levels:
        # In the order of the items, whatever the order of their arrival.
        outputs, step = [level.outputs[path] for path in sorted(level.outputs)], level.step
        patch = {key: tuple(item for item in outputs if isinstance(item, key.type)) for key in step.writes}
        # All items by now are mapped: those that were there, and those that the stage before in the group gave.
        mapped = len(run.board.get(step.needs[0]))
        await _merge(run, step, patch)
        run.board.taken[step.name] = len(run.board.get(step.changes)) if step.changes else mapped


def _untaken(board: FindingsBoard, step: Step, before: Step | None) -> tuple[Any, ...]:
    """Return the items that a map stage has not processed, without those that the stage `before` it will change."""
    end = board.taken.get(before.name, 0) if before and before.changes else None
    items: tuple[Any, ...] = board.get(step.needs[0])[board.taken.get(step.name, 0) : end]
    return items


async def _merge(run: Run, step: Step, patch: dict[Key[Any], Any], loop_end: str = "") -> None:
    """Merge the findings of a stage into the board, and report how many items the growing keys gained.

    A stage whose findings change nothing was idle. One that writes none has an effect elsewhere. `loop_end` is the
    reason why no further round follows.
    """
    board, gained, idle = run.board, dict[str, int](), bool(step.writes)
    for key, value in patch.items():
        # Items with known ids are skipped, so the gain may be less than the number of items.
        earlier = board.get(key)
        before = len(earlier) if key.grows else 0
        if step.changes and key.name == step.changes.name:
            board.replace(key, board.taken.get(step.name, 0), value)
        else:
            # The stage has read the key, so it means to change the item, which would be dropped.
            is_read = key.grows and any(read.name == key.name for read in step.reads)
            if is_read and (item := board.changed(key, value)) is not None:
                raise PluginFault(
                    f"stage '{step.name}' changes the item {item.id!r} of '{key.name}', which only a map stage with "
                    f"over and gives of this key may do: @map_stage(…, over=…, gives=…); others add items with new ids"
                )
            board.put(key, value)
        if key.file:
            await run.save_finding(key, board.get(key))
        if key.grows:
            gained[key.name] = len(board.get(key)) - before
        idle = idle and board.get(key) == earlier
    note = ({"idle": True} if idle else {}) | ({"loop_end": loop_end} if loop_end else {})
    await run.report_progress(step.name, "finished", {"round": board.rounds, **gained, **note})


@dataclass
class MapLevel:
    """One map stage of a group. Items and outputs are stored by path: `(0, 2)` is the third output of item 0."""

    step: Step
    stage: Any
    items: dict[tuple[int, ...], Any] = field(default_factory=dict)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    outputs: dict[tuple[int, ...], Any] = field(default_factory=dict)


@dataclass
class MapGroup:
    """Items passing through adjacent map stages, which see the findings of `board`."""

    levels: list[MapLevel]
    board: FindingsBoard
    run: Run

    def start(self, tasks: asyncio.TaskGroup, depth: int, items: dict[tuple[int, ...], Any]) -> None:
        if depth == len(self.levels):
            return
        level = self.levels[depth]
        level.items.update(items)
        for path, item in items.items():
            level.tasks.append(
                tasks.create_task(self._map(tasks, depth, path, partial(level.stage.map, item), (item,)))
            )

    def start_rest(self, tasks: asyncio.TaskGroup, depth: int) -> list[asyncio.Task[None]]:
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
                outputs = tuple(await call(findings, self.run))
        except CallRefused as refused:
            # Only this item is lost: the others can still be written up.
            self.run.board.lost.setdefault(level.step.name, refused.record.message)
            return
        _check_outputs(level.step, outputs, given)
        by_path = {(*path, index): output for index, output in enumerate(outputs)}
        level.outputs.update(by_path)
        passed = level.step.gives[0].type
        self.start(tasks, depth + 1, {path: output for path, output in by_path.items() if isinstance(output, passed)})


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
