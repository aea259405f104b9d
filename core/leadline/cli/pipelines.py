"""`leadline pipelines`: list the pipelines, and show one as settings."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from leadline._settings.load import Loaded
from leadline._settings.pipelines import examine, stage_names
from leadline._settings.schema import toml_value
from leadline.commands import client_of, unknown_pipeline
from leadline.commands.output import say, table, write, write_json
from leadline.errors import LeadlineError
from leadline.settings import Loop

_HEADERS = ("NAME", "LEVEL", "STAGES", "DESCRIPTION", "FROM")
# The column of the comments in a listed pipeline.
_COLUMN = 30


def list_(args: argparse.Namespace) -> int:
    """Print all pipelines."""
    loaded = _loaded(args)
    pipelines = [_data(name, loaded) for name in sorted(loaded.settings.pipelines)]
    if args.json:
        write_json(pipelines)
        return 0
    rows = [(it["name"], it["level"], len(it["stages"]), it["description"], it["from"]) for it in pipelines]
    write(table(rows, _HEADERS))
    return 0


def show(args: argparse.Namespace) -> int:
    """Print one pipeline as settings, each stage with its summary. Raises `ConfigError` for an unknown one."""
    loaded = _loaded(args)
    if args.name not in loaded.settings.pipelines:
        raise unknown_pipeline(args.name, loaded.settings.pipelines)
    if args.json:
        write_json(_data(args.name, loaded))
        return 0
    for fault in examine(loaded.settings.pipelines, args.name)[1]:
        say(f"leadline: {fault}")
    extends = loaded.settings.pipelines[args.name].extends
    write(f"# {_origin(args.name, loaded)}" + (f", extends {extends}" if extends else ""))
    write("\n".join([f"[pipelines.{args.name}]", *_keys(args.name, loaded)]))
    return 0


def _loaded(args: argparse.Namespace) -> Loaded:
    return client_of(args).load(complete=False)


def _data(name: str, loaded: Loaded) -> dict[str, Any]:
    pipelines = loaded.settings.pipelines
    own, (steps, _) = pipelines[name], examine(pipelines, name)
    return {
        "name": name,
        "level": own.level,
        "description": own.description,
        "stages": list(stage_names(steps)),
        "tools": list(own.tools),
        "settings": own.settings,
        "from": _origin(name, loaded),
    }


def _origin(name: str, loaded: Loaded) -> str:
    keys = (key for key in loaded.origins if key.startswith(f"pipelines.{name}."))
    origins = (loaded.origins[key] for key in keys)
    return next((origin for origin in origins if origin != "default"), "built in")


def _keys(name: str, loaded: Loaded) -> Iterator[str]:
    """Yield the keys of a pipeline as settings, each stage with its summary."""
    own = loaded.settings.pipelines[name]
    yield f"description = {toml_value(own.description)}"
    yield f"level = {toml_value(own.level)}"
    yield "stages = ["
    for step in examine(loaded.settings.pipelines, name)[0]:
        if isinstance(step, Loop):
            yield f"    {{ loop = {toml_value(list(step.loop))}, at_most = {step.at_most} }},"
            yield from (f"    {_comment('', stage, loaded)}" for stage in step.loop)
        else:
            yield f"    {_comment(f'{toml_value(step)},', step, loaded)}"
    yield "]"
    if own.tools:
        yield f"tools = {toml_value(list(own.tools))}"
    if own.settings:
        yield f"settings = {toml_value(own.settings)}"


def _comment(text: str, stage: str, loaded: Loaded) -> str:
    """Return a line with the summary of a stage, and whether it needs a model."""
    try:
        offer = loaded.catalog.offer("stages", stage)
        summary = f"{offer.summary}; needs a model" if "ai.providers" in offer.uses else offer.summary
    except LeadlineError as error:
        summary = str(error)
    return f"{text:<{_COLUMN}} # {'' if text else f'{stage}: '}{summary}"
