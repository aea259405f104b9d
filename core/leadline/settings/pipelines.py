"""Pipelines in the settings: a list of stages with one loop form, or another pipeline and what differs from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from leadline.errors import ConfigError
from leadline.nearest import choose_from
from leadline.settings.section import Section

Stages = tuple[str, ...]


class Loop(Section):
    """Stages that go round until one of them ends it, or `at_most` rounds are done."""

    loop: Annotated[Stages, Field(min_length=1, description="The stages of one round.")]
    at_most: int = Field(3, ge=1, description="Rounds at most.")


def _form(step: object) -> str:
    return "<stage>" if isinstance(step, str) else "<loop>"


Step = Annotated[Annotated[str, Tag("<stage>")] | Annotated[Loop, Tag("<loop>")], Discriminator(_form)]
Steps = tuple[str | Loop, ...]


class PipelineSettings(Section):
    """A pipeline: its own `stages`, or those of the one it `extends`; then the changes, in this order."""

    description: str = Field("", description="One line about it.")
    level: Literal["fast", "analytical", "agent"] = Field("agent", description="fast, analytical, agent.")
    extends: str = Field("", description="The pipeline it starts from.")
    stages: tuple[Step, ...] = Field((), description="Its stages, and one { loop = […], at_most = N }.")
    without: Stages = Field((), description="Stages left out.")
    replace: dict[str, Stages] = Field({}, description='Other stages in place of one: { write = ["mine"] }.')
    before: dict[str, Stages] = Field({}, description="Stages put before one.")
    after: dict[str, Stages] = Field({}, description="Stages put after one.")
    tools: Stages = Field((), description="Tools a model may call in it; empty: as in what it extends, else all.")


BUILT_IN: dict[str, PipelineSettings] = {
    "research": PipelineSettings(
        description="Plans, searches in rounds, and writes a report with checked citations.",
        stages=(
            "clarify",
            "plan",
            Loop(loop=("query", "search", "fetch", "extract", "digest", "review"), at_most=3),
            "analyze",
            "synthesize",
            "chart",
            "illustrate",
            "write",
            "verify",
            "audit",
            "export",
        ),
        tools=("respond", "web_search", "web_fetch", "code_execute"),
    )
}


def resolve(pipelines: Mapping[str, PipelineSettings], name: str, seen: tuple[str, ...] = ()) -> Steps:
    """Return the steps of a pipeline, its changes applied. Raises `ConfigError` where they cannot be."""
    if name not in pipelines:
        where = f"pipelines.{seen[-1]}.extends" if seen else "pipeline"
        raise ConfigError(f"{where}: there is no pipeline {name!r}: {choose_from(name, pipelines)}")
    if name in seen:
        raise ConfigError(f"pipelines.{name}.extends: goes in a circle: {' -> '.join((*seen, name))}")
    own = pipelines[name]
    if own.extends and own.stages:
        raise ConfigError(f"pipelines.{name}: has stages and extends {own.extends!r}: one of the two")
    steps = resolve(pipelines, own.extends, (*seen, name)) if own.extends else own.stages
    if not steps:
        raise ConfigError(f"pipelines.{name}: has no stages: give `stages`, or a pipeline it `extends`")
    return _edited(own, name, steps)


def allowed_tools(pipelines: Mapping[str, PipelineSettings], name: str) -> Stages:
    """Return the tools that a pipeline lets models call, its own or those of what it extends; none named: all."""
    own = pipelines[name]
    return own.tools or (allowed_tools(pipelines, own.extends) if own.extends else ())


def stage_names(steps: Iterable[str | Loop]) -> Stages:
    """Return the names of all stages, those of a loop in their place."""
    return tuple(name for step in steps for name in ((step,) if isinstance(step, str) else step.loop))


def written_at(pipelines: Mapping[str, PipelineSettings], name: str) -> dict[str, str]:
    """Return, by stage, the key of the settings under which a pipeline that resolves names it."""
    own = pipelines[name]
    found = dict.fromkeys(stage_names(own.stages), f"pipelines.{name}.stages")
    if own.extends:
        found = written_at(pipelines, own.extends)
    for edit, changes in (("replace", own.replace), ("before", own.before), ("after", own.after)):
        for stage, others in changes.items():
            found = dict.fromkeys(others, f"pipelines.{name}.{edit}.{stage}") | found
    return found


def _edited(own: PipelineSettings, name: str, steps: Steps) -> Steps:
    edits: Mapping[str, Mapping[str, Stages]] = {
        "without": dict.fromkeys(own.without, ()),
        "replace": own.replace,
        "before": {stage: (*others, stage) for stage, others in own.before.items()},
        "after": {stage: (stage, *others) for stage, others in own.after.items()},
    }
    for edit, changes in edits.items():
        known = stage_names(steps)
        for stage in changes:
            if stage not in known:
                raise ConfigError(f"pipelines.{name}.{edit}: has no stage {stage!r}: {choose_from(stage, known)}")
        steps = tuple(changed for step in steps for changed in _changed(step, changes))
    return steps


def _changed(step: str | Loop, changes: Mapping[str, Stages]) -> Iterable[Any]:
    """Return what stands in place of a step; a loop left with no stage goes."""
    if isinstance(step, str):
        return changes.get(step, (step,))
    inner = tuple(name for stage in step.loop for name in changes.get(stage, (stage,)))
    return (step.model_copy(update={"loop": inner}),) if inner else ()
