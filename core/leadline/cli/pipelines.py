"""`leadline pipelines`: list and show the pipelines, and write a commented one."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from leadline._settings.load import Loaded
from leadline._settings.pipelines import examine, stage_names
from leadline._settings.schema import toml_value
from leadline._settings.sources import PROJECT_FILE
from leadline.commands import client_of, unknown_pipeline
from leadline.commands.output import say, table, write, write_json
from leadline.errors import LeadlineError, PluginError, UsageError
from leadline.settings import Loop, PipelineSettings

_HEADERS = ("NAME", "LEVEL", "STAGES", "DESCRIPTION", "FROM")
_NAME = re.compile(r"[a-z][a-z0-9_-]*")
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


def new(args: argparse.Namespace) -> int:
    """Write a commented pipeline into the settings file: a copy of the usual one, or one that extends another.

    Raises `UsageError` for a name that is taken or wrong.
    """
    loaded = _loaded(args)
    known, base = loaded.settings.pipelines, args.extends or loaded.settings.pipeline
    if not _NAME.fullmatch(args.name):
        raise UsageError(f"{args.name!r} is no name for a pipeline: use small letters, digits, - and _")
    if args.name in known:
        raise UsageError(f"there is a pipeline {args.name!r} already; `leadline pipelines show {args.name}` shows it")
    if base not in known:
        raise unknown_pipeline(base, known)
    path = Path(args.settings or PROJECT_FILE)
    if path.suffix in (".yaml", ".yml"):
        raise UsageError(f"{path} is YAML, and a pipeline is written as TOML: copy `leadline pipelines show` by hand")
    lines = [f"[pipelines.{args.name}]", *(_changes(base) if args.extends else _keys(base, loaded))]
    try:
        before = path.read_text("utf-8") if path.exists() else ""
        with path.open("a", encoding="utf-8") as file:
            file.write("\n".join([*([""] if before.strip() else []), *lines, ""]))
    except (OSError, UnicodeDecodeError) as error:
        raise LeadlineError(f"cannot write {path}: {getattr(error, 'strerror', '') or error}") from error
    write(f"Wrote [pipelines.{args.name}] to {path}. To see it: leadline explain --pipeline {args.name}")
    return 0


def _changes(base: str) -> Iterator[str]:
    """Yield the keys of a pipeline that extends another, with the changes as comments."""
    yield 'description = "What it is for, in a line"'
    yield f"extends = {toml_value(base)}"
    yield "# The changes are made in this order:"
    for key in ("without", "replace", "before", "after", "tools", "settings"):
        yield f"# {key}: {PipelineSettings.model_fields[key].description}"


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
    except (PluginError, LeadlineError) as error:
        summary = str(error)
    return f"{text:<{_COLUMN}} # {'' if text else f'{stage}: '}{summary}"
