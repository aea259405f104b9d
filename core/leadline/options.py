"""The options of `Client`, as `research` and its sync twin take them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, TypedDict

from leadline.nearest import choose_from


class ClientOptions(TypedDict, total=False):
    """The options of `Client`, as `research` takes them."""

    docs: str | Path | Sequence[str | Path]
    settings: str | Path | None
    set: Mapping[str, Any] | Sequence[str]
    pipeline: str
    formats: Sequence[str]
    folder: str | Path | None
    cache: str | Path | None
    plugins: Iterable[EntryPoint]


def check_options(function: str, options: Iterable[str]) -> None:
    """Raise TypeError, as Python does, for an argument that there is not; but name those that there are."""
    known = ClientOptions.__annotations__
    for name in options:
        if name not in known:
            choices = choose_from(name, ("tags", *known))
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}: {choices}")
