"""Resolve pipelines: a list of stages and loops, or changes to another pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from leadline.display import choose_from
from leadline.errors import ConfigError
from leadline.settings import Loop, PipelineSettings

Stages = tuple[str, ...]
Steps = tuple[str | Loop, ...]


def resolve(pipelines: Mapping[str, PipelineSettings], name: str, seen: tuple[str, ...] = ()) -> Steps:
    """Return the steps of a pipeline with its changes applied. Raises `ConfigError`."""
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
        raise ConfigError(f"pipelines.{name}: has no stages: set `stages` or `extends`")
    return _edited(own, name, steps)


def stage_names(steps: Iterable[str | Loop]) -> Stages:
    """Return the names of all stages, including those of loops."""
    return tuple(name for step in steps for name in ((step,) if isinstance(step, str) else step.loop))


def keys_of_stages(pipelines: Mapping[str, PipelineSettings], name: str) -> dict[str, str]:
    """Return the key of the settings that has the name of each stage, for a pipeline that resolves."""
    own = pipelines[name]
    found = dict.fromkeys(stage_names(own.stages), f"pipelines.{name}.stages")
    if own.extends:
        found = keys_of_stages(pipelines, own.extends)
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
    """Return the steps in place of one; a loop without stages is removed."""
    if isinstance(step, str):
        return changes.get(step, (step,))
    inner = tuple(name for stage in step.loop for name in changes.get(stage, (stage,)))
    return (step.model_copy(update={"loop": inner}),) if inner else ()
