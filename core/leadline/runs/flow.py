"""Items going down a row of map stages: each as soon as it can, and together only where a stage must see them all."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from leadline.concurrency.tasking import bare_task_group
from leadline.errors import CallRefused, PluginFault
from leadline.pipeline import Step
from leadline.runs.board import Board, View


@dataclass
class Level:
    """One map stage of a fused group. Items and outputs stand by path: `(0, 2)` is the third output of the first."""

    step: Step
    stage: Any
    items: dict[tuple[int, ...], Any] = field(default_factory=dict)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    outputs: dict[tuple[int, ...], Any] = field(default_factory=dict)

    def in_order(self) -> tuple[Any, ...]:
        """Return the outputs in the order of the items, whatever the order in which they came."""
        return tuple(self.outputs[path] for path in sorted(self.outputs))


_REST = 1 << 31
"""Where the outputs of `rest` stand in a path: behind those of all items."""


@dataclass
class Flow:
    """Items going down a fused group, each as soon as it can."""

    levels: list[Level]
    board: Board
    run: Any
    inside: Callable[[Step], AbstractContextManager[None]]
    """Counts what happens inside to a stage."""
    lost: dict[str, str]
    """The stages that gave nothing, with the reason; added to."""

    async def go(self, items: Sequence[Any]) -> None:
        """Send the items through all levels."""
        async with bare_task_group() as group:
            self._start(group, 0, {(index,): item for index, item in enumerate(items)})
            for depth, level in enumerate(self.levels):
                # A mapping starts the next level's before it ends: so once a level is done, the next is complete.
                rest = group.create_task(self._rest(group, depth))
                await asyncio.wait({*level.tasks, rest})

    def _start(self, group: asyncio.TaskGroup, depth: int, items: dict[tuple[int, ...], Any]) -> None:
        if depth == len(self.levels):
            return
        level = self.levels[depth]
        level.items.update(items)
        level.tasks.extend(group.create_task(self._map(group, depth, path)) for path in items)

    async def _map(self, group: asyncio.TaskGroup, depth: int, path: tuple[int, ...]) -> None:
        level = self.levels[depth]
        outputs = await self._ask(level, partial(level.stage.map, level.items[path]))
        self._pass_on(group, depth, path, outputs)

    async def _rest(self, group: asyncio.TaskGroup, depth: int) -> None:
        level = self.levels[depth]
        if not hasattr(level.stage, "rest"):
            return
        items = tuple(level.items[path] for path in sorted(level.items))
        outputs = await self._ask(level, partial(level.stage.rest, items))
        self._pass_on(group, depth, (_REST + depth,), outputs)

    def _pass_on(self, group: asyncio.TaskGroup, depth: int, path: tuple[int, ...], outputs: Sequence[Any]) -> None:
        level = self.levels[depth]
        made = {(*path, index): output for index, output in enumerate(outputs)}
        level.outputs.update(made)
        kind = level.step.gives[0].type
        self._start(group, depth + 1, {place: output for place, output in made.items() if isinstance(output, kind)})

    async def _ask(self, level: Level, call: Callable[..., Awaitable[Sequence[Any]]]) -> Sequence[Any]:
        view = View(level.step.name, self.board, level.step.reads, ())
        try:
            with self.inside(level.step):
                outputs = tuple(await call(view, self.run))
        except CallRefused as refused:
            # The item is lost, its siblings are not: what is found so far can still be written up.
            self.lost.setdefault(level.step.name, refused.record.message)
            return ()
        _check_outputs(level.step, outputs)
        return outputs


def _check_outputs(step: Step, outputs: Sequence[Any]) -> None:
    kinds = tuple(key.type for key in step.writes)
    for output in outputs:
        if not isinstance(output, kinds):
            names = ", ".join(kind.__name__ for kind in kinds)
            raise PluginFault(f"stage '{step.name}' returned a {type(output).__name__}, but its offer gives: {names}")
