"""Pipelines: named sequences of stages, checked before anything is created or paid for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from leadline import settings
from leadline.display import nearest
from leadline.errors import ConfigError
from leadline.findings import Key
from leadline.hookspecs import map_stage, stage
from leadline.research_findings import QUESTION, SOURCES

StageKind: TypeAlias = stage | map_stage


# Stages and loops as the settings describe them.
Layout: TypeAlias = Sequence[str | settings.Loop]


@dataclass(frozen=True)
class Step:
    """A stage in a pipeline: the name of its plugin and its offer."""

    name: str
    offer: StageKind

    @property
    def needs(self) -> tuple[Key[Any], ...]:
        """The keys that must exist before the stage."""
        over = (self.offer.over,) if isinstance(self.offer, map_stage) else ()
        return (*over, *self.offer.needs)

    @property
    def reads(self) -> tuple[Key[Any], ...]:
        """All keys that the stage may read."""
        return (*self.needs, *self.offer.wants, *self.only_with)

    @property
    def only_with(self) -> tuple[Key[Any], ...]:
        """The keys without which the run leaves the stage out."""
        return self.offer.only_with if isinstance(self.offer, stage) else ()

    @property
    def gives(self) -> tuple[Key[Any], ...]:
        """The keys that exist after the stage."""
        return (self.offer.gives,) if isinstance(self.offer, map_stage) else self.offer.gives

    @property
    def writes(self) -> tuple[Key[Any], ...]:
        """All keys that the stage may write."""
        return (*self.gives, *self.offer.may_give)

    @property
    def changes(self) -> Key[Any] | None:
        """The key whose items the stage replaces by its results: a map stage over a key that gives the same key."""
        same = isinstance(self.offer, map_stage) and self.offer.over.name == self.offer.gives.name
        return self.gives[0] if same else None

    @property
    def closing(self) -> bool:
        """True if the stage finishes the report, so that a part of the budget is reserved for it."""
        return isinstance(self.offer, stage) and self.offer.closing


@dataclass(frozen=True)
class Loop:
    """Stages that repeat until one of them ends the loop or `at_most` rounds are complete."""

    steps: tuple[Step, ...]
    at_most: int


@dataclass(frozen=True)
class Pipeline:
    """Stages in order. `level` is `fast`, `analytical` or `agent`; runs of level `agent` are retried."""

    name: str
    parts: tuple[Step | Loop, ...]
    level: str = "agent"

    def steps(self) -> Iterator[Step]:
        """Yield every step, including those of loops."""
        for part in self.parts:
            yield from part.steps if isinstance(part, Loop) else (part,)

    def for_run(self, given: Collection[str]) -> Pipeline:
        """Return the pipeline of a run that has these of the findings that only some runs have from the start."""
        parts: list[Step | Loop] = []
        for part in self.parts:
            steps = part.steps if isinstance(part, Loop) else (part,)
            chosen = tuple(step for step in steps if all(key.name in given for key in step.only_with))
            if isinstance(part, Step):
                parts += chosen
            elif chosen:
                parts.append(replace(part, steps=chosen))
        return replace(self, parts=tuple(parts))

    @property
    def finds_sources(self) -> bool:
        """True if a stage may find sources; the report of any other pipeline is complete without them."""
        return any(key.name == SOURCES.name for step in self.steps() for key in step.writes)

    def closing_stages(self) -> list[str]:
        """Return the names of the stages that finish the report, in their order."""
        return [step.name for step in self.steps() if step.closing]


def assemble(name: str, layout: Layout, stages: Mapping[str, StageKind], level: str = "agent") -> Pipeline:
    """Build a pipeline from its layout of stage names and loops. Raises `ConfigError` if it cannot work."""
    pipeline = _built(name, layout, stages, level)
    check(pipeline)
    return pipeline


def check(pipeline: Pipeline) -> None:
    """Raise `ConfigError` with all faults."""
    if faults := dict.fromkeys(_faults(pipeline, dict)):
        raise ConfigError("\n".join(faults))


def _built(name: str, layout: Layout, stages: Mapping[str, StageKind], level: str = "agent") -> Pipeline:
    def step(stage: str) -> Step:
        return Step(stage, stages.get(stage, _UNKNOWN))

    parts = (
        step(part) if isinstance(part, str) else Loop(tuple(map(step, part.loop)), part.at_most) for part in layout
    )
    return Pipeline(name, tuple(parts), level)


def faults_of(
    name: str,
    layout: Layout,
    stages: Mapping[str, StageKind],
    others: Callable[[], Mapping[str, StageKind]] = dict,
) -> list[str]:
    """Return all faults of a pipeline: a missing finding, a loop that cannot end, changes that come too late.

    A stage that is not among `stages` has faults of its own: it is assumed to give what later stages need. `others`
    returns further stages, which messages suggest.
    """
    return list(dict.fromkeys(_faults(_built(name, layout, stages), others)))


# Stands for a stage that is not installed, or whose plugin is broken.
_UNKNOWN = stage("")


def _faults(pipeline: Pipeline, others: Callable[[], Mapping[str, StageKind]]) -> Iterator[str]:
    known = _Known(pipeline, others, {QUESTION.name: QUESTION}, {QUESTION.name: "the run"})
    if not pipeline.parts:
        yield f"pipeline '{pipeline.name}' has no stages (pipelines.{pipeline.name}.stages)"
    counts = Counter(step.name for step in pipeline.steps())
    for name in (name for name, count in counts.items() if count > 1):
        yield (
            f"pipeline '{pipeline.name}': stage '{name}' occurs {counts[name]} times; repeat it in a loop, or give the "
            f'second one a name of its own: [plugins.NAME] use = "{name}"'
        )
    for part in pipeline.parts:
        if isinstance(part, Loop):
            yield from _loop_faults(pipeline, part)
        for step in part.steps if isinstance(part, Loop) else (part,):
            yield from known.pass_through(step)
    for step in pipeline.steps():
        if step.changes:
            yield from _late_changes(pipeline, step, step.changes)


def _late_changes(pipeline: Pipeline, changing: Step, key: Key[Any]) -> Iterator[str]:
    """Yield a fault for changes that come too late: what another stage made of the unchanged items would stay."""
    giver = user = ""
    for part in pipeline.parts:
        # Two rounds of a loop: a stage may use items of the first round that are changed in the second.
        for step in part.steps * min(2, part.at_most) if isinstance(part, Loop) else (part,):
            if step is changing:
                if user:
                    yield (
                        f"pipeline '{pipeline.name}': stage '{changing.name}' changes '{key.name}', but by then "
                        f"'{user}' has used it unchanged; put '{changing.name}' directly after '{giver}'"
                    )
                    return
                giver = ""
            elif step.changes and step.changes.name == key.name:
                continue  # what another stage changes are no new items
            elif step.only_with:
                continue  # what it gives was changed by the run that it comes from
            elif any(written.name == key.name for written in step.writes):
                giver = step.name
            elif giver and any(read.name == key.name for read in step.reads):
                user = user or step.name


def _loop_faults(pipeline: Pipeline, loop: Loop) -> Iterator[str]:
    where = f"pipeline '{pipeline.name}': the loop of {', '.join(step.name for step in loop.steps) or 'nothing'}"
    may_end = any(step.offer is _UNKNOWN or getattr(step.offer, "ends_loop", False) for step in loop.steps)
    if not loop.steps:
        yield f"{where} has no stages"
    elif loop.at_most < 1:
        yield f"{where} has at_most = {loop.at_most}; it must be at least 1"
    elif loop.at_most > 1 and not may_end:
        yield f"{where} has no stage that can end it; add one, such as `review`, or set at_most = 1"


@dataclass
class _Known:
    """The findings that exist at a point of the pipeline, and the stages that gave them.

    `complete` is false after an unknown stage.
    """

    pipeline: Pipeline
    others: Callable[[], Mapping[str, StageKind]]
    keys: dict[str, Key[Any]]
    givers: dict[str, str]
    maybe: dict[str, str] = field(default_factory=dict)
    complete: bool = True

    def pass_through(self, step: Step) -> Iterator[str]:
        """Add what a stage gives, and yield its faults; a finding that is missing is reported once."""
        self.complete = self.complete and step.offer is not _UNKNOWN
        missing = {key.name for key in step.needs} - self.keys.keys()
        for key in step.needs:
            yield from self._need_faults(step, key)
            self.keys.setdefault(key.name, key)
        reads = {key.name for key in step.reads}
        for key in step.gives:
            yield from self._give_faults(step, key, reads)
            self.keys[key.name] = key
            if key.name not in missing:  # else it is the one that comes too early
                self.givers[key.name] = step.name
        self.maybe.update({key.name: step.name for key in step.offer.may_give})

    def _need_faults(self, step: Step, key: Key[Any]) -> Iterator[str]:
        there = self.keys.get(key.name)
        if there is None and self.complete:
            yield (
                f"pipeline '{self.pipeline.name}': stage '{step.name}' needs '{key.name}', "
                f"which no earlier stage gives{self._hint(step, key)}"
            )
        elif there is not None and there.type is not key.type:
            giver = self.givers.get(key.name, "an earlier stage")
            yield (
                f"pipeline '{self.pipeline.name}': stage '{step.name}' needs '{key.name}' as {key.type.__name__}, "
                f"but {giver} gives it as {there.type.__name__}"
            )

    def _hint(self, step: Step, key: Key[Any]) -> str:
        if key.name in self.maybe:
            return f"; '{self.maybe[key.name]}' gives it only sometimes"
        later = [other.name for other in self.pipeline.steps() if key in other.writes and other.name != step.name]
        if later:
            return f"; '{later[0]}' gives it, but runs later"
        steps = (Step(name, offer) for name, offer in self.others().items())
        givers = sorted(other.name for other in steps if key in other.gives and key not in other.needs)
        if givers:
            return f"; put a stage before it that does: {', '.join(givers)}"
        near = nearest(key.name, self.keys)
        meant = f"did you mean {near!r}? " if near else ""
        return f"; {meant}there are only: {', '.join(sorted(self.keys))}"

    def _give_faults(self, step: Step, key: Key[Any], reads: set[str]) -> Iterator[str]:
        giver = self.givers.get(key.name)
        if giver is None or giver == step.name or key.grows or key.name in reads:
            return
        yield (
            f"pipeline '{self.pipeline.name}': stage '{step.name}' would overwrite '{key.name}' of '{giver}' unread; "
            f"leave one of the two out"
        )


def rounds(pipeline: Pipeline) -> int:
    """Return the maximum number of rounds of the pipeline."""
    return max((part.at_most for part in pipeline.parts if isinstance(part, Loop)), default=1)
