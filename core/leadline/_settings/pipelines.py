"""Resolve pipelines: a list of stages and loops, or changes to another pipeline; and their settings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from leadline._settings.layers import Layer, leaves, with_plugin_tables
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
    found = dict.fromkeys(stage_names(own.stages), f"pipelines.{name}.stages")
    if own.extends:
        found = keys_of_stages(pipelines, own.extends)
    for edit, changes in (("replace", own.replace), ("before", own.before), ("after", own.after)):
        for stage, others in changes.items():
            found = dict.fromkeys(others, f"pipelines.{name}.{edit}.{stage}") | found
    return found


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


def with_pipeline(
    layers: Sequence[Layer], defaults: int, plugins: Collection[str], above_stored: int | None
) -> tuple[list[Layer], list[str]]:
    """Return the layers with the settings of the chosen pipeline above the last `defaults` ones, and the problems.

    What any other source sets is stronger. On resume, with `above_stored` layers above the stored settings, another
    pipeline that these choose overrides the stored settings.
    """
    name = _first(layers, ("pipeline",))
    values = dict(_settings(layers, name)) if isinstance(name, str) else {}
    problems = [
        f"pipelines.{name}.settings: a pipeline cannot set {'.'.join(path)!r}, but only what its stages use"
        for path in values
        if path[0] in _NOT_OWN
    ]
    layer = Layer()
    for path, (value, origin) in values.items():
        if path[0] not in _NOT_OWN:
            layer.put(path, value, type(origin)(f"pipeline {name}"))
    if not layer.values:
        return list(layers), problems
    below = len(layers) - defaults
    stored = None if above_stored is None else _at(layers[above_stored], ("pipeline",))
    if above_stored is not None and stored not in (None, name):
        below = above_stored
    return [*layers[:below], with_plugin_tables(layer, plugins), *layers[below:]], problems


def _settings(
    layers: Sequence[Layer], name: str, seen: tuple[str, ...] = ()
) -> Iterator[tuple[KeyPath, tuple[Any, str]]]:
    """Yield the settings of a pipeline with their origins, the weakest first: of its base, then of each layer."""
    base = _first(layers, ("pipelines", name, "extends"))
    if isinstance(base, str) and base and base not in (*seen, name):
        yield from _settings(layers, base, (*seen, name))
    for layer in reversed(layers):
        table = _at(layer, within := ("pipelines", name, "settings"))
        for path, value in leaves(table) if isinstance(table, Mapping) and table else ():
            yield tuple(part for key in path for part in key.split(".")), (value, layer.origin((*within, *path)))


def _first(layers: Iterable[Layer], path: KeyPath) -> Any:
    """Return the strongest value at a path; None if no layer has one."""
    return next((value for layer in layers if (value := _at(layer, path)) is not None), None)


def _at(layer: Layer, path: KeyPath) -> Any:
    value: Any = layer.values
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
