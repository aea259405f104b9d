"""Pipelines: a named order of stages, checked before anything is made or paid for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from leadline.errors import ConfigError
from leadline.findings import QUESTION, Key
from leadline.hookspecs import MapOffer, StageOffer
from leadline.nearest import choose_from
from leadline.settings.pipelines import Steps

StageKind: TypeAlias = StageOffer[Any] | MapOffer[Any]


@dataclass(frozen=True)
class Step:
    """A stage in its place: the name of its plugin, and what it offers."""

    name: str
    offer: StageKind

    @property
    def needs(self) -> tuple[Key[Any], ...]:
        """The keys that must be there before it runs."""
        over = (self.offer.over,) if isinstance(self.offer, MapOffer) else ()
        return (*over, *self.offer.needs)

    @property
    def reads(self) -> tuple[Key[Any], ...]:
        """All the keys it may read."""
        return (*self.needs, *self.offer.wants)

    @property
    def gives(self) -> tuple[Key[Any], ...]:
        """The keys that are there after it ran."""
        return (self.offer.gives,) if isinstance(self.offer, MapOffer) else self.offer.gives

    @property
    def writes(self) -> tuple[Key[Any], ...]:
        """All the keys it may write."""
        return (*self.gives, *self.offer.may_give)


@dataclass(frozen=True)
class Loop:
    """Stages gone through in rounds, until one of them ends it or `at_most` rounds are done."""

    steps: tuple[Step, ...]
    at_most: int


@dataclass(frozen=True)
class Pipeline:
    """Stages in their order. `level` is `fast`, `analytical` or `agent`; runs of level agent are retried."""

    name: str
    parts: tuple[Step | Loop, ...]
    level: str = "agent"

    def steps(self) -> Iterator[Step]:
        """Yield every step, those of loops in their place."""
        for part in self.parts:
            yield from part.steps if isinstance(part, Loop) else (part,)


def assemble(name: str, layout: Steps, stages: Mapping[str, StageKind], level: str = "agent") -> Pipeline:
    """Build a pipeline from its layout: stage names, and loops.

    Raises `ConfigError` where it could not work.
    """
    parts: list[Step | Loop] = []
    for part in layout:
        if isinstance(part, str):
            parts.append(Step(part, stages[part]))
        else:
            parts.append(Loop(tuple(Step(inner, stages[inner]) for inner in part.loop), part.at_most))
    pipeline = Pipeline(name, tuple(parts), level)
    check(pipeline)
    return pipeline


def check(pipeline: Pipeline) -> None:
    """Raise `ConfigError` where a stage needs what no earlier stage gives, or a loop could not end."""
    known = _Known(pipeline, {QUESTION.name: QUESTION}, {QUESTION.name: "the run"})
    if not pipeline.parts:
        raise ConfigError(f"pipeline '{pipeline.name}' has no stages (pipelines.{pipeline.name}.stages)")
    for part in pipeline.parts:
        if isinstance(part, Loop):
            _check_loop(pipeline, part)
        for step in part.steps if isinstance(part, Loop) else (part,):
            known.pass_through(step)


def _check_loop(pipeline: Pipeline, loop: Loop) -> None:
    where = f"pipeline '{pipeline.name}': the loop of {', '.join(step.name for step in loop.steps) or 'nothing'}"
    if not loop.steps:
        raise ConfigError(f"{where} has no stages")
    if loop.at_most < 1:
        raise ConfigError(f"{where} has at_most = {loop.at_most}; it must be at least 1")
    if loop.at_most > 1 and not any(getattr(step.offer, "ends_loop", False) for step in loop.steps):
        raise ConfigError(f"{where} has no stage that can end it; add one (`review`), or set at_most = 1")


@dataclass
class _Known:
    """What is there at a place of the pipeline, and who gave it."""

    pipeline: Pipeline
    keys: dict[str, Key[Any]]
    givers: dict[str, str]
    maybe: dict[str, str] = field(default_factory=dict)

    def pass_through(self, step: Step) -> None:
        for key in step.needs:
            self._check_need(step, key)
        reads = {key.name for key in step.reads}
        for key in step.gives:
            self._check_give(step, key, reads)
            self.keys[key.name], self.givers[key.name] = key, step.name
        self.maybe.update({key.name: step.name for key in step.offer.may_give})

    def _check_need(self, step: Step, key: Key[Any]) -> None:
        there = self.keys.get(key.name)
        if there is None:
            raise ConfigError(
                f"pipeline '{self.pipeline.name}': stage '{step.name}' needs '{key.name}', "
                f"which no earlier stage gives{self._hint(step, key)}"
            )
        if there.type is not key.type:
            raise ConfigError(
                f"pipeline '{self.pipeline.name}': stage '{step.name}' needs '{key.name}' as {key.type.__name__}, "
                f"but {self.givers[key.name]} gives it as {there.type.__name__}"
            )

    def _hint(self, step: Step, key: Key[Any]) -> str:
        if key.name in self.maybe:
            return f"; '{self.maybe[key.name]}' may give it, but need not"
        later = [other.name for other in self.pipeline.steps() if key in other.writes and other.name != step.name]
        if later:
            return f"; '{later[0]}' gives it, but stands later"
        return f". There at this point: {choose_from(key.name, self.keys)}"

    def _check_give(self, step: Step, key: Key[Any], reads: set[str]) -> None:
        giver = self.givers.get(key.name)
        if giver is None or giver == step.name or key.grows or key.name in reads:
            return
        raise ConfigError(
            f"pipeline '{self.pipeline.name}': stage '{step.name}' would overwrite '{key.name}' of '{giver}' unread; "
            f"leave one of the two out"
        )


def rounds(pipeline: Pipeline) -> int:
    """Return how many rounds the pipeline makes at most."""
    return max((part.at_most for part in pipeline.parts if isinstance(part, Loop)), default=1)
