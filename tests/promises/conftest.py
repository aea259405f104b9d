"""The command line as its users have it: a process, third-party plugins beside the built-in ones, the emulator."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def world(tools: Any) -> Iterator[Any]:
    """Start the emulator of models, engines and pages once for all promises."""
    with tools.emulator() as world:
        yield world


@pytest.fixture
def model(world: Any) -> list[str]:
    """Return the options that choose the emulator's model."""
    return options({"ai.providers": ["openai"], "plugins.openai.base_url": world.base_url, "plugins.openai.model": "m"})


def options(settings: dict[str, Any]) -> list[str]:
    """Return settings as options of the command line."""
    values = {key: value if isinstance(value, str) else json.dumps(value) for key, value in settings.items()}
    return [word for key, value in values.items() for word in ("--set", f"{key}={value}")]


@pytest.fixture
def as_options() -> Callable[[dict[str, Any]], list[str]]:
    return options


@pytest.fixture
def pages(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Return the settings of an engine with these pages, which writes its name to `engines.log`."""

    def pages(name: str, *texts: str, **more: Any) -> dict[str, Any]:
        own = {"use": "pages", "site": name, "texts": list(texts), "log": str(tmp_path / "engines.log"), **more}
        return {f"plugins.{name}.{key}": value for key, value in own.items()}

    return pages
