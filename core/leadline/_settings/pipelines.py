"""Resolve pipelines: a list of stages and loops, or changes to another pipeline; and their settings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from leadline._settings.layers import Layer, Leaf, Shipped
from leadline._settings.schema import KeyPath
from leadline.display import choose_from
from leadline.errors import ConfigError
from leadline.settings import Loop, PipelineSettings

Stages = tuple[str, ...]
Steps = tuple[str | Loop, ...]
# The keys that choose and define pipelines: no pipeline sets them.
_NOT_OWN = ("pipeline", "pipelines")


class Fault(NamedTuple):
    """A fault of a pipeline at a key of the settings."""

    key: str
    text: str
    # The pipeline that does not exist, if that is the fault.
    missing: str = ""

    def __str__(self) -> str:
        return f"{self.key}: {self.text}"


def resolve(pipelines: Mapping[str, PipelineSettings], name: str) -> Steps:
    """Return the steps of a pipeline with its changes applied. Raises `ConfigError` with all its faults."""
    steps, faults = examine(pipelines, name)
    if faults:
        raise ConfigError("\n".join(map(str, faults)))
    return steps


def examine(
    pipelines: Mapping[str, PipelineSettings], name: str, seen: tuple[str, ...] = ()
) -> tuple[Steps, list[Fault]]:
    """Return the steps of a pipeline as far as they are known, and its faults, those of what it extends included."""
    if name not in pipelines:
        where = f"pipelines.{seen[-1]}.extends" if seen else "pipeline"
        return (), [Fault(where, f"there is no pipeline {name!r}: {choose_from(name, pipelines)}", name)]
    if name in seen:
        circle = " -> ".join((*seen, name))
        return (), [Fault(f"pipelines.{name}.extends", f"the pipelines extend each other: {circle}")]
    own, faults, key = pipelines[name], list[Fault](), f"pipelines.{name}"
    if own.extends and own.stages:
        faults.append(Fault(key, f"this pipeline has stages and extends {own.extends!r}: set one of the two"))
    steps: Steps = own.stages
    if own.extends:
        steps, inherited = examine(pipelines, own.extends, (*seen, name))
        faults += inherited
    elif not steps:
        faults.append(Fault(key, "this pipeline has no stages: set `stages` or `extends`"))
    if not steps:
        return (), faults
    steps, wrong = _edited(own, name, steps)
    return steps, faults + wrong


def stage_names(steps: Iterable[str | Loop]) -> Stages:
    """Return the names of all stages, including those of loops."""
    return tuple(name for step in steps for name in ((step,) if isinstance(step, str) else step.loop))


def keys_of_stages(pipelines: Mapping[str, PipelineSettings], name: str) -> dict[str, str]:
    """Return the key of the settings that has the name of each stage, for a pipeline whose base exists."""
    own = pipelines[name]
    keys = dict.fromkeys(stage_names(own.stages), f"pipelines.{name}.stages")
    if own.extends:
        keys = keys_of_stages(pipelines, own.extends)
    for edit, changes in (("replace", own.replace), ("before", own.before), ("after", own.after)):
        for stage, others in changes.items():
            keys |= dict.fromkeys(others, f"pipelines.{name}.{edit}.{stage}")
    return keys


def _edited(own: PipelineSettings, name: str, steps: Steps) -> tuple[Steps, list[Fault]]:
    """Return the steps with the changes of a pipeline, and the faults of those that cannot be made."""
    edits: Mapping[str, Mapping[str, Stages]] = {
        "without": dict.fromkeys(own.without, ()),
        "replace": own.replace,
        "before": {stage: (*others, stage) for stage, others in own.before.items()},
        "after": {stage: (stage, *others) for stage, others in own.after.items()},
    }
    faults, gone = list[Fault](), dict[str, str]()
    for edit, changes in edits.items():
        known = stage_names(steps)
        for stage in changes:
            key = f"pipelines.{name}.{edit}"
            if stage in gone:
                faults.append(Fault(key, f"there is no stage {stage!r} any more: {gone[stage]} removes it"))
            elif stage not in known:
                faults.append(Fault(key, f"there is no stage {stage!r}: {choose_from(stage, known)}"))
        steps = tuple(changed for step in steps for changed in _changed(step, changes))
        gone |= {stage: edit for stage in known if stage not in stage_names(steps)}
    return steps, faults


def _changed(step: str | Loop, changes: Mapping[str, Stages]) -> Iterable[Any]:
    """Return the steps in place of one; a loop without stages is removed."""
    if isinstance(step, str):
        return changes.get(step, (step,))
    inner = tuple(name for stage in step.loop for name in changes.get(stage, (stage,)))
    return (step.model_copy(update={"loop": inner}),) if inner else ()


# --- the settings of a pipeline --------------------------------------------------------------------------------------


def pipeline_layer(settings: Layer, plugins: Collection[str]) -> tuple[Layer, list[str]]:
    """Return the settings of the chosen pipeline as a layer, and the problems."""
    name, layer = settings.value(("pipeline",)), Layer(plugins)
    values = _settings(settings, name) if isinstance(name, str) else {}
    for path, leaf in values.items():
        if path[0] not in _NOT_OWN:
            layer.put(path, leaf.value, (type(leaf.origin) if leaf.origin else Shipped)(f"pipeline {name}"))
    return layer, [
        f"pipelines.{name}.settings: a pipeline cannot set {'.'.join(path)!r}, but only what its stages use"
        for path in values
        if path[0] in _NOT_OWN
    ]


def _settings(settings: Layer, name: str, seen: Stages = ()) -> dict[KeyPath, Leaf]:
    """Return the settings of a pipeline: those of its base, overridden by its own."""
    base, within = settings.value(("pipelines", name, "extends")), ("pipelines", name, "settings")
    inherited = _settings(settings, base, (*seen, name)) if isinstance(base, str) and base not in (*seen, name) else {}
    own = {path[3:]: leaf for path, leaf in settings.leaves.items() if path[:3] == within and path[3:]}
    return inherited | {(*path[0].split("."), *path[1:]): leaf for path, leaf in own.items()}
